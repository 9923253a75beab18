"""Encoding of table columns: numbers, categories, and text that looks like numbers.

Numbers are winsorised, then standardised: values further from the median than 5 times the median nonzero distance count
as the last one within. Models of treatment and outcomes have the excess as a second column.
"""

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype, is_object_dtype

from macal.arguments import as_array
from macal.shapes import Outcomes, Rows

MAX_CATEGORIES = 100
FEW_VALUES = 20  # text with at most so many values is categorical
WINSOR_LIMIT = 5.0  # in median distances from the median
_GAP = 1.5  # gap, in ranges of the other values, beyond which a value is an outlier
Scaling = Callable[[Outcomes, Rows], np.ndarray]  # (n,), or (n, columns)
_TIMES = (datetime.date, datetime.time, datetime.timedelta, pd.Period, np.datetime64, np.timedelta64)
_SIGN = "[-+\u2212\u2013]"  # and how typesetters write a minus
_WORDS = (
    "US[$] C[$] A[$] NZ[$] S[$] HK[$] NT[$] R[$] kr[.]? Rs[.]? Rp K[Ss]h TSh USh Tk F?CFA TL z\u0142 K\u010d Ft RMB EUR"
    " USD GBP CHF SEK NOK DKK ISK JPY CNY INR BRL ZAR KES NGN GHS UGX TZS RWF ETB XOF XAF PLN CZK HUF TRY RUB UAH KRW"
    " THB VND IDR PHP MXN AUD CAD NZD SGD HKD ILS EGP PKR BDT LKR NPR AED SAR MYR TWD"
)
_MONEY = f"[$\u00a2-\u00a5\u20a0-\u20c0]|{_WORDS.replace(' ', '|')}"  # before or after a number
_UNIT = (
    f"[%+]|[/,.]-|{_MONEY}|k|million|mio|lakhs?|lac|crores?|kg|mg|g|lb|cm|mm|km|m|ml|l|h|min"
    "|(?:year|month|week|day|hour)s?"
)
_GROUPS = r"\d{1,3}([,.'\u2019 \u00a0\u2009\u202f]\d{3})+|\d{1,2}(,\d{2})+,\d{3}"
_NUMBER = re.compile(
    rf"\s*\(?{_SIGN}?(?:{_MONEY})?\s*{_SIGN}?({_GROUPS}|\d+/(?=\d)|\d+)?([.,]?\d*)([eE][-+]?\d+)?\s*({_UNIT})?\)?\s*"
)
_DATE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?|\d{1,2}\.? [A-Za-z]{3,9}\.? \d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
    r"|\d{1,2}:\d{2}(:\d{2})?.*"
)

_DIGIT = re.compile(r"\d")
_TELEPHONE = re.compile(r"\+\d[\d ()/-]{6,}")


def check_complete(gaps: Mapping[str, int | str], rows: int, lacking: Collection[str] = ()) -> None:
    """Refuse columns with missing or infinite values: ValueError with their counts; ``lacking`` ones lack one arm."""
    given = {name: f"{name} ({count})" for name, count in gaps.items() if count}
    told = []
    if some := ", ".join(words for name, words in given.items() if name not in lacking):
        told.append(
            f"missing or infinite values in {some} of {rows} rows; impute them, drop the rows, or ignore those columns"
            " (--kind COLUMN=ignore); gaps are allowed in proxies (--proxy)"
        )
    if alone := ", ".join(words for name, words in given.items() if name in lacking):
        told.append(
            f"columns missing in one arm only, {alone} of {rows} rows, reveal the arm and cannot be compared; do not"
            " impute but ignore them (--kind COLUMN=ignore)"
        )
    if told:
        raise ValueError(". ".join(told))


def is_lacking(gap: np.ndarray, arms: pd.Series) -> bool:
    """Return whether a column has gaps, (n,), for one whole arm but not for all."""
    return bool(gap.any() and not gap.all() and pd.Series(gap).groupby(arms.to_numpy()).all().any())


def numbers(column: pd.Series, name: str) -> Outcomes | pd.Series:
    """Return a numeric column as float64, NaN for gaps; others, and truth values, unchanged.

    Numbers and decimals in object columns count. ValueError for complex numbers, or integers beyond 2**53.
    """
    kind = column.dtype
    if is_complex_dtype(kind):
        raise ValueError(f"{name} holds complex numbers; use their parts or sizes as columns")
    if is_numeric_dtype(kind) and not is_bool_dtype(kind):
        return as_array(column, name).astype(np.float64)
    if is_object_dtype(kind):
        given = column[column.notna()]
        if all(isinstance(v, (Real, Decimal)) and not isinstance(v, bool) for v in given):
            values = np.full(len(column), np.nan)
            values[column.notna().to_numpy()] = [float(v) for v in given]
            return values
    return column


def categories(column: pd.Series, name: str) -> list[Any]:
    """Return the sorted values of a category; a pandas Categorical is accepted as it is.

    Raises:
        ValueError: times, numbers or dates as text, mixed or unordered values, or too many.
    """
    kind = column.dtype
    try:
        values = list(column.astype(object).unique())
    except TypeError as error:
        raise ValueError(f"{name} holds values that cannot be categories ({error}); ignore it") from error
    if getattr(kind, "kind", "O") in "mM" or any(isinstance(v, _TIMES) for v in values):
        raise ValueError(f"{name} is a time ({kind}); convert it to a number first, e.g. days since a date")
    if not isinstance(kind, pd.CategoricalDtype):
        _check_text(values, name)
    if len(values) > MAX_CATEGORIES:
        raise ValueError(f"{name} has {len(values)} categories, more than {MAX_CATEGORIES}; drop it or group them")
    if len({type(value) for value in values}) > 1:
        found = ", ".join(sorted({type(value).__name__ for value in values}))
        raise ValueError(f"{name} holds values of several types ({found}); convert them to one")
    return sorted(values)


def spellings(values: Iterable[Any]) -> list[str]:
    """Return the first texts, by alphabet, that differ only in spaces or capitals; else none.

    >>> spellings(["south", "north ", "North", "north"])
    ['North', 'north', 'north ']
    """
    alike: dict[str, list[str]] = {}
    for text in sorted({value for value in values if isinstance(value, str)}):
        alike.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return next((texts for texts in alike.values() if len(texts) > 1), [])


def check_spellings(column: pd.Series, what: str) -> None:
    """Refuse a column of groups whose values differ only in spaces or capitals: ValueError with the values."""
    if texts := spellings(column.dropna().unique()):
        raise ValueError(
            f"column {column.name!r} of {what} holds {', '.join(map(repr, texts))}, which differ only in spaces or"
            " capitals; unify them"
        )


def is_like_number_or_date(text: str) -> bool:
    """Return whether a text looks like a number or a date.

    >>> [is_like_number_or_date(text) for text in ("€ 2.500", "3 May 2020", "18-30", "+49 151 234 567")]
    [True, True, False, False]
    """
    if not _DIGIT.search(text) or _TELEPHONE.fullmatch(text):
        return False
    return any(pattern.fullmatch(text) for pattern in (_NUMBER, _DATE))


def _check_text(values: list[Any], name: str) -> None:
    """Refuse texts that are mostly numbers or dates."""
    for pattern, what, remedy in (
        (_NUMBER, "numbers", "convert them with pandas.to_numeric"),
        (_DATE, "dates", "convert them to numbers first, e.g. days since a date"),
    ):
        like = [v for v in values if isinstance(v, str) and any(c.isdigit() for c in v) and pattern.fullmatch(v)]
        if 2 * len(like) > len(values):
            others = [v for v in values if v not in like]
            beside = f" and {others[0]!r}" if others else ""
            raise ValueError(
                f"{name} holds {what} as text, such as {like[0]!r}{beside}; {remedy}, or make them categories with"
                " .astype('category')"
            )


def standardised(values: Outcomes, pool: Rows) -> Outcomes:
    """Standardise by the rows ``pool``, (n,); a constant is centred."""
    if (least := values[pool].min()) == values[pool].max():
        return values - least
    values = _shrunk(values)
    ordered = np.sort(values[pool])  # rounding then does not depend on the order of rows
    mean = ordered.mean()
    return (values - mean) / (ordered - mean).std()


def limits(values: Outcomes) -> tuple[float, float]:
    """Return the smallest and largest number within ``WINSOR_LIMIT`` median nonzero distances from the median.

    >>> limits(np.array([11.0, 12, 14, 17, 22, 1000]))
    (11.0, 22.0)
    """
    distances = np.abs(values - np.median(values))
    reach = WINSOR_LIMIT * np.median(distances[distances > 0]) if distances.any() else np.inf
    inside = values[distances <= reach]
    return float(inside.min()), float(inside.max())


def winsorised(values: Outcomes, pool: Rows) -> Outcomes:
    """Winsorise by the pool's :func:`limits`, then standardise, (n,)."""
    scaled = _shrunk(values)
    return standardised(np.clip(scaled, *limits(scaled[pool])), pool)


def with_excess(values: Outcomes, pool: Rows) -> np.ndarray:
    """Winsorise and, if values exceed the limits by s standard deviations, add +-log(1 + s), (n, 1) or (n, 2)."""
    scaled = _shrunk(values)
    inside = np.clip(scaled, *limits(scaled[pool]))
    beyond, first = scaled - inside, standardised(inside, pool)[:, None]
    if not beyond.any():
        return first
    return np.column_stack([first, np.sign(beyond) * np.log1p(np.abs(beyond) / inside[pool].std())])


def _shrunk(values: Outcomes) -> Outcomes:
    """Return numbers scaled below 1 by a power of two, (n,), so that sums and squares do not overflow."""
    return np.ldexp(values, -np.frexp(np.abs(values).max())[1])


def outliers(values: Outcomes) -> np.ndarray:
    """Return which numbers are beyond the limits and a wide gap, (n,).

    >>> outliers(np.array([11.0, 12, 14, 17, 22, 1000])).tolist()
    [False, False, False, False, False, True]
    """
    values = _shrunk(values)
    low, high = limits(values)
    return _beyond(values, low, high) | _beyond(-values, -high, -low)


def _beyond(values: Outcomes, first: float, last: float) -> np.ndarray:
    """Return which numbers follow the first wide gap after ``last``, (n,)."""
    ordered = np.append(last, np.unique(values[values > last]))
    wide = np.flatnonzero(np.diff(ordered) > _GAP * (ordered[:-1] - first))
    return values >= ordered[wide[0] + 1] if len(wide) and last > first else np.zeros(len(values), bool)


def encoded(columns: dict[str, Outcomes | pd.Series], pool: Rows, scaled: Scaling = winsorised) -> np.ndarray:
    """Return encoded columns, (n, d): numbers scaled by rows ``pool``, then categories as 0/1 columns.

    ``columns`` are results of :func:`numbers`, by name in messages.
    """
    plain, dummies = [], []
    for name, column in columns.items():
        if isinstance(column, np.ndarray):
            plain.append(scaled(column, pool).reshape(len(column), -1))
            continue
        known = categories(column, name)  # of the whole table, as the pool may lack rare ones
        codes = pd.Categorical(column.astype(object), categories=known).codes
        dummies.append(np.eye(len(known))[codes][:, int(len(known) == 2) :])  # two values need one column
    return np.hstack([*plain, *dummies])
