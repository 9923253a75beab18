"""Closed forms against simulation, dense algebra and exact laws; the bounds against the errors that they bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from macal import metrics, plan
from macal.kernels import posterior_variance, rbf
from reproduction.claims.bounds import z_score
from reproduction.theory import examples, risk

GRID = np.linspace(-5, 5, 401)
SEEDS = st.integers(0, 10_000)


def sine(x):
    return np.sin(2 * x)


def design(seed, m=12):
    x = np.random.default_rng(seed).uniform(-5, 5, (m, 1))
    return rbf(GRID[:, None], x), rbf(x, x), x[:, 0]


# ---------------------------------------------------------------- the parts of the error


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
        assert before.posterior[after.labelled[-1]] == before.posterior.max()


# ---------------------------------------------------------------- bounds on a line


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


# ---------------------------------------------------------------- parts i and ii


def test_noise_stops_the_geometric_rate():
    v = 2 * 0.9 ** np.arange(61)
    a = risk.shrinkage(v + 0.1)
    np.testing.assert_allclose(risk.shrinkage(v), 0.1)
    np.testing.assert_allclose(a[[0, 59]], [0.0952, 0.0038], atol=5e-5)
    assert (v[60] + 0.1) / (2.1 * 0.9**60) == pytest.approx(27.5, abs=0.05)


@pytest.mark.parametrize(
    ("c", "signal", "step"),
    [(1e1, 1.0, 3), (1e2, 1.0, 18), (1e4, 1.0, 220), (1e1, 2.0, 1), (1e2, 2.0, 12), (1e4, 2.0, 154)],
)
def test_what_is_left_out_overtakes(c, signal, step):
    i = np.arange(1, 301)
    ratio = risk.neglected(i, 5.0, c, 1.0, signal) / risk.pair_shrinkage(i, 5.0)
    np.testing.assert_allclose(ratio, signal * (4 + i) * (5 + i) / (5 * c))
    assert (np.diff(ratio) > 0).all() and i[(ratio > 1).argmax()] == step


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


@pytest.mark.parametrize(("name", "end"), [("fast", 0.714), ("slow", 1.541)])
def test_neither_variance_has_the_claimed_size(name, end):
    i = np.arange(201)
    v = {"fast": 2 * 0.9**i, "slow": 2 / np.sqrt(1 + i)}[name]
    b = v + 25 / (5 + i)
    assert b[-1] / (b[0] * 5 / 205) == pytest.approx(end, abs=5e-4)


def test_the_most_uncertain_units_raise_the_bound_and_pairs_do_not():
    x, t, start = examples.twins(0, pairs=40, spare=0)
    kernel = rbf(x, x) * (t[:, None] == t)  # a process per arm

    def variance(done):
        return posterior_variance(kernel[:, done], kernel[np.ix_(done, done)], np.ones(len(t)), 0.05)

    uncertain = start
    for _ in range(30):
        v = variance(uncertain)
        picks = [np.flatnonzero(t == arm)[v[t == arm].argmax()] for arm in (1, 0)]
        uncertain = np.append(uncertain, picks)
    rises = {}
    for name, order in (
        ("pairs", np.concatenate([start, *plan(x, t, start, 30, 2, "macal")])),
        ("uncertain", uncertain),
    ):
        sets = [order[:n] for n in range(2, 64, 2)]
        v = np.array([2 * variance(s).mean() for s in sets])
        w = np.array([metrics.wasserstein(x[s], t[s]) for s in sets])
        assert (np.diff(v) <= 1e-12).all()
        rises[name] = int((risk.shrinkage(v + w + 0.1) < 0).sum())
    assert rises["pairs"] == 0 < rises["uncertain"]


def test_least_squares_in_the_right_class_has_no_bias_and_in_a_wrong_one_a_moving_bias():
    line, noise = np.linspace(-5, 5, 201), 0.04
    basis, done = np.vander(line / 5, 4), np.random.default_rng(0).permutation(201)[:30]
    biases = {"inside": [], "outside": []}
    for name, truth in (("inside", basis @ [4.0, 0.0, -3.0, 0.5]), ("outside", sine(line))):
        for n in range(6, 31, 2):
            weights = basis @ np.linalg.pinv(basis[done[:n]])
            biases[name].append(risk.bias_variance(weights, truth, truth[done[:n]], noise).bias2.mean())
    assert max(biases["inside"]) < 1e-20
    assert risk.total_variation(np.array(biases["outside"])) > 0.1 * min(biases["outside"]) > 0


@pytest.mark.parametrize(("length", "confident"), [(1.0, 0), (2.0, 1), (0.5, -1)])
def test_a_smooth_prior_is_overconfident_and_a_rough_one_the_opposite(length, confident):
    x, targets, noise = np.random.default_rng(0).uniform(-5, 5, (12, 1)), GRID[::4, None], 0.04
    law, true = risk.normal_law(targets[:, 0], -1.0), (rbf(targets, x), rbf(x, x))
    cross, gram, prior = rbf(targets, x, length), rbf(x, x, length), np.ones(len(targets))
    excess = {}
    for name, weights in (("own", risk.ridge_weights(cross, gram, noise)), ("best", risk.ridge_weights(*true, noise))):
        excess[name] = sum(risk.average_bias_variance(weights, *true, prior, noise)) @ law
    reported = posterior_variance(cross, gram, prior, noise - 1e-12) @ law
    assert np.sign(np.round(excess["own"] - reported, 9)) == confident
    assert (excess["own"] > excess["best"] + 1e-9) == (length != 1)
