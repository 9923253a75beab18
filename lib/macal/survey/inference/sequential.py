"""Intervals that hold at every look at once, so that one may stop once an interval is short enough.

Let a campaign be looked at after several rounds, whose people are in an order that was drawn. Of two looks the earlier
one's sample is a random part of the later one's, so Cov(earlier estimate, later estimate) = Var(later estimate). With
the information I = 1 / variance, I (estimate - effect) is therefore, in large samples, a Brownian motion at time I.

*A number of looks fixed beforehand.* At the share t of the planned labels at most alpha_spent(t) of the level, 1 less
the chance to hold at all looks, may have been used: 2 - 2 Phi(z / sqrt(t)), z the level's two-sided quantile, which
spends little early (Lan and DeMets; O'Brien and Fleming's shape). The multiples c_1 .. c_K of the standard error solve,
one after the other,

    P(|Z_j| <= c_j for j < k, |Z_k| > c_k) = alpha_spent(t_k) - alpha_spent(t_k-1),    Corr(Z_j, Z_k) = sqrt(t_j / t_k),

by the recursion of Armitage, McPherson and Rowe on a grid.

*Any number of looks.* Mixing the exponential martingale of the Brownian motion over normal drifts gives (Robbins), with
m proportional to the labels so far,

    P(some look is off by more than error sqrt(2 (m + 1) / m log(sqrt(m + 1) / alpha))) <= alpha.

m is m* = -W(-alpha^2 / e) - 1, W the lower branch of Lambert's function, times the share of the planned labels, so that
the price is lowest at the end of the plan. The chance is alpha in the limit of ever later first looks (Waudby-Smith et
al., Theorem 2.2).

References:
    K. K. G. Lan and D. L. DeMets, "Discrete Sequential Boundaries for Clinical Trials", Biometrika 70(3), 1983.
    P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated Significance Tests on Accumulating Data", Journal of the
    Royal Statistical Society A 132(2), 1969.
    H. Robbins, "Statistical Methods Related to the Law of the Iterated Logarithm", Annals of Mathematical Statistics
    41(5), 1970.
    I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy and A. Ramdas, "Time-Uniform Central Limit Theory and Asymptotic
    Confidence Sequences", Annals of Statistics 52(6), 2024.
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

Grid = Float[np.ndarray, "g"]
LOOKS = ("once", "rounds", "any")
_GRID = 801  # places of the recursion; an odd number, for Simpson's rule
_FAR = 8.0  # multiples of the standard error beyond which nothing lies
_NEVER = 1e-13  # a share of the level that is so small is not spent: the look decides nothing


@hinted
def alpha_spent(level: Level, share: float) -> float:
    """Of a level, what may have been spent at a share of what is planned; see the module.

    >>> [round(alpha_spent(0.05, share), 4) for share in (0.0, 0.25, 0.5, 1.0)]
    [0.0, 0.0001, 0.0056, 0.05]
    """
    return float(2 * ndtr(ndtri(level / 2) / np.sqrt(share))) if share else 0.0


@hinted
def critical_values(shares: Sequence[float], level: Level = 0.95) -> Outcomes:
    """Multiples of the standard error at looks whose number is fixed, (looks,); infinite where a look comes too early.

    Args:
        shares: of the planned labels that are known at each look, rising, at most 1.
        level: chance that all intervals hold.

    Raises:
        ValueError: shares that do not rise from above 0 to at most 1.

    >>> critical_values([0.5, 1.0]).round(2).tolist()
    [2.77, 1.98]
    """
    t = np.asarray(shares, np.float64)
    if not (t.size and t[0] > 0 and (np.diff(t) > 0).all() and t[-1] <= 1 + 1e-12):
        raise ValueError(f"shares must rise from above 0 to at most 1, got {list(shares)}")
    alpha, found = 1 - level, []
    # density of the Brownian motion at places that no look has stopped, times Simpson's weights
    places, mass, before, used = np.zeros(1), np.ones(1), 0.0, 0.0
    for time in t:
        allowed, step = alpha_spent(alpha, float(time)) - used, np.sqrt(time - before)
        c = np.inf  # a look at which nothing may be spent yet
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


def _excess(c: float, time: float, places: Grid, mass: Grid, step: float, allowed: float) -> float:
    """Chance of a Brownian motion, at places with some mass, to be beyond c after a step, less what is allowed."""
    edge = c * np.sqrt(time)
    return float(mass @ (ndtr((places - edge) / step) + ndtr(-(places + edge) / step))) - allowed


@hinted
def group_sequential_interval(
    estimate: Estimate, answers: Whole, shares: Sequence[float], level: Level = 0.95
) -> Estimate:
    """The estimate of the last of several looks, with an interval that holds at all planned looks at once.

    Args:
        estimate: at that look, by its own standard error.
        answers: that it rests on; they make the multiple one of Student's distribution with as large a tail.
        shares: of the planned labels that were known at each look up to this one.
        level: chance that all intervals hold.

    Raises:
        ValueError: shares that do not rise from above 0 to at most 1.
    """
    tail = ndtr(-critical_values(shares, level)[-1])
    reach = float(-stdtrit(answers - 1, tail) * estimate.error) if tail else np.inf
    return replace(estimate, low=estimate.value - reach, high=estimate.value + reach)


@hinted
def anytime_valid_interval(estimate: Estimate, share: Positive, level: Level = 0.95) -> Estimate:
    """An estimate with an interval that holds at every look at once, however many there are.

    Args:
        estimate: at this look, by its own standard error.
        share: labels known now over those that were planned at the first look; above 1 where there are more.
        level: chance that all intervals hold.

    Raises:
        ValueError: a share that is not above 0.

    >>> round(anytime_valid_interval(Estimate(0.0, -1.96, 1.96, 1.0), share=1.0).high, 2)
    3.04
    """
    alpha = 1 - level
    m = share * (float(-lambertw(-(alpha**2) / np.e, k=-1).real) - 1)
    reach = float(estimate.error * np.sqrt(2 * (m + 1) / m * np.log(np.sqrt(m + 1) / alpha)))
    return replace(estimate, low=estimate.value - reach, high=estimate.value + reach)
