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
from macal.survey.campaign import CampaignState
from macal.survey.drawn import allowed, groups_of, heads_of, strata_of
from macal.survey.inference import (
    Estimate,
    RefusalDoubt,
    Survey,
    at_a_look,
    at_any_look,
    average_effect,
    group_effects,
    refusal_doubt,
)
from macal.survey.inference.looks import LOOKS
from macal.survey.inference.refusals import outcome_range
from macal.survey.inference.targets import NOBODY, TARGETS
from macal.survey.people import People

_NOTHING = 0.01  # of the answers
_SHOWN = 5  # groups that are named
FEW = 20  # clusters, from which on their variance is known well enough
WHOM = {"all": "everybody", "treated": "the treated", "overlap": "those who could well have been in either arm"}


@dataclass(frozen=True, eq=False)
class Weighed:
    """What the weights say, in the outcome's unit.

    Attributes:
        estimate: the effect on the target, with its interval; None where there is none, and ``told`` says why.
        groups: value of the column -> its effect, with intervals that hold at once; empty where none was asked for.
        doubt: what refusals could do to the average effect of everybody, by its interval at this look alone; but its
            tipping point is that of ``estimate``. None where nobody refused.
        told: sentences on what was modelled, on refusals, on any interval that is not given, and on arguments without
            use.
    """

    estimate: Estimate | None = None
    groups: Mapping[Any, Estimate] = field(default_factory=dict)
    doubt: RefusalDoubt | None = None
    told: tuple[str, ...] = ()


def weighed(
    campaign: CampaignState,
    y: Outcomes,
    arm: int,
    target: str = "all",
    by: str | None = None,
    bounds: tuple[float | int, float | int] | None = None,
    looks: str | None = None,
    level: float = 0.95,
) -> Weighed:
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
        unused = ", ".join(name for name, value in given.items() if value is not None)
        said = f"Nobody was drawn with known chances, so there is no effect by weights, and no use for {unused}."
        return Weighed(told=(said,) if unused else ())
    if not campaign.asked:
        return Weighed(told=("No round has been asked yet, so the weights give no interval.",))
    rows = allowed(people, campaign.policy)
    survey = _survey(campaign, y, rows)
    try:
        estimate = average_effect(survey, target, arm, level)
    except ValueError as error:
        return Weighed(told=(f"The weights give no interval: {error}.",))
    if said := _untrusted(people, survey, arm, target):
        return Weighed(told=tuple(said))
    told = [] if target == "all" else [f"The weights speak for {WHOM[target]}."]
    told += [] if survey.clusters is None else [_rests_on(survey.answers())]
    told += [*_ahead(y, survey), *_saved(survey, estimate, target, arm, level)]
    estimate, widened = _at_looks(campaign, survey, estimate, "once" if looks is None else looks, level)
    alone = "" if looks in (None, "once") else " at this look alone"
    told += _clipped(people, survey)
    groups, said = _groups(survey, by, None if by is None else groups_of(people, by)[rows], arm, target, alone, level)
    doubt, doubted = _doubt(survey, estimate, arm, target, bounds, alone)
    told += [*widened, *said, *_modelled(survey, int(np.isin(rows[survey.asked], campaign.refused).sum())), *doubted]
    return Weighed(estimate, groups, doubt, tuple(told))


def _check(people: People, y: Outcomes, target: str | None, by: str | None, bounds: Any, looks: str | None) -> None:
    """Refuse arguments that cannot be, whether there is a use for them or not."""
    if target is not None and target not in TARGETS:
        raise UnknownName("target", target, TARGETS)
    if looks is not None and looks not in LOOKS:
        raise UnknownName("kind of looks", looks, LOOKS)
    if by is not None:
        groups_of(people, by)
    if bounds is not None:
        outcome_range(y, bounds)


def _clipped(people: People, survey: Survey) -> list[str]:
    """Say of how many people the estimated chance of an arm was raised."""
    told = [f"{n:,} people's of {arm}" for arm, n in zip(people.arms, survey.clipped, strict=True) if n]
    return [f"Estimated chances of an arm were raised to the least one: {', '.join(told)}."] * bool(told)


def _untrusted(people: People, survey: Survey, arm: int, target: str) -> list[str]:
    """Why an interval is not to be relied on, and what would give one that is; nothing where it is."""
    misfits = {} if target == "overlap" else survey.misfits(arm)  # whose weights are bounded
    said = [*too_many(people, survey.crowded(arm)), *unfit(people, misfits)]
    if not said and (curved := survey.curved(arm)):
        said.append(
            f"No interval: squares or products of covariates predict both the treatment and the outcomes of"
            f" {' and '.join(str(people.arms[one]) for one in curved)}, and neither model has them. Add such columns to"
            " the table, and estimate again."
        )
    return said


def too_many(people: People, arms: Sequence[int]) -> list[str]:
    """Say of arms that have too few people and answers for the covariates."""
    names = " and ".join(str(people.arms[arm]) for arm in arms)
    return [
        f"No interval: {names} has too few people and answers for {people.confounders.shape[1]} covariates. Name fewer"
        " (--covariates), ask more people, or say how treatment was randomised (--propensity)."
    ] * bool(arms)


def unfit(people: People, misfits: Mapping[int, float]) -> list[str]:
    """Say of arms whose people, by the chances, do not stand for everybody."""
    return [
        f"No interval: the people of {people.arms[arm]}, weighted by 1 over their chance of it, add up to {total:.0%}"
        " of everybody, so the chances are wrong, or many had none. --target overlap speaks for those who could have"
        " been in either arm."
        for arm, total in misfits.items()
    ]


def _ahead(y: Outcomes, survey: Survey) -> list[str]:
    """Say of answers that the weights leave out, for whoever gave them was in no round that was asked."""
    out = int(np.isfinite(y).sum() - np.isfinite(survey.y).sum())
    return [f"The weights leave out answers of people in no round that has been asked: {out:,} of them."] if out else []


def _saved(survey: Survey, estimate: Estimate, target: str, arm: int, level: float) -> list[str]:
    """Say what proxies have saved, where there are some."""
    if not survey.proxies.shape[1]:
        return []
    alone = average_effect(replace(survey, proxies=None), target, arm, level).width
    saved = 1 - (estimate.width / alone) ** 2
    worth = f"save {saved:.0%} of the answers" if saved > _NOTHING else "save no answers"
    return [f"Without the proxies the interval by the weights would be {alone:,.4g} wide: they {worth}."]


def _survey(campaign: CampaignState, y: Outcomes, rows: Indices) -> Survey:
    """What was asked and answered of the units that could be, in the order of ``rows``."""
    people, plan, heads = campaign.people, campaign.planned, heads_of(campaign.people, campaign.policy)
    lots, share = heads[people.places(plan.index, "the plan")], (_shares(campaign) or [1.0])[-1]
    out = plan[np.isin(lots, lots[plan["round"] <= campaign.asked])]  # clusters of which somebody was asked
    stood = [name for name, k in campaign.instead.items() if k <= campaign.asked]
    units, instead = (people.places(names, "the plan") for names in (out.index, stood))
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
    phase = people.phase
    drawn: dict[str, Any] = {}
    if phase is not None:
        # weights of the plan are those in the table
        chances[[*units, *instead]] /= phase.chances[[*units, *instead]]
        drawn = {"weights": phase.weights[rows], "strata": phase.cells[rows]}
    if people.propensity is not None:
        drawn["propensity"] = people.propensity[rows]
    if (people.clusters >= 0).any():
        drawn["clusters"] = people.neighbours()[rows]
    if people.roles.proxies:
        drawn["proxies"] = people.proxies[rows]
    told = np.where(asked | sure, y, np.nan)[rows]
    x, t = people.confounders[rows], people.problem.pool.t[rows]
    drawn["seed"] = campaign.policy.seed  # of the folds, as when it was planned
    return Survey(x, t, told, chances[rows], asked[rows], sure=sure[rows], names=people.arms, **drawn)


def _shares(campaign: CampaignState) -> list[float]:
    """Of what was drawn, people or clusters, the share that had been asked after each round so far."""
    heads = heads_of(campaign.people, campaign.policy)
    lots = heads[campaign.people.places(campaign.planned.index, "the plan")]
    begun = campaign.planned["round"].groupby(lots).min()  # somebody of a cluster may come later
    sizes = begun.value_counts().sort_index().cumsum()
    return (sizes[sizes.index <= campaign.asked] / sizes.iloc[-1]).tolist()


def _at_looks(
    campaign: CampaignState, survey: Survey, estimate: Estimate, looks: str, level: float
) -> tuple[Estimate, list[str]]:
    """An estimate whose interval holds at all looks at once, and what is to be said of that."""
    if looks == "once":
        return estimate, []
    shares = _shares(campaign)
    if looks == "rounds":
        wide = at_a_look(estimate, survey.answers(), shares, level)
        which = f"all looks, one after each of the {campaign.planned['round'].nunique()} rounds,"
    else:
        wide, which = at_any_look(estimate, shares[-1], level), "every look, however often one looks,"
    price = wide.width / estimate.width
    if not np.isfinite(price):
        return wide, ["It is too early to look: an interval that holds at all looks is without end now."]
    return wide, [f"The interval by the weights holds at {which} at once; that makes it {price:.2f} times as wide."]


def _groups(
    survey: Survey, by: str | None, groups: Any, arm: int, target: str, alone: str, level: float
) -> tuple[Mapping[Any, Estimate], list[str]]:
    if by is None:
        return {}, []
    every = group_effects(survey, groups, target, arm, level)
    found = {group: one for group, one in every.items() if isinstance(one, Estimate)}
    held = f"The {len(found)} intervals by {by} hold at once with a chance of 95% (Bonferroni){alone}."
    return found, [held] * bool(found) + _without(by, {k: why for k, why in every.items() if isinstance(why, str)})


def _without(by: str, why: Mapping[Any, str]) -> list[str]:
    """Say which groups have no interval, and of a few, why."""
    silent = [group for group, reason in why.items() if reason == NOBODY]
    few = {group: reason for group, reason in why.items() if reason != NOBODY}
    told = [f"Of {by} {_first(silent)} {NOBODY}, so there is no interval."] * bool(silent)
    if len(few) > _SHOWN:
        return [*told, f"{len(few):,} groups by {by} have no interval, for too few or equal answers: {_first([*few])}."]
    return told + [f"{by} {group} has no interval: {reason}." for group, reason in few.items()]


def _first(names: Sequence[Any]) -> str:
    return ", ".join([*map(str, names[:_SHOWN]), *[f"{len(names) - _SHOWN:,} more"] * (len(names) > _SHOWN)])


def _rests_on(clusters: int) -> str:
    few = f"; fewer than about {FEW} make it rough" * (clusters < FEW)
    return f"The interval by the weights rests on {clusters} clusters, whose people count as alike{few}."


def _modelled(survey: Survey, refused: int) -> list[str]:
    """Say that refusals were modelled, where somebody has not answered; of those who were asked, so many refused."""
    silent, asked = int(survey.refused.sum()), int(survey.asked.sum())
    if not silent:
        return []
    waited = silent - refused
    have = "has" if silent == 1 else "have"
    still = f" ({waited} of them are still waited for)" if waited > 0 else ""
    return [
        f"{silent} of {asked} people who were asked {have} not answered{still}. The chance to answer was modelled by"
        " covariates and arm: the interval holds where that model and the one of the treatment are right, or the"
        " outcome models are, and those who do not answer would have answered like similar people who do."
    ]


def _doubt(
    survey: Survey,
    estimate: Estimate,
    arm: int,
    target: str,
    bounds: tuple[float | int, float | int] | None,
    alone: str,
) -> tuple[RefusalDoubt | None, list[str]]:
    """What refusals could do to the average effect of everybody; of other targets nothing is said."""
    if not survey.refused.any():
        return None, [] if bounds is None else ["Whoever was asked has answered, so there is no use for bounds."]
    if target != "all":
        return None, ["What refusals could do to the effect is told only for the target all."]
    doubt = refusal_doubt(survey, estimate, bounds, arm)
    seen = "the answers seen" if bounds is None else "the range that was stated"
    told = [
        f"Whatever those who did not answer would have said, within {seen} ({doubt.range[0]:.4g} to"
        f" {doubt.range[1]:.4g}), the effect lies from {doubt.low:.4g} to {doubt.high:.4g}, with a chance of"
        f" 95%{alone}.",
        "Were their outcomes 1 higher than those of similar people who answered, among the treated alone the effect"
        f" would be {doubt.q_treated:.3g} higher, among the others alone {doubt.q_control:.3g} lower.",
    ]
    if 0 < doubt.tipping < np.inf:
        told.append(
            f"The interval would reach 0 if they differed from similar people who answered by {doubt.tipping:.3g}, in"
            " opposite directions in the two arms."
        )
    return doubt, told
