"""Columns of a table that is read block by block, as :mod:`macal.datasets.columns` encodes them, to the same bits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from macal.datasets.columns import categories
from macal.scale.blocks import BlockTable, Span, added
from macal.scale.workers import Each
from macal.shapes import Arms, Covariates, Outcomes


@dataclass(frozen=True)
class NumberColumn:
    """A number, standardised: (2^-exponent v - mean) / deviation; 0 where it does not vary."""

    name: str
    exponent: int = 0
    mean: float = 0.0
    rest: float = 0.0  # mean of what is left of the mean, by rounding
    deviation: float = 0.0

    def centred(self, values: Outcomes) -> Outcomes:
        """Values less their mean, (n,)."""
        return np.ldexp(values, -self.exponent) - self.mean


@dataclass(frozen=True)
class TableColumns:
    """What is read of a table.

    Attributes:
        numbers: covariates that are numbers.
        categories: covariates that are none -> their values, sorted.
        treatment: its column.
        arms: value of the treatment in each arm, the reference first.
        outcome: column of outcomes, missing where they may be bought; None where no outcome is known.
    """

    numbers: tuple[NumberColumn, ...]
    categories: dict[str, list[Any]]
    treatment: str
    arms: tuple[Any, ...] = ()
    outcome: str | None = None

    @property
    def names(self) -> list[str]:
        """Columns of the table that are read."""
        others = [self.treatment] if self.outcome is None else [self.treatment, self.outcome]
        return [*(number.name for number in self.numbers), *self.categories, *others]

    @property
    def width(self) -> int:
        """Covariates as they are encoded."""
        return len(self.numbers) + sum(len(known) - (len(known) == 2) for known in self.categories.values())

    def encoded(self, table: Any) -> Covariates:
        """Covariates of a block, (n, d): numbers first, then categories as 0/1 columns."""
        x = [np.zeros((table.num_rows, 0))]
        for number in self.numbers:
            centred = number.centred(_floats(table, number.name))
            x.append((centred / number.deviation if number.deviation else np.zeros_like(centred))[:, None])
        for name, known in self.categories.items():
            codes = pd.Categorical(_objects(table, name), categories=known).codes
            x.append(np.eye(len(known))[codes][:, int(len(known) == 2) :])
        return np.ascontiguousarray(np.hstack(x))

    def arm_of(self, table: Any) -> Arms:
        """Arm of each row of a block, (n,)."""
        return pd.Categorical(_objects(table, self.treatment), categories=list(self.arms)).codes.astype(np.int64)

    def is_known(self, table: Any) -> np.ndarray:
        """Whose outcome is known, (n,) bool."""
        return np.zeros(table.num_rows, bool) if self.outcome is None else np.isfinite(_floats(table, self.outcome))


def _floats(table: Any, name: str) -> Outcomes:
    return table.column(name).to_pandas().to_numpy(np.float64, na_value=np.nan)


def _objects(table: Any, name: str) -> pd.Series:
    return table.column(name).to_pandas().astype(object)


@dataclass(frozen=True)
class Seen:
    """What one block holds: of each number gaps, lowest, highest and sum; values of the others, and their gaps."""

    numbers: np.ndarray
    values: dict[str, set[Any]]
    gaps: dict[str, int]
    known: int


def seen(job: tuple[BlockTable, TableColumns, Sequence[Span]]) -> list[Seen]:
    """Look through some blocks."""
    table, columns, spans = job
    out = []
    for part in table.read(columns.names, spans):
        numbers = np.empty((len(columns.numbers), 4))
        for row, number in zip(numbers, columns.numbers, strict=True):
            values = _floats(part, number.name)
            gaps = np.count_nonzero(~np.isfinite(values))
            row[:] = gaps, *((0.0, 0.0, 0.0) if gaps else (values.min(), values.max(), values.sum()))
        others = {name: _objects(part, name) for name in [*columns.categories, columns.treatment]}
        values = {name: set(column.dropna().unique()) for name, column in others.items()}
        gaps = {name: int(column.isna().sum()) for name, column in others.items()}
        out.append(Seen(numbers, values, gaps, int(columns.is_known(part).sum())))
    return out


def sums(job: tuple[BlockTable, TableColumns, Sequence[Span], bool]) -> list[np.ndarray]:
    """Sums over some blocks, of each number's centred values, or of the squares of their deviations."""
    table, columns, spans, squared = job
    out = []
    for part in table.read([number.name for number in columns.numbers], spans):
        total = []
        for number in columns.numbers:
            values = number.centred(_floats(part, number.name))
            values = values - number.rest if squared else values
            total.append((values * values if squared else values).sum())
        out.append(np.array(total))
    return out


def studied(table: BlockTable, columns: TableColumns, each: Each) -> tuple[TableColumns, int]:
    """Look through a table three times; return its columns as they are to be encoded, and how many outcomes are known.

    Raises:
        ValueError: missing or infinite values; values that are no categories.
    """
    blocks = [one for part in each(seen, [(table.part(s), columns, s) for s in table.spans], "columns") for one in part]
    n = len(table)
    numbers = np.array([block.numbers for block in blocks])
    gaps = {number.name: int(numbers[:, k, 0].sum()) for k, number in enumerate(columns.numbers)}
    gaps |= {name: sum(block.gaps[name] for block in blocks) for name in blocks[0].gaps}
    if found := ", ".join(f"{name} ({count})" for name, count in gaps.items() if count):
        raise ValueError(f"missing or infinite values in {found} of {n} rows; impute them or drop the rows first")
    values = {name: set().union(*(block.values[name] for block in blocks)) for name in columns.categories}
    known = {name: categories(pd.Series(list(v), dtype=object), f"covariate {name!r}") for name, v in values.items()}
    arms = set().union(*(block.values[columns.treatment] for block in blocks))
    columns = replace(columns, categories=known, arms=tuple(sorted(arms, key=str)))
    low, high = numbers[:, :, 1].min(0), numbers[:, :, 2].max(0)
    exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
    mean = np.ldexp(added(list(numbers[:, :, 3]), n), -exponent) / n
    pairs = zip(exponent.tolist(), mean.tolist(), strict=True)
    columns = _with(columns, ({"exponent": one, "mean": other} for one, other in pairs))
    rest = _total(table, columns, each, False) / n
    columns = _with(columns, ({"rest": float(value)} for value in rest))
    deviation = np.where(low < high, np.sqrt(_total(table, columns, each, True) / n), 0.0)
    return _with(columns, ({"deviation": float(value)} for value in deviation)), sum(block.known for block in blocks)


def _with(columns: TableColumns, fields: Any) -> TableColumns:
    pairs = zip(columns.numbers, fields, strict=True)
    return replace(columns, numbers=tuple(replace(number, **given) for number, given in pairs))


def _total(table: BlockTable, columns: TableColumns, each: Each, squared: bool) -> np.ndarray:
    jobs = [(table.part(spans), columns, spans, squared) for spans in table.spans]
    return added([one for part in each(sums, jobs, "columns") for one in part], len(table))
