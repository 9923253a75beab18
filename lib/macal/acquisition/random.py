"""Labels without a thought: the benchmark that every criterion has to beat."""

from dataclasses import dataclass
from typing import ClassVar

from macal.acquisition.base import Criterion, State
from macal.shapes import Indices


@dataclass(frozen=True)
class Random(Criterion):
    """Uniform over the unlabelled units, without replacement."""

    stochastic: ClassVar[bool] = True

    def select(self, state: State, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`."""
        free = state.unlabelled
        return state.rng.choice(free, min(batch_size, free.size), replace=False)
