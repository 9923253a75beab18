"""A problem from a table of one's own."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from math import ceil
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from macal.arguments import Whole, as_arms, as_count, as_outcomes, hinted
from macal.datasets.encoding import check_complete, encoded, is_lacking, numbers
from macal.datasets.splits import split
from macal.problem import Problem, Split
from macal.registry import UnknownName
from macal.shapes import Indices, Outcomes, Rows

_NAMED = 5  # people


def _column(table: pd.DataFrame, name: Hashable) -> pd.Series:
    """The column of that name; True and 1 are two names."""
    if isinstance(name, str) and type(table.columns) is pd.Index and table.columns.is_unique and name in table.columns:
        return table[name]
    equal = table.columns.get_indexer_for(pd.Index([name], dtype=object, tupleize_cols=False))
    places = [k for k in equal if k >= 0 and isinstance(table.columns[k], bool) == isinstance(name, bool)]
    if not places:
        raise UnknownName("column", name, table.columns)
    if len(places) > 1:
        raise ValueError(f"columns must be named once, got more than once: {name}")
    return table.iloc[:, places[0]]


def _check_names(table: pd.DataFrame, named: list[Hashable]) -> None:
    twice = sorted(str(c) for c, count in Counter(named).items() if count > 1)
    if twice:
        raise ValueError(
            f"columns must be named once, got more than once: {', '.join(twice)};"
            " treatment and outcome are no covariates"
        )
    check_index(table.index)


def numbered(table: pd.DataFrame) -> pd.DataFrame:
    """A table by an index of the caller's; rows are numbered from 1 where there is none."""
    rows = pd.RangeIndex(1, len(table) + 1, name=row_name(table.columns))
    return table.set_axis(rows) if is_unnamed(table) else table


def is_unnamed(table: pd.DataFrame) -> bool:
    """Whether the index of a table is the default one."""
    return isinstance(table.index, pd.RangeIndex) and table.index.name is None


def row_name(columns: Iterable[Any]) -> str:
    """What the number of a row is called: ``row``, unless a column has that name."""
    return "row" if "row" not in list(columns) else "row number"


def check_index(names: pd.Index) -> None:
    """Refuse an index that does not name every unit, or two alike: ValueError."""
    if names.hasnans:
        raise ValueError(f"the table's index must name each unit, and {names.isna().sum()} have no name")
    if not names.is_unique:
        again = names[names.duplicated()][0]
        raise ValueError(
            f"the table's index must name each unit once, got {again} more than once; reset_index() numbers the rows"
        )


def check_gaps(arms: pd.Series, columns: Mapping[str, Outcomes | pd.Series]) -> None:
    """Refuse people without a treatment, and missing or infinite values in other columns: ValueError names them all."""
    gaps = {name: np.asarray(~np.isfinite(c) if isinstance(c, np.ndarray) else c.isna()) for name, c in columns.items()}
    told = {c: f"{gap.sum()}, first of {arms.index[gap.argmax()]}" for c, gap in gaps.items() if gap.any()}
    lacking = [c for c in told if is_lacking(gaps[c], arms)]
    wrong = []
    for check in (partial(_check_arms, arms), partial(check_complete, told, len(arms), lacking)):
        try:
            check()
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError(". And ".join(wrong))


def _start(start: Any, table: pd.DataFrame, seed: int, pool: Rows, y: Any) -> Indices:
    """Positions in the table of the units that are labelled before the first query."""
    known = np.isfinite(y) if y is not None else np.zeros(len(table), bool)
    if known.any() and not known.all():
        if start is not None:
            raise ValueError(
                f"{known.sum()} of {len(known)} outcomes are known, and those units are the start; leave start out"
            )
        return np.flatnonzero(known)
    if start is None or isinstance(start, (Real, np.bool_)):
        count = as_count(min(10, pool.size) if start is None else start, "start")
        if count > pool.size:
            raise ValueError(f"start must be at most the pool's {pool.size} units, got {count}")
        return pool[np.random.default_rng(seed).choice(pool.size, count, replace=False)]
    return _named(start, table.index)


def _named(start: Any, index: pd.Index) -> Indices:
    """Positions of units that are given by their names in the index, or by a mask."""
    if isinstance(start, (str, bytes, dict, set)) or not isinstance(start, Iterable):
        raise ValueError(
            "start must be a number of units, a list of their names in the table's index, or a mask of its rows, got"
            f" {type(start).__name__}"
        )
    given = start if isinstance(start, pd.Series) else pd.Series(list(start), dtype=object)
    if len(given) and all(isinstance(v, (bool, np.bool_)) for v in given):
        return np.flatnonzero(_mask(given, index, isinstance(start, pd.Series)))
    names = pd.Index(given.to_numpy())
    places = index.get_indexer(names)
    if (places < 0).any():
        absent = names[places < 0][0]
        if str(absent) in set(map(str, index)):
            raise ValueError(
                f"start names unit {absent!r}, a {type(absent).__name__}, but the table's index holds {index.dtype}"
            )
        raise UnknownName("unit in start", absent, index[:20])
    if not names.is_unique:
        raise ValueError(f"start must name a unit once, got {names[names.duplicated()][0]} more than once")
    return places


def _mask(given: pd.Series, index: pd.Index, aligned: bool) -> np.ndarray:
    """A mask in the order of the table's rows; one with an index of its own must have the table's."""
    if len(given) != len(index):
        raise ValueError(f"start, a mask, must have one entry for each of {len(index)} units, got {len(given)}")
    if aligned:
        if not given.index.is_unique or set(given.index) != set(index):
            raise ValueError("start, a mask with an index, must have that of the table; .to_numpy() goes by rows")
        given = given.reindex(index)
    return given.to_numpy(bool)


@hinted
def from_table(
    table: Any,
    covariates: Iterable[Hashable],
    treatment: Hashable,
    outcome: Hashable | None = None,
    *,
    reference: Hashable | None = None,
    seed: Whole = 0,
    test_size: float = 0.0,
    start: Any = None,
    batch_size: int = 10,
    n_queries: int | None = None,
) -> Problem:
    """Make a problem of a table: numbers standardised, categories as 0/1 columns; units keep their names.

    Numbers are winsorised before (:func:`macal.datasets.encoding.limits`), by the pool. A category with two values
    becomes one column, any other one column per value. Where some outcomes are missing, the units whose outcome is
    known are the start; where all are known, the campaign is a rehearsal.

    Args:
        table: a DataFrame, one row per unit; its index names the units, or they are numbered from 1.
        covariates: names of the columns to compare units by: numbers, truth values, text or pandas categories.
        treatment: name of the column that holds 0 (control) and 1 (treated), or truth values.
        reference: value of a treatment of any two or more values that is arm 0; the order is that of :func:`arm_names`.
        outcome: name of the outcome's column, numbers, missing where it has not been bought; None where no outcome has.
        seed: of the division and of the start.
        test_size: share of units that are kept for a test set; by default every unit may be labelled.
        start: units labelled before the first query: their names, a mask of rows, or how many to draw, ten by default.
        batch_size: labels per query.
        n_queries: as many as the pool has by default.

    Raises:
        UnknownName: a column or a unit that the table does not have.
        ValueError: not a DataFrame; a column or a unit named twice; missing or infinite covariates or treatments;
            times, numbers as text, or text with more than 100 values, among the covariates; a treatment that is not
            binary or has one value; a size out of range; a start or a test set where outcomes are still to be bought.
    """
    if not isinstance(table, pd.DataFrame):
        raise ValueError(
            f"table must be a pandas DataFrame, got {type(table).__name__}; pandas.DataFrame(...) makes one"
        )
    if isinstance(covariates, str) or not isinstance(covariates, Iterable) or not (covariates := list(covariates)):
        raise ValueError(f"covariates must be a list of at least one column name, got {covariates!r}")
    table = numbered(table)
    _check_names(table, [*covariates, treatment, *([] if outcome is None else [outcome])])
    labels = [f"covariate {c!r}" for c in covariates]
    columns = {label: numbers(_column(table, c), label) for c, label in zip(covariates, labels, strict=True)}
    arms = _column(table, treatment)
    check_gaps(arms, columns)
    n = len(table)
    known = None if reference is None else arm_names(arms, reference)
    t = as_arms(arms, n, str(treatment)) if known is None else pd.Categorical(arms, known).codes.astype(np.int64)
    if len(np.unique(t)) < 2:
        raise ValueError(f"{treatment} must hold both 0 and 1, got {n} rows of one arm; an effect needs both")
    y = None if outcome is None else as_outcomes(numbers(_column(table, outcome), str(outcome)), n, str(outcome), True)
    pool, test = _divide(n, test_size, seed, y)
    first = _start(start, table, seed, pool, y)
    units = Split(encoded(columns, pool), t, y, index=table.index)
    if n_queries is None:
        n_queries = max(1, ceil((pool.size - first.size) / as_count(batch_size, "batch_size")))
    place = np.full(n, -1)
    place[pool] = np.arange(pool.size)
    if (place[first] < 0).any():
        raise ValueError(f"start names {(place[first] < 0).sum()} units that the test set drew; use test_size=0")
    held = units[test] if test.size else None
    return Problem("own", units[pool], held, place[first], batch_size=batch_size, n_queries=n_queries, seed=seed)


def _check_arms(arms: pd.Series) -> None:
    """Refuse people without a treatment; ValueError says how many and which."""
    if len(gaps := arms.index[arms.isna()]):
        who = ", ".join([*map(str, gaps[:_NAMED]), *[f"{len(gaps) - _NAMED:,} more"] * (len(gaps) > _NAMED)])
        raise ValueError(
            f"column {arms.name!r} of the treatment has no value for {len(gaps):,} of {len(arms):,} people ({who});"
            " leave them out of the table, for they are in no arm"
        )


def arm_names(arms: pd.Series, reference: Hashable) -> list[Hashable]:
    """Values of a treatment, the reference first (:func:`same`), then by alphabet; UnknownName if no unit has it.

    >>> arm_names(pd.Series(["sms", "none", "call", "sms"]), "none")
    ['none', 'call', 'sms']
    >>> arm_names(pd.Series([0.0, 1.0]), "1")
    [1.0, 0.0]
    """
    known = sorted(arms.dropna().unique().tolist(), key=str)
    first = same(known, reference)
    if first is None:
        raise UnknownName("reference arm", reference, known[:20])
    return [known[first], *known[:first], *known[first + 1 :]]


def same(known: Sequence[Hashable], given: Hashable) -> int | None:
    """Place of a value that may be given as text, and if a number, as an equal one; None where there is none."""
    texts = list(map(str, known))
    if str(given) in texts:
        return texts.index(str(given))
    number = pd.to_numeric(str(given), errors="coerce")
    return next((k for k, value in enumerate(known) if isinstance(value, Real) and value == number), None)


def _divide(n: int, test_size: float, seed: int, y: Any) -> tuple[Indices, Rows]:
    """Positions of the pool and of the test set."""
    if test_size == 0:
        return np.arange(n), np.arange(0)
    if not 0 < test_size < 1 or not 1 <= round(test_size * n) <= ceil(test_size * n) < n:
        raise ValueError(
            f"test_size must lie between 0 and 1 and leave units on both sides, got {test_size!r} of {n} rows"
        )
    if y is not None and np.isnan(y).any():
        raise ValueError(
            f"{int(np.isnan(y).sum())} of {n} outcomes are missing, so there is nothing to hold out; use test_size=0"
        )
    return split(np.arange(n), test_size, seed)
