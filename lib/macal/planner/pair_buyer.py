"""Pairs under demands: the treated and the control that are worth most together.

Of several arms, the one with the fewest labels pairs up with the reference arm next, as in
:class:`macal.acquisition.pairs.Contrasts`. A pair's gain is that of :mod:`macal.acquisition.pairs`, g = novelty
(m1 + m0) - alpha d, and its price the sum of both. In a pool of at most ``ALL`` pairs of two arms all are compared. In
a larger one each treated unit has ``CLASSES`` candidates: the nearest control in each of so many classes of like price.
That may miss a pair: one whose control is worth more than a nearer one of the same price. See
:mod:`macal.planner.offers` for how the best is found.
"""

import numpy as np

from macal.acquisition import PoolState
from macal.acquisition.distances import Macal, Symmetry
from macal.arguments import arms_of
from macal.planner.demands import Money
from macal.planner.feasible import Members
from macal.planner.gains import Nearest
from macal.planner.ledger import Ledger
from macal.planner.offers import Offers, candidates
from macal.planner.worth import Buyer, Purchase, above, better, worth
from macal.shapes import Indices, Outcomes


class PairBuyer(Buyer):
    """MACAL or Symmetry under way.

    Args:
        criterion: says the weights of the distances and the metric.
        state: the pool, all arms present.
        price: of each unit, (n,).
    """

    def __init__(self, criterion: Macal | Symmetry, state: PoolState, price: Money) -> None:
        self._alpha, self._novelty = criterion.weights()
        self._near = Nearest(state.x, state.t, state.labelled, criterion.metric == "sqeuclidean")
        self._price, self._t = price, state.t
        self._labels = np.bincount(state.t[state.labelled], minlength=arms_of(state.t))  # of each arm
        self._pairs: dict[int, Offers] = {}
        self._compared: dict[int, Members] = {}  # units that were open when pairs were listed

    def _list(self, ledger: Ledger, arm: int) -> bool:
        """List the pairs of open units anew; False where nothing has changed since the last list, or none is left."""
        is_open = ledger.pairable((self._t == arm).astype(np.int64)) & np.isin(self._t, (0, arm))
        one, zero = (np.flatnonzero(is_open & (self._t == side)) for side in (arm, 0))
        if not (one.size and zero.size) or np.array_equal(is_open, self._compared.get(arm)):
            return False
        self._compared[arm], other = is_open, candidates(self._near, one, zero, self._price)
        distance = self._alpha * self._near.metric(self._near.exactly(one[:, None], other))  # (treated, candidates)
        both = self._price[one][:, None] + self._price[other]
        self._pairs[arm] = Offers(one, other, distance, both, ledger.price_of_pairs(one, other))
        return True

    def _novelties(self) -> Outcomes:
        """Novelty m of all units, 0 in an arm without labels."""
        m = self._near.now()[1]
        return self._novelty * np.where(np.isinf(m), 0.0, m)

    def buy(self, ledger: Ledger, room: int) -> Purchase | None:
        """See :meth:`Buyer.buy`."""
        for arm in 1 + self._labels[1:].argsort(kind="stable") if room > 1 else ():
            if bought := self._pair(ledger, int(arm)):
                return bought
        return self.single(ledger, *self._near.now(), self._price)

    def _pair(self, ledger: Ledger, arm: int) -> Purchase | None:
        m = self._novelties()
        while arm in self._pairs or self._list(ledger, arm):
            pairs = self._pairs[arm]
            while best := pairs.best(m, ledger):
                i, j, gain = best
                unit, others = int(pairs.one[i]), pairs.other[i]
                may = ledger.together(unit)[others]
                if may[j] and len(bought := ledger.buy(np.array([unit, others[j]]))):
                    self.add(bought)
                    return Purchase(bought, gain)
                pairs.drop(i, ~may)  # the ledger forgets nothing: nor may they later
                pairs.drop(i, j)
            if not self._list(ledger, arm):
                return None
        return None

    def ahead(self, ledger: Ledger, units: Indices) -> Indices:
        """See :meth:`Buyer.ahead`."""
        if len(units) < 2 or 0 not in self._t[units[:2]] or self._t[units[0]] == self._t[units[1]]:
            return better(ledger, int(units[0]), *self._near.now(), self._price)
        m, found = self._novelties(), []
        for unit, partner in (units[:2], units[1::-1]):
            mine = np.flatnonzero(self._t == self._t[unit])
            distance = self._near.metric(self._near.exactly(int(partner), mine))
            value = np.full(len(self._t), -np.inf)
            gain = m[mine] + m[partner] - self._alpha * distance
            value[mine] = worth(gain, self._price[mine] + self._price[partner])
            may = ledger.open & ledger.together(int(partner))
            found.append(np.flatnonzero(may & above(value, value[unit])))
        return np.unique(np.concatenate(found))

    def add(self, units: Indices) -> None:
        """See :meth:`Buyer.add`."""
        self._near.add(units)
        new = np.bincount(self._t[units], minlength=len(self._labels))
        if ((self._labels == 0) & (new > 0)).any():
            for pairs in self._pairs.values():
                pairs.forget()
        self._labels += new

    def ceiling(self, ledger: Ledger) -> float:
        """See :meth:`Buyer.ceiling`: both novelties, and no distance between; one unit's, where it is finite."""
        m, single = self._novelties(), self._near.now()[1]
        both = sum(m[ledger.open & ((self._t == 0) == is_zero)].max(initial=0.0) for is_zero in (True, False))
        return float(max(both, single[ledger.open & np.isfinite(single)].max(initial=0.0)))
