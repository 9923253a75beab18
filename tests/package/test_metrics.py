"""Measures against closed forms, enumeration and a linear programme."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from macal import metrics

seeds = st.integers(0, 2**32 - 1)


def arms(rng, n1, n0, d):
    return rng.normal(size=(n1 + n0, d)), np.repeat([1, 0], [n1, n0])


@given(seeds, st.floats(-1e6, 1e6))
def test_pehe_of_a_shift_is_the_shift(seed, c):
    tau = np.random.default_rng(seed).normal(size=20)
    assert metrics.pehe(tau, tau) == 0
    assert metrics.pehe(tau + c, tau) == pytest.approx(abs(c), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("tau_hat", "tau", "message"),
    [
        ([1.0], [1.0, 2.0], "same length"),
        ([], [], "at least 1"),
        ([[[1.0]]], [[[1.0]]], "two vectors of the same length, or a column per contrast"),
        ([np.nan], [0.0], "finite"),
    ],
)
def test_pehe_refuses(tau_hat, tau, message):
    with pytest.raises(ValueError, match=message):
        metrics.pehe(tau_hat, tau)


@given(seeds, st.integers(1, 6), st.integers(1, 6), st.integers(1, 3))
def test_wasserstein_equals_the_linear_programme(seed, n1, n0, d):
    x, t = arms(np.random.default_rng(seed), n1, n0, d)
    cost = cdist(x[:n1], x[n1:])
    rows, columns = np.kron(np.eye(n1), np.ones(n0)), np.kron(np.ones(n1), np.eye(n0))
    mass = np.r_[np.full(n1, 1 / n1), np.full(n0, 1 / n0)]
    oracle = linprog(cost.ravel(), A_eq=np.r_[rows, columns], b_eq=mass).fun
    assert metrics.wasserstein(x, t) == pytest.approx(oracle, rel=1e-7, abs=1e-9)


@given(seeds, st.integers(1, 8), st.integers(1, 8))
def test_counterparts_and_cover_equal_enumeration(seed, n1, n0):
    x, t = arms(np.random.default_rng(seed), n1, n0, 2)
    nearest = [
        min(np.linalg.norm(a - b) for b, s in zip(x, t, strict=True) if s != u) for a, u in zip(x, t, strict=True)
    ]
    np.testing.assert_allclose(metrics.counterpart_distance(x, t), nearest, rtol=1e-12)
    assert metrics.covering_radius(x, x[:n1]) == pytest.approx(
        max(min(np.linalg.norm(a - c) for c in x[:n1]) for a in x), rel=1e-12
    )


def test_distances_are_the_same_in_blocks(monkeypatch):
    x, t = arms(np.random.default_rng(1), 30, 50, 4)
    whole = metrics.nearest_distance(x, x[t == 1])
    monkeypatch.setattr(metrics, "_BLOCK_ELEMENTS", 100)
    assert np.array_equal(metrics.nearest_distance(x, x[t == 1]), whole)


def test_squared_distances_are_the_squares():
    x, t = arms(np.random.default_rng(1), 30, 50, 4)
    squared = metrics.nearest_distance(x, x[t == 1], "sqeuclidean")
    np.testing.assert_allclose(squared, metrics.nearest_distance(x, x[t == 1]) ** 2, rtol=1e-12)


def test_nothing_to_be_near():
    x = np.ones((3, 2))
    assert np.isinf(metrics.nearest_distance(x, x[:0])).all() and metrics.covering_radius(x, x[:0]) == np.inf
    assert metrics.nearest_distance(x[:0], x).shape == (0,) and metrics.covering_radius(x[:0], x) == 0


@pytest.mark.parametrize("measure", [metrics.wasserstein, metrics.counterpart_distance])
def test_an_absent_arm_is_named(measure):
    with pytest.raises(ValueError, match="two arms are needed, got 3 treated and 0 control"):
        measure(np.ones((3, 1)), [1, 1, 1])
