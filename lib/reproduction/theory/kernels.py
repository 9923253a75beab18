"""Two kernels and the posterior variance that they give a Gaussian process: what the theory chapters share."""

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

Targets = Float[np.ndarray, "n d"]
Design = Float[np.ndarray, "m d"]
Cross = Float[np.ndarray, "n m"]
Gram = Float[np.ndarray, "m m"]
PerTarget = Float[np.ndarray, "n"]

JITTER = 1e-12  # relative to the mean diagonal: far below any variance of interest, far above rounding


def rbf(a: Targets, b: Design, lengthscale: float = 1.0, scale: float = 1.0) -> Cross:
    """Squared exponential kernel, scale exp(-|a - b|^2 / (2 lengthscale^2)), (n, m) (theta = lengthscale^2)."""
    return scale * np.exp(-0.5 * cdist(a, b, "sqeuclidean") / lengthscale**2)


def matern12(a: Targets, b: Design, lengthscale: float = 1.0, scale: float = 1.0) -> Cross:
    """Exponential kernel, scale exp(-|a - b| / lengthscale), (n, m): in one dimension, Ornstein and Uhlenbeck's."""
    return scale * np.exp(-cdist(a, b) / lengthscale)


def posterior_variance(
    kernel_matrix_cross: Cross, kernel_design: Gram, prior_variance: PerTarget, noise: float
) -> PerTarget:
    """Posterior variance k(x, x) - k' (K + noise I)^-1 k at every target, never below 0.

    Args:
        kernel_matrix_cross: between targets and labelled units, (n, m).
        kernel_design: among labelled units, (m, m).
        prior_variance: at the targets, (n,).
        noise: variance of a label's noise; a relative jitter of 1e-12 is added to the diagonal besides.
    """
    if not len(kernel_design):
        return prior_variance.copy()
    diagonal = noise + JITTER * kernel_design.diagonal().mean()
    factor = cho_factor(kernel_design + diagonal * np.eye(len(kernel_design)), lower=True)
    known = np.einsum("nm,mn->n", kernel_matrix_cross, cho_solve(factor, kernel_matrix_cross.T))
    return np.maximum(prior_variance - known, 0.0)
