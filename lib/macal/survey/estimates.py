"""Is it enough? What the answers of a campaign say so far, and what its next round is expected to add."""

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
from macal.survey.sampling_design import ineligible
from macal.survey.tables import frames
from macal.survey.weighted_estimates import WeightedEstimates, weighted_estimates

_MAX_GROUPS = 20  # values of a covariate that make groups
MODEL_CAVEAT = (
    "That interval takes the model of outcomes as right: on surfaces learnt from real outcomes, many such intervals"
    " missed the truth."
)


@dataclass(frozen=True, eq=False)
class Findings:
    """What the answers say, in the outcome's unit.

    Attributes:
        arm: value of the treatment whose effect it is, against the reference arm.
        people: a row per unit, by name, in the kind of the planner's table: ``effect``, and its interval ``low`` to
            ``high``, as the model believes; to be acted upon where :attr:`shown` alone.
        average: mean effect of those who may be asked, or have an outcome, and its interval, as the model believes.
        no_interval_reason: why the model's intervals are NaN, for the answers of an arm are all equal; empty where they
            are not.
        design_based: effects of the same people, of the whole table where people are a sample of it, from drawn labels
            and their weights, and from outcomes that were known before, for whoever has one whatever it is; with what
            refusals could do to them, and why there is no interval where there is none.
        projection: if whoever is asked answers: ``now``; ``asked``, where somebody is waited for, once they have
            answered; after the ``next`` round, if any; at the ``end`` of the plan: ``answers``, ``cost`` still to come,
            that of people who have not been asked, mean ``width`` of intervals of those in the average.
        verdict: what the stopping rule says, of a drawn plan by the interval of :attr:`weighted`; empty without one.
        drawn: whether people were drawn, so that averages are the weights' alone.
        variation: whether answers show that effects differ between people; None where an arm has fewer than 10.
        individual: whether the caller wants people's effects whatever the answers say of them.
        outcome: name of the outcome; None where it has none.
        level: chance of each interval of an average effect to hold by itself.
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
        """Whether people's effects are shown: asked for, or nearer to held-out answers than one effect."""
        return self.individual or (self.variation is not None and self.variation.shown and not self.no_interval_reason)

    @property
    def weighted(self) -> Estimate | None:
        """The effect by weights; None where there is none, and :attr:`weighed` says why."""
        return self.design_based.estimate

    @property
    def averages(self) -> dict[str, Estimate]:
        """The average effect by the weights where people were drawn, if it has an interval, else by the model."""
        if not self.drawn:
            return {} if self.no_interval_reason else {"model": self.average}
        return {} if self.weighted is None else {"weights": self.weighted}

    @property
    def at_once(self) -> str:
        """What to say of intervals that were widened to hold for all outcomes at once; empty where they were not."""
        is_one = self.level == 0.95 or not self.averages
        each = f"The {100 * self.level:.4g}% intervals of a contrast hold for all outcomes at once with a chance of 95%"
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
    """Estimate every effect from the answers so far, with 95 % intervals, and forecast what is to come.

    Intervals of people's effects are the model's, its hyperparameters taken as known; the page *Is it enough?* says how
    often they hold.

    Args:
        campaign: with a plan and answers.
        model: a name of :func:`macal.models.names`, or a model; a Gaussian process of the covariates.
        rule: when to stop.
        arm: value of the treatment whose effect is estimated, against the reference arm, by a model of these two arms;
            must be given where there are several.
        target: of the effect by weights: "all", "treated" or "overlap"; see :func:`.inference.average_effect`. By
            default that for which people were drawn.
        by: column of whose values each gets an effect by weights of its own; by default that of the plan.
        bounds: smallest and largest outcome that there can be, for what refusals could do; those of the answers by
            default.
        looks: at which looks the interval by weights holds; see
            :func:`macal.survey.weighted_estimates.weighted_estimates`. By default "rounds" where a rule goes by a width
            and the plan has several rounds, else "once".
        reference: value of the treatment with which the arm is compared; see :meth:`CampaignState.with_reference`.
        individual: show people's effects though they were not shown to predict better than one for all.
        outcome: which one; must be given where there are several.
        simultaneous: widen the intervals of average effects, and of groups, so that those of an arm hold for all
            outcomes at once (Bonferroni).

    Raises:
        UnknownName: no such model, arm, target, column, outcome or kind of looks.
        ValueError: nothing is planned, the model has no posterior, an arm has no answer, or must be named, as one of
            several outcomes; bounds that do not hold the answers.
    """
    level, campaign = _level(campaign, simultaneous), campaign.seen(outcome).with_reference(reference)
    people, plan, k = campaign.people, campaign.stages(), campaign.arm_index(arm)
    pool, y = people.problem.pool, campaign.outcomes
    t, mine, told = (pool.t == k).astype(np.int64), np.isin(pool.t, (0, k)), np.isfinite(y)
    known = np.flatnonzero(told & mine)
    model = models.as_model(model)
    if "prior" not in model.provides:
        raise ValueError(f"{type(model).__name__} has no posterior with a forecast; take 'joint-gp' or 'exact-gp'")
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
    weights = people.weights * ~np.isin(np.arange(len(people)), ineligible(people, campaign.policy))
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
    if looks is None and rule is not None and campaign.planned["round"].nunique() > 1:
        looks = "rounds" if campaign.policy.draw is not None else None
    average, effects = (
        weighted_estimates(campaign, y, k, target, by, bounds, looks, level),
        frames.like(effects, campaign.table),
    )
    is_drawn, ahead = campaign.policy.draw is not None, "next" if "next" in sds else "end"
    by_weights = average.estimate.width if average.estimate is not None else np.inf
    width = by_weights if is_drawn else mean.width
    verdict = ""
    if rule is not None:
        verdict = "not enough: there are no intervals" if withheld else rule.decide(width, bool(costs[ahead]))
    said = verdict, variation, is_drawn, withheld, individual, campaign.outcome, level
    return Findings(people.arms[k], effects, mean, average, outlook, *said)


def _level(campaign: CampaignState, simultaneous: bool) -> float:
    """Chance of an interval to hold, so that those of all outcomes hold at once (Bonferroni), or by itself."""
    return 1 - 0.05 / (len(campaign.views) if simultaneous else 1)


def meant(campaign: CampaignState, arms: Sequence[Any]) -> str:
    """Say which arm is compared with which, the other way round than which, and on what outcome."""
    contrasts = ", ".join(f"{arm} minus {campaign.people.arms[0]}" for arm in arms)
    where = "in the outcome's unit" if campaign.outcome is None else f"on {campaign.outcome!r}, in its unit"
    return f"Effects of {campaign.columns.treatment!r} {where}: {contrasts}."


def exclusion_notes(campaign: CampaignState) -> list[Fact]:
    """Of whom there is no effect, where there are answers: people who may not be asked, arms without answers.

    And which groups answers say nothing of, as everybody there who was asked refused.
    """
    people, told = campaign.people, campaign.estimable_arms
    said = [Fact(words.arm_without_answers, arm=arm) for arm in people.arms[1:] if arm not in told]
    if out := ineligible(people, campaign.policy).size:
        sample = people.first_phase is not None
        said.append(Fact(words.averages_leave_out, people=out, of=len(people), sample=sample))
    *_, known = excluded(campaign)
    said += [Fact(words.excluded_count, people=known)] if known else []
    return said + silent(campaign)


def silent(campaign: CampaignState) -> list[Fact]:
    """Groups by a covariate of few values whose people, all who were heard of, refused: more than chance would make.

    Chance is that of refusals among all others; of all groups together it makes such a sentence in one of 20 cases.
    """
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
