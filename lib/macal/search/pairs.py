"""MACAL's pairs, exactly and fast.

The next pair maximises s(i, j) = m1[i] + m0[j] - alpha d(i, j) over free treated i and free controls j, where m[i] is
the distance from i to the nearest label of its own arm, 0 until it has one; of equal scores, the lowest treated unit is
taken, then the lowest control. Why few scores suffice, and a proof: label ``thm-lazy`` of the book.

*An example.* Six units on a line; the first of either arm is labelled.

>>> x = np.array([[0.0], [1.0], [4.0], [0.0], [3.0], [5.0]])
>>> search = PairSearches(x, np.array([1, 1, 1, 0, 0, 0]), np.array([0, 3]), 2.5)
>>> search.batch(2)  # of 1 + 3 - 5, 1 + 5 - 10, 4 + 3 - 2.5 and 4 + 5 - 2.5
(array([2, 5]), array([6.5, 6.5]))
>>> search.batch(2)  # 1 + 2 - 5
(array([1, 4]), array([-2., -2.]))

References:
    H. Wen, T. Chen, G. Ye, L. K. Chai, S. Sadiq and H. Yin, "Progressive Generalization Risk Reduction for
    Data-Efficient Causal Effect Estimation", KDD, 2025 (the pairs, Eq. 7).
    M. Minoux, "Accelerated Greedy Algorithms for Maximizing Submodular Set Functions", Optimization Techniques, 1978.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from macal.compat import override
from macal.search.nearest import Arm, ShortList, beats_cut, split_arms, top_bounds
from macal.search.rows import power_of_two, product
from macal.search.scores import FarthestFirst, Nearest, Search, per_price
from macal.shapes import Arms, Covariates, Distances, Indices, Outcomes, Rows

_BLOCKS = 64  # of controls, at most
_BLOCK = 1024  # controls in a block, at least
_CLASS = 64  # controls of like price in a block, at least
_TILE = 2**20  # scores computed at a time
_ROWS = 512  # looked through at a time, at first; of few a quarter
_LIST = 128  # pairs on a good list: fewer, and lists must be made too often; many more, and each pick is slow
_PAIRS = 2**16  # pairs on a list of more than one row, at most
_SLACK = 1e-12  # of a score, a covariate: more than float64 rounding, where the largest covariate is about 1
_EPS = np.finfo(np.float32).eps
_MIN_SCORE = np.finfo(np.float32).min


@runtime_checkable
class Available(Protocol):
    """Who may still be bought, and at what price with all who must come with them, (n,) each."""

    open: np.ndarray
    price: np.ndarray

    def remaining_budget(self) -> float:
        """Money that is left."""

    def price_of_pairs(self, units: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Price of pairs with all who must come with either, of the shape to which the two broadcast."""

    def compatible_with(self, unit: int) -> np.ndarray:
        """Units that may be bought at once with this one, (n,)."""


@dataclass(frozen=True, eq=False)
class PairList:
    """Pairs of which the best is the best of all, as long as it comes before the cut.

    Attributes:
        treated: short list of the treated, from which ``i`` counts.
        control: short list of the controls, from which ``j`` counts.
        i: place of each pair's treated unit on ``one``, (k,).
        j: place of its control on ``zero``, (k,).
        d: distance within each pair times its weight, (k,); infinite once the pair cannot be had.
        price: by which each pair's score is divided, (k,); None where all cost the same.
        cost: of each pair with all who must come with it, (k,); 0 where money does not count.
        cut: the highest bound of the rows that were not looked through, and the lowest unit among these.
    """

    treated: ShortList
    control: ShortList
    i: Indices
    j: Indices
    d: Distances
    price: Distances | None
    cost: Distances | float
    cut: tuple[float, int]


class PairSearch:
    """A campaign of pairs under way.

    For a row i (a treated unit) and a block b of controls, ``upper[i, b]`` is at least the largest of m0[j] - alpha
    d(i, j) over j in b. All pairs that may score the cut or more are listed, and the best is picked as long as it does;
    then a new list is made. With prices, blocks hold controls of like price, whose lowest stands for all.

    Args:
        arms: control and treated, which may be shared with other searches.
        alpha: weight of the distance within a pair, at least 0.
        novelty: weight of the distances from the labels: 1 for MACAL, 0 for the closest pair.
        price: of each unit of the pool, (n,), where pairs are worth their score per price; every unit is a row then.
    """

    def __init__(self, arms: Sequence[Arm], alpha: float, novelty: float = 1.0, price: Outcomes | None = None) -> None:
        self.control, self.treated = self.arms = arms
        self.scale = power_of_two(np.array([alpha, novelty]))
        self.alpha, self.novelty = alpha * self.scale, novelty * self.scale
        n1, n0, d = len(self.treated.x), len(self.control.x), self.control.x.shape[1]
        self.slack = _SLACK * d
        self.price1, self.price0 = (None if price is None else price[arm.units] for arm in (self.treated, self.control))
        # controls in the order of the blocks
        self.order = np.arange(n0) if price is None else self.price0.argsort(kind="stable")
        self.right = self.control.right if price is None else self.control.right[self.order]
        step = max(_BLOCK if price is None else _CLASS, -(-n0 // _BLOCKS))
        self.blocks = [slice(k, min(k + step, n0)) for k in range(0, n0, step)]
        self.least = None if price is None else self.price0[self.order[::step]]  # price in each block
        self.upper, self.highest = np.empty((n1, len(self.blocks)), np.float32), np.empty(n1, np.float32)
        # reused: fresh memory is slow
        self.tile = np.empty(max(_TILE, step), np.float32)
        # exact best score of a row when last looked through
        self.settled = np.empty(n1)
        self.size, self.doubtful = min(_ROWS, -(-n1 // 4)), set[int]()
        self._available: Available | None = None
        self._forget()

    def _forget(self) -> None:
        """Let no bound hold: when an arm gets its first label, m rises."""
        self.upper.fill(np.inf)
        self.highest.fill(np.inf)  # of each row
        self.settled.fill(np.inf)
        self.pairs: PairList | None = None
        self._blank = [not arm.labelled for arm in self.arms]

    def pair(self) -> tuple[list[int], float]:
        """Pick the best pair, and say its score; both arms must have a free unit."""
        if self.alpha == 0:
            (one, i), (zero, j) = self.treated.farthest(), self.control.farthest()
            score = self.novelty * sum(m for m in (one, zero) if np.isfinite(m))
        else:
            i, j, score = self._best()
        return [self.treated.label_first(i), self.control.label_first(j)], score / self.scale / self.control.unit

    def best(self, available: Available) -> tuple[int, int, float] | None:
        """Find the pair that is worth most among those who may be bought, as units, and its score; None without any."""
        self._available = available
        for arm in self.arms:
            arm.free = available.open[arm.units]  # every unit is a row
        found = self._best() if all(arm.free.any() for arm in self.arms) else None
        if found is None:
            return None
        i, j, score = found
        return int(self.treated.units[i]), int(self.control.units[j]), score / self.scale

    def recheck_partners(self, unit: int) -> None:
        """Check a treated unit's partners from now on: one that seemed eligible may not be."""
        self.doubtful.add(self.treated.row_of(unit))

    def _best(self) -> tuple[int, int, float] | None:
        """The best free pair, as places on the short lists of either arm, and its score; None without any."""
        if self._blank != [not arm.labelled for arm in self.arms]:
            self._forget()
        while True:
            pairs = self.pairs
            if pairs and pairs.treated is self.treated.short and pairs.control is self.control.short:
                if (found := self._best_listed(pairs)) or pairs.cut[0] == -np.inf:
                    return found
            self._make_list()

    def _best_listed(self, pairs: PairList) -> tuple[int, int, float] | None:
        """The best pair of a list, if it comes before the cut."""
        self._drop_taken(pairs)
        score = self._scores(pairs)
        value = score if pairs.price is None else per_price(score, pairs.price)
        top = value.max(initial=-np.inf)
        if top == -np.inf:
            return None
        ties = np.flatnonzero(value == top)
        one = self.treated.first[pairs.treated.rows[pairs.i[ties]]]
        zero = self.control.first[pairs.control.rows[pairs.j[ties]]]
        k = ties[np.lexsort([zero, one])[0]]
        if not beats_cut(float(top), int(one.min()), pairs.cut):
            return None
        return int(pairs.i[k]), int(pairs.j[k]), float(score[k])

    def _drop_taken(self, pairs: PairList) -> None:
        """Let pairs that cannot be had any more never be picked."""
        rows, columns = pairs.treated.rows[pairs.i], pairs.control.rows[pairs.j]
        gone = ~(self.treated.free[rows] & self.control.free[columns])
        if self._available:
            gone |= pairs.cost > self._available.remaining_budget()
            for row in self.doubtful.intersection(rows.tolist()):
                mine = np.flatnonzero(rows == row)
                gone[mine] |= ~self._together(row, columns[mine])
        pairs.d[gone] = np.inf

    def _together(self, row: int, columns: Rows) -> np.ndarray:
        return self._available.compatible_with(int(self.treated.units[row]))[self.control.units[columns]]

    def _close(self, v: np.ndarray, rows: Indices, columns: Rows) -> None:
        """Set pairs that may not be bought, as far as is known, to minus infinity; ``v`` is of rows and columns."""
        units, others, left = self.treated.units[rows], self.control.units[columns], self._available.remaining_budget()
        if self._available.price[units].max() + self._available.price[others].max() > left:
            v[self._available.price_of_pairs(units[:, None], others) > left] = -np.inf
        for k in np.flatnonzero(np.isin(rows, list(self.doubtful))) if self.doubtful else ():
            v[k, ~self._together(int(rows[k]), columns)] = -np.inf

    def _scores(self, pairs: PairList) -> Distances:
        """Float64 scores of listed pairs, m1 + m0 - alpha d, (k,); minus infinity where a pair cannot be had."""
        if not self.novelty:
            return -pairs.d
        sides = ((self.treated, pairs.treated), (self.control, pairs.control))
        m1, m0 = (side.m if arm.labelled else np.zeros(len(side.m)) for arm, side in sides)
        return self.novelty * (m1[pairs.i] + m0[pairs.j]) - pairs.d

    def _make_list(self) -> None:
        """Look through the most promising rows and list their best pairs."""
        bound = self._novelty_bound(self.treated)
        if self.least is None:
            bound = bound + self.highest
        else:  # (n1, 1) + (n1, blocks)
            price = self.price1[:, None] + self.least
            bound = per_price(bound[:, None] + self.upper, price).max(axis=1)
        bound = np.where(self.treated.free, np.minimum(self.settled, bound), -np.inf)
        rows, cut = top_bounds(bound, min(self.size, int(self.treated.free.sum())), self.treated.first)
        limit, i, j = np.full(len(rows), cut[0]), rows[:0], rows[:0]
        # the second time for rows that promised the cut in float32 and do not hold it
        for _ in range(2):
            found = self._look_through(rows, limit)
            self.highest[rows] = self.upper[rows].max(axis=1)
            if found is None:
                self.size, self.pairs = self.size // 2, None
                return
            keep = ~np.isin(i, rows)
            i, j = np.concatenate([i[keep], found[0]]), np.concatenate([j[keep], found[1]])
            listed, best = self._list(i, j, cut)
            rows, limit = listed[best < cut[0]], best[best < cut[0]]
            if not len(rows):
                break
        self.settled[listed] = best
        if cut[0] < np.inf and not _LIST <= len(i) < 4 * _LIST:
            self.size = self.size * 2 if len(i) < _LIST else max(1, self.size // 2)

    def _list(self, i: Indices, j: Indices, cut: tuple[float, int]) -> tuple[Rows, Distances]:
        """List pairs of rows i (k,) and j (k,); return the rows that have some and the exact best score of each."""
        treated, control = self.treated, self.control
        price = None if self.least is None else self.price1[i] + self.price0[j]
        cost = self._available.price_of_pairs(treated.units[i], control.units[j]) if self._available else 0.0
        rows, row = np.unique(i, return_inverse=True)
        columns, column = np.unique(j, return_inverse=True)
        one, zero = treated.set_short_list(rows), control.set_short_list(columns)
        # short lists are of the listed rows and columns, or of every unit
        i_listed, j_listed = (i, j) if treated.every else (row, column)
        self.pairs = PairList(one, zero, i_listed, j_listed, self.alpha * self._distances(i, j), price, cost, cut)
        score = self._scores(self.pairs)
        best = np.full(len(rows), -np.inf)
        np.maximum.at(best, row, score if price is None else per_price(score, price))
        return rows, best

    def _distances(self, i: Indices, j: Indices) -> Distances:
        """Exact distance within each pair of rows i (k,) and j (k,)."""
        treated, control = self.treated, self.control
        step = max(1, _TILE // treated.x.shape[1])
        parts = (slice(k, k + step) for k in range(0, max(len(i), 1), step))
        return np.concatenate([treated.distance(treated.x[i[part]], control.x[j[part]]) for part in parts])

    def _novelty_bound(self, arm: Arm) -> Distances:
        return self.novelty * arm.distance_bounds() if arm.labelled else np.zeros(len(arm.x))

    def _look_through(self, rows: Rows, limit: Distances) -> tuple[Indices, Indices] | None:
        """Lower the bounds of some rows (k,) and return all their pairs that may score ``limit``, (k,); None if many.

        v[i, j] = high[j] - alpha d(i, j) is at least m0[j] - alpha d(i, j), ``high`` being m0 and d its bound from
        below, both in float32; a pair may score the limit where v[i, j] >= floor[i] = limit[i] - m1[i].
        """
        high, floor = self._high(), self._floor(rows, limit)
        # (k, d + 2)
        left, i, j, listed = self.treated.left(rows), [rows[:0]], [rows[:0]], 0
        for b, columns in enumerate(self.blocks):
            some = np.flatnonzero(self.upper[rows, b] >= floor[:, b])
            step = max(1, _TILE // (columns.stop - columns.start))
            for k in (some[start : start + step] for start in range(0, len(some), step)):
                v = self._tile_of(left[k], columns, high[columns])
                if self._available:
                    self._close(v, rows[k], self.order[columns])
                top = v.max(axis=1)
                self.upper[rows[k], b] = np.minimum(self.upper[rows[k], b], top)
                promising = np.flatnonzero(top >= floor[k, b])
                row, column = np.nonzero(v[promising] >= floor[k[promising], b][:, None])
                i.append(rows[k[promising[row]]])
                j.append(self.order[column + columns.start])
                listed += len(row)
                if len(rows) > 1 and listed > _PAIRS:
                    return None
        return np.concatenate(i), np.concatenate(j)

    def _high(self) -> np.ndarray:
        """Bound from above of m0 in the order of the blocks, (n0,), rounded up by more than v; -inf where taken."""
        high = (self._novelty_bound(self.control) * (1 + 4 * _EPS) + self.slack).astype(np.float32)
        return np.where(self.control.free, high, np.float32(-np.inf))[self.order]

    def _floor(self, rows: Rows, limit: Distances) -> np.ndarray:
        """Least v with which a pair scores its row's limit, (k, blocks), rounded down; taken units are below."""
        least = limit[:, None]
        if self.least is not None:  # the score that makes the limit, at the lowest price of a block
            price = self.price1[rows][:, None] + self.least
            least = np.where(least > 0, least * price, least / price)
        floor = (least - self._novelty_bound(self.treated)[rows][:, None] - self.slack).astype(np.float32)
        floor = np.nextafter(floor, np.float32(-np.inf)).clip(min=_MIN_SCORE)
        return np.broadcast_to(floor, (len(rows), len(self.blocks)))

    def _tile_of(self, left: np.ndarray, columns: slice, high: np.ndarray) -> np.ndarray:
        """Values v of some rows and the controls of a block: first d squared, then d, then v, in reused memory."""
        v = self.tile[: len(left) * len(high)].reshape(len(left), len(high))
        product(left, self.right[columns].T, out=v)
        np.maximum(v, 0, out=v)
        if not self.treated.squared:
            np.sqrt(v, out=v)
        v *= np.float32(-self.alpha * (1 - 4 * _EPS))
        v += high
        return v


class PairSearches(Search):
    """Pairs of the reference arm, which all searches share, with the arm with the fewest labels, by turns.

    Args:
        x: covariates of the pool, (n, d).
        t: arm of each unit, (n,), 0 the reference; all arms present.
        labelled: indices that have been labelled.
        alpha: see :class:`PairSearch`.
        novelty: likewise.
        metric: "euclidean" or "sqeuclidean".
        price: of each unit, (n,), where the caller says which may be bought, by :meth:`turns` and :meth:`add`.

    Attributes:
        nearest: distances of all units to their arm's labels, where there are prices.
    """

    def __init__(
        self,
        x: Covariates,
        t: Arms,
        labelled: Indices,
        alpha: float,
        novelty: float = 1.0,
        metric: str = "euclidean",
        price: Outcomes | None = None,
    ) -> None:
        self._weights = alpha, novelty
        self.arms, self._t = split_arms(x, t, labelled, metric, price is not None), t
        self._labels = np.bincount(t[labelled], minlength=int(t.max()) + 1)
        self.nearest = None if price is None else Nearest(self.arms, ~np.isin(np.arange(len(t)), labelled))
        self.searches = [PairSearch((self.arms[0], arm), alpha, novelty, price) for arm in self.arms[1:]]

    def under(self, alpha: float) -> "PairSearches":
        """Return another search from the same labels under another weight, without prices."""
        other = copy.copy(self)
        other._weights, other._labels = (alpha, self._weights[1]), self._labels.copy()
        other.arms = [arm.copy() for arm in self.arms]
        other.searches = [PairSearch((other.arms[0], arm), *other._weights) for arm in other.arms[1:]]
        return other

    @override
    def take(self, room: int) -> tuple[list[int], float]:
        """Take a pair (treated, control), or the unit farthest from labels where there is room for one, or no pair."""
        both = (search for search in self.turns() if search.control.n_free and search.treated.n_free)
        search = next(both, None) if room > 1 else None
        units, score = search.pair() if search else FarthestFirst(self.arms).take(1)
        self._count(np.array(units, np.int64))
        return units, score

    def _count(self, units: Indices) -> None:
        self._labels += np.bincount(self._t[units], minlength=len(self._labels))

    def add(self, units: Indices) -> None:
        """Count units as labelled that the caller has chosen."""
        self._count(units)
        self.nearest.add(units)

    def novelty(self) -> Outcomes:
        """Share of each unit in a pair's score, its distance from the labels times its weight, (n,)."""
        m = self.nearest.now()
        return self._weights[1] * np.where(np.isinf(m), 0.0, m)

    def scores_with(self, partner: int, units: Rows) -> Outcomes:
        """Score of a unit with each of some units of another arm, (p,)."""
        mine, other = self.arms[self._t[partner]], self.arms[self._t[units[0]]]
        d = mine.distance(mine.x[mine.row_of(partner)], other.x[other.units.searchsorted(units)])
        m = self.novelty()
        return m[units] + m[partner] - self._weights[0] * d

    def turns(self) -> list[PairSearch]:
        """The searches, that of the arm with the fewest labels first."""
        return [self.searches[k] for k in self._labels[1:].argsort(kind="stable")]
