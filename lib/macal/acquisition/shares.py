"""Batches that spend more labels on the arm that is harder to learn, by the model's own variances.

Where the variance of arm t's surface falls like sigma_t^2 / n_t, the sum over both arms is least for numbers of labels
in proportion to sigma_t. Here sigma_t^2 is n_t times the posterior variance of the surface, mean over the pool.

Reference: J. Neyman, "On the Two Different Aspects of the Representative Method", Journal of the Royal Statistical
Society 97(4), 1934 (the shares).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from macal.acquisition.base import Criterion, PoolState
from macal.acquisition.distances import Macal
from macal.acquisition.random import by_share
from macal.compat import override
from macal.search.nearest import split_arms
from macal.search.scores import FarthestFirst
from macal.shapes import Indices


@dataclass(frozen=True)
class Neyman(Criterion):
    """The share by the estimated errors of the arms, farthest-first within each."""

    needs: ClassVar[tuple[str, ...]] = ("posterior",)

    def share(self, state: PoolState) -> float:
        """Share of all labels that the treated should have, sigma_1 / (sigma_0 + sigma_1)."""
        variance = state.need("posterior", self).cov[:, [0, 1], [0, 1]].mean(axis=0).clip(min=0)  # (2,)
        labels = np.bincount(state.t[state.labelled], minlength=2).clip(min=1)
        sigma = np.sqrt(labels * variance)
        return float(sigma[1] / sigma.sum()) if sigma.any() else 0.5

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        return self.place(state, by_share(state, self.share(state), batch_size))

    def place(self, state: PoolState, counts: tuple[int, int]) -> Indices:
        """Choose so many control and treated units."""
        arms = split_arms(state.x, state.t, state.labelled)
        present = [counts[arm] for arm in np.unique(state.t)]
        return np.concatenate([FarthestFirst([arm]).batch(n)[0] for arm, n in zip(arms, present, strict=True)])


@dataclass(frozen=True)
class MacalNeyman(Neyman):
    """MACAL's pairs, with weight ``alpha``, as far as the smaller share goes, then farthest-first in the other arm."""

    alpha: float = 2.5

    def __post_init__(self) -> None:
        Macal(alpha=self.alpha)

    @override
    def place(self, state: PoolState, counts: tuple[int, int]) -> Indices:
        pairs = min(counts)
        batch = Macal(alpha=self.alpha).select(state, 2 * pairs) if pairs else np.empty(0, np.int64)
        after = replace(state, labelled=np.concatenate([state.labelled, batch]))
        return np.concatenate([batch, super().place(after, (counts[0] - pairs, counts[1] - pairs))])
