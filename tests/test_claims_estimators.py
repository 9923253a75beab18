"""Verdict M1 on made-up tables that would change it, and on the recorded ones."""

import numpy as np
import pandas as pd
import pytest

from macal import results
from reproduction.claims import estimators


@pytest.fixture
def tables(monkeypatch):
    def make(effects, replications=8):
        rng = np.random.default_rng(0)

        def load(name):
            if name not in effects:
                raise FileNotFoundError(name)
            return pd.DataFrame(
                [
                    (m, r, n, np.exp(r / 3 + effects[name] * (m == "macal" and n <= 160) + rng.normal(0, 0.02)))
                    for m in ("macal", *estimators.OTHERS)
                    for r in range(replications)
                    for n in (10, 50, 90, 130, 290)
                ],
                columns=["method", "replication", "labelled", "pehe"],
            )

        monkeypatch.setattr(results, "load", load)

    return make


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        ({"ihdp_gp": -0.3, "ihdp_t": -0.2}, "holds"),
        ({"ihdp_gp": 0.3, "ihdp_t": -0.2}, "holds in part"),
        ({"ihdp_gp": 0.0, "ihdp_t": 0.2}, "does not hold"),
        ({}, "not tested"),
    ],
)
def test_m1_can_go_every_way(tables, effects, verdict):
    tables(effects)
    assert estimators.judge_transfer().verdict == verdict


def test_few_replications_decide_nothing(tables):
    tables({"ihdp_gp": -0.3}, replications=2)
    assert estimators.judge_transfer().verdict == "not tested"


def test_later_sizes_do_not_count(tables):
    tables({"ihdp_gp": -0.3})
    found = estimators.standings().loc[("exact GP per arm", "random")]
    assert abs(found.log_ratio + 0.3) < 0.05 and found.replications == 8 and found.standing == "ahead"
