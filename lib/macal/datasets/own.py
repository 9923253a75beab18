"""A problem from a table of one's own."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from macal.problem import Problem, Split, as_arms, as_count, as_outcomes
from macal.registry import UnknownName

MAX_CATEGORIES = 100


def _check_columns(table: pd.DataFrame, columns: list[str]) -> None:
    for column in columns:
        if column not in table.columns:
            raise UnknownName("column", column, map(str, table.columns))
    twice = sorted({str(c) for c in columns if columns.count(c) > 1 or (table.columns == c).sum() > 1})
    if twice:
        raise ValueError(
            f"columns must be named once, got more than once: {', '.join(twice)};"
            " treatment and outcome are no covariates"
        )
    gaps = table[columns].isna().sum() + table[columns].isin([np.inf, -np.inf]).sum()
    if gaps.any():
        found = ", ".join(f"{column} ({count})" for column, count in gaps[gaps > 0].items())
        raise ValueError(
            f"missing or infinite values in {found} of {len(table)} rows; impute them or drop the rows first"
        )


def _kinds(table: pd.DataFrame, covariates: list[str]) -> tuple[list[str], list[str]]:
    """Numeric and categorical covariates; truth values count as categories."""
    numeric = [
        c for c in covariates if pd.api.types.is_numeric_dtype(table[c]) and not pd.api.types.is_bool_dtype(table[c])
    ]
    categorical = [c for c in covariates if c not in numeric]
    for column in categorical:
        kind = table[column].dtype
        if pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind):
            raise ValueError(
                f"covariate {column!r} is a time ({kind}); turn it into a number first, e.g. days since a date"
            )
        if table[column].nunique() > MAX_CATEGORIES:
            raise ValueError(
                f"covariate {column!r} has {table[column].nunique()} categories, more than {MAX_CATEGORIES};"
                " drop it or group them"
            )
    return numeric, categorical


def _encoder(table: pd.DataFrame, covariates: list[str]) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric, categorical = _kinds(table, covariates)
    known = [sorted(table[c].unique()) for c in categorical]  # of the whole table: the pool may lack a rare one
    one_hot = OneHotEncoder(categories=known, drop="if_binary", sparse_output=False)
    return ColumnTransformer([("number", StandardScaler(), numeric), ("category", one_hot, categorical)])


def from_table(
    table: Any,
    covariates: Sequence[str],
    treatment: str,
    outcome: str | None = None,
    *,
    seed: int = 0,
    test_size: float = 0.25,
    start: int = 10,
    batch_size: int = 10,
    n_queries: int | None = None,
) -> Problem:
    """Make a problem of a table: numbers standardised, categories as 0/1 columns, units divided at random.

    Means and s.d.s are those of the pool; a number that does not vary there is only centred. A category with two values
    becomes one column, any other one column per value. Without an outcome a campaign can be planned, not run.

    Args:
        table: a DataFrame, one row per unit.
        covariates: names of the columns to compare units by: numbers, truth values, text or pandas categories.
        treatment: name of the column that holds 0 (control) and 1 (treated), or truth values.
        outcome: name of the outcome's column, numbers; None where no outcome has been bought yet.
        seed: of the division and of the start.
        test_size: share of units that are kept for the test set.
        start: units labelled before the first query.
        batch_size: labels per query.
        n_queries: as many as the pool has by default.

    Raises:
        UnknownName: a column that the table does not have.
        ValueError: not a DataFrame; a column named twice; missing or infinite values (columns and counts are named);
            times, or text with more than 100 values, among the covariates; a treatment that is not binary or has one
            value; a size out of range.
    """
    from sklearn.model_selection import train_test_split

    if not isinstance(table, pd.DataFrame):
        raise ValueError(
            f"table must be a pandas DataFrame, got {type(table).__name__}; pandas.DataFrame(...) makes one"
        )
    if not covariates or isinstance(covariates, str):
        raise ValueError(f"covariates must be a list of at least one column name, got {covariates!r}")
    _check_columns(table, [*covariates, treatment, *([outcome] if outcome is not None else [])])
    t = as_arms(table[treatment].to_numpy(), len(table), treatment)
    if len(np.unique(t)) < 2:
        raise ValueError(f"{treatment} must hold both 0 and 1, got {len(t)} rows of one arm; an effect needs both")
    if not 0 < test_size < 1 or not 1 <= round(test_size * len(t)) < len(t):
        raise ValueError(
            f"test_size must lie between 0 and 1 and leave units on both sides, got {test_size!r} of {len(t)} rows"
        )
    pool, test = train_test_split(np.arange(len(t)), test_size=test_size, random_state=seed)
    if as_count(start, "start") > pool.size:
        raise ValueError(f"start must be at most the pool's {pool.size} units, got {start}")
    y = None if outcome is None else as_outcomes(table[outcome].to_numpy(), len(t), outcome)
    encoder = _encoder(table, list(covariates)).fit(table.iloc[pool])
    splits = [
        Split(encoder.transform(table.iloc[rows]), t[rows], None if y is None else y[rows]) for rows in (pool, test)
    ]
    if n_queries is None:
        n_queries = max(1, ceil((pool.size - start) / as_count(batch_size, "batch_size")))
    first = np.random.default_rng(seed).choice(pool.size, start, replace=False)
    return Problem("own", *splits, first, batch_size=batch_size, n_queries=n_queries, seed=seed)
