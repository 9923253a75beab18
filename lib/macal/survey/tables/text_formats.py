"""Formats of numbers and dates in text: ``2,5``, ``1,000``, ``1,23,456``, ``1'234``, ``5%``, ``31.12.1990``.

A format is a pattern that all texts of a column must match, and a reader; texts may match several formats.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

GROUPED = "grouped"
_PLAIN = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_LAKHS = r"[-+]?[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]*)?"
_GAP = "['\u2019\u00a0\u2009\u202f]"  # between thousands: apostrophes and nonbreaking spaces
_GROUPED = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{_GAP}[0-9]{{3}})+)(?:[.,](?:[0-9]{{1,2}}|[0-9]{{4,}}))?"
_DAY, _MONTH = "(?P<day>0?[1-9]|[12][0-9]|3[01])", "(?P<month>0?[1-9]|1[0-2])"
_YEAR = "(?P<year>[1-9][0-9]{3})"
_ISO = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})([ T].*)?"


@dataclass(frozen=True)
class TextFormat:
    """A format of numbers or dates.

    Attributes:
        pattern: pattern of a text.
        read: converts texts to numbers or times; ValueError for invalid ones, as 30 February.
        shown: name of the format in lists of columns.
        is_date: whether it is a format of dates.
    """

    pattern: str
    read: Callable[[pd.Series], pd.Series]
    shown: str
    is_date: bool = False


def _without(mark: str, decimal: str) -> Callable[[pd.Series], pd.Series]:
    def read(texts: pd.Series) -> pd.Series:
        return texts.str.replace(mark, "", regex=False).str.replace(decimal, ".", regex=False).astype(np.float64)

    return read


def _grouped(texts: pd.Series) -> pd.Series:
    return _without(",", ".")(texts.str.replace(_GAP, "", regex=True).str.replace("\u2212", "-").str.replace(",", "."))


def _dates(form: str) -> Callable[[pd.Series], pd.Series]:
    def read(texts: pd.Series) -> pd.Series:
        return pd.to_datetime(texts.str.replace("[./]", "-", regex=True), format=form)

    return read


TEXT_FORMATS = {
    "decimal-comma": TextFormat(
        r"[-+]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?", _without(".", ","), "decimal commas"
    ),
    "thousands-comma": TextFormat(
        rf"{_PLAIN}|[-+]?[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+(?:\.[0-9]*)?|{_LAKHS}",
        _without(",", "."),
        "thousands with commas",
    ),
    GROUPED: TextFormat(rf"[-+\u2212]?{_GROUPED}", _grouped, "blanks, apostrophes or other minus signs"),
    "percent": TextFormat(
        r"[-+]?[0-9]+(?:\.[0-9]+|,[0-9]{1,2})? ?%", lambda t: _without("%", ",")(t.str.rstrip("% ")) / 100, "per cent"
    ),
    "day-first": TextFormat(
        rf"{_DAY}(?P<mark>[-./]){_MONTH}(?P=mark){_YEAR}", _dates("%d-%m-%Y"), "the day first", True
    ),
    "month-first": TextFormat(
        rf"{_MONTH}(?P<mark>[-/]){_DAY}(?P=mark){_YEAR}", _dates("%m-%d-%Y"), "the month first", True
    ),
}


def is_no_date(text: str) -> bool:
    """Return whether a text has the format of a date, but there is no such day.

    >>> [is_no_date(text) for text in ("29.02.2024", "29.02.2023", "2023-02-29 12:30", "2023")]
    [False, True, True, False]
    """
    patterns = [_ISO, *(way.pattern for way in TEXT_FORMATS.values() if way.is_date)]
    found = [match for pattern in patterns if (match := re.fullmatch(pattern, text))]
    return bool(found) and not any(_is_day(*map(int, match.group("year", "month", "day"))) for match in found)


def _is_day(year: int, month: int, day: int) -> bool:
    return year > 0 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def ways_of(texts: pd.Series) -> dict[str, tuple[float, float]]:
    """Return formats that fit all texts -> smallest and largest number; infinities for dates.

    >>> list(ways_of(pd.Series(["1,000", "2,5"]))), list(ways_of(pd.Series(["1,000", "250"])))
    (['decimal-comma'], ['decimal-comma', 'thousands-comma'])
    """
    found, every = {}, texts.tolist()
    for name, way in TEXT_FORMATS.items():
        if not all(map(re.compile(way.pattern).fullmatch, every)):
            continue
        try:
            numbers = way.read(texts)
        except ValueError:  # 30 February
            continue
        found[name] = (np.inf, -np.inf) if way.is_date else (float(numbers.min()), float(numbers.max()))
    return found
