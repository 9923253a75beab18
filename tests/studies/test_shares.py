"""Neyman's shares, and where the units within them come from."""

from dataclasses import replace

import numpy as np
import pytest

import macal
from macal.acquisition import Belief, PoolState
from macal.acquisition.random import by_share
from macal.posterior import Posterior


def state(variance, labels=(4, 8), n=60, seed=0):
    """A pool of n units in two arms, as many controls as treated, with these posterior variances of the surfaces."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) % 2
    labelled = np.concatenate([np.flatnonzero(t == arm)[:k] for arm, k in enumerate(labels)])
    cov = np.tile(np.diag(np.array(variance, float)), (n, 1, 1))
    return PoolState(rng.normal(size=(n, 3)), t, labelled, rng, Belief(Posterior(np.zeros((n, 2)), cov)))


@pytest.mark.parametrize(
    ("variance", "labels", "share"),
    [
        ((1, 1), (4, 4), 1 / 2),
        ((4, 1), (4, 4), 1 / 3),
        ((1, 1), (4, 16), 2 / 3),
        ((0, 0), (4, 4), 1 / 2),
        ((1, 1), (0, 9), 3 / 4),
    ],
)
def test_the_share_is_in_proportion_to_sigma(variance, labels, share):
    assert macal.get("neyman").share(state(variance, labels)) == pytest.approx(share)  # n_t v_t = sigma_t^2


@pytest.mark.parametrize("name", ["neyman", "macal-neyman"])
def test_a_batch_brings_the_labels_to_the_share(name):
    pool = state((9, 1), (6, 6))
    batch = macal.get(name).select(pool, 12)
    assert (pool.t[pool.labelled] == 1).sum() + pool.t[batch].sum() == 6  # a quarter of 24, and 6 are there
    batch = macal.get(name).select(state((1, 9), (6, 6)), 12)
    assert pool.t[batch].sum() == 12


def test_places_are_farthest_first_within_the_arm():
    pool = state((9, 1), (6, 6))
    batch = macal.get("neyman").select(pool, 5)
    treated = np.flatnonzero(pool.t == 1)
    alone = replace(pool, labelled=np.union1d(pool.labelled, treated))  # nothing left to buy but controls
    assert batch.tolist() == macal.get("qhte").select(alone, 5).tolist()


def test_the_smaller_number_is_bought_as_macals_pairs():
    pool = state((1, 1), (6, 6))
    found, expected = (macal.get(name, alpha=1.0).select(pool, 8) for name in ("macal-neyman", "macal"))
    assert found.tolist() == expected.tolist()
    uneven = macal.get("macal-neyman").select(state((4, 1), (6, 6)), 12)
    assert uneven[:4].tolist() == macal.get("macal").select(pool, 4).tolist()
    assert not pool.t[uneven[4:]].any()


def test_an_exhausted_arm_leaves_the_batch_to_the_other():
    pool = state((1, 9), (6, 28))
    assert by_share(pool, 0.9, 10) == (8, 2)
    for name in ("neyman", "macal-neyman"):
        batch = macal.get(name).select(pool, 10)
        assert len({*batch}) == 10 and pool.t[batch].sum() == 2


def test_a_weight_of_pairs_is_checked_at_once():
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 0, got -1.0"):
        macal.get("macal-neyman", alpha=-1.0)
