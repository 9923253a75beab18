"""Pairs under demands: the treated and the control that are worth most together, found exactly without trying them all.

A pair's gain is that of :mod:`macal.acquisition.pairs`, g = novelty (m1 + m0) - alpha d, and its price the sum of both.
For each treated unit i and block b of controls of similar price, ``upper[i, b]`` bounds novelty m0[j] - alpha d(i, j)
over j in b; with m1[i] and the block's lowest price it bounds what any pair of i is worth. Gains only fall and units
only go, so bounds stay true. The treated with the highest bound is looked through, which gives her exact best pair and
new bounds; whoever's exact best is not below all other bounds wins. Of equal pairs the lowest treated unit is taken,
then the lowest control.

Reference: M. Minoux, "Accelerated Greedy Algorithms for Maximizing Submodular Set Functions", Optimization Techniques,
Lecture Notes in Control and Information Sciences 7, Springer, 1978 (old values as bounds).
"""

import numpy as np
import torch

from macal.acquisition import PoolState
from macal.acquisition.distances import Macal, Symmetry
from macal.planner.demands import Money
from macal.planner.gains import Nearest
from macal.planner.ledger import Ledger
from macal.planner.worth import Buyer, Purchase, best_unit, worth
from macal.progress import progress
from macal.shapes import Indices

_BLOCKS = 32  # of controls
_TILE = 2**23  # distances computed at a time
_LARGE = 2**28  # pairs; more are bounded in float32


class PairBuyer(Buyer):
    """MACAL or Symmetry under way.

    Args:
        criterion: says the weights of the distances and the metric.
        state: the pool, both arms present.
        price: of each unit, (n,).
    """

    def __init__(self, criterion: Macal | Symmetry, state: PoolState, price: Money) -> None:
        self._alpha, self._novelty = criterion.weights()
        self._near = Nearest(state.x, state.t, state.labelled, criterion.metric == "sqeuclidean")
        self._price = price
        self._one, zero = (np.flatnonzero(state.t == arm) for arm in (1, 0))
        self._zero = zero[price[zero].argsort(kind="stable")]
        self._starts = np.unique(np.linspace(0, len(zero), _BLOCKS, endpoint=False).astype(int))
        self._least = price[self._zero[self._starts]]  # of each block
        self._settled = np.full(len(self._one), np.inf)
        self._upper = self._bounds()

    def _novelties(self) -> tuple[np.ndarray, np.ndarray]:
        """Novelty m of the treated and of the controls, 0 in an arm without labels."""
        m = self._near.now()[1]
        return tuple(self._novelty * np.where(np.isinf(m[units]), 0.0, m[units]) for units in (self._one, self._zero))

    def _bounds(self) -> np.ndarray:
        """Upper bounds of m0 - alpha d for each treated unit and block of controls, (n1, blocks)."""
        n1, n0 = len(self._one), len(self._zero)
        kind = torch.float32 if n1 * n0 > _LARGE else torch.float64
        z, norm = torch.as_tensor(self._near.z, dtype=kind), torch.as_tensor(self._near.norm, dtype=kind)
        blur = 4 * torch.finfo(kind).eps * (z.shape[1] + 8)
        m0 = self._novelties()[1]
        high = torch.as_tensor(m0 + 4 * torch.finfo(kind).eps * m0, dtype=kind)
        # (n1, d + 2), (n0, d + 2): -2 a.b + |a|^2 + |b|^2, each square a little less than it is
        ones, less = torch.ones(len(z), 1, dtype=kind), (norm * (1 - blur))[:, None]
        left = torch.cat([-2 * z, ones, less], 1)[self._one]
        right = torch.cat([z, less, ones], 1)[self._zero].T.contiguous()
        upper, ends = np.empty((n1, len(self._starts))), [*self._starts[1:], n0]
        with progress(n1, "comparing", "unit") as bar:
            for rows in torch.arange(n1).split(max(1, _TILE // n0)):
                d = (left[rows] @ right).clamp_(min=0)
                d = d if self._near.is_squared else d.sqrt_()
                v = d.mul_(-self._alpha * (1 - 4 * torch.finfo(kind).eps)).add_(high)
                for b, (start, end) in enumerate(zip(self._starts, ends, strict=True)):
                    upper[rows, b] = v[:, start:end].amax(1)
                bar.update(len(rows))
        return upper

    def buy(self, ledger: Ledger, room: int) -> Purchase | None:
        """See :meth:`Buyer.buy`."""
        while room > 1 and (found := self._best(ledger)):
            if len(bought := ledger.buy(np.array(found[:2]))):
                self.add(bought)
                return Purchase(bought, found[2])
        while (unit := best_unit(ledger, *self._near.now(), self._price)) is not None:
            gain = float(self._near.now()[1][unit])
            if len(bought := ledger.buy(np.array([unit]))):
                self.add(bought)
                return Purchase(bought, gain)
        return None

    def _best(self, ledger: Ledger) -> tuple[int, int, float] | None:
        """The best pair that may be bought as far as the ledger can tell at once, and its gain."""
        if not (ledger.open[self._one].any() and ledger.open[self._zero].any()):
            return None
        m1, m0 = self._novelties()
        bound = worth(m1[:, None] + self._upper, self._price[self._one][:, None] + self._least).max(axis=1)
        bound = np.minimum(bound, self._settled)
        cheapest = ledger.price[self._zero[ledger.open[self._zero]]].min()
        payable = ledger.price[self._one] + cheapest <= ledger.left()
        bound[~(ledger.open[self._one] & payable)] = -np.inf
        best, found = (-np.inf, 0), None
        while (top := bound.max()) > -np.inf:
            k = int(bound.argmax())
            if (top, -k) < best:
                break
            value, j, gain = self._look_through(k, m1[k], m0, ledger)
            self._settled[k], bound[k] = value, -np.inf
            if (value, -k) > best and j is not None:
                best, found = (value, -k), (int(self._one[k]), j, gain)
        return found

    def _look_through(self, k: int, m1: float, m0: np.ndarray, ledger: Ledger) -> tuple[float, int | None, float]:
        """What the k-th treated unit's best pair is worth, its control and its gain; bring her bounds up to date."""
        unit, may = int(self._one[k]), ledger.together(int(self._one[k]))[self._zero]
        d2, off = self._near.squared_to(unit, self._zero)
        price = self._price[unit] + self._price[self._zero]
        # from the shortest and from the longest distance that the product allows
        high, low = (m0 - self._alpha * self._near.metric((d2 + sign * off).clip(min=0)) for sign in (-1, 1))
        high[~may] = -np.inf
        self._upper[k] = np.maximum.reduceat(high, self._starts)
        if not may.any():
            return -np.inf, None, 0.0
        some = np.flatnonzero(may & (worth(m1 + high, price) >= worth(m1 + low, price)[may].max()))
        d = self._near.metric(self._near.exactly(unit, self._zero[some]))
        gain = m1 + (m0[some] - self._alpha * d)  # rounded in this order, as the bounds are, it stays below them
        value = worth(gain, price[some])
        ties = np.flatnonzero(value == value.max())
        first = ties[self._zero[some[ties]].argmin()]
        return float(value[first]), int(self._zero[some[first]]), float(gain[first])

    def add(self, units: Indices) -> None:
        """See :meth:`Buyer.add`."""
        first = [arm[:1] for arm in (self._one, self._zero)]
        blank = [np.isinf(self._near.now()[1][unit]).item() for unit in first]
        self._near.add(units)
        filled = [was and np.isfinite(self._near.now()[1][u]).item() for was, u in zip(blank, first, strict=True)]
        if any(filled):  # m rises from 0: what was settled is forgotten
            self._settled[:] = np.inf
        if filled[1]:
            self._upper += np.maximum.reduceat(self._novelties()[1], self._starts) * (1 + 1e-12)

    def ceiling(self, ledger: Ledger) -> float:
        """See :meth:`Buyer.ceiling`; both novelties, no distance between."""
        m = [m[ledger.open[arm]] for m, arm in zip(self._novelties(), (self._one, self._zero), strict=True)]
        single = self._near.now()[1][ledger.open]
        return max(sum(part.max(initial=0.0) for part in m), single.max(initial=0.0))
