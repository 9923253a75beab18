"""The best share of treated labels against a search, and its consequences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from reproduction.theory import allocation

RATIOS, POWERS = st.floats(0.05, 20), st.floats(0.2, 3)


@given(RATIOS, POWERS)
def test_the_best_share_is_where_a_search_ends(r, b):
    found = minimize_scalar(lambda s: float(allocation.risk(s, r, b)), bounds=(1e-6, 1 - 1e-6), method="bounded")
    best = allocation.best_share(r, b)
    assert best == pytest.approx(found.x, abs=2e-4)
    assert allocation.risk(best, r, b) <= found.fun * (1 + 1e-9)


@given(RATIOS, POWERS)
def test_exchanging_the_arms_exchanges_the_shares(r, b):
    assert allocation.best_share(1 / r, b) == pytest.approx(1 - allocation.best_share(r, b))
    assert allocation.gain(0.5, 0.2, r, b) == pytest.approx(allocation.gain(0.5, 0.8, 1 / r, b))


@given(st.floats(0.02, 0.45), POWERS)
def test_half_ties_with_a_smaller_share_at_one_ratio(natural, b):
    r = allocation.tie(0.5, natural, b)
    assert allocation.gain(0.5, natural, r, b) == pytest.approx(0, abs=1e-9)
    assert allocation.gain(0.5, natural, 1.1 * r, b) < 0 < allocation.gain(0.5, natural, 0.9 * r, b)
    assert r < 1  # arms that are equally hard are served best by one half


def test_neyman_at_power_one():
    assert allocation.best_share(3.0) == pytest.approx(3 / 4)
    assert allocation.best_share(0.126) == pytest.approx(0.126 / 1.126)


@given(st.floats(0.1, 10), st.floats(0.2, 2))
def test_a_curve_is_recovered(scale, power):
    n = np.array([10, 20, 50, 100])
    found = allocation.fit_curve(n, scale**2 * n**-power)
    assert found == pytest.approx((scale, power))


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.2, 2), st.floats(20, 2000))
def test_curves_of_one_power_give_the_closed_form(one, zero, power, n):
    curves = allocation.LearningCurve(one, power), allocation.LearningCurve(zero, power)
    assert allocation.best_share_of(*curves, n) == pytest.approx(allocation.best_share(one / zero, power), abs=1e-6)


@given(st.floats(0.3, 3), st.floats(0.3, 1.5), st.floats(0.3, 1.5), st.floats(20, 2000))
def test_curves_of_two_powers_are_balanced_where_a_search_says(r, b1, b0, n):
    treated, control = allocation.LearningCurve(r, b1), allocation.LearningCurve(1.0, b0)
    error = lambda s: r**2 * (s * n) ** -b1 + ((1 - s) * n) ** -b0  # noqa: E731
    found = minimize_scalar(error, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-9})
    assert error(allocation.best_share_of(treated, control, n)) <= found.fun * (1 + 1e-9)
