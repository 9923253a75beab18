"""Steps of a campaign: plan, observe, replan, correct, audit. Each returns another state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from macal.arguments import Positive, hinted
from macal.registry import check_known
from macal.survey.answers import by_name, outcome_of
from macal.survey.audit import audit_plan
from macal.survey.campaign import NEVER, CampaignState, Correction, name_phrase
from macal.survey.designs import design_of, design_under, selection_task
from macal.survey.facts import count_phrase
from macal.survey.forecast import budget_for
from macal.survey.tables.sample import audit_sample

AUDIT_SIZE = 10_000
CHANGES = ("outcome", "withdrawn", NEVER)


def start_campaign(campaign: CampaignState, table: Any) -> CampaignState:
    """Plan a campaign; see :meth:`macal.survey.planner.Planner.plan`."""
    if table is None:
        raise ValueError("the table must be a DataFrame of pandas, polars or Arrow, or a sample, got None")
    none = {"answers": {}, "by_outcome": {}, "asked": 0}
    campaign = campaign.evolve(table=table, plan=None, audit=None, plan_trace=None, design=None, **none)
    if campaign.policy.width is not None:
        budget = budget_for(campaign.people, campaign.policy, partial(design_under, campaign.people))
        campaign = campaign.evolve(policy=replace(campaign.policy, budget=budget))
    new = replanned(campaign)
    if not len(new.planned):
        people, none = new.people, np.empty(0, np.int64)
        clusters = people.cluster_ids(new.policy.cluster_rule, people.problem.start, none)
        free = np.delete(np.arange(len(people)), np.concatenate([people.problem.start, people.excluded]))
        cheapest = people.of_clusters(clusters, people.cost)[free].min(initial=np.inf)
        what = "whole cluster" if (clusters >= 0).any() else "person"
        limits = {"budget": new.policy.budget, "round": new.policy.batch_cost}
        for limit, money in limits.items():
            if money is not None and money < cheapest < np.inf:
                raise ValueError(
                    f"a {limit} of {money:g} is too small: the cheapest {what} costs {cheapest:g}; raise it"
                )
        raise ValueError("the constraints leave no one to survey; relax or drop one of them")
    return new


def observed(campaign: CampaignState, given: Mapping[Any, Any], through: int | None = None) -> CampaignState:
    """Add answers by outcome, None for the single one; see :meth:`macal.survey.planner.Planner.observe`."""
    plan, told = campaign.planned, by_outcome(campaign, list(given))
    wanted = {*plan.index, *(plan["reserve"].dropna() if "reserve" in plan else ()), *campaign.answers}
    new: dict[Any, None] = {}
    for which, answers in given.items():
        mine = told[next(iter(told)) if which is None else which]
        for name, outcome in by_name(campaign.people, answers.items()).items():
            if name not in wanted:
                raise ValueError(
                    f"{name} is not among the {len(plan)} people in the plan or their reserves; check the name"
                )
            mine[name] = outcome_of(name if len(told) == 1 else f"{name} ({which})", outcome, mine.get(name))
            new[name] = None
    return campaign.with_told(told).evolve(asked=rounds_fielded(campaign, new, through), changed_since_plan=True)


def by_outcome(campaign: CampaignState, given: Sequence[str | None]) -> dict[str | None, dict[Any, float | None]]:
    """Return answers by outcome, with new ones; a single unnamed outcome takes the given name.

    Raises:
        ValueError: ambiguous outcomes, or ones that the table does not allow.
    """
    people, told = campaign.people, {one: dict(answers) for one, answers in campaign.told.items() if answers}
    roles = {column: role for role, column in campaign.columns.named().items() if role != "outcome"}
    roles |= {people.table.index.name: "identifier", **dict.fromkeys(people.roles.proxies, "proxy")}
    if taken := [one for one in given if one is not None and one in roles]:
        raise ValueError(f"{taken[0]!r} is the table's {roles[taken[0]]}; rename that outcome in the answers")
    if len(told) < 2 and len(given) == 1 and None in {*told, *given}:
        return {given[0] or next(iter(told), campaign.outcome_column): next(iter(told.values()), {})}
    told |= {one: {} for one in given if one not in told}
    names = name_phrase([repr(one) for one in told if one is not None])
    if None in told:
        raise ValueError(f"unnamed answers cannot be distinguished from {names}; give each outcome a column")
    if len(told) > 1 and people.problem.start.size:
        raise ValueError(
            f"people with an outcome in column {campaign.columns.outcome!r} of the table are not surveyed and would"
            f" lack the others; observe one of {names}, or plan without that column"
        )
    return told


def rounds_fielded(campaign: CampaignState, names: Iterable[Any], through: int | None = None) -> int:
    """Return the number of fielded rounds after answers; see :meth:`macal.survey.planner.Planner.observe`."""
    if through is not None:
        return max(campaign.asked, _count(campaign, through, "through"))
    rounds, last = campaign.planned["round"], campaign.asked
    new = set(rounds[rounds.index.isin([name for name in names if name not in campaign.answers])])
    while last + 1 in new:
        last += 1
    return last


def _count(campaign: CampaignState, rounds: int, what: str) -> int:
    """Return a valid number of rounds, or raise ValueError."""
    most = int(campaign.planned["round"].max()) if len(campaign.planned) else 0
    if not 0 <= rounds <= most:
        raise ValueError(f"{what} must be a number of rounds from 0 to the plan's {most}, got {rounds}")
    return rounds


@hinted
def replanned(
    campaign: CampaignState, budget: Positive | None = None, quotas: Sequence[str] | None = None
) -> CampaignState:
    """Plan the remaining rounds again; see :meth:`macal.survey.planner.Planner.replan`."""
    changed = {name: value for name, value in (("budget", budget), ("quotas", quotas)) if value is not None}
    design = design_of(campaign.policy)
    return design.plan_rounds(design.with_changes(campaign, changed) if changed else campaign)


def corrected(
    campaign: CampaignState, name: Any, change: str, by: str, outcome: Any = None, of: str | None = None
) -> CampaignState:
    """Return the campaign with a unit's record corrected; the journal keeps the old one and the author.

    Args:
        campaign: with a plan.
        name: name of a unit that was surveyed or is a reserve.
        change: "outcome": the answer is ``outcome``; "withdrawn": the answer may not be used, and counts as a refusal,
            but as paid; "never asked": the unit was left out of its round, and may be surveyed later. A sampled unit
            keeps its weight and moves to the next round, or to a new last one.
        by: author, a name or a pseudonym.
        outcome: corrected answer.
        of: which of several outcomes; required for an answer; None withdraws all.

    Raises:
        UnknownName: no such change or outcome.
        ValueError: the unit was not surveyed or its outcome is in the table, no author, an outcome that is not finite,
            or an ambiguous or superfluous ``of``.
    """
    check_known("correction", CHANGES, change)
    out = campaign.fielded
    was_asked = out is not None and name in out.index
    if not was_asked and name not in campaign.answers:
        raise ValueError(_nothing_to_correct(campaign, name))
    told, plan = {one: dict(answers) for one, answers in campaign.told.items()}, campaign.planned
    if change == "outcome" or of is not None:
        of = campaign.seen(of, "of (--of)").outcome
    if change == NEVER and of is not None:
        raise ValueError(f"a person who was never surveyed has no outcome; leave out {of!r} (of, --of)")
    mine = [*told] if of is None or len(told) == 1 else [of]
    was, answered = _said(name, told, mine), any(told[one].get(name) is not None for one in mine)
    if change == NEVER:
        for answers in told.values():
            answers.pop(name, None)
        plan = design_of(campaign.policy).without(campaign, name)
    else:
        value = outcome_of(name, outcome, None) if change == "outcome" else None
        if change == "outcome" and value is None:
            raise ValueError(f"the outcome of {name} must be a finite number; for a refusal use 'withdrawn'")
        for one in mine:
            told[one][name] = value
    now = NEVER if change == NEVER else _said(name, told, mine)
    return _noted(campaign, name, was, now, by, answered).with_told(told).evolve(plan=plan)


def recounted(campaign: CampaignState, rounds: int, by: str) -> CampaignState:
    """Return the campaign with the number of fielded rounds corrected; answers in other rounds count alone.

    Raises:
        ValueError: an invalid number of rounds, or no author.
    """
    asked = _count(campaign, rounds, "rounds")
    was, now = (f"{count_phrase(k, 'round')} asked" for k in (campaign.asked, asked))
    return _noted(campaign, None, was, now, by).evolve(asked=asked)


def _noted(campaign: CampaignState, name: Any, was: str, now: str, by: str, answered: bool = False) -> CampaignState:
    if not by.strip():
        raise ValueError("a correction needs the name or pseudonym of its author (--recorded-by)")
    one = Correction(name, was, now, by, datetime.now(UTC).isoformat(timespec="seconds"), answered)
    return campaign.evolve(journal=(*campaign.journal, one), changed_since_plan=True)


def _nothing_to_correct(campaign: CampaignState, name: Any) -> str:
    people = campaign.people
    if name not in people.table.index[people.problem.start]:
        return f"{name} has not been surveyed, so there is nothing to correct"
    return (
        f"the outcome of {name} is part of the table: correct it there, in column {campaign.columns.outcome!r} (to"
        f" withdraw it, empty it and mark {name} for --exclude), add the answers so far, and plan again"
    )


def _said(name: Any, told: Mapping[Any, Mapping[Any, float | None]], mine: Sequence[Any]) -> str:
    """Return a unit's record in words, known outcomes first, each named if there are several."""
    if len(mine) == len(told) and all(answers.get(name, 0) is None for answers in told.values()):
        return "a refusal"
    found = sorted(((one, told[one][name]) for one in mine if name in told[one]), key=lambda pair: pair[1] is None)
    said = ("a refusal" if value is None else f"an outcome of {value:.10g}" for _, value in found)
    which = (f" ({one})" * (len(told) > 1) for one, _ in found)
    return ", ".join(map(str.__add__, said, which)) or "no answer"


def audit_of(campaign: CampaignState) -> CampaignState:
    """Return the campaign with its last plan audited; see :mod:`macal.survey.audit`.

    Raises:
        ValueError: no plan from a first-phase sample here, or by a rule without gains.
    """
    made = campaign.plan_trace
    if made is None or made.people.first_phase is None:
        raise ValueError("nothing to audit: first make a plan without draw here, from a first-phase sample")
    own = campaign.is_sample
    rivals = (
        campaign.table.rivals if own else audit_sample(campaign.people.table, campaign.sample_request(1, AUDIT_SIZE))
    )
    task = partial(selection_task, campaign.policy, campaign.asked, money=made.money)
    if not len(rivals):
        raise ValueError(
            "nothing to audit with: a sample from a campaign's file has no audit sample; sample the table again"
        )
    return campaign.evolve(audit=audit_plan(made, made.people.extended_by(rivals, campaign.columns), task))
