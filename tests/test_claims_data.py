"""Verdicts D1 and D2: on the data, and on made-up numbers that would change them."""

import numpy as np
import pandas as pd
import pytest
from needs import needs_data

import macal
from macal import files
from reproduction import claims


@pytest.mark.exhaustive
@needs_data("ibm", "mnist")
def test_d1_on_the_data():
    found = claims.data.judge_sizes()
    assert found.verdict == "holds" and "ihdp: exactly; cmnist: exactly; ibm: within 0." in found.evidence


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({("ibm", "pool"): 9540 * 1.009}, "holds"),
        ({("ibm", "pool"): 9540 * 1.011}, "holds in part"),
        ({("ihdp", "test"): 203}, "holds in part"),
        ({("ibm", "valid"): 1, ("ihdp", "test"): 1, ("cmnist", "start"): 1}, "does not hold"),
    ],
)
def test_d1_can_fail(monkeypatch, changes, verdict):
    table = claims.data.TABLE_1.drop(columns="replications").astype(float)
    for place, value in changes.items():
        table.loc[place] = value
    rows = table.reset_index(names="dataset").assign(replication=0)
    monkeypatch.setattr(claims.data, "sizes", lambda replications: rows)
    monkeypatch.setattr(files, "missing", lambda *groups: [])
    assert claims.data.judge_sizes().verdict == verdict


def test_d2_on_the_data():
    found = claims.data.judge_turning_point()
    assert found.verdict == "holds in part"
    assert found.evidence.startswith("the last pair is complete at 152 to 214 labels, median 182")


@pytest.mark.parametrize(
    ("labelled", "verdict"),
    [([150, 170, 220], "holds"), ([150, 190, 220], "holds in part"), ([180, 190], "does not hold")],
)
def test_d2_can_go_either_way(monkeypatch, labelled, verdict):
    monkeypatch.setattr(claims.data, "turning_points", lambda replications: pd.DataFrame({"labelled": labelled}))
    assert claims.data.judge_turning_point(replications=len(labelled)).verdict == verdict


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.0, 2.5])
def test_pairs_end_where_counting_says(seed, alpha):
    problem = macal.load("ihdp", seed)
    batches = macal.plan(problem.pool.x, problem.pool.t, problem.start, alpha=alpha, criterion="macal")
    order = np.concatenate([problem.start, *batches])
    last = np.flatnonzero(problem.pool.t[order] == 1).max() + 1
    assert last + 1 == claims.data.turning_points(3)["labelled"][seed]  # the control unit of the last pair follows
