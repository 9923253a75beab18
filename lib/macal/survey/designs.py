"""The two designs of a plan: a probability sample, or greedy selection by a criterion.

Each plans a campaign's remaining rounds, names reserves, and says what may change later.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from macal import acquisition
from macal.acquisition import PoolState, Restriction
from macal.acquisition.plans import check_arms
from macal.shapes import Indices, Outcomes, Rows
from macal.survey.audit import PlanTrace
from macal.survey.campaign import CampaignState
from macal.survey.greedy import GreedyPlan
from macal.survey.policy import Policy
from macal.survey.reserves import NO_RESERVE, reserves
from macal.survey.sampling_design import SamplingDesign, SamplingUnits, assign_reserves, draw_rounds, sampling_design
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables.sample import sample_in_memory

_NO_UNITS = np.empty(0, np.int64)


class Design(ABC):
    """How units are selected."""

    @abstractmethod
    def with_changes(self, campaign: CampaignState, changed: Mapping[str, Any]) -> CampaignState:
        """Return the campaign with changed settings, or raise ValueError."""

    @abstractmethod
    def plan_rounds(self, campaign: CampaignState) -> CampaignState:
        """Return the campaign with its remaining rounds planned.

        Raises:
            Conflict: no plan meets all constraints.
            ValueError: constraints that the design cannot meet.
        """

    @abstractmethod
    def without(self, campaign: CampaignState, name: Any) -> pd.DataFrame:
        """Return the plan if a unit was left out of its round."""


class GreedySelection(Design):
    """Units by the criterion's gain per cost, in view of the answers so far."""

    def with_changes(self, campaign: CampaignState, changed: Mapping[str, Any]) -> CampaignState:
        """Return the campaign with a changed budget or quotas."""
        return campaign.evolve(policy=replace(campaign.policy, **changed))

    def plan_rounds(self, campaign: CampaignState) -> CampaignState:
        """Select the remaining rounds."""
        people, policy, old = campaign.people, campaign.policy, campaign.fielded
        known, refused, money = campaign.committed, campaign.refused, policy.budget - campaign.spent
        some, rows = _searched(campaign, np.concatenate([known, refused]))
        place = np.full(len(people), -1)
        place[rows] = np.arange(len(rows))
        out = np.union1d(refused, _called(campaign))
        out = place[out][place[out] >= 0]
        rounds = selection_task(policy, campaign.asked, some, place[known], out, money).rounds()
        trace = PlanTrace(some, place[known], out, money, rounds.purchases)
        parts = [_rows(campaign, rows[batch], k) for k, batch in enumerate(rounds.filled, campaign.asked + 1)]
        new = pd.concat(parts) if parts else _rows(campaign, _NO_UNITS, 0)
        if campaign.is_uncertain:
            still = [] if old is None else old["reserve"].dropna()
            gone = np.concatenate([known, refused, people.positions(still, "the plan")])
            new["reserve"] = _reserves(campaign, new.index, gone)
            old = None if old is None else _still_reserves(campaign, old, new.index)
        plan, among = new if old is None else pd.concat([old, new]), len(some) if len(some) < len(people) else None
        return campaign.evolve(plan=plan, plan_trace=trace, audit=None, searched=among, changed_since_plan=False)

    def without(self, campaign: CampaignState, name: Any) -> pd.DataFrame:
        """Return the plan without the unit, who may be selected again."""
        return campaign.planned[~_left_out(campaign, name)]


class ProbabilitySample(Design):
    """Units drawn once, with known inclusion probabilities."""

    def with_changes(self, campaign: CampaignState, changed: Mapping[str, Any]) -> CampaignState:
        """Raise ValueError."""
        raise ValueError(
            "a sample is drawn once, so budget and quotas cannot change; without draw they can (--criterion"
            f" {acquisition.DEFAULT})"
        )

    def plan_rounds(self, campaign: CampaignState) -> CampaignState:
        """Draw the sample, or keep the rounds to come as drawn, numbered without gaps."""
        same: dict[str, Any] = {"audit": None, "changed_since_plan": False}
        if (plan := campaign.plan) is None:
            return self._drawn(campaign).evolve(**same)
        later = plan["round"] > campaign.asked
        numbers = campaign.asked + plan["round"][later].rank(method="dense").astype(int)
        plan = plan.assign(round=plan["round"].where(~later, numbers)).astype({"round": int})
        return redrawn(campaign.evolve(plan=plan.sort_values("round", kind="stable"), **same))

    def _drawn(self, campaign: CampaignState) -> CampaignState:
        people, policy = campaign.people, campaign.policy
        design = design_under(people, policy)
        parts = [_rows(campaign, units, k) for k, units in enumerate(draw_rounds(people, policy, design), 1)]
        plan = pd.concat(parts) if parts else _rows(campaign, _NO_UNITS, 0)
        units = people.positions(plan.index, "the plan")
        plan["weight"] = _weights(people, design, units)
        if campaign.is_uncertain:
            found = assign_reserves(policy, design)
            others = np.array([found.get(unit, NO_RESERVE) for unit in units.tolist()], np.int64)
            there, weights = others != NO_RESERVE, np.zeros(len(others))
            weights[there] = _weights(people, design, others[there])
            plan = plan.assign(reserve=_names(people, others, plan.index), reserve_weight=weights)
        return campaign.evolve(plan=plan, design=design)

    def without(self, campaign: CampaignState, name: Any) -> pd.DataFrame:
        """Return the plan with the unit, who keeps the weight, in the next round or in a new last one."""
        plan = campaign.planned
        moved = plan["round"].mask(_left_out(campaign, name), campaign.asked + 1)
        return plan.assign(round=moved).sort_values("round", kind="stable")


def design_of(policy: Policy) -> Design:
    """Return the design of a plan."""
    return ProbabilitySample() if policy.is_drawn else GreedySelection()


def design_under(people: SamplingFrame, policy: Policy, units: SamplingUnits | None = None) -> SamplingDesign:
    """Return the sampling design under the policy's budget."""
    picks = None
    if not policy.is_for_effect:
        task = selection_task(policy, 0, people, people.problem.start, _NO_UNITS, float(policy.budget))
        picks = np.concatenate([_NO_UNITS, *task.rounds().filled])
    return sampling_design(people, policy, picks, units)


def redrawn(campaign: CampaignState) -> CampaignState:
    """Return a loaded campaign with its sampling design computed again.

    It is unchanged without a sample, or if another version's design does not fit the plan's weights.
    """
    people, policy = campaign.people, campaign.policy
    if campaign.plan is None or campaign.design is not None or not policy.is_drawn:
        return campaign
    try:
        design = design_under(people, policy)
    except ValueError:
        return campaign
    units = people.positions(campaign.plan.index, "the plan")
    phase = 1.0 if people.first_phase is None else people.first_phase.weights[units]
    same = np.allclose(design.inclusion_of(units) * campaign.plan["weight"].to_numpy(), phase)
    return campaign.evolve(design=design) if same else campaign


def _left_out(campaign: CampaignState, name: Any) -> pd.Series:
    plan = campaign.planned
    return (plan.index == name) & (plan["round"] <= campaign.asked)


def _rows(campaign: CampaignState, units: Indices, number: int) -> pd.DataFrame:
    """Return a round of a plan."""
    people, columns = campaign.people, campaign.columns
    arms = pd.Index(people.arms)[people.problem.pool.t[units]]
    rows = {"round": number, columns.treatment: arms, "cost": people.cost[units]}
    rows |= {"response": people.response[units]} if campaign.is_uncertain else {}
    return pd.DataFrame(rows, index=people.table.index[units])


def _weights(people: SamplingFrame, design: SamplingDesign, units: Indices) -> Outcomes:
    """Return weights of sampled units over both phases, (k,)."""
    return (1 if people.first_phase is None else people.first_phase.weights[units]) / design.inclusion_of(units)


def _names(people: SamplingFrame, units: Rows, index: pd.Index) -> pd.Series:
    """Return the names of units, None for :data:`NO_RESERVE`."""
    names = people.table.index
    return pd.Series([None if k == NO_RESERVE else names[k] for k in units], index, dtype=object)


def _reserves(campaign: CampaignState, asked: pd.Index, gone: Indices) -> pd.Series:
    """Return names of the reserves, missing without one."""
    people, policy = campaign.people, campaign.policy
    units = reserves(people, policy.parsed, policy.cluster_rule, people.positions(asked, "the plan"), gone)
    return _names(people, units, asked)


def _still_reserves(campaign: CampaignState, old: pd.DataFrame, asked: pd.Index) -> pd.DataFrame:
    """Return earlier rounds without reserves who, or whose cluster, are planned now."""
    people = campaign.people
    lots = people.cluster_labels()
    taken = people.table.index[np.isin(lots, lots[people.positions(asked, "the plan")])]
    return old.assign(reserve=old["reserve"].where(~old["reserve"].isin(list(taken)), None))


def _called(campaign: CampaignState) -> Indices:
    """Return pending reserves and eligible members of their clusters, who are not planned again."""
    people = campaign.people
    lots = people.cluster_labels()
    called = np.flatnonzero(np.isin(lots, lots[people.positions(campaign.reserves_pending, "the plan")]))
    return np.setdiff1d(called, np.concatenate([campaign.committed, people.included]))


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


def selection_task(
    policy: Policy,
    asked: int,
    people: SamplingFrame,
    known: Indices,
    refused: Rows,
    money: float,
    restriction: Restriction | None = None,
) -> GreedyPlan:
    """Return the task of a greedy plan; an audit has a restriction of its own."""
    spread = np.random.default_rng([policy.seed, asked] if asked else policy.seed)
    split = people.problem.pool
    if restriction is None:
        restriction = Restriction(weights=None if people.first_phase is None else people.first_phase.weights)
    state = PoolState(split.x.astype(np.float64), split.t, known, spread, restriction=restriction)
    demands = people.demands(max(money, 0.0), policy.parsed, policy.cluster_rule, policy.batch_cost, known, refused)
    if money != policy.budget:
        demands[0] = replace(demands[0], name=f"a budget of {policy.budget:g}, of which {max(money, 0.0):g} is unspent")
    clusters = people.cluster_ids(policy.cluster_rule, known, refused)
    cost, heads = (people.of_clusters(clusters, values) for values in (people.cost, np.ones(len(people))))
    price = cost / heads / people.response
    first = np.setdiff1d(people.included, np.concatenate([known, refused]))
    criterion = acquisition.get(policy.rule, **policy.parameters)
    check_arms(criterion, split.t)
    price /= price.min()
    return GreedyPlan(
        criterion, state, demands, people.cost, price, clusters, first, policy.batch_size, policy.batch_cost
    )
