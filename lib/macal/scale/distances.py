"""Distances of the people in balls from the labels of their arm.

Let p be the centre of a ball of radius r, and i a member. By the triangle inequality i is at most m(p) + r from the
nearest label, and at least d(p, q) - r - r' from a member j of another ball, of radius r' around q. Centres are people,
whose distances are exact to the last bit, as in :mod:`macal.acquisition.arms`.
"""

import numpy as np

from macal.acquisition.rows import folded
from macal.scale.arm import BallArm, SomeBalls
from macal.shapes import Covariates, Outcomes

_SLACK = 1e-12  # of the largest covariate, for each covariate: more than float64 rounding


class DistanceArm(BallArm):
    """An arm whose people score by how far they are from its labels.

    Args:
        balls: see :class:`BallArm`.
        labels: covariates of the people with a label at the beginning, (k, d).
        n_free: see :class:`BallArm`.
        squared: whether distances are squared.
    """

    def __init__(self, balls: SomeBalls, labels: Covariates, n_free: int, squared: bool) -> None:
        super().__init__(balls, len(labels), n_free)
        self._labels, self._squared = list(labels), squared
        self.size = max(np.abs(balls.x).max(initial=0.0), np.abs(labels).max(initial=0.0))
        self._d2 = self._nearest(balls.x)

    def _nearest(self, x: Covariates) -> Outcomes:
        d2 = np.full(len(x), np.inf)
        for label in self._labels:
            np.minimum(d2, folded(np.square(x - label)), out=d2)
        return d2

    def of(self, distance: np.ndarray) -> np.ndarray:
        """The metric of distances, which are overwritten."""
        return np.square(distance, out=distance) if self._squared else distance

    def metric(self, d2: np.ndarray) -> np.ndarray:
        """The metric of squared distances."""
        return d2 if self._squared else np.sqrt(d2)

    @property
    def slack(self) -> float:
        """More than rounding can add to a distance between people, in the metric."""
        size = self.size * self.balls.x.shape[1]
        return _SLACK * size * (size if self._squared else 1.0)

    @property
    def alone(self) -> Outcomes:
        """Distance from each centre to the nearest label, (p,); infinite without labels."""
        return self.metric(self._d2)

    @property
    def exact(self) -> Outcomes:
        """The same as part of a pair: 0 without labels, minus infinity where a centre is taken, (p,)."""
        return np.where(self.free, self.alone if self._labels else 0.0, -np.inf)

    @property
    def bound(self) -> Outcomes:
        """At least the distance from each member to the nearest label, (p,); minus infinity where there is none."""
        far = self.of(np.sqrt(self._d2) + self.balls.radius) + self.slack if self._labels else 0.0
        return np.where(self.free | self.more, far, -np.inf)

    def _labelled(self, k: int) -> None:
        # a view would keep a whole list of balls that is out of date
        self._labels.append(self.balls.x[k].copy())
        np.minimum(self._d2, folded(np.square(self.balls.x - self._labels[-1])), out=self._d2)

    def _added(self, x: Covariates) -> None:
        self._d2 = np.append(self._d2, self._nearest(x))
