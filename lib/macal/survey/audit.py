"""What planning from a sample may have cost: others of the population compete with the picks of a finished plan.

Rivals are drawn independently of the sample. The plan is bought once more, purchase by purchase; at each one those
rivals are counted who could be bought, too, and are worth more, by the rule of the plan. Of a pair one is replaced, the
other held fixed, so that a better pair may exist. The counts bound which share of all people is ahead of each pick
(:func:`macal.survey.inference.rank_bounds`): ranks, not values.

Beside that the two halves of the sample are planned apart. How far their plans differ in what they leave open of the
effects, by the default rule's Gaussian process, shows what a draw of the sample decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from macal.acquisition import PoolState
from macal.acquisition.design import FixedALC
from macal.posterior import Prior
from macal.shapes import Indices, Rows
from macal.survey.greedy import GreedyPlan
from macal.survey.inference import posterior_sd, rank_bounds
from macal.survey.sampling_frame import SamplingFrame

LEVEL = 0.05  # chance that one of all bounds of a plan is too low
_N_EVALUATED = 2000  # rivals whose effects are judged


@dataclass(frozen=True)
class Audit:
    """What a sample may have cost.

    Attributes:
        rivals: how many competed; of whole clusters, how many of these.
        ahead: rivals ahead of each purchase that the rule chose, (k,).
        bounds: share of all who could be bought that is ahead of each, at most, (k,).
        open: variance of the effect that the plan leaves open on average, where it is 1 before; of several arms, mean
            over those compared with the reference arm.
        halves: the same of plans of the two halves of the sample; empty where a half cannot meet the demands.
        pairs: whether pairs were bought.
        clusters: whether whole clusters were.
    """

    rivals: int
    ahead: Sequence[int]
    bounds: Sequence[float]
    open: float
    halves: Sequence[float]
    pairs: bool
    clusters: bool

    def sentences(self) -> list[str]:
        """What is to be said of it, sentence by sentence."""
        who = "clusters" if self.clusters else "people"
        ahead, bounds = np.array(self.ahead), np.array(self.bounds)
        what = "pairs, each with one person replaced," if self.pairs else "picks"
        said = ["The plan was made from a sample."]
        if len(ahead):
            said.append(
                f"{self.rivals:,} {who} drawn apart from it competed with its {what} one after the other: nobody is"
                f" ahead of {(ahead == 0).mean():.0%} of them."
            )
            said.append(
                f"With {1 - LEVEL:.0%} confidence, for all at once, at most {bounds.max():.2%} of {who} are ahead of"
                f" any of them, and at most {np.median(bounds):.2%} of half of them."
            )
        else:
            said.append("Nobody competed with its picks.")
        if self.pairs and len(ahead):
            said.append("A better pair of two others may exist.")
        if self.halves:
            one, other = self.halves
            said.append(
                f"Of the effects' variance {self.open:.1%} is left open; plans of the two halves of the sample leave"
                f" {one:.1%} and {other:.1%}."
            )
        return said


@dataclass(frozen=True, eq=False)
class PlanTrace:
    """A plan as it was made.

    Attributes:
        people: among whom.
        known: those of them whose label is bought already.
        refused: those who will not answer.
        money: that could be spent.
        purchases: units that were bought at once, and whether the rule's gain per cost chose them.
    """

    people: SamplingFrame
    known: Indices
    refused: Rows
    money: float
    purchases: Sequence[tuple[np.ndarray, bool]]


AsTask = Callable[..., GreedyPlan]  # of people, who is known, who refused, and fields of the restriction


def audit_plan(made: PlanTrace, both: SamplingFrame, task: AsTask) -> Audit:
    """Audit a plan.

    Args:
        made: the plan.
        both: its people, and after them the rivals.
        task: what is to be planned of such people.

    Raises:
        ValueError: the rule draws at random, or does not say what units are worth.
    """
    people, n = made.people, len(made.people)
    weights = np.append(people.first_phase.weights, np.ones(len(both) - n))
    again = task(both, made.known, made.refused, population=np.arange(n), weights=weights)
    if again.criterion.stochastic:
        raise ValueError(f"{type(again.criterion).__name__} draws at random: nobody is ahead of whom it draws")
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
    """Buy once more, and count at each purchase the rivals, from place n on, that are worth more."""
    purchases, _, rule = task.begin(task.price)
    found = []
    for units, chosen in made:
        if not purchases.open[units].all():
            continue  # who must be asked was bought in the beginning
        if chosen:
            better = rule.better_candidates(purchases, units)
            better = better[better >= n]
            found.append(len(better) if clusters is None else len(np.unique(clusters[better])))
        purchases.buy(units)
        rule.add(units)
    return found


def _half(made: PlanTrace, rows: Indices, task: AsTask) -> Rows | None:
    """Units that a plan of a part of the sample asks, and those known, by their places in the sample."""
    people = made.people
    rows = np.union1d(rows, np.concatenate([made.known, made.refused, people.included]))
    place = np.full(len(people), -1)
    place[rows] = np.arange(len(rows))
    try:
        chosen = task(people.restricted_to(rows), place[made.known], place[made.refused]).rounds().filled
    except ValueError:  # too few people for the demands
        return None
    return np.concatenate([made.known, *(rows[units] for units in chosen)]).astype(np.int64)


def _open(both: SamplingFrame, n: int, units: Indices) -> float:
    """Share of the effects' variance that labels leave open, mean over rivals, from place n on, and over arms."""
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
