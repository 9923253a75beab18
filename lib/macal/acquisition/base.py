"""What a criterion sees, and what it must do."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int

from macal.arguments import arms_of, as_arms, as_count, as_covariates, as_indices
from macal.hashing import mixed, of_rows, uniform
from macal.posterior import Posterior, Prior
from macal.progress import progress
from macal.shapes import Arms, Covariates, Features, Indices, Outcomes
from macal.threads import one_thread

Barred = Int[np.ndarray, "_"]


@dataclass(frozen=True, eq=False)
class PoolState:
    """The pool between two queries, as criteria see it; label-free ones need no more than the first four.

    Attributes:
        x: covariates of the pool, (n, d) float64.
        t: treatment of the pool, (n,).
        labelled: indices that have been labelled, (m,).
        rng: source of randomness for criteria that draw.
        posterior: belief of the model fitted last about the whole pool, n units.
        features: of the whole pool under that model, (n, p), e.g. its gradients.
        propensity: probability of treatment, (n,); criteria that need it estimate it from x and t where it is missing.
        prior: hyperparameters of the model fitted last, where it is a Gaussian process of the covariates.
        barred: indices of units without a label that may not be picked; rules that draw keep to this.
        among: indices of the units that stand for the population, where others are looked at beside them, (k,).
        weights: people whom each unit stands for, (n,), where the pool is a sample with unequal chances.
    """

    x: Covariates
    t: Arms
    labelled: Indices
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    posterior: Posterior | None = None
    features: Features | None = None
    propensity: Outcomes | None = None
    prior: Prior | None = None
    barred: Barred = field(default_factory=lambda: np.empty(0, np.int64))
    among: Barred | None = None
    weights: Outcomes | None = None

    @property
    def unlabelled(self) -> Indices:
        """Indices that may still be labelled, ascending."""
        free = np.ones(len(self.t), bool)
        free[self.labelled] = free[self.barred] = False
        return np.flatnonzero(free)

    def drawn(self, most: int) -> Indices:
        """Places of so many of the units that stand for the population, or of all if fewer, ascending.

        A hash of the covariates draws them: the same people in any order of the rows. Units with equal covariates are
        told apart by their number, and whoever stands for more people is drawn with a larger chance.
        """
        among = np.arange(len(self.t)) if self.among is None else self.among
        if len(among) <= most:
            return among
        hashes = of_rows(self.x[among])
        order = np.argsort(hashes, kind="stable")
        first = np.flatnonzero(np.diff(hashes[order], prepend=~hashes[order[:1]]) != 0)
        number = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        # exponential times with the weights as rates: the first to end are a draw in proportion to the weights
        time = -np.log(uniform(mixed(hashes[order] ^ number.astype(np.uint64))))
        time /= 1.0 if self.weights is None else self.weights[among[order]]
        return np.sort(among[order[np.argsort(time, kind="stable")[:most]]])

    def need(self, name: str, criterion: object) -> Any:
        """Return a field that the model provides.

        Raises:
            ValueError: the field is missing, or not about the n units of the pool.
        """
        value, rule = getattr(self, name), type(criterion).__name__
        if value is None:
            raise ValueError(
                f"{rule} needs PoolState.{name}, which only a fitted model provides:"
                " advance step by step, or use a label-free criterion"
            )
        if isinstance(value, Prior):
            return value
        n = len(value.mean) if isinstance(value, Posterior) else len(value)
        if n != len(self.t):
            raise ValueError(f"PoolState.{name} must describe all {len(self.t)} units of the pool for {rule}, got {n}")
        return value


class Criterion(ABC):
    """A rule that chooses the next batch to be labelled.

    Attributes:
        stochastic: whether the choice depends on ``PoolState.rng``.
        needs: fields of the state that only a fitted model can provide; label-free criteria need none.
        least: labels that a batch must have for the rule to mean something.
        several: whether the rule knows more arms than two, each compared with arm 0.
        chooser: name of the model that it goes by in :func:`macal.run`, unless told otherwise; None for the one that
            judges.
    """

    stochastic: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    least: ClassVar[int] = 1
    several: ClassVar[bool] = False
    chooser: ClassVar[str | None] = None

    def begin(self, state: PoolState) -> PoolState:
        """Return the state of a campaign that begins, with what can be computed once for all batches."""
        return state

    @abstractmethod
    def select(self, state: PoolState, batch_size: int) -> Indices:
        """Return the next ``batch_size`` indices to label (or all that are left), distinct and in pick order."""

    def plan(self, state: PoolState, sizes: Iterable[int]) -> Iterator[Indices]:
        """Yield one batch after the other, each chosen with those before counted as labelled.

        It ends when the pool is exhausted. A plan can be stopped at any batch and continued later: by the same
        iterator, or by a new one from a state whose ``labelled`` is the start followed by the batches so far.

        Args:
            state: the campaign as it stands.
            sizes: labels per batch.
        """
        state = self.begin(state)
        for size in sizes:
            batch = self.select(state, size)
            if not len(batch):
                return
            yield batch
            state = replace(state, labelled=np.concatenate([state.labelled, batch]))


class Planned(Criterion):
    """A criterion that plans many batches in one go, and keeps what it computes; one batch is the first of a plan."""

    @abstractmethod
    def plan(self, state: PoolState, sizes: Iterable[int]) -> Iterator[Indices]:
        """See :meth:`Criterion.plan`."""

    def select(self, state: PoolState, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`."""
        return next(self.plan(state, [batch_size]), np.empty(0, np.int64))


def check_arms(criterion: Criterion, t: Arms) -> None:
    """Refuse more arms than a criterion knows, and an arm in between in which nobody is.

    Raises:
        ValueError: names the criterion, and those that would do.
    """
    count, present = arms_of(t), np.unique(t)
    if count > 2 and len(present) < count:
        raise ValueError(
            f"t must be binary (0 control, 1 treated), or number {count} arms without a gap, got {present.tolist()};"
            " recode the treatment"
        )
    if count > 2 and not criterion.several:
        raise ValueError(
            f"{type(criterion).__name__} compares two arms, and t has {count}; take 'macal', 'symmetry', 'qhte',"
            " 'coreset', 'alc-fixed', 'random-balanced' or 'random', or plan for two arms at a time"
        )


def as_batch_size(batch_size: Any, criterion: Criterion) -> int:
    """Return ``batch_size`` as an int that the criterion can make use of.

    Raises:
        ValueError: not an integer, or too few labels for the criterion.
    """
    batch_size = as_count(batch_size, "batch_size")
    if batch_size < criterion.least:
        raise ValueError(
            f"{type(criterion).__name__} buys pairs, so batch_size must be at least {criterion.least},"
            f" got {batch_size}; 'qhte' chooses one unit at a time"
        )
    return batch_size


def plan_batches(
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
    t = as_arms(t, len(x), several=True)
    check_arms(criterion, t)
    done = as_indices(labelled, len(x))
    n_queries, batch_size = as_count(n_queries, "n_queries"), as_batch_size(batch_size, criterion)
    state, batches = PoolState(x, t, done, np.random.default_rng(seed)), []
    total = min(n_queries * batch_size, len(t) - len(done))
    with one_thread(len(t)), progress(total, "planning", "label") as bar:
        for batch in criterion.plan(state, [batch_size] * n_queries):
            batches.append(batch)
            bar.update(len(batch))
    return batches
