"""The toy study: what is measured, and that what is recorded is what was run."""

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from macal import metrics, results
from macal.datasets import toy
from macal.models import Task
from macal.problem import Problem, Split
from reproduction.studies import toy as toy_study


def arms(seed, n1=30, n0=50, d=1):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(-2, 1, (n1, d)), rng.normal(2, 2, (n0, d))]), np.repeat([1, 0], [n1, n0])


@pytest.mark.parametrize("d", [1, 3])
def test_surrogate_is_twice_the_entropic_cost_of_half_the_mass(d):
    x, t = arms(0, d=d)
    cost = cdist(x[t == 0], x[t == 1], "cityblock") + 1e-5
    padded = np.full((51, 31), cost.max() / (1 - 10 / cost.size))
    padded[:-1, :-1], padded[-1, -1] = cost, 0
    a, b = np.r_[np.full(50, 0.01), 0.5], np.r_[np.full(30, 0.5 / 30), 0.5]
    blur = cost.mean() / 10
    floored = -blur * np.log(np.exp(-padded / blur) + 1e-6)  # the cost whose kernel is the public code's
    plan = ot.sinkhorn(a, b, floored, reg=blur, numItermax=20_000, warn=False)
    assert metrics.sinkhorn_surrogate(x, t, iterations=20_000) == pytest.approx(2 * np.sum(plan * padded), rel=1e-5)


def test_surrogate_of_identical_arms_is_positive():
    x = np.tile(np.random.default_rng(0).normal(size=(50, 1)) * 3, (2, 1))
    t = np.repeat([0, 1], 50)
    assert metrics.wasserstein(x, t) < 1e-12
    for rounds in (10, 5000):
        assert 0.1 < metrics.sinkhorn_surrogate(x, t, rounds) < 0.4


def test_surrogate_scales_with_the_covariates():
    x, t = arms(1)
    assert metrics.sinkhorn_surrogate(5 * x, t) == pytest.approx(5 * metrics.sinkhorn_surrogate(x, t), rel=1e-4)


def test_surrogate_at_its_limits():
    assert np.isnan(metrics.sinkhorn_surrogate(*arms(0, 2, 5)))
    assert metrics.sinkhorn_surrogate(*arms(0, 1, 11)) > 0
    with pytest.raises(ValueError, match="two arms are needed"):
        metrics.sinkhorn_surrogate(np.ones((3, 1)), np.ones(3, int))


@pytest.fixture(scope="module")
def fitted():
    problem = toy.load(0, "paper")
    labelled = problem.start
    return problem, labelled, toy_study.model("lbfgs").fit([Task(problem.pool[labelled])])[0]


def test_variance_is_the_own_arms_over_the_whole_pool(fitted):
    problem, labelled, gps = fitted
    cov, t = gps.predict(problem.pool.x).cov, problem.pool.t
    expected = (cov[t == 1, 1, 1].sum() + cov[t == 0, 0, 0].sum()) / len(t)
    assert toy_study.variance(problem, labelled, gps) == pytest.approx(expected)


def test_noise_and_evidence_are_those_of_the_processes(fitted):
    problem, labelled, gps = fitted
    assert toy_study.noise(*fitted) == max(gp.noise for gp in gps.gps)
    total = sum(gp.evidence * len(gp.weights) for gp in gps.gps)
    assert toy_study.evidence(*fitted) == pytest.approx(total / 25)


def test_surrogate_measure_waits_for_both_arms(fitted):
    problem, labelled, gps = fitted
    own = problem.pool[labelled]
    assert toy_study.surrogate(*fitted) == metrics.sinkhorn_surrogate(own.x, own.t)
    assert np.isnan(toy_study.surrogate(problem, np.flatnonzero(problem.pool.t == 1)[:20], gps))


def test_units_without_overlap():
    pool = Split(np.array([[-2.0], [1], [0], [3]]), np.array([1, 1, 0, 0]))
    test = Split(np.array([[-1.0], [0], [0.5], [1], [2]]), np.zeros(5, int))
    found = toy_study.without_overlap(Problem("made up", pool, test, np.array([0, 2])))
    assert found.tolist() == [True, False, False, False, True]


def test_centre_moves_the_clouds_alone():
    near, far = toy.load(3, "paper"), toy.load(3, "paper", centre=5.0)
    shift = far.pool.x[:, 0] - near.pool.x[:, 0]
    still = np.isclose(shift, 0)
    assert near.start.tolist() == far.start.tolist() and (near.pool.t == far.pool.t).all()
    assert 0.15 < still.mean() < 0.25
    np.testing.assert_allclose(shift[~still], np.where(near.pool.t[~still] == 1, -2.5, 2.5), atol=1e-5)


def test_final_errors_are_those_recorded():
    table = results.load("toy_lbfgs")
    table.attrs["records"] = [r for r in table.attrs["records"] if r["config"]["replication"] < 2]
    errors = toy_study.final_errors(table, "macal", "lbfgs")
    last = table[(table.method == "macal") & (table.labelled == 265) & (table.replication < 2)]
    np.testing.assert_allclose(errors.pehe, last.sort_values("replication").pehe, rtol=1e-2)
    assert (errors.overlap < errors.pehe).all() and errors.units.between(0, 0.05).all()
