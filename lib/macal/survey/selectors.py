"""Selection by a criterion under constraints, by the largest gain per cost."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from macal.acquisition import Criterion, PoolState
from macal.acquisition.base import Planned
from macal.acquisition.catalogue import names_where
from macal.compat import override
from macal.search.pairs import PairSearches
from macal.search.scores import Scores, above, per_price
from macal.shapes import Arms, Indices, Money, Rows
from macal.survey.purchases import Purchases


@dataclass(frozen=True, eq=False)
class Purchase:
    """Units selected together, one or a pair with their clusters, and the gain."""

    units: Indices
    gain: float


class Buyer(ABC):
    """A criterion that selects under the constraints of :class:`Purchases`."""

    @abstractmethod
    def buy(self, purchases: Purchases, room: int) -> Purchase | None:
        """Select the best feasible unit or pair; None if there is none.

        Args:
            purchases: selections so far.
            room: labels that fit into the present round.
        """

    @abstractmethod
    def add(self, units: Indices) -> None:
        """Add units that were selected otherwise."""

    @abstractmethod
    def better_candidates(self, purchases: Purchases, units: Indices) -> Rows:
        """Return feasible units with a larger gain than a selection, or one unit of a pair.

        Args:
            purchases: selections so far.
            units: the selection, not made yet: the rule's units first, then their clusters.
        """

    @abstractmethod
    def gain_bound(self, purchases: Purchases) -> float:
        """Return an upper bound on the gain of any selection."""


class UnitBuyer(Buyer):
    """A criterion that chooses one unit at a time.

    Args:
        scores: scores of all units.
        price: price of each unit, (n,).
    """

    def __init__(self, scores: Scores, price: Money) -> None:
        self._scores, self._price = scores, price

    @override
    def buy(self, purchases: Purchases, room: int) -> Purchase | None:
        while found := self._scores.best(purchases.open, self._price):
            if len(bought := purchases.buy(np.array(found[:1]))):
                self.add(bought)
                return Purchase(bought, found[1])
        return None

    @override
    def better_candidates(self, purchases: Purchases, units: Indices) -> Rows:
        return self._scores.better_units(purchases.open, int(units[0]), self._price)

    @override
    def add(self, units: Indices) -> None:
        self._scores.add(units)

    @override
    def gain_bound(self, purchases: Purchases) -> float:
        return float(self._scores.now()[purchases.open].max(initial=0.0))


class PairBuyer(UnitBuyer):
    """A criterion of pairs; single units, by distance from the labels, if no pair is feasible.

    Args:
        pairs: the search.
        t: arm of each unit, (n,).
        price: price of each unit, (n,).
    """

    def __init__(self, pairs: PairSearches, t: Arms, price: Money) -> None:
        super().__init__(pairs.nearest, price)
        self._pairs, self._t = pairs, t

    @override
    def buy(self, purchases: Purchases, room: int) -> Purchase | None:
        for search in self._pairs.turns() if room > 1 else ():
            while found := search.best(purchases):
                one, zero, gain = found
                may = purchases.compatible_with(one)[zero]
                if may and len(bought := purchases.buy(np.array([one, zero]))):
                    self.add(bought)
                    return Purchase(bought, gain)
                search.recheck_partners(one)
        return super().buy(purchases, room)

    @override
    def better_candidates(self, purchases: Purchases, units: Indices) -> Rows:
        if len(units) < 2 or 0 not in self._t[units[:2]] or self._t[units[0]] == self._t[units[1]]:
            return super().better_candidates(purchases, units)
        found = []
        for unit, partner in (units[:2], units[1::-1]):
            mine = np.flatnonzero(self._t == self._t[unit])
            value = np.full(len(self._t), -np.inf)
            both = self._price[mine] + self._price[partner]
            value[mine] = per_price(self._pairs.scores_with(int(partner), mine), both)
            may = purchases.open & purchases.compatible_with(int(partner))
            found.append(np.flatnonzero(may & above(value, value[unit])))
        return np.unique(np.concatenate(found))

    @override
    def add(self, units: Indices) -> None:
        self._pairs.add(units)

    @override
    def gain_bound(self, purchases: Purchases) -> float:
        """Return the bound: both novelties without distance, or a single unit's."""
        m = self._pairs.novelty()
        both = sum(m[purchases.open & ((self._t == 0) == is_zero)].max(initial=0.0) for is_zero in (True, False))
        single = self._scores.now()
        return float(max(both, single[purchases.open & np.isfinite(single)].max(initial=0.0)))


class RandomBuyer(Buyer):
    """A random criterion: infeasible units are skipped, costs do not count.

    Args:
        criterion: the rule.
        state: the pool.
    """

    def __init__(self, criterion: Criterion, state: PoolState) -> None:
        self._criterion, self._state, self._drawn = criterion, criterion.begin(state), []

    @override
    def buy(self, purchases: Purchases, room: int) -> Purchase | None:
        while purchases.open.any():
            if not self._drawn:
                open_or_known = purchases.open.copy()
                open_or_known[self._state.labelled] = True
                self._state = replace(
                    self._state, restriction=replace(self._state.restriction, ineligible=np.flatnonzero(~open_or_known))
                )
                self._drawn = self._criterion.select(self._state, room).tolist()
            unit = self._drawn.pop(0)
            if purchases.open[unit] and len(bought := purchases.buy(np.array([unit]))):
                self.add(bought)
                return Purchase(bought, 0.0)
        return None

    @override
    def better_candidates(self, purchases: Purchases, units: Indices) -> Rows:
        """Return none, as selection is random."""
        return units[:0]

    @override
    def add(self, units: Indices) -> None:
        self._state = replace(self._state, labelled=np.concatenate([self._state.labelled, units]))

    @override
    def gain_bound(self, purchases: Purchases) -> float:
        return 0.0


def buyer(criterion: Criterion, state: PoolState, price: Money) -> Buyer:
    """Return the selector of a criterion.

    Args:
        criterion: a rule without a model.
        state: the pool; pairs need both arms.
        price: price of each unit's label, (n,), above 0.

    Raises:
        ValueError: the criterion has no gains.
    """
    if criterion.stochastic:
        return RandomBuyer(criterion, state)
    if isinstance(criterion, Planned):
        search = criterion.search(state, price)
        return PairBuyer(search, state.t, price) if isinstance(search, PairSearches) else UnitBuyer(search, price)
    raise ValueError(
        f"{type(criterion).__name__} has no gain per unit, so it cannot plan under these constraints; use one of"
        f" {names_where(lambda rule: not rule.needs and (rule.stochastic or issubclass(rule, Planned)))}"
    )
