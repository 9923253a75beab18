"""Errors in the outcome's unit, and whether an estimate beats the best constant effect."""

import numpy as np
import pandas as pd
import pytest

import macal
from reproduction.claims import absolute_errors


@pytest.fixture
def table(monkeypatch):
    """Two replications, whose effects have a spread of 2 and of 5."""
    monkeypatch.setattr(absolute_errors, "best_constant", lambda dataset, protocol, r: {0: 2.0, 1: 5.0}[r])
    rows = [("random", 0, 50, 3.0), ("random", 0, 90, 1.0), ("random", 1, 50, 3.0), ("random", 1, 90, 6.0),
            ("macal", 0, 50, 1.0), ("macal", 0, 90, 1.0)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "replication", "labelled", "pehe"])
    return table.assign(dataset="ihdp", protocol="paper")


def test_errors_beside_the_best_constant(table):
    found = absolute_errors.errors(table, (60, 100))
    row = found.loc[60, "random"]
    assert row.to_dict() == {"replications": 2, "trainings": 2, "mean": 3.0, "median": 3.0, "best constant": 3.5,
                             "worse than constant": 0.5}  # fmt: skip
    assert found.loc[(100, "random"), "worse than constant"] == 0.5
    assert found.loc[(100, "macal"), "worse than constant"] == 0.0


def test_the_best_constant_is_the_mean_effect():
    tau = macal.load("ihdp", 0, "code").test.tau
    found = absolute_errors.best_constant("ihdp", "code", 0)
    assert found == pytest.approx(macal.metrics.pehe(np.full(len(tau), tau.mean()), tau))
    assert found < macal.metrics.pehe(np.full(len(tau), tau.mean() + 0.1), tau)
