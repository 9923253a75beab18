"""Tables as blocks of rows: whoever reads a block reads the parts of the table that hold it, and nothing else.

Blocks depend on the number of rows alone, not on files, row groups, chunks or workers: they are the leaves of the tree
by which NumPy adds up so many numbers, so that sums of blocks, added up along the tree, have the very bits of
``np.sum``.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

BLOCK = 2**16  # rows of a block, at most
_COPIES = 4  # of a part's bytes that decoding and encoding may hold

Span = tuple[int, int]


@dataclass(frozen=True)
class RowGroup:
    """Rows of a table that are decoded together.

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
class BlockTable(ABC):
    """A table that is read block by block.

    Attributes:
        part_name: what its parts are called.
        path: of the file or folder.
        groups: its parts, in order.
        types: type of each column, as Arrow writes it.
    """

    part_name: ClassVar[str]

    path: str
    groups: tuple[RowGroup, ...]
    types: dict[str, str]

    def __len__(self) -> int:
        return self.groups[-1].stop

    @abstractmethod
    def decoded(self, group: RowGroup, columns: Sequence[str]) -> Any:
        """Some columns of one of the parts, as an Arrow table.

        Raises:
            ValueError: it cannot be read.
        """

    @cached_property
    def blocks(self) -> list[Span]:
        """First row of each block, and the row after its last."""
        return list(_leaves(0, len(self)))

    @property
    def spans(self) -> list[list[Span]]:
        """Blocks that are read together, since they begin in one part."""
        stops = np.array([group.stop for group in self.groups])
        place = np.searchsorted(stops, [start for start, _ in self.blocks], side="right")
        return [[self.blocks[k] for k in np.flatnonzero(place == group)] for group in np.unique(place)]

    def part(self, spans: Sequence[Span]) -> "BlockTable":
        """The table as one needs it who reads some blocks, ascending: their parts alone."""
        first = bisect_right(self.groups, spans[0][0], key=lambda group: group.stop)
        last = bisect_left(self.groups, spans[-1][1], key=lambda group: group.start)
        return replace(self, groups=self.groups[first:last], types={})

    def check_memory(self, memory: float) -> None:
        """Refuse parts of which a worker cannot hold one.

        Args:
            memory: of a worker, bytes.

        Raises:
            ValueError: names the largest.
        """
        big = max(self.groups, key=lambda group: group.size)
        if _COPIES * big.size > memory:
            raise ValueError(
                f"{self.part_name} {big.number} of {big.path} has {big.size / 1e6:.0f} MB, too much for"
                f" {memory / 1e6:.0f} MB of a worker; write the table with fewer rows in each, or give"
                f" {_COPIES * big.size / 1e6:.0f} MB"
            )

    def read(self, columns: Sequence[str], spans: Sequence[Span]) -> Iterator[Any]:
        """Read some columns of some blocks, one after the other, as Arrow tables.

        Raises:
            ValueError: a part that cannot be read; which one.
        """
        import pyarrow as pa

        held: tuple[RowGroup, Any] | None = None
        for start, stop in spans:
            parts = []
            for group in self.part([(start, stop)]).groups:
                if held is None or held[0] != group:
                    held = group, self.decoded(group, columns)
                first = max(start - group.start, 0)
                parts.append(held[1].slice(first, min(stop, group.stop) - group.start - first))
            yield pa.concat_tables(parts)


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
