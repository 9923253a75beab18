"""Intervals that hold at every look: multiples of the standard error, coverage over all looks, and what they cost."""

import numpy as np
import pytest
from cases import part_and_whole
from scipy.stats import binom, multivariate_normal, norm
from scipy.stats import t as student

from macal.survey.inference import (
    Estimate,
    alpha_spent,
    anytime_valid_interval,
    critical_values,
    group_sequential_interval,
)


def test_the_level_is_spent_by_lan_and_demets():
    assert [alpha_spent(0.05, share) for share in (0.0, 1.0)] == pytest.approx([0.0, 0.05])
    for share in (0.2, 0.5, 0.9):
        assert alpha_spent(0.05, share) == pytest.approx(2 - 2 * norm.cdf(1.959964 / np.sqrt(share)), rel=1e-5)


@pytest.mark.parametrize("shares", [[1.0], [0.5, 1.0], [0.3, 0.55, 1.0], [0.25, 0.5, 0.75, 1.0]])
def test_looks_spend_what_they_may(shares):
    """Chances of rectangles by another integration: the looks so far are passed with the chance that was not spent."""
    c = critical_values(shares)
    for k in range(1, len(shares) + 1):
        t = np.array(shares[:k])
        corr = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
        inside = multivariate_normal(np.zeros(k), corr, maxpts=500_000, abseps=1e-6, releps=1e-6)
        kept = inside.cdf(c[:k], lower_limit=-c[:k])
        assert 1 - kept == pytest.approx(alpha_spent(0.05, shares[k - 1]), abs=2e-5)
    assert (np.diff(c) < 0).all() or len(c) == 1
    # later looks do not move earlier multiples
    np.testing.assert_allclose(critical_values(shares[:1]), c[:1])


def test_one_look_is_the_usual_interval_and_a_very_early_one_has_none():
    assert critical_values([1.0])[0] == pytest.approx(1.959964, abs=1e-5)
    early = critical_values([0.01, 1.0])
    assert early[0] == np.inf and early[1] == pytest.approx(1.959964, abs=1e-5)
    for shares in ([0.5, 0.5], [0.5, 1.5]):
        with pytest.raises(ValueError, match="shares"):
            critical_values(shares)


def test_a_look_takes_student_s_distribution_with_as_large_a_tail():
    one = Estimate(1.0, 0.0, 2.0, 0.5)
    found = group_sequential_interval(one, 41, [0.5, 1.0])
    reach = student.isf(norm.sf(critical_values([0.5, 1.0])[1]), 40) * 0.5
    assert (found.low, found.high) == pytest.approx((1 - reach, 1 + reach)) and found.error == 0.5
    assert group_sequential_interval(one, 41, [0.01]).width == np.inf


@part_and_whole("n", 2000, 20_000)
def test_a_brownian_motion_leaves_the_sequence_as_often_as_it_may(n):
    steps, rng = 400, np.random.default_rng(0)
    sums = rng.normal(size=(n, steps)).cumsum(axis=1)
    times = np.arange(1, steps + 1)
    reach = np.array([anytime_valid_interval(Estimate(0.0, 0.0, 0.0, 1 / np.sqrt(k)), k / steps).high for k in times])
    left = (np.abs(sums / times) > reach).any(axis=1).sum()
    # looks go on beyond the plan, so that not all of the level is used within it
    assert 0.005 * n < left <= binom.isf(1e-4, n, 0.05)
    fixed = (np.abs(sums / times) > 1.96 / np.sqrt(times)).any(axis=1).mean()
    assert fixed > 0.3


def test_the_sequence_is_narrowest_at_its_share():
    one = Estimate(0.0, 0.0, 0.0, 1.0)
    at = anytime_valid_interval(one, 1.0).high
    assert at < min(anytime_valid_interval(one, share).high for share in (0.9, 1.1))
    assert at / 1.96 == pytest.approx(1.549, abs=1e-3)
    with pytest.raises(ValueError, match="share must be a number above 0"):
        anytime_valid_interval(one, 0.0)
