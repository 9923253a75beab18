"""A plan for whom to ask, in money: made, answered, made anew."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal import acquisition
from macal.acquisition import PoolState
from macal.acquisition.base import check_arms
from macal.campaigns import provenance
from macal.planner import record
from macal.planner.answers import outcome_of
from macal.planner.audit import Audit, Made, audited
from macal.planner.estimates import Estimates, Findings
from macal.planner.greedy import GreedyPlan
from macal.planner.people import Columns, People
from macal.planner.policy import Policy
from macal.planner.report import document
from macal.planner.reserves import NOBODY, reserves
from macal.registry import UnknownName
from macal.shapes import Indices, Rows
from macal.storage import atomic
from macal.storage.workers import executor, processors
from macal.tables import frames
from macal.tables.sample import Sample, Wanted, rivals_of, sampled, searched

MEMORY = 8e9  # bytes that a plan may take
PROCESS = 5e8  # bytes of a process that has done nothing yet
JOBS = 4  # of each worker
RIVALS = 10_000


class Planner(Estimates):
    """Plans whom to ask under a budget and other demands, takes the answers, plans anew, and estimates.

    Args:
        treatment: column that holds 0 (control) and 1 (treated); with ``reference`` any two and more values.
        budget: money for the whole plan, in the unit of the costs.
        options: any other attribute of :class:`~macal.planner.people.Columns`, which says what the columns of the table
            are, and of :class:`Policy`, which says how a plan is made.

    Attributes:
        answers: outcome of each unit who has answered, by name; None for one who will not.
        asked: rounds that have been asked.
        audited: what :meth:`audit` has found.

    Raises:
        UnknownName: an unknown option.
        ValueError: see the two.

    >>> people = pd.DataFrame({"age": [30, 31, 50, 52, 70, 71], "free": [0, 1] * 3, "fee": [9, 9, 5, 5, 7, 7]})
    >>> planner = Planner("free", budget=26, cost="fee", batch_size=2, criterion="macal")
    >>> planner.plan(people).reset_index()
       row  round  free  cost
    0    6      1     1   7.0
    1    5      1     0   7.0
    2    4      2     1   5.0
    3    3      2     0   5.0
    >>> planner.observe({6: 0.5, 5: None})
    >>> planner.replan().index.tolist()
    [6, 5, 4, 3]
    """

    def __init__(self, treatment: str, budget: float | int, **options: Any) -> None:
        fields = [*Columns.__dataclass_fields__, *Policy.__dataclass_fields__]
        if odd := [option for option in options if option not in fields]:
            raise UnknownName("option of a planner", odd[0], fields)
        of_columns = {k: options.pop(k) for k in list(options) if k in Columns.__dataclass_fields__}
        self.columns, self.rules = Columns(treatment, **of_columns), Policy(budget, **options)
        self.answers: dict[Any, float | None] = {}
        self.asked = 0
        self._plan: pd.DataFrame | None = None
        self._table: Any = None
        self._made: Made | None = None
        self.audited: Audit | None = None

    def plan(self, table: Any) -> Any:
        """Plan whom to ask.

        Args:
            table: one row per unit: a DataFrame of pandas, polars or Arrow, or a :class:`~macal.tables.Sample`.

        Returns:
            One row per unit, in the order in which they are to be asked, in the kind of ``table``: her name (the index
            of a pandas table), ``round`` from 1, the treatment, ``cost``; and, where not everybody answers,
            ``response``, her chance to, and ``reserve``, who may be asked in her place; where people are drawn,
            ``weight``, 1 over the chance to be.

        Raises:
            Conflict: no plan meets all demands; it names the smallest set that conflicts.
            UnknownName: a column that the table does not have.
            ValueError: a column that cannot be what it is said to be.
        """
        self._table = table
        self.__dict__.pop("people", None)
        self.answers, self.asked, self._plan, self.audited = {}, 0, None, None
        plan = self.replan()
        if not len(plan):
            cheapest = self.people.cost.min()
            raise ValueError(f"a budget of {self.rules.budget:g} buys nobody: the cheapest costs {cheapest:g}")
        return plan

    @cached_property
    def people(self) -> People:
        """The units of the table.

        Raises:
            ValueError: nothing is planned yet.
        """
        if self._table is None:
            raise ValueError("nothing is planned yet; plan(table) comes first")
        sample = isinstance(self._table, Sample)
        return People.of(self._table if sample else frames.as_pandas(self._table), self.columns)

    def observe(self, answers: Any, through: int | None = None) -> None:
        """Take answers, in any order and number; who has none yet is waited for.

        Args:
            answers: name of a unit -> outcome, missing where she will not answer: a mapping or a pandas Series.
            through: rounds that have been asked; by default up to the last in which somebody has an answer.

        Raises:
            ValueError: nothing is planned; a unit who was not to be asked, or whose outcome was another one before; an
                outcome that is no finite number.
        """
        plan, told = self.planned, dict(answers.items())
        rounds = dict(zip(plan.index, plan["round"], strict=True))
        reserves = set(plan["reserve"].dropna()) if "reserve" in plan else set()
        new: dict[Any, float | None] = {}
        for name, outcome in told.items():
            if name not in rounds and name not in reserves:
                raise ValueError(f"{name} was not to be asked; the plan has {len(rounds)} people, and she is none")
            new[name] = outcome_of(name, outcome, self.answers.get(name))
        last = max((int(rounds[name]) for name in new if name in rounds), default=0)
        self.answers |= new
        self.asked = max(self.asked, last if through is None else through)

    @property
    def planned(self) -> pd.DataFrame:
        """The plan as it stands, by the units' names.

        Raises:
            ValueError: nothing is planned yet.
        """
        if self._plan is None:
            raise ValueError("nothing is planned yet; plan(table) comes first")
        return self._plan

    def save(self, path: Path | str) -> None:
        """Write the campaign to a JSON file: its settings, the plan, the answers; of the table a fingerprint.

        Raises:
            OSError: the file cannot be written.
            ValueError: nothing is planned yet, or a unit's name is neither text nor a whole number.
        """
        record.write(self.content(), Path(path))

    @classmethod
    def load(cls, path: Path | str, table: Any) -> "Planner":
        """Take up a campaign from its file, here or on another machine.

        Args:
            path: of the file.
            table: that it was planned on; the order of its rows does not matter. A campaign that was planned on a
                sample holds that sample, and needs no table.

        Raises:
            OSError: the file cannot be read.
            Damaged: the file is no campaign, or not as it was written.
            ValueError: another table.
        """
        content = record.read(Path(path))
        table = record.sample_of(content["sample"]) if content.get("sample") else table
        options = content["columns"] | content["policy"]
        planner = cls(options.pop("treatment"), options.pop("budget"), **options)
        planner._table, planner.asked = table, content["asked"]
        if (now := record.fingerprint(planner.people.table)) != content["table"]:
            raise ValueError(
                f"the table has changed since {path} was planned: its fingerprint was {content['table'][:12]} and is"
                f" {now[:12]}; take the table as it was, and give answers to observe"
            )
        names = planner.people.table.index.name
        plan = {c: pd.Series(v, dtype=object if c == "reserve" else None) for c, v in content["plan"].items()}
        planner._plan = pd.DataFrame(plan).set_index("unit").rename_axis(names)
        planner.answers = dict(content["answers"])
        planner.audited = Audit(**content["audit"]) if content.get("audit") else None
        return planner

    def content(self) -> dict[str, Any]:
        """What the campaign's file holds.

        Raises:
            ValueError: see :meth:`save`.
        """
        rows = self.planned.rename_axis("unit").reset_index()
        rows = {c: [None if v is None or v != v else v for v in values.tolist()] for c, values in rows.items()}
        if "reserve" in rows:
            rows["reserve"] = [name if name is None else record.name_of(name) for name in rows["reserve"]]
        return {
            "columns": asdict(self.columns),
            "policy": asdict(self.rules),
            "table": record.fingerprint(self.people.table),
            "plan": rows | {"unit": [record.name_of(unit) for unit in rows["unit"]]},
            "answers": [[record.name_of(unit), outcome] for unit, outcome in self.answers.items()],
            "asked": self.asked,
            "sample": record.content_of(self._table) if isinstance(self._table, Sample) else None,
            "audit": asdict(self.audited) if self.audited else None,
            "made by": provenance.origin() | {p: metadata.version(p) for p in ("numpy", "pandas", "scipy", "torch")},
        }

    def report(self, path: Path | str, found: Sequence[Findings] = ()) -> None:
        """Write a report of the plan, and of the answers: one HTML file that asks nothing of any other machine.

        Args:
            path: of the file.
            found: what :meth:`estimate` has found, of one arm or several; by default it is asked anew of every arm,
                once that and the reference arm have an answer.

        Raises:
            ImportError: matplotlib is missing.
            NotFitted: the model of the answers cannot be fitted.
            OSError: the file cannot be written.
            ValueError: nothing is planned yet.
        """
        atomic.write({Path(path): document(self, found).encode()})

    def spent(self) -> float:
        """Money for whoever was asked; not for refusals, where only answers are paid."""
        if self._plan is None:
            return 0.0
        out = self._plan.index[self._plan["round"] <= self.asked]
        names = dict.fromkeys([*out, *self.answers])
        free = {n for n, outcome in self.answers.items() if outcome is None} if self.rules.pay == "answered" else set()
        return float(self.people.cost[self.people.places([n for n in names if n not in free], "the plan")].sum())

    def replan(self) -> Any:
        """Keep the rounds that have been asked, and plan the others anew with the money that is left.

        Whoever has been asked and has not answered is waited for: she counts as if she would.

        Returns:
            See :meth:`plan`: the rounds that have been asked, and after them the new ones.

        Raises:
            Conflict: no plan meets all demands any more.
            ValueError: nothing is planned yet, or all the money is spent.
        """
        people, rules = self.people, self.rules
        old = None if self._plan is None else self._plan[self._plan["round"] <= self.asked]
        waiting = [] if old is None else [name for name in old.index if name not in self.answers]
        told = [name for name, outcome in self.answers.items() if outcome is not None]
        refused = people.places([name for name, outcome in self.answers.items() if outcome is None], "the plan")
        known = np.concatenate([people.problem.start, people.places([*told, *waiting], "the plan")])
        money = rules.budget - self.spent()
        some, rows = self._searched(np.concatenate([known, refused]))
        place = np.full(len(people), -1)
        place[rows] = np.arange(len(rows))
        task = self._task(some, place[known], place[refused], money)
        self._made = None
        if rules.draw is None:
            rounds = task.rounds()
            batches, self._made = rounds.filled, Made(some, place[known], place[refused], money, rounds.purchases)
        else:
            batches = self._batches(task)
        parts = [self._rows(rows[batch], k) for k, batch in enumerate(batches, self.asked + 1)]
        new = pd.concat(parts) if parts else self._rows(refused[:0], 0)
        if self._uncertain:
            still = [] if old is None else old["reserve"].dropna()
            gone = np.concatenate([known, refused, people.places(still, "the plan")])
            new["reserve"] = self._reserves(new.index, gone)
        self._plan = new if old is None else pd.concat([old, new])
        return frames.like(self._plan.copy(), self._table)

    def sample(
        self, path: Path | str, memory: float = MEMORY, scheduler: str | None = None, workers: int | None = None
    ) -> Sample:
        """Draw the sample that a plan of a table needs which is larger than memory, by one pass over it.

        Args:
            path: of a CSV or Parquet file, of a folder of Parquet files, or of a Zarr group.
            memory: of this process and all that it starts, bytes.
            scheduler: None for processes of this machine, "local" for a Dask cluster started here, or one's address.
            workers: processes that are started here; one for each processor by default.

        Raises:
            OSError: there is no such file.
            UnknownName: a column that the table does not have.
            ValueError: a column that cannot be what it is said to be; a part that is damaged, or too large.
        """
        self.columns.check()
        table, workers = frames.opened(Path(path)), workers or processors()
        share = memory / (1 + (workers if workers > 1 or scheduler == "local" else 0))
        if share < PROCESS:
            least = PROCESS * memory / share
            raise ValueError(f"memory must be at least {least / 1e9:g}GB here, got {memory / 1e9:g}GB")
        table.check_memory(share - PROCESS)
        with executor(scheduler, workers, share) as calls:
            wanted = self.wanted(self.rules.sampled, RIVALS)
            return sampled(table, self.columns.said(), wanted, calls, JOBS * workers)

    @property
    def is_sampled(self) -> bool:
        """Whether the plan that was made last was made among a sample."""
        return self._made is not None and self._made.people.phase is not None

    def audit(self) -> Audit:
        """Audit the plan that was made last, among a sample; see :mod:`macal.planner.audit`.

        Raises:
            ValueError: nothing was planned among a sample here, or by a rule that does not say what units are worth.
        """
        made = self._made
        if made is None or not self.is_sampled:
            raise ValueError("there is nothing to audit: a plan that is not drawn is made here first, among a sample")
        own = isinstance(self._table, Sample)
        rivals = self._table.rivals if own else rivals_of(self.people.table, self.wanted(1, RIVALS))
        task = partial(self._task, money=made.money)
        self.audited = audited(made, made.people.beside(rivals, self.columns), task)
        return self.audited

    @property
    def _uncertain(self) -> bool:
        return self.columns.response != 1

    def wanted(self, size: int, rivals: int) -> Wanted:
        """The sample of a table that a plan needs.

        Args:
            size: units of the sample.
            rivals: units of the second one, which audits the plan.
        """
        columns, rules = self.columns, self.rules
        by = tuple(dict.fromkeys([columns.treatment, *(quota.column for quota in rules.parsed)]))
        cluster = columns.cluster if rules.cluster_rule == "whole" else None
        most = max((int(np.ceil(q.number)) for q in rules.parsed if q.least and not q.share), default=0)
        others = (columns.outcome, columns.exclude, columns.include)
        return Wanted(size, rivals, rules.seed, by, *others, cluster, 2 * most)

    def _searched(self, needed: Rows) -> tuple[People, Indices]:
        """The people among whom a plan is made, all or a sample that holds whoever is needed; their places, (k,)."""
        people, most = self.people, self.rules.searched
        if people.phase is not None or len(people) <= most:
            return people, np.arange(len(people))
        rows, phase = searched(people.table, self.wanted(int(most), 0), needed)
        return people.part(rows, phase), rows

    def _task(self, people: People, known: Indices, refused: Rows, money: float, **seen: Any) -> GreedyPlan:
        rules = self.rules
        spread = np.random.default_rng([rules.seed, self.asked] if self.asked else rules.seed)
        split = people.problem.pool
        weights = None if people.phase is None else people.phase.weights
        state = PoolState(split.x.astype(np.float64), split.t, known, spread, **{"weights": weights} | seen)
        demands = people.demands(max(money, 0.0), rules.parsed, rules.cluster_rule, rules.batch_cost, known, refused)
        clusters = people.bought_with(rules.cluster_rule, known, refused)
        cost, heads = (people.of_clusters(clusters, values) for values in (people.cost, np.ones(len(people))))
        price = cost / heads / people.response
        first = np.setdiff1d(people.included, np.concatenate([known, refused]))
        criterion = acquisition.get(rules.criterion, **rules.parameters)
        check_arms(criterion, split.t)
        price /= price.min()
        return GreedyPlan(
            criterion, state, demands, people.cost, price, clusters, first, rules.batch_size, rules.batch_cost
        )

    def _rows(self, units: Indices, number: int) -> pd.DataFrame:
        people, columns = self.people, self.columns
        arms = pd.Index(people.arms)[people.problem.pool.t[units]]
        rows = {"round": number, columns.treatment: arms, "cost": people.cost[units]}
        rows |= {"response": people.response[units]} if self._uncertain else {}
        rows |= self._weights(units)
        return pd.DataFrame(rows, index=people.table.index[units])

    def _reserves(self, asked: pd.Index, gone: Indices) -> pd.Series:
        """Names of the reserves, missing where there is none."""
        quoted = [quota.column for quota in self.rules.parsed]
        units = reserves(self.people, quoted, self.rules.cluster_rule, self.people.places(asked, "the plan"), gone)
        names = self.people.table.index
        return pd.Series([None if k == NOBODY else names[k] for k in units], asked, dtype=object)
