"""Steps of a campaign: plan, observe, replan, correct, audit. Each returns another state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from macal import acquisition
from macal.acquisition import PoolState, Restriction
from macal.acquisition.plans import check_arms
from macal.arguments import Positive, hinted
from macal.registry import check_known
from macal.shapes import Indices, Outcomes, Rows
from macal.survey.answers import by_name, outcome_of
from macal.survey.audit import PlanTrace, audit_plan
from macal.survey.campaign import NEVER, CampaignState, Correction, name_phrase
from macal.survey.facts import count_phrase
from macal.survey.forecast import budget_for
from macal.survey.greedy import GreedyPlan
from macal.survey.policy import Policy
from macal.survey.reserves import NO_RESERVE, reserves
from macal.survey.sampling_design import SamplingDesign, SamplingUnits, assign_reserves, draw_rounds, sampling_design
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables.sample import audit_sample, sample_in_memory

AUDIT_SIZE = 10_000
_OF_RESERVES = ["reserve", "reserve_weight"]
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
    if changed and campaign.policy.draw is not None:
        raise ValueError(
            "a sample is drawn once, so budget and quotas cannot change; without draw they can (--criterion"
            f" {acquisition.DEFAULT})"
        )
    campaign = campaign.evolve(policy=replace(campaign.policy, **changed)) if changed else campaign
    people, policy, old = campaign.people, campaign.policy, campaign.fielded
    known, refused, money = campaign.committed, campaign.refused, policy.budget - campaign.spent
    some, rows = _searched(campaign, np.concatenate([known, refused]))
    place = np.full(len(people), -1)
    place[rows] = np.arange(len(rows))
    out = np.union1d(refused, _called(campaign))
    out = place[out][place[out] >= 0]
    task = _task(policy, campaign.asked, some, place[known], out, money)
    made, chosen = None, None
    if policy.draw is None:
        rounds = task.rounds()
        batches, made = rounds.filled, PlanTrace(some, place[known], out, money, rounds.purchases)
    elif campaign.plan is None:
        chosen = sampling_design(people, policy, task)
        batches = draw_rounds(people, policy, chosen)
    else:
        later = campaign.plan[campaign.plan["round"] > campaign.asked]
        batches = [people.positions(part.index, "the plan") for _, part in later.groupby("round")]
    parts = [_rows(campaign, rows[batch], k, chosen) for k, batch in enumerate(batches, campaign.asked + 1)]
    new = pd.concat(parts) if parts else _rows(campaign, refused[:0], 0, chosen)
    if campaign.is_uncertain and policy.draw is not None:
        new = new.join(campaign.plan[_OF_RESERVES] if chosen is None else _drawn_reserves(campaign, new.index, chosen))
    elif campaign.is_uncertain:
        still = [] if old is None else old["reserve"].dropna()
        gone = np.concatenate([known, refused, people.positions(still, "the plan")])
        new["reserve"] = _reserves(campaign, new.index, gone)
        old = None if old is None else _still_reserves(campaign, old, new.index)
    among = len(some) if len(some) < len(people) else None
    plan = new if old is None else pd.concat([old, new])
    chosen = redrawn(campaign).design if chosen is None else chosen
    return campaign.evolve(
        plan=plan, plan_trace=made, audit=None, searched=among, changed_since_plan=False, design=chosen
    )


def redrawn(campaign: CampaignState) -> CampaignState:
    """Return a loaded campaign with its sampling design computed again.

    It is unchanged without a draw, or if another version's design does not fit the plan's weights.
    """
    people, policy = campaign.people, campaign.policy
    if policy.draw is None or campaign.plan is None or campaign.design is not None:
        return campaign
    try:
        chosen = design_under(people, policy)
    except ValueError:
        return campaign
    units = people.positions(campaign.plan.index, "the plan")
    weights = 1.0 if people.first_phase is None else people.first_phase.weights[units]
    same = np.allclose(chosen.inclusion_of(units) * campaign.plan["weight"].to_numpy(), weights)
    return campaign.evolve(design=chosen) if same else campaign


def _called(campaign: CampaignState) -> Indices:
    """Return pending reserves and eligible members of their clusters, who are not planned again."""
    people = campaign.people
    lots = people.cluster_labels()
    called = np.flatnonzero(np.isin(lots, lots[people.positions(campaign.reserves_pending, "the plan")]))
    return np.setdiff1d(called, np.concatenate([campaign.committed, people.included]))


def design_under(people: SamplingFrame, policy: Policy, lots: SamplingUnits | None = None) -> SamplingDesign:
    """Return the sampling design under the policy's budget."""
    none = np.empty(0, np.int64)
    return sampling_design(
        people, policy, _task(policy, 0, people, people.problem.start, none, float(policy.budget)), lots
    )


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
        left_out = (plan.index == name) & (plan["round"] <= campaign.asked)
        later = plan.assign(round=plan["round"].mask(left_out, campaign.asked + 1))
        is_drawn = campaign.policy.draw is not None
        plan = later.sort_values("round", kind="stable") if is_drawn else plan[~left_out]
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
    task = partial(_task, campaign.policy, campaign.asked, money=made.money)
    if not len(rivals):
        raise ValueError(
            "nothing to audit with: a sample from a campaign's file has no audit sample; sample the table again"
        )
    return campaign.evolve(audit=audit_plan(made, made.people.extended_by(rivals, campaign.columns), task))


def _searched(campaign: CampaignState, needed: Rows) -> tuple[SamplingFrame, Indices]:
    """Return the units to plan among, all or a sample with the needed ones, and their places, (k,)."""
    most, response = campaign.policy.searched, campaign.people.response.copy()
    told = [name for name, outcome in campaign.answers.items() if outcome is not None]
    response[campaign.people.positions(told, "the plan")] = 1.0  # an observed answer has probability 1
    people = replace(campaign.people, response=response)
    if people.first_phase is not None or len(people) <= most:
        return people, np.arange(len(people))
    rows, phase = sample_in_memory(people.table, campaign.sample_request(int(most), 0), needed)
    return people.restricted_to(rows, phase), rows


def _task(
    policy: Policy, asked: int, people: SamplingFrame, known: Indices, refused: Rows, money: float, **seen: Any
) -> GreedyPlan:
    """Return the planning task; ``seen`` are fields of an audit's restriction."""
    spread = np.random.default_rng([policy.seed, asked] if asked else policy.seed)
    split = people.problem.pool
    weights = None if people.first_phase is None else people.first_phase.weights
    state = PoolState(
        split.x.astype(np.float64), split.t, known, spread, restriction=Restriction(**{"weights": weights} | seen)
    )
    demands = people.demands(max(money, 0.0), policy.parsed, policy.cluster_rule, policy.batch_cost, known, refused)
    if money != policy.budget:
        demands[0] = replace(demands[0], name=f"a budget of {policy.budget:g}, of which {max(money, 0.0):g} is unspent")
    clusters = people.cluster_ids(policy.cluster_rule, known, refused)
    cost, heads = (people.of_clusters(clusters, values) for values in (people.cost, np.ones(len(people))))
    price = cost / heads / people.response
    first = np.setdiff1d(people.included, np.concatenate([known, refused]))
    criterion = acquisition.get(policy.criterion, **policy.parameters)
    check_arms(criterion, split.t)
    price /= price.min()
    return GreedyPlan(
        criterion, state, demands, people.cost, price, clusters, first, policy.batch_size, policy.batch_cost
    )


def _rows(campaign: CampaignState, units: Indices, number: int, chosen: SamplingDesign | None) -> pd.DataFrame:
    """Return a round of a plan."""
    people, columns = campaign.people, campaign.columns
    arms = pd.Index(people.arms)[people.problem.pool.t[units]]
    rows = {"round": number, columns.treatment: arms, "cost": people.cost[units]}
    rows |= {"response": people.response[units]} if campaign.is_uncertain else {}
    rows |= {} if campaign.policy.draw is None else {"weight": _weights(campaign, units, chosen)}
    return pd.DataFrame(rows, index=people.table.index[units])


def _weights(campaign: CampaignState, units: Indices, chosen: SamplingDesign | None) -> Outcomes:
    """Return weights of sampled units over both phases, (k,)."""
    people = campaign.people
    if chosen is None:
        return campaign.planned["weight"].loc[people.table.index[units]].to_numpy()
    return (1 if people.first_phase is None else people.first_phase.weights[units]) / chosen.inclusion_of(units)


def _drawn_reserves(campaign: CampaignState, asked: pd.Index, chosen: SamplingDesign) -> pd.DataFrame:
    """Return names and weights of a sample's reserves; None and 0 without one."""
    names, places = campaign.people.table.index, campaign.people.positions(asked, "the plan")
    found = assign_reserves(campaign.policy, chosen)
    rest = np.array([found.get(unit, NO_RESERVE) for unit in places.tolist()], np.int64)
    weights = np.zeros(len(rest))
    weights[rest != NO_RESERVE] = _weights(campaign, rest[rest != NO_RESERVE], chosen)
    values = [[None if k == NO_RESERVE else names[k] for k in rest], weights]
    return pd.DataFrame(
        {name: pd.Series(v, asked, dtype=t) for name, v, t in zip(_OF_RESERVES, values, (object, float), strict=True)}
    )


def _reserves(campaign: CampaignState, asked: pd.Index, gone: Indices) -> pd.Series:
    """Return names of the reserves, missing without one."""
    people, policy = campaign.people, campaign.policy
    units = reserves(people, policy.parsed, policy.cluster_rule, people.positions(asked, "the plan"), gone)
    names = people.table.index
    return pd.Series([None if k == NO_RESERVE else names[k] for k in units], asked, dtype=object)


def _still_reserves(campaign: CampaignState, old: pd.DataFrame, asked: pd.Index) -> pd.DataFrame:
    """Return earlier rounds without reserves who, or whose cluster, are planned now."""
    people = campaign.people
    lots = people.cluster_labels()
    taken = people.table.index[np.isin(lots, lots[people.positions(asked, "the plan")])]
    return old.assign(reserve=old["reserve"].where(~old["reserve"].isin(list(taken)), None))
