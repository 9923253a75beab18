"""What the columns of a table are: guessed where the caller is silent, and told, so that each guess can be undone.

The guess goes by summaries of the columns, which add up to the same however a table is read: at once, or part by part.
"""

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

KINDS = ("number", "category", "date", "ignore", *TEXT_FORMATS)  # what a caller may say of a column
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
_VISITS = 20  # rows of a person, on average, up to which a column may name people
_MIN_VALUES = 5  # of them
UNNAMED = "unnamed: 0"  # the first column where it has no name: R and pandas write names or numbers of rows there
_OTHERWISE = (
    "; or name another column (--id), or say what this one is, number, category or ignore (--kind {0}=...), or a"
    " cluster (--cluster {0})"
)


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are.

    Attributes:
        identifier: column that names the units; None where rows are numbered.
        kinds: "number", "category" or "date" of each covariate.
        left_out: why each other column is not used.
        text_formats: how the texts of some columns are read, such as "decimal commas".
        proxies: likewise of each proxy, which is no covariate.
    """

    identifier: str | None
    kinds: Mapping[str, str]
    left_out: Mapping[str, str]
    text_formats: Mapping[str, str] = field(default_factory=dict)
    proxies: Mapping[str, str] = field(default_factory=dict)

    def shown(self, named: Mapping[str, str]) -> pd.DataFrame:
        """One row per column: its role, and what is to be said of it; ``named`` holds the columns of given roles."""
        written = {column: f" ({how})" for column, how in self.text_formats.items()}
        given = {column: (role, f"as you say{written.get(column, '')}") for role, column in named.items()}
        given |= {} if self.identifier in (None, *given) else {self.identifier: ("identifier", "guessed")}
        both = {"covariate": self.kinds, "proxy": self.proxies}
        used = {c: (role, f"{kind}{written.get(c, '')}") for role, kinds in both.items() for c, kind in kinds.items()}
        out = {column: ("left out", why) for column, why in self.left_out.items()}
        return pd.DataFrame((given | used | out), index=["role", "what"]).T.rename_axis("column")


@dataclass(frozen=True)
class ColumnHints:
    """What a caller says of the columns.

    Attributes:
        named: columns that have another role than identifier or covariate.
        identifier: column that names the units.
        covariates: columns to compare units by; all that are fit for it by default.
        kinds: column -> "number", "category", "date", "ignore", or one of
            :data:`~macal.survey.tables.text_formats.TEXT_FORMATS`.
        numeric: of the named columns those that must hold numbers.
        proxies: columns that predict outcomes, and are no covariates.
    """

    named: frozenset[str] = frozenset()
    identifier: str | None = None
    covariates: tuple[str, ...] | None = None
    kinds: Mapping[str, str] | None = None
    numeric: frozenset[str] = frozenset()
    proxies: tuple[str, ...] = ()

    def check(self, columns: Iterable[Any]) -> None:
        """Refuse what a table does not have: UnknownName for a column or kind, ValueError for a name twice."""
        known, kinds = list(columns), dict(self.kinds or {})
        if again := sorted({str(c) for c in known if known.count(c) > 1}):
            raise ValueError(f"columns must be named once, got more than once: {', '.join(again)}")
        mine = [] if self.identifier is None else [self.identifier]
        check_known("column", known, *sorted(self.named), *kinds, *(self.covariates or ()), *self.proxies, *mine)
        check_known("kind of column", KINDS, *kinds.values())

    def as_read(self, columns: Mapping[str, Summary], naming: Iterable[str]) -> dict[str, Summary]:
        """Columns as their texts are read, names as they are written; ValueError where they are not as said.

        Where some columns that play a part decide what a comma and a dot are in numbers, others that do not go by them.
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
                raise ValueError(f"column {column!r} is said to be {kinds[column]}, but {error}") from error
        return dict(columns) | told

    def check_read(self, columns: Mapping[str, Summary]) -> None:
        """Refuse columns of numbers or dates that are not read as such: ValueError with what may be said of them."""
        for column, found in columns.items():
            if found.question and column not in (self.kinds or {}):
                raise ValueError(_asked(column, found.question, found.ways))

    def id_candidates(self, columns: Mapping[str, Summary], whole: bool = True) -> list[str]:
        """Columns that may name the units as far as name and content of all rows say, or of some; said ones first."""
        mine = [] if self.identifier is None else [self.identifier]
        taken = self.named | set(self.kinds or {}) | {*(self.covariates or ()), *self.proxies, *mine}
        return mine + [c for c, found in columns.items() if c not in taken and _may_name(found, str(c), whole)]


def identifiers(naming: Iterable[str], said: ColumnHints) -> list[str]:
    """Of columns that may name the units those that do: the one that is said, or whichever has a name itself."""
    if said.identifier is not None:
        return [said.identifier]
    naming = list(naming)
    return [c for c in naming if str(c).lower() != UNNAMED] or naming


def _may_name(found: Summary, name: str, whole: bool) -> bool:
    """Whether a column names the units by name or content, if no value is there twice."""
    if found.gaps or found.different < min(found.rows, MAX_CATEGORIES + 1):
        return False
    called = NAMED.fullmatch(name) is not None
    if found.family in NUMBERS:
        return found.rows > 1 and (found.code or (called and (found.family == "integer" or not found.canonical)))
    read = whole and (bool(found.question) or found.read() is not found)  # other rows may make it text after all
    return found.family == "text" and found.rows > 1 and (called or not (found.spaced or read))


def ambiguous_ids(columns: Mapping[str, Summary], naming: Iterable[str], said: ColumnHints) -> list[str]:
    """Columns that are called as if they named the units and have many values, where no column does."""
    called = {c: found for c, found in _open(columns, naming, said).items() if NAMED.fullmatch(str(c))}
    if said.covariates is not None:  # what is called a number or a key plays no part
        called = {c: found for c, found in called.items() if _PEOPLE.fullmatch(str(c))}
    return [c for c, f in called.items() if 2 * f.different > min(f.rows, 2 * MAX_CATEGORIES) or _may_repeat(c, f)]


def _open(columns: Mapping[str, Summary], naming: Iterable[str], said: ColumnHints) -> dict[str, Summary]:
    """Columns of whole numbers or text of which nobody spoke, where no column names the units."""
    taken = said.named | set(said.kinds or {}) | {*(said.covariates or ())}
    if said.identifier is not None or any(str(c).lower() != UNNAMED for c in naming):
        return {}
    others = {c: found for c, found in columns.items() if c not in taken and str(c).lower() != UNNAMED}
    return {c: f for c, f in others.items() if f.family == "integer" or (f.family == "text" and f.read() is f)}


def _may_repeat(name: str, found: Summary) -> bool:
    """Whether a column is called as people's names are, and has a few rows of each, as far as a summary tells."""
    many = found.different > (_MIN_VALUES if found.family == "integer" else FEW_VALUES)
    few = found.different > MAX_CATEGORIES or _VISITS * found.different >= found.rows
    return many and few and _PEOPLE.fullmatch(str(name)) is not None


def check_doubtful(names: pd.Series) -> None:
    """Refuse a column that does not name each unit, most of whose values are there once, or a few times: ValueError."""
    different = names.dropna().astype(str).nunique()
    is_people = _PEOPLE.fullmatch(str(names.name)) is not None
    if 2 * different > len(names) or (is_people and _VISITS * different >= len(names)):
        check_names(names)


def check_visits(table: pd.DataFrame, columns: Mapping[str, Summary], naming: Iterable[str], said: ColumnHints) -> None:
    """Refuse a table in which people have a row a visit, by a column of whose values each has one of all numbers.

    Or one a year, a wave or the like. ValueError with the column.
    """
    when = [c for c in columns if _WHEN.fullmatch(str(c))]
    for column, found in _open(columns, naming, said).items():
        for time in when if found.different > _MIN_VALUES and column not in when else ():
            if 1.5 * table[column].nunique() <= len(table) and not table.duplicated([column, time]).any():
                raise ValueError(
                    f"column {column!r} seems to name people, {table[column].nunique():,} in {len(table):,} rows, one"
                    f" for each {time!r}; a unit must have one row: keep one of each{_OTHERWISE.format(column)}"
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
                f" the same {', '.join(map(repr, others))}; a unit must have one row: keep one of each"
                f"{_OTHERWISE.format(column)}"
            )


def _rest(table: pd.DataFrame, column: str, others: list[str]) -> int:
    """Columns beside some others that differ among rows of one value."""
    return sum(not _is_told(table[column], table[c]) for c in table if c not in (column, *others))


def _is_told(column: pd.Series, other: pd.Series) -> bool:
    """Whether values of a column tell those of another."""
    codes, values = pd.factorize(column, use_na_sentinel=False)
    own, _ = pd.factorize(other)
    first = np.full(len(values), -1)
    given = own >= 0
    first[codes[given]] = own[given]
    return bool((own == first[codes])[given].all())


def without_repetition(columns: Mapping[str, Summary], said: ColumnHints, table: pd.DataFrame) -> list[str]:
    """Columns of a table in memory that may name its units."""
    return [c for c in said.id_candidates(columns) if c == said.identifier or not table[c].duplicated().any()]


def read_as(table: pd.DataFrame, said: ColumnHints) -> tuple[pd.DataFrame, Roles]:
    """A table in memory by its units' names, texts as what they write, and what its columns are; see :func:`roles_of`.

    Raises:
        UnknownName: see :meth:`ColumnHints.check`.
        ValueError: see :func:`roles_of`; a unit without a name, or a name that is there twice.
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
    """Guess what the columns are that nobody spoke of.

    Args:
        columns: summary of each column, as it is read (:meth:`ColumnHints.as_read`).
        same: of each column the place of the first that holds the same.
        naming: columns that may name the units, none of whose values is there twice.
        said: what the caller says.

    Raises:
        ValueError: two columns may name the units; a covariate that is constant, a copy, an identifier, or free text.
    """
    kinds = dict(said.kinds or {})
    able = identifiers(naming, said)
    if len(able) > 1:
        raise ValueError(
            f"columns {able[0]!r} and {able[1]!r} both may name the units; say which does, as the identifier (--id"
            f" {able[0]} on the command line), and the other is left out"
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
    out = {c: "as you say" if kind == "ignore" else kind for c, kind in found.items() if kind not in USED}
    if said.covariates is None:
        out |= {c: why for c, why in spare.items() if c in others}
        out |= {c: "as you say" for c, kind in kinds.items() if kind == "ignore" and c not in said.named}
    for what, given in (("covariate", said.covariates), ("proxy", said.proxies)):
        if wrong := [c for c in given or () if c in out and (c not in kinds or what == "proxy")]:
            raise ValueError(
                f"column {wrong[0]!r} cannot be a {what}: {out[wrong[0]]}; leave it out, or say what it is:"
                f" {', '.join(USED)}"
            )
    used, proxies = ({c: k for c, k in found.items() if k in USED and (c in said.proxies) == mine} for mine in (0, 1))
    return Roles(identifier, used, out, {c: how for c, found in columns.items() if (how := _written(found))}, proxies)


def _written(found: Summary) -> str:
    """What is to be said of how a column's texts are read."""
    if found.way:
        return TEXT_FORMATS[found.way].shown
    words = [word for word in WORDS if word in found.values]
    return f"{' and '.join(words)} {'is a value' if len(words) == 1 else 'are values'}, and no gap" if words else ""


def _asked(column: str, question: str, ways: Iterable[str]) -> str:
    return (
        f"column {column!r} {question}; mend the table, or say what it is, {', '.join(ways) or 'category'} or ignore:"
        f" --kind {column}=... on the command line, kinds={{{column!r}: ...}} in Python"
    )


def _said(kind: str | None) -> str | None:
    """The kind that a caller gave to a column: of a way to write, a number or a date."""
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
    """Columns by their kinds, dates as days since the first one, categories as such; ValueError where one is not."""
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
    """A column that was read, or ValueError with the first value that could not be."""
    odd = column[read.isna() & column.notna()]
    for who, value in zip(odd.index, odd.tolist(), strict=True):
        raise ValueError(
            f"column {column.name!r} is to hold {what}, and {value!r} of {who} is none; mend it, or give the column"
            f" another kind: --kind {column.name}=category"
        )
    return read


def set_identifier(table: pd.DataFrame, identifier: str | None) -> pd.DataFrame:
    """A table by its units' names: the identifier, or an index of the caller's; rows are numbered from 1 otherwise.

    ValueError for a unit without a name, or a name that is there twice.
    """
    if identifier is None:
        return numbered(table)
    check_names(table[identifier])
    return table.set_index(identifier)


def check_names(names: pd.Series) -> None:
    """Refuse a column that does not name each unit, once: ValueError with the rows."""
    gone = names.isna().to_numpy()
    if gone.any():
        raise ValueError(
            f"column {names.name!r} must name each unit, and {int(gone.sum())} have no name, the first in row"
            f" {int(gone.argmax()) + 1}{_OTHERWISE.format(names.name)}"
        )
    if (again := names.duplicated(keep=False).to_numpy()).any():
        twice = names[again]
        first, second = np.flatnonzero(names == twice.iloc[0])[:2] + 1
        more = f", and {twice.nunique() - 1:,} others" * (twice.nunique() > 1)
        raise ValueError(
            f"column {names.name!r} names {twice.iloc[0]} more than once, in rows {first} and {second}{more}:"
            f" {len(names):,} rows are of {names.nunique():,}; a unit must have one row: keep one of each"
            f"{_OTHERWISE.format(names.name)}"
        )
