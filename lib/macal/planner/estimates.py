"""Is it enough? What the answers of a campaign say so far, and what its next round is expected to add."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macal import models
from macal.inference import (
    EffectBelief,
    EffectVariation,
    Estimate,
    PosteriorSd,
    StoppingRule,
    average_effect,
    effect_variation,
    posterior_sd,
)
from macal.inference.weighted import LEAST
from macal.planner.campaign import CampaignState
from macal.problem import Split
from macal.shapes import Outcomes
from macal.tables import frames


@dataclass(frozen=True, eq=False)
class Findings:
    """What the answers say, in the outcome's unit.

    Attributes:
        arm: value of the treatment whose effect it is, against the reference arm.
        people: a row per unit, by name, in the kind of the planner's table: ``effect``, and its interval ``low`` to
            ``high``, as the model believes.
        average: their mean effect and its interval, as the model believes.
        weighted: the average effect of those who may be asked, of the whole table where people are a sample of it, from
            drawn labels and their weights, and from outcomes that were known before, for whoever has one whatever it
            is; None where the plan was not drawn, somebody who was asked has not answered, or an arm has fewer than 10
            answers.
        outlook: ``now``, after the ``next`` round and at the ``end`` of the plan: ``answers``, ``cost`` still to come,
            mean ``width`` of people's intervals, and that of the ``average``.
        verdict: what the stopping rule says; empty without one.
        variation: whether answers show that effects differ between people; None where an arm has fewer than 10.
    """

    arm: Any
    people: Any
    average: Estimate
    weighted: Estimate | None
    outlook: pd.DataFrame
    verdict: str
    variation: EffectVariation | None = None


def estimated(
    campaign: CampaignState, model: models.Model | str = "joint-gp", rule: StoppingRule | None = None, arm: Any = None
) -> Findings:
    """Estimate every effect from the answers so far, with 95 % intervals, and forecast what is to come.

    Intervals are those of the model, its hyperparameters taken as known; the page *Is it enough?* says how often they
    hold.

    Args:
        campaign: with a plan and answers.
        model: a name of :func:`macal.models.names`, or a model; a Gaussian process of the covariates.
        rule: when to stop.
        arm: value of the treatment whose effect is estimated, against the reference arm, by a model of these two arms;
            must be given where there are several.

    Raises:
        UnknownName: no such model, or no such arm.
        ValueError: nothing is planned, the model has no posterior, an arm has no answer, or must be named.
    """
    people, plan, k = campaign.people, campaign.stages(), campaign.number(arm)
    pool, y = people.problem.pool, campaign.outcomes
    t, mine, told = (pool.t == k).astype(np.int64), np.isin(pool.t, (0, k)), np.isfinite(y)
    known = np.flatnonzero(told & mine)
    model = models.as_model(model)
    if "prior" not in model.provides:
        raise ValueError(f"{type(model).__name__} has no posterior with a forecast; take 'joint-gp' or 'exact-gp'")
    if not 0 < t[known].sum() < len(known):
        n = int(t[known].sum())
        raise ValueError(f"both arms need answers, got {n} treated and {len(known) - n} control ones so far")
    units = Split(pool.x[known], t[known], y[known])
    (fitted,) = model.fit([models.Task(units, seed=campaign.policy.seed)])
    variation = effect_variation(model, units, campaign.policy.seed)
    labels = {stage: np.union1d(known, asked[mine[asked]]) for stage, asked in plan.items()}
    weights = None if people.phase is None else people.phase.weights
    sds = {stage: posterior_sd(fitted.prior, pool.x, t, units, weights) for stage, units in labels.items()}
    belief = EffectBelief(fitted.predict(pool.x).tau, sds["now"], weights=weights)
    costs = {stage: float(people.cost[units[~told[units]]].sum()) for stage, units in plan.items()}
    outlook = pd.DataFrame([_looks(sds[s], len(labels[s]), costs[s]) for s in labels], list(labels))
    effects = pd.DataFrame({"effect": belief.effects}, people.table.index)
    effects = effects.assign(low=belief.effects - belief.reach, high=belief.effects + belief.reach)
    verdict = "" if rule is None else _verdict(rule, belief, sds["next"], costs["next"])
    average, effects = weighted(campaign, y, k), frames.like(effects, campaign.table)
    return Findings(people.arms[k], effects, belief.average, average, outlook, verdict, variation)


def weighted(campaign: CampaignState, y: Outcomes, arm: int) -> Estimate | None:
    """The average effect of an arm by weights, from the rounds that have been asked."""
    if campaign.policy.draw is None or not campaign.asked:
        return None
    people, plan = campaign.people, campaign.planned
    out = campaign.out
    units = people.places(out.index, "the plan")
    seen = np.isin(np.arange(len(people)), [*units, *people.problem.start])
    pool, told = people.problem.pool, np.bincount(people.problem.pool.t[seen], minlength=len(people.arms))
    if np.isnan(y[units]).any() or told.min() < LEAST:
        return None
    chances = np.ones(len(people))
    # the rounds are in random order: of the draw, those asked are a random part
    chances[units] = len(out) / len(plan) / out["weight"].to_numpy()
    rows = np.setdiff1d(np.arange(len(people)), np.setdiff1d(people.excluded, people.problem.start))
    y, phase = np.where(seen, y, np.nan), people.phase
    if phase is None:
        return average_effect(pool.x[rows], pool.t[rows], y[rows], chances[rows], arm=arm)
    chances[units] /= phase.chances[units]
    drawn = {"weights": phase.weights[rows], "strata": phase.cells[rows]}
    return average_effect(pool.x[rows], pool.t[rows], y[rows], chances[rows], arm=arm, **drawn)


def _looks(found: PosteriorSd, answers: int, cost: float) -> dict[str, float | int]:
    belief = EffectBelief(found.effects, found)
    return {"answers": answers, "cost": cost, "width": 2 * float(belief.reach.mean()), "average": belief.average.width}


def _verdict(rule: StoppingRule, belief: EffectBelief, ahead: PosteriorSd, cost: float) -> str:
    return rule.says(belief, ahead, cost) if cost else "enough: nobody is left to be asked"
