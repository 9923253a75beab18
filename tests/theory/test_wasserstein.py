"""Distances between the arms along pairs: closed forms, the linear programme as oracle, the audited numbers."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist

from reproduction.theory import wasserstein as ws


def arms(seed, n, m, d=2, shift=0.8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d)) + shift, rng


def by_linear_programme(a, b):
    n, m = len(a), len(b)
    rows = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    found = linprog(cdist(a, b).ravel(), A_eq=np.vstack(rows), b_eq=np.r_[np.full(n, 1 / n), np.full(m, 1 / m)])
    return found.fun


def test_transport_is_the_linear_programme():
    a, b, _ = arms(0, 4, 7)
    assert ws.transport(a, b) == pytest.approx(by_linear_programme(a, b), abs=1e-9)


@pytest.mark.parametrize("cost", ["sqeuclidean", "cityblock", "chebyshev"])
def test_transport_of_equal_arms_is_an_assignment(cost):
    a, b, _ = arms(0, 9, 9)
    matrix = cdist(a, b, cost)
    assert ws.transport(a, b, cost) == pytest.approx(matrix[linear_sum_assignment(matrix)].mean(), abs=1e-12)


@pytest.mark.parametrize("cost", ws.METRICS)
def test_equal_arms_and_identical_pairs_are_exact_for_every_metric(cost):
    for seed in range(20):
        a, b, rng = arms(seed, 20, 20, d=3)
        pairs = rng.normal(size=(10, 3)) + 0.4
        before, after = ws.path(a, b, pairs, pairs, cost)[[0, 10]]
        assert after / before == pytest.approx(20 / 30, abs=1e-9)


def test_closed_form_along_fifteen_steps():
    a, b, rng = arms(0, 12, 12, shift=1.0)
    pairs = rng.normal(size=(60, 2))
    found = ws.path(a, b, pairs, pairs)[::4]
    np.testing.assert_allclose(found, found[0] * 3 / (3 + np.arange(16)), atol=1e-9)
    np.testing.assert_allclose(ws.lemma(found[0], 12, 4 * np.arange(16)), found, atol=1e-9)


def test_far_pairs_attain_the_upper_bound():
    far = np.array([[100.0]])
    zero, two = np.zeros((1, 1)), np.full((1, 1), 2.0)
    assert ws.path(zero, two, far, far, "sqeuclidean")[1] == pytest.approx(2.0, abs=1e-9)


def test_one_identical_pair_takes_unequal_arms_apart():
    pair = np.array([[10.0]])
    found = ws.path(np.zeros((2, 1)), np.zeros((20, 1)), pair, pair)
    np.testing.assert_allclose(found, [0, 10 * (1 / 3 - 1 / 21)], atol=1e-12)
    assert ws.jump(2, 20, 10.0) == pytest.approx(found[1], abs=1e-12)
    assert round(found[1], 3) == 2.857 and ws.jump(5, 5, 10.0) == 0


def test_certificate_holds_for_any_arms_and_pairs():
    tightest = 0.0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, m, k = rng.integers(1, 12), rng.integers(1, 40), rng.integers(1, 10)
        a, b, more = rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), 2 * rng.normal(size=(k, 2))
        other = more + rng.choice([0, 0.3]) * rng.normal(size=(k, 2))
        found, bounds = ws.path(a, b, more, other)[-1], ws.certificate(a, b, more, other)
        assert bounds.low - 1e-9 <= found <= bounds.high + 1e-9
        assert ws.certificate(b, a, other, more) == bounds
        tightest = max(tightest, found / bounds.high)
    assert 0.95 < tightest <= 1 + 1e-9


def test_certificate_by_hand():
    """Two and twenty units at 0, one pair at 10: both ends meet the distance."""
    pair = np.array([[10.0]])
    bounds = ws.certificate(np.zeros((2, 1)), np.zeros((20, 1)), pair, pair)
    assert bounds.high == pytest.approx(ws.jump(2, 20, 10.0), abs=1e-12) and bounds.low == 0
    near = ws.certificate(np.zeros((5, 1)), np.ones((5, 1)), pair, pair + 0.3)
    assert (near.low, near.high) == pytest.approx(((5 - 0.3) / 6, 5.3 / 6), abs=1e-12)


def test_near_pairs_of_equal_arms():
    for seed in range(200):
        a, b, rng = arms(seed, 10, 10, shift=0.5)
        more, way = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
        apart = rng.uniform(0, 0.5, 5)
        other = more + apart[:, None] * way / np.linalg.norm(way, axis=1, keepdims=True)
        w = ws.path(a, b, more, other)
        assert abs(w[-1] - 10 / 15 * w[0]) <= apart.sum() / 15 + 1e-9
        squared = ws.path(a, b, more, other, "sqeuclidean")
        assert squared[-1] <= (10 * squared[0] + (apart**2).sum()) / 15 + 1e-9


def test_near_pairs_bound_is_attained():
    for k, rounded in ((1, 0.883), (10, 0.533), (30, 0.400), (60, 0.354)):
        found = ws.shifted(5, 1.0, np.full(k, 0.3))
        assert found == pytest.approx((5 + 0.3 * k) / (5 + k), abs=1e-9) and found == pytest.approx(rounded, abs=5e-4)
    varied = np.array([0.1, 0.7, 0.0, 0.4])
    assert ws.shifted(3, 1.0, varied) == pytest.approx((3 + varied.sum()) / 7, abs=1e-9)


def test_floor_is_below_every_choice_of_controls():
    a, b, rng = arms(0, 8, 30)
    for _ in range(20):
        chosen = rng.choice(30, rng.integers(1, 31), replace=False)
        assert ws.floor(a, b) <= ws.transport(a, b[chosen]) + 1e-12


def test_representations_by_hand():
    pairs = {"A": (np.array([0.0, 1.0]), np.array([0.5, 1.5])), "B": (np.array([3.0, 4.0]), np.array([3.2, 4.2]))}
    found = ws.image_distances(pairs, ws.stretch)
    np.testing.assert_allclose([*found["A"], *found["B"]], [0.5, 0.5, 0.2, 0.8], atol=1e-12)
    assert (np.diff(ws.stretch(np.linspace(-3, 6, 50))) > 0).all()
    scaled = ws.image_distances(pairs, lambda x: 1e-3 * x)
    np.testing.assert_allclose([scaled["A"][1], scaled["B"][1]], [5e-4, 2e-4], atol=1e-12)


def test_distortion_brackets_every_distance():
    a, b, rng = arms(0, 12, 15, d=3)
    x = np.r_[a, b]
    z = x @ rng.normal(size=(3, 3))
    low, high = ws.distortion(x, z)
    singular = np.linalg.svd(np.linalg.lstsq(x, z, rcond=None)[0], compute_uv=False)
    assert singular.min() - 1e-9 <= low < high <= singular.max() + 1e-9
    assert low * ws.transport(a, b) - 1e-9 <= ws.transport(z[:12], z[12:]) <= high * ws.transport(a, b) + 1e-9
    assert ws.distortion(x, 2 * x) == pytest.approx((2, 2), abs=1e-12)
