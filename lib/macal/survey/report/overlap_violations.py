"""Overlap violations: ranges of one column, and cells of two, in which an arm is nearly empty.

A cell is a violation if at most :data:`MAX_MINORITY_SHARE` of it is in an arm of which many more were expected: half of
the arm's share around it, at least :data:`EXTREME`, but at most its share in the table. Around a range are as many
people on either side, around a category all others, around a cell of two columns the others in either column's range
(the smaller share counts). By Chernoff's bound (1952), so few have a probability that, times the number of cells,
is below :data:`FALSE_ALARM_RATE`, for ranges from an end of a column, other cells of one column, and cells of two.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import rel_entr

from macal.shapes import Arms, Mask, Outcomes
from macal.threads import one_thread

EXTREME = 0.05  # propensity that is near 0
MAX_MINORITY_SHARE = 0.01  # largest share of a nearly empty arm; also at most a tenth of its share in the table
SMALL = 0.01 * (1 + 1e-9)  # share of people up to which a violation is harmless; sums are rounded
FALSE_ALARM_RATE = 0.03  # largest false-alarm probability of each of three kinds
CUTS = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8)  # quantiles that bin numbers in cells of two columns
BINS = 300  # largest number of bins that are paired, by difference of arms
_LOOKED, _TRIED = 2000, 50  # most surprising cells of two columns per arm; disjoint ones among them
_PART = 10_000  # people counted together

Cells = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Some = np.ndarray | np.generic | float  # a number per cell, cells in any shape


@dataclass(frozen=True)
class OverlapViolation:
    """A region, by bounds of one or two columns, in which an arm is nearly empty.

    Attributes:
        bounds: column -> its smallest and largest value.
        missing_arm: the arm, 0 or 1.
        expected_share: expected share of that arm.
        threshold: log of the number of cells tested over :data:`FALSE_ALARM_RATE`.
    """

    bounds: Mapping[str, tuple[float, float]]
    missing_arm: int
    expected_share: float
    threshold: float


@dataclass(frozen=True, eq=False)
class Binned:
    """A column in bins: the bin of each person, -1 for none, and its smallest and largest value.

    Its cells, (from, to), are bins, or all ranges of bins of a number.
    """

    column: str
    codes: Arms
    low: Float[np.ndarray, " b"]
    high: Float[np.ndarray, " b"]
    cells: list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class ViolationSearch:
    """A search for overlap violations.

    Attributes:
        values: column -> its numbers, or numbers of its categories, (n,).
        grouped: columns of categories.
        t: arm, 0 or 1, (n,).
        weights: people that each unit represents, (n,).
        drawn: independent assignments per person; below 1 if clusters share an arm.
        looks: number of tables tested.
    """

    values: Mapping[str, Outcomes]
    grouped: frozenset[str]
    t: Arms
    weights: Outcomes
    drawn: float = 1.0
    looks: int = 1

    def found(self) -> list[OverlapViolation]:
        """Return violations, the largest first, without those inside others."""
        if len(np.unique(self.t)) < 2:
            return []
        named, kept = np.zeros((2, len(self.t)), bool), []
        alone = sorted((hole for c in self.values for hole in self._one_column(c)), key=self.size, reverse=True)
        for hole in (*alone, *(self._refined(pair) for pair in self._two_columns())):
            inside, lacks = self.inside(hole), self.t == hole.missing_arm
            new = inside & ~named[hole.missing_arm]
            is_new = self._surprise(hole.expected_share, (lacks & new).sum(), new.sum()) >= hole.threshold
            if is_new and self._few((lacks & inside).sum(), inside.sum(), hole.missing_arm):
                named[hole.missing_arm] |= inside
                kept.append(hole)
        return sorted(kept, key=self.size, reverse=True)

    def _refined(self, hole: OverlapViolation) -> OverlapViolation:
        """Return a violation of two columns with bounds refined within the other column's."""
        for column, (low, high) in hole.bounds.items():
            others = replace(hole, bounds={c: ends for c, ends in hole.bounds.items() if c != column})
            rows = np.flatnonzero(self.inside(others))
            values, t, weights = self.values[column][rows], self.t[rows], self.weights[rows]
            for one in replace(self, values={column: values}, t=t, weights=weights)._one_column(column):
                first, last = one.bounds[column]
                if one.missing_arm == hole.missing_arm and first <= high and low <= last:
                    bounds, chance = (
                        {**hole.bounds, column: (first, last)},
                        min(hole.expected_share, one.expected_share),
                    )
                    hole = replace(hole, bounds=bounds, expected_share=chance)
                    break
        return hole

    def inside(self, hole: OverlapViolation) -> Mask:
        """Return the mask of units in a violation, (n,)."""
        parts = [(self.values[c] >= low) & (self.values[c] <= high) for c, (low, high) in hole.bounds.items()]
        return np.all(parts, axis=0)

    def size(self, hole: OverlapViolation) -> float:
        """Return the number of people in a violation."""
        return float(self.weights[self.inside(hole)].sum())

    def _surprise(self, chance: Some, found: Some, size: Some) -> Some:
        """Return minus the log of Chernoff's bound on the probability of at most so many of an arm, by cell."""
        share = np.minimum(found / np.maximum(size, 1), chance)
        return self.drawn * size * (rel_entr(share, chance) + rel_entr(1 - share, 1 - chance))

    def _bar(self, cells: int) -> float:
        return float(np.log(2 * self.looks * max(cells, 1) / FALSE_ALARM_RATE))  # either arm may be missing

    def _few(self, found: Some, size: Some, arm: int) -> Some:
        return found <= size * min(MAX_MINORITY_SHARE, np.mean(self.t == arm) / 10)

    def _chance(self, around: Some, arm: int) -> Some:
        return np.minimum(np.mean(self.t == arm), np.fmax(EXTREME, around / 2))

    def _one_column(self, column: str) -> Iterator[OverlapViolation]:
        """Yield violations of one column, disjoint for each arm."""
        values, look = self.values[column], self._categories if column in self.grouped else self._stretches
        order = np.argsort(values, kind="stable")
        ordered, mass = values[order], np.append(0, np.cumsum(self.weights[order])) / self.weights.sum()
        edges = np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1, [len(order)]])
        for arm in (0, 1):
            before = np.append(0, np.cumsum(self.t[order] == arm))
            low, high, bars, around = look(edges, before, arm)
            size, found, chances = high - low, before[high] - before[low], self._chance(around, arm)
            over = self._surprise(chances, found, size) - bars
            over[(mass[high] - mass[low] <= SMALL) | ~self._few(found, size, arm)] = -np.inf
            while len(over) and over[best := int(over.argmax())] >= 0:
                bounds = float(ordered[low[best]]), float(ordered[high[best] - 1])
                yield OverlapViolation({column: bounds}, arm, float(chances[best]), float(bars[best]))
                over[(low < high[best]) & (high > low[best])] = -np.inf

    def _categories(self, edges: np.ndarray, before: np.ndarray, arm: int) -> Cells:
        """Return for each category its first row, the one after its last, threshold, and the arm's share elsewhere."""
        low, high = edges[:-1], edges[1:]
        bars = np.full(len(low), self._bar(len(self.values) * len(low)))
        lacks, others = before[-1] - before[high] + before[low], len(self.t) - high + low
        return low, high, bars, lacks / np.maximum(others, 1)

    def _stretches(self, edges: np.ndarray, before: np.ndarray, arm: int) -> Cells:
        """Return the same for ranges of a number between people of the arm, with the smaller share on either side.

        Inner ranges end at the next such person, or 1, 2, 4, ... later.
        """
        n, breaks = len(self.t), np.flatnonzero(np.diff(before[edges]))
        begin, end = np.append(0, edges[breaks + 1]), np.append(edges[breaks], n)
        steps = [0, *(2**k for k in range(int(MAX_MINORITY_SHARE * n).bit_length()))]
        inner = [(begin[1 : len(begin) - 1 - step], end[1 + step : -1]) for step in steps if step + 2 < len(begin)]
        ends = [(np.zeros_like(end), end), (begin, np.full_like(begin, n))]
        low, high = (np.concatenate(side) for side in zip(*ends, *inner, strict=True))
        bars = np.full(len(low), self._bar(len(self.values) * (len(low) - 2 * len(begin))))
        bars[: 2 * len(begin)] = self._bar(2 * (len(self.values) - len(self.grouped)))
        size = high - low
        fit = self._few(before[high] - before[low], size, arm) & (size * np.mean(self.t == arm) >= bars)
        low, high, bars, size = low[fit], high[fit], bars[fit], size[fit]
        far = edges[np.searchsorted(edges, np.maximum(low - size, 0), "right") - 1]
        near = edges[np.searchsorted(edges, np.minimum(high + size, n))]
        with np.errstate(invalid="ignore"):  # no one is beyond an end
            below, above = (before[low] - before[far]) / (low - far), (before[near] - before[high]) / (near - high)
        return low, high, bars, np.fmin(below, above)

    def _two_columns(self) -> list[OverlapViolation]:
        """Return disjoint cells of two columns with surprisingly few people of an arm, at most :data:`_TRIED`."""
        columns = self._binned()
        cells = [(column, cell) for column in columns for cell in column.cells]
        which = np.repeat(np.arange(len(columns)), [len(column.cells) for column in columns])
        arms, mass = self._sums(columns)
        size = arms.sum(axis=0)
        looked = (which[:, None] < which) & (mass > SMALL * self.weights.sum())
        bar, strange = self._bar(int(looked.sum())), []
        rest = np.diag(size)[:, None] - size  # in the cell's first column but outside; transposed, in its second
        for arm, of in enumerate(arms):
            with np.errstate(invalid="ignore"):  # no one is beside it
                beside = (np.diag(of)[:, None] - of) / rest
            chance = self._chance(np.fmin(beside, beside.T), arm)
            over = np.where(looked, self._surprise(chance, of, size), 0)
            most = np.argsort(-over, axis=None, kind="stable")[: min(_LOOKED, int((over >= bar).sum()))]
            at = zip(*(side.tolist() for side in np.unravel_index(most, over.shape)), strict=True)
            strange += [(over[a, b], a, b, arm, chance[a, b]) for a, b in at]
        kept: list[tuple[int, int, int, float]] = []
        for _, a, b, arm, chance in sorted(strange, reverse=True):
            if not any(arm == k and _meet(cells[a], cells[c]) and _meet(cells[b], cells[d]) for c, d, k, _ in kept):
                kept.append((a, b, arm, float(chance)))
        return [
            OverlapViolation(dict(_bounds(*cells[k]) for k in (a, b)), arm, chance, bar)
            for a, b, arm, chance in kept[:_TRIED]
        ]

    @one_thread()
    def _sums(self, columns: list[Binned]) -> tuple[np.ndarray, np.ndarray]:
        """Return for each two cells the units in both by arm, and the people that they represent."""
        first = np.cumsum([0, *(len(column.low) for column in columns)])
        spans = [(k + a, k + b) for k, column in zip(first, columns, strict=False) for a, b in column.cells]
        joined = np.zeros((len(spans), first[-1]))
        for row, (a, b) in zip(joined, spans, strict=True):
            row[a:b] = 1
        arms, mass = np.zeros((2, first[-1], first[-1])), np.zeros((first[-1], first[-1]))
        is_even = not np.ptp(self.weights)
        for arm, k in ((arm, k) for arm in (0, 1) for k in range(0, len(self.t), _PART)):
            rows = np.flatnonzero(self.t[k : k + _PART] == arm) + k
            each = np.zeros((len(rows), first[-1]), np.float32)
            for at, column in zip(first, columns, strict=False):
                own = np.flatnonzero(column.codes[rows] >= 0)
                each[own, at + column.codes[rows[own]]] = 1
            arms[arm] += each.T @ each
            mass += 0 if is_even else each.T @ (each * self.weights[rows, None].astype(np.float32))
        mass = arms.sum(axis=0) * self.weights[0] if is_even else mass
        return joined @ arms @ joined.T, joined @ mass @ joined.T

    def _binned(self) -> list[Binned]:
        """Return binned columns, at most :data:`BINS` bins, dropping those in which the arms differ least."""
        columns, gaps = [self._in_bins(column, values) for column, values in self.values.items()], []
        for one in columns:
            is_in = one.codes >= 0
            size = np.bincount(one.codes[is_in], minlength=len(one.low))
            gap = np.bincount(one.codes[is_in], self.t[is_in], len(one.low)) - size * self.t.mean()
            gaps.append(np.sum(gap**2 / np.maximum(size, 1)))
        order = np.argsort(gaps, kind="stable")[::-1]
        fit = order[np.cumsum([len(columns[k].low) for k in order]) <= BINS]
        return [columns[k] for k in np.sort(fit)]

    def _in_bins(self, column: str, values: Outcomes) -> Binned:
        if column in self.grouped:
            which = values.astype(np.int64)
            large = np.flatnonzero(np.bincount(which, self.weights) > SMALL * self.weights.sum())
            place = np.full(which.max() + 1, -1)
            place[large] = np.arange(len(large))
            cells = [(k, k + 1) for k in range(len(large))]
            return Binned(column, place[which], large.astype(float), large.astype(float), cells)
        cuts = np.unique(np.quantile(values, CUTS, method="lower"))
        bins, codes = np.unique(np.searchsorted(cuts, values), return_inverse=True)
        low, high = (np.array([end(values[codes == k]) for k in range(len(bins))]) for end in (np.min, np.max))
        cells = [(a, b) for a in range(len(bins)) for b in range(a + 1, len(bins) + 1) if b - a < len(bins)]
        return Binned(column, codes, low, high, cells)


def _bounds(column: Binned, cell: tuple[int, int]) -> tuple[str, tuple[float, float]]:
    return column.column, (float(column.low[cell[0]]), float(column.high[cell[1] - 1]))


def _meet(one: tuple[Binned, tuple[int, int]], other: tuple[Binned, tuple[int, int]]) -> bool:
    """Return whether two cells share a bin."""
    (column, (a, b)), (beside, (c, d)) = one, other
    return column is beside and a < d and c < b
