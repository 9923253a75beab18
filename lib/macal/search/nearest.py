"""How far the units of one arm are from its labels: upper bounds for all of them, exact values for a short list.

*Profiles.* Units of an arm with the same covariates are one *profile*: the search is over profiles ("rows"), and a pick
takes the lowest free unit of its profile. A profile with a label is at distance 0 from the labels until its last unit
is taken. Where the caller says which units may be picked, every unit is a row of its own.

*Bounds.* Distances between many rows come from float32 matrix products, d2(a, b) = |a|^2 + |b|^2 - 2 a.b. With unit
roundoff u, a product of d + 2 terms errs by at most (d + 3) u times the sum of their magnitudes, and rounding the
(centred) covariates to float32 adds less than 5 u: together less than eta (|a|^2 + |b|^2), eta = 2 u (d + 8). Shrinking
the two squared norms by eta yields lower bounds, stretching them upper bounds.

*Exact values.* What decides a pick is computed from float64 covariates, scaled by a power of two, by direct
differences, added in an order that depends on their number alone (``folded``), so that equal scores are equal to the
last bit. They follow every label for one list of rows of an arm at a time.

Reference: T. F. Gonzalez, "Clustering to Minimize the Maximum Intercluster Distance", TCS 38, 1985.
"""

import copy

import numpy as np

from macal.search.rows import folded, power_of_two, product, profiles
from macal.shapes import Arms, Covariates, Distances, Indices, Rows

SHORT = 256  # rows on a short list
TINY = 1e-30  # of a squared distance, where the largest covariate is about 1: more than float32 underflow can hide
_ELEMENTS = 2**22  # of the largest intermediate array
_NONE = np.iinfo(np.int64).max  # in the place of a unit where there is none
UNKNOWN = np.inf, _NONE  # cut of a short list where nothing is known of the other rows


class ShortList:
    """Rows of an arm with their exact distances to the nearest label, which follow every label of a row on the list.

    Attributes:
        rows: of the arm, (k,) ascending.
        m: distance of each, (k,); minus infinity once no unit of a row is free.
        cut: bound and first unit of the best row that is not on the list.
    """

    def __init__(self, arm: "Arm", rows: Indices, cut: tuple[float, int] = UNKNOWN) -> None:
        self._d2, self._metric, self.cut, self.rows = arm.nearest(rows), arm.metric, cut, rows
        self.m = arm.metric(self._d2)
        self._x = arm.x[rows]
        # (k, d + 2) each
        self._left, self._right = arm.left(rows), arm.right[rows]

    def label(self, k: int) -> None:
        """Lower the distances by those to the k-th row, which has got a label."""
        # float32 tells which distances may fall; to the others nothing happens
        near = np.flatnonzero(product(self._right, self._left[k]) <= self._d2)
        self._d2[near] = np.minimum(self._d2[near], folded(np.square(self._x[near] - self._x[k])))
        self.m[near] = self._metric(self._d2[near])

    def drop(self, k: int) -> None:
        """Let the k-th row, no unit of which is free, never be picked again."""
        self.m[k] = self._d2[k] = -np.inf


class Arm:
    """One arm of a campaign under way, p profiles of n units.

    Attributes:
        x: scaled covariates of the profiles, (p, d) float64.
        units: of the arm, (n,) ascending.
        first: lowest free unit of each profile, (p,), as the units are called outside.
        free: which profiles have a free unit, (p,) bool.
        n_free: free units.
        bound: upper bound of the distance to the nearest label, (p,); infinite without labels.
        labelled: rows that carry a label, in the order in which they came.
        short: the short list, the only one that is up to date.
        squared: whether distances are squared.
        unit: of the distances, as the covariates are scaled.
        every: whether every unit is a row of its own, and all are on the short list.
    """

    def __init__(
        self,
        x: Covariates,
        members: np.ndarray,
        labelled: Indices,
        scale: float,
        centre: np.ndarray,
        squared: bool,
        every: bool = False,
    ) -> None:
        self.units, self.squared, self.every = np.flatnonzero(members), squared, every
        self.unit = scale**2 if squared else scale
        rows, which = (np.arange(len(self.units)),) * 2 if every else profiles(x[self.units])
        # (p, d), and (p,) for what is of a row
        self.x = x[self.units[rows]] * scale
        z = (self.x - centre).astype(np.float32)
        self.eta = np.finfo(np.float32).eps * (z.shape[1] + 8)
        self.norm = np.square(z, dtype=np.float64).sum(axis=1)
        low = (self.norm * (1 - self.eta) - TINY).astype(np.float32)[:, None]
        # (p, d + 2)
        self.right = np.concatenate([z, np.ones_like(low), low], 1)
        self.bound = np.full(len(rows), np.inf)
        done = np.isin(self.units, labelled)
        self.labelled = np.unique(which[done]).tolist()
        self._carries = np.isin(np.arange(len(rows)), self.labelled)
        self._queue(self.units[~done], which[~done], len(rows))
        none = np.empty(0, np.int64)
        self._absorbed, self._labels = 0, self.left(none)
        self.short = ShortList(self, np.arange(len(rows)) if every else none)

    def _queue(self, units: Indices, which: Indices, p: int) -> None:
        """Line up the free units of each profile, ascending."""
        self._units = np.append(units[which.argsort(kind="stable")], _NONE)
        count = np.bincount(which, minlength=p)
        self._end = count.cumsum()
        self._next = self._end - count
        self.first = np.where(count > 0, self._units[self._next], _NONE)
        self.free = count > 0
        self.n_free = len(units)

    def copy(self) -> "Arm":
        """Return the arm of another campaign that goes on from the same labels."""
        self.update_bounds()
        other = copy.copy(self)
        for name in ("bound", "first", "free", "labelled", "_next", "_carries"):
            setattr(other, name, getattr(self, name).copy())
        other.short = ShortList(other, self.short.rows)
        return other

    def left(self, rows: Rows) -> np.ndarray:
        """Factor (k, d + 2) such that ``left(rows) @ other.right.T`` bounds squared distances from below, (k, p).

        (-2 a, low_a, 1) . (b, 1, low_b) = low_a + low_b - 2 a.b, with low_a = |a|^2 (1 - eta) - TINY.
        """
        right = self.right[rows]
        return np.concatenate([-2 * right[:, :-2], right[:, -1:], right[:, -2:-1]], 1)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Distances in the campaign's metric by float64 differences of scaled covariates, (..., d) -> (...)."""
        return self.metric(folded(np.square(a - b)))

    def metric(self, d2: np.ndarray) -> np.ndarray:
        """Distances of squared ones."""
        return d2.copy() if self.squared else np.sqrt(d2)

    def label_first(self, k: int) -> int:
        """Label the first unit of the k-th row of the short list, whose distances follow now, and return it."""
        row = self._count(k)
        unit = int(self.first[row])
        self._next[row] += 1
        self.n_free -= 1
        if self._next[row] < self._end[row]:
            self.first[row] = self._units[self._next[row]]
        else:
            self.first[row], self.free[row] = _NONE, False
            self.short.drop(k)
        return unit

    def _count(self, k: int) -> int:
        """Count the k-th row of the short list as labelled, and return its number."""
        row = int(self.short.rows[k])
        if not self._carries[row]:
            self.short.label(k)
            self.labelled.append(row)
            self._carries[row] = True
        return row

    def row_of(self, unit: int) -> int:
        """Row of a unit, where every unit is one."""
        return int(self.units.searchsorted(unit))

    def label(self, unit: int) -> None:
        """Count a unit as labelled, where every unit is a row."""
        self._count(self.row_of(unit))

    def distance_bounds(self) -> Distances:
        """Upper bound of each row's distance to the nearest label, (p,): exact where every unit is a row."""
        if self.every:
            return self.short.m
        self.update_bounds()
        return self.bound

    def update_bounds(self) -> None:
        """Bring the bounds up to date with the labels: bound[i] = min over labels j of an upper bound of d(i, j).

        high2(i, j) = low2(i, j) + 2 (eta |i|^2 + TINY) + 2 (eta |j|^2 + TINY), low2 being the bound from below.
        """
        new = np.array(self.labelled[self._absorbed :], np.int64)
        if not len(new):
            return
        self._absorbed = len(self.labelled)
        # (labels, d + 2)
        low = self.left(new)
        self._labels = np.concatenate([self._labels, low])
        high_of_labels = low.copy()
        high_of_labels[:, -2] += (2 * (self.eta * self.norm[new] + TINY)).astype(low.dtype)
        step = max(1, _ELEMENTS // len(new))
        for start in range(0, len(self.x), step):
            part = slice(start, start + step)
            # (step, labels) -> (step,)
            high = product(self.right[part], high_of_labels.T).min(axis=1) + 2 * (self.eta * self.norm[part] + TINY)
            high = (high if self.squared else np.sqrt(high.clip(min=0))) * (1 + self.eta)
            self.bound[part] = np.minimum(self.bound[part], high)

    def nearest(self, rows: Rows) -> Distances:
        """Squared float64 distance from each row to its nearest label, (k,); infinite without labels."""
        self.update_bounds()
        out = np.full(len(rows), np.inf)
        if not (len(rows) and self.labelled):
            return out
        labels = np.array(self.labelled, np.int64)
        most = self.norm[labels].max()
        step = max(1, _ELEMENTS // (len(labels) + self.x.shape[1]))
        for start in range(0, len(rows), step):
            part, nearest = rows[start : start + step], out[start : start + step]
            # (step, labels), and what float32 may hide, (step,)
            low, slack = product(self.right[part], self._labels.T), 4 * (self.eta * (self.norm[part] + most) + TINY)
            # no other label can be the nearest
            near, label = np.nonzero(low <= (low.min(axis=1) + slack)[:, None])
            for k in range(0, len(near), step):
                one, other = near[k : k + step], labels[label[k : k + step]]
                # (pairs, d) -> (pairs,)
                np.minimum.at(nearest, one, folded(np.square(self.x[part[one]] - self.x[other])))
        return out

    def set_short_list(self, rows: Indices, cut: tuple[float, int] = UNKNOWN) -> ShortList:
        """Make these rows the short list, in the place of the present one, and return it; all stay where all are."""
        if not self.every:
            self.short = ShortList(self, rows, cut)
            self.bound[rows] = np.minimum(self.bound[rows], self.short.m)
        return self.short

    def farthest(self) -> tuple[float, int]:
        """Find the free row that is farthest from the labels: how far, and its place on the short list.

        Of equally far rows, the one with the lowest unit. There must be a free row.
        """
        while (found := self._farthest_listed()) is None:
            self.update_bounds()
            size = min(SHORT, int(self.free.sum()))
            rows, cut = top_bounds(np.where(self.free, self.bound, -np.inf), size, self.first)
            self.set_short_list(rows, cut)
        return found

    def _farthest_listed(self) -> tuple[float, int] | None:
        """The farthest row of the short list, if it comes before the cut."""
        short = self.short
        if not len(short.m):
            return None
        ties = np.flatnonzero(short.m == short.m.max())
        first = self.first[short.rows[ties]]
        k = int(ties[first.argmin()])
        return (float(short.m[k]), k) if beats_cut(float(short.m[k]), int(first.min()), short.cut) else None


def beats_cut(score: float, first: int, cut: tuple[float, int]) -> bool:
    """Whether a pick of this score and first unit comes before all that a cut stands for."""
    return score > cut[0] or (score == cut[0] and first < cut[1])


def top_bounds(bound: np.ndarray, k: int, first: Rows) -> tuple[Indices, tuple[float, int]]:
    """Return the places of the k highest bounds, ascending, and the cut: bound and first unit of the next one.

    Of equal bounds the lower first unit comes first. The cut is minus infinity where there is no other.
    """
    n = len(bound)
    if n <= k:
        return np.arange(n), (-np.inf, _NONE)
    following, last = np.partition(bound, [n - k - 1, n - k])[n - k - 1 : n - k + 1]  # the next highest, and the k-th
    taken, tied = bound > last, np.flatnonzero(bound == last)
    missing = k - int(taken.sum())
    if missing < len(tied):
        tied = tied[np.argpartition(first[tied], missing - 1)[:missing]]
    taken[tied] = True
    left_out = (bound == following) & ~taken
    return np.flatnonzero(taken), (float(following), int(first[left_out].min()))


def split_arms(
    x: Covariates, groups: Arms, labelled: Indices, metric: str = "euclidean", every: bool = False
) -> list[Arm]:
    """One arm for each value of ``groups``, ascending; ``every`` as in :class:`Arm`."""
    scale = power_of_two(x)
    centre = (x.mean(axis=0, dtype=np.longdouble) * scale).astype(np.float64)  # a sum of doubles may overflow
    squared = metric == "sqeuclidean"
    return [Arm(x, groups == group, labelled, scale, centre, squared, every) for group in np.unique(groups)]
