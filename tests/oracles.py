"""Plain statements of what fast code must agree with: full recomputation in float64 at every step, and nothing else."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist


def nearest(x, others, metric="euclidean"):
    """Distance from each unit to the nearest of ``others``; infinite where there are none."""
    return cdist(x, others, metric).min(axis=1) if len(others) else np.full(len(x), np.inf)


@dataclass
class Pool:
    """A pool whose units are labelled one after the other."""

    x: np.ndarray
    t: np.ndarray
    labelled: list
    metric: str = "euclidean"

    def free(self, arm):
        """Free units of an arm."""
        free = self.t == arm
        free[self.labelled] = False
        return np.flatnonzero(free)

    def m(self, arm):
        """Distance of the free units of an arm to its nearest labelled unit, infinite without any."""
        done = [u for u in self.labelled if self.t[u] == arm]
        return nearest(self.x[self.free(arm)], self.x[done], self.metric)

    def pair_scores(self, alpha, novelty=1.0):
        """Score of every free pair, (n1, n0), and the size of the numbers it is made of; 0 for the novelty of an arm
        without labels."""
        m1, m0 = (np.where(np.isinf(m), 0.0, m) for m in (self.m(1), self.m(0)))
        d = cdist(self.x[self.free(1)], self.x[self.free(0)], self.metric)
        size = novelty * (m1.max() + m0.max()) + alpha * d.max()
        return novelty * (m1[:, None] + m0[None, :]) - alpha * d, size


def halved(squares):
    """Sum over the last axis as the package states it: the last half is added to the first, until one is left."""
    width = squares.shape[-1]
    if width == 1:
        return squares[..., 0]
    first, last = np.split(squares, [width - width // 2], axis=-1)
    return halved(np.concatenate([first[..., : width // 2] + last, first[..., width // 2 :]], axis=-1))


def exact_plan(x, t, labelled, sizes, alpha, novelty=1.0, metric="euclidean"):
    """The one right plan, by float64 scores; of equal ones the lowest treated unit, then the lowest control."""
    gap = halved(np.square(x[:, None] - x[None]))
    d = gap if metric == "sqeuclidean" else np.sqrt(gap)
    done, batches = list(labelled), []

    def near(unit):
        own = [u for u in done if t[u] == t[unit]]
        return d[unit, own].min() if own else np.inf

    def farthest(units):
        return min(units, key=lambda unit: (-near(unit), unit))

    for size in sizes:
        batch = []
        while len(batch) < size and len(done) < len(t):
            free = [u for u in range(len(t)) if u not in done]
            one, zero = ([u for u in free if t[u] == arm] for arm in (1, 0))
            if size - len(batch) == 1 or not one or not zero:
                picks = [farthest(free)]
            elif alpha == 0:
                picks = [farthest(one), farthest(zero)]
            else:
                m1, m0 = ([0.0 if near(u) == np.inf else near(u) for u in units] for units in (one, zero))
                score = novelty * (np.array(m1)[:, None] + np.array(m0)) - alpha * d[np.ix_(one, zero)]
                i, j = np.unravel_index(score.argmax(), score.shape)
                picks = [one[i], zero[j]]
            batch += picks
            done += picks
        batches += [batch] if batch else []
    return batches


def shortfall(x, t, labelled, batches, sizes, alpha, novelty=1.0, metric="euclidean"):
    """By how much a plan's worst pick misses the best of its own moment, relative to the size of the numbers compared;
    (0, picks) if right."""
    pool, worst = Pool(x, t, list(labelled), metric), 0.0
    for batch, size in zip(batches, sizes, strict=False):
        left = list(batch)
        while left:
            if size - len(batch) + len(left) > 1 and len(pool.free(1)) and len(pool.free(0)):
                i, j = left.pop(0), left.pop(0)
                score, scale = pool.pair_scores(alpha, novelty)
                mine = score[np.flatnonzero(pool.free(1) == i)[0], np.flatnonzero(pool.free(0) == j)[0]]
                picks = [i, j]
            else:
                picks = [left.pop(0)]
                units, score = np.concatenate([pool.free(1), pool.free(0)]), np.concatenate([pool.m(1), pool.m(0)])
                mine, scale = score[units == picks[0]][0], np.max(score[np.isfinite(score)], initial=0.0)
            if mine < score.max():
                worst = max(worst, (score.max() - mine) / scale if scale > 0 else np.inf)
            pool.labelled += picks
    return worst
