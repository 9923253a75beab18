"""What a column holds, part by part: summaries that add up to the same whatever the parts are.

Texts count as what they write: a column of texts all of which write numbers is one of numbers. Where texts write
numbers or dates as people do, ``2,5`` or ``31.12.1990``, and all of them can be read in one way only, they are read; in
two ways, or not all, is a question.
"""

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
_N_VALUES_SAMPLED = 100  # values of a part that are looked at before all are
_DAY = r"\d{4}-\d{2}-\d{2}"
_DIGITS, _LED = r"\+?\d+", r"0\d+|\d{19,}|\+\d{7,}"  # digits, and such as are no number
DECIMAL_FORMATS = ("decimal-comma", "thousands-comma")  # ways that differ in what a comma and a dot are
_ANY = dict.fromkeys(TEXT_FORMATS, (np.inf, -np.inf))
WORDS = ("None", "NA")  # of gaps, that can be values
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}  # as pandas reads


@dataclass(frozen=True)
class Summary:
    """What some rows of a column hold.

    Attributes:
        rows: how many.
        gaps: missing among them.
        family: "nothing" (all are missing), "truth", "integer" (numbers without a fraction), "number", "time" (of a
            type for that), "date" (text that is one), "category" (of a type for that), or "text".
        low: least number, infinities included; infinity where there is none.
        high: largest number.
        values: different ones, missing among them as None, up to ``MAX_CATEGORIES`` + 1; of more, so many.
        spaced: whether a text has white space.
        canonical: whether all are whole numbers, and texts write them as Python does.
        digits: whether all are texts of digits, a plus before them or not.
        led: whether one of these is no number as it is written: ``00041``, ``+4915112345``, or more than 18 digits.
        ways: each of :data:`.text_formats.TEXT_FORMATS` in which all texts can be read -> least and largest number.
        way: of these, the one in which the column is read; empty where texts are as Python writes them.
        like: rows whose text looks like a number or a date.
        unread: the first, in alphabetical order, of texts that do, and are none as Python writes them.
        odd: the first of texts that do not.
        no_date: the first that is written like a date, of which there is no such day.
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
        """Different values, missing ones as one; ``MAX_CATEGORIES`` + 1 stands for all beyond."""
        return len(self.values)

    @property
    def is_constant(self) -> bool:
        """Whether there is one value."""
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
        """Whether these are digits, and no numbers: postcodes, some of which begin with a zero, telephone numbers."""
        return self.digits and self.led

    @property
    def mark(self) -> str:
        """The way to write numbers that the texts decide, of those that differ in what a comma and a dot are."""
        able = [way for way in DECIMAL_FORMATS if way in self.ways]
        return able[0] if len(able) == 1 else ""

    @property
    def _certain(self) -> str:
        """The one way in which the texts can be read, or that in which commas and dots are for certain; else empty."""
        others = [way for way in self.ways if way != GROUPED]
        return others[0] if len(others) == 1 else GROUPED if GROUPED in self.ways else ""

    @property
    def is_open(self) -> bool:
        """Whether all texts are numbers as Python writes them, and others with decimal commas."""
        is_clear = self.canonical or self.code or self.is_constant
        return self.family in NUMBERS and not is_clear and DECIMAL_FORMATS[0] in self.ways

    def read(self, kind: str | None = None, mark: str = "") -> "Summary":
        """The column as it is read: as ``kind`` says, in the one way that its texts allow, or the table's ``mark``.

        ValueError where its texts cannot be read as said.
        """
        if kind in TEXT_FORMATS and kind not in self.ways:
            text = next((text for text in (self.odd, self.no_date, self.unread) if text is not None), None)
            what = "it holds no texts" if text is None else f"not every text can be read so: {text!r}"
            raise ValueError(f"{what}; mend it, or say something else of the column")
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
        """What is to be asked of texts most of which look like numbers or dates, and that are not read; else empty."""
        if self.family != "text" or self.is_constant or self.code:
            return ""
        given = self.rows - self.gaps
        like = self.like
        if self.different <= MAX_CATEGORIES:  # of what may be a category, values count, and not how many have them
            texts = [value for value in self.values if isinstance(value, str)]
            given, like = self.different - bool(self.gaps), sum(map(is_like_number_or_date, texts))
        if 2 * like <= given:
            return ""
        if self.odd is not None:
            return f"holds numbers or dates, but also {self.odd!r}"
        if self.no_date is not None:
            return f"holds dates as text, and there is no {self.no_date}"
        ways = f", that can be read in more than one way ({', '.join(self.ways)})" if self.ways else ""
        return f"holds numbers or dates as text, such as {self.unread!r}{ways}"


def _limited(values: Iterable[Any]) -> frozenset[Any]:
    """As many values as matter."""
    values = frozenset(values)
    return values if len(values) <= MAX_CATEGORIES + 1 else frozenset(list(values)[: MAX_CATEGORIES + 1])


def summarised(column: pd.Series) -> Summary:
    """Summarise a column, or a part of it."""
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
    texts = pd.Series(texts, dtype="str")
    found, ways = _numbers(texts), ways_of(texts)
    digits, led = bool(texts.str.fullmatch(_DIGITS).all()), bool(texts.str.fullmatch(_LED).any())
    if found is not None:
        canonical = bool(texts.str.fullmatch(CANONICAL).all())
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
    """Different numbers, as many as matter, found in few rows where they are many."""
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
    """Whether all of some texts are dates as ISO 8601 writes them."""
    if not all(part.str.match(_DAY).all() for part in (texts.head(_N_VALUES_SAMPLED), texts)):
        return False
    return bool(pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True).notna().all())


def _numbers(texts: pd.Series) -> np.ndarray | None:
    """Texts as the numbers that they write, to the last bit; None where one writes none."""
    for part in (texts.head(_N_VALUES_SAMPLED), texts):
        if pd.to_numeric(part, errors="coerce").isna().any():
            return None
    try:
        return texts.to_numpy(object).astype(np.float64)
    except ValueError:  # pandas takes more for numbers than Python: +1.5E 3
        return None


def typed(column: pd.Series, found: Summary, named: bool) -> pd.Series:
    """A column, of texts as what all texts of the table write by its summary as it is read.

    One that names the units stays text where a number would not be written so.
    """
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
    """Of each column of a part, the place of the first that holds the same, values by values."""
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
    """A hash that columns share which hold the same, and hardly any others."""
    if not _is_plain(column):
        return hash((str(column.dtype), *map(_token, column)))
    given = column.to_numpy(np.float64) + 0.0  # -0 is 0
    return hash(np.where(np.isnan(given), np.nan, given).tobytes())


def _token(value: Any) -> int:
    """A hash of a value; 0 of a missing one, and where there is none."""
    try:
        return hash(value) if value is not None and value == value else 0
    except (TypeError, ValueError):
        return 0


def _equal(one: pd.Series, other: pd.Series) -> bool:
    if _is_plain(one) and _is_plain(other):
        return bool(((one == other) | ((one != one) & (other != other))).all())
    return one.equals(other)


def refined(one: list[int], other: list[int]) -> list[int]:
    """What is alike in two parts: of each column the place of the first that is so in both."""
    first: dict[tuple[int, int], int] = {}
    return [first.setdefault(pair, k) for k, pair in enumerate(zip(one, other, strict=True))]
