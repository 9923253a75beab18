"""Scores by hand, draws in distribution, and variances no model should have."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import macal
from macal.acquisition import Belief, PoolState
from macal.logistic import logistic_propensity
from macal.posterior import Posterior

NAMES = "mu-bald rho-bald mu-rho-bald tau-bald pi-bald mu-pi-bald sundin uncertainty".split()


def a_state(mean, cov, t, e=None, seed=0):
    n = len(t)
    e = np.full(n, 0.5) if e is None else np.asarray(e, float)
    posterior = Posterior(np.asarray(mean, float), np.asarray(cov, float))
    rng = np.random.default_rng(seed)
    return PoolState(np.zeros((n, 1)), np.asarray(t), np.empty(0, np.int64), rng, Belief(posterior, propensity=e))


def cov(v0, v1, c=0.0):
    return [[v0, c], [c, v1]]


@pytest.fixture
def state():
    return a_state([[0, 1], [0, -2], [1, 1]], [cov(2, 3, 1), cov(5, 0.5), cov(1, 4, -1)], [1, 0, 1], [0.25, 0.4, 0.9])


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("mu-bald", [3, 5, 4]),
        ("tau-bald", [3, 5.5, 7]),
        ("rho-bald", [3 / 2, 5.5 / 0.5, 7 / 1]),
        ("mu-rho-bald", [3 * 3 / 2, 5 * 5.5 / 0.5, 4 * 7 / 1]),
        ("pi-bald", [0.75, 0.4, 0.1]),
        ("mu-pi-bald", [0.75 * 3, 0.4 * 5, 0.1 * 4]),
        ("uncertainty", np.sqrt([3, 5, 4])),
        ("sundin", norm.cdf([-1 / np.sqrt(3), -2 / np.sqrt(5.5), 0])),
    ],
)
def test_scores_by_hand(state, name, score):
    assert np.exp(macal.get(name).log_score(state)) == pytest.approx(np.asarray(score), rel=1e-12)
    top = macal.get(name, temperature=0.0).select(state, 3)
    assert top.tolist() == np.argsort(-np.asarray(score)).tolist()


def test_later_draws_are_proportional_among_those_left(unchecked):
    v = np.array([1.0, 2, 5])
    state = a_state(np.zeros((3, 2)), [cov(1, k) for k in v], [1] * 3)
    n, p, criterion = 20_000, v / v.sum(), macal.get("mu-bald")
    pairs = [tuple(criterion.select(state, 2)) for _ in range(n)]
    for i in range(3):
        for j in set(range(3)) - {i}:
            q = p[i] * p[j] / (1 - p[i])
            assert abs(pairs.count((i, j)) - n * q) < 4.5 * np.sqrt(n * q * (1 - q))


def test_temperature_sharpens_and_flattens(unchecked):
    v = np.array([1.0, 4.0])
    state = a_state(np.zeros((2, 2)), [cov(1, k) for k in v], [1, 1])
    n = 10_000
    for temperature in (0.5, 2.0):
        criterion = macal.get("mu-bald", temperature=temperature)
        share = np.mean([criterion.select(state, 1)[0] for _ in range(n)])
        p = (v ** (1 / temperature))[1] / (v ** (1 / temperature)).sum()
        assert abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / n)


def test_top_k_breaks_ties_by_index():
    state = a_state(np.zeros((5, 2)), [cov(1, 1)] * 5, [1] * 5)
    assert macal.get("uncertainty").select(state, 3).tolist() == [0, 1, 2]


DEGENERATE = [0.0, 5e-324, 1e-300, 1e-12, 1.0, 1e300, np.inf]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_degenerate_variances_give_finite_scores_and_whole_batches(name, temperature):
    covs = [cov(a, b, c) for a in DEGENERATE for b in DEGENERATE for c in (0.0, min(a, b))]
    mean = np.random.default_rng(0).choice([0.0, 1.0, -1e300, 1e300], (len(covs), 2))
    for t in (0, 1):
        for e in (0.0, 0.5, 1.0):
            state = a_state(mean, covs, [t] * len(covs), [e] * len(covs))
            assert np.isfinite(macal.get(name).log_score(state)).all()
            assert sorted(macal.get(name, temperature=temperature).select(state, 1000)) == list(range(len(covs)))


@pytest.mark.parametrize(("mean", "cov"), [(np.nan, 1.0), (1.0, np.nan)])
def test_a_posterior_of_nan_is_refused(state, mean, cov):
    known = state.belief.posterior
    belief = replace(state.belief, posterior=Posterior(known.mean * mean, known.cov * cov))
    broken = replace(state, belief=belief)
    with pytest.raises(ValueError, match="NaN"):
        macal.get("mu-bald").select(broken, 1)


@pytest.mark.parametrize("temperature", [-1.0, np.nan, np.inf])
def test_temperature_must_be_a_number(temperature):
    with pytest.raises(ValueError, match="temperature"):
        macal.get("mu-bald", temperature=temperature)


def test_a_propensity_is_a_probability(state):
    with pytest.raises(ValueError, match="propensity .*1.5"):
        macal.get("pi-bald").select(replace(state, belief=Belief(propensity=np.array([0.0, 1.5, 0.2]))), 1)


def test_the_propensity_is_estimated_where_it_is_missing():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 2)) * [1.0, 50.0]
    e = 1 / (1 + np.exp(-x[:, 0]))
    t = (rng.random(len(x)) < e).astype(np.int64)
    assert np.abs(logistic_propensity(x, t) - e).max() < 0.05
    state = PoolState(x, t, np.empty(0, np.int64))
    rarest = np.argsort(-np.where(t == 1, 1 - logistic_propensity(x, t), logistic_propensity(x, t)), kind="stable")
    assert np.array_equal(macal.get("pi-bald", temperature=0.0).select(state, 5), rarest[:5])
    assert logistic_propensity(x, np.ones_like(t)).tolist() == [1.0] * len(t)
    assert np.isfinite(logistic_propensity(np.zeros_like(x), t)).all()
