"""Feasibility of constraints, by small integer programs with limited effort (solver: HiGHS)."""

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csc_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from macal.shapes import Arms, Indices, Limits, Mask, Money, Rows
from macal.survey.constraints import Constraint

_EXACT = 1e-9  # relative rounding of sums
_GAP = 0.05  # relative optimality gap of a completion
_MANY_COLUMNS = 1000  # number of columns above which some are tried first
_N_TRIED_FIRST = 100  # smallest number of columns tried first per bound
_TOLERANCE = 1e-4  # relative optimality gap of the cheapest
_ANY = 1e6
_FAR = 20_000  # largest number of columns in the search for nearest constraints
_LITTLE = 1e-3  # weight of the largest miss
_NODES = 500  # size of a search tree: about half a second
_OUTPUT = Lock()


@contextmanager
def _silent() -> Iterator[None]:
    """Silence standard output, to which HiGHS writes directly."""
    with _OUTPUT:
        try:
            kept = os.dup(1)
        except OSError:  # it is closed
            yield
            return
        written, nowhere = ctypes.CDLL(None).fflush, os.open(os.devnull, os.O_WRONLY)
        try:
            written(None)
            os.dup2(nowhere, 1)
            yield
        finally:
            written(None)
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)


@dataclass
class Effort:
    """The search effort, halved by each program that exceeds it.

    Attributes:
        nodes: node limit of the next program.
        is_spent: whether a program ended without a solution that may exist.
    """

    nodes: int = _NODES
    is_spent: bool = False

    def solved(
        self,
        cost: np.ndarray,
        most: np.ndarray,
        limits: LinearConstraint,
        least: np.ndarray | int = 0,
        whole: np.ndarray | int = 1,
        gap: float = _TOLERANCE,
    ) -> np.ndarray | None:
        """Return numbers from ``least`` to ``most``, (n,), that meet limits at low cost; None if none are found.

        Args:
            cost: cost per unit, (n,).
            most: upper bounds, (n,).
            limits: linear constraints.
            least: lower bounds, (n,), or one for all.
            whole: 1 for integers, (n,), or for all; else 0.
            gap: relative optimality gap, ignored if effort is short.
        """
        options = {"mip_rel_gap": gap if self.nodes == _NODES else _ANY, "node_limit": self.nodes}
        with _silent():
            found = milp(cost, integrality=whole, bounds=(least, most), constraints=limits, options=options)
        if "limit reached" in found.message:
            self.nodes = max(self.nodes // 2, 1)
            self.is_spent |= found.x is None
        return found.x


@dataclass(frozen=True, eq=False)
class Bounded:
    """Constraints as one system, low <= A z <= high.

    Attributes:
        matrix: A, (r, n).
        low: lower bounds, (r,).
        high: upper bounds, (r,).
        effort: search effort.
    """

    matrix: csc_array
    low: Limits
    high: Limits
    effort: Effort = field(default_factory=Effort)

    @classmethod
    def of(cls, demands: Sequence[Constraint], n: int) -> "Bounded":
        """Return stacked constraints on n units."""
        matrix = vstack([csc_array((0, n)), *(d.matrix for d in demands)], format="csc")
        low, high = (np.concatenate([np.empty(0), *(getattr(d, side) for d in demands)]) for side in ("low", "high"))
        return cls(csc_array(matrix), low, high)

    def met(self, total: Limits) -> bool:
        """Return whether A z = ``total`` (r,) is within the bounds, up to rounding."""
        return not self.missed(total).any()

    def missed(self, total: Limits) -> np.ndarray:
        """Return which bounds A z = ``total`` (r,) misses, up to rounding, (r,)."""
        return (total < self.low - self.rounding(self.low)) | (total > self.top)

    @cached_property
    def top(self) -> Limits:
        """Upper bounds plus rounding, (r,)."""
        return self.high + self.rounding(self.high)

    @staticmethod
    def rounding(bound: Limits) -> Limits:
        """Return the rounding tolerance of a bound, (r,)."""
        return _EXACT * (1 + np.abs(bound))

    @cached_property
    def kinds(self) -> Arms:
        """Kind of each unit, (n,); units of a kind are equal in all constraints but the first, the budget."""
        rows = self.matrix[1:]  # (r - 1, n)
        # columns are equal if their products with random numbers are
        return np.unique(rows.T @ np.random.default_rng(0).random(rows.shape[0]), return_inverse=True)[1]

    @cached_property
    def _together(self) -> Arms:
        """Group of each unit, (n,), linked by rows z_i - z_j = 0."""
        links = np.flatnonzero((self.low == 0) & (self.high == 0))
        if not links.size:
            return np.arange(self.matrix.shape[1])
        edges = abs(self.matrix.tocsr()[links]).sign()
        return connected_components(edges.T @ edges, directed=False)[1]

    def completion(self, inside: Mask, free: Mask, cost: Money) -> Indices | None:
        """Return free units that complete those inside to a feasible plan at low cost; None if infeasible."""
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
        """Return the remaining system by group, the group of each unit, (k,), and the cost of each group."""
        groups = np.unique(self._together[units], return_inverse=True)[1]
        members = csc_array((np.ones(len(units)), (np.arange(len(units)), groups)))  # (k, groups)
        matrix = csc_array(self.matrix[:, units] @ members)
        missing = Bounded(matrix, self.low - total, self.high - total, self.effort)
        missing.matrix.eliminate_zeros()
        return missing, groups, members.T @ cost[units]

    def nearest(self, inside: Mask, cost: Money, loose: Sequence[np.ndarray]) -> Money | None:
        """Return a plan, (n,), that misses loose rows by the smallest sum and evenly; None if none is found.

        Args:
            inside: units in the plan.
            cost: cost of each unit, (n,).
            loose: lists of rows that may be missed; the largest miss in each list also counts a little.
        """
        units, rows = np.flatnonzero(~inside), np.concatenate(loose)
        missing, groups, price = self._missing(self.matrix @ inside.astype(float), units, cost)
        columns = missing._useful(price)
        columns = missing._helpful(columns, price) if columns.size > _FAR else columns
        first, group, count = missing._merged(columns, price)
        k, lists, every = len(rows), len(loose), np.arange(len(rows))
        sign = np.where(np.isfinite(self.low[rows]), 1.0, -1.0)
        slack = csc_array((sign, (rows, every)), (len(self.low), k))
        most = csc_array((np.ones(k), (every, np.repeat(np.arange(lists), [len(own) for own in loose]))), (k, lists))
        each = hstack([csc_array((k, len(first))), -csc_array((np.ones(k), (every, every))), most])
        matrix = hstack([missing.matrix[:, columns[first]], slack, csc_array((len(self.low), lists))])
        low, high = np.append(missing.low, np.zeros(k)), np.append(missing.high, np.full(k, np.inf))
        price_of_miss = np.repeat([0.0, 1.0, _LITTLE], [len(first), k, lists])
        price_of_miss[len(first) + np.flatnonzero(rows == 0)] = 1.0 if k == 1 else _LITTLE / (1 + self.high[0])
        whole, unbounded = np.repeat([1, 0], [len(first), k + lists]), np.append(count, np.full(k + lists, np.inf))
        limits = LinearConstraint(vstack([matrix, each]), low, high)
        found = self.effort.solved(price_of_miss, unbounded, limits, whole=whole)
        if found is None:
            return None
        chosen = columns[_rank(price[columns], group) < found.round()[group]]
        plan = inside.astype(float)
        plan[units[np.isin(groups, chosen)]] = 1
        return plan

    def multipliers(self, total: Limits, free: Mask, cost: Money) -> Limits:
        """Return multipliers of all constraints but the budget, (r,), positive for lower bounds; 0 if infeasible."""
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
        """Return columns, (k,) of n, whose sum meets the bounds at low cost; None if infeasible.

        The most promising ones are tried first.
        """
        within = self.matrix.maximum(0).sum(axis=1) >= self.low - self.rounding(self.low)
        if not (within & (self.matrix.minimum(0).sum(axis=1) <= self.top)).all():
            return None
        useful = self._useful(cost)
        some = [self._helpful(useful, cost)] if useful.size > _MANY_COLUMNS else []
        for columns in (*some, useful):
            if (found := self._solved(columns, cost)) is not None and self.met(self.matrix[:, found].sum(axis=1)):
                return found
        return None

    def _solved(self, columns: Rows, cost: Money) -> Indices | None:
        matrix = self.matrix[:, columns].tocsr()
        rows = np.flatnonzero((np.diff(matrix.indptr) > 0) & ~(np.isinf(self.low) & np.isinf(self.high)))
        if not rows.size:
            return None
        first, group, count = self._merged(columns, cost)
        limits = LinearConstraint(matrix[rows][:, first], self.low[rows], self.high[rows])
        found = self.effort.solved(cost[columns[first]], count, limits, gap=_GAP)
        return None if found is None else columns[_rank(cost[columns], group) < found.round()[group]]

    def _merged(self, columns: Rows, cost: Money) -> tuple[Indices, Rows, Indices]:
        """Merge columns of equal kind and cost into one whole number.

        Returns:
            Position of the first column of each group, (g,); group of each column; size of each group.
        """
        # (3, k), a column for each of k columns
        same = np.stack([self.kinds[columns], self.matrix[[0]][:, columns].toarray()[0], cost[columns]])
        return np.unique(same, axis=1, return_index=True, return_inverse=True, return_counts=True)[1:]

    def _useful(self, cost: Money) -> Rows:
        """Return columns that may be needed: without negative weights, only the cheapest of each kind."""
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
        """Return columns that help each bound most per cost, four times its number."""
        entries = self.matrix[:, columns].tocoo()
        row, column = entries.coords  # (entries,) each
        helps = np.where(entries.data > 0, self.low[row] > -np.inf, self.high[row] < np.inf)
        row, column, weight = row[helps], columns[column[helps]], np.abs(entries.data[helps])
        return np.unique(column[_rank(cost[column] / weight, row) < _N_TRIED_FIRST + 4 * np.maximum(self.low[row], 0)])


def _rank(values: Money, groups: Arms) -> Indices:
    """Return the rank of each value in its group, from 0."""
    order = np.lexsort([values, groups])
    ordered, rank = groups[order], np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return rank
