"""Allocation of labels to strata under constraints, with one whole number per stratum.

Units of a stratum are equal in cost and for all constraints, so the programs of :mod:`macal.survey.feasible` shrink to
one number each. As in :class:`macal.survey.purchases.Purchases`, a label may be added if some feasible plan holds it
and all before; the *aim*, a feasible allocation, is kept and repaired by small moves, else by a program.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import LinearConstraint

from macal.shapes import Arms, Counts, Indices, Money, Totals
from macal.survey.conflicts import conflict_of, nearest
from macal.survey.constraints import Constraint, at_least_one_per_stratum
from macal.survey.feasible import Bounded

_TRIED = 20  # strata with moves tried before a program
_WHOLE = 1e-6  # tolerance of whole numbers


class StratumCounts:
    """Labels per stratum, under constraints.

    Args:
        demands: constraints on n units, known ones included, the budget first; equal for all units of a stratum.
        cost: cost of each unit, (n,), above 0, equal within a stratum.
        known: units that are labelled already.
        strata: stratum of each unit, (n,), 0 to h - 1, -1 for ineligible units.
        totals: cost of 0, 1, 2, ... labels of each stratum for the budget, (h,) lists; programs use unit costs.

    Attributes:
        bought: labels of each stratum, (h,).
        open: strata to which a label may be added, as far as is known, (h,).
        is_short: whether money limited the last label.

    Raises:
        Conflict: no plan meets all constraints.
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
        """Return feasible changes of constraints with a label in each stratum."""
        return nearest(*self._asked)

    def buy(self, k: int, number: int = 1) -> bool:
        """Add labels of a stratum, or close it if not even one fits; return whether they were added."""
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
        """Return a feasible allocation of at least these numbers: the aim with one more label, or a new aim."""
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
        """Add the labels that constraints still need."""
        self.bought = self._aim

    def _cheapest(self, least: Counts) -> Counts | None:
        """Return cheap numbers of at least these, (h,), feasible but for the budget; None if there are none.

        The rounded relaxation is tried before the integer program; above the budget, ``is_short`` is set.
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
