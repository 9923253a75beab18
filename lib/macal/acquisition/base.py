"""What a criterion sees, and what it must do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from macal.problem import as_arms, as_count, as_covariates, as_indices
from macal.shapes import Arms, Covariates, Indices


@dataclass(frozen=True, eq=False)
class State:
    """A campaign between two queries, as label-free criteria see it.

    Attributes:
        x: covariates of the pool, (n, d) float64.
        t: treatment of the pool, (n,).
        labelled: indices that have been labelled, (m,).
        rng: source of randomness for criteria that draw.
    """

    x: Covariates
    t: Arms
    labelled: Indices
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def unlabelled(self) -> Indices:
        """Indices that may still be labelled, ascending."""
        free = np.ones(len(self.t), bool)
        free[self.labelled] = False
        return np.flatnonzero(free)


class Criterion(ABC):
    """A rule that chooses the next batch to be labelled.

    Attributes:
        stochastic: whether the choice depends on ``State.rng``.
    """

    stochastic: ClassVar[bool] = False

    @abstractmethod
    def select(self, state: State, batch_size: int) -> Indices:
        """Return the next ``batch_size`` indices to label (or all that are left), distinct and in pick order."""


def campaign(
    criterion: Criterion, x: Any, t: Any, labelled: Any, n_queries: int = 46, batch_size: int = 10, seed: int = 0
) -> list[Indices]:
    """Plan a whole campaign of a label-free criterion before any outcome is known.

    Args:
        criterion: the rule.
        x: covariates of the pool, (n, d): array, tensor or DataFrame.
        t: treatment, (n,), 0 or 1.
        labelled: indices labelled before the first query; may be empty, or lack an arm.
        n_queries: number of batches.
        batch_size: labels per batch.
        seed: of the criterion's own draws.

    Returns:
        One integer array per query, in pick order; fewer than ``n_queries`` where the pool is exhausted first.

    Raises:
        ValueError: an argument is of the wrong shape, type or range.
    """
    x = as_covariates(x).astype(np.float64)
    t = as_arms(t, len(x))
    done = as_indices(labelled, len(x))
    n_queries, batch_size = as_count(n_queries, "n_queries"), as_count(batch_size, "batch_size")
    rng = np.random.default_rng(seed)
    batches: list[Indices] = []
    while len(batches) < n_queries and len(done) < len(x):
        batches.append(criterion.select(State(x, t, done, rng), batch_size))
        done = np.concatenate([done, batches[-1]])
    return batches
