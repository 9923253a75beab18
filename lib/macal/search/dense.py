"""Pairs from a pool so small that all distances between its two arms fit into memory.

What :mod:`.pairs` finds by bounds and lists is found here by looking at every pair, to the same bits. Who plans many
short campaigns from one pool computes its distances once.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from macal.search.rows import folded, power_of_two
from macal.shapes import Arms, Covariates, Indices

LARGEST = 2**19  # pairs of a pool: 4 MiB of distances
_TILE = 2**20  # differences computed at a time


class DensePairs:
    """All pairs of a pool of two arms, Euclidean distances.

    Args:
        x: covariates of the pool, (n, d).
        t: treatment, (n,); both arms present.
    """

    def __init__(self, x: Covariates, t: Arms) -> None:
        self._x, self._t = x * power_of_two(x), t
        self._units = [np.flatnonzero(t == arm) for arm in (1, 0)]  # treated first, as pairs are named
        own = [self._x[units] for units in self._units]
        step = max(1, _TILE // own[1].size)
        parts = [self._apart(own[0][k : k + step, None], own[1]) for k in range(0, len(own[0]), step)]
        self._d = np.concatenate(parts)  # (treated, controls)
        self.spare = np.empty_like(self._d)
        self._seen, self._m = self._units[0][:0], [np.full(len(units), np.inf) for units in self._units]

    @staticmethod
    def fit(t: Arms) -> bool:
        """Whether the distances of a pool with these arms fit."""
        treated = int((t == 1).sum())
        return treated * (len(t) - treated) <= LARGEST

    @staticmethod
    def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.sqrt(folded(np.square(a - b)))

    def _nearest(self, side: int, labels: Indices) -> np.ndarray:
        """Distance of each unit of a side to the nearest of some labels of its arm; infinite without any."""
        units = self._units[side]
        step = max(1, _TILE // max(1, len(labels) * self._x.shape[1]))
        parts = [
            self._apart(self._x[units[k : k + step], None], self._x[labels]).min(axis=1, initial=np.inf)
            for k in range(0, len(units), step)
        ]
        return np.concatenate(parts)

    def nearest(self, labelled: Indices) -> list[np.ndarray]:
        """Distance of each unit to the nearest label of its arm, treated and controls; the next asker adds to them."""
        known = len(self._seen)
        if not np.array_equal(labelled[:known], self._seen):
            known, self._m = 0, [np.full(len(units), np.inf) for units in self._units]
        new = labelled[known:]
        fresh = [self._nearest(side, new[self._t[new] == arm]) for side, arm in enumerate((1, 0))]
        self._seen, self._m = labelled.copy(), [np.minimum(m, d) for m, d in zip(self._m, fresh, strict=True)]
        return [m.copy() for m in self._m]

    def plan(self, labelled: Indices, alpha: float, sizes: Iterable[int]) -> Iterator[Indices]:
        """Yield the batches of :class:`macal.acquisition.distances.Macal`, until the pool is exhausted.

        Args:
            labelled: indices that have been labelled.
            alpha: weight of the distance within a pair, at least 0.
            sizes: of the batches.
        """
        scale = power_of_two(np.array([alpha, 1.0]))
        campaign = _Campaign(self, labelled, scale, alpha * scale)
        for size in sizes:
            batch = campaign.batch(size)
            if not len(batch):
                return
            yield batch


class _Campaign:
    """Distances to the nearest label of its arm of every unit, and who is free."""

    def __init__(self, pairs: DensePairs, labelled: Indices, novelty: float, alpha: float) -> None:
        self._pairs, self._novelty = pairs, novelty
        self._labels = [labelled[pairs._t[labelled] == arm] for arm in (1, 0)]
        self._m = pairs.nearest(labelled)
        self._d = alpha * pairs._d if alpha else None
        self._score = pairs.spare  # fresh memory is slow
        self._free = [~np.isin(units, labelled) for units in pairs._units]
        for side, free in enumerate(self._free):
            self._close(side, ~free)

    def _close(self, side: int, gone: np.ndarray | int) -> None:
        """Let units of a side never be picked any more."""
        self._m[side][gone] = -np.inf
        if self._d is not None:
            self._d[(gone, slice(None)) if side == 0 else (slice(None), gone)] = np.inf

    def batch(self, size: int) -> Indices:
        """Pick up to ``size`` units: pairs (treated, control); one-sided at the end."""
        picks: list[int] = []
        while len(picks) < size and any(free.any() for free in self._free):
            both = size - len(picks) > 1 and all(free.any() for free in self._free)
            places = list(enumerate(self._best())) if both else [self._farthest()]
            picks += [self._take(side, place) for side, place in places]
        return np.array(picks, np.int64)

    def _best(self) -> tuple[int, int]:
        """The best pair; of equally good ones that of the lowest treated unit, and of the lowest control."""
        if self._d is None:
            return int(self._m[0].argmax()), int(self._m[1].argmax())
        one, zero = (
            m if labels.size else np.zeros(len(m)) for m, labels in zip(self._m, self._labels, strict=True)
        )
        one, zero = (np.where(free, m, 0.0) for m, free in zip((one, zero), self._free, strict=True))
        np.add((self._novelty * one)[:, None], self._novelty * zero, out=self._score)
        np.subtract(self._score, self._d, out=self._score)
        return divmod(int(self._score.argmax()), self._score.shape[1])

    def _farthest(self) -> tuple[int, int]:
        """Side and place of the free unit that is farthest from its arm's labels, of equally far ones the lowest."""
        places = [(side, int(self._m[side].argmax())) for side in (0, 1) if self._free[side].any()]
        return max(places, key=lambda found: (self._m[found[0]][found[1]], -self._pairs._units[found[0]][found[1]]))

    def _take(self, side: int, place: int) -> int:
        unit = int(self._pairs._units[side][place])
        self._labels[side] = np.append(self._labels[side], unit)
        own = self._pairs._x[self._pairs._units[side]]
        self._m[side] = np.minimum(self._m[side], self._pairs._apart(own, self._pairs._x[unit]))
        self._free[side][place] = False
        self._close(side, place)
        return unit
