"""Labels without a thought: the benchmarks that every criterion has to beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from macal.acquisition.base import Criterion, PoolState
from macal.arguments import arms_of
from macal.compat import override
from macal.shapes import Indices


@dataclass(frozen=True)
class Random(Criterion):
    """Uniform over the unlabelled units, without replacement."""

    stochastic: ClassVar[bool] = True
    multi_arm: ClassVar[bool] = True

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        free = state.unlabelled
        return state.rng.choice(free, min(batch_size, free.size), replace=False)


@dataclass(frozen=True)
class RandomBalanced(Criterion):
    """Uniform within each arm, the arms alternating, the reference last; from the others once one is exhausted."""

    stochastic: ClassVar[bool] = True
    multi_arm: ClassVar[bool] = True

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        free = state.rng.permutation(state.unlabelled)
        arms = [free[state.t[free] == arm] for arm in (*range(1, arms_of(state.t)), 0)]
        turn = np.concatenate([len(arms) * np.arange(arm.size) + k for k, arm in enumerate(arms)])
        return np.concatenate(arms)[turn.argsort()][:batch_size]


@dataclass(frozen=True)
class RandomShare(Criterion):
    """Uniform within each arm, as many treated as bring their share of all labels nearest to ``share``, in (0, 1).

    Where an arm is exhausted the other one fills the batch.
    """

    stochastic: ClassVar[bool] = True
    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share!r}")

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        free = state.rng.permutation(state.unlabelled)
        treated, control = free[state.t[free] == 1], free[state.t[free] == 0]
        n_control, n_treated = by_share(state, self.share, batch_size)
        return np.concatenate([treated[:n_treated], control[:n_control]])


def by_share(state: PoolState, share: float, batch_size: int) -> tuple[int, int]:
    """Control and treated units of a batch that bring the treated's share of all labels nearest to ``share``."""
    control, treated = np.bincount(state.t[state.unlabelled], minlength=2).tolist()
    batch_size = min(batch_size, control + treated)
    wanted = share * (len(state.labelled) + batch_size) - (state.t[state.labelled] == 1).sum()
    n_treated = int(np.clip(round(wanted), max(0, batch_size - control), min(treated, batch_size)))
    return batch_size - n_treated, n_treated
