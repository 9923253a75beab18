"""A pool, and what is held out of it, drawn at random."""

import math

import numpy as np

from macal.shapes import Indices, Rows, UnitIndices


def split(units: UnitIndices, held_out: float, seed: int) -> tuple[Indices, Rows]:
    """Divide units, (n,), in two at random, by ``train_test_split``'s draw: the rest, and a share held out, rounded up.

    >>> split(np.arange(5), 0.3, seed=0)
    (array([1, 3, 4]), array([2, 0]))
    """
    order = np.random.RandomState(seed).permutation(len(units))
    k = math.ceil(held_out * len(units))
    return units[order[k:]], units[order[:k]]
