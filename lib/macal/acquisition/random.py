"""Labels without a thought: the benchmarks that every criterion has to beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from macal.acquisition.base import Criterion, PoolState
from macal.shapes import Indices


@dataclass(frozen=True)
class Random(Criterion):
    """Uniform over the unlabelled units, without replacement."""

    stochastic: ClassVar[bool] = True

    def select(self, state: PoolState, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`."""
        free = state.unlabelled
        return state.rng.choice(free, min(batch_size, free.size), replace=False)


@dataclass(frozen=True)
class RandomBalanced(Criterion):
    """Uniform within each arm, the arms alternating, treated first; from the other arm once one is exhausted.

    The control that separates the balance of the arms from the similarity of the pairs: same balance as MACAL, no
    distances.
    """

    stochastic: ClassVar[bool] = True

    def select(self, state: PoolState, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`."""
        free = state.rng.permutation(state.unlabelled)
        treated, control = free[state.t[free] == 1], free[state.t[free] == 0]
        turn = np.concatenate([2 * np.arange(treated.size), 2 * np.arange(control.size) + 1])
        return np.concatenate([treated, control])[turn.argsort()][:batch_size]
