"""Posterior variance along designs: against dense algebra, quadrature and closed forms, with the audited numbers."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from macal.kernels import matern12, posterior_variance, rbf
from reproduction.claims import lemmas
from reproduction.theory import variance


def pool(n=60, seed=0, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


def dense(kernel, labelled, noise):
    """Posterior variance by its definition."""
    gram = kernel[np.ix_(labelled, labelled)] + noise * np.eye(len(labelled))
    return np.diag(kernel) - np.sum(kernel[:, labelled].T * np.linalg.solve(gram, kernel[labelled]), axis=0)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_posterior_variance_is_the_dense_formula(noise):
    x = pool()
    kernel, labelled = matern12(x, x), np.arange(0, 60, 5)
    found = posterior_variance(kernel[:, labelled], kernel[np.ix_(labelled, labelled)], np.ones(60), noise)
    np.testing.assert_allclose(found, dense(kernel, labelled, noise), atol=1e-9)
    assert (posterior_variance(kernel[:, :0], kernel[:0, :0], np.ones(60), noise) == 1).all()


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_label_by_label_is_the_dense_formula(noise):
    x = pool()
    run = variance.campaign(matern12(x, x), np.array([3, 7]), 4, 10, noise)
    for step, found in enumerate(run.variances):
        labelled = np.concatenate(run.picks[: step + 1])
        np.testing.assert_allclose(found, dense(matern12(x, x), labelled, noise), atol=1e-9)
        if step:
            free = np.setdiff1d(np.arange(60), np.concatenate(run.picks[:step]))
            assert run.variances[step - 1][run.picks[step]].min() >= np.sort(run.variances[step - 1][free])[-4] - 1e-12


def test_repeated_labels():
    found = variance.relabelled(np.eye(1), 100, 0.25)
    np.testing.assert_allclose(found, 1 / (1 + np.arange(1, 101) / 0.25), rtol=1e-12)
    np.testing.assert_allclose(found[[0, 9, 99]], [0.2, 0.0244, 0.0025], atol=5e-5)


def test_campaign_refuses_more_than_there_is():
    with pytest.raises(ValueError, match="10 free"):
        variance.campaign(np.eye(12), np.array([0, 1]), 4, 3)


@pytest.mark.parametrize("rule", ["random", "farthest"])
def test_other_rules(rule):
    x = pool()
    choose = variance.farthest_first(x) if rule == "farthest" else variance.at_random(np.random.default_rng(0))
    run = variance.campaign(rbf(x, x), np.array([0]), 5, 8, rule=choose)
    picks = np.concatenate(run.picks)
    assert len(set(picks.tolist())) == 41
    if rule == "farthest":
        apart = [np.linalg.norm(x[picks[:k]] - x[picks[k]], axis=1).min() for k in range(1, 41)]
        assert (np.diff(apart) <= 1e-12).all()


def test_lemma_2_bounds_on_four_kernels():
    runs = lemmas.pool_campaigns()
    for run in runs.values():
        linear, geometric = variance.repaired_bound(run), variance.geometric_bound(run)
        assert (run.mean <= linear + 1e-9).all() and (linear <= geometric + 1e-9).all()
    equal = runs["independent units"]
    np.testing.assert_allclose(equal.mean, variance.repaired_bound(equal), atol=1e-12)
    assert equal.mean[10] == pytest.approx(0.7375, abs=1e-12)
    assert (1 - 10 / 400) ** 40 == pytest.approx(0.363, abs=5e-4)


def test_claimed_drop():
    runs = lemmas.pool_campaigns()
    smooth = runs["RBF, θ = 1"]
    assert variance.claimed_drop(smooth) == pytest.approx(0.025, abs=1e-15)
    drops = -np.diff(smooth.mean)
    assert lemmas.first_short_drop(smooth) == 4 and drops[:3].min() > 0.025 > 0.0103 > drops[3]
    assert drops.min() < 1e-8 * 0.025
    np.testing.assert_allclose(-np.diff(runs["independent units"].mean), 0.025, atol=1e-12)
    assert lemmas.first_short_drop(runs["independent units"]) == 0


@pytest.mark.parametrize("prior", [1.0, 3.0, 0.2])
def test_noise_bound_is_attained_by_independent_units(prior):
    run = variance.campaign(prior * np.eye(50), np.arange(0), 5, 10, noise=0.25)
    np.testing.assert_allclose(run.mean, prior - np.arange(11) / 10 * prior**2 / (prior + 0.25), atol=1e-12)
    np.testing.assert_allclose(run.mean, variance.repaired_bound(run, 0.25, prior), atol=1e-12)
    assert run.mean[1] > variance.geometric_bound(run)[1]
    if prior > 1:  # the bound of a smaller prior variance is none
        assert (run.mean[1:] > variance.repaired_bound(run, 0.25, 1.0)[1:]).all()
    quiet = variance.campaign(prior * np.eye(50), np.arange(0), 5, 10)
    np.testing.assert_allclose(-np.diff(quiet.mean), variance.claimed_drop(quiet, prior), atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_noise_bound_with_a_prior_variance_that_differs_between_units(noise):
    x, scale = pool(), np.random.default_rng(1).uniform(0.5, 2, 60)
    kernel = scale[:, None] * matern12(x, x) * scale  # k(x, x) is scale^2, at most 4
    run = variance.campaign(kernel, np.array([3, 7]), 4, 14, noise)
    assert (run.mean <= variance.repaired_bound(run, noise, 4.0) + 1e-9).all()


def test_no_design_goes_below_its_floor():
    x = np.linspace(0, 5, 20)[:, None]
    kernel = matern12(x, x)
    found = variance.relabelled(kernel, 200, 0.25)
    floor = variance.floor_of_any_design(kernel, 0.25, np.arange(1, 201))
    assert (found >= floor - 1e-12).all()
    assert 0.9 < floor[-1] / found[-1] <= 1
    one = variance.floor_of_any_design(np.eye(4), 0.5, np.array([4]))
    np.testing.assert_allclose(one, 0.5 / 1.5, rtol=1e-12)  # equality: every unit labelled once


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_one_neighbour_bound_and_unit_square(noise):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(600, 2))
    kernel = rbf(x, x, 0.05**0.5)
    run = variance.campaign(kernel, np.array([0]), 1, 39, noise)
    order = np.concatenate(run.picks)
    for m in (1, 3, 5, 10, 20, 40):
        distance = np.linalg.norm(x[:, None] - x[order[:m]], axis=2).min(axis=1)
        assert (run.variances[m - 1] <= variance.one_neighbour_bound(distance, 0.05**0.5, noise) + 1e-9).all()
        tripled = variance.campaign(3 * kernel, order[:m], 1, 0, noise).variances[0]
        most = variance.one_neighbour_bound(distance, 0.05**0.5, noise, prior=3.0)
        assert (tripled <= most + 1e-9).all()
        if m == 1:
            np.testing.assert_allclose(tripled, most, atol=1e-12)
    if noise == 0:
        largest = run.variances[[2, 4, 9, 19, 39]].max(axis=1)
        np.testing.assert_allclose(largest, [0.99977, 0.98031, 0.62123, 0.17498, 0.006588], rtol=1e-3)


def test_gap_variance_by_quadrature():
    nodes, weights = leggauss(60)
    for gap in (1e-4, 0.3, 1.0, 7.0):
        x, ends = (gap * (nodes + 1) / 2)[:, None], np.array([[0.0], [gap]])
        v = dense(matern12(*[np.concatenate([x, ends])] * 2), np.array([60, 61]), 0.0)[:60]
        assert variance.gap_variance(np.array([gap]))[0] == pytest.approx(v @ weights / 2, abs=1e-9)


def test_line_variance_by_quadrature_and_its_least_value():
    rng, (nodes, weights) = np.random.default_rng(0), leggauss(40)
    for m in (1, 2, 6):
        places = rng.uniform(0, 4, m)
        edges, total = np.r_[0, np.sort(places), 4], 0.0
        for low, high in zip(edges[:-1], edges[1:], strict=True):
            x = np.r_[low + (high - low) * (nodes + 1) / 2, places][:, None]
            v = dense(matern12(x, x), np.arange(40, 40 + m), 0.0)[:40]
            total += v @ weights / 2 * (high - low) / 4
        assert variance.line_variance(places, 4.0) == pytest.approx(total, abs=1e-9)
        assert variance.line_variance(places, 4.0) >= variance.least_line_variance(np.array([m]), 4.0)[0]
    ends_and_middle = np.linspace(0, 4, 9)
    assert variance.line_variance(ends_and_middle, 4.0) == pytest.approx(
        variance.gap_variance(np.array([0.5]))[0], abs=1e-12
    )


def test_no_geometric_rate_on_a_line():
    assert lemmas.line_slope() == pytest.approx(-1, abs=0.05)
    least = variance.least_line_variance(np.arange(1, 2001), 10.0)
    assert least[-1] / least[-2] > 0.999
    assert 2000 * least[-1] == pytest.approx(10 / 3, rel=0.01)


def test_nearest_neighbour_distance_is_not_variance():
    labelled, places = np.array([0.0, 1.0, 2.0]), np.array([0.5, 2.45])
    distance = np.abs(places[:, None] - labelled).min(axis=1)
    np.testing.assert_allclose(distance, [0.5, 0.45], atol=1e-12)
    found = variance.line_posterior(labelled, places, 1.0, 1e-4)
    np.testing.assert_allclose(found, [0.0180, 0.1055], atol=5e-5)


def test_length_scale_by_the_density_of_the_outcomes():
    from scipy.stats import multivariate_normal

    x, y, grid = np.arange(5.0), np.array([0.3, -1.0, 0.2, 0.8, -0.4]), np.linspace(0.2, 3, 30)
    density = [multivariate_normal.logpdf(y, cov=rbf(x[:, None], x[:, None], g) + 0.01 * np.eye(5)) for g in grid]
    assert variance.fitted_lengthscale(x, y, grid, 0.01) == grid[np.argmax(density)]
