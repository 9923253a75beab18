"""A table as the source of balls: blocks are covered where they are read, rows are fetched when balls open."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macal.acquisition import PoolState
from macal.scale.blocks import BlockTable, Span
from macal.scale.columns import TableColumns
from macal.scale.cover import BlockCover, cover_block
from macal.scale.rules import BallRule
from macal.scale.workers import Each
from macal.shapes import Arms, Covariates, Rows

_LEAST, _MOST = 8, 2048  # balls of a group of a block


@dataclass(frozen=True, eq=False)
class Covered:
    """A block as the planner keeps it.

    Attributes:
        balls: of those who may be picked.
        groups: group of each person whose outcome is known, (k,).
        known: her covariates, (k, d).
    """

    balls: BlockCover
    groups: Rows
    known: np.ndarray


def covered(job: tuple[BlockTable, TableColumns, BallRule, int, Sequence[Span]]) -> list[Covered]:
    """Cover some blocks by at most so many balls for each group."""
    table, columns, rule, most, spans = job
    out = []
    for (start, _), part in zip(spans, table.read(columns.names, spans), strict=True):
        x, groups, is_known = columns.encoded(part), rule.groups(columns.arm_of(part)), columns.is_known(part)
        balls = cover_block(x, np.where(is_known, -1, groups), start, most)
        out.append(Covered(balls, groups[is_known], x[is_known]))
    return out


def fetched(job: tuple[BlockTable, TableColumns, Span, Rows]) -> Covariates:
    """Covariates of some rows of one block, (k, d)."""
    table, columns, span, rows = job
    (part,) = table.read(columns.names, [span])
    return columns.encoded(part.take(rows - span[0]))


def whole(job: tuple[BlockTable, TableColumns, Sequence[Span]]) -> list[tuple[Covariates, Arms, np.ndarray]]:
    """Covariates, arms and whose outcome is known, of some blocks."""
    table, columns, spans = job
    parts = table.read(columns.names, spans)
    return [(columns.encoded(part), columns.arm_of(part), columns.is_known(part)) for part in parts]


@dataclass(frozen=True, eq=False)
class BallSource:
    """What is asked of a table while it is planned.

    Attributes:
        table: the file or files.
        columns: as they are to be encoded.
        each: calls a function with each of some jobs.
    """

    table: BlockTable
    columns: TableColumns
    each: Each

    def covers(self, rule: BallRule, balls: int) -> list[Covered]:
        """Cover all blocks by about so many balls of each group."""
        most = min(max(_LEAST, balls // len(self.table.blocks)), _MOST)
        jobs = [(self.table.part(spans), self.columns, rule, most, spans) for spans in self.table.spans]
        return [one for part in self.each(covered, jobs, "covering") for one in part]

    def pool(self) -> PoolState:
        """Everybody, for a search in memory."""
        jobs = [(self.table.part(spans), self.columns, spans) for spans in self.table.spans]
        parts = [one for part in self.each(whole, jobs, "reading") for one in part]
        x, t, known = (np.concatenate(column) for column in zip(*parts, strict=True))
        return PoolState(x, t, np.flatnonzero(known))

    def fetch(self, lists: Sequence[Rows]) -> list[np.ndarray]:
        """Covariates of rows of the table, for each list of rows; every block is read once."""
        rows, back = np.unique(np.concatenate(lists), return_inverse=True)
        jobs = [(self.table.part([one[0]]), self.columns, *one) for one in self._by_block(rows)]
        x = np.concatenate(self.each(fetched, jobs, "opening"))
        return [x[one] for one in np.split(back, np.cumsum([len(one) for one in lists])[:-1])]

    def cells(self, rows: Sequence[int], names: Sequence[str]) -> pd.DataFrame:
        """Some columns of some rows, in their order."""
        order = np.sort(np.array(rows, np.int64))
        parts = []
        for span, inside in self._by_block(order):
            (part,) = self.table.read(names, [span])
            parts.append(part.take(inside - span[0]).to_pandas())
        return pd.concat(parts).set_axis(order).loc[list(rows)]

    def _by_block(self, rows: Rows) -> list[tuple[Span, Rows]]:
        """Ascending rows of the table, block by block."""
        starts = [start for start, _ in self.table.blocks]
        place = np.searchsorted(starts, rows, side="right") - 1
        cuts = np.flatnonzero(np.diff(place)) + 1
        return [(self.table.blocks[k], part) for k, part in zip(np.unique(place), np.split(rows, cuts), strict=True)]


def rows_of(batches: Sequence[Sequence[Any]]) -> list[int]:
    """Rows of the picks of all batches, in their order."""
    return [row for batch in batches for pick in batch for row in pick.rows]
