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

*An example.* Six units on a line; the first of either arm is labelled. The farthest two of the four free ones win, for
they are also close together; once they are labelled, m has fallen from 1 and 3 to 1 and 2 for the others.

>>> x = np.array([[0.0], [1.0], [4.0], [0.0], [3.0], [5.0]])
>>> search = Contrasts(x, np.array([1, 1, 1, 0, 0, 0]), np.array([0, 3]), 2.5, 1.0, "euclidean", "cpu")
>>> search.batch(2)  # of 1 + 3 - 5, 1 + 5 - 10, 4 + 3 - 2.5 and 4 + 5 - 2.5
array([2, 5])
>>> search.batch(2)  # 1 + 2 - 5
array([1, 4])

Until an arm has a label, m is the same constant for all its units, and 0 will do; as m rises when the first label
comes, all bounds are then forgotten. Memory: O(N d) and ``_BLOCKS`` bounds a treated unit.

References:
    H. Wen, T. Chen, G. Ye, L. K. Chai, S. Sadiq and H. Yin, "Progressive Generalization Risk Reduction for
    Data-Efficient Causal Effect Estimation", ACM SIGKDD Conference on Knowledge Discovery and Data Mining, 2025 (the
    pairs, Eq. 7).
    M. Minoux, "Accelerated Greedy Algorithms for Maximizing Submodular Set Functions", Optimization Techniques, Lecture
    Notes in Control and Information Sciences 7, Springer, 1978 (old values as bounds).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from macal.acquisition.arms import Arm, ShortList, before, farthest_first, highest, split_arms
from macal.acquisition.rows import power_of_two
from macal.shapes import Arms, Covariates, Distances, Indices

_BLOCKS = 64  # of controls, at most
_BLOCK = 1024  # controls in a block, at least
_TILE = 2**20  # scores computed at a time
_ROWS = 512  # looked through at a time, at first
_LIST = 128  # pairs on a good list: fewer, and lists must be made too often; many more, and each pick is slow
_PAIRS = 2**16  # pairs on a list of more than one row, at most
_SLACK = 1e-12  # of a score, a covariate: more than float64 rounding, where the largest covariate is about 1


@dataclass(frozen=True, eq=False)
class PairList:
    """Pairs of which the best is the best of all, as long as it comes before the cut.

    Attributes:
        one: short list of the treated, from which ``i`` counts.
        zero: short list of the controls, from which ``j`` counts.
        i: place of each pair's treated unit on ``one``, (k,).
        j: place of its control on ``zero``, (k,).
        d: distance within each pair, (k,) float64; infinite once either row has no free unit.
        cut: the highest bound of the rows that were not looked through, and the lowest unit among these.
    """

    one: ShortList
    zero: ShortList
    i: Indices
    j: Indices
    d: Distances
    cut: tuple[float, int]

    def drop_taken(self) -> None:
        """Let pairs that cannot be had any more never be picked."""
        gone = (self.one.m == -np.inf)[self.i] | (self.zero.m == -np.inf)[self.j]
        self.d[gone] = np.inf


class PairSearch:
    """A campaign of pairs under way.

    Args:
        x: covariates of the pool, (n, d).
        t: treatment, (n,), both arms present.
        arms: control and treated, where they are shared with other searches.
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
        arms: Sequence[Arm] = (),
    ) -> None:
        self.control, self.treated = self.arms = arms or split_arms(x, t, labelled, metric, device)
        weights = power_of_two(np.array([alpha, novelty]))
        self.alpha, self.novelty = alpha * weights, novelty * weights
        self.slack = _SLACK * x.shape[1]
        n1, n0 = len(self.treated.x), len(self.control.x)
        self.blocks = torch.arange(n0, device=device).split(max(_BLOCK, -(-n0 // _BLOCKS)))
        self.upper = torch.empty(n1, len(self.blocks), dtype=self.treated.right.dtype, device=device)
        # reused: fresh memory is slow
        self.tile = torch.empty(max(_TILE, len(self.blocks[0])), dtype=self.upper.dtype, device=device)
        # exact best score of a row when last looked through
        self.settled = torch.empty(n1, dtype=torch.float64, device=device)
        self.size = _ROWS
        self._forget()

    @property
    def has_pairs(self) -> bool:
        """Whether both arms have a free unit."""
        return all(arm.n_free for arm in self.arms)

    def _forget(self) -> None:
        self.upper.fill_(torch.inf)
        self.settled.fill_(torch.inf)
        self.pairs: PairList | None = None
        self._blank = [not arm.labelled for arm in self.arms]

    def pair(self) -> list[int]:
        """Pick the best pair; both arms must have a free unit."""
        if self._blank != [not arm.labelled for arm in self.arms]:
            self._forget()
        i, j = (self.treated.farthest()[1], self.control.farthest()[1]) if self.alpha == 0 else self._best()
        picks = [self.treated.take(i), self.control.take(j)]
        if self.pairs:
            self.pairs.drop_taken()
        return picks

    def _best(self) -> tuple[int, int]:
        """The best free pair, as places on the short lists of either arm."""
        while True:
            pairs = self.pairs
            if pairs and len(pairs.d) and pairs.one is self.treated.short and pairs.zero is self.control.short:
                score = self._scores(pairs)
                top = score.max()
                ties = np.flatnonzero(score == top)
                one = self.treated.first[pairs.one.rows[pairs.i[ties]]]
                zero = self.control.first[pairs.zero.rows[pairs.j[ties]]]
                k = ties[np.lexsort([zero, one])[0]]
                if top > -np.inf and before(float(top), int(one.min()), pairs.cut):
                    return int(pairs.i[k]), int(pairs.j[k])
            self._make_list()

    def _scores(self, pairs: PairList) -> Distances:
        """Float64 scores of listed pairs, m1 + m0 - alpha d, (k,); minus infinity where a unit is taken."""
        if not self.novelty:
            return -self.alpha * pairs.d
        sides = ((self.treated, pairs.one), (self.control, pairs.zero))
        m1, m0 = (side.m if arm.labelled else np.zeros(len(side.m)) for arm, side in sides)
        return self.novelty * (m1[pairs.i] + m0[pairs.j]) - self.alpha * pairs.d

    def _make_list(self) -> None:
        """Look through the most promising rows and list their best pairs."""
        for arm in self.arms:
            arm.absorb()
        bound = torch.minimum(self.settled, self._novelty_bound(self.treated) + self.upper.amax(1))
        bound, n_rows = torch.where(self.treated.free, bound, -torch.inf), int(self.treated.free.sum())
        rows, (cut, unit) = highest(bound, min(self.size, n_rows), self.treated.first)
        limit, i, j = torch.full((len(rows),), cut, dtype=torch.float64, device=rows.device), rows[:0], rows[:0]
        # the second time for rows that promised the cut in float32 and do not hold it
        for _ in range(2):
            found = self._look_through(rows, limit)
            if found is None:
                self.size, self.pairs = self.size // 2, None
                return
            keep = ~torch.isin(i, rows)
            i, j = torch.cat([i[keep], found[0]]), torch.cat([j[keep], found[1]])
            listed, best = self._list(i, j, (cut, unit))
            rows, limit = listed[best < cut], best[best < cut]
            if not len(rows):
                break
        self.settled[listed] = best
        if cut < np.inf and not _LIST <= len(i) < 4 * _LIST:
            self.size = self.size * 2 if len(i) < _LIST else max(1, self.size // 2)

    def _list(self, i: torch.Tensor, j: torch.Tensor, cut: tuple[float, int]) -> tuple[torch.Tensor, torch.Tensor]:
        """List pairs of rows i (k,) and j (k,); return the rows that have some and the exact best score of each."""
        treated, control = self.treated, self.control
        step = max(1, _TILE // treated.x.shape[1])
        parts = zip(i.split(step), j.split(step), strict=True)
        d = np.concatenate([treated.distance(treated.x[a], control.x[b]) for a, b in parts])
        rows, i = i.unique(return_inverse=True)
        columns, j = j.unique(return_inverse=True)
        self.pairs = PairList(treated.watch(rows), control.watch(columns), i.cpu().numpy(), j.cpu().numpy(), d, cut)
        best = np.full(len(rows), -np.inf)
        np.maximum.at(best, self.pairs.i, self._scores(self.pairs))
        return rows, torch.as_tensor(best, device=rows.device)

    def _novelty_bound(self, arm: Arm) -> torch.Tensor:
        return self.novelty * arm.bound if arm.labelled else torch.zeros_like(arm.bound)

    def _look_through(self, rows: torch.Tensor, limit: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Lower the bounds of some rows (k,) and return all their pairs that may score ``limit`` (k,) or more.

        v[i, j] = high[j] - alpha d(i, j) is at least m0[j] - alpha d(i, j), ``high`` being m0 and d its bound from
        below, both in float32; a pair may score the limit where v[i, j] >= floor[i] = limit[i] - m1[i].

        Returns:
            Rows of the treated and of the control arm, one pair per place; None if they are too many.
        """
        dtype, eps = self.upper.dtype, torch.finfo(self.upper.dtype).eps
        # (n0,), rounded up by more than v below is rounded
        high = (self._novelty_bound(self.control) * (1 + 4 * eps) + self.slack).to(dtype)
        high = torch.where(self.control.free, high, -torch.inf)
        # (k,), rounded down; taken units are below
        floor = (limit - self._novelty_bound(self.treated)[rows] - self.slack).to(dtype)
        floor = torch.nextafter(floor, torch.full_like(floor, -torch.inf)).clamp_(min=torch.finfo(dtype).min)
        # (k, d + 2)
        left, found = self.treated.left(rows), []
        for b, block in enumerate(self.blocks):
            columns = slice(int(block[0]), int(block[-1]) + 1)
            for k in (self.upper[rows, b] >= floor).nonzero()[:, 0].split(max(1, _TILE // len(block))):
                # (rows of the tile, controls of the block): first d squared, then d, then v
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


class Contrasts:
    """Pairs of the reference arm with each of the others, by turns: the arm with the fewest labels is next.

    The turn follows from the labels alone, so that a plan that is resumed goes on as if it had not been stopped. The
    searches share the reference arm: a pick of one of them lowers the distances of all.

    Args:
        x: covariates of the pool, (n, d).
        t: arm of each unit, (n,), 0 the reference; all arms present.
        labelled: indices that have been labelled.
        options: see :class:`PairSearch`.
    """

    def __init__(self, x: Covariates, t: Arms, labelled: Indices, *options: float | str) -> None:
        metric, device = options[2:]
        self.arms, self._sizes = split_arms(x, t, labelled, metric, device), np.bincount(t)
        others = ((self.arms[0], arm) for arm in self.arms[1:])
        self.searches = [PairSearch(x, t, labelled, *options, arms=pair) for pair in others]

    def batch(self, size: int) -> Indices:
        """Pick up to ``size`` units: pairs (treated, control).

        One-sided for an odd last unit and once an arm is exhausted.
        """
        picks: list[int] = []
        while len(picks) < size and any(arm.n_free for arm in self.arms):
            search = self._next() if size - len(picks) > 1 else None
            picks += search.pair() if search else farthest_first(self.arms, 1)
        return np.array(picks, np.int64)

    def _next(self) -> PairSearch | None:
        """The search whose arm has the fewest labels, of those that have a pair."""
        labels = [size - arm.n_free for size, arm in zip(self._sizes, self.arms, strict=True)][1:]
        able = [(n, k) for k, n in enumerate(labels) if self.searches[k].has_pairs]
        return self.searches[min(able)[1]] if able else None
