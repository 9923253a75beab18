"""Whom a criterion buys next under a ledger's demands: whoever has the largest gain per cost."""

from dataclasses import replace

import numpy as np

from macal.acquisition import Criterion, PoolState
from macal.acquisition.distances import Macal, Symmetry
from macal.planner.demands import Money
from macal.planner.gains import gains_of
from macal.planner.ledger import Ledger
from macal.planner.pair_buyer import PairBuyer
from macal.planner.worth import Buyer, Purchase, better
from macal.shapes import Indices


class UnitBuyer(Buyer):
    """A criterion that chooses one unit at a time.

    Args:
        criterion: the rule.
        state: the pool.
        price: of each unit, (n,).
    """

    def __init__(self, criterion: Criterion, state: PoolState, price: Money) -> None:
        self._gains, self._price = gains_of(criterion, state), price

    def buy(self, ledger: Ledger, room: int) -> Purchase | None:
        """See :meth:`Buyer.buy`."""
        return self.single(ledger, *self._gains.now(), self._price)

    def ahead(self, ledger: Ledger, units: Indices) -> Indices:
        """See :meth:`Buyer.ahead`."""
        return better(ledger, int(units[0]), *self._gains.now(), self._price)

    def add(self, units: Indices) -> None:
        """See :meth:`Buyer.add`."""
        self._gains.add(units)

    def ceiling(self, ledger: Ledger) -> float:
        """See :meth:`Buyer.ceiling`."""
        return float(self._gains.now()[1][ledger.open].max(initial=0.0))


class Drawer(Buyer):
    """A criterion that draws at random: whoever is drawn and may not be bought is passed over, costs do not count.

    Args:
        criterion: the rule.
        state: the pool.
    """

    def __init__(self, criterion: Criterion, state: PoolState) -> None:
        self._criterion, self._state, self._drawn = criterion, criterion.begin(state), []

    def buy(self, ledger: Ledger, room: int) -> Purchase | None:
        """See :meth:`Buyer.buy`."""
        while ledger.open.any():
            if not self._drawn:
                open_or_known = ledger.open.copy()
                open_or_known[self._state.labelled] = True
                self._state = replace(self._state, barred=np.flatnonzero(~open_or_known))
                self._drawn = self._criterion.select(self._state, room).tolist()
            unit = self._drawn.pop(0)
            if ledger.open[unit] and len(bought := ledger.buy(np.array([unit]))):
                self.add(bought)
                return Purchase(bought, 0.0)
        return None

    def ahead(self, ledger: Ledger, units: Indices) -> Indices:
        """See :meth:`Buyer.ahead`: where the draw decides, nobody is worth more."""
        return units[:0]

    def add(self, units: Indices) -> None:
        """See :meth:`Buyer.add`."""
        self._state = replace(self._state, labelled=np.concatenate([self._state.labelled, units]))

    def ceiling(self, ledger: Ledger) -> float:
        """See :meth:`Buyer.ceiling`."""
        return 0.0


def buyer(criterion: Criterion, state: PoolState, price: Money) -> Buyer:
    """Begin to buy by a criterion.

    Args:
        criterion: the rule, one that needs no model.
        state: the pool; pairs need both arms.
        price: what a label of each unit costs, (n,), above 0.

    Raises:
        ValueError: the criterion does not say what units are worth.
    """
    if isinstance(criterion, (Macal, Symmetry)):
        return PairBuyer(criterion, state, price)
    return Drawer(criterion, state) if criterion.stochastic else UnitBuyer(criterion, state, price)
