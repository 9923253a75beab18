"""Random parts of a pool, drawn as scikit-learn's ``train_test_split`` draws them.

Its import takes longer than most data sets take to load, so that its few steps are written out here.
"""

import math

import numpy as np
from jaxtyping import Int

from macal.shapes import Indices, Rows

Whole = Int[np.ndarray, "n"]


def divide(units: Whole, test_size: float, seed: int) -> tuple[Indices, Rows]:
    """Return what is left, (k,), and a test set, (p,), both in random order.

    Args:
        units: what is divided, (n,).
        test_size: share of the test set, in (0, 1); rounded up to whole units.
        seed: of the order.
    """
    order = np.random.RandomState(seed).permutation(len(units))
    n_test = math.ceil(test_size * len(units))
    return units[order[n_test:]], units[order[:n_test]]
