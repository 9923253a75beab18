"""Closed forms against simulation, dense algebra and exact laws; the bounds against the errors that they bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from macal.kernels import posterior_variance, rbf
from reproduction.claims.bounds import z_score
from reproduction.theory import risk

GRID = np.linspace(-5, 5, 401)
SEEDS = st.integers(0, 10_000)


def sine(x):
    return np.sin(2 * x)


def design(seed, m=12):
    x = np.random.default_rng(seed).uniform(-5, 5, (m, 1))
    return rbf(GRID[:, None], x), rbf(x, x), x[:, 0]


@given(SEEDS, st.sampled_from([0.01, 0.25]))
def test_posterior_variance_is_average_bias_plus_variance(seed, noise):
    cross, gram, _ = design(seed)
    weights = risk.ridge_weights(cross, gram, noise)
    prior, rng = np.ones(len(GRID)), np.random.default_rng(seed)
    best = sum(risk.average_bias_variance(weights, cross, gram, prior, noise))
    np.testing.assert_allclose(best, posterior_variance(cross, gram, prior, noise), rtol=0, atol=1e-9)
    off = weights + rng.normal(size=weights.shape)
    excess = np.einsum("nm,mk,nk->n", off - weights, gram + noise * np.eye(12), off - weights)
    worse = sum(risk.average_bias_variance(off, cross, gram, prior, noise))
    np.testing.assert_allclose(worse, best + excess, rtol=1e-9)


def test_without_noise_only_bias_is_left():
    cross, gram, _ = design(0)
    weights = risk.ridge_weights(cross, gram, 1e-8)
    bias2, variance = risk.average_bias_variance(weights, cross, gram, np.ones(401), 1e-8)
    assert variance.mean() < 1e-3 * bias2.mean()
    np.testing.assert_allclose(bias2 + variance, 1 - (weights * cross).sum(axis=1), atol=1e-9)


def test_closed_form_parts_against_simulated_labels():
    cross, gram, x = design(1)
    weights = risk.ridge_weights(cross, gram, 0.09)
    labels = sine(x) + 0.3 * np.random.default_rng(0).normal(size=(20_000, 12))
    predictions = labels @ weights[::40].T
    bias2, variance = risk.bias_variance(weights, sine(GRID), sine(x), 0.09)
    errors = (predictions - sine(GRID[::40])) ** 2
    for k, expected in enumerate((bias2 + variance)[::40]):
        assert abs(z_score(errors[:, k], expected)) < 4
    np.testing.assert_allclose(predictions.var(axis=0), variance[::40], rtol=0.05)


def test_losses_of_fresh_outcomes():
    cross, gram, x = design(2)
    weights, law = risk.ridge_weights(cross, gram, 0.09), risk.normal_law(GRID, 1.0)
    losses = risk.simulate_losses(weights, sine(GRID), sine(x), law, 0.09, 40_000, np.random.default_rng(0))
    parts = risk.bias_variance(weights, sine(GRID), sine(x), 0.09)
    assert abs(z_score(losses, law @ (parts.bias2 + parts.variance) + 0.09)) < 4
    assert abs(z_score(losses, law @ (parts.bias2 + parts.variance))) > 4  # the noise is seen


def test_error_on_own_labels():
    _, gram, x = design(3)
    weights = risk.ridge_weights(gram, gram, 0.09)
    y = sine(x) + 0.3 * np.random.default_rng(0).normal(size=(20_000, 12))
    residuals = ((y - y @ weights.T) ** 2).mean(axis=1)
    assert abs(z_score(residuals, risk.error_on_own_labels(weights, sine(x), 0.09).mean())) < 4
    assert abs(z_score(residuals, sum(risk.bias_variance(weights, sine(x), sine(x), 0.09)).mean() + 0.09)) > 4


def test_random_designs_agree_with_dense_algebra():
    losses, predictions = risk.simulate_random_designs(sine, 0.37, 15, 0.09, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    x, e = rng.uniform(-5, 5, (3, 15)), rng.normal(size=(3, 15))
    outcome = sine(0.37) + 0.3 * rng.normal(size=3)
    for k in range(3):
        gram = rbf(x[k][:, None], x[k][:, None]) + 0.09 * np.eye(15)
        expected = rbf(np.array([[0.37]]), x[k][:, None])[0] @ np.linalg.solve(gram, sine(x[k]) + 0.3 * e[k])
        assert predictions[k] == pytest.approx(expected)
        assert losses[k] == pytest.approx((outcome[k] - expected) ** 2)


def test_noiseless_is_refused():
    cross, gram, _ = design(0)
    with pytest.raises(ValueError, match="noise must be above 0, got 0"):
        risk.ridge_weights(cross, gram, 0.0)


def test_campaign_labels_the_most_uncertain():
    states = risk.uncertainty_campaign(sine, np.linspace(-5, 5, 51), [3, 30], 0.04, 4, batch=1)
    assert [s.labelled.size for s in states] == [2, 3, 4, 5]
    for before, after in zip(states, states[1:], strict=False):
        assert after.labelled[:-1].tolist() == before.labelled.tolist()
        assert before.posterior[after.labelled[-1]] >= before.posterior.max() - 1e-12


@given(SEEDS)
def test_wasserstein_on_a_grid(seed):
    rng = np.random.default_rng(seed)
    grid = np.sort(rng.normal(size=30))
    p, q = rng.dirichlet(np.ones(30), 2)
    expected = wasserstein_distance(grid, grid, p, q)
    assert risk.wasserstein_line(p, q, grid) == pytest.approx(expected, abs=1e-12)


def test_lipschitz_is_the_largest_slope_between_any_two():
    rng = np.random.default_rng(0)
    grid, values = np.sort(rng.normal(size=20)), rng.normal(size=20)
    i, j = np.triu_indices(20, 1)
    assert risk.lipschitz(values, grid) == pytest.approx((np.abs(values[i] - values[j]) / (grid[j] - grid[i])).max())


@given(SEEDS, st.floats(0, 1))
def test_effect_bound(seed, noise):
    rng = np.random.default_rng(seed)
    grid = np.sort(rng.normal(size=25))
    e1, e0 = rng.normal(size=(2, 25))
    p1, p0 = rng.dirichlet(np.ones(25), 2)
    found = risk.shalit_bound(e1, e0, p1, p0, grid, noise)
    assert found.pehe <= found.tight + 1e-9
    assert found.loose - found.tight == pytest.approx(4 * noise, abs=1e-12 * max(1, found.loose))


def test_the_constant_may_be_too_small():
    grid, e = np.linspace(0, 1, 11), np.linspace(0, 1, 11)
    left, right = np.eye(11)[0], np.eye(11)[-1]
    assert risk.shalit_bound(e, -e[::-1], left, right, grid, 0.0).pehe == pytest.approx(1)
    assert risk.shalit_bound(e, -e[::-1], left, right, grid, 0.0, 0.1).tight < 1


@given(SEEDS)
def test_anchored_bound_with_any_errors(seed):
    rng = np.random.default_rng(seed)
    grid, p = np.sort(rng.normal(size=25)), rng.dirichlet(np.ones(25))
    e1, e0 = rng.normal(size=(2, 25))
    sets = [rng.choice(25, n, replace=False) for n in (3, 6)]
    arms = [risk.anchored_bound(e, p, grid, s) for e, s in zip((e1, e0), sets, strict=True)]
    assert (e1 - e0) ** 2 @ p <= sum(a.plain for a in arms) + 1e-9
    zero = [np.where(np.isin(np.arange(25), s), 0.0, e) for e, s in zip((e1, e0), sets, strict=True)]
    arms = [risk.anchored_bound(e, p, grid, s) for e, s in zip(zero, sets, strict=True)]
    assert (zero[0] - zero[1]) ** 2 @ p <= sum(a.squared for a in arms) + 1e-9


def test_expected_error_of_an_effect():
    rng, length = np.random.default_rng(0), 0.6
    x = GRID[::4, None]
    law = sum(risk.normal_law(x[:, 0], c) for c in (-1.0, 1.0)) / 2
    done = np.arange(9, 92, 9)
    cross, gram = rbf(x, x[done], length), rbf(x[done], x[done], length)
    variance = posterior_variance(cross, gram, np.ones(len(x)), 0.0)
    root = np.linalg.cholesky(rbf(x, x, length) + 1e-10 * np.eye(len(x)))
    f = root @ rng.normal(size=(len(x), 4000))
    errors = risk.ridge_weights(cross, gram, 1e-12) @ f[done] - f
    pehe = law @ (errors[:, :2000] - errors[:, 2000:]) ** 2
    m2 = ((x - x[done].T) ** 2).min(axis=1)
    exact, middle, last = (2 * law @ part for part in (variance, 1 - np.exp(-m2 / length**2), m2 / length**2))
    assert abs(z_score(pehe, float(exact))) < 4 and exact <= middle <= last


@given(SEEDS)
def test_nearest_label_is_the_cheapest_way(seed):
    rng = np.random.default_rng(seed)
    grid, p = np.sort(rng.normal(size=25)), rng.dirichlet(np.ones(25))
    labelled = rng.choice(25, 4, replace=False)
    moved, m = risk.nearest_label(p, grid, labelled)
    assert risk.wasserstein_line(p, moved, grid) == pytest.approx(p @ m, abs=1e-9)
    other = np.zeros(25)
    other[labelled] = rng.dirichlet(np.ones(4))
    assert risk.wasserstein_line(p, other, grid) >= p @ m - 1e-9


def test_fit_error_vanishes_at_labels():
    labelled = risk.nearest_places(GRID, np.array([-2.0, 0.01, 3.0]))
    assert GRID[labelled] == pytest.approx([-2.0, 0.0, 3.0])
    error = risk.fit_error(sine, GRID, labelled)
    assert np.abs(error[labelled]).max() < 1e-5 < np.abs(error).max()


def test_pair_shrinkage_is_that_of_the_closed_form():
    w = 3 * 5 / (5 + np.arange(50))
    np.testing.assert_allclose(risk.shrinkage(w), risk.pair_shrinkage(np.arange(1, 50), 5.0))
    np.testing.assert_allclose(risk.neglected(np.arange(1, 50), 5.0, 7.0, 3.0, 2.0), 2 / (7 * w[:-1]))


@given(SEEDS)
def test_shrinkage_is_an_average_of_its_parts(seed):
    rng = np.random.default_rng(seed)
    v, w, zeta = np.sort(rng.uniform(0.1, 1, 9))[::-1], rng.uniform(0.1, 1, 9), rng.uniform()
    b = v + 3 * w + zeta
    parts = (v[:-1] * risk.shrinkage(v) + 3 * w[:-1] * risk.shrinkage(w)) / b[:-1]
    np.testing.assert_allclose(risk.shrinkage(b), parts, atol=1e-12)
