"""Estimates from the answers so far, and what the next round is expected to add."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from macal import models
from macal.problem import Split
from macal.shapes import Outcomes
from macal.survey import words
from macal.survey.campaign import CampaignState
from macal.survey.facts import Fact
from macal.survey.inference import (
    EffectPosterior,
    Estimate,
    HeterogeneityTest,
    PosteriorSd,
    StoppingRule,
    heterogeneity_test,
    posterior_sd,
)
from macal.survey.inference.targets import all_equal
from macal.survey.inference.weighted import arm_name
from macal.survey.notes import excluded
from macal.survey.tables import frames
from macal.survey.weighted_estimates import WeightedEstimates, weighted_estimates

_MAX_GROUPS = 20  # largest number of values that make groups
MODEL_CAVEAT = (
    "This interval assumes that the outcome model is right: on surfaces learnt from real outcomes, many such intervals"
    " missed the truth."
)


@dataclass(frozen=True, eq=False)
class Findings:
    """Estimates of one contrast, in the outcome's unit.

    Attributes:
        arm: value of the treatment whose effect it is, against the reference arm.
        people: a row per unit, by name, in the type of the planner's table: ``effect``, and its interval ``low`` to
            ``high``, by the model's posterior; use them only if :attr:`shown`.
        average: mean effect over eligible units and those with an outcome, and its interval, by the posterior.
        no_interval_reason: why the model's intervals are NaN: answers of an arm are all equal; else empty.
        design_based: weighted estimates for the same units, or the table that they represent, with nonresponse bounds,
            and reasons for missing intervals.
        projection: assuming that everyone surveyed answers: ``now``; ``asked``, once pending answers have come; after
            the ``next`` round; at the ``end`` of the plan: ``answers``, remaining ``cost``, mean ``width`` of
            individual intervals.
        verdict: verdict of the stopping rule; on a probability sample by the interval of :attr:`weighted`.
        drawn: whether people are a probability sample, and averages weighted.
        variation: test whether effects vary; None if an arm has fewer than 10 answers.
        individual: whether the caller wants individual effects in any case.
        outcome: name of the outcome; None without a name.
        level: coverage probability of each average effect's interval by itself.
    """

    arm: Any
    people: Any
    average: Estimate
    design_based: WeightedEstimates
    projection: pd.DataFrame
    verdict: str
    variation: HeterogeneityTest | None = None
    drawn: bool = False
    no_interval_reason: str = ""
    individual: bool = False
    outcome: str | None = None
    level: float = 0.95

    @property
    def shown(self) -> bool:
        """Whether individual effects are shown: requested, or better on held-out answers than a constant."""
        return self.individual or (self.variation is not None and self.variation.shown and not self.no_interval_reason)

    @property
    def weighted(self) -> Estimate | None:
        """The weighted estimate; None if there is none."""
        return self.design_based.estimate

    @property
    def averages(self) -> dict[str, Estimate]:
        """The average effect: weighted for a probability sample, else by the model."""
        if not self.drawn:
            return {} if self.no_interval_reason else {"model": self.average}
        return {} if self.weighted is None else {"weights": self.weighted}

    @property
    def at_once(self) -> str:
        """A sentence on intervals that are simultaneous over outcomes; else empty."""
        is_one = self.level == 0.95 or not self.averages
        each = f"The {100 * self.level:.4g}% intervals of a contrast are simultaneous 95% intervals over all outcomes"
        return "" if is_one else f"{each} (Bonferroni)."


def estimate_effects(
    campaign: CampaignState,
    model: models.Model | str = "joint-gp",
    rule: StoppingRule | None = None,
    arm: Any = None,
    target: str | None = None,
    by: str | None = None,
    bounds: tuple[float | int, float | int] | None = None,
    looks: str | None = None,
    reference: Any = None,
    individual: bool = False,
    outcome: str | None = None,
    simultaneous: bool = False,
) -> Findings:
    """Return estimates from the answers so far, with 95% intervals, and a forecast.

    Individual intervals take the model's hyperparameters as known; book/enough.md measures their coverage.

    Args:
        campaign: with a plan and answers.
        model: a name of :func:`macal.models.names`, or a model; a Gaussian process of the covariates.
        rule: stopping rule.
        arm: value of the treatment that is compared with the reference arm; required if there are several.
        target: "all", "treated" or "overlap" (default: the plan's); see :func:`.inference.average_effect`.
        by: column with a weighted estimate for each of its values (default: the plan's).
        bounds: smallest and largest possible outcome, for nonresponse bounds (default: of the answers).
        looks: looks at which the weighted interval is valid; see
            :func:`macal.survey.weighted_estimates.weighted_estimates`. Default: "rounds" with a rule and several
            rounds, else "once".
        reference: value of the treatment to compare with; see :meth:`CampaignState.with_reference`.
        individual: show individual effects even if they predict no better than a constant.
        outcome: name of the outcome; required if there are several.
        simultaneous: widen intervals of average and group effects so that they are simultaneous over outcomes
            (Bonferroni).

    Raises:
        UnknownName: no such model, arm, target, column, outcome or kind of looks.
        ValueError: no plan, a model without posterior, an arm without answers, an ambiguous arm or outcome, or bounds
            that exclude answers.
    """
    level, campaign = _level(campaign, simultaneous), campaign.seen(outcome).with_reference(reference)
    people, plan, k = campaign.people, campaign.stages(), campaign.arm_index(arm)
    pool, y = people.problem.pool, campaign.outcomes
    t, mine, told = (pool.t == k).astype(np.int64), np.isin(pool.t, (0, k)), np.isfinite(y)
    known = np.flatnonzero(told & mine)
    model = models.as_model(model)
    if "prior" not in model.provides:
        raise ValueError(f"{type(model).__name__} has no posterior with a forecast; use 'joint-gp' or 'exact-gp'")
    if not 0 < t[known].sum() < len(known):
        n, arms = int(t[known].sum()), people.arms
        raise ValueError(
            f"both arms need answers, got {n} of {arm_name(k, arms)} and {len(known) - n} of {arm_name(0, arms)}"
        )
    equal = (all_equal(y[known][t[known] == one], arm_name(one * k, people.arms)) for one in (0, 1))
    withheld = next(filter(None, equal), "")
    units = Split(pool.x[known], t[known], y[known])
    (fitted,) = model.fit([models.Task(units, seed=campaign.policy.seed)])
    variation = heterogeneity_test(model, units, campaign.policy.seed)
    labels = {stage: np.union1d(known, asked[mine[asked]]) for stage, asked in plan.items()}
    weights = people.weights * ~np.isin(np.arange(len(people)), campaign.ineligible)
    sds = {stage: posterior_sd(fitted.prior, pool.x, t, units, weights) for stage, units in labels.items()}
    belief = EffectPosterior(fitted.predict(pool.x).tau, sds["now"], weights=weights)
    paid = people.positions([] if campaign.fielded is None else campaign.fielded.index, "the plan")
    costs = {stage: float(people.cost[np.setdiff1d(units, paid)].sum()) for stage, units in plan.items()}
    outlook = pd.DataFrame([_looks(sds[s], len(labels[s]), costs[s], weights) for s in labels], list(labels))
    found, reach, mean = belief.effects, belief.half_widths, replace(belief, level=level).average
    if withheld:
        outlook, reach, mean = outlook.assign(width=np.nan), np.nan, Estimate(mean.value, np.nan, np.nan, np.nan)
    effects = pd.DataFrame({"effect": found, "low": found - reach, "high": found + reach}, people.table.index)
    target, by = target or campaign.policy.target, by or campaign.policy.by
    effects = effects if people.rows is None else effects.iloc[people.rows]
    is_drawn, ahead = campaign.policy.is_drawn, "next" if "next" in sds else "end"
    if looks is None and rule is not None and is_drawn and campaign.planned["round"].nunique() > 1:
        looks = "rounds"
    average, effects = (
        weighted_estimates(campaign, y, k, target, by, bounds, looks, level),
        frames.like(effects, campaign.table),
    )
    by_weights = average.estimate.width if average.estimate is not None else np.inf
    width = by_weights if is_drawn else mean.width
    verdict = ""
    if rule is not None:
        verdict = "continue: there are no intervals" if withheld else rule.decide(width, bool(costs[ahead]))
    said = verdict, variation, is_drawn, withheld, individual, campaign.outcome, level
    return Findings(people.arms[k], effects, mean, average, outlook, *said)


def _level(campaign: CampaignState, simultaneous: bool) -> float:
    """Return the level of one interval, by itself or simultaneous over outcomes (Bonferroni)."""
    return 1 - 0.05 / (len(campaign.views) if simultaneous else 1)


def meant(campaign: CampaignState, arms: Sequence[Any]) -> str:
    """Return which arms are compared, and on what outcome."""
    contrasts = ", ".join(f"{arm} minus {campaign.people.arms[0]}" for arm in arms)
    where = "in the outcome's unit" if campaign.outcome is None else f"on {campaign.outcome!r}, in its unit"
    return f"Effects of {campaign.columns.treatment!r} {where}: {contrasts}."


def exclusion_notes(campaign: CampaignState) -> list[Fact]:
    """Return units without effects: ineligible ones, arms without answers, groups in which no one answered."""
    people, told = campaign.people, campaign.estimable_arms
    said = [Fact(words.arm_without_answers, arm=arm) for arm in people.arms[1:] if arm not in told]
    if out := campaign.ineligible.size:
        sample = people.first_phase is not None
        said.append(Fact(words.averages_leave_out, people=out, of=len(people), sample=sample))
    *_, known = excluded(campaign)
    said += [Fact(words.excluded_count, people=known)] if known else []
    return said + silent(campaign)


def silent(campaign: CampaignState) -> list[Fact]:
    """Return groups of a covariate in which all refused, significantly more than others (5%, Bonferroni)."""
    people, refused = campaign.people, campaign.refused
    heard = people.positions(campaign.answers, "the answers")
    columns = {c: people.table[c].iloc[heard] for c in people.roles.kinds if people.table[c].nunique() <= _MAX_GROUPS}
    groups = [(c, value) for c, values in columns.items() for value in pd.unique(values)]
    said = []
    for column, value in groups:
        inside = (columns[column] == value).to_numpy()
        others = np.isin(heard[~inside], refused)
        if others.size and np.isin(heard[inside], refused).all() and len(groups) * others.mean() ** inside.sum() < 0.05:
            said.append(Fact(words.silent_group, column=column, value=value, asked=int(inside.sum())))
    return said


def _looks(found: PosteriorSd, answers: int, cost: float, weights: Outcomes) -> dict[str, float | int]:
    belief = EffectPosterior(found.effects, found, weights=weights)
    return {"answers": answers, "cost": cost, "width": 2 * float(np.average(belief.half_widths, weights=weights))}
