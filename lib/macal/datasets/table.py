"""A problem from a table of one's own."""

import datetime
import re
from collections.abc import Iterable
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from macal.problem import Problem, Split, as_arms, as_array, as_count, as_outcomes
from macal.registry import UnknownName
from macal.shapes import Indices, Rows

MAX_CATEGORIES = 100
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*%?")
_DATE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?|\d{1,2}\.? [A-Za-z]{3,9}\.? \d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
)


def _check_columns(table: pd.DataFrame, columns: list[str], outcome: str | None) -> None:
    named = [*columns, *([outcome] if outcome is not None else [])]
    for column in named:
        if column not in table.columns:
            raise UnknownName("column", column, map(str, table.columns))
    twice = sorted({str(c) for c in named if named.count(c) > 1 or (table.columns == c).sum() > 1})
    if twice:
        raise ValueError(
            f"columns must be named once, got more than once: {', '.join(twice)};"
            " treatment and outcome are no covariates"
        )
    numbers = [c for c in columns if is_numeric_dtype(table[c])]
    infinite = {c: np.isinf(as_array(table[c], repr(c)).astype(np.float64)).sum() for c in numbers}
    gaps = table[columns].isna().sum().add(pd.Series(infinite), fill_value=0).astype(int)[columns]
    if gaps.any():
        found = ", ".join(f"{column} ({count})" for column, count in gaps[gaps > 0].items())
        raise ValueError(
            f"missing or infinite values in {found} of {len(table)} rows; impute them or drop the rows first"
        )
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise ValueError(
            f"the table's index must name each unit once, got {twice} more than once; reset_index() numbers the rows"
        )


def _categories(column: pd.Series, name: str) -> list[Any]:
    """The values of a category, sorted; what only looks like one is refused, but a pandas Categorical is believed."""
    kind = column.dtype
    values = list(column.astype(object).unique())
    times = (datetime.date, datetime.time, datetime.timedelta, pd.Period)
    if getattr(kind, "kind", "O") in "mM" or isinstance(kind, pd.PeriodDtype) or isinstance(values[0], times):
        raise ValueError(f"covariate {name!r} is a time ({kind}); turn it into a number first, e.g. days since a date")
    if not isinstance(kind, pd.CategoricalDtype):
        for pattern, what, remedy in (
            (_NUMBER, "numbers", "pandas.to_numeric makes them numbers"),
            (_DATE, "dates", "turn them into numbers first, e.g. days since a date"),
        ):
            if all(isinstance(value, str) and pattern.fullmatch(value) for value in values):
                raise ValueError(
                    f"covariate {name!r} holds {what} as text, such as {values[0]!r}; {remedy}, .astype('category')"
                    " makes them categories"
                )
    if len(values) > MAX_CATEGORIES:
        raise ValueError(
            f"covariate {name!r} has {len(values)} categories, more than {MAX_CATEGORIES}; drop it or group them"
        )
    if len({type(value) for value in values}) > 1:
        found = ", ".join(sorted({type(value).__name__ for value in values}))
        raise ValueError(f"covariate {name!r} holds values of several kinds ({found}); make them one")
    return sorted(values)


def _encode(table: pd.DataFrame, covariates: list[str], pool: Indices) -> np.ndarray:
    """Covariates of all rows, (n, d): numbers scaled by the pool's means and s.d.s, categories as 0/1 columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    kinds = {c: table[c].dtype for c in covariates}
    numeric = [c for c, kind in kinds.items() if is_numeric_dtype(kind) and not is_bool_dtype(kind)]
    categorical = [c for c in covariates if c not in numeric]  # truth values too
    known = [_categories(table[c], c) for c in categorical]  # of the whole table: the pool may lack a rare one
    numbers = {c: as_array(table[c], f"covariate {c!r}").astype(np.float64) for c in numeric}
    clean = pd.DataFrame(numbers | {c: table[c].astype(object) for c in categorical}, index=table.index)
    one_hot = OneHotEncoder(categories=known, drop="if_binary", sparse_output=False)
    encoder = ColumnTransformer([("number", StandardScaler(), numeric), ("category", one_hot, categorical)])
    return encoder.fit(clean.iloc[pool]).transform(clean)


def _start(start: Any, table: pd.DataFrame, seed: int, pool: Rows, y: Any) -> Indices:
    """Positions in the table of the units that are labelled before the first query."""
    missing = y is not None and np.isnan(y).any()
    if missing and start is not None:
        raise ValueError(
            f"{int(np.isfinite(y).sum())} of {len(y)} outcomes are known, and those units are the start;"
            " leave start out"
        )
    if missing and np.isfinite(y).any():
        return np.flatnonzero(np.isfinite(y))
    if start is None or isinstance(start, (int, np.integer, float)):
        count = as_count(min(10, pool.size) if start is None else start, "start")
        if count > pool.size:
            raise ValueError(f"start must be at most the pool's {pool.size} units, got {count}")
        return pool[np.random.default_rng(seed).choice(pool.size, count, replace=False)]
    return _named(start, table.index)


def _named(start: Any, index: pd.Index) -> Indices:
    """Positions of units that are given by their names in the index, or by a mask."""
    if isinstance(start, pd.Series) and pd.api.types.is_bool_dtype(start):
        start = start.reindex(index, fill_value=False).to_numpy(bool)
    names = pd.Index(start)
    if names.dtype == bool:
        if len(names) != len(index):
            raise ValueError(f"start, a mask, must have one entry for each of {len(index)} units, got {len(names)}")
        return np.flatnonzero(names)
    places = index.get_indexer(names)
    if (places < 0).any():
        raise UnknownName("unit in start", names[places < 0][0], map(str, index[:20]))
    if not names.is_unique:
        raise ValueError(f"start must name a unit once, got {names[names.duplicated()][0]} more than once")
    return places


def from_table(
    table: Any,
    covariates: Iterable[str],
    treatment: str,
    outcome: str | None = None,
    *,
    seed: int = 0,
    test_size: float = 0.0,
    start: Any = None,
    batch_size: int = 10,
    n_queries: int | None = None,
) -> Problem:
    """Make a problem of a table: numbers standardised, categories as 0/1 columns; units keep their names.

    Means and s.d.s are those of the pool; a number that does not vary there is only centred. A category with two values
    becomes one column, any other one column per value. Without an outcome a campaign can be planned, not run. Where
    some outcomes are missing, they have not been bought yet, and the units whose outcome is known are the start.

    Args:
        table: a DataFrame, one row per unit; its index names the units, once each.
        covariates: names of the columns to compare units by: numbers, truth values, text or pandas categories.
        treatment: name of the column that holds 0 (control) and 1 (treated), or truth values.
        outcome: name of the outcome's column, numbers, missing where it has not been bought; None where no outcome has.
        seed: of the division and of the start.
        test_size: share of units that are kept for a test set; by default every unit may be labelled.
        start: the units labelled before the first query: their names in the index, a mask of the table's rows, or how
            many to draw at random; by default those with a known outcome, or ten at random.
        batch_size: labels per query.
        n_queries: as many as the pool has by default.

    Raises:
        UnknownName: a column or a unit that the table does not have.
        ValueError: not a DataFrame; a column or a unit named twice; missing or infinite covariates or treatments
            (columns and counts are named); times, numbers as text, or text with more than 100 values, among the
            covariates; a treatment that is not binary or has one value; a size out of range; a start or a test set
            where outcomes are still to be bought.
    """
    if not isinstance(table, pd.DataFrame):
        raise ValueError(
            f"table must be a pandas DataFrame, got {type(table).__name__}; pandas.DataFrame(...) makes one"
        )
    if isinstance(covariates, str) or not (covariates := list(covariates)):
        raise ValueError(f"covariates must be a list of at least one column name, got {covariates!r}")
    _check_columns(table, [*covariates, treatment], outcome)
    n = len(table)
    t = as_arms(table[treatment], n, treatment)
    if len(np.unique(t)) < 2:
        raise ValueError(f"{treatment} must hold both 0 and 1, got {n} rows of one arm; an effect needs both")
    y = None if outcome is None else as_outcomes(table[outcome], n, outcome, missing=True)
    pool, test = _divide(n, test_size, seed, y)
    first = _start(start, table, seed, pool, y)
    units = Split(_encode(table, covariates, pool), t, y, index=table.index)
    if n_queries is None:
        n_queries = max(1, ceil((pool.size - first.size) / as_count(batch_size, "batch_size")))
    place = np.full(n, -1)
    place[pool] = np.arange(pool.size)
    if (place[first] < 0).any():
        raise ValueError(f"start names {(place[first] < 0).sum()} units that the test set drew; use test_size=0")
    held = units[test] if test.size else None
    return Problem("own", units[pool], held, place[first], batch_size=batch_size, n_queries=n_queries, seed=seed)


def _divide(n: int, test_size: float, seed: int, y: Any) -> tuple[Indices, Rows]:
    """Positions of the pool and of the test set."""
    from sklearn.model_selection import train_test_split

    if test_size == 0:
        return np.arange(n), np.arange(0)
    if not 0 < test_size < 1 or not 1 <= round(test_size * n) < n:
        raise ValueError(
            f"test_size must lie between 0 and 1 and leave units on both sides, got {test_size!r} of {n} rows"
        )
    if y is not None and np.isnan(y).any():
        raise ValueError(
            f"{int(np.isnan(y).sum())} of {n} outcomes are missing, so there is nothing to hold out; use test_size=0"
        )
    return tuple(train_test_split(np.arange(n), test_size=test_size, random_state=seed))
