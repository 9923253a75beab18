"""Whether demands can be met together, and which of them conflict: two small integer programs.

References:
    Q. Huangfu and J. A. J. Hall, "Parallelizing the Dual Revised Simplex Method", Mathematical Programming Computation
    10, 2018 (HiGHS, which solves the programs).
    A. Ignatiev, A. Previti, M. Liffiton and J. Marques-Silva, "Smallest MUS Extraction with Minimal Hitting Set
    Dualization", Principles and Practice of Constraint Programming, 2015 (the smallest conflict).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csc_array, vstack

from macal.planner.demands import Demand, Limits, Money
from macal.shapes import Arms, Indices, Rows

Members = Bool[np.ndarray, "n"]
_EXACT = 1e-9  # of a bound: rounding of a sum of costs
_GAP = 0.05  # a completion may cost so much more than the cheapest


class Conflict(ValueError):
    """Demands that no plan can meet together.

    Attributes:
        names: the smallest set of demands that conflict.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Name the demands."""
        self.names = list(names)
        what = "this demand" if len(self.names) == 1 else f"these {len(self.names)} demands together"
        super().__init__(f"no plan can meet {what}: {'; '.join(self.names)}; loosen or leave out one of them")


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
        rows = self.matrix[1:]
        # columns are equal where their products with random numbers are
        return np.unique(rows.T @ np.random.default_rng(0).random(rows.shape[0]), return_inverse=True)[1]

    def completion(self, inside: Members, free: Members, cost: Money) -> Indices | None:
        """Find free units that, together with those inside, meet all demands at a low cost; None if there are none."""
        total = self.matrix @ inside.astype(float)
        if self.met(total):
            return np.empty(0, np.int64)
        units = self._useful(total, np.flatnonzero(free & ~inside), cost)
        limits = LinearConstraint(self.matrix[:, units], self.low - total, self.high - total)
        if not units.size:
            return None
        found = milp(cost[units], integrality=1, bounds=(0, 1), constraints=limits, options={"mip_rel_gap": _GAP})
        if found.x is None:
            return None
        chosen = units[found.x > 0.5]
        return chosen if self.met(total + self.matrix[:, chosen].sum(axis=1)) else None

    def _useful(self, total: Limits, units: Indices, cost: Money) -> Rows:
        """Without negative weights nobody is needed but the cheapest of each kind, as many as could all be missing."""
        if self.matrix.data.size and self.matrix.data.min() < 0:
            return units
        missing = np.flatnonzero(self.low > total)
        rows = self.matrix[missing].tocsr()
        least = [row.data.min(initial=1.0, where=row.data > 0) for row in (rows[[k]] for k in range(len(missing)))]
        most = int(np.ceil((self.low - total)[missing] / np.array(least)).sum())
        kinds = self.kinds[units]
        order = np.lexsort([cost[units], kinds])
        kinds = kinds[order]
        rank = np.arange(len(order)) - np.searchsorted(kinds, kinds)
        return np.sort(units[order[rank < most]])


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

    def conflict(chosen: Sequence[int]) -> bool:
        empty = Demand("", csc_array((1, len(cost))).tocsr(), np.zeros(1), np.zeros(1))
        budget = [] if 0 in chosen else [empty]
        system = Bounded.of([*budget, *(demands[k] for k in sorted(chosen))], len(cost))
        return system.completion(inside, ~inside, cost) is None

    corrections: list[set[int]] = []
    while not conflict(core := _hitting(corrections, len(demands))):
        kept = set(core)
        for k in range(len(demands)):
            kept |= set() if conflict([*kept, k]) else {k}
        corrections.append(set(range(len(demands))) - kept)
    return [demands[k].name for k in sorted(core)]


def _hitting(sets: Sequence[set[int]], n: int) -> list[int]:
    """The fewest of n things of which each set holds one."""
    if not sets:
        return []
    rows = np.array([[k in one for k in range(n)] for one in sets], float)
    found = milp(np.ones(n), integrality=1, bounds=(0, 1), constraints=LinearConstraint(rows, 1, np.inf))
    return np.flatnonzero(found.x > 0.5).tolist()
