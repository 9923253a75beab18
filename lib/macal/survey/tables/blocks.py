"""Tables as parts that are read one after the other: whoever reads a part reads what holds it, and nothing else."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from macal.compat import override

_COPIES = 4  # of a part's bytes that decoding and encoding may hold


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
class PartedTable(ABC):
    """A table in a file or folder, ``path``, that is read part by part; ``columns`` are their names."""

    path: str
    columns: tuple[str, ...]

    @property
    def reading_note(self) -> str:
        """How it is read, where that had to be found out; else empty."""
        return ""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """How many; None where only reading it all would tell."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes in memory, about."""

    @abstractmethod
    def divided(self, count: int) -> "Sequence[PartedTable]":
        """About so many tables that hold the parts, in order."""

    @abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        """Read some columns: of each part its first row in the table, and the cells; ValueError if it fails."""

    @abstractmethod
    def check_memory(self, memory: float) -> None:
        """Refuse parts of which a worker with so many bytes cannot hold one: ValueError."""


@dataclass(frozen=True)
class GroupedTable(PartedTable):
    """A table whose parts are row groups or chunks, of known sizes; ``part_name`` is what they are called."""

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
        """Some columns of one of the parts, as an Arrow table; ValueError where it cannot be read."""

    @override
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        for group in self.groups:
            yield group.start, self.decoded(group, columns).to_pandas(split_blocks=True, self_destruct=True)

    @override
    def check_memory(self, memory: float) -> None:
        big = max(self.groups, key=lambda group: group.size)
        if _COPIES * big.size > memory:
            raise ValueError(
                f"{self.part_name} {big.number} of {big.path} has {big.size / 1e6:.0f} MB, too much for"
                f" {memory / 1e6:.0f} MB of a worker; write the table with fewer rows in each, or give"
                f" {_COPIES * big.size / 1e6:.0f} MB"
            )
