"""One campaign: which units it buys, batch by batch, and its plan in the caller's names."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from macal import acquisition
from macal.acquisition import Belief, Criterion, PoolState
from macal.acquisition.catalogue import names_where, needs_no_model
from macal.acquisition.plans import as_batch_size
from macal.arguments import Count, Whole, hinted
from macal.campaigns.evaluation import train
from macal.models import Fitted, Model
from macal.problem import Problem
from macal.shapes import Indices


@dataclass(eq=False)
class Campaign:
    """One campaign under way.

    Attributes:
        problem: the problem.
        method: what its rows are called.
        criterion: chooses the batches.
        n_queries: batches to acquire.
        batch_size: labels per batch.
        seed: of the criterion's own draws.
        batches: what was bought so far, a list of indices per query.
    """

    problem: Problem
    method: str
    criterion: Criterion
    n_queries: int
    batch_size: int
    seed: int
    batches: list[Indices] = field(default_factory=list)

    def labelled(self, step: int | None = None) -> Indices:
        """Indices labelled after ``step`` queries; after all so far by default."""
        return self.problem.labelled(self.batches[:step])

    @property
    def is_finished(self) -> bool:
        """Whether the budget is spent or the pool exhausted."""
        left = len(self.problem.pool) - len(self.problem.start) - sum(map(len, self.batches))
        return len(self.batches) >= self.n_queries or left == 0

    def plan(self) -> None:
        """Choose all batches of a label-free criterion."""
        pool = self.problem.pool
        self.batches = acquisition.plan_batches(
            self.criterion, pool.x, pool.t, self.problem.start, self.n_queries, self.batch_size, self.seed
        )

    def choose_remaining(self, acquisition_model: Model, ahead: int = 1) -> None:
        """Choose all batches that are left, by a model that is fitted to the labels so far; NotFitted where it fails.

        ``ahead`` batches are chosen from one fit; a criterion that needs no model is planned.
        """
        if not self.criterion.is_adaptive:
            return self.plan()
        while not self.is_finished:
            (fitted,) = train(acquisition_model, [(self.problem, self.labelled())])
            self.advance(fitted, min(ahead, self.n_queries - len(self.batches)))
        return None

    def advance(self, fitted: Fitted, batches: int = 1) -> None:
        """Choose the next batch, or so many, by the model that was fitted to the labels so far."""
        pool, needs = self.problem.pool, self.criterion.needs
        x = pool.x
        belief = Belief(
            posterior=fitted.predict(x) if "posterior" in needs else None,
            features=fitted.gradients(x, pool.t) if "features" in needs else None,
            prior=fitted.prior if "prior" in needs else None,
        )
        rng = np.random.default_rng([self.seed, len(self.batches)])
        state = PoolState(x.astype(np.float64), pool.t, self.labelled(), rng, belief)
        self.batches += self.criterion.plan(state, [self.batch_size] * batches)


@hinted
def begin(
    problem: Problem,
    criterion: Criterion | str,
    method: str | None = None,
    n_queries: Count | None = None,
    batch_size: int | None = None,
    seed: Whole | None = None,
) -> Campaign:
    """Set up a campaign by the arguments of :func:`macal.run`; what is None is the problem's own.

    ``method`` is what its rows are called, by default the criterion's name.

    Raises:
        UnknownName: no such criterion.
        ValueError: a number out of range.
    """
    method = method or (criterion if isinstance(criterion, str) else type(criterion).__name__.lower())
    criterion = acquisition.get(criterion) if isinstance(criterion, str) else criterion
    n_queries = n_queries or problem.n_queries
    batch_size = as_batch_size(problem.batch_size if batch_size is None else batch_size, criterion)
    return Campaign(problem, method, criterion, n_queries, batch_size, problem.seed if seed is None else seed)


def schedule(
    problem: Problem,
    criterion: Any = acquisition.DEFAULT,
    n_queries: int | None = None,
    batch_size: int | None = None,
    seed: int | None = None,
) -> pd.DataFrame:
    """Plan a campaign before any outcome is known, in the caller's own names for the units.

    Args:
        problem: say of :func:`macal.datasets.from_table`, whose units go by the index of the table.
        criterion: a name of :func:`macal.acquisition.names`, or a criterion; one that needs no model.
        n_queries: batches to plan; the problem's own number by default.
        batch_size: labels per batch; the problem's own number by default.
        seed: of the criterion's own draws; the problem's by default.

    Returns:
        A row per unit by its name, in order: ``round``, 0 for the start, then the query's; ``treated``, 0 or 1.

    Raises:
        UnknownName: no such criterion.
        ValueError: a criterion that needs a model, or a number out of range.
    """
    campaign = begin(problem, criterion, None, n_queries, batch_size, seed)
    if campaign.criterion.needs:
        raise ValueError(
            f"{campaign.method!r} needs a model of the answers so far, so its plan cannot be made in advance;"
            f" take one that needs none: {names_where(needs_no_model)}"
        )
    campaign.plan()
    asked, pool = campaign.labelled(), problem.pool
    sizes = [len(problem.start), *map(len, campaign.batches)]
    names = pd.RangeIndex(len(pool), name="unit") if pool.index is None else pool.index
    if {"round", "treated"} & set(names.names):
        raise ValueError(f"the units' index is called {names.name!r}, as a column of the plan is; rename it")
    rounds = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame({"round": rounds, "treated": pool.t[asked]}, index=names[asked])
