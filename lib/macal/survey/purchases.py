"""Selection under constraints: which units may still be selected so that all constraints can be met in the end.

Three steps, each only if the one before does not decide: upper bounds; the *completion*, units that together with those
selected meet all constraints, kept and repaired by swaps; an integer program for a new completion. If it finds none,
multipliers y of the constraints (Geoffrion 1974) close further units. A completion costs at least

    y . (what is missing to the bounds) - sum over open units of max(0, y . a - price),

with a unit's column ``a``; a unit reduces that by at most min(price, y . a), and is closed if the rest of its price
exceeds the remaining money.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_array

from macal.shapes import Arms, Indices, Limits, Mask, Money, Rows
from macal.survey.conflicts import conflict_of
from macal.survey.constraints import Constraint
from macal.survey.feasible import Bounded

_SWAPS = 20  # units tried before an integer program
_NO_UNITS = np.empty(0, np.int64)


class Purchases:
    """Selections under constraints.

    Args:
        demands: constraints on known and selected units together, the budget first.
        cost: cost of each unit, (n,), above 0.
        known: units that are labelled already.
        clusters: cluster that each unit is selected with, (n,), -1 for none.
        most: largest cost of one selection.

    Attributes:
        open: units that may be selected, as far as is known, (n,).
        price: cost of each unit with its cluster, (n,).

    Raises:
        Conflict: no plan meets all constraints.
    """

    def __init__(
        self, demands: Sequence[Constraint], cost: Money, known: Indices, clusters: Arms, most: float = np.inf
    ) -> None:
        n = len(cost)
        self._system, self._cost, self._clusters, self._most = Bounded.of(demands, n), cost, clusters.copy(), most
        self._clusters[known] = -1
        self._inside = np.zeros(n, bool)
        self._inside[known] = True
        self.open = ~self._inside
        self._total = self._system.matrix @ self._inside.astype(float)
        rest = self._system.completion(self._inside, self.open, cost)
        if rest is None:
            raise conflict_of(demands, cost, known, not self._system.effort.is_spent)
        self._rest, self._refused = rest, {}
        self._y, self._is_priced = np.zeros(len(self._total)), False
        self._weigh()
        self._price_demands(self._y)
        self._close()

    def _weigh(self) -> None:
        """Keep the rows that are only upper bounds, for each unit with its cluster."""
        matrix = self._system.matrix.tocsr()
        caps = (matrix.min(axis=1).toarray().ravel() >= 0) & np.isfinite(self._system.high)
        every = np.arange(len(self._clusters))
        groups = np.unique(np.where(self._clusters < 0, -1 - every, self._clusters), return_inverse=True)[1]
        members = csc_array((np.ones(len(every)), (every, groups)))  # (n, groups)
        self._mates = mates = members @ members.T  # (n, n): members of the same cluster
        self._heads = mates.sum(axis=0)
        self.price = mates.T @ self._cost
        self._caps = np.flatnonzero(caps)
        self._weights = (matrix[self._caps] @ mates).tocsr()  # (caps, n)
        self._entry = self._weights.tocoo()

    def _slack(self) -> Limits:
        return (self._system.top - self._total)[self._caps]

    def _price_demands(self, y: Limits) -> None:
        """Set the multipliers of the constraints."""
        self._y = y
        value = self._mates.T @ (self._system.matrix.T @ y)  # y . a, (n,)
        self._beyond = np.maximum(self.price - value, 0)
        self._saved = np.maximum(value - self.price, 0) / self._heads

    def _spendable(self) -> float:
        """Return an upper bound on the money that a completion leaves."""
        bound = np.where(self._y > 0, self._system.low, self._system.high)
        missing = np.where(self._y == 0, 0.0, bound - self._total)  # (r,)
        least = float(self._y @ missing - self._saved[self.open].sum())
        return self.remaining_budget() - least + float(self._system.rounding(np.array([least]))[0])

    def _close(self) -> None:
        self.open[self._entry.coords[1][self._entry.data > self._slack()[self._entry.coords[0]]]] = False
        self.open &= self._beyond <= self._spendable()

    def remaining_budget(self) -> float:
        """Return the unspent money."""
        return float(self._system.top[0] - self._total[0])

    def price_of_pairs(self, units: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the cost of pairs with their clusters, broadcast over both."""
        shared = (self._clusters[others] == self._clusters[units]) & (self._clusters[others] >= 0)
        return self.price[units] + np.where(shared, 0.0, self.price[others])

    def compatible_with(self, unit: int) -> Mask:
        """Return units that may be paired with this one, as far as is known, (n,)."""
        may, slack = self.open & (self.price + self.price[unit] <= self._most), self._slack()
        may &= self._beyond + self._beyond[unit] <= self._spendable()
        mine = self._weights[:, [unit]].tocoo()
        for row, weight in zip(mine.coords[0], mine.data, strict=True):
            part = slice(self._weights.indptr[row], self._weights.indptr[row + 1])
            may[self._weights.indices[part][self._weights.data[part] > slack[row] - weight]] = False
        if (cluster := self._clusters[unit]) >= 0:  # members of the cluster are not paid twice
            may |= self.open & (self._clusters == cluster)
        for kind, cost in self._refused.get(self._kind(unit), []) if self._refused else []:
            may &= (self._system.kinds != kind) | (self._cost + self._cost[unit] < cost)
        return may

    def _kind(self, unit: int) -> int:
        return int(self._system.kinds[unit])

    def with_cluster(self, units: Indices) -> Rows:
        """Return these units, followed by the rest of their clusters."""
        clusters = self._clusters[units]
        mates = np.isin(self._clusters, clusters[clusters >= 0]) & ~self._inside
        mates[units] = False
        return np.concatenate([units, np.flatnonzero(mates)])

    def buy(self, units: Indices) -> Rows:
        """Select one unit or a pair with their clusters; return the units selected.

        If infeasible, return none, and close these units and equal ones that cost at least as much.
        """
        new = self.with_cluster(units)
        total = self._total + self._system.matrix[:, new].sum(axis=1)  # (r,)
        rest = self._complete(new, total) if (total <= self._system.top)[self._caps].all() else None
        if rest is None:
            self._refuse(units)
            return _NO_UNITS
        self._total, self._rest, self._is_priced = total, rest, False
        self._inside[new] = True
        self.open[new] = False
        self._close()
        return new

    def _complete(self, new: Indices, total: Limits) -> Rows | None:
        """Return a completion after this selection: the present one, one with a unit less, or a new one."""
        rest = self._rest[~np.isin(self._rest, new)]
        matrix = self._system.matrix
        planned = total + matrix[:, rest].sum(axis=1)
        if self._system.met(planned):
            return rest
        over = np.flatnonzero(planned > self._system.top)
        if over.size:
            helpful = rest[matrix[:, rest][[over[0]]].toarray()[0] > 0]
            for unit in helpful[self._cost[helpful].argsort(kind="stable")[::-1]][:_SWAPS]:
                if self._system.met(planned - matrix[:, [unit]].sum(axis=1)):
                    return rest[rest != unit]
        inside = self._inside.copy()
        inside[new] = True
        found = self._system.completion(inside, self.open, self._cost)
        if found is None and not self._is_priced:
            self._price_demands(self._system.multipliers(self._total, self.open, self._cost))
            self._is_priced = True
            self._close()
        return found

    def _refuse(self, units: Indices) -> None:
        kinds, cost = self._system.kinds, self._cost[units].sum()
        if len(units) == 1:
            self.open &= (kinds != kinds[units[0]]) | (self._cost < cost)
            return
        for one, other in (units.tolist(), units.tolist()[::-1]):
            self._refused.setdefault(self._kind(one), []).append((self._kind(other), cost))
