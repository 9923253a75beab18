"""MACAL's pairs, exactly and fast.

The next pair maximises s(i, j) = m1[i] + m0[j] - alpha d(i, j) over free treated i and free controls j, where m[i] is
the distance from i to the nearest label of its own arm. Computing every s anew for every pair, as published, costs O(N1
N0 d) a pair. Here is why almost none of it is needed.

*Scores never increase.* A new label can only lower m, and d does not change. So whatever bounded a pair from above
before still does.

*Bounds.* For a row i (a treated unit) and a block b of controls, ``upper[i, b]`` was at least max over j in b of m0[j]
- alpha d(i, j) when it was computed, hence is so now; m1[i] plus the largest of row i bounds all pairs of i. At first
the bounds are infinite.

*The short list.* Take the rows with the highest bounds; ``cut`` is the highest bound of the others. Compute, in blocks
as matrix products, the scores of the taken rows where their bounds reach the cut, lower the bounds to what was found,
and list every pair that may score ``cut`` or more, with its float64 score. No pair outside the list can beat the cut,
now or ever. So, as long as the best on the list scores at least the cut, it is optimal: pick it, bring the scores on
the list up to date, and look again. When the best falls below the cut, make a new list.

*Ties.* Of equal scores, the pair with the lowest treated unit is taken, then the one with the lowest control. The cut
therefore carries a unit too, the lowest of the rows that share the highest bound outside the list, and a pair on the
list must come before both. As units are taken from the front, a row's first unit only rises: in this order too, what
bounded a row before still does. Units of one arm with equal covariates are one row or column (:mod:`arms
<macal.acquisition.arms>`), of which a pick takes the lowest.

*The end.* Products in float32 bound scores only from above, so a row may promise more
than it holds. If its listed pairs all disappoint, the row is looked through once more down to its best exact score,
which from then on is its bound. A row at the top is thus either exact or examined next, and the search ends.

Until an arm has a label, m is the same constant for all its units, and 0 will do; as m rises when the first label
comes, all bounds are then forgotten. Memory: O(N d) and ``_BLOCKS`` bounds a treated unit.
"""

import numpy as np
import torch

from macal.acquisition.arms import Arm, before, farthest_first, highest, power_of_two, split_arms
from macal.shapes import Arms, Covariates, Indices

_BLOCKS = 64  # of controls, at most
_BLOCK = 1024  # controls in a block, at least
_TILE = 2**20  # scores computed at a time
_ROWS = 512  # looked through at a time, at first
_LIST = 128  # pairs on a good list: fewer, and lists must be made too often; many more, and each pick is slow
_PAIRS = 2**16  # pairs on a list of more than one row, at most
_SLACK = 1e-12  # of a score, a covariate: more than float64 rounding, where the largest covariate is about 1


class PairSearch:
    """A campaign of pairs under way.

    Args:
        x: covariates of the pool, (n, d).
        t: treatment, (n,), both arms present.
        labelled: indices that have been labelled.
        alpha: weight of the distance within a pair, at least 0.
        novelty: weight of the distances from the labels: 1 for MACAL, 0 for the closest pair.
        metric: "euclidean" or "sqeuclidean".
        device: where the matrix products are computed, as PyTorch names it.
    """

    def __init__(
        self,
        x: Covariates,
        t: Arms,
        labelled: Indices,
        alpha: float,
        novelty: float = 1.0,
        metric: str = "euclidean",
        device: str = "cpu",
    ) -> None:
        self.control, self.treated = self.arms = split_arms(x, t, labelled, metric, device)
        weights = power_of_two(np.array([alpha, novelty]))
        self.alpha, self.novelty = alpha * weights, novelty * weights
        self.slack = _SLACK * x.shape[1]
        n1, n0 = len(self.treated.x), len(self.control.x)
        self.blocks = torch.arange(n0, device=device).split(max(_BLOCK, -(-n0 // _BLOCKS)))
        self.upper = torch.empty(n1, len(self.blocks), dtype=self.treated.right.dtype, device=device)
        self.tile = torch.empty(
            max(_TILE, len(self.blocks[0])), dtype=self.upper.dtype, device=device
        )  # reused: fresh memory is slow
        self.settled = torch.empty(
            n1, dtype=torch.float64, device=device
        )  # exact best score of a row when last looked through
        self.size = _ROWS
        self._forget()

    def batch(self, size: int) -> Indices:
        """Pick up to ``size`` units: pairs (treated, control).

        One-sided for an odd last unit and once an arm is exhausted.
        """
        picks: list[int] = []
        while len(picks) < size and any(arm.n_free for arm in self.arms):
            paired = size - len(picks) > 1 and all(arm.n_free for arm in self.arms)
            picks += self._pair() if paired else self._single()
        return np.array(picks, np.int64)

    def _forget(self) -> None:
        self.upper.fill_(torch.inf)
        self.settled.fill_(torch.inf)
        self._drop_list()

    def _drop_list(self) -> None:
        self.cut, self.d = (np.inf, 0), np.empty(0)

    def _single(self) -> list[int]:
        self._drop_list()  # the watched rows change
        return farthest_first(self.arms, 1)

    def _pair(self) -> list[int]:
        blank = any(not arm.labelled for arm in self.arms)
        i, j = (self.treated.farthest()[1], self.control.farthest()[1]) if self.alpha == 0 else self._best()
        picks = [self.treated.take(i), self.control.take(j)]
        if len(self.d):
            gone = (self.treated.m == -np.inf)[self.i] | (self.control.m == -np.inf)[self.j]
            self.d[gone] = np.inf
        if blank:
            self._forget()
        return picks

    def _best(self) -> tuple[int, int]:
        """The best free pair, as places among the watched rows of either arm."""
        while True:
            if len(self.d):
                score = self._scores()
                top = score.max()
                ties = np.flatnonzero(score == top)
                one = self.treated.first[self.treated.watched[self.i[ties]]]
                zero = self.control.first[self.control.watched[self.j[ties]]]
                k = ties[np.lexsort([zero, one])[0]]
                if top > -np.inf and before(float(top), int(one.min()), self.cut):
                    return int(self.i[k]), int(self.j[k])
            self._make_list()

    def _scores(self) -> np.ndarray:
        """Float64 scores of the pairs on the list; minus infinity where a unit is taken."""
        if not self.novelty:
            return -self.alpha * self.d
        m1, m0 = (arm.m if arm.labelled else np.zeros(len(arm.m)) for arm in (self.treated, self.control))
        return self.novelty * (m1[self.i] + m0[self.j]) - self.alpha * self.d

    def _make_list(self) -> None:
        """Look through the most promising rows and list their best pairs."""
        for arm in self.arms:
            arm.absorb()
        bound = torch.minimum(self.settled, self._novelty_bound(self.treated) + self.upper.amax(1))
        bound, n_rows = torch.where(self.treated.free, bound, -torch.inf), int(self.treated.free.sum())
        rows, (cut, unit) = highest(bound, min(self.size, n_rows), self.treated.first)
        limit, i, j = torch.full((len(rows),), cut, dtype=torch.float64, device=rows.device), rows[:0], rows[:0]
        for _ in range(2):  # the second time for rows that promised the cut in float32 and do not hold it
            found = self._look_through(rows, limit)
            if found is None:
                self.size //= 2
                return self._drop_list()
            keep = ~torch.isin(i, rows)
            i, j = torch.cat([i[keep], found[0]]), torch.cat([j[keep], found[1]])
            listed, best = self._list(i, j)
            rows, limit = listed[best < cut], best[best < cut]
            if not len(rows):
                break
        self.cut, self.settled[listed] = (cut, unit), best
        if cut < np.inf and not _LIST <= len(self.d) < 4 * _LIST:
            self.size = self.size * 2 if len(self.d) < _LIST else max(1, self.size // 2)

    def _list(self, i: torch.Tensor, j: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Put pairs on the list; return the rows that have some and the exact best score of each."""
        treated, control = self.treated, self.control
        step = max(1, _TILE // treated.x.shape[1])
        parts = zip(i.split(step), j.split(step), strict=True)
        self.d = np.concatenate([treated.distance(treated.x[a], control.x[b]) for a, b in parts])
        rows, i = i.unique(return_inverse=True)
        columns, j = j.unique(return_inverse=True)
        treated.watch(rows)
        control.watch(columns)
        self.i, self.j = i.cpu().numpy(), j.cpu().numpy()
        best = np.full(len(rows), -np.inf)
        np.maximum.at(best, self.i, self._scores())
        return rows, torch.as_tensor(best, device=rows.device)

    def _novelty_bound(self, arm: Arm) -> torch.Tensor:
        return self.novelty * arm.bound if arm.labelled else torch.zeros_like(arm.bound)

    def _look_through(self, rows: torch.Tensor, limit: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Lower the bounds of some rows and return all their pairs that may score ``limit`` (k,) or more.

        As rows of either arm; None if they are too many.
        """
        dtype, eps = self.upper.dtype, torch.finfo(self.upper.dtype).eps
        high = (self._novelty_bound(self.control) * (1 + 4 * eps) + self.slack).to(
            dtype
        )  # rounded up, by more than v below is rounded
        high = torch.where(self.control.free, high, -torch.inf)
        floor = (limit - self._novelty_bound(self.treated)[rows] - self.slack).to(dtype)
        floor = torch.nextafter(floor, torch.full_like(floor, -torch.inf)).clamp_(
            min=torch.finfo(dtype).min
        )  # taken units are below
        left, found = self.treated.left(rows), []
        for b, block in enumerate(self.blocks):
            columns = slice(int(block[0]), int(block[-1]) + 1)
            for k in (self.upper[rows, b] >= floor).nonzero()[:, 0].split(max(1, _TILE // len(block))):
                v = self.tile[: len(k) * len(block)].view(len(k), len(block))
                torch.mm(left[k], self.control.right[columns].T, out=v).clamp_(min=0)
                v = v if self.treated.squared else v.sqrt_()
                v = torch.sub(high[columns], v, alpha=self.alpha * (1 - 4 * eps), out=v)
                top = v.amax(1)
                self.upper[rows[k], b] = torch.minimum(self.upper[rows[k], b], top)
                some = (top >= floor[k]).nonzero()[:, 0]
                a, c = (v[some] >= floor[k[some], None]).nonzero(as_tuple=True)
                found.append((rows[k[some[a]]], c + columns.start))
                if len(rows) > 1 and sum(len(a) for a, _ in found) > _PAIRS:
                    return None
        i, j = (torch.cat(x) for x in zip(*found, strict=True)) if found else (rows[:0], rows[:0])
        return i, j
