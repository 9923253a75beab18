"""The best pair of a pool that only its balls show, and how much better another could be.

Let s(i, j) = m1[i] + m0[j] - alpha d(i, j), as in :mod:`macal.acquisition.pairs`, and let p and q be the centres of the
balls of i and j, of radius r and r'. Then (:mod:`macal.scale.distances`)

    s(i, j) <= m1[p] + r + m0[q] + r' - alpha max(0, d(p, q) - r - r') <= s(p, q) + (1 + alpha) (r + r').

The middle is the bound of a pair of balls. What the best pair of centres scores is had; by how much the highest bound
exceeds it is the certificate: no pair of people scores more by a larger sum. The search is lazy, as over people: scores
and bounds only fall, so old ones bound new ones, and rows are looked at in the order of what they promise, until none
promises more than was found. Where a ball is opened, its parts inherit its bounds.
"""

import numpy as np

from macal.acquisition.rows import folded
from macal.scale.distances import DistanceArm
from macal.shapes import Covariates, Indices, Outcomes

_ROWS = 64  # looked at together
_TILE = 2**20  # pairs of balls whose bounds are computed at a time


class BallPairs:
    """Pairs of balls of two arms.

    Args:
        control: the reference arm.
        treated: the other one.
        alpha: weight of the distance within a pair, at least 0.
        novelty: weight of the distances from the labels: 1 for MACAL, 0 for the closest pair.
    """

    def __init__(self, control: DistanceArm, treated: DistanceArm, alpha: float, novelty: float) -> None:
        self.control, self.treated = self.arms = control, treated
        self._alpha, self._novelty = alpha, novelty
        self._centre = np.concatenate([arm.balls.x for arm in self.arms]).mean(axis=0)
        self._forget()

    def _forget(self) -> None:
        # of each row: the most that a centre pairs for, and that an open ball does on either side
        self._had, self._may = (np.full(len(self.treated), np.inf) for _ in range(2))
        self._with = np.zeros(len(self.treated), np.int64)
        self._blank = [not arm.n_labels for arm in self.arms]

    def opened(self, arm: DistanceArm, origin: Indices) -> None:
        """Take note that balls of an arm were opened; ``origin`` is where each new one comes from."""
        if arm is self.treated:
            parents = self._may[origin]
            self._had, self._may = np.append(self._had, parents), np.append(self._may, parents)
            self._with = np.append(self._with, np.zeros(len(origin), np.int64))
        elif len(origin):
            # centres that were members: they score no more than the bound of their ball
            self._had = np.maximum(self._had, self._may)

    def begin(self) -> None:
        """Prepare for the labels as they are now."""
        if self._blank != [not arm.n_labels for arm in self.arms]:
            self._forget()
        self._slack = (1 + self._alpha) * sum(arm.slack for arm in self.arms)
        self._m = [self._weighed(arm.exact) for arm in self.arms]
        self._h = [self._weighed(arm.bound) for arm in self.arms]
        self._open = [arm.open for arm in self.arms]
        self._fresh = np.zeros(len(self.treated), bool)
        self._right = self._factor(self.control.balls.x, 1.0)[:, [*range(len(self._centre)), -1, -2]].T
        self._pair: tuple[float, int, int] = (-np.inf, -1, -1)

    def _weighed(self, m: Outcomes) -> Outcomes:
        return self._novelty * m if self._novelty else np.where(np.isfinite(m), 0.0, m)

    def _factor(self, x: Covariates, weight: float) -> Covariates:
        """Rows (weight z, 1, low) of centred covariates, low = |z|^2 (1 - eta), (k, d + 2)."""
        z = x - self._centre
        eta = np.finfo(float).eps * (z.shape[1] + 8)
        return np.column_stack([weight * z, np.ones(len(z)), (1 - eta) * np.einsum("kd,kd->k", z, z)])

    def best(self) -> tuple[float, int, int]:
        """Score and places (treated, control) of the best pair of centres; of equal scores the lowest rows."""
        top = self._m[0].max(initial=-np.inf)
        while True:
            promise = np.minimum(self._had, self._m[1] + top + self._slack)
            promise[self._fresh] = -np.inf
            rows = _highest(promise, max(self._pair[0], np.finfo(float).min))
            if not len(rows):
                return self._pair
            self._look(rows)

    def beyond(self, least: float) -> tuple[float, Indices]:
        """The highest bound of a pair with an open ball, and rows whose bound is at least so high, the highest first.

        All that is returned has been looked at since :meth:`begin`; of rows above ``least`` there may be more.
        """
        top = [self._h[0].max(initial=-np.inf), self._h[0][self._open[0]].max(initial=-np.inf)]
        while True:
            promise = np.minimum(self._may, self._h[1] + np.where(self._open[1], *top) + self._slack)
            stale = np.where(self._fresh, -np.inf, promise)
            highest = promise.max(initial=-np.inf)
            if stale.max(initial=-np.inf) < highest or highest == -np.inf:
                reaching = np.flatnonzero(self._fresh & (promise >= least) & np.isfinite(promise))
                return float(highest), reaching[np.argsort(-promise[reaching], kind="stable")]
            self._look(_highest(stale, -np.inf))

    def partner(self, row: int) -> int:
        """The control ball with which a row that was looked at has its highest bound."""
        return int(self._with[row])

    def _look(self, rows: Indices) -> None:
        """Find the best pairs of centres, and the highest bounds, of some rows (k,)."""
        step = max(1, _TILE // max(1, len(self.control)))
        for is_open in (False, True):
            some = rows[self._open[1][rows] == is_open]
            for k in range(0, len(some), step):
                self._look_at(some[k : k + step], is_open)
        self._fresh[rows] = True

    def _look_at(self, rows: Indices, is_open: bool) -> None:
        treated, control = self.treated, self.control
        # (k, p), from below
        squares = self._factor(treated.balls.x[rows], -2.0) @ self._right
        distance = np.sqrt(squares.clip(min=0, out=squares), out=squares)
        had = self._m[0] - self._alpha * treated.of(distance.copy())
        self._had[rows] = self._m[1][rows] + had.max(1) + self._slack
        self._compare(rows, had)
        distance -= control.balls.radius
        distance -= treated.balls.radius[rows, None]
        may = self._h[0] if is_open else np.where(self._open[0], self._h[0], -np.inf)
        may = may - self._alpha * treated.of(distance.clip(min=0, out=distance))
        self._with[rows] = may.argmax(1)
        self._may[rows] = np.minimum(self._may[rows], self._h[1][rows] + may.max(1) + self._slack)

    def _compare(self, rows: Indices, had: np.ndarray) -> None:
        """Compare the best pair so far with all of some rows (k, p) that may score as much, by their exact scores."""
        had = had + self._m[1][rows, None] + self._slack
        self._keep(rows, had.argmax(1))
        i, j = np.nonzero(had >= max(self._pair[0], np.finfo(float).min))
        self._keep(rows[i], j)

    def _keep(self, i: Indices, j: Indices) -> None:
        """Keep the best of some pairs, places (k,) each, if it is better than the best so far."""
        score = self._scores(i, j)
        if not score.max(initial=-np.inf) > -np.inf:
            return
        ties = np.flatnonzero(score == score.max())
        one, zero = self.treated.balls.rows[i[ties]], self.control.balls.rows[j[ties]]
        k = ties[np.lexsort([zero, one])[0]]
        self._pair = min(self._pair, (float(score[k]), int(i[k]), int(j[k])), key=self._rank)

    def _rank(self, pair: tuple[float, int, int]) -> tuple[float, int, int]:
        score, i, j = pair
        return (-score, int(self.treated.balls.rows[i]), int(self.control.balls.rows[j]))

    def _scores(self, i: Indices, j: Indices) -> Outcomes:
        """Exact scores of pairs of centres, novelty (m1 + m0) - alpha d, (k,); minus infinity where one is taken."""
        d = self.treated.metric(folded(np.square(self.treated.balls.x[i] - self.control.balls.x[j])))
        return self._m[1][i] + self._m[0][j] - self._alpha * d


def _highest(promise: Outcomes, least: float) -> Indices:
    """Places of the highest promises that are at least so high, up to ``_ROWS``."""
    places = np.flatnonzero(promise >= least)
    if len(places) > _ROWS:
        places = places[np.argpartition(-promise[places], _ROWS)[:_ROWS]]
    return places
