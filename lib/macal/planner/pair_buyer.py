"""Pairs under demands: the treated and the control that are worth most together.

A pair's gain is that of :mod:`macal.acquisition.pairs`, g = novelty (m1 + m0) - alpha d, and its price the sum of both.
In a pool of at most ``ALL`` pairs all are compared. In a larger one each treated unit has ``CLASSES`` candidates: the
nearest control in each of so many classes of like price. That may miss a pair: one whose control is worth more than a
nearer one of the same price. See :mod:`macal.planner.offers` for how the best is found.
"""

import numpy as np

from macal.acquisition import PoolState
from macal.acquisition.distances import Macal, Symmetry
from macal.planner.demands import Money
from macal.planner.gains import Nearest
from macal.planner.ledger import Ledger
from macal.planner.offers import Offers, candidates
from macal.planner.worth import Buyer, Purchase
from macal.shapes import Indices, Outcomes


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
        self._blank = np.setdiff1d([0, 1], state.t[state.labelled])  # arms without a label
        self._pairs: Offers | None = None
        self._compared = np.zeros(len(price), bool)  # units that were open when pairs were listed

    def _list(self, ledger: Ledger) -> bool:
        """List the pairs of open units anew; False where nothing has changed since the last list, or none is left."""
        is_open = ledger.pairable(self._t)
        one, zero = (np.flatnonzero(is_open & (self._t == arm)) for arm in (1, 0))
        if not (one.size and zero.size) or np.array_equal(is_open, self._compared):
            return False
        self._compared, other = is_open, candidates(self._near, one, zero, self._price)
        distance = self._alpha * self._near.metric(self._near.exactly(one[:, None], other))  # (treated, candidates)
        both = self._price[one][:, None] + self._price[other]
        self._pairs = Offers(one, other, distance, both, ledger.price_of_pairs(one, other))
        return True

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
        m = self._novelties()
        while self._pairs or self._list(ledger):
            while best := self._pairs.best(m, ledger):
                i, j, gain = best
                unit, others = int(self._pairs.one[i]), self._pairs.other[i]
                may = ledger.together(unit)[others]
                if may[j] and len(bought := ledger.buy(np.array([unit, others[j]]))):
                    self.add(bought)
                    return Purchase(bought, gain)
                self._pairs.drop(i, ~may)  # the ledger forgets nothing: nor may they later
                self._pairs.drop(i, j)
            if not self._list(ledger):
                return None
        return None

    def add(self, units: Indices) -> None:
        """See :meth:`Buyer.add`."""
        self._near.add(units)
        if self._pairs and np.isin(self._blank, self._t[units]).any():
            self._pairs.forget()
        self._blank = np.setdiff1d(self._blank, self._t[units])

    def ceiling(self, ledger: Ledger) -> float:
        """See :meth:`Buyer.ceiling`: both novelties, and no distance between; one unit's, where it is finite."""
        m, single = self._novelties(), self._near.now()[1]
        both = sum(m[ledger.open & (self._t == arm)].max(initial=0.0) for arm in (0, 1))
        return float(max(both, single[ledger.open & np.isfinite(single)].max(initial=0.0)))
