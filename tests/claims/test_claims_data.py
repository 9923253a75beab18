"""Verdicts D1 and D2: on the data, and on made-up numbers that would change them."""

import numpy as np
import pandas as pd
import pytest
from needs import each_dataset

import macal
from reproduction import claims
from reproduction.studies import replications


@pytest.mark.exhaustive
@pytest.mark.parametrize("dataset", each_dataset(*claims.data.TABLE_1.index))
def test_what_is_recorded_of_the_replications_is_so(dataset):
    table = claims.data.recorded(dataset)
    assert sorted(table.index) == list(range(10))
    for seed in (0, 9):
        problem = macal.load(dataset, seed)
        pool, splits = problem.pool, {name: len(getattr(problem, name)) for name in ("start", "pool", "valid", "test")}
        sizes = splits | {"step": problem.batch_size, "queries": problem.n_queries}
        one, zero = pool.mu1 - pool.mu1.mean(), pool.mu0 - pool.mu0.mean()
        row = table.loc[seed]
        assert row[replications.SIZES].to_dict() == sizes
        assert row["correlation"] == pytest.approx((one * zero).mean() / (one.std() * zero.std()))
        assert row["ratio"] == pytest.approx(one.std() / zero.std())


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({("ibm", "pool"): 9540 * 1.009}, "holds"),
        ({("ibm", "pool"): 9540 * 1.011}, "holds in part"),
        ({("ihdp", "test"): 203}, "holds in part"),
        ({("ibm", "valid"): 1, ("ihdp", "test"): 1, ("cmnist", "start"): 1}, "fails"),
    ],
)
def test_d1_can_fail(monkeypatch, changes, verdict):
    table = claims.data.TABLE_1.drop(columns="replications").astype(float)
    for place, value in changes.items():
        table.loc[place] = value
    monkeypatch.setattr(claims.data, "recorded", lambda name: table.loc[[name]].set_index(pd.Index([0])))
    assert claims.data.judge_sizes().verdict == verdict


@pytest.mark.parametrize(
    ("labelled", "verdict"),
    [([150, 170, 220], "holds"), ([150, 190, 220], "holds in part"), ([180, 190], "fails")],
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
