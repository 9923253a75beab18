"""Whether demands can be met together, and which of them conflict: two small integer programs.

References:
    Q. Huangfu and J. A. J. Hall, "Parallelizing the Dual Revised Simplex Method", Mathematical Programming Computation
    10, 2018 (HiGHS, which solves the programs).
    A. Ignatiev, A. Previti, M. Liffiton and J. Marques-Silva, "Smallest MUS Extraction with Minimal Hitting Set
    Dualization", Principles and Practice of Constraint Programming, 2015 (the smallest conflict).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csc_array, vstack
from scipy.sparse.csgraph import connected_components

from macal.planner.demands import Demand, Limits, Money
from macal.shapes import Arms, Indices, Rows

Members = Bool[np.ndarray, "n"]
_EXACT = 1e-9  # of a bound: rounding of a sum of costs
_GAP = 0.05  # a completion may cost so much more than the cheapest
_MANY = 1000  # columns, of which some are tried first
_SOME = 100  # columns tried first for each bound, at least


class Conflict(ValueError):
    """Demands that no plan can meet together.

    Attributes:
        names: the smallest set of demands that conflict.
    """

    def __init__(self, names: Sequence[str], who: str = "plan", instead: str = "") -> None:
        """Name the demands, who cannot meet them, and what may."""
        self.names = list(names)
        what = "this demand" if len(self.names) == 1 else f"these {len(self.names)} demands together"
        super().__init__(f"no {who} can meet {what}: {'; '.join(self.names)}; loosen or leave out one of them{instead}")


@dataclass(frozen=True, eq=False)
class Bounded:
    """Demands as one system, low <= A z <= high.

    Attributes:
        matrix: A, (r, n).
        low: (r,).
        high: (r,).
    """

    matrix: csc_array
    low: Limits
    high: Limits

    @classmethod
    def of(cls, demands: Sequence[Demand], n: int) -> "Bounded":
        """Stack the demands on n units."""
        matrix = vstack([csc_array((0, n)), *(d.matrix for d in demands)], format="csc")
        low, high = (np.concatenate([np.empty(0), *(getattr(d, side) for d in demands)]) for side in ("low", "high"))
        return cls(csc_array(matrix), low, high)

    def met(self, total: Limits) -> bool:
        """Whether A z = ``total`` (r,) is within the bounds, but for rounding."""
        return bool((total >= self.low - self.rounding(self.low)).all() and (total <= self.top).all())

    @cached_property
    def top(self) -> Limits:
        """The upper bounds, and what rounding may add, (r,)."""
        return self.high + self.rounding(self.high)

    @staticmethod
    def rounding(bound: Limits) -> Limits:
        """What a sum may be off that should be equal to a bound, (r,)."""
        return _EXACT * (1 + np.abs(bound))

    @cached_property
    def kinds(self) -> Arms:
        """Number of each unit's kind, (n,): units of a kind do the same for all demands but the first, the budget."""
        rows = self.matrix[1:]  # (r - 1, n)
        # columns are equal where their products with random numbers are
        return np.unique(rows.T @ np.random.default_rng(0).random(rows.shape[0]), return_inverse=True)[1]

    @cached_property
    def _together(self) -> Arms:
        """Number of each unit's group, (n,): those whom rows z_i - z_j = 0 hold together."""
        links = np.flatnonzero((self.low == 0) & (self.high == 0))
        if not links.size:
            return np.arange(self.matrix.shape[1])
        edges = abs(self.matrix.tocsr()[links]).sign()
        return connected_components(edges.T @ edges, directed=False)[1]

    def completion(self, inside: Members, free: Members, cost: Money) -> Indices | None:
        """Find free units that, together with those inside, meet all demands at a low cost; None if there are none."""
        total = self.matrix @ inside.astype(float)
        if self.met(total):
            return np.empty(0, np.int64)
        units = np.flatnonzero(free & ~inside)
        if not units.size:
            return None
        missing, groups, price = self._missing(total, units, cost)
        chosen = missing.cheapest(price)
        return None if chosen is None else units[np.isin(groups, chosen)]

    def _missing(self, total: Limits, units: Rows, cost: Money) -> tuple["Bounded", Arms, Money]:
        """What is missing to a total as a system of groups, the group of each unit (k,), and the cost of each group."""
        groups = np.unique(self._together[units], return_inverse=True)[1]
        members = csc_array((np.ones(len(units)), (np.arange(len(units)), groups)))  # (k, groups)
        missing = Bounded(csc_array(self.matrix[:, units] @ members), self.low - total, self.high - total)
        missing.matrix.eliminate_zeros()
        return missing, groups, members.T @ cost[units]

    def multipliers(self, total: Limits, free: Members, cost: Money) -> Limits:
        """Multipliers of the demands but the budget, (r,): from 0 up of lower bounds, from 0 down of upper ones.

        From the linear program of what is missing to a total; all 0 where it has no solution.
        """
        missing, _, price = self._missing(total, np.flatnonzero(free), cost)
        columns = missing._helpful(np.arange(len(price)), price)
        if not columns.size:
            return np.zeros(len(total))
        lower, upper = np.flatnonzero(np.isfinite(self.low)), np.flatnonzero(np.isfinite(self.high))[1:]
        matrix = missing.matrix[:, columns].tocsr()
        sides = vstack([-matrix[lower], matrix[upper]]), np.concatenate([-missing.low[lower], missing.high[upper]])
        found, y = linprog(price[columns], *sides, bounds=(0, 1)), np.zeros(len(total))
        if found.status == 0:
            y[lower] -= found.ineqlin.marginals[: len(lower)]
            y[upper] += found.ineqlin.marginals[len(lower) :]
        return y

    def cheapest(self, cost: Money) -> Indices | None:
        """Find columns, (k,) of n, whose sum meets the bounds at a low cost; None if there are none.

        Those that promise most are tried before all that can be of use.
        """
        within = self.matrix.maximum(0).sum(axis=1) >= self.low - self.rounding(self.low)
        if not (within & (self.matrix.minimum(0).sum(axis=1) <= self.top)).all():
            return None
        useful = self._useful(cost)
        some = [self._helpful(useful, cost)] if useful.size > _MANY else []
        for columns in (*some, useful):
            if (found := self._solved(columns, cost)) is not None and self.met(self.matrix[:, found].sum(axis=1)):
                return found
        return None

    def _solved(self, columns: Rows, cost: Money) -> Indices | None:
        matrix = self.matrix[:, columns].tocsr()
        rows = np.flatnonzero((np.diff(matrix.indptr) > 0) & ~(np.isinf(self.low) & np.isinf(self.high)))
        if not rows.size:
            return None
        # columns that do the same at the same cost are one whole number: apart, they would be tried one for another
        # (3, k), a column for each of k columns
        same = np.stack([self.kinds[columns], self.matrix[[0]][:, columns].toarray()[0], cost[columns]])
        _, first, group, count = np.unique(same, axis=1, return_index=True, return_inverse=True, return_counts=True)
        limits = LinearConstraint(matrix[rows][:, first], self.low[rows], self.high[rows])
        options = {"mip_rel_gap": _GAP}
        found = milp(cost[columns[first]], integrality=1, bounds=(0, count), constraints=limits, options=options)
        return None if found.x is None else columns[_rank(cost[columns], group) < found.x.round()[group]]

    def _useful(self, cost: Money) -> Rows:
        """Without negative weights nobody is needed but the cheapest of each kind, as many as could all be missing."""
        columns = np.arange(len(cost))
        if self.matrix.data.min(initial=0) < 0:
            return columns
        missing = np.flatnonzero(self.low > 0)
        rows = self.matrix[missing].tocoo()
        least = np.ones(len(missing))
        np.minimum.at(least, rows.coords[0], rows.data)
        rank = _rank(cost, self.kinds)
        return columns[rank < np.ceil(self.low[missing] / least).sum()]

    def _helpful(self, columns: Rows, cost: Money) -> Indices:
        """Columns that help to meet some bound, for each bound those that help most per cost, four times its number."""
        entries = self.matrix[:, columns].tocoo()
        row, column = entries.coords  # (entries,) each
        helps = np.where(entries.data > 0, self.low[row] > -np.inf, self.high[row] < np.inf)
        row, column, weight = row[helps], columns[column[helps]], np.abs(entries.data[helps])
        return np.unique(column[_rank(cost[column] / weight, row) < _SOME + 4 * np.maximum(self.low[row], 0)])


def _rank(values: Money, groups: Arms) -> Indices:
    """Place of each value among those of its group, from 0."""
    order = np.lexsort([values, groups])
    ordered, rank = groups[order], np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return rank


def smallest_conflict(demands: Sequence[Demand], cost: Money, known: Indices) -> list[str]:
    """Name the fewest demands that cannot be met together; they must not all be met together.

    Whatever demands must go so that the others can be met hold one of every conflict. So the smallest set that hits all
    such sets seen so far is no larger than the smallest conflict, and is it once it conflicts itself.

    Args:
        demands: of n units, the budget first.
        cost: of each unit, (n,).
        known: units that are labelled already.
    """
    inside = np.zeros(len(cost), bool)
    inside[known] = True

    system = Bounded.of(demands, len(cost))
    owner = np.repeat(np.arange(len(demands)), [len(d.low) for d in demands])  # of each row, (r,)

    def met(chosen: Iterable[int]) -> set[int]:
        """Demands that a plan meets which meets the chosen ones; none where these conflict."""
        counts = np.isin(owner, list(chosen))
        low, high = np.where(counts, system.low, -np.inf), np.where(counts, system.high, np.inf)
        found = Bounded(system.matrix, low, high).completion(inside, ~inside, cost)
        if found is None:
            return set()
        total = system.matrix @ (inside + np.bincount(found, minlength=len(cost)))
        missed = (total < system.low - system.rounding(system.low)) | (total > system.top)
        return set(range(len(demands))) - set(owner[missed].tolist()) | set(chosen)

    corrections: list[set[int]] = []
    while kept := met(core := _hitting(corrections, len(demands))):
        for k in range(len(demands)):
            kept |= set() if k in kept else met([*kept, k])
        corrections.append(set(range(len(demands))) - kept)
    return [demands[k].name for k in sorted(core)]


def _hitting(sets: Sequence[set[int]], n: int) -> list[int]:
    """The fewest of n things of which each set holds one."""
    if not sets:
        return []
    rows = np.array([[k in one for k in range(n)] for one in sets], float)
    found = milp(np.ones(n), integrality=1, bounds=(0, 1), constraints=LinearConstraint(rows, 1, np.inf))
    return np.flatnonzero(found.x > 0.5).tolist()
