"""What placing the labels is worth beyond counting them: a rule with four coefficients, fitted where truth is known.

    log(MACAL / balanced) = c_0 + c_1 kappa + c_2 u + c_3 kappa u,

with kappa what pairs could save (:func:`.pairing.value_share`), and u how far the arms lie apart, from 0 (randomised)
to 1 (separable); see label ``sec-dial`` of the book.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from reproduction.theory.shapes import Coefficients


def _design(kappa: ArrayLike, u: ArrayLike) -> Float[np.ndarray, "k 4"]:
    kappa, u = np.asarray(kappa, float), np.asarray(u, float)
    return np.stack([np.ones_like(kappa), kappa, u, kappa * u], axis=-1)


def fit_rule(kappa: ArrayLike, u: ArrayLike, log_ratio: ArrayLike) -> Coefficients:
    """Least squares for c_0 to c_3."""
    return np.linalg.lstsq(_design(kappa, u), np.asarray(log_ratio, float), rcond=None)[0]


def predicted(rule: Coefficients, kappa: ArrayLike, u: ArrayLike) -> np.ndarray:
    """Log ratio of MACAL against balanced arms by a rule of :func:`fit_rule`, (k,)."""
    return _design(kappa, u) @ rule
