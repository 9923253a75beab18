"""Tables that are read part by part."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from macal.compat import override

_COPIES = 4  # memory for decoding and encoding, in sizes of a part


@dataclass(frozen=True)
class RowGroup:
    """Rows of a table that are decoded together.

    Attributes:
        path: path of the file.
        number: number in the file, from 0.
        start: first row in the table.
        stop: row after the last one.
        size: decompressed bytes.
    """

    path: str
    number: int
    start: int
    stop: int
    size: int


@dataclass(frozen=True)
class PartedTable(ABC):
    """A table in a file or folder, ``path``, that is read part by part; ``columns`` are their names."""

    path: str
    columns: tuple[str, ...]

    @property
    def reading_note(self) -> str:
        """A note on how the table is read, if that was guessed; else empty."""
        return ""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """Number of rows; None if unknown before reading."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Approximate bytes in memory."""

    @abstractmethod
    def divided(self, count: int) -> "Sequence[PartedTable]":
        """Return about ``count`` tables with the parts, in order."""

    @abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the first row and the cells of each part; ValueError if it cannot be read."""

    @abstractmethod
    def check_memory(self, memory: float) -> None:
        """Refuse parts too large for a worker's memory in bytes: ValueError."""


@dataclass(frozen=True)
class GroupedTable(PartedTable):
    """A table of row groups or chunks, called ``part_name``, of known sizes."""

    part_name: ClassVar[str]

    groups: tuple[RowGroup, ...]

    @property
    def rows(self) -> int:
        """See :attr:`PartedTable.rows`."""
        return sum(group.stop - group.start for group in self.groups)

    @property
    def size(self) -> int:
        """See :attr:`PartedTable.size`."""
        return sum(group.size for group in self.groups)

    @override
    def divided(self, count: int) -> "Sequence[GroupedTable]":
        cuts = np.linspace(0, len(self.groups), min(count, len(self.groups)) + 1).astype(int)
        return [replace(self, groups=self.groups[a:b]) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]

    @abstractmethod
    def decoded(self, group: RowGroup, columns: Sequence[str]) -> Any:
        """Return some columns of a part as an Arrow table; ValueError if it cannot be read."""

    @override
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        for group in self.groups:
            yield group.start, self.decoded(group, columns).to_pandas(split_blocks=True, self_destruct=True)

    @override
    def check_memory(self, memory: float) -> None:
        big = max(self.groups, key=lambda group: group.size)
        if _COPIES * big.size > memory:
            raise ValueError(
                f"{self.part_name} {big.number} of {big.path} has {big.size / 1e6:.0f} MB, too much for a worker with"
                f" {memory / 1e6:.0f} MB; write smaller ones, or give a worker {_COPIES * big.size / 1e6:.0f} MB"
            )
