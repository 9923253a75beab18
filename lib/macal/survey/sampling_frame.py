"""The sampling frame: covariates, costs, response probabilities and groups of a table, every column checked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from macal.arguments import MAX_FINITE, MIN_POSITIVE, Positive
from macal.datasets import from_table
from macal.datasets.encoding import Scaling, check_spellings, encoded, numbers, with_excess
from macal.datasets.table import arm_names, check_gaps, check_index
from macal.problem import Problem
from macal.registry import UnknownName, check_known
from macal.shapes import Arms, Covariates, Indices, Outcomes, Rows
from macal.survey.constraints import (
    Constraint,
    Members,
    Money,
    Quota,
    all_or_none,
    at_most,
    at_most_one_per_cluster,
    cells,
    exclude_units,
    include_units,
)
from macal.survey.inference.ridge import Ridge
from macal.survey.options import names, number_or_column, option, pair
from macal.survey.tables.roles import KINDS, ColumnHints, Roles, prepared, read_as
from macal.survey.tables.sample import FirstPhase, Sample
from macal.survey.tables.summary import NUMBERS, Summary

PLAN = ("round", "cost", "response", "reserve", "reserve_weight", "weight")  # its columns
CLUSTER_RULES = ("whole", "one")
_TABLE = "the table"
_WHOLE = r"-?\d+(?:\.0*)?"
_ROUNDED = r"\d(?:[.,]\d+)?E\+\d+|[1-9]\d{14}0+(?:\.0*)?"
_MARKS = dict.fromkeys("1 1.0 true yes y x".split(), True) | dict.fromkeys(["", *"0 0.0 false no n".split()], False)
_FREE = "; for people who cost nothing, enter a small cost and mark them in a column for --include"
_UNKNOWN = re.compile(
    r"(do|did|does|is|was)?( ?n[o'’]?t) (know|answer|say|respond|report|record|state|specif)\w*|unknown|unsure|unclear"
    r"|dk|no (answer|response|data|information)|refus(ed|al)|declined|missing|prefer not to \w+|n/?a|\?+",
    re.IGNORECASE,
)
_CODES = {7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 9999}  # of an answer that is missing
_HOMES = re.compile(r"(.*[_ .-])?(households?|houses?|home|hh|famil(y|ies)|fam|dwelling|compound)"
                    r"([_ .-]?(id|no|nr|num|number|code|key|name))?", re.IGNORECASE)  # fmt: skip
_PLACES = re.compile(
    r"(.*[_ .-])?(village|hamlet|town|city|municipality|commune|parish|(sub)?district|ward|county|zone|locality|psu|ea"
    r"|cluster|block|segment|community|neighbou?rhood|settlement|camp)s?"
    r"([_ .-]?(id|no|nr|num|number|code|key|name))?",
    re.IGNORECASE,
)
_ALONE = 1.5  # mean size of a household in one place, below which numbers do not begin again
_NAMED = 10  # people who are named
_MAX_ARMS = 20  # a treatment with more values is likely another number


@dataclass(frozen=True)
class Columns:
    """The roles of a table's columns: arguments of :class:`~macal.survey.planner.Planner`.

    Raises:
        ValueError: two roles for one column.
    """

    treatment: str = option("column of the treatment: 0 or 1, or any values with a reference", group=_TABLE)
    identifier: str | None = option(
        "column that names the units (default: guessed, else they are numbered from 1)", None, flag="id", group=_TABLE
    )
    covariates: Sequence[str] | None = option(
        "columns by which units are compared (default: guessed)", None, type=names, written="A,B,C", group=_TABLE
    )
    outcome: str | None = option("column of outcomes known already, missing for the others", None, group=_TABLE)
    cost: str | float | int = option(
        "cost of surveying a unit: a column or a number (default: 1)", 1.0, type=number_or_column, group=_TABLE
    )
    response: str | float | int = option(
        "probability of a response, above 0 and at most 1: a column or a number; below 1 reserves are named (default:"
        " 1)",
        1.0,
        type=number_or_column,
        flag="response-probability",
        group=_TABLE,
    )
    cluster: str | None = option("column of clusters, such as households or clinics", None, group=_TABLE)
    exclude: str | None = option("column: true for units that may not be selected", None, group=_TABLE)
    include: str | None = option("column: true for units that must be selected", None, group=_TABLE)
    kinds: Mapping[str, str] | None = option(
        f"kind of a column where the guess is wrong: {', '.join(KINDS)}",
        None,
        type=pair,
        action="append",
        flag="kind",
        written="COLUMN=KIND, repeatable",
        group=_TABLE,
    )
    reference: str | bool | float | int | None = option(
        "value of the treatment with which the others are compared; it may then have two or more", None, group=_TABLE
    )
    propensity: str | float | None = option(
        "probability of treatment where it is known, as in a trial: a column or a number (default: estimated)",
        None,
        type=number_or_column,
        group=_TABLE,
    )
    proxies: Sequence[str] = option(
        "columns known for all units that predict the outcome, even if measured after treatment, such as earlier or"
        " cheaper ratings; never covariates",
        (),
        type=names,
        flag="proxy",
        written="A,B,C",
        group=_TABLE,
    )
    sd: str | Positive | None = option(
        "residual standard deviation of the outcome given the covariates: a column, which the design uses, or a number"
        " (default: from known outcomes)",
        None,
        type=number_or_column,
        flag="residual-sd",
        old="sd",
        group=_TABLE,
    )

    def named(self) -> dict[str, str]:
        """Roles that are taken by a column -> the column."""
        roles = "treatment identifier outcome cost response cluster exclude include propensity sd".split()
        return {role: value for role in roles if isinstance(value := getattr(self, role), str)}

    def hints(self) -> ColumnHints:
        """Return what that says of the columns' roles."""
        others = frozenset(column for role, column in self.named().items() if role != "identifier")
        covariates = None if self.covariates is None else tuple(self.covariates)
        numeric = (self.outcome, self.cost, self.response, self.propensity, self.sd)
        return ColumnHints(others, self.identifier, covariates, self.kinds, others & set(numeric), tuple(self.proxies))

    def check_ranges(self, columns: Mapping[str, Summary]) -> None:
        """Refuse costs and chances that a plan cannot work with, by summaries of a whole table's columns.

        Raises:
            ValueError: which column.
        """
        for what, most in (("cost", MAX_FINITE), ("response", 1.0), ("propensity", 1.0), ("sd", MAX_FINITE)):
            name = getattr(self, what)
            if not isinstance(name, str):
                continue
            found = columns[name]
            fits = found.family in NUMBERS and not found.gaps and found.low >= MIN_POSITIVE and found.high <= most
            if not fits:
                raise ValueError(
                    f"column {name!r} of a {what} must hold numbers of {MIN_POSITIVE:g} to {most:g}, got"
                    f" {found.low:g} to {found.high:g} and {found.gaps} missing; mend them, or take those people out"
                    f"{_FREE * (what == 'cost' and found.low == 0)}"
                )

    def check(self) -> None:
        """Refuse names that the plan needs, and two roles for one column.

        Raises:
            ValueError: which.
        """
        named = self.named()
        own = [named[role] for role in ("treatment", "outcome", "identifier") if role in named]
        if taken := [c for c in [*own, *named.values()] if c == "round" or c in PLAN and c in own]:
            raise ValueError(f"{taken[0]!r} is a column of the plan, too; rename yours")
        for what in ("covariates", "proxies"):
            for c in (given := list(getattr(self, what) or ())):
                if given.count(c) > 1:
                    raise ValueError(f"{what} must name each column once, got {c!r} more than once")
        taken = [*named.items(), *(("proxy", c) for c in self.proxies)]
        taken += [("covariate", c) for c in self.covariates or () if c in self.proxies]
        if twice := [c for _, c in taken if sum(c == other for _, other in taken) > 1]:
            both = ", ".join(role for role, c in taken if c == twice[0])
            raise ValueError(f"column {twice[0]!r} has two roles: {both}")


@dataclass(frozen=True, eq=False)
class SamplingFrame:
    """All units of a table.

    Attributes:
        problem: covariates and arms; its start are units with a known outcome.
        cost: cost of surveying each unit, (n,).
        response: response probability, (n,), 1 for known outcomes.
        clusters: cluster number, (n,), -1 for none.
        excluded: excluded units.
        included: mandatory units.
        table: the caller's table, by the units' names.
        roles: roles of its columns.
        arms: value of the treatment in each arm, the reference first.
        first_phase: design of the first phase, if the table is a sample.
        rows: position of each row of the caller's table, (n,); None without one.
        propensity: known probability of treatment, (n,); None to estimate it.
        sd: guessed residual s.d., (n,); None without a guess.
        cluster: column of the clusters; None without clusters.
    """

    problem: Problem
    cost: Money
    response: Money
    clusters: Arms
    excluded: Indices
    included: Rows
    table: pd.DataFrame
    roles: Roles
    arms: Sequence[Any] = (0, 1)
    first_phase: FirstPhase | None = None
    rows: Arms | None = None
    propensity: Outcomes | None = None
    sd: Outcomes | None = None
    cluster: str | None = None

    @classmethod
    def of(cls, table: pd.DataFrame | Sample, columns: Columns) -> "SamplingFrame":
        """Read a table, or a sample of one; units are ordered by name, so plans do not depend on the order of rows.

        Raises:
            UnknownName: an unknown column.
            ValueError: a column that does not fit its role.
        """
        columns.check()
        if isinstance(table, Sample):
            return cls._read(table.table, columns, table.roles, table.phase)
        table, roles = read_as(table, columns.hints())
        check_index(table.index)
        order = _by_name(table.index)
        return replace(cls._read(table.iloc[order], columns, roles), rows=order.argsort())

    @classmethod
    def _read(
        cls,
        table: pd.DataFrame,
        columns: Columns,
        roles: Roles,
        phase: FirstPhase | None = None,
        scale: Rows | None = None,
    ) -> "SamplingFrame":
        """Read a table by its units' names, scaled by all rows or some."""
        if table.index.name in PLAN:
            raise ValueError(f"the identifier {table.index.name!r} is also a column of the plan; rename it")
        if not roles.kinds:
            raise ValueError("no column is left as a covariate; name covariates, or set the columns' kinds (--kind)")
        covariates = prepared(table, roles.kinds)
        given = covariates.assign(**{c: table[c] for c in (columns.treatment, columns.outcome) if c is not None})
        _check_gaps(table, columns, covariates)
        _check_infinite(prepared(table, roles.proxies))
        known = columns.outcome is not None and table[columns.outcome].notna().any()
        if known and table[columns.outcome].notna().all():
            raise ValueError(
                f"every outcome in {columns.outcome!r} is known, so no one is left to survey; to plan as if none were,"
                f" drop the outcome and ignore the column: --kind {columns.outcome}=ignore"
            )
        start = {} if known else {"start": []}
        arms = _arms(table[columns.treatment], columns)
        start |= {"reference": columns.reference}
        problem = from_table(given, list(roles.kinds), columns.treatment, columns.outcome if known else None, **start)
        if scale is not None:
            own = {c: numbers(covariates[c], str(c)) for c in covariates}
            problem = replace(problem, pool=replace(problem.pool, x=encoded(own, scale)))
        response = _numbers(table, columns.response, "response")
        response[problem.start] = 1.0
        if (response > 1).any():
            where = f" in column {columns.response!r}" * isinstance(columns.response, str)
            raise ValueError(f"response is a probability, at most 1, got {response.max():g}{where}; write 70% as 0.7")
        homes = pd.Series(np.nan, table.index) if columns.cluster is None else table[columns.cluster]
        if columns.cluster is not None:
            check_spellings(homes, "the clusters")
            _check_restart(table, columns.cluster, columns.kinds or {})
        cost, clusters = _numbers(table, columns.cost, "cost"), pd.factorize(homes)[0].astype(np.int64)
        marked = [_marked(table, column) for column in (columns.exclude, columns.include)]
        _check_marked(problem, *marked, table.index, columns, arms)
        known = None if columns.propensity is None else _propensity(table, columns.propensity, len(arms))
        sd = None if columns.sd is None else _numbers(table, columns.sd, "sd")
        given = {"propensity": known, "sd": sd, "cluster": columns.cluster}
        return cls(problem, cost, response, clusters, *marked, table, roles, arms, phase, **given)

    def __len__(self) -> int:
        return len(self.cost)

    @property
    def population(self) -> int:
        """Number of people in the whole table."""
        return len(self) if self.first_phase is None else self.first_phase.rows

    @property
    def weights(self) -> Outcomes:
        """People in the whole table that each unit represents, (n,)."""
        return np.ones(len(self)) if self.first_phase is None else self.first_phase.weights

    @cached_property
    def confounders(self) -> Covariates:
        """Covariates of the models of treatment, response and outcomes, (n, columns)."""
        return self.scaled(with_excess)

    @cached_property
    def modelled_response(self) -> Outcomes:
        """Response probability predicted by covariates in each arm, (n,), as in estimates; 1 for known outcomes."""
        t, found = self.problem.pool.t, self.response.copy()
        open_ = np.delete(np.arange(len(self)), self.problem.start)
        for arm in np.unique(t[open_]):
            own = open_[t[open_] == arm]
            if np.ptp(r := found[own]):
                x = self.confounders[own]
                found[own] = np.clip(Ridge().fit(x, r).predict(x), r.min(), r.max())
        return found

    def scaled(self, scaled: Scaling, names: Iterable[str] | None = None) -> Covariates:
        """Return covariates, all or some, with numbers scaled by ``scaled``, (n, columns)."""
        kinds = self.roles.kinds if names is None else {name: self.roles.kinds[name] for name in names}
        columns = prepared(self.table, kinds)
        named = {str(c): numbers(columns[c], str(c)) for c in columns}
        return encoded(named, np.arange(len(self)), scaled).astype(np.float64)

    @cached_property
    def proxies(self) -> Covariates:
        """Proxies of the outcome models, (n, columns); gaps are indicated, numbers imputed by covariates per arm."""
        parts = [np.empty((len(self), 0))]
        for name, column in prepared(self.table, self.roles.proxies).items():
            gap = column.isna().to_numpy()
            whole = column.where(~gap, column[~gap].iloc[0])
            part = encoded({str(name): numbers(whole, str(name))}, np.flatnonzero(~gap), with_excess).astype(np.float64)
            if self.roles.proxies[name] == "category":
                part[gap] = 0.0
            else:
                self._impute(part, gap)
            parts += [part, gap[:, None] * 1.0] if gap.any() else [part]
        return np.hstack(parts)

    def _impute(self, part: Covariates, gap: Members) -> None:
        """Impute gaps in a number's columns, (n, k), by covariates in each arm."""
        for arm in np.unique(self.problem.pool.t[gap]):
            own = self.problem.pool.t == arm
            if (known := own & ~gap).sum() < 2:
                continue
            for column in part.T:
                model = Ridge().fit(self.confounders[known], column[known])
                column[own & gap] = model.predict(self.confounders[own & gap])

    def restricted_to(self, rows: Indices, phase: FirstPhase | None = None) -> "SamplingFrame":
        """Return some of the units.

        Args:
            rows: positions of the units, (k,).
            phase: their first phase, (k,) (default: unchanged).
        """
        if phase is None and self.first_phase is not None:
            phase = replace(
                self.first_phase, chances=self.first_phase.chances[rows], cells=self.first_phase.cells[rows]
            )
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        start, excluded, included = (
            place[units][place[units] >= 0] for units in (self.problem.start, self.excluded, self.included)
        )
        problem = replace(self.problem, pool=self.problem.pool[rows], start=start)
        parts = (self.cost[rows], self.response[rows], self.clusters[rows], excluded, included, self.table.iloc[rows])
        known, sd = (None if values is None else values[rows] for values in (self.propensity, self.sd))
        return SamplingFrame(
            problem, *parts, self.roles, self.arms, phase, propensity=known, sd=sd, cluster=self.cluster
        )

    def extended_by(self, others: pd.DataFrame, columns: Columns) -> "SamplingFrame":
        """Return the units followed by others, encoded on the scales of the first.

        Args:
            others: rows of the same table, by name; known ones are skipped.
            columns: roles of the columns.
        """
        others = others[~others.index.isin(self.table.index)]
        table = pd.concat([self.table, others])
        return SamplingFrame._read(table, columns, self.roles, None, np.arange(len(self)))

    def contrast(self, arm: int) -> tuple["SamplingFrame", Indices]:
        """Return the units of an arm and the reference arm, as treated and controls, and their positions, (k,)."""
        t = self.problem.pool.t
        rows = np.flatnonzero(np.isin(t, (0, arm)))
        view, treated = self.restricted_to(rows), (t[rows] == arm).astype(np.int64)
        problem = replace(view.problem, pool=replace(view.problem.pool, t=treated))
        return replace(view, problem=problem, arms=(self.arms[0], self.arms[arm])), rows

    def positions(self, names: Iterable[Any], what: str) -> Indices:
        """Return positions of units by name, (k,), also as a spreadsheet rewrites names.

        Raises:
            UnknownName: no such unit, or several.
            ValueError: a number whose digits a spreadsheet has removed.
        """
        names = list(names)
        places = self.table.index.get_indexer(pd.Index(names, dtype=object)).astype(np.int64)
        for k in np.flatnonzero(places < 0):
            places[k] = self._place(names[k], what)
        return places

    def has(self, names: Iterable[Any]) -> Members:
        """Return which names are a unit's, (k,), also as a spreadsheet rewrites them."""
        return np.array([_spelling(name) in self._spelt for name in names], dtype=bool)

    def _place(self, name: Any, what: str) -> int:
        found = self._spelt.get(_spelling(name), [])
        if len(found) == 1:
            return found[0]
        if re.fullmatch(_ROUNDED, str(name)):
            raise ValueError(
                f"{name} in {what} is a long number whose digits a spreadsheet has removed; copy the names from the"
                " plan, with that column as text"
            )
        raise UnknownName(f"unit in {what}", name, self.table.index[found or slice(20)], guess=False)  # of others

    @cached_property
    def _spelt(self) -> dict[str, list[int]]:
        """Positions of units by the :func:`_spelling` of their names."""
        found: dict[str, list[int]] = {}
        for place, name in enumerate(self.table.index):
            found.setdefault(_spelling(name), []).append(place)
        return found

    def demands(
        self,
        budget: float | int,
        quotas: Sequence[Quota],
        rule: str,
        spend: float | int | None,
        known: Indices,
        refused: Rows,
    ) -> list[Constraint]:
        """Return all constraints on a plan, the budget first.

        Args:
            budget: money for units that are not known.
            quotas: quotas on groups.
            rule: cluster rule, "whole" or "one".
            spend: money per round, or None.
            known: labelled units.
            refused: refusals and pending reserves.
        """
        n, free = len(self), ~np.isin(np.arange(len(self)), known)
        demands = [at_most(f"a budget of {budget:g}", np.where(free, self.cost, 0.0), budget)]
        check_known("column in a quota", self.table.columns, *(quota.column for quota in quotas))
        for quota in quotas:
            check_spellings(self.table[quota.column], "a quota")
            quota.check_counts(self.table[quota.column])
            demands += quota.demands(self.table[quota.column], self.response, self.weights)
        bought = self.cluster_ids(rule, known, refused)
        out, must = np.setdiff1d(self.excluded, known), np.setdiff1d(self.included, np.append(known, refused))
        if (self.clusters >= 0).any():
            counted = ", known outcomes included" * bool((self.clusters[known] >= 0).any())
            one, all_of = f"at most one person per cluster{counted}", "whole clusters or none of their members"
            demands.append(
                at_most_one_per_cluster(one, self.clusters, known) if rule == "one" else all_or_none(all_of, bought)
            )
        price = self.of_clusters(bought, self.cost)
        if out.size:
            demands.append(exclude_units(f"{out.size} excluded", out, n))
        if refused.size:
            demands.append(exclude_units(f"{refused.size} refusals or pending reserves", refused, n))
        if spend is not None and (dear := np.flatnonzero(free & (price > spend * (1 + 1e-9)))).size:
            demands.append(
                exclude_units(f"at most {spend:g} per round, less than the cost of each of {dear.size} people", dear, n)
            )
        if must.size:
            demands.append(include_units(f"{must.size} mandatory", must, n))
        return demands

    def cells(self, quotas: Sequence[Quota]) -> list[pd.Series]:
        """Return what quotas distinguish, (n,) each, by the names of their columns."""
        by_key: dict[tuple[object, ...], list[Quota]] = {}
        for quota in quotas:
            by_key.setdefault(quota.key, []).append(quota)
        return [cells(same, self.table[key[0]]) for key, same in by_key.items() if key[0] in self.table]

    def cluster_ids(self, rule: str, known: Indices, refused: Rows) -> Arms:
        """Return the cluster that each unit is selected with, (n,), -1 if alone, known or a refusal."""
        clusters = self.clusters.copy() if rule == "whole" else np.full(len(self), -1)
        clusters[known] = clusters[refused] = -1
        return clusters

    def cluster_labels(self) -> Arms:
        """Return the cluster of each unit, (n,); units in none are clusters of their own."""
        alone = self.clusters.max(initial=-1) + 1 + np.arange(len(self))
        return np.where(self.clusters < 0, alone, self.clusters)

    @staticmethod
    def of_clusters(clusters: Arms, values: Money) -> Money:
        """Return the sum of values in each unit's cluster, (n,); its own value if it is in none."""
        return np.where(clusters < 0, values, np.bincount(clusters + 1, values)[clusters + 1])


def _spelling(name: Any) -> str:
    """Return a name without what a spreadsheet changes: white space, zeros around a whole number.

    >>> [_spelling(name) for name in ("00041", 24171.0, " p0043 ")]
    ['41', '24171', 'p0043']
    """
    return re.sub(r"(-?)0*(\d+)(?:\.0*)?", r"\1\2", text) if re.fullmatch(_WHOLE, text := str(name).strip()) else text


def _by_name(names: pd.Index) -> Arms:
    """Return rows sorted by name, whole numbers by size, (n,)."""
    keys = names if pd.api.types.is_integer_dtype(names.dtype) else names.astype(str)
    return keys.to_numpy().argsort(kind="stable")


def _check_gaps(table: pd.DataFrame, columns: Columns, covariates: pd.DataFrame) -> None:
    """Refuse gaps, all at once: ValueError with the columns and units."""
    given = {f"covariate {c!r}": numbers(covariates[c], f"covariate {c!r}") for c in covariates}
    named = {role: name for role, name in columns.named().items() if role in ("cost", "response", "propensity")}
    given |= {f"column {name!r} of a {role}": table[name] for role, name in named.items()}
    check_gaps(table[columns.treatment], given)


def _check_infinite(proxies: pd.DataFrame) -> None:
    """Refuse infinite values of proxies, which may have gaps: ValueError with the column and unit."""
    for name, column in proxies.select_dtypes("number").items():
        values = column.to_numpy(np.float64, na_value=np.nan)
        if (infinite := column.index[np.isinf(values)]).size:
            raise ValueError(
                f"column {name!r} of the proxies holds infinite values ({infinite.size}, first of {infinite[0]});"
                " correct or empty them"
            )


def _check_unknown(treatment: pd.Series) -> None:
    """Refuse treatments that seem unknown, by words or codes: ValueError with their number."""
    counts = treatment.value_counts().head(_MAX_ARMS)
    codes = {value: pd.to_numeric(str(value), errors="coerce") for value in counts.index}
    for value, count in counts.items():
        others = sorted(code for other, code in codes.items() if other != value and code == code)
        is_run = len(others) > 1 and others == [others[0] + k for k in range(len(others))] and others[0] in (0, 1)
        is_code = is_run and (codes[value] < 0 or codes[value] in _CODES - {others[-1] + 1})
        if is_code or _UNKNOWN.fullmatch(str(value).strip()):
            raise ValueError(
                f"column {treatment.name!r} of the treatment holds {str(value)!r} for {count:,} of {len(treatment):,}"
                " people, which seems to mean unknown; drop them from the table or, if it is an arm, rename it"
            )


def _arms(treatment: pd.Series, columns: Columns) -> list[Any]:
    """Return the value of the treatment in each arm, the reference first."""
    _check_unknown(treatment)
    check_spellings(pd.Series(map(str, treatment.unique()), name=treatment.name), "the treatment")
    if columns.reference is not None:
        return arm_names(treatment, columns.reference)
    known = sorted(map(str, treatment.unique()))
    if 2 <= len(known) <= _MAX_ARMS and not set(known) <= {"0", "1", "0.0", "1.0", "False", "True"}:
        raise ValueError(
            f"column {columns.treatment!r} of the treatment holds {len(known)} values, {', '.join(known)}; name the"
            " reference (--reference), with which the others are compared"
        )
    return [0, 1]


def _check_restart(table: pd.DataFrame, name: str, kinds: Mapping[str, str]) -> None:
    """Refuse household numbers that seem to begin again in each village: ValueError with their number."""
    if not _HOMES.fullmatch(name):
        return
    places = [c for c in table if c != name and _PLACES.fullmatch(str(c)) and kinds.get(c) != "ignore"]
    for place in sorted(places, key=lambda c: -table[c].nunique()):
        several = table.groupby(name)[place].nunique() > 1
        pasted = table.groupby([name, place], observed=True).size()  # about 1 for relatives in two towns
        if several.mean() > 0.5 and pasted.mean() > _ALONE:
            both = f"{table[place].iloc[0]}-{table[name].iloc[0]}"
            raise ValueError(
                f"column {name!r} of the clusters seems to begin again in each {place!r}: {several.sum():,} of its"
                f" {len(several):,} values occur in several; combine both, as {both}, in a new column or, if clusters"
                f" do span several, use --kind {place}=ignore"
            )


def _numbers(table: pd.DataFrame, given: str | float | int, what: str) -> Money:
    """Return a column, or one number for all, as positive numbers, (n,)."""
    where = f"column {given!r} of the {what}" if isinstance(given, str) else f"the {what}"
    column = table[given] if isinstance(given, str) else pd.Series(given, table.index)
    same = [c for c in table if pd.to_numeric(str(c), errors="coerce") == given]
    if column.name is None and given != 1 and same:
        raise ValueError(
            f"the {what} {given:g} is a number, but also the name of column {same[0]!r}; rename that column"
        )
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan).copy()
    wrong = np.flatnonzero(~((values >= MIN_POSITIVE) & (values <= MAX_FINITE)))
    if wrong.size:
        more = f" and {wrong.size - 1:,} more such" * (wrong.size > 1)
        raise ValueError(
            f"{where} must hold numbers above 0 ({MIN_POSITIVE:g} to {MAX_FINITE:g}), got {column.iloc[wrong[0]]} for"
            f" {table.index[wrong[0]]}{more}; correct them, or drop those people from the"
            f" table{_FREE * (what == 'cost' and bool((values == 0).any()))}"
        )
    return values


def _propensity(table: pd.DataFrame, given: str | float, arms: int) -> Outcomes:
    """Return known probabilities of treatment, (n,)."""
    values = _numbers(table, given, "propensity")
    if arms > 2 or (values >= 1).any():
        got = f"{arms} arms" if arms > 2 else f"{values.max():g}"
        raise ValueError(f"propensity is the probability of treatment, with two arms, between 0 and 1, got {got}")
    return values


def _check_marked(
    problem: Problem, excluded: Indices, included: Rows, names: pd.Index, columns: Columns, arms: Sequence[Any]
) -> None:
    """Refuse people both mandatory and excluded, and arms without people: ValueError with them."""
    free = np.delete(np.arange(len(names)), problem.start)
    if both := names[np.intersect1d(np.intersect1d(excluded, included), free)].tolist():
        who = f"{', '.join(map(str, both[:_NAMED]))}{f' and {len(both) - _NAMED:,} more' * (len(both) > _NAMED)}"
        raise ValueError(
            f"columns {columns.include!r} and {columns.exclude!r} both include and exclude {who}, {len(both):,} in all;"
            " correct one of them"
        )
    left = np.bincount(np.delete(problem.pool.t, np.setdiff1d(excluded, problem.start)), minlength=len(arms))
    if not left.all():
        raise ValueError(
            f"column {columns.exclude!r} excludes everyone with {columns.treatment} = {arms[int(left.argmin())]}, but"
            " an effect needs people in every arm; exclude fewer, or drop that arm from the table"
        )


def _marked(table: pd.DataFrame, column: str | None) -> Indices:
    """Return units whose value in a column is true, 1, yes or x, (k,)."""
    if column is None:
        return np.empty(0, np.int64)
    marks = table[column].map(lambda value: _MARKS.get(str(value).strip().casefold()), na_action="ignore")
    if odd := table.loc[marks.isna() & table[column].notna(), column].tolist():
        raise ValueError(f"column {column!r} must hold yes and no, true and false, or 1 and 0, got {odd[0]!r}")
    return np.flatnonzero(marks.fillna(False).to_numpy(bool))
