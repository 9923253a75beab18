"""A campaign as it stands, which never changes: what is asked of a plan, the table, the plan, the answers.

Transitions return another campaign (:mod:`macal.survey.steps`); where one fails, nothing has changed. Estimates, the
report and the file are functions of a campaign.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_scalar

from macal.arguments import short
from macal.datasets.table import same
from macal.registry import UnknownName, check_known
from macal.shapes import Indices, Outcomes
from macal.survey.answers import chance
from macal.survey.audit import Audit, PlanTrace
from macal.survey.constraints import Range
from macal.survey.policy import Policy
from macal.survey.sampling_design import SamplingDesign
from macal.survey.sampling_frame import Columns, SamplingFrame
from macal.survey.tables import frames
from macal.survey.tables.sample import Sample, SampleRequest

NOTHING = "nothing is planned yet; plan(table) comes first"
NEVER = "never asked"  # what a correction says
MAX_NAMED = 3  # people that are named


def count_phrase(count: int, what: str) -> str:
    """As "1 answer" or "2 answers"."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def name_phrase(names: Collection[Any]) -> str:
    """The first names, and how many others there are, as "a, b and c" or "a, b, c and 2 others"."""
    words = [str(name) for name in list(names)[:MAX_NAMED]]
    words += [count_phrase(len(names) - MAX_NAMED, "other")] * (len(names) > MAX_NAMED)
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _check_cells(table: pd.DataFrame, used: Collection[Any]) -> None:
    """Refuse columns whose cells hold lists, other values of several parts, or complex numbers: ValueError."""
    for name in dict.fromkeys(used):
        column = table[name] if name in table else pd.Series()
        if column.ndim > 1 or column.dtype.kind not in "Oc":
            continue
        for value in column:
            if isinstance(value, (complex, np.complexfloating)) or not (is_scalar(value) or isinstance(value, tuple)):
                raise ValueError(f"column {name!r} must hold one number, date or word in each cell, got {short(value)}")


@dataclass(frozen=True)
class Correction:
    """What was corrected.

    Attributes:
        name: of the unit; None where rounds were counted wrong.
        was: what the campaign said of her, "an outcome of 3", "a refusal", "no answer"; or "3 rounds asked". Of
            several outcomes each is named, "an outcome of 3 (wage)".
        now: what it says, or :data:`NEVER`.
        by: who says so, a name or a pseudonym.
        when: ISO 8601, UTC.
        answered: whether an outcome of the unit was known before.
    """

    name: Any
    was: str
    now: str
    by: str
    when: str
    answered: bool


@dataclass(frozen=True, eq=False)
class CampaignState:
    """A campaign as it stands.

    Attributes:
        columns: what the columns of the table are.
        policy: how a plan is made.
        table: the people: a frame, or a sample of a larger table; None where nothing is planned yet.
        plan: one row per unit to be asked, by name; None where nothing is planned yet.
        answers: outcome of each unit who has answered, by name; None for one who will not. Of several outcomes the
            first that the unit gave.
        asked: rounds that have been asked; of later ones an answer counts for whoever gave it alone.
        audit: what planning from a sample may have cost, where that was asked.
        plan_trace: how the rounds to come were planned; None of a campaign from a file.
        design: by what people were drawn; None of a campaign from a file, or without draw.
        revision: how often its file has been written.
        journal: corrections, the first one first.
        outcome_column: column of the files that the answers have come from, of several outcomes the first; None where
            they came otherwise.
        searched: people of a table in memory among whom the rounds to come were planned; None for all.
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

    def evolve(self, **changes: Any) -> "CampaignState":
        """The campaign with other values; of the same table, it keeps what it has read."""
        if "answers" in changes:
            changes["answers"] = MappingProxyType(dict(changes["answers"]))
        other = replace(self, **changes)
        if "people" in self.__dict__ and not {"table", "columns"} & set(changes):
            other.__dict__["people"] = self.people
        return other

    @property
    def told(self) -> dict[str | None, Mapping[Any, float | None]]:
        """Answers to each outcome, by its name; that of a campaign with one outcome may have none."""
        return dict(self.by_outcome) or {self.outcome_column: self.answers}

    @property
    def outcome(self) -> str | None:
        """Name of the one outcome, of several that of the first; None where it has none."""
        return self.outcome_column or self.columns.outcome

    def with_told(self, told: Mapping[Any, Mapping[Any, float | None]]) -> "CampaignState":
        """The campaign with other answers to each outcome: units with any have answered, units with none refused."""
        every = dict.fromkeys(name for answers in told.values() for name in answers)
        found = {name: [v for one in told.values() if (v := one.get(name)) is not None] for name in every}
        answers = {name: values[0] if values else None for name, values in found.items()}
        several = {one: MappingProxyType(dict(mine)) for one, mine in told.items()} if len(told) > 1 else {}
        return self.evolve(answers=answers, outcome_column=next(iter(told)), by_outcome=MappingProxyType(several))

    def seen(self, outcome: str | None = None, by: str = "outcome") -> "CampaignState":
        """The campaign as one outcome sees it; itself where there is no other.

        Units of rounds that were asked who gave another outcome, and of whom nothing was said of this one, are waited
        for. Others who were heard of, as reserves, count as asked, and as a refusal.

        Raises:
            UnknownName: no such outcome.
            ValueError: there are several, and none is named.
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
        """The campaign as each outcome sees it."""
        return [self.seen(outcome) for outcome in self.by_outcome] or [self]

    @property
    def came(self) -> str:
        """Answers to each of several outcomes, as " (wage 12, health 9)"; empty where there is one."""
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
        if self.is_sample:
            return SamplingFrame.of(self.table, self.columns)
        table, covariates = frames.as_pandas(self.table), self.columns.covariates
        used = [*self.columns.named().values(), *self.columns.proxies, self.policy.by]
        used += [quota.column for quota in self.policy.parsed]
        _check_cells(table, [*used, *(table.columns if covariates is None else covariates)])
        return SamplingFrame.of(table, self.columns)

    @property
    def is_sample(self) -> bool:
        """Whether the people are a sample of a larger table."""
        return isinstance(self.table, Sample)

    @property
    def planned(self) -> pd.DataFrame:
        """The plan as it stands, by the units' names.

        Raises:
            ValueError: nothing is planned yet.
        """
        if self.plan is None:
            raise ValueError(NOTHING)
        return self.plan

    @property
    def fielded(self) -> pd.DataFrame | None:
        """The rounds that have been asked; None where nothing is planned yet."""
        return None if self.plan is None else self.plan[self.plan["round"] <= self.asked]

    @property
    def is_uncertain(self) -> bool:
        """Whether some may not answer."""
        return bool((self.people.response < 1).any())

    @property
    def committed(self) -> Indices:
        """Units whose label is bought: outcomes known before, answers, and whoever is waited for."""
        waiting = [] if self.fielded is None else [name for name in self.fielded.index if name not in self.answers]
        told = [name for name, outcome in self.answers.items() if outcome is not None]
        return np.concatenate([self.people.problem.start, self.people.positions([*told, *waiting], "the plan")])

    @property
    def refused(self) -> Indices:
        """Units who will not answer."""
        return self.people.positions([name for name, outcome in self.answers.items() if outcome is None], "the plan")

    @property
    def spent(self) -> float:
        """Money for whoever was asked; not for refusals, where only answers are paid, be they withdrawn later."""
        if self.fielded is None:
            return 0.0
        names, free = dict.fromkeys([*self.fielded.index, *self.answers]), self.unpaid
        return float(self.people.cost[self.people.positions([n for n in names if n not in free], "the plan")].sum())

    @property
    def unpaid(self) -> set[Any]:
        """Names of those who cost nothing, as they refused and only answers are paid; a withdrawn one was paid."""
        if self.policy.pay != "answered":
            return set()
        paid: set[Any] = set()
        for one in self.journal:
            if one.now == NEVER:
                paid.discard(one.name)
            elif one.answered:
                paid.add(one.name)
        return {name for name, outcome in self.answers.items() if outcome is None} - paid

    @property
    def reserves_used(self) -> dict[Any, int]:
        """Reserves who have answered or refused, by name, and the round of those for whom they were asked."""
        if "reserve" not in self.planned:
            return {}
        rounds = zip(self.planned["reserve"], self.planned["round"], strict=True)
        return {name: int(k) for name, k in rounds if name in self.answers and name not in self.planned.index}

    @property
    def reserves_pending(self) -> list[Any]:
        """Names of reserves of people who refused in rounds that were asked: they are being asked, and not heard of."""
        if self.fielded is None or "reserve" not in self.fielded:
            return []
        pairs = self.fielded["reserve"].dropna().items()
        return [other for name, other in pairs if self.answers.get(name, 0) is None and other not in self.answers]

    @property
    def outside_plan(self) -> dict[Any, int]:
        """Who has answered or refused, is not in the plan, and stands in for nobody there, by name.

        They answered ahead of their round, or their place was taken out of the plan; they count with the last round
        that was asked, or with the first where none was.
        """
        there = {*self.planned.index, *self.reserves_used}
        return {name: max(self.asked, 1) for name in self.answers if name not in there}

    @property
    def round_of(self) -> dict[Any, int]:
        """Round of whoever is in the plan, was asked as a reserve, or answered otherwise (:attr:`apart`), by name."""
        plan = zip(self.planned.index, self.planned["round"], strict=True)
        return {name: int(k) for name, k in plan} | self.reserves_used | self.outside_plan

    @property
    def extra_contacts(self) -> str:
        """Who was asked beside those of the plan, as "2 reserves and 1 other"; empty where nobody was."""
        counts = {"reserve": len(self.reserves_used), "other": len(self.outside_plan)}
        return " and ".join(count_phrase(n, who) for who, n in counts.items() if n)

    @property
    def overspent(self) -> str:
        """What to say where more was spent than there is; empty where it was not."""
        spent, budget = self.spent, self.policy.budget
        return "" if spent <= budget * (1 + 1e-9) else f"overspent: {spent:,.10g} of a budget of {budget:,.10g}"

    @property
    def outcomes(self) -> Outcomes:
        """Outcome of each unit, (n,), NaN where it is not known."""
        people, y = self.people, np.full(len(self.people), np.nan)
        if people.problem.pool.y is not None:
            y[people.problem.start] = people.problem.pool.y[people.problem.start]
        told = {name: outcome for name, outcome in self.answers.items() if outcome is not None}
        y[people.positions(told, "the answers")] = list(told.values())
        return y

    @property
    def estimable_arms(self) -> list[Any]:
        """Arms, by the treatment's value, that can be compared with the reference arm: both have an outcome."""
        told = np.unique(self.people.problem.pool.t[np.isfinite(self.outcomes)])
        return [self.people.arms[k] for k in told if k and 0 in told]

    def arm_index(self, arm: Any) -> int:
        """Number of an arm that is compared with the reference arm.

        Raises:
            UnknownName: no such arm.
            ValueError: there are several, and none is named.
        """
        known = self.people.arms[1:]
        if arm is None and len(known) > 1:
            raise ValueError(f"there are several arms, so arm must be one of {', '.join(map(str, known))}")
        place = 0 if arm is None else same(known, arm)
        if place is None:
            raise UnknownName("arm", arm, known)
        return 1 + place

    def with_reference(self, reference: Any) -> "CampaignState":
        """The campaign with another reference arm, for what its answers say; None for its own.

        Raises:
            UnknownName: no such arm.
            ValueError: there are two arms.
        """
        if reference is None or same(self.people.arms[:1], reference) == 0:
            return self
        if len(self.people.arms) == 2:
            raise ValueError(
                f"of two arms {self.people.arms[0]} is the reference; against {reference} effects change sign"
            )
        return self.evolve(columns=replace(self.columns, reference=reference), design=None)

    @property
    def rounds(self) -> pd.DataFrame:
        """What each round asks, spends and is expected to bring, with whoever else has answered (:attr:`apart`).

        One row per round: ``asked``, ``treated`` (of several arms, how many of each), ``cost`` (no more of refusals,
        where only answers are paid), ``answers`` (expected, or those that came), and the cost ``so far``.
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
        """People of each round, by its number, without those who were left out of another and whom a draw keeps."""
        late = [one.name for one in self.journal if one.now == NEVER] if self.policy.draw is not None else []
        return self.planned.loc[~self.planned.index.isin(late), "round"].value_counts()

    def stages(self) -> dict[str, Indices]:
        """Units, (k,), who answer beside those who have, if whoever is asked does, until each stage.

        Stages are ``now``; ``asked``, where somebody is waited for, once they have answered; after the ``next`` round
        that asks anybody, where one is left; at the ``end``.
        """
        plan = self.planned[~self.planned.index.isin(list(self.answers))]
        rounds, later = plan["round"], plan["round"][plan["round"] > self.asked]
        last = {"now": -1} | ({"asked": self.asked} if len(later) < len(plan) else {})
        last |= ({"next": later.min()} if len(later) else {}) | {"end": np.inf}
        return {s: self.people.positions(plan.index[rounds <= k], "the plan") for s, k in last.items()}

    def sample_request(self, size: int, rivals: int) -> SampleRequest:
        """The sample of a table that a plan needs.

        Args:
            size: units of the sample.
            rivals: units of the second one, which audits the plan.
        """
        columns, policy = self.columns, self.policy
        whole = [quota.column for quota in policy.parsed if not quota.is_ranged]
        ranges = [(q.column, v.low, v.high) for q in policy.parsed for v in q.values if isinstance(v, Range)]
        cluster = columns.cluster if policy.cluster_rule == "whole" else None
        most = max((int(np.ceil(q.number)) for q in policy.parsed if q.least and not q.share), default=0)
        others = (columns.outcome, columns.exclude, columns.include)
        by = tuple(dict.fromkeys([columns.treatment, *whole]))
        return SampleRequest(size, rivals, policy.seed, by, *others, cluster, 2 * most, tuple(dict.fromkeys(ranges)))
