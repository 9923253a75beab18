"""Ridge regression with the smallest leave-one-out error, as scikit-learn's ``RidgeCV`` but many times faster."""

import numpy as np
from jaxtyping import Float

from macal.shapes import Covariates, Outcomes

PENALTIES = 10.0 ** np.arange(-2, 4)


class Ridge:
    """Ridge regression with an unpenalised intercept.

    Attributes:
        penalty: penalty chosen from :data:`PENALTIES`.
        weights: coefficients, (d,).
        intercept: intercept.

    >>> Ridge().fit(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])).predict(np.array([[3.0]])).round(2)
    array([6.98])
    """

    penalty: float
    weights: Float[np.ndarray, " d"]
    intercept: float

    def fit(self, x: Covariates, y: Outcomes) -> "Ridge":
        """Fit to covariates, (n, d), and outcomes, (n,)."""
        centre, mean = x.mean(axis=0), y.mean()
        u, s, vt = np.linalg.svd(x - centre, full_matrices=False)
        told = u.T @ (y - mean)
        # (penalties, k): shrinkage of each direction
        kept = s**2 / (s**2 + PENALTIES[:, None])
        # leave-one-out residual (y_i - yhat_i) / (1 - h_i), h the leverage, (penalties, n)
        residual = y - mean - (kept * told) @ u.T
        left = 1 - 1 / len(y) - kept @ np.square(u).T
        best = int(np.mean((residual / left) ** 2, axis=1).argmin())
        self.penalty = float(PENALTIES[best])
        self.weights = vt.T @ (s / (s**2 + self.penalty) * told)
        self.intercept = float(mean - centre @ self.weights)
        return self

    def predict(self, x: Covariates) -> Outcomes:
        """Return predicted outcomes, (n,), from covariates, (n, d)."""
        return x @ self.weights + self.intercept
