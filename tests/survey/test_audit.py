"""A plan carried out among everybody, and audits of it."""

import numpy as np
import pytest
from cases import part_and_whole

import macal
from macal.kernels import rbf
from reproduction.theory import audit, greedy


def test_a_registry_is_standardised():
    for factors in (0, 2):
        x, t = audit.registry(500, 3, factors, 0)
        np.testing.assert_allclose([x.mean(0), x.std(0)], [[0.0] * 3, [1.0] * 3], atol=1e-12)
        assert x.shape == (500, 3) and 0 < t.mean() < 0.5


def test_a_sample_of_everybody_gives_the_plan_of_everybody_and_nobody_is_ahead():
    x, t = audit.registry(300, 3, 0, 1)
    everybody = np.arange(300)
    plan = audit.race(x, t, everybody, audit.best_of(everybody), 20)
    theirs = np.concatenate(macal.plan(x, t, [], 2, 10, "alc-fixed"))
    assert plan.picks.tolist() == sorted(theirs.tolist()) and not plan.ahead.any()


def test_who_is_ahead_is_outside_of_the_sample_and_of_the_plan():
    x, t = audit.registry(400, 3, 2, 2)
    sample = np.random.default_rng(0).choice(400, 40, replace=False)
    plan = audit.race(x, t, sample[:20], audit.best_of(sample), 15)
    assert np.isin(plan.picks, sample).all() and plan.ahead.shape == (15, 400)
    assert plan.ahead.any(axis=1).mean() > 0.5 and not plan.ahead[:, sample].any()


def test_the_share_ahead_of_a_pick_is_counted_by_hand():
    x, t = audit.registry(100, 2, 0, 3)
    plan = audit.race(x, t, np.arange(50), audit.in_order(np.array([7, 3])), 2)
    gain = np.array([_variance(x, t, []) - _variance(x, t, [unit]) for unit in range(100)])
    others = np.setdiff1d(np.arange(100), [3, 7])
    np.testing.assert_array_equal(plan.ahead[0, others], gain[others] > gain[7])
    after = np.array([_variance(x, t, [7]) - _variance(x, t, [7, unit]) for unit in range(100)])
    np.testing.assert_array_equal(plan.ahead[1, others], after[others] > after[3])
    assert not plan.ahead[:, [3, 7]].any()


def _variance(x, t, labels):
    """Mean variance of the effect at the first 50 people, by the textbook's formula."""
    unit = macal.get("alc-fixed").prior_among(x[:50], 2).lengthscale[0]
    left = 2.0
    for arm in (0, 1):
        own = [k for k in labels if t[k] == arm]
        cross, gram = rbf(x[:50], x[own], unit), rbf(x[own], x[own], unit) + 0.1 * np.eye(len(own))
        left -= np.einsum("zl,lz->z", cross, np.linalg.solve(gram, cross.T)).mean()
    return left


@part_and_whole("times", 300, 3000)
def test_audits_hold_and_tell_a_random_plan(times):
    x, t = audit.registry(3000, 4, 2, 4)
    order = np.random.default_rng(5).permutation(3000)
    sampled = audit.race(x, t, order[:100], audit.best_of(order[:300]), 15)
    by_chance = audit.race(x, t, order[:100], audit.in_order(order[-15:]), 15)
    good, bad = (audit.audits(plan, 200, times, 6) for plan in (sampled, by_chance))
    for found in (good, bad):
        assert found.held >= 0.95 and (found.bounds >= found.shares).mean() > 0.9
    assert np.median(good.bounds) < 0.05 < 0.3 < np.median(bad.bounds)
    assert good.shares.max() < np.median(bad.shares)


def test_the_gain_of_a_label_rises_after_another():
    line = np.arange(3.0)[:, None]
    gain = greedy.variance_reduction(rbf(line, line), np.array([0]), noise=0.1)
    assert gain((2,)) == pytest.approx(np.exp(-4) / 1.1)
    assert gain((1, 2)) - gain((1,)) > 2 * gain((2,))
