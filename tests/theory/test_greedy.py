"""Greedy against all sets: counterexamples by hand, guarantees on random instances, closed forms."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import macal
from macal.kernels import matern12, rbf
from reproduction.claims.bounds import ALL_PAIRS
from reproduction.theory import greedy

SEEDS = st.integers(0, 10_000)
FIVE = np.arange(5.0)[:, None]


def cloud(seed, units=7, q=2, targets=40):
    rng = np.random.default_rng(seed)
    x, start, target = rng.normal(size=(units, 2)), rng.normal(size=(1, 2)), rng.normal(size=(targets, 2))
    return x, greedy.coverage(cdist(target, x) ** q, cdist(target, start)[:, 0] ** q)


# ---------------------------------------------------------------- Theorem 1


def test_five_places():
    value = greedy.variance_reduction(rbf(FIVE, FIVE))
    chosen, best = greedy.greedy(value, range(5), 2), greedy.exhaustive(value, range(5), 2)
    assert set(chosen) == {2, 0} and set(best) == {1, 3}
    assert 1 - value(chosen) == pytest.approx(0.3921, abs=5e-5)
    assert 1 - value(best) == pytest.approx(0.3212, abs=5e-5)
    assert greedy.share_of_best(value, range(5), 2) == pytest.approx(0.8956, abs=1e-4)
    assert greedy.share_of_best(value, range(5), 3) == pytest.approx(1)
    slow = greedy.variance_reduction(matern12(FIVE, FIVE, 1.5))
    assert greedy.share_of_best(slow, range(5), 2) == pytest.approx(0.9341, abs=1e-4)


def test_bound_reduction_by_hand():
    task = greedy.BoundTask(np.array([0.0, 1, 2, 3, 4, 1.5]), np.array([0.5, 1, 2, 3, 4, 3.5]), 2.0)

    def variance(x, done):
        k = rbf(x[:, None], x[done][:, None])
        return (1 - np.einsum("ij,ji->i", k, np.linalg.solve(k[done], k.T))).mean()

    def bound(one, zero):
        w = np.abs(np.sort(task.treated[one]) - np.sort(task.control[zero])).mean()
        return variance(task.treated, one) + variance(task.control, zero) + 2 * w

    value = greedy.bound_reduction(task)
    assert value(()) == 0
    assert value(((2, 0), (4, 3))) == pytest.approx(bound([5], [5]) - bound([5, 2, 4], [5, 0, 3]), abs=1e-9)


# ---------------------------------------------------------------- guarantees


@given(SEEDS, st.sampled_from([1, 2]))
@settings(max_examples=30)
def test_coverage_is_monotone_submodular_and_greedy_keeps_its_share(seed, q):
    _, value = cloud(seed, units=6, q=q)
    f = {s: value(s) for k in range(7) for s in combinations(range(6), k)}
    assert f[()] == 0 and all(f[tuple(sorted((*s, u)))] >= f[s] - 1e-12 for s in f for u in range(6) if u not in s)
    assert greedy.rising_gain(value, 6) < 1e-12
    for k in (2, 3):
        assert greedy.share_of_best(value, range(6), k) >= 1 - (1 - 1 / k) ** k


@given(SEEDS, st.floats(0.5, 3.0), st.booleans())
@settings(max_examples=30)
def test_restricted_pairs_reach_a_third(seed, reach, with_bonus):
    (x1, one), (x0, zero) = cloud(seed, 5), cloud(seed + 1, 5)
    d = cdist(x1, x0)
    admissible = [(i, j) for i, j in ALL_PAIRS if d[i, j] <= reach]
    value = greedy.pair_coverage(one, zero, np.maximum(reach - d, 0) if with_bonus else None)
    chosen = greedy.greedy(value, admissible, 3)
    assert len({i for i, _ in chosen}) == len({j for _, j in chosen}) == len(chosen)
    sets = [s for k in range(4) for s in combinations(admissible, k)]
    best = max(value(s) for s in sets if all(greedy.apart(s[:k], s[k]) for k in range(len(s))))
    assert value(chosen) >= best / 3 - 1e-12


@given(SEEDS)
@settings(max_examples=20)
def test_free_pairs_are_each_arms_own_choice(seed):
    (_, one), (_, zero) = cloud(seed, 5), cloud(seed + 1, 5)
    value = greedy.pair_coverage(one, zero)
    own = one(greedy.greedy(one, range(5), 3)) + zero(greedy.greedy(zero, range(5), 3))
    assert value(greedy.greedy(value, ALL_PAIRS, 3)) == pytest.approx(own, abs=1e-12)
    assert greedy.share_of_best(value, ALL_PAIRS, 2) >= 0.75


def test_a_blocking_pair_halves_the_value():
    value = greedy.pair_coverage(lambda a: 0.0, lambda b: 0.0, np.array([[1.001, 1.0], [1.0, 0.0]]))
    admissible = [(0, 0), (0, 1), (1, 0)]
    assert greedy.greedy(value, admissible, 2) == ((0, 0),)
    assert greedy.share_of_best(value, admissible, 2) == pytest.approx(1.001 / 2)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="-1"):
        greedy.pair_coverage(len, len, -np.ones((2, 2)))
    with pytest.raises(ValueError, match="2 of 2"):
        greedy.exhaustive(len, [(0, 0), (0, 1)], 2)


def test_farthest_first_is_the_librarys():
    x = np.random.default_rng(0).normal(size=(20, 2))
    (plan,) = macal.plan(x, np.repeat([1, 0], [18, 2]), [0, 18], 1, 10, "macal", alpha=0.0)
    own = [u for u in plan if u < 18]
    start = cdist(x[:18], x[:1])[:, 0]
    assert greedy.farthest_first(cdist(x[:18], x[:18]), start, len(own)) == tuple(own)


# ---------------------------------------------------------------- the variance itself


@given(SEEDS)
@settings(max_examples=25)
def test_exponential_kernel_on_a_line_has_diminishing_returns(seed):
    x = 1.5 * np.random.default_rng(seed).normal(size=(5, 1))
    assert greedy.rising_gain(greedy.variance_reduction(matern12(x, x)), 5) < 1e-9
