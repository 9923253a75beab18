"""Kernels of Gaussian processes, and the variance that labels leave them: each formula once, for all that use it.

Functions whose names end in ``_of`` take s, squared distances over the squared length scale.

Reference: C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006, Sections 2.2 and 4.2.
"""

from typing import TypeVar

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from macal.shapes import Centres, Covariates, Cross, Gram, PerCentre, Variances

JITTER = 1e-12  # relative to the mean diagonal: far below any variance of interest, far above rounding

Array = TypeVar("Array")  # of NumPy or of PyTorch


def rbf(a: Covariates, b: Centres, lengthscale: float = 1.0, scale: float = 1.0) -> Cross:
    """Squared exponential kernel, scale exp(-|a - b|^2 / (2 lengthscale^2)), (n, m); the paper's theta: lengthscale^2.

    >>> rbf(np.array([[0.0], [1.0]]), np.array([[0.0]])).round(3)
    array([[1.   ],
           [0.607]])
    """
    return scale * rbf_of(cdist(a, b, "sqeuclidean") / lengthscale**2)


def matern12(a: Covariates, b: Centres, lengthscale: float = 1.0, scale: float = 1.0) -> Cross:
    """Exponential kernel, scale exp(-r) with r = |a - b| / lengthscale, (n, m): on a line, Ornstein and Uhlenbeck's."""
    return scale * np.exp(-cdist(a, b) / lengthscale)


def matern32(a: Covariates, b: Centres, lengthscale: float = 1.0) -> Cross:
    """Matern kernel of smoothness 3/2, (1 + r) exp(-r) with r = sqrt(3) |a - b| / lengthscale, (n, m)."""
    r = cdist(a, b)
    r *= np.sqrt(3) / lengthscale
    return (1 + r) * np.exp(-r)


def matern32_of(squared: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The same kernel of s, any shape."""
    r = np.sqrt(3 * squared)
    return (1 + r) * np.exp(-r)


def squared_distances(a: Covariates, b: Centres, norms: PerCentre | None = None) -> Cross:
    """|a - b|^2 by one product of matrices, (n, m); ``norms`` are |b|^2 where the caller has them, (m,)."""
    squared = a @ b.T
    squared *= -2
    squared += np.square(a).sum(axis=1)[:, None]
    squared += np.square(b).sum(axis=1) if norms is None else norms
    return squared.clip(min=0, out=squared)


def typical(distances: Float[np.ndarray, "..."]) -> float:
    """Median of the distances above 0, a length scale to begin with; 1 where there is none."""
    apart = distances[distances > 0]
    return float(np.median(apart)) if apart.size else 1.0


def posterior_variance(cross: Cross, gram: Gram, prior: Variances, noise: float) -> Variances:
    """Posterior variance k(x, x) - k' (K + noise I)^-1 k at every target (Eq. 2.26), never below 0, (n,).

    Args:
        cross: kernel between targets and labelled units, (n, m).
        gram: kernel among labelled units, (m, m).
        prior: variance at the targets, (n,).
        noise: variance of a label's noise, besides a relative jitter of 1e-12.
    """
    if not len(gram):
        return prior.copy()
    diagonal = noise + JITTER * gram.diagonal().mean()
    factor = cho_factor(gram + diagonal * np.eye(len(gram)), lower=True)
    known = np.einsum("nm,mn->n", cross, cho_solve(factor, cross.T))
    return np.maximum(prior - known, 0.0)


def rbf_of(squared: Array) -> Array:
    """exp(-s / 2), any shape, for NumPy and PyTorch alike."""
    return np.exp(-0.5 * squared) if isinstance(squared, np.ndarray) else (-0.5 * squared).exp()
