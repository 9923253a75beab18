"""BADGE, LCMD and BAIT, which select by a fitted model's features: :mod:`macal.acquisition.features`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from macal.acquisition.base import Criterion, PoolState
from macal.optional import needed
from macal.shapes import Indices


@dataclass(frozen=True)
class _Featured(Criterion):
    """Select by ``Belief.features``, from the labelled units if ``with_train``, else from the pool alone."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ("features",)
    with_train: bool = False

    def select(self, state: PoolState, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`; ValueError where the state has no features, or not of the pool."""
        features, free = np.asarray(state.need("features", self)), state.unlabelled
        if not free.size:
            return free
        with needed("torch", "criteria of features"):
            from macal.acquisition.features import from_features
        return free[
            from_features(self.name, features[state.labelled], features[free], batch_size, self.with_train, state.rng)
        ]


@dataclass(frozen=True)
class Badge(_Featured):
    """k-means++ on the features: :class:`.features.KMeansDraw`."""

    name: ClassVar[str] = "badge"
    stochastic: ClassVar[bool] = True


@dataclass(frozen=True)
class Lcmd(_Featured):
    """Largest-cluster maximum distance on the features: :class:`.features.LargestCluster`."""

    name: ClassVar[str] = "lcmd"


@dataclass(frozen=True)
class Bait(_Featured):
    """Greedy trace reduction on the features: :func:`.features.bait`."""

    name: ClassVar[str] = "bait"
