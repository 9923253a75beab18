"""Pairs to choose from, and the one that is worth most, found without a look at all of them.

*What a pair is worth never rises.* A new label can only lower the distances to the nearest label, a pair's own distance
does not change, and who may not be bought any more never may again. So what bounded the pairs of a treated unit before
still does, and only those units are looked at whose bound reaches the best pair seen. The first label of an arm is the
exception: until then no distance counts there; all bounds are then forgotten.

References:
    M. Minoux, "Accelerated Greedy Algorithms for Maximizing Submodular Set Functions", Optimization Techniques, Lecture
    Notes in Control and Information Sciences 7, Springer, 1978 (old values as bounds).
"""

from dataclasses import dataclass

import numpy as np
import torch

from macal.planner.demands import Money
from macal.planner.gains import Nearest
from macal.planner.ledger import Ledger
from macal.planner.worth import Worths, worth
from macal.progress import progress
from macal.shapes import Indices, Outcomes, Rows

ALL = 2**22  # pairs
CLASSES = 32
_ROWS = 256  # treated units compared at a time
_LOOK = 2**14  # pairs looked at again at a time


def candidates(near: Nearest, one: Indices, zero: Rows, price: Money) -> np.ndarray:
    """Controls that each treated unit is compared with, (n1, c): all, or the nearest in each class of like price.

    Args:
        near: the covariates.
        one: treated units, (n1,).
        zero: controls, (n0,).
        price: of each unit, (n,).
    """
    if one.size * zero.size <= ALL:
        return np.broadcast_to(zero, (one.size, zero.size))
    z = torch.as_tensor(near.z, dtype=torch.float32)
    nearest, left = np.empty((one.size, CLASSES), np.int64), z[one]
    with progress(CLASSES, "comparing", "class") as bar:
        for b, units in enumerate(np.array_split(zero[price[zero].argsort(kind="stable")], CLASSES)):
            length, right = z[units].square().sum(1), z[units].T.contiguous()
            for i in range(0, one.size, _ROWS):
                # (rows, units): |b|^2 - 2 a.b, the squared distance but for |a|^2
                d2 = torch.addmm(length, left[i : i + _ROWS], right, alpha=-2)
                # NumPy finds the least place several times faster than PyTorch
                nearest[i : i + _ROWS, b] = units[d2.numpy().argmin(1)]
            bar.update(1)
    return nearest


@dataclass(eq=False)
class Offers:
    """Pairs to choose from.

    Attributes:
        one: treated units, (n1,) ascending.
        other: their controls, (n1, c).
        distance: within each pair, times its weight, (n1, c); infinite once the pair cannot be had.
        both: the sum of the two prices, (n1, c).
        cost: of the pair, and of all who must come with it, (n1, c).
    """

    one: Indices
    other: np.ndarray
    distance: np.ndarray
    both: np.ndarray
    cost: np.ndarray

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the bounds: what pairs are worth may have risen."""
        self._bound = np.full(len(self.one), np.inf)
        self._fresh = np.zeros(len(self.one), bool)  # whose bound is the worth of their best pair
        self._m, self._open = np.empty(0), np.empty(0, bool)  # as they were when the fresh ones were looked at

    def best(self, m: Outcomes, ledger: Ledger) -> tuple[int, int, float] | None:
        """Find the pair that is worth most: its row and column, and its gain; None if no pair can be had.

        Of equal pairs the lowest treated unit is taken, then the lowest control.

        Args:
            m: novelty of all units, (n,).
            ledger: says who may be bought.
        """
        if m is not self._m or not np.array_equal(ledger.open, self._open):
            self._fresh[:], self._m, self._open = False, m, ledger.open.copy()
        while (rows := self._doubtful()).size:
            self._bound[rows] = self._look(rows, m, ledger)[1].max(axis=1)
            self._fresh[rows] = True
        i = int(self._bound.argmax())
        if self._bound[i] == -np.inf:
            return None
        gain, value = self._look(np.array([i]), m, ledger)
        ties = np.flatnonzero(value[0] == self._bound[i])
        j = int(ties[self.other[i][ties].argmin()])
        return i, j, float(gain[0, j])

    def _doubtful(self) -> Indices:
        """Rows to look at: their bounds are old, and among the highest of those that reach the best that is known."""
        best = self._bound.max(initial=-np.inf, where=self._fresh)
        rows = np.flatnonzero(~self._fresh & (self._bound >= best) & (self._bound > -np.inf))
        most = max(1, _LOOK // self.other.shape[1])
        return rows if rows.size <= most else rows[self._bound[rows].argpartition(-most)[-most:]]

    def _look(self, rows: Indices, m: Outcomes, ledger: Ledger) -> tuple[Worths, Worths]:
        """Gain and worth of the pairs of some rows, (k, c) each; minus infinity where a pair cannot be had."""
        one, other = self.one[rows], self.other[rows]
        gain = m[one][:, None] + (m[other] - self.distance[rows])
        value = worth(gain, self.both[rows])
        may = ledger.open[one][:, None] & ledger.open[other] & (self.cost[rows] <= ledger.left())
        return gain, np.where(may, value, -np.inf)

    def drop(self, i: int, columns: np.ndarray | int) -> None:
        """Let some pairs of a row never be offered again; ``columns`` is a place or a mask, (c,)."""
        self.distance[i, columns] = np.inf
        self._fresh[i] = False
