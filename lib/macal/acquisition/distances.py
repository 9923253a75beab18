"""Criteria made of distances between covariates: QHTE, Symmetry and MACAL, written down as plainly as they read.

All three need (x, t, start) alone. Notation: ``m[i]`` is the distance from unit i to the nearest labelled unit of its
own arm, with the picks of the batch under way counted as labelled.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from macal.acquisition.base import Criterion, State
from macal.metrics import nearest_distance
from macal.registry import UnknownName
from macal.shapes import ControlDistances, Indices, PairScores, TreatedDistances

METRICS = ("euclidean", "sqeuclidean")


class _Selection:
    """A batch under way: which units are free in each arm, and how far each is from the labelled units of its arm."""

    def __init__(self, state: State, metric: str) -> None:
        self.x, self.t, self.metric = state.x, state.t, metric
        self.free = np.isin(np.arange(len(self.t)), state.unlabelled)
        self.m = np.empty(len(self.t))
        for arm in (0, 1):
            units = self.t == arm
            self.m[units] = nearest_distance(
                self.x[units], self.x[state.labelled[self.t[state.labelled] == arm]], metric
            )
        self.picks: list[int] = []

    def arm(self, arm: int) -> Indices:
        """Free units of an arm."""
        return np.flatnonzero(self.free & (self.t == arm))

    def take(self, unit: np.integer) -> None:
        """Count ``unit`` as labelled."""
        self.picks.append(int(unit))
        self.free[unit] = False
        own = self.t == self.t[unit]
        self.m[own] = np.minimum(self.m[own], cdist(self.x[own], self.x[[unit]], self.metric)[:, 0])

    def take_farthest(self) -> None:
        """Take the free unit farthest from its own arm's labelled units (Eq. 5 of the paper, over both arms)."""
        self.take(np.where(self.free, self.m, -np.inf).argmax())


def _check_metric(metric: str) -> None:
    if metric not in METRICS:
        raise UnknownName("metric", metric, METRICS)


@dataclass(frozen=True)
class QHTE(Criterion):
    """Farthest-first within each arm, one unit at a time (Qin et al. 2021).

    The arm whose farthest unit is farther goes next. An arm without a labelled unit is infinitely far and goes first.
    """

    def select(self, state: State, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`."""
        batch = _Selection(state, "euclidean")
        while len(batch.picks) < batch_size and batch.free.any():
            batch.take_farthest()
        return np.array(batch.picks, np.int64)


@dataclass(frozen=True)
class _Pairs(Criterion):
    """One treated and one control unit at a time.

    Once an arm is exhausted, and for the last unit of an odd batch, the pick is one-sided: farthest-first, as in
    :class:`QHTE`.
    """

    metric: str = "euclidean"

    def __post_init__(self) -> None:
        _check_metric(self.metric)

    @abstractmethod
    def scores(self, m1: TreatedDistances, m0: ControlDistances, d: PairScores) -> PairScores:
        """Score of every pair, from ``m`` in the two arms and the distances ``d`` between them."""

    def select(self, state: State, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`."""
        if len(np.unique(state.t)) < 2:
            raise ValueError("pairs need two arms, and all units of this pool are in one; check t, or use 'qhte'")
        batch = _Selection(state, self.metric)
        while len(batch.picks) < batch_size and batch.free.any():
            treated, control = batch.arm(1), batch.arm(0)
            if not (treated.size and control.size) or batch_size - len(batch.picks) == 1:
                batch.take_farthest()
                continue
            d = cdist(state.x[treated], state.x[control], self.metric)
            # any constant will do for an arm without labels: it is the same for all its units
            m1, m0 = (np.where(np.isinf(m), 0.0, m) for m in (batch.m[treated], batch.m[control]))
            i, j = np.unravel_index(self.scores(m1, m0, d).argmax(), d.shape)
            batch.take(treated[i])
            batch.take(control[j])
        return np.array(batch.picks, np.int64)


@dataclass(frozen=True)
class Symmetry(_Pairs):
    """The closest pair of opposite arms (Eq. 6 of the paper)."""

    def scores(self, m1: TreatedDistances, m0: ControlDistances, d: PairScores) -> PairScores:
        """See :meth:`_Pairs.scores`."""
        return -d


@dataclass(frozen=True)
class Macal(_Pairs):
    """Pairs that are far from what is labelled and close to each other (Eq. 7 and Algorithm 1 of the paper).

    Attributes:
        alpha: weight of the distance within the pair, at least 0.
        metric: "euclidean" as the paper states, "sqeuclidean" as its public code computes.

    Raises:
        ValueError: a negative or non-finite alpha, or an unknown metric.
    """

    alpha: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, (int, float)) or not 0 <= self.alpha < np.inf:
            raise ValueError(f"alpha must be a finite number of at least 0, got {self.alpha!r}")

    def scores(self, m1: TreatedDistances, m0: ControlDistances, d: PairScores) -> PairScores:
        """See :meth:`_Pairs.scores`."""
        return m1[:, None] + m0[None, :] - self.alpha * d
