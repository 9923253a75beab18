"""Summaries of columns that add up over parts of a table.

Texts count as what they write: numbers, or numbers and dates in one unambiguous format; otherwise the caller is asked.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from macal.datasets.encoding import MAX_CATEGORIES, is_like_number_or_date
from macal.hashing import CANONICAL
from macal.survey.tables.text_formats import GROUPED, TEXT_FORMATS, is_no_date, ways_of

NUMBERS = {"integer", "number"}
_N_VALUES_SAMPLED = 100  # values of a part that are checked first
_DAY = r"\d{4}-\d{2}-\d{2}"
_DIGITS = re.compile(r"\+?\d+", re.ASCII)
_LED = re.compile(r"0\d+|\d{19,}|\+\d{7,}", re.ASCII)  # digits that are no number
DECIMAL_FORMATS = ("decimal-comma", "thousands-comma")  # formats that differ in the meaning of comma and dot
_ANY = dict.fromkeys(TEXT_FORMATS, (np.inf, -np.inf))
WORDS = ("None", "NA")  # marks of gaps that can be values
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}  # as pandas reads


@dataclass(frozen=True)
class Summary:
    """A summary of some rows of a column.

    Attributes:
        rows: number of rows.
        gaps: number of gaps.
        family: "nothing" (all missing), "truth", "integer", "number", "time" (by type), "date" (text), "category" (by
            type), or "text".
        low: smallest number, with infinities; infinity without numbers.
        high: largest number.
        values: distinct values, None for gaps, at most ``MAX_CATEGORIES`` + 1.
        spaced: whether a text has white space.
        canonical: whether all are whole numbers, written as in Python.
        digits: whether all are texts of digits, perhaps after a plus.
        led: whether one of these is not a number: ``00041``, ``+4915112345``, or more than 18 digits.
        ways: formats in :data:`.text_formats.TEXT_FORMATS` that fit all texts -> smallest and largest number.
        way: the format used; empty for Python's.
        like: rows with text that looks like a number or a date.
        unread: first such text, by alphabet, that is not in Python's format.
        odd: first other text.
        no_date: first text in a date format that is not a day.
    """

    rows: int
    gaps: int
    family: str
    low: float = np.inf
    high: float = -np.inf
    values: frozenset[Any] = frozenset()
    spaced: bool = False
    canonical: bool = True
    digits: bool = False
    led: bool = False
    ways: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    way: str = ""
    like: int = 0
    unread: str | None = None
    odd: str | None = None
    no_date: str | None = None

    @property
    def different(self) -> int:
        """Number of distinct values, with gaps as one; at most ``MAX_CATEGORIES`` + 1."""
        return len(self.values)

    @property
    def is_constant(self) -> bool:
        """Whether all values are equal."""
        return (not self.gaps and self.low == self.high) if self.family in NUMBERS else self.different == 1

    def __add__(self, other: "Summary") -> "Summary":
        family = other.family if self.family == "nothing" else self.family
        if other.family not in (family, "nothing"):
            family = "number" if {family, other.family} == NUMBERS else "text"
        return Summary(
            self.rows + other.rows,
            self.gaps + other.gaps,
            family,
            min(self.low, other.low),
            max(self.high, other.high),
            _limited(self.values | other.values),
            self.spaced or other.spaced,
            self.canonical and other.canonical,
            self.digits and other.digits,
            self.led or other.led,
            {w: _wider(self.ways[w], other.ways[w]) for w in self.ways if w in other.ways},
            like=self.like + other.like,
            unread=_first(self.unread, other.unread),
            odd=_first(self.odd, other.odd),
            no_date=_first(self.no_date, other.no_date),
        )

    @property
    def code(self) -> bool:
        """Whether these are digits but not numbers, such as postcodes or telephone numbers."""
        return self.digits and self.led

    @property
    def mark(self) -> str:
        """The format of comma and dot that the texts decide; else empty."""
        able = [way for way in DECIMAL_FORMATS if way in self.ways]
        return able[0] if len(able) == 1 else ""

    @property
    def _certain(self) -> str:
        """The only format that fits, or the one that leaves comma and dot in no doubt; else empty."""
        others = [way for way in self.ways if way != GROUPED]
        return others[0] if len(others) == 1 else GROUPED if GROUPED in self.ways else ""

    @property
    def is_open(self) -> bool:
        """Whether all texts are numbers in Python's format, and others with decimal commas."""
        is_clear = self.canonical or self.code or self.is_constant
        return self.family in NUMBERS and not is_clear and DECIMAL_FORMATS[0] in self.ways

    def read(self, kind: str | None = None, mark: str = "") -> "Summary":
        """Return the column as read by ``kind``, its only format, or the table's ``mark``; ValueError if impossible."""
        if kind in TEXT_FORMATS and kind not in self.ways:
            text = next((text for text in (self.odd, self.no_date, self.unread) if text is not None), None)
            what = "it holds no text" if text is None else f"this text cannot be read so: {text!r}"
            raise ValueError(f"{what}; correct it, or give the column another kind")
        if self.code and kind in (None, "category"):
            return replace(self, family="text", canonical=False)
        if kind in ("category", "ignore"):
            return self
        if kind in TEXT_FORMATS:
            way = kind
        elif self.family == "text" and self._certain:
            way = self._certain
        else:
            way = (
                mark
                if mark in self.ways and (self.family == "text" or (self.is_open and mark == DECIMAL_FORMATS[0]))
                else ""
            )
        if not way:
            return self
        low, high = self.ways[way]
        family = "time" if TEXT_FORMATS[way].is_date else "number"
        return replace(self, family=family, low=low, high=high, way=way, canonical=False, digits=False)

    @property
    def question(self) -> str:
        """A question about texts that mostly look like numbers or dates but are not read; else empty."""
        if self.family != "text" or self.is_constant or self.code:
            return ""
        given = self.rows - self.gaps
        like = self.like
        if self.different <= MAX_CATEGORIES:  # of a possible category, values count, not rows
            texts = [value for value in self.values if isinstance(value, str)]
            given, like = self.different - bool(self.gaps), sum(map(is_like_number_or_date, texts))
        if 2 * like <= given:
            return ""
        if self.odd is not None:
            return f"holds numbers or dates, but also {self.odd!r}"
        if self.no_date is not None:
            return f"holds dates as text, but {self.no_date} is not a day"
        ways = f", which can be read in more than one way ({', '.join(self.ways)})" if self.ways else ""
        return f"holds numbers or dates as text, such as {self.unread!r}{ways}"


def _limited(values: Iterable[Any]) -> frozenset[Any]:
    """Return at most ``MAX_CATEGORIES`` + 1 values."""
    values = frozenset(values)
    return values if len(values) <= MAX_CATEGORIES + 1 else frozenset(list(values)[: MAX_CATEGORIES + 1])


def summarised(column: pd.Series) -> Summary:
    """Return the summary of a column, or a part of it."""
    gone = column.isna().to_numpy()
    rows, gaps, missing = len(column), int(gone.sum()), ([None] if gone.any() else [])
    given = column[~gone] if gaps else column
    if gaps == rows:
        return Summary(rows, gaps, "nothing", values=frozenset(missing), digits=True, ways=_ANY)
    kind = column.dtype
    if is_numeric_dtype(kind) and not is_bool_dtype(kind):
        plain, whole = isinstance(kind, np.dtype) and kind.kind in "iuf", kind.kind in "iu"
        known = given.to_numpy() if plain else given.to_numpy(np.float64)
        family = "integer" if whole or _is_whole(known) else "number"
        values = _limited([*_distinct(known), *missing])
        low, high = float(known.min()), float(known.max())
        return Summary(rows, gaps, family, low, high, values, canonical=family == "integer")
    if is_bool_dtype(kind) or isinstance(kind, pd.CategoricalDtype) or is_datetime64_any_dtype(kind):
        family = "truth" if is_bool_dtype(kind) else "time" if is_datetime64_any_dtype(kind) else "category"
        values = _limited([*given.astype(object).unique(), *missing])
        return Summary(rows, gaps, family, values=values, canonical=False)
    return _of_texts(given, rows, gaps, missing)


def _of_texts(given: pd.Series, rows: int, gaps: int, missing: list[None]) -> Summary:
    texts = _unique(given)
    values = _limited([*texts, *missing])
    if len(texts) <= len(TRUTH) and all(str(text) in TRUTH for text in texts):
        return Summary(rows, gaps, "truth", values=_limited([*map(str, texts), *missing]), canonical=False)
    if not all(isinstance(text, str) for text in texts):
        return Summary(rows, gaps, "text", values=values, spaced=True, canonical=False)
    every, texts = texts, pd.Series(texts, dtype="str")
    found, ways = _numbers(texts), ways_of(texts)
    digits, led = all(map(_DIGITS.fullmatch, every)), any(map(_LED.fullmatch, every))
    if found is not None:
        canonical = all(map(re.compile(CANONICAL).fullmatch, every))
        bounds, family = (float(found.min()), float(found.max())), "integer" if _is_whole(found) else "number"
        return Summary(rows, gaps, family, *bounds, values, False, canonical, digits, led, ways, like=rows - gaps)
    spaced, is_date = bool(texts.str.contains(r"\s").any()), _is_date(texts)
    about = {"values": values, "spaced": spaced, "canonical": False, "digits": digits, "led": led, "ways": ways}
    if is_date:
        return Summary(rows, gaps, "date", **about, like=rows - gaps, unread=min(texts))
    is_like = texts.map(is_like_number_or_date).to_numpy(bool)
    is_plain = pd.to_numeric(texts, errors="coerce").notna().to_numpy()
    unread, odd = (min(texts[mask], default=None) for mask in (is_like & ~is_plain, ~is_like))
    like, no_date = int(given.isin(set(texts[is_like])).sum()), min(filter(is_no_date, texts[is_like]), default=None)
    return Summary(rows, gaps, "text", **about, like=like, unread=unread, odd=odd, no_date=no_date)


def _first(one: str | None, other: str | None) -> str | None:
    return min((text for text in (one, other) if text is not None), default=None)


def _wider(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def _distinct(given: np.ndarray) -> list[Any]:
    """Return distinct numbers, at most ``MAX_CATEGORIES`` + 1."""
    found = pd.unique(given[: 4 * MAX_CATEGORIES])
    if len(found) <= MAX_CATEGORIES:
        found = pd.unique(given)
    return found[: MAX_CATEGORIES + 1].tolist()


def _unique(column: pd.Series) -> list[Any]:
    try:
        return list(column.unique())
    except TypeError:  # lists and the like
        return column.astype(str).unique().tolist()


def _is_whole(given: np.ndarray) -> bool:
    return all(bool((part == np.floor(part)).all()) and bool(np.isfinite(part).all()) for part in (given[:1000], given))


def _is_date(texts: pd.Series) -> bool:
    """Return whether all texts are dates in ISO 8601."""
    if not all(part.str.match(_DAY).all() for part in (texts.head(_N_VALUES_SAMPLED), texts)):
        return False
    return bool(pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True).notna().all())


def _numbers(texts: pd.Series) -> np.ndarray | None:
    """Return texts as numbers, to the last bit; None if one is not a number."""
    for part in (texts.head(_N_VALUES_SAMPLED), texts)[len(texts) <= _N_VALUES_SAMPLED :]:
        if pd.to_numeric(part, errors="coerce").isna().any():
            return None
    try:
        return texts.to_numpy(object).astype(np.float64)
    except ValueError:  # pandas accepts more numbers than Python: +1.5E 3
        return None


def typed(column: pd.Series, found: Summary, named: bool) -> pd.Series:
    """Return a column typed by the table's summary; an identifier stays text if numbers would change it."""
    is_text = pd.api.types.is_string_dtype(column.dtype) and not isinstance(column.dtype, pd.CategoricalDtype)
    if found.family == "truth" and (is_text or found.gaps):
        values = column.astype(object).map(lambda value: TRUTH[str(value)], na_action="ignore")
        return values.astype("boolean" if found.gaps else bool)
    if not is_text:
        return column
    if found.family == "nothing":
        return column.astype(np.float64)
    if found.way and not named:
        given = column.dropna()
        return TEXT_FORMATS[found.way].read(given.astype("str")).reindex(column.index) if len(given) else column
    if found.family not in NUMBERS or (named and not found.canonical):
        return column
    whole = found.canonical and not found.gaps
    values = column.to_numpy(object, na_value=np.nan).astype(np.int64 if whole else np.float64)
    return pd.Series(values, column.index, name=column.name)


def alike(table: pd.DataFrame) -> list[int]:
    """Return for each column of a part the position of the first equal one."""
    columns = [table[c].reset_index(drop=True) for c in table]
    heads = [_mark(column[:_N_VALUES_SAMPLED]) for column in columns]
    shared, first, found = Counter(heads), dict[tuple[int, int], list[int]](), list[int]()
    for k, (column, head) in enumerate(zip(columns, heads, strict=True)):
        seen = first.setdefault((head, _mark(column) if shared[head] > 1 else 0), [])
        found.append(next((j for j in seen if _equal(columns[j], column)), k))
        seen += [k] * (found[k] == k)
    return found


def _is_plain(column: pd.Series) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb"


def _mark(column: pd.Series) -> int:
    """Return a hash shared by equal columns, and hardly any others."""
    if not _is_plain(column):
        return hash((str(column.dtype), *map(_token, column)))
    given = column.to_numpy(np.float64) + 0.0  # -0 is 0
    return hash(np.where(np.isnan(given), np.nan, given).tobytes())


def _token(value: Any) -> int:
    """Return a hash of a value; 0 for gaps and unhashable values."""
    try:
        return hash(value) if value is not None and value == value else 0
    except (TypeError, ValueError):
        return 0


def _equal(one: pd.Series, other: pd.Series) -> bool:
    if _is_plain(one) and _is_plain(other):
        return bool(((one == other) | ((one != one) & (other != other))).all())
    return one.equals(other)


def refined(one: list[int], other: list[int]) -> list[int]:
    """Return for each column the position of the first one equal in both parts."""
    first: dict[tuple[int, int], int] = {}
    return [first.setdefault(pair, k) for k, pair in enumerate(zip(one, other, strict=True))]
