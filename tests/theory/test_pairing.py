"""Leakage, value and reach of pairs, against dense algebra, brute force and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import macal
from reproduction.theory import examples, pair_search, pairing

LINE = np.linspace(-4, 4, 60)[:, None]
SPOTS = np.linspace(-4, 4, 9)[:, None]
KERNEL = pairing.matern32(1.0)
SMOOTHERS = {"ridge": pairing.ridge(KERNEL, 0.01), "nearest": pairing.nearest_mean(3)}


def rough(x):
    return np.sin(7 * x[:, 0]) + 0.7 * np.cos(11 * x.sum(axis=1) + 1)


def smooth(x):
    return 1 + 0.5 * np.sin(0.8 * x[:, 0])


def test_smoothers_by_hand():
    gram = KERNEL(SPOTS, SPOTS) + 0.01 * np.eye(9)
    np.testing.assert_allclose(SMOOTHERS["ridge"](LINE, SPOTS), KERNEL(LINE, SPOTS) @ np.linalg.inv(gram), atol=1e-12)
    near = SMOOTHERS["nearest"](np.array([[-3.9]]), SPOTS)[0]
    np.testing.assert_allclose(near, np.r_[np.full(3, 1 / 3), np.zeros(6)])
    np.testing.assert_allclose(SMOOTHERS["nearest"](LINE, SPOTS).sum(axis=1), 1, atol=1e-12)
    assert pairing.nearest_mean(3)(LINE, SPOTS[:2]).max() == 0.5  # fewer outcomes than neighbours


@given(st.integers(0, 10_000), st.sampled_from(sorted(SMOOTHERS)), st.sampled_from([0.0, 1.0, 1e4]))
def test_leakage_identity(seed, name, size):
    rng = np.random.default_rng(seed)
    d, smoother = 1 + seed % 3, SMOOTHERS[name]
    targets, one, zero = rng.normal(size=(7, d)), rng.normal(size=(10, d)), rng.normal(size=(12, d))

    def f0(x):
        return size * rough(x)

    def f1(x):
        return f0(x) + smooth(x)

    own = smoother(targets, one) @ smooth(one) - smooth(targets)
    error = pairing.effect_error(smoother, targets, one, zero, f1, f0)
    np.testing.assert_allclose(error, own + pairing.leakage(smoother, targets, one, zero, f0), atol=1e-8 * max(1, size))
    paired = pairing.effect_error(smoother, targets, one, one, f1, f0)
    np.testing.assert_allclose(paired, own, atol=1e-8 * max(1, size / 100))


@given(st.integers(0, 10_000))
def test_worst_leakage_is_attained_and_never_exceeded(seed):
    rng = np.random.default_rng(seed)
    one, zero, target = rng.normal(size=(6, 2)), rng.normal(size=(5, 2)), rng.normal(size=(1, 2))
    smoother = SMOOTHERS["ridge"]
    worst = pairing.worst_leakage(smoother, KERNEL, target, one, zero)[0]
    both = np.concatenate([one, zero])
    signed = np.concatenate([smoother(target, one)[0], -smoother(target, zero)[0]])

    def leak(centres, w):
        norm = np.sqrt(w @ KERNEL(centres, centres) @ w)
        return pairing.leakage(smoother, target, one, zero, lambda x: KERNEL(x, centres) @ w / norm)[0]

    assert leak(both, signed) == pytest.approx(worst, rel=1e-8)
    assert abs(leak(rng.normal(size=(8, 2)), rng.normal(size=8))) <= worst + 1e-10


def test_worst_leakage_is_the_root_mean_square_over_the_process():
    target, zero = np.array([[0.3]]), SPOTS + 0.5
    both = np.concatenate([SPOTS, zero])
    f0 = np.linalg.cholesky(KERNEL(both, both)) @ np.random.default_rng(0).normal(size=(18, 20_000))
    smoother = SMOOTHERS["ridge"]
    squared = (smoother(target, SPOTS)[0] @ f0[:9] - smoother(target, zero)[0] @ f0[9:]) ** 2
    worst = pairing.worst_leakage(smoother, KERNEL, target, SPOTS, zero)[0]
    assert abs(squared.mean() - worst**2) < 4 * squared.std() / np.sqrt(20_000)


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.9])
@pytest.mark.parametrize("name", sorted(SMOOTHERS))
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_expected_error_against_simulation(rho, name, offset):
    case = SMOOTHERS[name], KERNEL, LINE, SPOTS, SPOTS + offset
    mean, error = pairing.simulated_error(*case, rho, 0.2, np.random.default_rng(1), 2000)
    assert abs(mean - pairing.residuals(*case).error(rho, 0.2)) < 4 * error < 0.2 * mean


def test_scales_and_value_by_hand():
    left = pairing.residuals(SMOOTHERS["ridge"], KERNEL, LINE, SPOTS, SPOTS + 0.5)
    by_hand = (4 * left.one + 9 * left.zero - 2 * 0.3 * 6 * left.cross + 0.5 * left.noise).mean()
    assert left.error(0.3, 0.5, (2.0, 3.0)) == pytest.approx(by_hand, abs=1e-12)
    assert left.value(0.3, (2.0, 3.0)) == pytest.approx(3.6 * left.cross.mean(), abs=1e-12)
    assert (left.cross**2 <= left.one * left.zero + 1e-12).all()
    paired = pairing.residuals(SMOOTHERS["ridge"], KERNEL, LINE, SPOTS, SPOTS)
    for r in (0.1, 1.0, 3.0):
        share = paired.value(0.8, (r, 1.0)) / paired.error(0.0, 0.0, (r, 1.0))
        assert share == pytest.approx(1.6 / (r + 1 / r), abs=1e-12)


@given(st.floats(0.01, 0.99), st.floats(0.1, 10), st.floats(-1, 1))
def test_what_pairs_save_lies_within_the_share_and_its_cap(rho, r, agreement):
    one = np.ones(1)
    paired, other = (pairing.Residuals(one, one, c * one, 0 * one) for c in (1, agreement))
    share = pairing.value_share(rho, r)
    saved = 1 - paired.error(rho, scales=(r, 1.0)) / other.error(rho, scales=(r, 1.0))
    assert (saved - share) * agreement <= 1e-9 and saved <= pairing.largest_saving(share) + 1e-9
    unrelated = pairing.Residuals(one, one, 0 * one, 0 * one)
    assert np.isclose(1 - paired.error(rho, scales=(r, 1.0)) / unrelated.error(rho, scales=(r, 1.0)), share)


def test_residual_and_noise_are_the_posterior_variance():
    left = pairing.residuals(SMOOTHERS["ridge"], KERNEL, LINE, SPOTS, SPOTS)
    k = KERNEL(LINE, SPOTS)
    variance = 1 - np.einsum("gi,ig->g", k, np.linalg.solve(KERNEL(SPOTS, SPOTS) + 0.01 * np.eye(9), k.T))
    np.testing.assert_allclose(left.one + 0.01 * left.noise / 2, variance, atol=1e-12)


@given(st.integers(0, 10_000), st.floats(-0.99, 0.99), st.sampled_from([1e-3, 0.1, 1.0]))
def test_joint_process(seed, rho, noise):
    rng = np.random.default_rng(seed)
    targets, one, zero = rng.normal(size=(4, 2)), rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    error = pairing.joint_error(KERNEL, targets, one, zero, rho, noise)
    places, arm = np.concatenate([targets, targets, one, zero]), np.repeat([1, 0, 1, 0], [4, 4, 6, 5])
    prior = KERNEL(places, places) * np.where(arm[:, None] == arm[None], 1, rho)
    effect = np.concatenate([np.eye(4), -np.eye(4)], axis=1)
    held, seen = prior[:8, :8], prior[8:, 8:] + noise * np.eye(11)
    posterior = held - prior[:8, 8:] @ np.linalg.inv(seen) @ prior[8:, :8]
    assert error == pytest.approx(np.diag(effect @ posterior @ effect.T).mean(), abs=1e-9)
    for smoother in SMOOTHERS.values():
        assert error <= pairing.residuals(smoother, KERNEL, targets, one, zero).error(rho, noise) + 1e-12


def test_a_paired_design_leaves_nothing_to_borrow():
    for rho in (-0.7, 0.0, 0.95):
        joint = pairing.joint_error(KERNEL, LINE, SPOTS, SPOTS, rho, 1e-13)
        separate = pairing.residuals(pairing.ridge(KERNEL, 1e-13), KERNEL, LINE, SPOTS, SPOTS).error(rho)
        assert joint == pytest.approx(separate, abs=1e-9)


@given(st.integers(0, 10_000), st.sampled_from([1.0, 1.01, 1.5, 2.5, 10.0]))
def test_locality(seed, alpha):
    rng = np.random.default_rng(seed)
    d = 1 + seed % 7
    one, zero, done = rng.normal(size=(20, d)), rng.normal(size=(30, d)) + 0.4, rng.normal(size=(3, d))
    zero[:5] = one[:5]  # twins
    apart = np.linalg.norm(one[:, None] - zero[None], axis=2)
    m, delta = macal.metrics.nearest_distance(one, done), apart.min(axis=1)
    novelty, row = macal.metrics.nearest_distance(zero, done), np.arange(20)
    value = novelty - alpha * apart
    best = value.argmax(axis=1)
    assert (value[row, best] - value[row, apart.argmin(axis=1)] <= 2 * delta + 1e-9).all()
    if alpha > 1:
        squared = (novelty**2 - alpha * apart**2).argmax(axis=1)
        for chosen, is_squared in ((best, False), (squared, True)):
            assert (apart[row, chosen] <= pairing.partner_radius(m, delta, alpha, is_squared) + 1e-7).all()
        assert pairing.partner_radius(m, 0 * m, alpha, True) == pytest.approx(2 * m / (alpha - 1))


@pytest.mark.exhaustive
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.5, 1.0, 2.5, 10.0]), st.integers(0, 8))
def test_pairs_are_as_close_as_promised(seed, alpha, k):
    x, t, start = examples.two_clouds(seed, treated=12, control=14)
    order = np.concatenate([start, *macal.plan(x, t, start, 1, 2 * k + 2, "macal", alpha=alpha)])
    done, (i, j) = order[:-2], order[-2:]
    assert np.linalg.norm(x[i] - x[j]) <= pair_search.pair_reach(x, t, done, alpha) + 1e-9


def test_reach_of_a_pair_by_hand():
    x, t = np.array([[0.0], [3.0], [1.0], [10.0], [6.0]]), np.array([1, 1, 0, 0, 0])
    # labelled: 0 and 10; m_1 = 3 at 3.0, whose nearest free control is 2 away; m_0 = 9 at 1.0, 2 from 3.0
    assert pair_search.pair_reach(x, t, [0, 3], 4.0) == min(2 + 9 / 4, 2 + 3 / 4)
