"""Pairs under demands: the treated and the control that are worth most together.

A pair's gain is that of :mod:`macal.acquisition.pairs`, g = novelty (m1 + m0) - alpha d, and its price the sum of both.
In a pool of at most ``_ALL`` pairs all are compared, at every purchase. In a larger one each treated unit has
``_CLASSES`` candidates: the nearest control in each of so many classes of like price. That may miss a pair: one whose
control is worth more than a nearer one of the same price. Of equal pairs the lowest treated unit is taken, then the
lowest control.
"""

import numpy as np
import torch

from macal.acquisition import PoolState
from macal.acquisition.distances import Macal, Symmetry
from macal.planner.demands import Money
from macal.planner.gains import Nearest
from macal.planner.ledger import Ledger
from macal.planner.worth import Buyer, Purchase, worth
from macal.progress import progress
from macal.shapes import Indices, Outcomes

_ALL = 2**22  # pairs
_CLASSES = 32
_TILE = 2**23  # distances computed at a time


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
        self._price, self._t = price, state.t
        self._compared = np.zeros(len(price), bool)  # units that were open when pairs were listed

    def _list(self, ledger: Ledger) -> bool:
        """List the pairs of open units anew; False where nothing has changed since the last list, or none is left."""
        is_open = ledger.open.copy()
        one, zero = (np.flatnonzero(is_open & (self._t == arm)) for arm in (1, 0))
        if not (one.size and zero.size) or np.array_equal(is_open, self._compared):
            return False
        self._compared, self._one = is_open, one
        if one.size * zero.size <= _ALL:
            self._other = np.broadcast_to(zero, (one.size, zero.size))
        else:
            self._other = self._nearest_of_classes(one, zero[self._price[zero].argsort(kind="stable")])
        d = [self._near.exactly(int(unit), others) for unit, others in zip(one, self._other, strict=True)]
        self._distance = self._alpha * self._near.metric(np.array(d))  # (treated, candidates), as all that follow
        self._both = self._price[one][:, None] + self._price[self._other]
        self._cost = ledger.price_of_pairs(one, self._other)
        return True

    def _nearest_of_classes(self, one: Indices, zero: Indices) -> np.ndarray:
        """The nearest control in each class, for each treated unit, (n1, classes)."""
        z = torch.as_tensor(self._near.z, dtype=torch.float32)
        length = (z * z).sum(1)
        nearest, right = np.empty((len(one), _CLASSES), np.int64), z[zero].T.contiguous()
        starts = np.linspace(0, len(zero), _CLASSES + 1).astype(int)
        with progress(len(one), "comparing", "unit") as bar:
            for rows in torch.arange(len(one)).split(max(1, _TILE // len(zero))):
                # (tile, n0): |b|^2 - 2 a.b, the squared distance but for |a|^2
                d2 = torch.addmm(length[zero], z[one[rows]], right, alpha=-2)
                for b in range(_CLASSES):
                    nearest[rows, b] = zero[starts[b] + d2[:, starts[b] : starts[b + 1]].argmin(1).numpy()]
                bar.update(len(rows))
        return nearest

    def _novelties(self) -> Outcomes:
        """Novelty m of all units, 0 in an arm without labels."""
        m = self._near.now()[1]
        return self._novelty * np.where(np.isinf(m), 0.0, m)

    def buy(self, ledger: Ledger, room: int) -> Purchase | None:
        """See :meth:`Buyer.buy`."""
        if room > 1 and (bought := self._pair(ledger)):
            return bought
        return self.single(ledger, *self._near.now(), self._price)

    def _pair(self, ledger: Ledger) -> Purchase | None:
        while self._compared.any() or self._list(ledger):
            m = self._novelties()
            gain = m[self._one][:, None] + (m[self._other] - self._distance)
            value = worth(gain, self._both)
            value[~ledger.open[self._one]] = -np.inf
            value[~ledger.open[self._other] | (self._cost > ledger.left())] = -np.inf
            while (top := value.max()) > -np.inf:
                i, j = self._first(value, top)
                unit, other = int(self._one[i]), int(self._other[i, j])
                may = ledger.together(unit)
                if may[other] and len(bought := ledger.buy(np.array([unit, other]))):
                    self.add(bought)
                    return Purchase(bought, float(gain[i, j]))
                value[i, ~may[self._other[i]]] = -np.inf  # the ledger forgets nothing: nor may they later
                value[i, j] = -np.inf
            if not self._list(ledger):
                return None
        return None

    def _first(self, value: np.ndarray, top: float) -> tuple[int, int]:
        """Place of the pair that is worth ``top``: the first treated unit's, and of hers the lowest control's."""
        i = int((value == top).any(axis=1).argmax())
        ties = np.flatnonzero(value[i] == top)
        return i, int(ties[self._other[i][ties].argmin()])

    def add(self, units: Indices) -> None:
        """See :meth:`Buyer.add`."""
        self._near.add(units)

    def ceiling(self, ledger: Ledger) -> float:
        """See :meth:`Buyer.ceiling`: both novelties, and no distance between."""
        m, single = self._novelties(), self._near.now()[1][ledger.open].max(initial=0.0)
        both = sum(m[ledger.open & (self._t == arm)].max(initial=0.0) for arm in (0, 1))
        return float(max(both, single))
