"""A pool, and what is held out of it, drawn at random."""

import math

import numpy as np
from jaxtyping import Int

from macal.shapes import Indices, Rows

Divided = Int[np.ndarray, "n"]


def split(units: Divided, held_out: float, seed: int) -> tuple[Indices, Rows]:
    """Divide units in two at random: the rest, and a share that is held out, rounded up.

    The draw is that of scikit-learn's ``train_test_split``, which the benchmarks were recorded with.

    Args:
        units: to be divided, (n,).
        held_out: share, above 0 and below 1.
        seed: of the draw.

    >>> split(np.arange(5), 0.3, seed=0)
    (array([1, 3, 4]), array([2, 0]))
    """
    order = np.random.RandomState(seed).permutation(len(units))
    k = math.ceil(held_out * len(units))
    return units[order[k:]], units[order[:k]]
