"""The cost of planning from a first-phase sample, by an independent audit sample of the population.

The plan is repeated, selection by selection, counting audit units with a larger gain; of a pair one unit is replaced at
a time, so a better pair may exist. The counts bound ranks in the population
(:func:`macal.survey.inference.rank_bounds`). Plans from the two halves of the sample, compared by the effects'
posterior variance under the default rule's Gaussian process, show how much depends on the sample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from macal.acquisition import PoolState, Restriction
from macal.acquisition.design import FixedALC
from macal.posterior import Prior
from macal.shapes import Indices, Rows
from macal.survey import plan_words
from macal.survey.facts import Fact
from macal.survey.greedy import GreedyPlan
from macal.survey.inference import posterior_sd, rank_bounds
from macal.survey.sampling_frame import SamplingFrame

LEVEL = 0.05  # probability that any bound of a plan is too low
_N_EVALUATED = 2000  # units whose effects are evaluated


@dataclass(frozen=True)
class Audit:
    """An audit of a plan from a sample.

    Attributes:
        rivals: number of audit units, or clusters.
        ahead: audit units with a larger gain than each selection of the rule, (k,).
        bounds: upper bounds on the population's share ahead of each selection, (k,).
        open: mean posterior variance of the effects, relative to the prior; of several arms, the mean over contrasts.
        halves: the same for plans from the two halves of the sample; empty if infeasible.
        pairs: whether the rule selects pairs.
        clusters: whether it selects whole clusters.
    """

    rivals: int
    ahead: Sequence[int]
    bounds: Sequence[float]
    open: float
    halves: Sequence[float]
    pairs: bool
    clusters: bool

    def facts(self) -> list[Fact]:
        """Return the audit as sentences with their values."""
        who = "clusters" if self.clusters else "people"
        said = [Fact(plan_words.made_from_sample)]
        if len(self.ahead):
            best, bounds = float((np.array(self.ahead) == 0).mean()), np.array(self.bounds)
            ends = {"any_pick": float(bounds.max()), "half": float(np.median(bounds))}
            said.append(Fact(plan_words.compared_with_others, units=self.rivals, who=who, pairs=self.pairs, best=best))
            said.append(Fact(plan_words.at_most_better, level=1 - LEVEL, who=who, **ends))
        else:
            said.append(Fact(plan_words.no_audit_sample))
        if self.pairs and len(self.ahead):
            said.append(Fact(plan_words.better_pair_possible))
        if self.halves:
            said.append(Fact(plan_words.variance_left, share=self.open, halves=self.halves))
        return said


@dataclass(frozen=True, eq=False)
class PlanTrace:
    """The record of a plan's selections.

    Attributes:
        people: units to select from.
        known: units that were labelled before.
        refused: units that refused.
        money: budget.
        purchases: units selected together, and whether by gain per cost.
    """

    people: SamplingFrame
    known: Indices
    refused: Rows
    money: float
    purchases: Sequence[tuple[np.ndarray, bool]]


AsTask = Callable[..., GreedyPlan]  # from people, known, refused, and a restriction


def audit_plan(made: PlanTrace, both: SamplingFrame, task: AsTask) -> Audit:
    """Audit a plan.

    Args:
        made: the plan.
        both: its units, followed by the audit units.
        task: builds a planning task.

    Raises:
        ValueError: the rule is random, or has no gains.
    """
    people, n = made.people, len(made.people)
    weights = np.append(people.first_phase.weights, np.ones(len(both) - n))
    restriction = Restriction(population=np.arange(n), weights=weights)
    again = task(both, made.known, made.refused, restriction=restriction)
    if again.criterion.stochastic:
        raise ValueError(f"{type(again.criterion).__name__} selects at random, so it cannot be audited")
    clusters = again.clusters if (again.clusters >= 0).any() else None
    count = len(both) - n if clusters is None else len(np.unique(clusters[n:][clusters[n:] >= 0]))
    ahead = _ahead(again, made.purchases, n, clusters) if count else []
    bought = np.concatenate([made.known, *(units for units, _ in made.purchases)]).astype(np.int64)
    halves = [_half(made, np.arange(k, n, 2), task) for k in (0, 1)]
    left = [_open(both, n, units) for units in halves if units is not None]
    bounds = rank_bounds(np.array(ahead, np.int64), count, LEVEL).tolist() if count else []
    pairs = again.criterion.min_batch_size == 2
    halves = left if len(left) == 2 else []
    return Audit(count, ahead, bounds, _open(both, n, bought), halves, pairs, clusters is not None)


def _ahead(task: GreedyPlan, made: Sequence[tuple[np.ndarray, bool]], n: int, clusters: Any) -> list[int]:
    """Repeat the plan; return for each selection the audit units, from place n on, with a larger gain."""
    purchases, _, rule = task.begin(task.price)
    found = []
    for units, chosen in made:
        if not purchases.open[units].all():
            continue  # mandatory units were selected first
        if chosen:
            better = rule.better_candidates(purchases, units)
            better = better[better >= n]
            found.append(len(better) if clusters is None else len(np.unique(clusters[better])))
        purchases.buy(units)
        rule.add(units)
    return found


def _half(made: PlanTrace, rows: Indices, task: AsTask) -> Rows | None:
    """Return planned and known units, by place, for a plan from part of the sample."""
    people = made.people
    rows = np.union1d(rows, np.concatenate([made.known, made.refused, people.included]))
    place = np.full(len(people), -1)
    place[rows] = np.arange(len(rows))
    try:
        chosen = task(people.restricted_to(rows), place[made.known], place[made.refused]).rounds().filled
    except ValueError:  # infeasible
        return None
    return np.concatenate([made.known, *(rows[units] for units in chosen)]).astype(np.int64)


def _open(both: SamplingFrame, n: int, units: Indices) -> float:
    """Return the effects' posterior variance over the prior's, mean over audit units, from place n on, and arms."""
    split = both.problem.pool
    prior = FixedALC().prior(PoolState(split.x[:n].astype(np.float64), split.t[:n], units))
    two = Prior(prior.variance[:2], prior.lengthscale[:2], prior.noise[:2])
    some = np.arange(n, len(both))[:_N_EVALUATED] if len(both) > n else np.arange(n)[:_N_EVALUATED]
    shares = []
    for arm in range(1, len(both.arms)):
        mine = units[np.isin(split.t[units], (0, arm))]
        rows = np.concatenate([mine, some])
        left = posterior_sd(two, split.x[rows], (split.t[rows] == arm).astype(np.int64), np.arange(len(mine)))
        shares.append(float(np.square(left.effects[len(mine) :]).mean() / two.variance.sum()))
    return float(np.mean(shares))
