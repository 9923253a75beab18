"""What a criterion sees, and what it must do."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from macal.compat import override
from macal.hashing import mixed, of_rows, uniform
from macal.posterior import Posterior, Prior
from macal.search.scores import Search
from macal.shapes import Arms, Covariates, Features, Indices, Outcomes, Rows

MAX_CANDIDATES = 50_000  # of more units in memory a sample is planned; see the page *Exact and fast*


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of the whole pool, n units, most of it by the model fitted last.

    Attributes:
        posterior: of both potential outcomes.
        features: under the model, (n, p), e.g. its gradients.
        propensity: probability of treatment, (n,); estimated from x and t where it is missing and needed.
        prior: hyperparameters of the model, where it is a Gaussian process of the covariates.
    """

    posterior: Posterior | None = None
    features: Features | None = None
    propensity: Outcomes | None = None
    prior: Prior | None = None


@dataclass(frozen=True, eq=False)
class Restriction:
    """Which units may be picked, and what they stand for.

    Attributes:
        ineligible: indices of units without a label that may not be picked; rules that draw keep to this.
        population: indices of the units that stand for the population, (k,); all by default.
        weights: people that each unit stands for, (n,), where the pool is a sample with unequal chances.
    """

    ineligible: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    population: Indices | None = None
    weights: Outcomes | None = None


@dataclass(frozen=True, eq=False)
class PoolState:
    """The pool between two queries, as criteria see it; label-free ones need no belief.

    Attributes:
        x: covariates of the pool, (n, d) float64.
        t: treatment of the pool, (n,).
        labelled: indices that have been labelled, (m,).
        rng: source of randomness for criteria that draw.
        belief: what a fitted model knows.
        restriction: of a plan.
    """

    x: Covariates
    t: Arms
    labelled: Indices
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    belief: Belief = Belief()
    restriction: Restriction = Restriction()

    @property
    def free(self) -> np.ndarray:
        """Whether each unit may still be labelled, (n,)."""
        free = np.ones(len(self.t), bool)
        free[self.labelled] = free[self.restriction.ineligible] = False
        return free

    @property
    def unlabelled(self) -> Indices:
        """Indices that may still be labelled, ascending."""
        return np.flatnonzero(self.free)

    def drawn(self, most: int) -> Indices:
        """Places of so many of the units that stand for the population, or of all if fewer, ascending.

        A hash of the covariates draws them, the same in any order of the rows; chances rise with the weights.
        """
        among, weights = self.restriction.population, self.restriction.weights
        among = np.arange(len(self.t)) if among is None else among
        if len(among) <= most:
            return among
        hashes = of_rows(self.x[among])
        order = np.argsort(hashes, kind="stable")
        first = np.flatnonzero(np.diff(hashes[order], prepend=~hashes[order[:1]]) != 0)
        number = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        # exponential times with the weights as rates: the first to end are a draw in proportion to the weights
        time = -np.log(uniform(mixed(hashes[order] ^ number.astype(np.uint64))))
        time /= 1.0 if weights is None else weights[among[order]]
        return np.sort(among[order[np.argsort(time, kind="stable")[:most]]])

    def need(self, name: str, criterion: object) -> Any:
        """Return a field of the belief; ValueError where it is missing, or not about the pool."""
        value, rule = getattr(self.belief, name), type(criterion).__name__
        if value is None:
            raise ValueError(
                f"{rule} needs Belief.{name}, which only a fitted model provides:"
                " advance step by step, or use a label-free criterion"
            )
        if isinstance(value, Prior):
            return value
        n = len(value.mean) if isinstance(value, Posterior) else len(value)
        if n != len(self.t):
            raise ValueError(f"Belief.{name} must describe all {len(self.t)} units of the pool for {rule}, got {n}")
        return value


class Criterion(ABC):
    """A rule that chooses the next batch to be labelled: one by scores is a :class:`Planned`.

    Attributes:
        stochastic: whether the choice depends on ``PoolState.rng``.
        needs: fields of the belief that only a fitted model can provide; label-free criteria need none.
        min_batch_size: labels that a batch must have for the rule to mean something.
        multi_arm: whether the rule knows more arms than two, each compared with arm 0.
        reason: which units it selects, in a sentence for a report.
        max_candidates: units of a pool in memory among which it plans by default.
        acquisition_model: name of the model that it goes by in :func:`macal.run` by default; None for the one that
            judges.
    """

    stochastic: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    min_batch_size: ClassVar[int] = 1
    multi_arm: ClassVar[bool] = False
    reason: ClassVar[str] = ""
    max_candidates: ClassVar[float] = np.inf
    acquisition_model: ClassVar[str | None] = None

    @property
    def is_adaptive(self) -> bool:
        """Whether the answers so far change what it chooses."""
        return bool(self.needs)

    def begin(self, state: PoolState) -> PoolState:
        """Return the state of a campaign that begins, with what can be computed once for all batches."""
        return state

    @abstractmethod
    def select(self, state: PoolState, batch_size: int) -> Indices:
        """Return the next ``batch_size`` indices to label (or all that are left), distinct and in pick order."""

    def plan(self, state: PoolState, sizes: Iterable[int]) -> Iterator[Indices]:
        """Yield batches of these sizes, each chosen with those before counted as labelled, until the pool is exhausted.

        A plan can be continued from a state whose ``labelled`` is the start followed by the batches so far.
        """
        state = self.begin(state)
        for size in sizes:
            batch = self.select(state, size)
            if not len(batch):
                return
            yield batch
            state = replace(state, labelled=np.concatenate([state.labelled, batch]))

    def plan_with_scores(self, state: PoolState, sizes: Iterable[int]) -> Iterator[tuple[Indices, Outcomes]]:
        """Yield each batch of a plan with the scores of its k picks, (k,); ValueError where the rule has no scores."""
        raise ValueError(f"{type(self).__name__} chooses whole batches, and its picks have no scores")


class Planned(Criterion):
    """A criterion that scores units, or pairs, and takes the best, again and again: whole plans in one go."""

    @abstractmethod
    def search(self, state: PoolState, price: Outcomes | None = None) -> Search:
        """Begin to score the units of a pool: with prices, (n,), as :class:`Scores` or :class:`PairSearches`.

        Prices say that the caller decides what is taken; without them it may be any faster :class:`Search`.
        """

    @override
    def plan_with_scores(self, state: PoolState, sizes: Iterable[int]) -> Iterator[tuple[Indices, Outcomes]]:
        search = self.search(state)
        for size in sizes:
            units, scores = search.batch(size)
            if not len(units):
                return
            yield units, scores

    @override
    def plan(self, state: PoolState, sizes: Iterable[int]) -> Iterator[Indices]:
        return (units for units, _ in self.plan_with_scores(state, sizes))

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        return next(self.plan(state, [batch_size]), np.empty(0, np.int64))
