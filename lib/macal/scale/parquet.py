"""Parquet files as blocks of rows: whoever reads a block reads the row groups that hold it, and nothing else.

Blocks depend on the number of rows alone, not on files, row groups or workers: they are the leaves of the tree by which
NumPy adds up so many numbers, so that sums of blocks, added up along the tree, have the very bits of ``np.sum``.
"""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from macal.optional import needed

BLOCK = 2**16  # rows of a block, at most
_COPIES = 4  # of a row group's bytes that decoding and encoding may hold

Span = tuple[int, int]


@dataclass(frozen=True)
class RowGroup:
    """One row group of a file.

    Attributes:
        path: of the file.
        number: in the file, from 0.
        start: row of the table with which it begins.
        stop: row after its last one.
        size: bytes, once decompressed.
    """

    path: str
    number: int
    start: int
    stop: int
    size: int


@dataclass(frozen=True)
class ParquetTable:
    """A table in one Parquet file, or in all of a folder, by their names' order.

    Attributes:
        path: of the file or folder.
        groups: its row groups, in order.
        types: type of each column, as Arrow writes it.
    """

    path: str
    groups: tuple[RowGroup, ...]
    types: dict[str, str]

    @classmethod
    def of(cls, path: Path) -> "ParquetTable":
        """Read the footers.

        Raises:
            OSError: there is no such file.
            ValueError: it is no Parquet file, or has no rows; files of a folder that differ in columns.
        """
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        groups: list[RowGroup] = []
        types: dict[str, str] = {}
        for file in files:
            footer = _opened(file)
            found = {field.name: str(field.type) for field in footer.schema_arrow}
            if types and found != types:
                raise ValueError(f"{file} has other columns, or of other types, than {files[0]}; make them the same")
            types = found
            for k in range(footer.metadata.num_row_groups):
                group, start = footer.metadata.row_group(k), groups[-1].stop if groups else 0
                groups.append(RowGroup(str(file), k, start, start + group.num_rows, group.total_byte_size))
        if not groups or not groups[-1].stop:
            raise ValueError(f"{path} has no rows; one row for each unit is needed")
        return cls(str(path), tuple(groups), types)

    def __len__(self) -> int:
        return self.groups[-1].stop

    @cached_property
    def blocks(self) -> list[Span]:
        """First row of each block, and the row after its last."""
        return list(_leaves(0, len(self)))

    @property
    def spans(self) -> list[list[Span]]:
        """Blocks that are read together, since they begin in one row group."""
        stops = np.array([group.stop for group in self.groups])
        place = np.searchsorted(stops, [start for start, _ in self.blocks], side="right")
        return [[self.blocks[k] for k in np.flatnonzero(place == group)] for group in np.unique(place)]

    def part(self, spans: Sequence[Span]) -> "ParquetTable":
        """The table as one needs it who reads some blocks, ascending: their row groups alone."""
        first = bisect_right(self.groups, spans[0][0], key=lambda group: group.stop)
        last = bisect_left(self.groups, spans[-1][1], key=lambda group: group.start)
        return ParquetTable(self.path, self.groups[first:last], {})

    def check_memory(self, memory: float) -> None:
        """Refuse row groups of which a worker cannot hold one.

        Args:
            memory: of a worker, bytes.

        Raises:
            ValueError: names the largest.
        """
        big = max(self.groups, key=lambda group: group.size)
        if _COPIES * big.size > memory:
            raise ValueError(
                f"row group {big.number} of {big.path} has {big.size / 1e6:.0f} MB, too much for {memory / 1e6:.0f} MB"
                f" of a worker; write the table with fewer rows in a group, or give {_COPIES * big.size / 1e6:.0f} MB"
            )

    def read(self, columns: Sequence[str], spans: Sequence[Span]) -> Iterator[Any]:
        """Read some columns of some blocks, one after the other, as Arrow tables.

        Raises:
            ValueError: a row group that cannot be read; which one.
        """
        import pyarrow as pa

        held: tuple[RowGroup, Any] | None = None
        for start, stop in spans:
            parts = []
            for group in self.part([(start, stop)]).groups:
                if held is None or held[0] != group:
                    held = group, _decoded(group, columns)
                first = max(start - group.start, 0)
                parts.append(held[1].slice(first, min(stop, group.stop) - group.start - first))
            yield pa.concat_tables(parts)


def _opened(path: str | Path) -> Any:
    with needed("pyarrow", "Parquet files"):
        import pyarrow as pa
        from pyarrow import parquet
    try:
        changed = os.stat(path)
        footer = _footer(str(path), changed.st_mtime_ns, changed.st_size)
        return parquet.ParquetFile(path, metadata=footer, page_checksum_verification=True)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())}") from error


@lru_cache(maxsize=8)
def _footer(path: str, changed: int, size: int) -> Any:
    """What a file says of its row groups; of many it is long, and each of them asks for it."""
    from pyarrow import parquet

    return parquet.read_metadata(path)


def _decoded(group: RowGroup, columns: Sequence[str]) -> Any:
    try:
        with _opened(group.path) as file:
            return file.read_row_group(group.number, list(columns))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"row group {group.number} of {group.path}, rows {group.start + 1} to {group.stop}, cannot be read:"
            f" {' '.join(str(error).split())}; take the file from its source again"
        ) from error


def _leaves(start: int, stop: int) -> Iterator[Span]:
    if stop - start <= BLOCK:
        yield start, stop
        return
    middle = start + _half(stop - start)
    yield from _leaves(start, middle)
    yield from _leaves(middle, stop)


def _half(n: int) -> int:
    """Where NumPy divides n numbers that it adds up: a multiple of 8."""
    return n // 2 - n // 2 % 8


def added(totals: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Sum of n rows from the sums of their blocks, as ``np.sum`` has it."""
    parts = iter(totals)

    def node(n: int) -> np.ndarray:
        return next(parts) if n <= BLOCK else node(_half(n)) + node(n - _half(n))

    return node(n)
