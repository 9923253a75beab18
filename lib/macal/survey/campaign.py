"""The immutable state of a campaign: settings, table, plan, answers.

Steps return another state (:mod:`macal.survey.steps`); estimates, report and file are functions of it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_scalar

from macal.arguments import short
from macal.datasets.table import same
from macal.registry import UnknownName, check_known
from macal.shapes import Indices, Outcomes
from macal.survey.answers import chance
from macal.survey.audit import Audit, PlanTrace
from macal.survey.columns import Columns
from macal.survey.constraints import Range
from macal.survey.facts import count_phrase
from macal.survey.policy import Policy
from macal.survey.sampling_design import SamplingDesign, ineligible, representatives
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables import frames
from macal.survey.tables.sample import Sample, SampleRequest

NOTHING = "nothing is planned yet; call plan(table) first"
NEVER = "never asked"  # a correction
MAX_NAMED = 3  # people who are named


def name_phrase(names: Collection[Any]) -> str:
    """Return "a, b and c" or "a, b, c and 2 others"."""
    words = [str(name) for name in list(names)[:MAX_NAMED]]
    words += [count_phrase(len(names) - MAX_NAMED, "other")] * (len(names) > MAX_NAMED)
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _check_cells(table: pd.DataFrame, used: Collection[Any]) -> None:
    """Refuse columns with lists, other compound values, or complex numbers: ValueError."""
    for name in dict.fromkeys(used):
        column = table[name] if name in table else pd.Series()
        if column.ndim > 1 or column.dtype.kind not in "Oc" or infer_dtype(column) == "string":
            continue
        for value in column:
            if isinstance(value, (complex, np.complexfloating)) or not (is_scalar(value) or isinstance(value, tuple)):
                raise ValueError(f"column {name!r} must hold one number, date or word in each cell, got {short(value)}")


@dataclass(frozen=True)
class Correction:
    """A correction.

    Attributes:
        name: name of the unit; None for a count of rounds.
        was: record before, "an outcome of 3", "a refusal", "no answer" or "3 rounds asked"; of several outcomes each is
            named, "an outcome of 3 (wage)".
        now: record after, or :data:`NEVER`.
        by: author, a name or a pseudonym.
        when: time, ISO 8601, UTC.
        answered: whether the unit had an outcome before.
    """

    name: Any
    was: str
    now: str
    by: str
    when: str
    answered: bool


@dataclass(frozen=True, eq=False)
class CampaignState:
    """The state of a campaign.

    Attributes:
        columns: roles of the table's columns.
        policy: settings of the plan.
        table: data frame, or sample of a larger table; None before planning.
        plan: one row per planned unit, by name; None before planning.
        answers: outcome by name of the unit, None for a refusal; of several outcomes, the first that was given.
        asked: number of fielded rounds; answers in later rounds count alone.
        audit: audit of a plan made from a sample, if requested.
        plan_trace: how the rounds to come were planned; None of a campaign from a file.
        design: by what people were drawn; None of a campaign from a file, or without draw.
        revision: how often its file has been written.
        journal: corrections, the first one first.
        outcome_column: column of the files that the answers have come from, of several outcomes the first; None where
            they came otherwise.
        searched: number of people that the remaining rounds were planned among; None for all.
        changed_since_plan: whether anything was observed or corrected since the rounds to come were planned.
        by_outcome: answers to each outcome, by its name, where there are several; empty where there is one.
    """

    columns: Columns
    policy: Policy
    table: Any = None
    plan: pd.DataFrame | None = None
    answers: Mapping[Any, float | None] = field(default_factory=lambda: MappingProxyType({}))
    asked: int = 0
    audit: Audit | None = None
    plan_trace: PlanTrace | None = None
    design: SamplingDesign | None = None
    revision: int = 0
    journal: tuple[Correction, ...] = ()
    outcome_column: str | None = None
    searched: int | None = None
    changed_since_plan: bool = False
    by_outcome: Mapping[str, Mapping[Any, float | None]] = field(default_factory=lambda: MappingProxyType({}))
    _read: dict[str, SamplingFrame] = field(default_factory=dict)

    def evolve(self, **changes: Any) -> "CampaignState":
        """Return a copy with changed fields; an unchanged table is not read again."""
        if "answers" in changes:
            changes["answers"] = MappingProxyType(dict(changes["answers"]))
        if {"table", "columns"} & set(changes):
            changes["_read"] = {}
        return replace(self, **changes)

    @property
    def told(self) -> dict[str | None, Mapping[Any, float | None]]:
        """Answers to each outcome, by its name; a single outcome may have none."""
        return dict(self.by_outcome) or {self.outcome_column: self.answers}

    @property
    def outcome(self) -> str | None:
        """Name of the first outcome; None without a name."""
        return self.outcome_column or self.columns.outcome

    def with_told(self, told: Mapping[Any, Mapping[Any, float | None]]) -> "CampaignState":
        """Return a copy with these answers to each outcome; units without any refused."""
        every = dict.fromkeys(name for answers in told.values() for name in answers)
        found = {name: [v for one in told.values() if (v := one.get(name)) is not None] for name in every}
        answers = {name: values[0] if values else None for name, values in found.items()}
        several = {one: MappingProxyType(dict(mine)) for one, mine in told.items()} if len(told) > 1 else {}
        return self.evolve(answers=answers, outcome_column=next(iter(told)), by_outcome=MappingProxyType(several))

    def seen(self, outcome: str | None = None, by: str = "outcome") -> "CampaignState":
        """Return the campaign restricted to one outcome.

        Units of fielded rounds with another outcome only are pending; others, such as reserves, count as refusals.

        Raises:
            UnknownName: no such outcome.
            ValueError: several outcomes, none named.
        """
        known = [*self.by_outcome] or [one for one in [self.outcome] if one is not None]
        if outcome is None and len(known) > 1:
            raise ValueError(f"there are several outcomes, so {by} must be one of {', '.join(known)}")
        if outcome is not None:
            check_known("outcome", known, outcome)
        if not self.by_outcome:
            return self
        told, waiting = self.by_outcome[outcome], set(self.planned.index[self.planned["round"] <= self.asked])
        answers = {name: told.get(name) for name in self.answers if name in told or name not in waiting}
        return self.evolve(answers=answers, outcome_column=outcome, by_outcome={})

    @property
    def views(self) -> list["CampaignState"]:
        """The campaign restricted to each outcome."""
        return [self.seen(outcome) for outcome in self.by_outcome] or [self]

    @property
    def came(self) -> str:
        """Counts of several outcomes, as " (wage 12, health 9)"; else empty."""
        counts = {one: sum(v is not None for v in told.values()) for one, told in self.by_outcome.items()}
        return f" ({', '.join(f'{one} {n:,}' for one, n in counts.items())})" * bool(counts)

    @cached_property
    def people(self) -> SamplingFrame:
        """The units of the table.

        Raises:
            ValueError: nothing is planned yet.
        """
        if self.table is None:
            raise ValueError(NOTHING)
        if "people" not in self._read:
            self._read["people"] = self._frame()
        return self._read["people"]

    def _frame(self) -> SamplingFrame:
        if self.is_sample:
            return SamplingFrame.of(self.table, self.columns)
        table, covariates = frames.as_pandas(self.table), self.columns.covariates
        used = [*self.columns.named().values(), *self.columns.proxies, self.policy.by]
        used += [quota.column for quota in self.policy.parsed]
        _check_cells(table, [*used, *(table.columns if covariates is None else covariates)])
        return SamplingFrame.of(table, self.columns)

    @cached_property
    def representatives(self) -> Indices:
        """The first unit of each unit's whole cluster, else the unit itself, (n,)."""
        return representatives(self.people, self.policy)

    @cached_property
    def ineligible(self) -> Indices:
        """Excluded units, and others in their whole clusters, (k,)."""
        return ineligible(self.people, self.policy)

    @cached_property
    def eligible(self) -> Indices:
        """All other units, those with an outcome too, (k,)."""
        return np.delete(np.arange(len(self.people)), self.ineligible)

    @property
    def is_sample(self) -> bool:
        """Whether the table is a sample of a larger one."""
        return isinstance(self.table, Sample)

    @property
    def planned(self) -> pd.DataFrame:
        """The plan, by the units' names.

        Raises:
            ValueError: nothing is planned yet.
        """
        if self.plan is None:
            raise ValueError(NOTHING)
        return self.plan

    @cached_property
    def fielded(self) -> pd.DataFrame | None:
        """Fielded rounds of the plan; None before planning."""
        return None if self.plan is None else self.plan[self.plan["round"] <= self.asked]

    @cached_property
    def is_uncertain(self) -> bool:
        """Whether some may not answer."""
        return bool((self.people.response < 1).any())

    @cached_property
    def committed(self) -> Indices:
        """Units with an outcome, or pending."""
        waiting = [] if self.fielded is None else [name for name in self.fielded.index if name not in self.answers]
        told = [name for name, outcome in self.answers.items() if outcome is not None]
        return np.concatenate([self.people.problem.start, self.people.positions([*told, *waiting], "the plan")])

    @cached_property
    def refused(self) -> Indices:
        """Units that refused."""
        return self.people.positions([name for name, outcome in self.answers.items() if outcome is None], "the plan")

    @cached_property
    def spent(self) -> float:
        """Money spent so far; refusals are free if only answers are paid, withdrawn answers are not."""
        if self.fielded is None:
            return 0.0
        names, free = dict.fromkeys([*self.fielded.index, *self.answers]), self.unpaid
        return float(self.people.cost[self.people.positions([n for n in names if n not in free], "the plan")].sum())

    @cached_property
    def unpaid(self) -> set[Any]:
        """Names of unpaid refusals, if only answers are paid; withdrawn answers were paid."""
        if self.policy.pay != "answered":
            return set()
        paid: set[Any] = set()
        for one in self.journal:
            if one.now == NEVER:
                paid.discard(one.name)
            elif one.answered:
                paid.add(one.name)
        return {name for name, outcome in self.answers.items() if outcome is None} - paid

    @cached_property
    def reserves_used(self) -> dict[Any, int]:
        """Reserves that have answered or refused, by name, and the round that they joined."""
        if "reserve" not in self.planned:
            return {}
        rounds = zip(self.planned["reserve"], self.planned["round"], strict=True)
        return {name: int(k) for name, k in rounds if name in self.answers and name not in self.planned.index}

    @property
    def reserves_pending(self) -> list[Any]:
        """Names of reserves of refusals in fielded rounds, not heard of yet."""
        if self.fielded is None or "reserve" not in self.fielded:
            return []
        pairs = self.fielded["reserve"].dropna().items()
        return [other for name, other in pairs if self.answers.get(name, 0) is None and other not in self.answers]

    @property
    def outside_plan(self) -> dict[Any, int]:
        """Units that have answered or refused outside the plan, by name, and the last fielded round (at least 1)."""
        there = {*self.planned.index, *self.reserves_used}
        return {name: max(self.asked, 1) for name in self.answers if name not in there}

    @cached_property
    def round_of(self) -> dict[Any, int]:
        """Round of each unit in the plan, used as a reserve, or in :attr:`outside_plan`, by name."""
        plan = zip(self.planned.index, self.planned["round"], strict=True)
        return {name: int(k) for name, k in plan} | self.reserves_used | self.outside_plan

    @property
    def extra_contacts(self) -> str:
        """Units surveyed outside the plan, as "2 reserves and 1 other"; empty if none."""
        counts = {"reserve": len(self.reserves_used), "other": len(self.outside_plan)}
        return " and ".join(count_phrase(n, who) for who, n in counts.items() if n)

    @property
    def overspent(self) -> str:
        """A sentence on overspending; else empty."""
        spent, budget = self.spent, self.policy.budget
        return "" if spent <= budget * (1 + 1e-9) else f"overspent: {spent:,.10g} of a budget of {budget:,.10g}"

    @cached_property
    def outcomes(self) -> Outcomes:
        """Outcome of each unit, (n,), NaN if unknown."""
        people, y = self.people, np.full(len(self.people), np.nan)
        if people.problem.pool.y is not None:
            y[people.problem.start] = people.problem.pool.y[people.problem.start]
        told = {name: outcome for name, outcome in self.answers.items() if outcome is not None}
        y[people.positions(told, "the answers")] = list(told.values())
        return y

    @property
    def estimable_arms(self) -> list[Any]:
        """Treatment values with an outcome, if the reference arm has one, too."""
        told = np.unique(self.people.problem.pool.t[np.isfinite(self.outcomes)])
        return [self.people.arms[k] for k in told if k and 0 in told]

    def arm_index(self, arm: Any) -> int:
        """Return the number of an arm other than the reference.

        Raises:
            UnknownName: no such arm.
            ValueError: several arms, none named.
        """
        known = self.people.arms[1:]
        if arm is None and len(known) > 1:
            raise ValueError(f"there are several arms, so arm must be one of {', '.join(map(str, known))}")
        place = 0 if arm is None else same(known, arm)
        if place is None:
            raise UnknownName("arm", arm, known)
        return 1 + place

    def with_reference(self, reference: Any) -> "CampaignState":
        """Return a copy with another reference arm for estimates; None for its own.

        Raises:
            UnknownName: no such arm.
            ValueError: there are two arms.
        """
        if reference is None or same(self.people.arms[:1], reference) == 0:
            return self
        if len(self.people.arms) == 2:
            raise ValueError(
                f"{self.people.arms[0]} is the reference of two arms; against {reference}, effects only change sign"
            )
        return self.evolve(columns=replace(self.columns, reference=reference), design=None)

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """One row per round, with units outside the plan.

        Columns: ``asked``, ``treated`` (or a count per arm), ``cost`` (without unpaid refusals), ``answers`` (observed
        or expected), and the cost ``so far``.
        """
        people = self.people
        names, numbers = list(self.round_of), list(self.round_of.values())
        units = people.positions(names, "the plan")
        chances = zip(names, people.response[units], strict=True)
        answers = [chance(self.answers.get(name, np.nan), float(response)) for name, response in chances]
        free = self.unpaid
        cost = np.where([name in free for name in names], 0.0, people.cost[units])
        t = people.problem.pool.t[units]
        each = {f"{self.columns.treatment} = {name}": t == arm for arm, name in enumerate(people.arms)}
        told = {"asked": 1, **({"treated": t} if self.columns.reference is None else each)}
        told |= {"cost": cost, "answers": answers}
        table = pd.DataFrame(told).groupby(np.array(numbers)).sum().rename_axis("round")
        return table.assign(**{"so far": table["cost"].cumsum()})

    @property
    def round_sizes(self) -> pd.Series:
        """People per round, without those moved from an earlier one by a correction."""
        late = [one.name for one in self.journal if one.now == NEVER] if self.policy.is_drawn else []
        return self.planned.loc[~self.planned.index.isin(late), "round"].value_counts()

    def stages(self) -> dict[str, Indices]:
        """Return further units, (k,), with answers at each stage, if everyone surveyed answers.

        Stages: ``now``; ``asked``, once pending answers have come; after the ``next`` round; at the ``end``.
        """
        plan = self.planned[~self.planned.index.isin(list(self.answers))]
        rounds, later = plan["round"], plan["round"][plan["round"] > self.asked]
        last = {"now": -1} | ({"asked": self.asked} if len(later) < len(plan) else {})
        last |= ({"next": later.min()} if len(later) else {}) | {"end": np.inf}
        return {s: self.people.positions(plan.index[rounds <= k], "the plan") for s, k in last.items()}

    def sample_request(self, size: int, rivals: int) -> SampleRequest:
        """Return the first-phase sample that a plan needs.

        Args:
            size: size of the sample.
            rivals: size of the audit sample.
        """
        columns, policy = self.columns, self.policy
        whole = [quota.column for quota in policy.parsed if not quota.is_ranged]
        ranges = [(q.column, v.low, v.high) for q in policy.parsed for v in q.values if isinstance(v, Range)]
        cluster = columns.cluster if policy.cluster_rule == "whole" else None
        most = max((int(np.ceil(q.number)) for q in policy.parsed if q.least and not q.share), default=0)
        others = (columns.outcome, columns.exclude, columns.include)
        by = tuple(dict.fromkeys([columns.treatment, *whole]))
        return SampleRequest(size, rivals, policy.seed, by, *others, cluster, 2 * most, tuple(dict.fromkeys(ranges)))
