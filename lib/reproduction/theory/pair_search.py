"""The search for pairs, plain enough to be counted: as published, lazily, and the optimum that neither finds.

Nothing here is fast; :mod:`macal.search.pairs` is. Every unit is known by its index in the pool.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import SupportsInt

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from macal.metrics import nearest_distance
from macal.shapes import Arms, Covariates, Indices


@dataclass
class Trace:
    """What a search picked and what it cost.

    Attributes:
        pairs: (treated, control), in pick order.
        scores: of each pair when it was picked.
        evaluated: pair scores that were computed for each pick.
    """

    pairs: list[tuple[int, int]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)

    def add(self, treated: SupportsInt, control: SupportsInt, score: float, evaluated: int) -> None:
        """Note one pick."""
        self.pairs.append((int(treated), int(control)))
        self.scores.append(float(score))
        self.evaluated.append(int(evaluated))


def free(t: Arms, labelled: ArrayLike, arm: int) -> Indices:
    """Unlabelled units of an arm, ascending."""
    open_ = t == arm
    open_[np.asarray(labelled, np.int64)] = False
    return np.flatnonzero(open_)


def novelty(x: Covariates, t: Arms, labelled: ArrayLike, units: Indices, arm: int, metric: str) -> np.ndarray:
    """Distance of units to the nearest labelled unit of an arm, (k,); 0 while the arm has none (Eq. 5)."""
    done = [u for u in np.asarray(labelled, np.int64) if t[u] == arm]
    return nearest_distance(x[units], x[done], metric) if done else np.zeros(len(units))


def pair_scores(
    x: Covariates, t: Arms, labelled: ArrayLike, alpha: float, metric: str = "euclidean"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score of every free pair (Eq. 7), (n1, n0), and which treated and control units its rows and columns are."""
    one, zero = free(t, labelled, 1), free(t, labelled, 0)
    m1, m0 = (novelty(x, t, labelled, units, arm, metric) for units, arm in ((one, 1), (zero, 0)))
    return m1[:, None] + m0[None, :] - alpha * cdist(x[one], x[zero], metric), one, zero


def pair_reach(x: Covariates, t: Arms, labelled: ArrayLike, alpha: float) -> float:
    """Bound on the distance within the pair that MACAL picks next; both arms hold labels, ``alpha`` is positive."""
    units = [free(t, labelled, arm) for arm in (0, 1)]
    m = [novelty(x, t, labelled, units[arm], arm, "euclidean") for arm in (0, 1)]
    farthest = [x[units[arm][m[arm].argmax()]] for arm in (0, 1)]
    h = [np.linalg.norm(x[units[1 - arm]] - farthest[arm], axis=1).min() for arm in (0, 1)]
    # d <= min(h_1 + M_0 / alpha, h_0 + M_1 / alpha)
    return float(min(h[1] + m[0].max() / alpha, h[0] + m[1].max() / alpha))


def literal(
    x: Covariates, t: Arms, labelled: ArrayLike, n_pairs: int, alpha: float, metric: str = "euclidean"
) -> Trace:
    """Pick pairs as published: every score anew for every pair."""
    trace, labelled = Trace(), np.asarray(labelled, np.int64).tolist()
    for _ in range(n_pairs):
        scores, one, zero = pair_scores(x, t, labelled, alpha, metric)
        i, j = np.unravel_index(scores.argmax(), scores.shape)
        trace.add(one[i], zero[j], scores[i, j], scores.size)
        labelled += trace.pairs[-1]
    return trace


def lazy(x: Covariates, t: Arms, labelled: ArrayLike, n_pairs: int, alpha: float, metric: str = "euclidean") -> Trace:
    """Pick pairs lazily: a row's old best bounds its new best, so only rows at the top are looked at again."""
    trace, labelled = Trace(), np.asarray(labelled, np.int64).tolist()
    bound, partner = np.where(t == 1, np.inf, -np.inf), np.zeros(len(t), np.int64)
    bound[labelled] = -np.inf
    for _ in range(n_pairs):
        zero, fresh = free(t, labelled, 0), set()
        m0 = novelty(x, t, labelled, zero, 0, metric)
        while (i := int(bound.argmax())) not in fresh:
            row = novelty(x, t, labelled, np.array([i]), 1, metric) + m0 - alpha * cdist(x[[i]], x[zero], metric)[0]
            bound[i], partner[i] = row.max(), zero[row.argmax()]
            fresh.add(i)
        trace.add(i, partner[i], bound[i], len(fresh) * len(zero))
        labelled += trace.pairs[-1]
        bound[i] = -np.inf
    return trace


def best_sum(
    x: Covariates, t: Arms, labelled: ArrayLike, n_pairs: int, alpha: float, metric: str = "euclidean"
) -> float:
    """Largest sum of scores of ``n_pairs`` pairs picked one after the other, over all sequences: for tiny pools."""

    @cache
    def best(done: frozenset[int], left: int) -> float:  # whatever the order in which they were picked
        scores, one, zero = pair_scores(x, t, sorted(done), alpha, metric)
        if left == 1:
            return float(scores.max())
        pairs = ((scores[i, j], {int(one[i]), int(zero[j])}) for i, j in np.ndindex(scores.shape))
        return float(max(score + best(done | pair, left - 1) for score, pair in pairs))

    return best(frozenset(np.asarray(labelled, np.int64).tolist()), n_pairs)


@dataclass
class Printed:
    """What Algorithm 1 does when it is taken at its word.

    Attributes:
        batches: units of each query, ascending.
        controls: control units in the control training set after each query.
        endless: whether it was stopped because a turn of its inner loop changed nothing.
    """

    batches: list[list[int]] = field(default_factory=list)
    controls: list[int] = field(default_factory=list)
    endless: bool = False


def printed_algorithm(x: Covariates, t: Arms, labelled: ArrayLike, batch_size: int, q_max: int) -> Printed:
    """Run Algorithm 1 as printed, errors included; stopped where it would never end."""
    run, train = Printed(), {arm: {int(u) for u in np.asarray(labelled, np.int64) if t[u] == arm} for arm in (0, 1)}
    pool = {arm: set(map(int, free(t, labelled, arm))) for arm in (0, 1)}
    q = 1
    while q < q_max:
        batch: set[int] = set()
        while len(batch) < batch_size:
            new = _printed_turn(x, t, train, pool)
            if new <= batch:
                run.endless = True
                return run
            batch |= new
        run.batches.append(sorted(batch))
        run.controls.append(sum(int(t[u] == 0) for u in train[0]))
        q += 1
    return run


def _printed_turn(x: Covariates, t: Arms, train: dict[int, set[int]], pool: dict[int, set[int]]) -> set[int]:
    """One turn of the inner loop of Algorithm 1; changes ``train`` and ``pool`` as its lines say."""
    if pool[1] and pool[0]:
        new = set(literal(x, t, [*train[0], *train[1]], 1, 2.5).pairs[0])
        for arm in (0, 1):
            train[arm] |= new & pool[arm]
    else:
        arm = 1 if pool[1] else 0
        # the argmax runs over D^t, which nothing defines
        units = np.array(sorted(pool[arm] | train[arm]))
        new = {int(units[nearest_distance(x[units], x[sorted(train[arm])]).argmax()])}
        train[arm] = train[1] | new  # for controls too: D^1, where D^0 is meant
    for arm in (0, 1):
        pool[arm] -= new
    return new
