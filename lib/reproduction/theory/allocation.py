"""How many labels each arm should get, and what another share costs.

Where arm t's mean squared error falls like sigma_t^2 n_t^(-b), and the arms' errors are uncorrelated, the squared error
of the effect with n labels, a share s of them treated, is sigma_0^2 n^(-b) f(s), f(s) = r^2 s^(-b) + (1 - s)^(-b) with
r = sigma_1 / sigma_0. Proof of its minimum: label ``thm-best-share`` of the book.

Source of b = 1: J. Neyman, On the two different aspects of the representative method, Journal of the Royal Statistical
Society 97(4), 1934.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq


def risk(share: float | np.ndarray, r: float, b: float = 1.0) -> float | np.ndarray:
    """f(s) above: squared error of the effect, in units of sigma_0^2 n^(-b).

    Args:
        share: of treated labels, in (0, 1); any shape.
        r: treated arm's error over the control arm's, at equal numbers of labels; positive.
        b: power of n by which squared errors fall; positive.
    """
    return r**2 * share**-b + (1 - share) ** -b


def best_share(r: float, b: float = 1.0) -> float:
    """Share of treated labels with the least squared error: q / (1 + q), q = r^(2 / (1 + b))."""
    q = r ** (2 / (1 + b))
    return q / (1 + q)


def gain(share: float, natural: float, r: float, b: float = 1.0) -> float:
    """Log ratio of root errors, one share of treated labels against another; below 0 the first is better."""
    return float(np.log(risk(share, r, b) / risk(natural, r, b)) / 2)


def tie(share: float, natural: float, b: float = 1.0) -> float:
    """The r at which two shares do equally well; of a larger r the larger share of treated labels is the better one.

    f(share) = f(natural) is linear in r^2: r^2 (share^-b - natural^-b) = (1 - natural)^-b - (1 - share)^-b.
    """
    return float(np.sqrt(((1 - natural) ** -b - (1 - share) ** -b) / (share**-b - natural**-b)))


class LearningCurve(NamedTuple):
    """A power law of the mean squared error, scale^2 n^(-power)."""

    scale: float
    power: float


def fit_curve(n: ArrayLike, squared_error: ArrayLike) -> LearningCurve:
    """Fit log squared error = 2 log scale - power log n by least squares.

    Args:
        n: numbers of labels of the arm, (k,), at least two of them different.
        squared_error: mean squared errors of its surface, (k,); positive.
    """
    slope, intercept = np.polyfit(np.log(np.asarray(n, float)), np.log(np.asarray(squared_error, float)), 1)
    return LearningCurve(float(np.exp(intercept / 2)), float(-slope))


def risk_of(share: float, treated: LearningCurve, control: LearningCurve, n: float) -> float:
    """Squared error of the effect with ``n`` labels, sigma_1^2 (s n)^(-b_1) + sigma_0^2 ((1 - s) n)^(-b_0)."""
    arms = (treated, share), (control, 1 - share)
    return sum(curve.scale**2 * (part * n) ** -curve.power for curve, part in arms)


def gain_of(share: float, natural: float, treated: LearningCurve, control: LearningCurve, n: float) -> float:
    """Log ratio of root errors, one share of treated labels against another; :func:`gain` where powers are equal."""
    return float(np.log(risk_of(share, treated, control, n) / risk_of(natural, treated, control, n)) / 2)


def best_share_of(treated: LearningCurve, control: LearningCurve, n: float) -> float:
    """Best share of treated labels among ``n`` where the arms' powers differ; :func:`best_share` where they do not.

    The derivative of scale_1^2 (s n)^(-b_1) + scale_0^2 ((1 - s) n)^(-b_0) rises from minus to plus infinity.
    """

    def slope(s: float) -> float:
        rising, falling = [
            c.power * c.scale**2 * (share * n) ** -c.power / share for c, share in ((control, 1 - s), (treated, s))
        ]
        return rising - falling

    return float(brentq(slope, 1e-9, 1 - 1e-9))
