"""Criteria made of distances between covariates: Core-Set, QHTE, Symmetry and MACAL.

All four need (x, t, start) alone. ``m[i]`` is the distance from unit i to the nearest labelled unit of its own arm,
with the picks of the batch under way counted as labelled. MACAL's next pair maximises m[i] + m[j] - alpha d(i, j) over
free treated i and free controls j. Label ``sec-algorithm`` of the book computes all these scores in a few lines;
:mod:`macal.search.pairs` finds the same pair without them.

References:
    H. Wen, T. Chen, G. Ye, L. K. Chai, S. Sadiq and H. Yin, "Progressive Generalization Risk Reduction for
    Data-Efficient Causal Effect Estimation", KDD, 2025 (MACAL; Symmetry, its part).
    T. Qin, T.-Z. Wang and Z.-H. Zhou, "Budgeted Heterogeneous Treatment Effect Estimation", ICML, 2021 (QHTE).
    O. Sener and S. Savarese, "Active Learning for Convolutional Neural Networks: A Core-Set Approach", ICLR, 2018.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from macal.acquisition.base import MAX_CANDIDATES, Planned, PoolState
from macal.arguments import NotNegative, as_hinted
from macal.compat import override
from macal.registry import check_known
from macal.search.nearest import split_arms
from macal.search.pairs import PairSearches
from macal.search.scores import FarthestFirst, Nearest
from macal.shapes import Outcomes

METRICS = ("euclidean", "sqeuclidean")
_RETIRED = {"device": "cpu"}  # distances could once be computed elsewhere


class _FarthestFirst(Planned):
    retired: ClassVar[dict[str, str]] = _RETIRED
    multi_arm: ClassVar[bool] = True
    within_arms: ClassVar[bool]

    @override
    def search(self, state: PoolState, price: Outcomes | None = None) -> Nearest | FarthestFirst:
        groups = state.t if self.within_arms else np.zeros_like(state.t)
        arms = split_arms(state.x, groups, state.labelled, every=price is not None)
        return FarthestFirst(arms) if price is None else Nearest(arms, state.free)


@dataclass(frozen=True)
class CoreSet(_FarthestFirst):
    """Farthest-first over the whole pool, whatever the arm: greedy k-centre; without labels from the first unit on."""

    reason: ClassVar[str] = "It asks the person who is farthest from all labels."
    within_arms: ClassVar[bool] = False


@dataclass(frozen=True)
class QHTE(_FarthestFirst):
    """Farthest-first within each arm, one at a time; an arm without labels first, then that of the farther unit."""

    reason: ClassVar[str] = "It asks the person who is farthest from the labels of their own arm."
    within_arms: ClassVar[bool] = True


@dataclass(frozen=True)
class _Pairs(Planned):
    """One treated and one control unit at a time; of several arms, the one with the fewest labels pairs up next.

    Once an arm is exhausted, and for the last unit of an odd batch, the pick is farthest-first, as in :class:`QHTE`.

    Attributes:
        alpha: weight of the distance within a pair.
        novelty: weight of the distances from the labels.
        metric: "euclidean" as the paper states, "sqeuclidean" as its public code computes; else UnknownName.
    """

    retired: ClassVar[dict[str, str]] = _RETIRED
    min_batch_size: ClassVar[int] = 2
    multi_arm: ClassVar[bool] = True
    novelty: ClassVar[float] = 1.0

    metric: str = "euclidean"

    def __post_init__(self) -> None:
        check_known("metric", METRICS, self.metric)

    @override
    def search(self, state: PoolState, price: Outcomes | None = None) -> PairSearches:
        """See :meth:`Planned.search`; ValueError where all units are in one arm."""
        if len(np.unique(state.t)) < 2:
            raise ValueError("pairs need two arms, and all units of this pool are in one; check t")
        return PairSearches(state.x, state.t, state.labelled, float(self.alpha), self.novelty, self.metric, price)


@dataclass(frozen=True)
class Symmetry(_Pairs):
    """The closest pair of opposite arms (Eq. 6 of the paper)."""

    reason: ClassVar[str] = "It asks the treated person and the control who are nearest to each other."
    alpha: ClassVar[float] = 1.0
    novelty: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Macal(_Pairs):
    """Pairs that are far from what is labelled and close to each other (Eq. 7 and Algorithm 1 of the paper).

    Attributes:
        alpha: weight of the distance within the pair, at least 0.
        metric: "euclidean" as the paper states, "sqeuclidean" as its public code computes.

    Raises:
        ValueError: a negative or non-finite alpha, or an unknown metric.
    """

    reason: ClassVar[str] = (
        "It asks pairs of a treated person and a control who are near each other and far from earlier labels."
    )
    max_candidates: ClassVar[float] = MAX_CANDIDATES

    alpha: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.__dict__.update(as_hinted({"alpha": self.alpha}, {"alpha": NotNegative}))
