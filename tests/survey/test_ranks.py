"""Bounds of the share of people who are ahead of a pick."""

import numpy as np
import pytest
from cases import each
from scipy.stats import binom, binomtest, hypergeom

from macal.survey.inference.ranks import rank_bounds


@each("m", [1, 2, 7, 300, 20_000])
def test_the_bound_of_one_pick_is_clopper_and_pearsons(m):
    for x in {0, m // 3, m - 1, m}:
        interval = binomtest(x, m, alternative="less").proportion_ci(0.95, method="exact")
        np.testing.assert_allclose(rank_bounds([x], m), [interval.high], rtol=1e-9)


def test_several_picks_share_the_level():
    together = rank_bounds([0, 5, 40], 100, level=0.06)
    alone = [rank_bounds([x], 100, level=0.02)[0] for x in (0, 5, 40)]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(rank_bounds([0] * 50, 1000), 1 - (0.05 / 50) ** (1 / 1000), rtol=1e-12)


def test_bounds_rise_with_the_number_ahead_fall_with_the_number_drawn_and_are_never_below_what_was_seen():
    bounds = rank_bounds(np.arange(101), 100)
    assert (np.diff(bounds) > 0).all() and (bounds >= np.arange(101) / 100).all() and bounds[-1] == 1
    assert (np.diff([rank_bounds([1], m)[0] for m in (10, 100, 1000, 10**7)]) < 0).all()


def test_a_million_picks_and_a_tiny_level_stay_finite():
    bounds = rank_bounds(np.zeros(10**6, int), 10**6, level=1e-9)
    np.testing.assert_allclose(bounds, -np.expm1(np.log(1e-15) / 1e6), rtol=1e-9)


def test_nobody_is_asked():
    assert rank_bounds([], 10).shape == (0,)


@each("m, level", [(1, 0.05), (20, 0.05), (20, 0.2), (200, 0.05)])
def test_a_bound_is_too_low_no_more_often_than_it_may_be(m, level):
    bounds = np.array([rank_bounds([x], m, level)[0] for x in range(m + 1)])
    for p in np.linspace(0.001, 0.999, 97):
        assert binom.pmf(np.arange(m + 1), m, p)[bounds < p].sum() <= level * (1 + 1e-9)


@each("n, m", [(5, 3), (30, 10), (30, 29), (400, 50), (1000, 20)])
def test_it_is_too_low_no_more_often_where_people_are_drawn_without_replacement(n, m):
    bounds = np.array([rank_bounds([x], m)[0] for x in range(m + 1)])
    for ahead in range(n + 1):
        missed = hypergeom.pmf(np.arange(m + 1), n, ahead, m)[bounds < ahead / n].sum()
        assert missed <= 0.05 * (1 + 1e-9), (ahead, missed)


@pytest.mark.parametrize(
    "ahead, m, level, said",
    [
        ([0.5], 10, 0.05, "whole numbers"),
        ([[1]], 10, 0.05, "whole numbers"),
        ([-1, 2], 10, 0.05, r"0\.\.10.*-1\.\.2"),
        ([11], 10, 0.05, r"0\.\.10"),
        ([0], 0, 0.05, r"\bm\b"),
        ([0], 10.0, 0.05, r"\bm\b"),
        ([0], 10, 1.0, "level"),
        ([0], 10, float("nan"), "level"),
    ],
)
def test_what_cannot_be_is_refused(ahead, m, level, said):
    with pytest.raises(ValueError, match=said):
        rank_bounds(ahead, m, level)
