"""Find conflicting constraints, and the nearest feasible ones.

Lower bounds on groups of one column are first compared with the budget, by the cost of each group's cheapest people.
Otherwise constraints are dropped while the rest conflict; a search for a smallest conflict by minimal hitting sets of
the corrections follows, within a time limit. The nearest constraints minimise the total change of budget or quotas.

References:
    A. Ignatiev, A. Previti, M. Liffiton and J. Marques-Silva, "Smallest MUS Extraction with Minimal Hitting Set
    Dualization", Principles and Practice of Constraint Programming, 2015 (the smallest conflict).
    J. W. Chinneck and E. W. Dravnieks, "Locating Minimal Infeasible Constraint Sets in Linear Programs", ORSA Journal
    on Computing 3(2), 1991 (deletion and elastic filters).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np
from scipy.optimize import LinearConstraint

from macal.shapes import Indices, Money
from macal.survey.constraints import Constraint, Group, Quota
from macal.survey.feasible import Bounded, Effort

_SECONDS = 2.0  # processor time for the search
_MAX_SHOWN = 6  # names in a sentence


@dataclass(frozen=True)
class ConflictReport:
    """A set of conflicting constraints.

    Attributes:
        names: names of the constraints.
        is_smallest: whether no smaller conflict is known.
        is_proven: whether infeasibility is proven; else no plan was found.
        nearest: alternative feasible changes.
    """

    names: Sequence[str]
    is_smallest: bool
    is_proven: bool
    nearest: Sequence[str]


class Conflict(ValueError):
    """Constraints that no plan can meet together.

    Attributes:
        found: report on the conflict.
        names: names in the smallest conflict, or a small one if time ran out.
    """

    def __init__(self, found: ConflictReport, who: str = "plan", instead: str = "") -> None:
        """Build the message."""
        self.found, self.names = found, list(found.names)
        what = "this constraint" if len(self.names) == 1 else f"these {len(self.names)} constraints together"
        cannot = f"no {who} can meet" if found.is_proven else f"no {who} was found that meets"
        perhaps = "" if found.is_smallest else " (a subset may conflict)"
        way = f"nearest feasible: {'; or '.join(found.nearest)}" if found.nearest else "drop one of them"
        super().__init__(f"{cannot} {what}: {_listed(self.names, '; ')}{perhaps}; {way}{instead}")


def conflict_of(
    demands: Sequence[Constraint], cost: Money, known: Indices, is_proven: bool, ways: Sequence[str] | None = None
) -> Conflict:
    """Return a small conflict among infeasible constraints.

    Args:
        demands: constraints on n units, the budget first.
        cost: cost of each unit, (n,).
        known: units that are labelled already.
        is_proven: whether infeasibility is proven; else no plan was found.
        ways: feasible changes (default: those of :func:`nearest`).
    """
    core, is_smallest = _Search(demands, cost, known).core()
    names = [demands[k].name for k in sorted(core)]
    return Conflict(
        ConflictReport(names, is_smallest, is_proven, nearest(demands, cost, known) if ways is None else ways)
    )


def nearest(demands: Sequence[Constraint], cost: Money, known: Indices, by: str = "by") -> list[str]:
    """Return feasible changes: a larger budget, other quotas, or both if neither is enough.

    Args:
        demands: constraints on n units, the budget first.
        cost: cost of each unit, (n,).
        known: units that are labelled already.
        by: words before the sum of money.
    """
    return _Search(demands, cost, known, by).nearest()


class _Search:
    """A search among constraints."""

    def __init__(self, demands: Sequence[Constraint], cost: Money, known: Indices, by: str = "by") -> None:
        self._by, self._demands, self._cost, self._every = by, demands, cost, range(len(demands))
        self._inside = np.zeros(len(cost), bool)
        self._inside[known] = True
        self._system = Bounded.of(demands, len(cost))
        self._owner = np.repeat(self._every, [len(d.low) for d in demands])  # of each row, (r,)
        self._end = process_time() + _SECONDS

    def core(self) -> tuple[list[int], bool]:
        """Return a conflict, and whether it is a smallest one."""
        core, is_smallest = self._of_money()
        if is_smallest:
            return core, True
        core, fewest = core or self._left(), list[int]()
        corrections: list[set[int]] = []
        while process_time() < self._end and len(fewest := _hitting(corrections, len(self._every))) < len(core):
            if not (kept := self._met(fewest)):
                return fewest, True
            for k in self._every:
                kept |= set() if k in kept or process_time() > self._end else self._met([*kept, k])
            corrections.append(set(self._every) - kept)
        return core, len(fewest) >= len(core)

    def _of_money(self) -> tuple[list[int], bool]:
        """Return the budget and the fewest lower bounds of one column that exceed it, or a bound beyond its group.

        Returns:
            The conflict, empty if there is none of this kind; whether it is a smallest one.
        """
        # column -> values -> cost and constraint
        least: dict[tuple[object, ...], dict[object, tuple[float, int]]] = {}
        for k, demand in enumerate(self._demands):
            if demand.group and demand.group.quota.least and not demand.group.quota.share:
                quota, cost = demand.group.quota, self._least(demand)
                if np.isinf(cost):
                    return [k], True
                column = least.setdefault(quota.key, {})
                column[quota.values] = max(column.get(quota.values, (0.0, k)), (cost, k))
        money, found = float(self._system.top[0] - (self._system.matrix @ self._inside.astype(float))[0]), []
        for column in least.values():
            dearest = sorted(column.values(), reverse=True)
            over = np.flatnonzero(np.cumsum([cost for cost, _ in dearest]) > money)
            found += [[0, *(k for _, k in dearest[: over[0] + 1])]] if over.size else []
        core = min(found, key=len, default=[])
        is_whole = len(least) == 1 and all(d.group and d.group.quota.key in least for d in self._demands[1:])
        lower = [d for d in self._demands[1:] if np.isfinite(d.low).all() and (d.matrix.data == 1).all()]
        return core, bool(core) and is_whole and len(lower) == len(self._every) - 1

    def _least(self, demand: Constraint) -> float:
        """Return the smallest cost of a lower bound on a group; infinite if infeasible."""
        need = float(demand.low[0] - (demand.matrix @ self._inside)[0])
        units = demand.matrix.indices[~self._inside[demand.matrix.indices]]
        weight, cost = demand.matrix[[0]][:, units].toarray()[0], self._cost[units]
        need = np.ceil(need - 1e-9) if (weight == 1).all() else need
        if need <= 0:
            return 0.0
        if weight.sum() < need - float(self._system.rounding(demand.low)[0]):
            return np.inf
        order = np.argsort(cost / weight)
        before = np.cumsum(weight[order]) - weight[order]
        return float((cost / weight)[order] @ np.clip(need - before, 0, weight[order]))

    def _left(self) -> list[int]:
        """Return a smaller conflict by dropping blocks of constraints, within the time limit."""
        core, size = list(self._every), len(self._every) // 2
        while size and process_time() < self._end - _SECONDS / 2:
            for first in range(0, len(core), size)[::-1]:
                rest = core[:first] + core[first + size :]
                if process_time() < self._end - _SECONDS / 2 and not self._met(rest):
                    core = rest
            size //= 2
        return core

    def _met(self, chosen: Iterable[int]) -> set[int]:
        """Return constraints met by a plan that meets the chosen ones; empty if these conflict."""
        counts, system = np.isin(self._owner, list(chosen)), self._system
        low, high = np.where(counts, system.low, -np.inf), np.where(counts, system.high, np.inf)
        some = Bounded(system.matrix, low, high, system.effort)
        found = some.completion(self._inside, ~self._inside, self._cost)
        if found is None:
            return set()
        total = system.matrix @ (self._inside + np.bincount(found, minlength=len(self._cost)))
        return set(self._every) - set(self._owner[system.missed(total)].tolist()) | set(chosen)

    def nearest(self) -> list[str]:
        quotas: dict[Quota, list[int]] = {}
        for k, demand in enumerate(self._demands):
            if demand.group:
                quotas.setdefault(replace(demand.group.quota, values=()), []).append(int((self._owner < k).sum()))
        money, rows = np.array([0]), [np.array(own) for own in quotas.values()]
        found = [way for loose in ([money], rows) if loose and (way := self._way(loose))]
        return found or [way for way in [self._way([money, *rows])] if way and rows]

    def _way(self, loose: Sequence[np.ndarray]) -> str:
        """Return the change of some rows that makes all feasible; empty if none does."""
        system = replace(self._system, effort=Effort())
        plan = system.nearest(self._inside, self._cost, loose)
        if plan is None:
            return ""
        total, changed = system.matrix @ plan, list[tuple[Constraint, Group]]()
        for row in np.flatnonzero(system.missed(total)).tolist():
            demand = self._demands[self._owner[row]]
            if demand.group:
                changed.append((demand, demand.group.relaxed(plan)))
        over = float(total[0] - system.high[0])
        step = min(0.01, 10.0 ** np.floor(np.log10(over) - 2)) if over > 0 else 0.01  # cents; three digits of tiny sums
        more = step * np.ceil(over / step - 1e-6)
        said = [f"a budget larger {self._by} {more:.10g}"] if more > 0 else []
        return _listed([*said, *_changes(changed)], " and ")


def _changes(changed: Sequence[tuple[Constraint, Group]]) -> list[str]:
    """Return feasible quotas, grouped by number."""
    alike: dict[tuple[Quota, Quota], list[Group]] = {}
    for demand, group in changed:
        both = replace(group.quota, values=()), replace(demand.group.quota, values=())
        alike.setdefault(both, []).append(group)
    said = []
    for (new, old), groups in alike.items():
        values, there = _listed([g.quota.shown for g in groups], ", "), [g.n_members for g in groups]
        low, high, each = min(there), max(there), " of each" * (len(there) > 1)
        many = f"{low:,}{f' to {high:,}' * (high > low)}{each}"
        said.append(f"{new.describe(values)} ({old.amount} requested, {many} in the table)")
    return said


def _listed(names: Sequence[str], between: str) -> str:
    more = len(names) - _MAX_SHOWN
    return between.join([*names[:_MAX_SHOWN], *([f"{more:,} more"] if more > 0 else [])])


def _hitting(sets: Sequence[set[int]], n: int) -> list[int]:
    """Return a smallest hitting set of sets of 0 .. n - 1."""
    if not sets:
        return []
    rows = np.array([[k in one for k in range(n)] for one in sets], float)
    found = Effort().solved(np.ones(n), np.ones(n), LinearConstraint(rows, 1, np.inf))
    return [] if found is None else np.flatnonzero(found > 0.5).tolist()
