"""Random labels that take half of MACAL's idea each: the locally rare arm without pairs, pairs without coverage.

References:
    D. G. Horvitz and D. J. Thompson, "A Generalization of Sampling Without Replacement From a Finite Universe", Journal
    of the American Statistical Association 47(260), 1952 (inverse probabilities).
    D. B. Rubin, "Matching to Remove Bias in Observational Studies", Biometrics 29(1), 1973 (nearest counterparts).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from macal.acquisition.bald import propensity_of
from macal.acquisition.base import Criterion, PoolState
from macal.compat import override
from macal.shapes import Indices

MIN_PROPENSITY = 0.01  # of a propensity, so that no unit's weight is more than 100


@dataclass(frozen=True)
class RandomRare(Criterion):
    """Draw units without replacement, by weights 1 / P(own arm | x), with the propensity as in pi-BALD."""

    stochastic: ClassVar[bool] = True

    @override
    def begin(self, state: PoolState) -> PoolState:
        return replace(state, belief=replace(state.belief, propensity=propensity_of(state, self)))

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        free, e = state.unlabelled, propensity_of(state, self)
        chance = np.where(state.t == 1, e, 1 - e)[free].clip(min=MIN_PROPENSITY)
        # the least of exponential times at rates 1 / chance comes first with probability proportional to its rate
        return free[(state.rng.exponential(size=free.size) * chance).argsort()[:batch_size]]


@dataclass(frozen=True)
class RandomPairs(Criterion):
    """Draw a unit uniformly, add its nearest unlabelled unit of the other arm, and again; one alone if none is left."""

    stochastic: ClassVar[bool] = True

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        free = state.rng.permutation(state.unlabelled)
        first = free[:batch_size]
        # (batch, n)
        gap = np.where(state.t[first, None] == state.t[free], np.inf, cdist(state.x[first], state.x[free]))
        picks: list[int] = []
        for k in range(len(first)):
            if k not in picks:
                gap[:, picks] = np.inf
                partner = int(gap[k].argmin())
                picks += [k, partner] if np.isfinite(gap[k, partner]) else [k]
        return free[picks[:batch_size]]
