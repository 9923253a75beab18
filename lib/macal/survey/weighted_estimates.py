"""What the weights of a draw say: effects with intervals that need no outcome model, or why there is none.

Who was asked and has not answered, refused or still waited for, is modelled by covariates and arm; see
:mod:`macal.survey.inference.targets`. Reserves count as asked once they have answered or refused. People of a cluster
count as alike; of one that is asked whole, everybody counts as asked once somebody was. Whoever's outcome was in the
table was not asked, and speaks for herself alone.
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
from macal.survey.sampling_design import eligible, groups_of, representatives, strata_of
from macal.survey.sampling_frame import SamplingFrame

_NOTHING = 0.01  # of the answers
_MAX_SHOWN_GROUPS = 5  # groups of which each is named with its reason


@dataclass(frozen=True, eq=False)
class WeightedEstimates:
    """What the weights say, in the outcome's unit.

    Attributes:
        estimate: the effect on the target, with its interval; None where there is none, and ``told`` says why.
        groups: value of the column -> its effect, with intervals that hold at once; empty where none was asked for.
        nonresponse: what refusals could do to the average effect of everybody, by its interval at this look alone; but
            its tipping point is that of ``estimate``. None where nobody refused.
        facts: facts on what was modelled, on refusals, on any interval that is not given, and on arguments without
            use.
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
    """Estimate an effect by weights, from the rounds that have been asked.

    Args:
        campaign: with a plan that was drawn, and answers; of another plan there is no effect.
        y: outcome of each unit, (n,), NaN where it is not known.
        arm: which is compared with the reference arm.
        target: see :func:`macal.survey.inference.average_effect`.
        by: column of whose values each gets an estimate of its own; None for none.
        bounds: smallest and largest outcome that there can be; those of the answers by default.
        looks: None or "once": the interval holds at this look alone; "rounds": at all looks, of which there is one
            after each round of the plan at most; "any": however often one looks. All else holds at this look alone.
        level: chance of the interval to hold, and of those of the groups at once.

    Raises:
        UnknownName: no such target, column, or kind of looks.
        ValueError: bounds that do not hold the answers.
    """
    people = campaign.people
    given = {"target": target if target != "all" else None, "by": by, "bounds": bounds, "looks": looks}
    _check(people, y, **given)
    if campaign.policy.draw is None:
        unused = [name for name, value in given.items() if value is not None]
        return WeightedEstimates(facts=(Fact(words.nobody_drawn, unused=unused),) if unused else ())
    if not campaign.asked:
        return WeightedEstimates(facts=(Fact(words.nothing_asked),))
    rows = eligible(people, campaign.policy)
    survey = _survey(campaign, y, rows)
    try:
        estimate = average_effect(survey, target, arm, level)
    except ValueError as error:
        return WeightedEstimates(facts=(Fact(words.no_estimate, why=str(error)),))
    if said := _untrusted(people, survey, arm, target):
        return WeightedEstimates(facts=tuple(said))
    told = [] if target == "all" else [Fact(words.of_target, target=target)]
    told += [] if survey.clusters is None else [Fact(words.by_clusters, clusters=survey.answers())]
    told += [*_ahead(y, survey), *_saved(survey, estimate, target, arm, level)]
    estimate, widened = _at_looks(campaign, survey, estimate, "once" if looks is None else looks, level)
    alone = "" if looks in (None, "once") else " at this look alone"
    told += _clipped(people, survey)
    groups, said = _groups(survey, by, None if by is None else groups_of(people, by)[rows], arm, target, alone, level)
    doubt, doubted = _doubt(survey, estimate, arm, target, bounds, alone)
    told += [*widened, *said, *_modelled(survey, int(np.isin(rows[survey.asked], campaign.refused).sum())), *doubted]
    return WeightedEstimates(estimate, groups, doubt, tuple(told))


def _check(
    people: SamplingFrame, y: Outcomes, target: str | None, by: str | None, bounds: Any, looks: str | None
) -> None:
    """Refuse arguments that cannot be, whether there is a use for them or not."""
    if target is not None and target not in TARGETS:
        raise UnknownName("target", target, TARGETS)
    if looks is not None and looks not in LOOKS:
        raise UnknownName("kind of looks", looks, LOOKS)
    if by is not None:
        groups_of(people, by)
    if bounds is not None:
        outcome_range(y, bounds)


def _clipped(people: SamplingFrame, survey: Survey) -> list[Fact]:
    """Of how many people the estimated chance of an arm was raised."""
    raised = {arm: int(n) for arm, n in zip(people.arms, survey.clipped, strict=True) if n}
    return [Fact(words.raised_chances, people=raised)] if raised else []


def _untrusted(people: SamplingFrame, survey: Survey, arm: int, target: str) -> list[Fact]:
    """Why an interval is not to be relied on, and what would give one that is; nothing where it is."""
    misfits = {} if target == "overlap" else survey.uncalibrated_arms(arm)  # whose weights are bounded
    said = [*too_many(people, survey.crowded(arm)), *calibration_warnings(people, misfits)]
    if not said and (curved := survey.curved(arm)):
        said.append(Fact(words.curved_confounding, arms=[people.arms[one] for one in curved]))
    return said


def too_many(people: SamplingFrame, arms: Sequence[int]) -> list[Fact]:
    """Which arms have too few people and answers for the covariates."""
    names, covariates = [people.arms[arm] for arm in arms], people.confounders.shape[1]
    return [Fact(words.too_many_covariates, arms=names, covariates=covariates)] if names else []


def calibration_warnings(people: SamplingFrame, misfits: Mapping[int, float]) -> list[Fact]:
    """Arms whose people, by the chances, do not stand for everybody."""
    return [Fact(words.unfit_chances, arm=people.arms[arm], total=total) for arm, total in misfits.items()]


def _ahead(y: Outcomes, survey: Survey) -> list[Fact]:
    """Answers that the weights leave out, for whoever gave them was in no round that was asked."""
    out = int(np.isfinite(y).sum() - np.isfinite(survey.y).sum())
    return [Fact(words.answers_ahead, people=out)] if out else []


def _saved(survey: Survey, estimate: Estimate, target: str, arm: int, level: float) -> list[Fact]:
    """What proxies have saved, where there are some."""
    if not survey.proxies.shape[1]:
        return []
    alone = average_effect(replace(survey, proxies=None), target, arm, level).width
    saved = 1 - (estimate.width / alone) ** 2
    return [Fact(words.saved_by_proxies, width=alone, share=saved if abs(saved) > _NOTHING else 0.0)]


def _survey(campaign: CampaignState, y: Outcomes, rows: Indices) -> Survey:
    """What was asked and answered of the units that could be, in the order of ``rows``."""
    people, plan, heads = campaign.people, campaign.planned, representatives(campaign.people, campaign.policy)
    lots, share = heads[people.positions(plan.index, "the plan")], (_shares(campaign) or [1.0])[-1]
    out = plan[np.isin(lots, lots[plan["round"] <= campaign.asked])]  # clusters of which somebody was asked
    stood = [name for name, k in campaign.reserves_used.items() if k <= campaign.asked]
    units, instead = (people.positions(names, "the plan") for names in (out.index, stood))
    asked, sure = np.isin(heads, heads[[*units, *instead]]), np.isin(np.arange(len(people)), people.problem.start)
    chances = np.ones(len(people))
    # the rounds are in random order: of the draw, those asked are a random part
    chances[units] = share / out["weight"].to_numpy()
    if instead.size:  # and so are the reserves who were asked, given how many of their stratum were
        given = campaign.planned.set_index("reserve")["reserve_weight"].loc[stood]
        chances[instead] = share / given.to_numpy()
        strata = strata_of(people, campaign.policy)
        first, more = (np.bincount(strata[some], minlength=strata.max() + 1) for some in (units, instead))
        both = np.concatenate([units, instead])
        chances[both] *= (1 + more / np.maximum(first, 1))[strata[both]]
    phase = people.first_phase
    drawn: dict[str, Any] = {}
    if phase is not None:
        # weights of the plan are those in the table
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
    """Of what was drawn, people or clusters, the share that had been asked after each round so far."""
    heads = representatives(campaign.people, campaign.policy)
    lots = heads[campaign.people.positions(campaign.planned.index, "the plan")]
    begun = campaign.planned["round"].groupby(lots).min()  # somebody of a cluster may come later
    sizes = begun.value_counts().sort_index().cumsum()
    return (sizes[sizes.index <= campaign.asked] / sizes.iloc[-1]).tolist()


def _at_looks(
    campaign: CampaignState, survey: Survey, estimate: Estimate, looks: str, level: float
) -> tuple[Estimate, list[Fact]]:
    """An estimate whose interval holds at all looks at once, and what is to be said of that."""
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
    held = [Fact(words.groups_at_once, groups=len(found), by=by, alone=alone)] if found else []
    return found, held + _without(by, {k: why for k, why in every.items() if isinstance(why, str)})


def _without(by: str, why: Mapping[Any, str]) -> list[Fact]:
    """Which groups have no interval, and of a few, why."""
    silent = [group for group, reason in why.items() if reason == NO_RESPONSES]
    few = {group: reason for group, reason in why.items() if reason != NO_RESPONSES}
    told = [Fact(words.groups_unasked, by=by, groups=silent, why=NO_RESPONSES)] if silent else []
    if len(few) > _MAX_SHOWN_GROUPS:
        return [*told, Fact(words.groups_without, by=by, groups=[*few])]
    return told + [Fact(words.group_without, by=by, group=group, why=reason) for group, reason in few.items()]


def _modelled(survey: Survey, refused: int) -> list[Fact]:
    """That refusals were modelled, where somebody has not answered; of those who were asked, so many refused."""
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
    """What refusals could do to the average effect of everybody; of other targets nothing is said."""
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
