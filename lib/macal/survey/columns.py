"""Roles of a table's columns, and what each must hold."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macal.arguments import MAX_FINITE, MIN_POSITIVE, Positive
from macal.datasets.encoding import check_spellings, numbers
from macal.datasets.table import arm_names, check_gaps
from macal.problem import Problem
from macal.shapes import Indices, Money, Outcomes, Rows
from macal.survey.options import names, number_or_column, option, pair
from macal.survey.tables.roles import KINDS, ColumnHints
from macal.survey.tables.summary import NUMBERS, Summary

PLAN = ("round", "cost", "response", "reserve", "reserve_weight", "weight")  # its columns
CLUSTER_RULES = ("whole", "one")
_TABLE = "the table"
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
        "columns known before the survey that predict the outcome, even if measured after treatment or with gaps, such"
        " as earlier or cheaper ratings; never covariates",
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


def check_no_gaps(table: pd.DataFrame, columns: Columns, covariates: pd.DataFrame) -> None:
    """Refuse gaps, all at once: ValueError with the columns and units."""
    given = {f"covariate {c!r}": numbers(covariates[c], f"covariate {c!r}") for c in covariates}
    named = {role: name for role, name in columns.named().items() if role in ("cost", "response", "propensity")}
    given |= {f"column {name!r} of a {role}": table[name] for role, name in named.items()}
    check_gaps(table[columns.treatment], given)


def check_proxies(proxies: pd.DataFrame) -> None:
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


def arm_values(treatment: pd.Series, columns: Columns) -> list[Any]:
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


def check_households(table: pd.DataFrame, name: str, kinds: Mapping[str, str]) -> None:
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


def positive_numbers(table: pd.DataFrame, given: str | float | int, what: str) -> Money:
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


def known_propensity(table: pd.DataFrame, given: str | float, arms: int) -> Outcomes:
    """Return known probabilities of treatment, (n,)."""
    values = positive_numbers(table, given, "propensity")
    if arms > 2 or (values >= 1).any():
        got = f"{arms} arms" if arms > 2 else f"{values.max():g}"
        raise ValueError(f"propensity is the probability of treatment, with two arms, between 0 and 1, got {got}")
    return values


def check_marks(
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


def marked_units(table: pd.DataFrame, column: str | None) -> Indices:
    """Return units whose value in a column is true, 1, yes or x, (k,)."""
    if column is None:
        return np.empty(0, np.int64)
    marks = table[column].map(lambda value: _MARKS.get(str(value).strip().casefold()), na_action="ignore")
    if odd := table.loc[marks.isna() & table[column].notna(), column].tolist():
        raise ValueError(f"column {column!r} must hold yes and no, true and false, or 1 and 0, got {odd[0]!r}")
    return np.flatnonzero(marks.fillna(False).to_numpy(bool))
