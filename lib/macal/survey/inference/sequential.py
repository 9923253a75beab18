"""Intervals that are valid simultaneously at all looks, for stopping at a width; see book/enough.md (sec-refusals).

Fixed looks: alpha spending 2 - 2 Phi(z / sqrt(t)) (Lan and DeMets 1983), boundaries by the recursion of Armitage,
McPherson and Rowe (1969). Any number of looks: Robbins' normal mixture, asymptotically (Waudby-Smith et al. 2024,
Theorem 2.2): error sqrt(2 (m + 1) / m log(sqrt(m + 1) / alpha)), with m = -W(-alpha^2 / e) - 1, W the lower branch of
Lambert's function, times the share of the planned labels, so that the price is lowest at the end of the plan.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import lambertw, ndtr, ndtri, stdtrit

from macal.arguments import Level, Positive, Whole, hinted
from macal.shapes import Outcomes
from macal.survey.inference.weighted import Estimate

LOOKS = ("once", "rounds", "any")
_GRID = 801  # grid of the recursion; odd, for Simpson's rule
_FAR = 8.0  # standard errors beyond which mass is ignored
_NEVER = 1e-13  # smaller parts of the level are not spent


@hinted
def alpha_spent(level: Level, share: float) -> float:
    """Return the alpha spent at a share of the planned labels: 2 - 2 Phi(z / sqrt(share)).

    >>> [round(alpha_spent(0.05, share), 4) for share in (0.0, 0.25, 0.5, 1.0)]
    [0.0, 0.0001, 0.0056, 0.05]
    """
    return float(2 * ndtr(ndtri(level / 2) / np.sqrt(share))) if share else 0.0


@hinted
def critical_values(shares: Sequence[float], level: Level = 0.95) -> Outcomes:
    """Return critical values at a fixed number of looks, (looks,); infinite at too early ones.

    They solve in turn P(|Z_j| <= c_j for j < k, |Z_k| > c_k) = alpha_spent(t_k) - alpha_spent(t_k-1), with
    Corr(Z_j, Z_k) = sqrt(t_j / t_k).

    Args:
        shares: increasing shares of the planned labels at the looks, at most 1.
        level: simultaneous coverage probability.

    Raises:
        ValueError: shares that do not increase from above 0 to at most 1.

    >>> critical_values([0.5, 1.0]).round(2).tolist()
    [2.77, 1.98]
    """
    t = np.asarray(shares, np.float64)
    if not (t.size and t[0] > 0 and (np.diff(t) > 0).all() and t[-1] <= 1 + 1e-12):
        raise ValueError(f"shares must increase from above 0 to at most 1, got {list(shares)}")
    alpha, found = 1 - level, []
    # density of the unstopped Brownian motion, times Simpson's weights
    places, mass, before, used = np.zeros(1), np.ones(1), 0.0, 0.0
    for time in t:
        allowed, step = alpha_spent(alpha, float(time)) - used, np.sqrt(time - before)
        c = np.inf  # nothing may be spent yet
        if allowed > _NEVER:
            excess = partial(_excess, time=float(time), places=places, mass=mass, step=float(step), allowed=allowed)
            c = float(brentq(excess, 0.0, _FAR, xtol=1e-10))
            used += allowed
        found.append(c)
        edge = min(c, _FAR) * np.sqrt(time)
        new = np.linspace(-edge, edge, _GRID)
        weights = np.full(_GRID, 2.0)
        weights[1::2] = 4.0
        weights[[0, -1]] = 1.0
        density = np.exp(-(((new[:, None] - places) / step) ** 2) / 2) @ mass / step / np.sqrt(2 * np.pi)  # (grid,)
        places, mass, before = new, density * weights * (new[1] - new[0]) / 3, time
    return np.array(found)


def _excess(
    c: float, time: float, places: Float[np.ndarray, " g"], mass: Float[np.ndarray, " g"], step: float, allowed: float
) -> float:
    """Return the probability that the Brownian motion is beyond c after a step, minus the allowed one."""
    edge = c * np.sqrt(time)
    return float(mass @ (ndtr((places - edge) / step) + ndtr(-(places + edge) / step))) - allowed


@hinted
def group_sequential_interval(
    estimate: Estimate, answers: Whole, shares: Sequence[float], level: Level = 0.95
) -> Estimate:
    """Return the last look's estimate with an interval valid simultaneously at all planned looks.

    Args:
        estimate: estimate at this look.
        answers: number of answers, for the quantile of Student's distribution with the same tail.
        shares: shares of the planned labels at the looks so far.
        level: simultaneous coverage probability.

    Raises:
        ValueError: shares that do not increase from above 0 to at most 1.
    """
    tail = ndtr(-critical_values(shares, level)[-1])
    reach = float(-stdtrit(answers - 1, tail) * estimate.error) if tail else np.inf
    return replace(estimate, low=estimate.value - reach, high=estimate.value + reach)


@hinted
def anytime_valid_interval(estimate: Estimate, share: Positive, level: Level = 0.95) -> Estimate:
    """Return an estimate with an interval valid simultaneously at any number of looks.

    Args:
        estimate: estimate at this look.
        share: labels so far over those planned; may exceed 1.
        level: simultaneous coverage probability.

    Raises:
        ValueError: a share that is not above 0.

    >>> round(anytime_valid_interval(Estimate(0.0, -1.96, 1.96, 1.0), share=1.0).high, 2)
    3.04
    """
    alpha = 1 - level
    m = share * (float(-lambertw(-(alpha**2) / np.e, k=-1).real) - 1)
    reach = float(estimate.error * np.sqrt(2 * (m + 1) / m * np.log(np.sqrt(m + 1) / alpha)))
    return replace(estimate, low=estimate.value - reach, high=estimate.value + reach)
