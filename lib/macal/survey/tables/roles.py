"""Roles of a table's columns: given by the caller or guessed from summaries."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from macal.datasets.encoding import FEW_VALUES, MAX_CATEGORIES
from macal.datasets.table import is_unnamed, numbered
from macal.registry import check_known
from macal.survey.tables.summary import DECIMAL_FORMATS, NUMBERS, WORDS, Summary, alike, summarised, typed
from macal.survey.tables.text_formats import TEXT_FORMATS

KINDS = ("number", "category", "date", "ignore", *TEXT_FORMATS)  # kinds that a caller may give
USED = ("number", "category", "date")
_NAMES = (
    "id|uuid|person|unit|name|key|index|row|rownames|seqn|seq|sequence|serial|respondent|participant|subject|patient"
    "|case|record|obs|observation|number|num|no|nr"
)
NAMED = re.compile(rf"(.*[_ .-])?({_NAMES})|.*(?<!pa)id|unnamed: 0", re.IGNORECASE)
_PEOPLE = re.compile(
    r"(.*[_ .-])?(record|person|participant|respondent|subject|patient|pupil|student|client|member)s?"
    r"([_ .-]?(id|no|nr|num|number|code|key|name))?|(case|study|subj|pat|pt|p|uu)?[_ .-]?id",
    re.IGNORECASE,
)
_WHEN = re.compile(r"(year|wave|round|visit|month|quarter|period|semester|week)([_ .-]?(id|no|nr|num|number))?", re.I)
_VISITS = 20  # mean rows per person up to which a column may name people
_MIN_VALUES = 5
UNNAMED = "unnamed: 0"  # an unnamed first column, with row names of R and pandas
_OTHERWISE = (
    "; or name another column (--id), or give this one's kind, number, category or ignore (--kind {0}=...), or make"
    " it the cluster (--cluster {0})"
)


@dataclass(frozen=True)
class Roles:
    """Roles of a table's columns.

    Attributes:
        identifier: column that names the units; None if rows are numbered.
        kinds: "number", "category" or "date" of each covariate.
        left_out: why each other column is unused.
        written: formats of some columns' texts, such as "decimal commas".
        proxies: kind of each proxy.
    """

    identifier: str | None
    kinds: Mapping[str, str]
    left_out: Mapping[str, str]
    written: Mapping[str, str] = field(default_factory=dict)
    proxies: Mapping[str, str] = field(default_factory=dict)

    def shown(self, named: Mapping[str, str]) -> pd.DataFrame:
        """Return one row per column: role and explanation; ``named`` are columns of given roles."""
        written = {column: f" ({how})" for column, how in self.written.items()}
        given = {column: (role, f"as given{written.get(column, '')}") for role, column in named.items()}
        given |= {} if self.identifier in (None, *given) else {self.identifier: ("identifier", "guessed")}
        both = {"covariate": self.kinds, "proxy": self.proxies}
        used = {c: (role, f"{kind}{written.get(c, '')}") for role, kinds in both.items() for c, kind in kinds.items()}
        out = {column: ("left out", why) for column, why in self.left_out.items()}
        return pd.DataFrame((given | used | out), index=["role", "what"]).T.rename_axis("column")


@dataclass(frozen=True)
class ColumnHints:
    """A caller's hints on columns.

    Attributes:
        named: columns with another role than identifier or covariate.
        identifier: column that names the units.
        covariates: covariates (default: all suitable columns).
        kinds: column -> "number", "category", "date", "ignore", or one of
            :data:`~macal.survey.tables.text_formats.TEXT_FORMATS`.
        numeric: named columns that must hold numbers.
        proxies: columns that predict outcomes but are not covariates.
    """

    named: frozenset[str] = frozenset()
    identifier: str | None = None
    covariates: tuple[str, ...] | None = None
    kinds: Mapping[str, str] | None = None
    numeric: frozenset[str] = frozenset()
    proxies: tuple[str, ...] = ()

    def check(self, columns: Iterable[Any]) -> None:
        """Refuse unknown columns and kinds: UnknownName; repeated names: ValueError."""
        known, kinds = list(columns), dict(self.kinds or {})
        if again := sorted({str(c) for c in known if known.count(c) > 1}):
            raise ValueError(f"column names must be unique, got repeated: {', '.join(again)}; rename them")
        mine = [] if self.identifier is None else [self.identifier]
        check_known("column", known, *sorted(self.named), *kinds, *(self.covariates or ()), *self.proxies, *mine)
        check_known("kind of column", KINDS, *kinds.values())

    def as_read(self, columns: Mapping[str, Summary], naming: Iterable[str]) -> dict[str, Summary]:
        """Return columns as read, identifiers as written; ValueError if a hint does not fit.

        If used columns decide the meaning of comma and dot, undecided ones follow them.
        """
        kinds, names, told = self.kinds or {}, set(naming), {}
        others = {c: found for c, found in columns.items() if c not in names}
        mine = self.named | {*(self.covariates or others), *self.proxies, *kinds}
        part = [c for c in others if c in mine]
        marks = {way for c in part if (way := kinds.get(c, others[c].mark)) in DECIMAL_FORMATS}
        mark = marks.pop() if len(marks) == 1 else ""
        for column, found in others.items():
            if len(marks) > 1 and found.is_open and column in part and column not in kinds:
                raise ValueError(
                    _asked(column, f"can be read in more than one way ({', '.join(DECIMAL_FORMATS)})", DECIMAL_FORMATS)
                )
            as_number = column in self.named and found.code and column not in kinds
            try:
                told[column] = found.read("number" if as_number else kinds.get(column), mark)
            except ValueError as error:
                raise ValueError(f"column {column!r} cannot be {kinds[column]}: {error}") from error
        return dict(columns) | told

    def check_read(self, columns: Mapping[str, Summary]) -> None:
        """Refuse columns of numbers or dates that are not read as such: ValueError with possible kinds."""
        for column, found in columns.items():
            if found.question and column not in (self.kinds or {}):
                raise ValueError(_asked(column, found.question, found.ways))

    def id_candidates(self, columns: Mapping[str, Summary], whole: bool = True) -> list[str]:
        """Return candidate identifiers by name and content of all rows, or some; the given one first."""
        mine = [] if self.identifier is None else [self.identifier]
        taken = self.named | set(self.kinds or {}) | {*(self.covariates or ()), *self.proxies, *mine}
        return mine + [c for c, found in columns.items() if c not in taken and _may_name(found, str(c), whole)]


def identifiers(naming: Iterable[str], said: ColumnHints) -> list[str]:
    """Return identifiers among candidates: the given one, or those with a column name."""
    if said.identifier is not None:
        return [said.identifier]
    naming = list(naming)
    return [c for c in naming if str(c).lower() != UNNAMED] or naming


def _may_name(found: Summary, name: str, whole: bool) -> bool:
    """Return whether a column without repetition names the units, by name or content."""
    if found.gaps or found.different < min(found.rows, MAX_CATEGORIES + 1):
        return False
    called = NAMED.fullmatch(name) is not None
    if found.family in NUMBERS:
        return found.rows > 1 and (found.code or (called and (found.family == "integer" or not found.canonical)))
    read = whole and (bool(found.question) or found.read() is not found)  # other rows may make it text
    return found.family == "text" and found.rows > 1 and (called or not (found.spaced or read))


def ambiguous_ids(columns: Mapping[str, Summary], naming: Iterable[str], said: ColumnHints) -> list[str]:
    """Return columns named like identifiers, with many values, if no column identifies units."""
    called = {c: found for c, found in _open(columns, naming, said).items() if NAMED.fullmatch(str(c))}
    if said.covariates is not None:  # numbers and keys play no role then
        called = {c: found for c, found in called.items() if _PEOPLE.fullmatch(str(c))}
    return [c for c, f in called.items() if 2 * f.different > min(f.rows, 2 * MAX_CATEGORIES) or _may_repeat(c, f)]


def _open(columns: Mapping[str, Summary], naming: Iterable[str], said: ColumnHints) -> dict[str, Summary]:
    """Return columns of whole numbers or text without hints, if no column names the units."""
    taken = said.named | set(said.kinds or {}) | {*(said.covariates or ())}
    if said.identifier is not None or any(str(c).lower() != UNNAMED for c in naming):
        return {}
    others = {c: found for c, found in columns.items() if c not in taken and str(c).lower() != UNNAMED}
    return {c: f for c, f in others.items() if f.family == "integer" or (f.family == "text" and f.read() is f)}


def _may_repeat(name: str, found: Summary) -> bool:
    """Return whether a column is named like people's ids and has few rows of each, by its summary."""
    many = found.different > (_MIN_VALUES if found.family == "integer" else FEW_VALUES)
    few = found.different > MAX_CATEGORIES or _VISITS * found.different >= found.rows
    return many and few and _PEOPLE.fullmatch(str(name)) is not None


def check_doubtful(names: pd.Series) -> None:
    """Refuse a column with mostly, but not entirely, unique values: ValueError."""
    different = names.dropna().astype(str).nunique()
    is_people = _PEOPLE.fullmatch(str(names.name)) is not None
    if 2 * different > len(names) or (is_people and _VISITS * different >= len(names)):
        check_names(names)


def check_visits(table: pd.DataFrame, columns: Mapping[str, Summary], naming: Iterable[str], said: ColumnHints) -> None:
    """Refuse a table with several rows per person, such as visits or years: ValueError with the column."""
    when = [c for c in columns if _WHEN.fullmatch(str(c))]
    for column, found in _open(columns, naming, said).items():
        for time in when if found.different > _MIN_VALUES and column not in when else ():
            if 1.5 * table[column].nunique() <= len(table) and not table.duplicated([column, time]).any():
                raise ValueError(
                    f"column {column!r} seems to name people, {table[column].nunique():,} in {len(table):,} rows, one"
                    f" per {time!r}; each unit must have one row: keep one each{_OTHERWISE.format(column)}"
                )
    numeric = [c for c, found in columns.items() if found.family in NUMBERS and found.different > FEW_VALUES]
    for column, found in _open(columns, naming, said).items():
        others = [c for c in [*numeric, *said.named] if c != column]
        if found.different <= _MIN_VALUES or found.is_constant or not any(c in numeric for c in others):
            continue
        if not all(_is_told(part[column], part[c]) for part in (table.head(1000), table) for c in others):
            continue
        different = table[column].nunique()
        if 1.5 * different <= len(table) <= _VISITS * different and _rest(table, column, others) < 2:
            raise ValueError(
                f"column {column!r} seems to name people, {different:,} in {len(table):,} rows: all rows of one have"
                f" the same {', '.join(map(repr, others))}; each unit must have one row: keep one each"
                f"{_OTHERWISE.format(column)}"
            )


def _rest(table: pd.DataFrame, column: str, others: list[str]) -> int:
    """Return the number of other columns that differ among rows of one value."""
    return sum(not _is_told(table[column], table[c]) for c in table if c not in (column, *others))


def _is_told(column: pd.Series, other: pd.Series) -> bool:
    """Return whether values of a column determine those of another."""
    codes, values = pd.factorize(column, use_na_sentinel=False)
    own, _ = pd.factorize(other)
    first = np.full(len(values), -1)
    given = own >= 0
    first[codes[given]] = own[given]
    return bool((own == first[codes])[given].all())


def without_repetition(columns: Mapping[str, Summary], said: ColumnHints, table: pd.DataFrame) -> list[str]:
    """Return candidate identifiers of a table in memory."""
    return [c for c in said.id_candidates(columns) if c == said.identifier or not table[c].duplicated().any()]


def read_as(table: pd.DataFrame, said: ColumnHints) -> tuple[pd.DataFrame, Roles]:
    """Return a table in memory by its units' names, with typed columns, and their roles.

    Raises:
        UnknownName: see :meth:`ColumnHints.check`.
        ValueError: see :func:`roles_of`; a missing or repeated name.
    """
    said.check(table.columns)
    columns = {c: summarised(table[c]) for c in table}
    naming = without_repetition(columns, said, table)
    for column in ambiguous_ids(columns, naming, said) if is_unnamed(table) else ():
        check_doubtful(table[column])
    if is_unnamed(table):
        check_visits(table, columns, naming, said)
    columns = said.as_read(columns, naming)
    table = pd.DataFrame({c: typed(table[c], columns[c], c in naming) for c in table}, table.index)
    roles = roles_of(columns, alike(table), naming, said)
    return set_identifier(table, roles.identifier), roles


def roles_of(columns: Mapping[str, Summary], same: list[int], naming: list[str], said: ColumnHints) -> Roles:
    """Return the roles of columns, guessed without a hint.

    Args:
        columns: summaries as read (:meth:`ColumnHints.as_read`).
        same: for each column, the position of the first equal one.
        naming: candidate identifiers without repetition.
        said: the caller's hints.

    Raises:
        ValueError: two candidate identifiers; a constant, copied, identifying or free-text covariate.
    """
    kinds = dict(said.kinds or {})
    able = identifiers(naming, said)
    if len(able) > 1:
        raise ValueError(
            f"columns {able[0]!r} and {able[1]!r} may both name the units; give the identifier (--id {able[0]}), and"
            " the other is left out"
        )
    identifier = able[0] if able else None
    spare = {c: "names the units too" for c in naming if c != identifier}
    spare |= {c: "has no name" for c in columns if str(c).lower() == UNNAMED and c not in {identifier, *kinds}}
    others = [c for c in columns if c not in {*said.named, *said.proxies, identifier}]
    asked = [c for c in others if c not in spare] if said.covariates is None else list(said.covariates)
    asked += said.proxies
    found = {c: _said(kinds.get(c)) or _kind(columns[c]) for c in asked}
    said.check_read({c: columns[c] for c in columns if c in said.numeric or c in asked})
    places, first = list(columns), dict[tuple[int, str], str]()
    for column in [c for c, kind in found.items() if kind in USED]:
        original = first.setdefault((same[places.index(column)], columns[column].family), column)
        found |= {column: f"a copy of {original}"} if original != column else {}
    out = {c: "as given" if kind == "ignore" else kind for c, kind in found.items() if kind not in USED}
    if said.covariates is None:
        out |= {c: why for c, why in spare.items() if c in others}
        out |= {c: "as given" for c, kind in kinds.items() if kind == "ignore" and c not in said.named}
    for what, given in (("covariate", said.covariates), ("proxy", said.proxies)):
        if wrong := [c for c in given or () if c in out and (c not in kinds or what == "proxy")]:
            why = "its kind is ignore" if kinds.get(wrong[0]) == "ignore" else out[wrong[0]]
            raise ValueError(
                f"column {wrong[0]!r} cannot be a {what}: {why}; leave it out, or give its kind: {', '.join(USED)}"
            )
    used, proxies = ({c: k for c, k in found.items() if k in USED and (c in said.proxies) == mine} for mine in (0, 1))
    return Roles(identifier, used, out, {c: how for c, found in columns.items() if (how := _written(found))}, proxies)


def _written(found: Summary) -> str:
    """Return how a column's texts are read; else empty."""
    if found.way:
        return TEXT_FORMATS[found.way].shown
    words = [word for word in WORDS if word in found.values]
    return f"{' and '.join(words)} {'is a value' if len(words) == 1 else 'are values'}, not a gap" if words else ""


def _asked(column: str, question: str, ways: Iterable[str]) -> str:
    return (
        f"column {column!r} {question}; correct the table, or give the column's kind, {', '.join(ways) or 'category'}"
        f" or ignore: --kind {column}=..., or kinds={{{column!r}: ...}} in Python"
    )


def _said(kind: str | None) -> str | None:
    """Return the kind behind a given one: formats are of numbers or dates."""
    return kind if kind not in TEXT_FORMATS else "date" if TEXT_FORMATS[kind].is_date else "number"


def _kind(found: Summary) -> str:
    n, different = found.rows, found.different
    if found.is_constant:
        return "constant"
    if found.family in ("truth", "category"):
        return "category"
    if found.family in NUMBERS:
        return "number"
    if found.family in ("date", "time"):
        return "date"
    many = different > MAX_CATEGORIES
    if different <= FEW_VALUES < n or (not many and different <= n / 5):
        return "category"
    return f"free text ({f'more than {MAX_CATEGORIES}' if many else different} different values)"


def prepared(table: pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    """Return columns by kind, dates as days since the first one; ValueError if one does not fit."""
    columns = {c: _prepared(table[c], kind) for c, kind in kinds.items()}
    return pd.DataFrame(columns, index=table.index)


def _prepared(column: pd.Series, kind: str) -> pd.Series:
    if kind == "date":
        form, text = (None, column) if is_datetime64_any_dtype(column.dtype) else ("ISO8601", column.astype("string"))
        times = pd.to_datetime(text, format=form, utc=True, errors="coerce")
        return (_whole(times, column, "dates, as 2024-05-31") - times.min()) / pd.Timedelta(days=1)
    if kind == "number" and not is_numeric_dtype(column.dtype):
        return _whole(pd.to_numeric(column, errors="coerce"), column, "numbers")
    return column.astype("category") if kind == "category" else column


def _whole(read: pd.Series, column: pd.Series, what: str) -> pd.Series:
    """Return a converted column, or raise ValueError with the first value that failed."""
    odd = column[read.isna() & column.notna()]
    for who, value in zip(odd.index, odd.tolist(), strict=True):
        raise ValueError(
            f"column {column.name!r} must hold {what}, but has {value!r} for {who}; correct it, or give the column"
            f" another kind: --kind {column.name}=category"
        )
    return read


def set_identifier(table: pd.DataFrame, identifier: str | None) -> pd.DataFrame:
    """Return a table indexed by identifier, the caller's index or numbers from 1; ValueError for bad names."""
    if identifier is None:
        return numbered(table)
    check_names(table[identifier])
    return table.set_index(identifier)


def check_names(names: pd.Series) -> None:
    """Refuse missing or repeated names: ValueError with the rows."""
    gone = names.isna().to_numpy()
    if gone.any():
        raise ValueError(
            f"column {names.name!r} must name each unit, but {int(gone.sum())} have no name, the first in row"
            f" {int(gone.argmax()) + 1}{_OTHERWISE.format(names.name)}"
        )
    if (again := names.duplicated(keep=False).to_numpy()).any():
        twice = names[again]
        first, second = np.flatnonzero(names == twice.iloc[0])[:2] + 1
        more = f", and {twice.nunique() - 1:,} others" * (twice.nunique() > 1)
        raise ValueError(
            f"column {names.name!r} names {twice.iloc[0]} more than once, in rows {first} and {second}{more}:"
            f" {len(names):,} rows for {names.nunique():,} units; each unit must have one row: keep one each"
            f"{_OTHERWISE.format(names.name)}"
        )
