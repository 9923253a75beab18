"""Numbers that are the same to the last bit whatever the processor, so that a replication is the same bytes."""

import numpy as np


def rounded(function: np.ufunc, x: np.ndarray) -> np.ndarray:
    """``function(x)``, evaluated in extended precision where the platform has it and then rounded to float64.

    The last bit of numpy's sin or exp of a float64 depends on the instructions that a processor offers.

    Args:
        function: such as ``np.exp``.
        x: float64, any shape.
    """
    return function(x.astype(np.longdouble)).astype(np.float64)
