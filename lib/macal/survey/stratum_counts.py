"""How many labels of each stratum: the purchases of people of whom only the number counts.

Where people of a stratum cost the same and do the same for all demands, who of them is bought decides nothing. So the
programs of :mod:`macal.survey.feasible` shrink to one whole number per stratum, and :class:`StratumCounts` is to it
what :class:`macal.survey.purchases.Purchases` is to single people: one more label of a stratum may be bought if some
plan that meets all demands holds it and all that is bought. The *aim*, numbers that meet all demands, is kept from one
purchase to the next; it often bears one label more, by itself, with one or two of another stratum for a share, or in
the place of one for the money. Else a program looks for a new aim.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import LinearConstraint

from macal.shapes import Arms, Indices
from macal.survey.conflicts import conflict_of, nearest
from macal.survey.constraints import Constraint, Money, at_least_one_per_stratum
from macal.survey.feasible import Bounded

PerStratum = Float[np.ndarray, "h"]
Counts = Int[np.ndarray, "h"]
Totals = Float[np.ndarray, "_"]
_TRIED = 20  # strata of which some more or less are tried before a program is asked
_WHOLE = 1e-6  # a number so little above a whole one is that


class StratumCounts:
    """Labels bought of each stratum, under demands.

    Args:
        demands: on n units, those known included; the first is the budget.
        cost: of each unit, (n,), above 0; within a stratum the same.
        known: units that are labelled already.
        strata: number of each unit's stratum, (n,), from 0 to h - 1, -1 for whoever may not be bought. All demands
            count units of a stratum alike.
        totals: what 0, 1, 2 and so on labels of each stratum cost, which the budget counts, (h,) lists; programs look
            for numbers by the cost of each unit.

    Attributes:
        bought: labels of each stratum, (h,).
        open: strata of which one more may be bought, as far as is known, (h,).
        is_short: whether money was what one more label lacked.

    Raises:
        Conflict: no plan meets all demands.
    """

    def __init__(
        self, demands: Sequence[Constraint], cost: Money, known: Indices, strata: Arms, totals: Sequence[Totals]
    ) -> None:
        system = Bounded.of(demands, len(cost))
        self._totals, self._money, self.is_short = totals, float(system.top[0]), False
        held = system.matrix[:, known].sum(axis=1)  # (r,)
        own = np.flatnonzero(strata >= 0)
        one = own[np.unique(strata[own], return_index=True)[1]]  # unit of each stratum
        high = np.append(np.inf, (system.high - held)[1:])
        self._system = Bounded(system.matrix[:, one], system.low - held, high)
        self._cost, self._heads = cost[one], np.bincount(strata[own])
        cheap = self._cost.argsort(kind="stable")[:_TRIED]
        each = (np.arange(len(one)) == cheap[:, None]).astype(np.int64)
        self._moves = np.vstack([0 * each[:1], each, 2 * each, -each])  # (moves, h)
        self.bought = np.zeros(len(one), np.int64)
        self.open = np.ones(len(one), bool)
        self._asked = (
            [*demands, at_least_one_per_stratum(strata)],
            cost,
            known,
            "by about" if np.ptp(self._cost) else "by",
        )
        aim = self._cheapest(self.bought)
        if aim is None or self.is_short and float(system.matrix[0, one] @ aim) > self._money:
            raise conflict_of(demands, cost, known, not self._system.effort.is_spent, self.nearest())
        self._aim = aim

    def nearest(self) -> list[str]:
        """Ways to meet all demands with a label of each stratum."""
        return nearest(*self._asked)

    def buy(self, k: int, number: int = 1) -> bool:
        """Buy labels of a stratum; where not even one can be bought, it is closed. Return whether they are bought."""
        least = self.bought + number * (np.arange(len(self.bought)) == k)
        self.is_short = False
        is_kept = (self._aim >= least).all() and self._affords(self._aim)
        aim = self._aim if is_kept else self._raised(k, least)
        if aim is None or self.is_short:
            self.open[k] &= number > 1
            return False
        self._aim, self.bought = aim, least
        self.open[k] = least[k] < self._heads[k]
        return True

    def _raised(self, k: int, least: Counts) -> Counts | None:
        """Numbers from these up that meet all demands: the aim with one more of a stratum, or a new aim."""
        if least[k] > self._heads[k]:
            return None
        for move in self._moves:
            numbers = np.maximum(self._aim, least) + move
            within = (least <= numbers).all() and (numbers <= self._heads).all()
            if within and self._affords(numbers) and self._system.met(self._system.matrix @ numbers):
                return numbers
        return self._cheapest(least)

    def _affords(self, numbers: Counts) -> bool:
        return sum(float(total[k]) for total, k in zip(self._totals, numbers, strict=True)) <= self._money

    def fill(self) -> None:
        """Buy what the demands need beside what is bought."""
        self.bought = self._aim

    def _cheapest(self, least: Counts) -> Counts | None:
        """Numbers from these up, (h,), that meet all demands but the budget at a low cost; None if there are none.

        Where the relaxation's, rounded up, meet them, no integer program is needed. Where they cost more than the
        budget, ``is_short`` is set.
        """
        limits = LinearConstraint(self._system.matrix, self._system.low, self._system.high)
        for whole in (0, 1):
            found = self._system.effort.solved(self._cost, self._heads, limits, least, whole)
            if found is None:
                return None
            numbers = np.ceil(found - _WHOLE).astype(np.int64)
            if self._system.met(self._system.matrix @ numbers):
                self.is_short = not self._affords(numbers)
                return numbers
        return None
