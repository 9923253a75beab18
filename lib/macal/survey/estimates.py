"""Estimates from the answers so far, and what the next round is expected to add."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from macal import models
from macal.problem import Split
from macal.shapes import Indices
from macal.survey import words
from macal.survey.campaign import CampaignState
from macal.survey.facts import Fact
from macal.survey.inference import (
    EffectPosterior,
    Estimate,
    HeterogeneityTest,
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
        verdict: verdict of the stopping rule, on a probability sample by :attr:`weighted`; empty without a rule.
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
    verdict: Fact | str
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
    def caveat(self) -> Fact | str:
        """What the model's average assumes; empty for a weighted one, or without an interval."""
        return "" if self.drawn or not self.averages else Fact(words.wrong_model)

    @property
    def at_once(self) -> Fact | str:
        """That intervals are simultaneous over outcomes; else empty."""
        return "" if self.level == 0.95 or not self.averages else Fact(words.at_once, level=self.level)

    @property
    def without_intervals(self) -> Fact | str:
        """Why individual effects have no intervals; else empty."""
        return Fact(words.equal_answers, why=self.no_interval_reason) if self.no_interval_reason else ""


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
    level = 1 - 0.05 / (len(campaign.views) if simultaneous else 1)  # Bonferroni
    campaign = campaign.seen(outcome).with_reference(reference)
    people, policy, k = campaign.people, campaign.policy, campaign.arm_index(arm)
    model = models.as_model(model)
    if "prior" not in model.provides:
        raise ValueError(f"{type(model).__name__} has no posterior with a forecast; use 'joint-gp' or 'exact-gp'")
    units, known = _answers(campaign, k)
    equal = (all_equal(units.y[units.t == one], arm_name(one * k, people.arms)) for one in (0, 1))
    withheld = next(filter(None, equal), "")
    belief, outlook = _by_model(campaign, model, k, units, known)
    mean, reach = replace(belief, level=level).average, belief.half_widths
    if withheld:
        outlook, reach, mean = outlook.assign(width=np.nan), np.nan, Estimate(mean.value, np.nan, np.nan, np.nan)
    effects = {"effect": belief.effects, "low": belief.effects - reach, "high": belief.effects + reach}
    shown = pd.DataFrame(effects, people.table.index)
    shown = shown if people.rows is None else shown.iloc[people.rows]
    if looks is None and rule is not None and policy.is_drawn and campaign.planned["round"].nunique() > 1:
        looks = "rounds"
    of_whom = target or policy.target, by or policy.by, bounds, looks, level
    average = weighted_estimates(campaign, campaign.outcomes, k, *of_whom)
    verdict: Fact | str = ""
    if rule is not None:
        by_weights = np.inf if average.estimate is None else average.estimate.width
        more = bool(outlook.cost.get("next", outlook.cost["end"]))
        verdict = rule.decide(by_weights if policy.is_drawn else mean.width, more)
        verdict = Fact(words.no_verdict) if withheld else verdict
    return Findings(
        arm=people.arms[k],
        people=frames.like(shown, campaign.table),
        average=mean,
        design_based=average,
        projection=outlook,
        verdict=verdict,
        variation=heterogeneity_test(model, units, policy.seed),
        drawn=policy.is_drawn,
        no_interval_reason=withheld,
        individual=individual,
        outcome=campaign.outcome,
        level=level,
    )


def _answers(campaign: CampaignState, k: int) -> tuple[Split, Indices]:
    """Return units with an outcome in arm ``k``, coded 1, or the reference arm, 0, and their places, (k,).

    Raises:
        ValueError: an arm without answers.
    """
    pool, y, arms = campaign.people.problem.pool, campaign.outcomes, campaign.people.arms
    known = np.flatnonzero(np.isfinite(y) & np.isin(pool.t, (0, k)))
    t = (pool.t[known] == k).astype(np.int64)
    if not 0 < (n := int(t.sum())) < len(known):
        raise ValueError(
            f"both arms need answers, got {n} of {arm_name(k, arms)} and {len(known) - n} of {arm_name(0, arms)}"
        )
    return Split(pool.x[known], t, y[known]), known


def _by_model(
    campaign: CampaignState, model: models.Model, k: int, units: Split, known: Indices
) -> tuple[EffectPosterior, pd.DataFrame]:
    """Return the posterior of all effects of arm ``k``, (n,), and the outlook; see :class:`Findings`."""
    people, pool = campaign.people, campaign.people.problem.pool
    t, mine = (pool.t == k).astype(np.int64), np.isin(pool.t, (0, k))
    weights = people.weights * ~np.isin(np.arange(len(people)), campaign.ineligible)
    (fitted,) = model.fit([models.Task(units, seed=campaign.policy.seed)])
    effects, paid = fitted.predict(pool.x).tau, people.positions(campaign.planned.index, "the plan")
    paid = paid[campaign.planned["round"] <= campaign.asked]
    beliefs, outlook = {}, {}
    for stage, further in campaign.stages().items():
        labels = np.union1d(known, further[mine[further]])
        sd = posterior_sd(fitted.prior, pool.x, t, labels, weights)
        beliefs[stage] = EffectPosterior(effects, sd, weights=weights)
        width = 2 * float(np.average(beliefs[stage].half_widths, weights=weights))
        cost = float(people.cost[np.setdiff1d(further, paid)].sum())
        outlook[stage] = {"answers": len(labels), "cost": cost, "width": width}
    return beliefs["now"], pd.DataFrame.from_dict(outlook, "index")


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
