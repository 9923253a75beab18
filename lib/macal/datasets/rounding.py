"""Numbers that are the same to the last bit whatever the processor, so that a replication is the same bytes."""

import numpy as np


def rounded(function: np.ufunc, x: np.ndarray) -> np.ndarray:
    """``function(x)`` of float64, evaluated in extended precision where there is one, and then rounded to float64."""
    return function(x.astype(np.longdouble)).astype(np.float64)
