"""Verdict T8: on its own counts, and on made-up ones that would change it."""

import numpy as np
import pandas as pd
import pytest

from reproduction import claims


def test_t8():
    found = claims.algorithm.judge_cost(n_pools=3)
    assert found.verdict == "holds in part" and "N^2.0" in found.evidence and "3 small" in found.evidence


def test_counts_are_those_of_the_formula():
    costs = claims.algorithm.query_costs(sizes=(60, 90), pairs=3)
    for n, row in costs.iterrows():
        one, zero = n // 3 - 2, n - n // 3 - 2
        assert row["literal"] == sum((one - k) * (zero - k) for k in range(3))
    assert costs["same picks"].all() and (costs["lazy"] < costs["literal"]).all()


@pytest.mark.parametrize(
    ("power", "shortfall", "verdict"),
    [(2, 0.0, "holds"), (2, 0.1, "holds in part"), (3, 0.0, "holds in part"), (3, 0.1, "fails")],
)
def test_t8_can_go_any_way(monkeypatch, power, shortfall, verdict):
    sizes = np.array([100, 200])
    columns = {name: sizes**power for name in ("literal", "lazy", "literal, growing batch")}
    monkeypatch.setattr(claims.algorithm, "query_costs", lambda: pd.DataFrame(columns, index=sizes))
    monkeypatch.setattr(claims.algorithm, "greedy_shortfalls", lambda n_pools: np.full(n_pools, shortfall))
    assert claims.algorithm.judge_cost().verdict == verdict
