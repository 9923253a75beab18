"""Columns of a table as numbers: what is a number, what is a category, and what only looks like one.

Numbers of a table of one's own are winsorised before they are standardised: a value that lies further from the median
than 5 times the median distance of the values that differ from it counts as the last one that does not. Models of
treatment and outcomes have how far beyond that it lies as a second column: such people may differ, and be treated more.

Reference: P. J. Huber and E. M. Ronchetti, "Robust Statistics", 2nd ed., Wiley, 2009 (median absolute deviation).
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
FEW_VALUES = 20  # values of a text that are categories however few the rows
WINSOR_LIMIT = 5.0  # median distances from the median within which numbers count as they are
_GAP = 1.5  # times the range of the others, across which a value lies far from them
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


_TELEPHONE = re.compile(r"\+\d[\d ()/-]{6,}")


def check_complete(gaps: Mapping[str, int | str], rows: int, lacking: Collection[str] = ()) -> None:
    """Refuse columns with missing or infinite values: ValueError with how many or which of each column.

    Those that ``lacking`` names are missing for one arm alone.
    """
    given = {name: f"{name} ({count})" for name, count in gaps.items() if count}
    told = []
    if some := ", ".join(words for name, words in given.items() if name not in lacking):
        told.append(
            f"missing or infinite values in {some} of {rows} rows; impute them or drop the rows first, or leave those"
            " columns out (--kind COLUMN=ignore on the command line)"
        )
    if alone := ", ".join(words for name, words in given.items() if name in lacking):
        told.append(
            f"columns that one arm alone lacks, {alone} of {rows} rows, tell the arms apart, and people cannot be"
            " compared by them; do not impute them, but leave them out (--kind COLUMN=ignore on the command line)"
        )
    if told:
        raise ValueError(". And ".join(told))


def is_lacking(gap: np.ndarray, arms: pd.Series) -> bool:
    """Whether all people of an arm have a gap, (n,), and not everybody has."""
    return bool(gap.any() and not gap.all() and pd.Series(gap).groupby(arms.to_numpy()).all().any())


def numbers(column: pd.Series, name: str) -> Outcomes | pd.Series:
    """Return a column as float64, NaN where a value is missing; or as it is, if it does not hold numbers.

    Truth values are no numbers; Python's numbers and decimals in a column of objects are. ValueError for complex
    numbers, or integers beyond 2**53.
    """
    kind = column.dtype
    if is_complex_dtype(kind):
        raise ValueError(f"{name} holds complex numbers; take their parts or sizes as columns")
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
    """The values of a category, sorted; what only looks like one is refused, but a pandas Categorical is believed.

    Raises:
        ValueError: times, numbers or dates as text, values of several kinds or that have no order, or too many.
    """
    kind = column.dtype
    try:
        values = list(column.astype(object).unique())
    except TypeError as error:
        raise ValueError(f"{name} holds values that are no categories ({error})") from error
    if getattr(kind, "kind", "O") in "mM" or any(isinstance(v, _TIMES) for v in values):
        raise ValueError(f"{name} is a time ({kind}); turn it into a number first, e.g. days since a date")
    if not isinstance(kind, pd.CategoricalDtype):
        _check_text(values, name)
    if len(values) > MAX_CATEGORIES:
        raise ValueError(f"{name} has {len(values)} categories, more than {MAX_CATEGORIES}; drop it or group them")
    if len({type(value) for value in values}) > 1:
        found = ", ".join(sorted({type(value).__name__ for value in values}))
        raise ValueError(f"{name} holds values of several kinds ({found}); make them one")
    return sorted(values)


def spellings(values: Iterable[Any]) -> list[str]:
    """Texts among some values that differ in blanks or capitals alone, the first such ones by alphabet; else none.

    >>> spellings(["south", "north ", "North", "north"])
    ['North', 'north', 'north ']
    """
    alike: dict[str, list[str]] = {}
    for text in sorted({value for value in values if isinstance(value, str)}):
        alike.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return next((texts for texts in alike.values() if len(texts) > 1), [])


def check_spellings(column: pd.Series, what: str) -> None:
    """Refuse a column of groups whose values differ in blanks or capitals alone: ValueError with the values."""
    if texts := spellings(column.dropna().unique()):
        raise ValueError(
            f"column {column.name!r} of {what} holds {', '.join(map(repr, texts))}, which differ in spaces or capitals"
            " alone; make them one"
        )


def is_like_number_or_date(text: str) -> bool:
    """Whether a text looks like a number or a date, in whatever way.

    >>> [is_like_number_or_date(text) for text in ("€ 2.500", "3 May 2020", "18-30", "+49 151 234 567")]
    [True, True, False, False]
    """
    if not any(c.isdigit() for c in text) or _TELEPHONE.fullmatch(text):
        return False
    return any(pattern.fullmatch(text) for pattern in (_NUMBER, _DATE))


def _check_text(values: list[Any], name: str) -> None:
    """Refuse texts most of which are numbers or dates."""
    for pattern, what, remedy in (
        (_NUMBER, "numbers", "pandas.to_numeric makes them numbers"),
        (_DATE, "dates", "turn them into numbers first, e.g. days since a date"),
    ):
        like = [v for v in values if isinstance(v, str) and any(c.isdigit() for c in v) and pattern.fullmatch(v)]
        if 2 * len(like) > len(values):
            others = [v for v in values if v not in like]
            beside = f" beside {others[0]!r}" if others else ""
            raise ValueError(
                f"{name} holds {what} as text, such as {like[0]!r}{beside}; {remedy}, .astype('category') makes them"
                " categories"
            )


def standardised(values: Outcomes, pool: Rows) -> Outcomes:
    """Divide by the s.d. in the rows ``pool`` what is left of the mean there, (n,); a constant is centred."""
    if (least := values[pool].min()) == values[pool].max():
        return values - least
    values = _shrunk(values)
    ordered = np.sort(values[pool])  # so that the sums' rounding does not depend on the order of the rows
    mean = ordered.mean()
    return (values - mean) / (ordered - mean).std()


def limits(values: Outcomes) -> tuple[float, float]:
    """Least and largest of the numbers within ``WINSOR_LIMIT`` median distances, of those that differ, from the median.

    >>> limits(np.array([11.0, 12, 14, 17, 22, 1000]))
    (11.0, 22.0)
    """
    distances = np.abs(values - np.median(values))
    reach = WINSOR_LIMIT * np.median(distances[distances > 0]) if distances.any() else np.inf
    inside = values[distances <= reach]
    return float(inside.min()), float(inside.max())


def winsorised(values: Outcomes, pool: Rows) -> Outcomes:
    """Winsorise by the pool's :func:`limits`, then standardise, (n,); see :func:`standardised`."""
    scaled = _shrunk(values)
    return standardised(np.clip(scaled, *limits(scaled[pool])), pool)


def with_excess(values: Outcomes, pool: Rows) -> np.ndarray:
    """Winsorise, and add log(1 + s) where a number lies s standard deviations beyond the limits, (n, 1) or (n, 2).

    Below them it is -log(1 + s); no number beyond them, no second column.
    """
    scaled = _shrunk(values)
    inside = np.clip(scaled, *limits(scaled[pool]))
    beyond, first = scaled - inside, standardised(inside, pool)[:, None]
    if not beyond.any():
        return first
    return np.column_stack([first, np.sign(beyond) * np.log1p(np.abs(beyond) / inside[pool].std())])


def _shrunk(values: Outcomes) -> Outcomes:
    """Numbers times a power of two that leaves them below 1, (n,): no sum of two and no square overflows."""
    return np.ldexp(values, -np.frexp(np.abs(values).max())[1])


def outliers(values: Outcomes) -> np.ndarray:
    """Which numbers lie beyond the limits, and far from all that do not, or from those between, (n,).

    >>> outliers(np.array([11.0, 12, 14, 17, 22, 1000])).tolist()
    [False, False, False, False, False, True]
    """
    values = _shrunk(values)
    low, high = limits(values)
    return _beyond(values, low, high) | _beyond(-values, -high, -low)


def _beyond(values: Outcomes, first: float, last: float) -> np.ndarray:
    """Which numbers follow the first gap after ``last`` that is wide against the range since ``first``, (n,)."""
    ordered = np.append(last, np.unique(values[values > last]))
    wide = np.flatnonzero(np.diff(ordered) > _GAP * (ordered[:-1] - first))
    return values >= ordered[wide[0] + 1] if len(wide) and last > first else np.zeros(len(values), bool)


def encoded(columns: dict[str, Outcomes | pd.Series], pool: Rows, scaled: Scaling = winsorised) -> np.ndarray:
    """Encode the columns of a table, (n, d): first numbers, scaled by rows ``pool``, then categories as 0/1 columns.

    ``columns`` are what :func:`numbers` makes of each, by what it is called in an error.
    """
    plain, dummies = [], []
    for name, column in columns.items():
        if isinstance(column, np.ndarray):
            plain.append(scaled(column, pool).reshape(len(column), -1))
            continue
        known = categories(column, name)  # of the whole table: the pool may lack a rare one
        codes = pd.Categorical(column.astype(object), categories=known).codes
        dummies.append(np.eye(len(known))[codes][:, int(len(known) == 2) :])  # of two values, one says all
    return np.hstack([*plain, *dummies])
