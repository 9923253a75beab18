"""What labelling pairs does to the Wasserstein distance between the labelled arms (Lemma 3 of the paper).

An arm is the matrix of its units' covariates; its law gives each unit the same weight.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from macal import metrics
from macal.optional import needed
from macal.shapes import Centres, Covariates, Features
from reproduction.theory.shapes import PairSide, PerStep

METRICS = ("euclidean", "cityblock", "chebyshev", "root")  # "root" is the square root of the Euclidean distance


def transport(a: Covariates, b: Centres, cost: str = "euclidean") -> float:
    """Least mean cost of turning arm ``a`` into arm ``b``: W_1 for a metric, W_2^2 for "sqeuclidean".

    Args:
        a: units of one arm, at least one, (n, d).
        b: units of the other, (m, d).
        cost: one of ``METRICS``, or another name that SciPy's ``cdist`` knows.
    """
    if cost == "euclidean":
        return metrics.wasserstein(np.concatenate([a, b]), np.repeat([1, 0], [len(a), len(b)]))
    with needed("pot", "exact Wasserstein distances"):
        import ot

    matrix = np.sqrt(cdist(a, b)) if cost == "root" else cdist(a, b, cost)
    weights = np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b))
    return float(ot.emd2(*weights, matrix, numItermax=10_000_000))


def path(a: Covariates, b: Centres, more_a: PairSide, more_b: PairSide, cost: str = "euclidean") -> PerStep:
    """Distance between two arms before and after each of k further pairs, (k + 1,)."""
    return np.array(
        [
            transport(np.concatenate([a, more_a[:k]]), np.concatenate([b, more_b[:k]]), cost)
            for k in range(len(more_a) + 1)
        ]
    )


def lemma(distance: float, n: int, pairs: np.ndarray) -> PerStep:
    """Lemma 3's rate, gamma_0 / (gamma_0 + i) with n = gamma_0 b: distance n / (n + pairs)."""
    return distance * n / (n + np.asarray(pairs))


@dataclass(frozen=True)
class Bounds:
    """What is known of a distance between two arms without solving for it.

    Attributes:
        low: it is at least that.
        high: it is at most that.
    """

    low: float
    high: float


def certificate(a: Covariates, b: Centres, more_a: PairSide, more_b: PairSide) -> Bounds:
    """Bounds of the distance between two arms of any sizes after pairs that need not be identical.

    With l_t = n_t / (n_t + k), the smaller arm P, its new units R, the other arm Q, and e the mean distance in a pair:
    |W' - l_P W| <= (1 - l_Q) e + (l_Q - l_P) W(R, Q), and |W' - l_Q W| <= (1 - l_Q) e + (l_Q - l_P) W(R, P).
    """
    if len(a) > len(b):
        a, b, more_a, more_b = b, a, more_b, more_a
    k, before = len(more_a), transport(a, b)
    small, large = len(a) / (len(a) + k), len(b) / (len(b) + k)
    apart = (1 - large) * float(np.linalg.norm(more_a - more_b, axis=1).mean())
    slack = {
        share: apart + (large - small) * (transport(more_a, arm) if large > small else 0.0)
        for share, arm in ((large, a), (small, b))
    }
    ends = [(share * before - s, share * before + s) for share, s in slack.items()]
    return Bounds(max(0.0, *(low for low, _ in ends)), min(high for _, high in ends))


def certificates(a: Covariates, b: Centres, more_a: PairSide, more_b: PairSide) -> Float[np.ndarray, "k 2"]:
    """Return :func:`certificate` after each pair, low and high, (k, 2)."""
    found = [certificate(a, b, more_a[:k], more_b[:k]) for k in range(1, len(more_a) + 1)]
    return np.array([(f.low, f.high) for f in found])


def jump(n1: int, n0: int, at: float) -> float:
    """Distance after one identical pair at ``at`` joins two arms whose units, n1 and n0 of them, are all at 0."""
    return abs(n0 / (n0 + 1) - n1 / (n1 + 1)) * abs(at)


def floor(treated: Covariates, controls: Centres) -> float:
    """No choice among these controls comes closer to the treated: their mean distance to the nearest one."""
    return float(metrics.nearest_distance(treated, controls).mean())


def shifted(n: int, shift: float, apart: np.ndarray) -> float:
    """Distance after pairs that all point the way of the shift: the bound for near-pairs is attained.

    Args:
        n: units per arm at the start, those of one arm at 0, of the other at ``shift``.
        shift: at least 0.
        apart: distance in each pair, (k,); the pairs lie far away, one after the other.
    """
    away = 10.0 * (1 + np.arange(len(apart)))
    one, two = np.r_[np.zeros(n), away], np.r_[np.full(n, shift), away + apart]
    return transport(one[:, None], two[:, None])


def stretch(x: np.ndarray) -> np.ndarray:
    """Return a strictly increasing map that leaves values up to 2 alone and spreads those above fourfold."""
    return x + 3 * np.maximum(x - 2, 0)


def image_distances(pairs: dict[str, tuple[np.ndarray, np.ndarray]], phi: Callable[[np.ndarray], np.ndarray]) -> dict:
    """Distance between the arms of each design, in the covariates and in a representation.

    Returns:
        Name -> (distance in x, distance of the images).
    """
    return {
        name: (transport(a[:, None], b[:, None]), transport(phi(a)[:, None], phi(b)[:, None]))
        for name, (a, b) in pairs.items()
    }


def distortion(x: Covariates, z: Features) -> tuple[float, float]:
    """Smallest and largest factor by which a representation changes the distance of two distinct units."""
    before, after = cdist(x, x), cdist(z, z)
    ratios = after[before > 0] / before[before > 0]
    return float(ratios.min()), float(ratios.max())
