"""How good an estimate is, and how alike, how near and how well spread the labelled units are.

References:
    J. L. Hill, "Bayesian Nonparametric Modeling for Causal Inference", JCGS 20(1), 2011 (PEHE).
    R. Flamary, N. Courty, A. Gramfort and others, "POT: Python Optimal Transport", JMLR 22(78), 2021 (exact transport).
    M. Cuturi and A. Doucet, "Fast Computation of Wasserstein Barycenters", ICML, 2014 (Algorithm 3: the surrogate).
"""

from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from macal.arguments import as_arms, as_array, as_covariates, short
from macal.optional import needed
from macal.shapes import Centres, Covariates, Distances

HAS_POT = find_spec("ot") is not None
_BLOCK_ELEMENTS = 2**24  # 128 MiB of float64 distances at a time


def pehe(tau_hat: ArrayLike, tau: ArrayLike) -> float | np.ndarray:
    """Root of the precision in estimation of heterogeneous effect (the paper's Eq. 2), in the outcome's unit.

    ``tau_hat`` and ``tau`` are (n,), or (n, contrasts) of several arms, which give one number each. ValueError where
    shapes differ, there is no unit, or a value is not finite.

    >>> pehe([1.0, 2.0, 3.0], [1.0, 2.0, 0.0])
    1.7320508075688772
    >>> pehe([[1.0, 2.0], [1.0, 0.0]], [[1.0, 2.0], [1.0, 2.0]]).round(3)
    array([0.   , 1.414])
    """
    tau_hat, tau = _numeric(tau_hat, "tau_hat"), _numeric(tau, "tau")
    if tau_hat.shape != tau.shape or tau.ndim not in (1, 2) or not tau.size:
        raise ValueError(
            "tau_hat and tau must be two vectors of the same length, or a column per contrast, with at least 1 unit;"
            f" got {tau_hat.shape} and {tau.shape}"
        )
    if not (np.isfinite(tau_hat).all() and np.isfinite(tau).all()):
        raise ValueError("tau_hat and tau must be finite")
    errors = np.sqrt(np.mean((tau_hat - tau) ** 2, axis=0))
    return float(errors) if tau.ndim == 1 else errors


def _numeric(values: ArrayLike, name: str) -> np.ndarray:
    array = as_array(values, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numbers, got {short(values)}")
    return array.astype(np.float64)


def nearest_distance(x: Covariates, others: Centres, metric: str = "euclidean") -> Distances:
    """Distance from each unit, (n, d), to the nearest of ``others``, (m, d), by differences; infinite without any.

    >>> nearest_distance(np.array([[0.0], [1.0], [5.0]]), np.array([[0.0], [3.0]]))
    array([0., 1., 2.])
    """
    if not len(others):
        return np.full(len(x), np.inf)
    x, others = np.asarray(x, np.float64), np.asarray(others, np.float64)
    rows = max(1, _BLOCK_ELEMENTS // len(others))
    return np.concatenate(
        [np.zeros(0)] + [cdist(x[i : i + rows], others, metric).min(axis=1) for i in range(0, len(x), rows)]
    )


def _two_arms(x: ArrayLike, t: ArrayLike) -> tuple[Covariates, Centres]:
    x = as_covariates(x).astype(np.float64)
    t = as_arms(t, len(x))
    if not (t == 1).any() or not (t == 0).any():
        raise ValueError(f"two arms are needed, got {(t == 1).sum()} treated and {(t == 0).sum()} control units")
    return x[t == 1], x[t == 0]


def wasserstein(x: ArrayLike, t: ArrayLike) -> float:
    """Exact 1-Wasserstein distance between the covariates of the two arms, Euclidean ground distance, uniform weights.

    Raises:
        ValueError: an arm is empty.
        RuntimeError: the solver, POT's network simplex, stopped before the optimum.

    >>> wasserstein([[0.0], [1.0], [3.0]], [1, 1, 0])
    2.5
    """
    with needed("pot", "exact Wasserstein distances"):
        import ot

    x1, x0 = _two_arms(x, t)
    # not ot.dist, whose expansion of the square leaves 1e-8 between equal points
    cost = cdist(x1, x0)
    value, log = ot.emd2(
        np.full(len(x1), 1 / len(x1)), np.full(len(x0), 1 / len(x0)), cost, numItermax=10_000_000, log=True
    )
    if log["warning"]:
        raise RuntimeError(f"optimal transport did not reach its optimum: {log['warning']}")
    return float(value)


def sinkhorn_surrogate(x: ArrayLike, t: ArrayLike, iterations: int = 10, sharpness: float = 10.0) -> float:
    """What the paper's Figure 1b calls Wasserstein distance: an entropic estimate, blurred and stopped early.

    Half of the mass sits on the units, half on one virtual unit per arm: at cost 0 from each other, and as far as the
    two farthest units from all real ones. Algorithm 3 of Cuturi and Doucet with the constants of the public code, of
    whose dropout of single costs only the stretch of the largest is kept. The result, twice the transported cost, is
    NaN below 11 pairs of opposite arms, where the public code breaks off; ValueError where an arm is empty.

    Args:
        x: covariates, (n, d); the ground distance is the sum of absolute differences.
        t: treatment, (n,).
        iterations: of the scaling.
        sharpness: mean distance over blur.

    >>> x = [[float(k)] for k in range(8)]
    >>> near, far = (sinkhorn_surrogate(x, t) for t in ([0, 1] * 4, [0] * 4 + [1] * 4))
    >>> near < wasserstein(x, [0] * 4 + [1] * 4) < far
    True
    """
    x1, x0 = _two_arms(x, t)
    cost = cdist(x0, x1, "cityblock") + 1e-5
    if cost.size <= 10:
        return np.nan
    padded = np.full((len(x0) + 1, len(x1) + 1), cost.max() / (1 - 10 / cost.size))
    padded[:-1, :-1], padded[-1, -1] = cost, 0.0
    a, b = (np.append(np.full(len(side), 0.5 / len(side)), 0.5) for side in (x0, x1))
    kernel = np.exp(-sharpness / cost.mean() * padded) + 1e-6
    u = a
    for _ in range(iterations):
        u = a / (kernel @ (b / (u @ kernel)))
    return float(2 * np.sum(u[:, None] * kernel * (b / (u @ kernel)) * padded))


def counterpart_distance(x: ArrayLike, t: ArrayLike) -> Distances:
    """Distance from each unit to the nearest unit of the other arm, (n,); ValueError where an arm is empty.

    >>> counterpart_distance([[0.0], [1.0], [3.0]], [1, 1, 0])
    array([3., 2., 2.])
    """
    x1, x0 = _two_arms(x, t)
    out = np.empty(len(x))
    out[np.asarray(t) == 1], out[np.asarray(t) == 0] = nearest_distance(x1, x0), nearest_distance(x0, x1)
    return out


def covering_radius(x: Covariates, centres: Centres) -> float:
    """Largest distance from a unit, (n, d), to its nearest centre, (m, d), as in k-centre; infinite without any.

    >>> covering_radius(np.array([[0.0], [1.0], [5.0]]), np.array([[0.0], [3.0]]))
    2.0
    """
    return float(nearest_distance(x, centres).max(initial=0.0))


def rms_distance(x: Covariates) -> float:
    """Root mean squared distance between two different units, from the covariates' variances; 1 where all are equal.

    >>> rms_distance(np.array([[0.0, 0.0], [3.0, 4.0]]))
    5.0
    """
    total = x.var(axis=0, ddof=1).sum()
    return float(np.sqrt(2 * total)) if total > 0 else 1.0
