"""Weighted (design-based) estimates, or why there are none.

Nonresponse, refusals and pending answers alike, is modelled by covariates and arm
(:mod:`macal.survey.inference.targets`). Reserves count as surveyed once they have answered or refused; a whole cluster
does once one member was. Units with an outcome in the table represent only themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from macal.registry import UnknownName
from macal.shapes import Indices, Outcomes
from macal.survey import words
from macal.survey.campaign import CampaignState
from macal.survey.facts import Fact
from macal.survey.inference import (
    Estimate,
    NonresponseSensitivity,
    Survey,
    anytime_valid_interval,
    average_effect,
    group_effects,
    group_sequential_interval,
    nonresponse_sensitivity,
)
from macal.survey.inference.nonresponse import outcome_range
from macal.survey.inference.sequential import LOOKS
from macal.survey.inference.targets import NO_RESPONSES, TARGETS
from macal.survey.sampling_design import groups_of, strata_of
from macal.survey.sampling_frame import SamplingFrame

_NOTHING = 0.01  # of the answers
_MAX_SHOWN_GROUPS = 5  # groups named with their reasons


@dataclass(frozen=True, eq=False)
class WeightedEstimates:
    """Weighted estimates, in the outcome's unit.

    Attributes:
        estimate: the effect in the target population, with its interval; None if ``facts`` say why.
        groups: value of the column -> its effect, with simultaneous intervals; empty if not requested.
        nonresponse: sensitivity of the average effect to nonresponse at this look alone, but the tipping point of
            ``estimate``. None without nonresponse.
        facts: models, nonresponse, missing intervals and unused arguments.
    """

    estimate: Estimate | None = None
    groups: Mapping[Any, Estimate] = field(default_factory=dict)
    nonresponse: NonresponseSensitivity | None = None
    facts: tuple[Fact, ...] = ()


def weighted_estimates(
    campaign: CampaignState,
    y: Outcomes,
    arm: int,
    target: str = "all",
    by: str | None = None,
    bounds: tuple[float | int, float | int] | None = None,
    looks: str | None = None,
    level: float = 0.95,
) -> WeightedEstimates:
    """Return weighted estimates from the fielded rounds.

    Args:
        campaign: with answers and a probability sample; there is no estimate for other plans.
        y: outcome of each unit, (n,), NaN if unknown.
        arm: the arm that is compared with the reference arm.
        target: see :func:`macal.survey.inference.average_effect`.
        by: column with an estimate for each of its values.
        bounds: smallest and largest possible outcome (default: of the answers).
        looks: None or "once": valid at this look alone; "rounds": at all looks, at most one after each round; "any": at
            any number of looks. All else is valid at this look alone.
        level: coverage probability of the interval, and of the groups' simultaneous ones.

    Raises:
        UnknownName: no such target, column, or kind of looks.
        ValueError: bounds that exclude answers.
    """
    people = campaign.people
    given = {"target": target if target != "all" else None, "by": by, "bounds": bounds, "looks": looks}
    _check(people, y, **given)
    if not campaign.policy.is_drawn:
        unused = [name for name, value in given.items() if value is not None]
        return WeightedEstimates(facts=(Fact(words.nobody_drawn, unused=unused),) if unused else ())
    if not campaign.asked:
        return WeightedEstimates(facts=(Fact(words.nothing_asked),))
    rows = campaign.eligible
    survey = _survey(campaign, y, rows)
    try:
        estimate = average_effect(survey, target, arm, level)
    except ValueError as error:
        return WeightedEstimates(facts=(Fact(words.no_estimate, why=str(error)),))
    if said := _untrusted(people, survey, arm, target):
        return WeightedEstimates(facts=tuple(said))
    told = [] if target == "all" else [Fact(words.of_target, target=target)]
    told += [] if survey.clusters is None else [Fact(words.by_clusters, clusters=survey.answers())]
    looks = "once" if looks is None else looks
    estimate, widened = _at_looks(campaign, survey, estimate, looks, level)
    told += [*_ahead(y, survey), *_saved(campaign, survey, estimate, arm, target, looks, level)]
    alone = "" if looks == "once" else " at this look alone"
    told += _clipped(people, survey)
    groups, said = _groups(survey, by, None if by is None else groups_of(people, by)[rows], arm, target, alone, level)
    doubt, doubted = _doubt(survey, estimate, arm, target, bounds, alone)
    told += [*widened, *said, *_modelled(survey, int(np.isin(rows[survey.asked], campaign.refused).sum())), *doubted]
    return WeightedEstimates(estimate, groups, doubt, tuple(told))


def _check(
    people: SamplingFrame, y: Outcomes, target: str | None, by: str | None, bounds: Any, looks: str | None
) -> None:
    """Refuse invalid arguments, even unused ones."""
    if target is not None and target not in TARGETS:
        raise UnknownName("target", target, TARGETS)
    if looks is not None and looks not in LOOKS:
        raise UnknownName("kind of looks", looks, LOOKS)
    if by is not None:
        groups_of(people, by)
    if bounds is not None:
        outcome_range(y, bounds)


def _clipped(people: SamplingFrame, survey: Survey) -> list[Fact]:
    """Return how many estimated propensity scores were truncated."""
    raised = {arm: int(n) for arm, n in zip(people.arms, survey.clipped, strict=True) if n}
    return [Fact(words.raised_chances, people=raised)] if raised else []


def _untrusted(people: SamplingFrame, survey: Survey, arm: int, target: str) -> list[Fact]:
    """Return why an interval is unreliable, and a remedy; empty if it is reliable."""
    misfits = {} if target == "overlap" else survey.uncalibrated_arms(arm)  # whose weights are bounded
    said = [*too_many(people, survey.crowded(arm)), *calibration_warnings(people, misfits)]
    if not said and (curved := survey.curved(arm)):
        said.append(Fact(words.curved_confounding, arms=[people.arms[one] for one in curved]))
    return said


def too_many(people: SamplingFrame, arms: Sequence[int]) -> list[Fact]:
    """Return arms with too few people and answers for the covariates."""
    names, covariates = [people.arms[arm] for arm in arms], people.confounders.shape[1]
    return [Fact(words.too_many_covariates, arms=names, covariates=covariates)] if names else []


def calibration_warnings(people: SamplingFrame, misfits: Mapping[int, float]) -> list[Fact]:
    """Return arms whose inverse propensity weights miss the population total."""
    return [Fact(words.unfit_chances, arm=people.arms[arm], total=total) for arm, total in misfits.items()]


def _ahead(y: Outcomes, survey: Survey) -> list[Fact]:
    """Return the number of answers from outside the fielded rounds."""
    out = int(np.isfinite(y).sum() - np.isfinite(survey.y).sum())
    return [Fact(words.answers_ahead, people=out)] if out else []


def _saved(
    campaign: CampaignState, survey: Survey, estimate: Estimate, arm: int, target: str, looks: str, level: float
) -> list[Fact]:
    """Return the share of answers that proxies saved, by intervals that are valid at the same looks."""
    if not survey.proxies.shape[1] or not np.isfinite(estimate.width):
        return []
    bare = replace(survey, proxies=None)
    alone = _at_looks(campaign, bare, average_effect(bare, target, arm, level), looks, level)[0].width
    saved = 1 - (estimate.width / alone) ** 2
    return [Fact(words.saved_by_proxies, width=alone, share=saved if abs(saved) > _NOTHING else 0.0)]


def _survey(campaign: CampaignState, y: Outcomes, rows: Indices) -> Survey:
    """Return the survey of eligible units, in the order of ``rows``."""
    people, plan, heads = campaign.people, campaign.planned, campaign.representatives
    lots, share = heads[people.positions(plan.index, "the plan")], (_shares(campaign) or [1.0])[-1]
    out = plan[np.isin(lots, lots[plan["round"] <= campaign.asked])]  # clusters with a member surveyed
    stood = [name for name, k in campaign.reserves_used.items() if k <= campaign.asked]
    units, instead = (people.positions(names, "the plan") for names in (out.index, stood))
    asked, sure = np.isin(heads, heads[[*units, *instead]]), np.isin(np.arange(len(people)), people.problem.start)
    chances = np.ones(len(people))
    # rounds are in random order: those fielded are a random part of the sample
    chances[units] = share / out["weight"].to_numpy()
    if instead.size:  # and so are the reserves surveyed, given their number in the stratum
        given = campaign.planned.set_index("reserve")["reserve_weight"].loc[stood]
        chances[instead] = share / given.to_numpy()
        strata = strata_of(people, campaign.policy)
        first, more = (np.bincount(strata[some], minlength=strata.max() + 1) for some in (units, instead))
        both = np.concatenate([units, instead])
        chances[both] *= (1 + more / np.maximum(first, 1))[strata[both]]
    phase = people.first_phase
    drawn: dict[str, Any] = {}
    if phase is not None:
        # the plan's weights refer to the whole table
        chances[[*units, *instead]] /= phase.chances[[*units, *instead]]
        drawn = {"weights": phase.weights[rows], "strata": phase.cells[rows]}
    if people.propensity is not None:
        drawn["propensity"] = people.propensity[rows]
    if (people.clusters >= 0).any():
        drawn["clusters"] = people.cluster_labels()[rows]
    if people.roles.proxies:
        drawn["proxies"] = people.proxies[rows]
    told = np.where(asked | sure, y, np.nan)[rows]
    x, t = people.confounders[rows], people.problem.pool.t[rows]
    drawn["seed"] = campaign.policy.seed  # of the folds, as when it was planned
    return Survey(x, t, told, chances[rows], asked[rows], known_outcome=sure[rows], names=people.arms, **drawn)


def _shares(campaign: CampaignState) -> list[float]:
    """Return the share of sampling units fielded after each round so far."""
    lots = campaign.representatives[campaign.people.positions(campaign.planned.index, "the plan")]
    begun = campaign.planned["round"].groupby(lots).min()  # a member may have been moved to a later round
    sizes = begun.value_counts().sort_index().cumsum()
    return (sizes[sizes.index <= campaign.asked] / sizes.iloc[-1]).tolist()


def _at_looks(
    campaign: CampaignState, survey: Survey, estimate: Estimate, looks: str, level: float
) -> tuple[Estimate, list[Fact]]:
    """Return an estimate whose interval is valid at all looks, and a fact on its width."""
    if looks == "once":
        return estimate, []
    shares = _shares(campaign)
    if looks == "rounds":
        wide = group_sequential_interval(estimate, survey.answers(), shares, level)
    else:
        wide = anytime_valid_interval(estimate, shares[-1], level)
    times, rounds = wide.width / estimate.width, campaign.planned["round"].nunique()
    if not np.isfinite(times):
        return wide, [Fact(words.too_early)]
    return wide, [Fact(words.holds_at_looks, looks=looks, times=times, rounds=rounds)]


def _groups(
    survey: Survey, by: str | None, groups: Any, arm: int, target: str, alone: str, level: float
) -> tuple[Mapping[Any, Estimate], list[Fact]]:
    if by is None:
        return {}, []
    every = group_effects(survey, groups, target, arm, level)
    found = {group: one for group, one in every.items() if isinstance(one, Estimate)}
    held = [Fact(words.groups_at_once, groups=len(found), by=by, level=level, alone=alone)] if found else []
    return found, held + _without(by, {k: why for k, why in every.items() if isinstance(why, str)})


def _without(by: str, why: Mapping[Any, str]) -> list[Fact]:
    """Return groups without an interval, and for a few, why."""
    silent = [group for group, reason in why.items() if reason == NO_RESPONSES]
    few = {group: reason for group, reason in why.items() if reason != NO_RESPONSES}
    told = [Fact(words.groups_unasked, by=by, groups=silent, why=NO_RESPONSES)] if silent else []
    if len(few) > _MAX_SHOWN_GROUPS:
        return [*told, Fact(words.groups_without, by=by, groups=[*few])]
    return told + [Fact(words.group_without, by=by, group=group, why=reason) for group, reason in few.items()]


def _modelled(survey: Survey, refused: int) -> list[Fact]:
    """Return that nonresponse was modelled, if there is any."""
    silent, asked = int(survey.refused.sum()), int(survey.asked.sum())
    return [Fact(words.modelled_refusals, silent=silent, asked=asked, waited=silent - refused)] if silent else []


def _doubt(
    survey: Survey,
    estimate: Estimate,
    arm: int,
    target: str,
    bounds: tuple[float | int, float | int] | None,
    alone: str,
) -> tuple[NonresponseSensitivity | None, list[Fact]]:
    """Return the sensitivity of the average effect to nonresponse, for the target all."""
    if not survey.refused.any():
        return None, [] if bounds is None else [Fact(words.all_answered)]
    if target != "all":
        return None, [Fact(words.bounds_of_target)]
    doubt = nonresponse_sensitivity(survey, estimate, bounds, arm)
    ends = {"outcomes": doubt.range, "low": doubt.low, "high": doubt.high}
    told = [
        Fact(words.refusals_at_worst, stated=bounds is not None, alone=alone, **ends),
        Fact(words.refusals_by_one, treated=doubt.q_treated, control=doubt.q_control),
    ]
    if 0 < doubt.tipping_point < np.inf:
        told.append(Fact(words.refusals_tipping, difference=doubt.tipping_point))
    return doubt, told
