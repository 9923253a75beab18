"""A whole plan: selections by gain per cost, in rounds.

Gain per cost may spend the budget on many cheap units although one expensive unit gains more; so the unit or pair with
the largest gain is selected first if it gains more than the whole plan (Khuller, Moss and Naor 1999; Leskovec et al.
2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from macal.acquisition import Criterion, PoolState
from macal.acquisition.plans import as_batch_size
from macal.shapes import Arms, Indices, Money, Rows
from macal.storage.progress import progress
from macal.survey.constraints import Constraint
from macal.survey.purchases import Purchases
from macal.survey.selectors import Buyer, buyer

_NO_UNITS = np.empty(0, np.int64)


@dataclass
class Rounds:
    """Selections in rounds of limited size or cost; a selection is not divided, and may be a larger round by itself.

    Attributes:
        cost: cost of each unit, (n,).
        size: labels per round, or None.
        spend: money per round, or None.
        batches: units of each round, in order of selection.
        purchases: units selected together, and whether by gain per cost.
    """

    cost: Money
    size: int | None
    spend: float | int | None
    batches: list[list[int]] = field(default_factory=lambda: [[]])
    purchases: list[tuple[np.ndarray, bool]] = field(default_factory=list)

    @property
    def filled(self) -> list[np.ndarray]:
        """Units of each nonempty round."""
        return [np.array(batch, np.int64) for batch in self.batches if batch]

    @property
    def room(self) -> int:
        """Labels that fit into the present round or, if full, the next; 2 without a limit."""
        return 2 if self.size is None else max(self.size - len(self.batches[-1]), 0) or self.size

    def add(self, units: Indices, chosen: bool = True) -> None:
        """Add a selection to the present round, or to a new one."""
        self.purchases.append((units, chosen))
        batch = [*self.batches[-1], *units.tolist()]
        full = self.size is not None and len(batch) > self.size
        full |= self.spend is not None and self.cost[batch].sum() > self.spend * (1 + 1e-9)
        if full and self.batches[-1]:
            self.batches.append([])
        self.batches[-1] += units.tolist()


@dataclass(frozen=True, eq=False)
class GreedyPlan:
    """A planning task.

    Attributes:
        criterion: the rule.
        state: the pool.
        demands: constraints on the plan, the budget first.
        cost: cost of each unit, (n,), above 0.
        price: expected cost per answer with the unit's cluster, (n,), relative to the smallest.
        clusters: cluster that each unit is selected with, (n,), -1 for none.
        first: units that are selected first.
        size: labels per round, or None.
        spend: money per round, or None.
    """

    criterion: Criterion
    state: PoolState
    demands: Sequence[Constraint]
    cost: Money
    price: Money
    clusters: Arms
    first: Indices
    size: int | None
    spend: float | int | None

    def rounds(self) -> Rounds:
        """Return the rounds of the plan, in order of selection.

        Raises:
            Conflict: no plan meets all constraints.
            ValueError: the criterion cannot plan under constraints, or so few labels.
        """
        if len(self.demands) == 1 and (self.price == 1).all():
            return self._plain()
        chosen, value, ceiling = self.greedy()
        if ceiling > value:
            purchases, rounds, rule = self.begin(np.ones_like(self.price))
            dear = rule.buy(purchases, rounds.room)
            if dear and dear.gain > value:
                return self.greedy(dear.units)[0]
        return chosen

    def begin(self, price: Money, dear: Rows = _NO_UNITS) -> tuple[Purchases, Rounds, Buyer]:
        """Return selections, rounds and selector after mandatory units."""
        most = np.inf if self.spend is None else self.spend * (1 + 1e-9)
        purchases = Purchases(self.demands, self.cost, self.state.labelled, self.clusters, most)
        rounds, rule = Rounds(self.cost, self.size, self.spend), buyer(self.criterion, self.state, price)
        for unit in dict.fromkeys([*self.first, *dear]):
            if purchases.open[unit] and len(bought := purchases.buy(np.array([unit]))):
                rule.add(bought)
                rounds.add(bought, chosen=False)
        return purchases, rounds, rule

    def _plain(self) -> Rounds:
        """Plan as :func:`macal.schedule`, with equal costs and no constraint but the budget."""
        labels = min(_affordable(self.demands[0].high[0], self.cost[0]), len(self.state.unlabelled))
        most = [self.size, None if self.spend is None else _affordable(self.spend, self.cost[0])]
        size = as_batch_size(min((k for k in most if k is not None), default=max(labels, 2)), self.criterion)
        sizes = [min(size, labels - k) for k in range(0, labels, size)]
        rounds = Rounds(self.cost, self.size, self.spend, [])
        with progress(labels, "planning", "label") as bar:
            for batch in self.criterion.plan(self.state, sizes):
                rounds.batches.append(batch.tolist())
                rounds.purchases += [(units, True) for units in self._at_once(batch)]
                bar.update(len(batch))
        return rounds

    def _at_once(self, batch: Indices) -> list[np.ndarray]:
        """Return the selections of a batch: pairs of the reference arm and another if the criterion pairs, or units."""
        t, k, found = self.state.t, 0, list[np.ndarray]()
        while k < len(batch):
            pair = self.criterion.min_batch_size == 2 and k + 1 < len(batch) and 0 in t[batch[k : k + 2]]
            step = 1 + (pair and t[batch[k]] != t[batch[k + 1]])
            found.append(batch[k : k + step])
            k += step
        return found

    def greedy(self, dear: Rows = _NO_UNITS) -> tuple[Rounds, float, float]:
        """Return rounds by gain per cost.

        Args:
            dear: units to select first.

        Returns:
            The rounds; the sum of positive gains; a bound on any initial gain.
        """
        purchases, rounds, rule = self.begin(self.price, dear)
        value, whole, ceiling = 0.0, purchases.remaining_budget(), rule.gain_bound(purchases)
        with progress(1000, "planning", "per mille") as bar:
            while purchase := rule.buy(purchases, rounds.room):
                rounds.add(purchase.units)
                value += max(purchase.gain, 0.0)
                bar.update(int(1000 * (1 - purchases.remaining_budget() / whole)) - bar.n)
        return rounds, value, ceiling


def _affordable(money: float, cost: float) -> int:
    return int(money / cost * (1 + 1e-9))
