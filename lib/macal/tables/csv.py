"""CSV files: every cell is read as text, then columns become what all their cells are.

So an identifier keeps what is written, ``00041``, ``1E5`` or 23 digits, and a file is read alike at once and in parts.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from macal.compat import override
from macal.tables.blocks import PartedTable

ROWS = 2**17  # of a part
_GROWTH = 8  # of a file's bytes, as text in memory


def read_text(path: Path, **options: Any) -> Any:
    """Read a CSV file with text in every cell, missing where pandas takes it for that.

    Raises:
        ValueError: it is no table.
    """
    try:
        with _strict():
            return pd.read_csv(path, dtype=str, index_col=False, **options)
    except (ValueError, pd.errors.ParserError) as error:
        raise ValueError(f"{path} cannot be read as CSV: {' '.join(str(error).split())}") from error


@contextmanager
def _strict() -> Iterator[None]:
    """Make an error of what pandas only warns of: rows with more fields than there are names."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        yield


@dataclass(frozen=True)
class CsvTable(PartedTable):
    """A table in a CSV file."""

    @classmethod
    def of(cls, path: Path) -> "CsvTable":
        """Read the names of the columns.

        Raises:
            OSError: there is no such file.
            ValueError: it is no table.
        """
        return cls(str(path), tuple(read_text(path, nrows=0).columns))

    @property
    def rows(self) -> None:
        """See :attr:`PartedTable.rows`."""

    @property
    def size(self) -> int:
        """See :attr:`PartedTable.size`."""
        return _GROWTH * Path(self.path).stat().st_size

    @override
    def divided(self, count: int) -> Sequence["CsvTable"]:
        """Where a row begins is known only to who reads from the start."""
        return [self]

    @override
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        start, wanted = 0, list(columns)
        with read_text(Path(self.path), chunksize=ROWS) as chunks:
            while True:
                try:
                    with _strict():
                        part = next(chunks, None)
                except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
                    raise ValueError(
                        f"{self.path} cannot be read as CSV after row {start}: {' '.join(str(error).split())}"
                    ) from error
                if part is None:
                    return
                yield start, part[wanted].reset_index(drop=True)
                start += len(part)

    @override
    def check_memory(self, memory: float) -> None:
        """Parts are small."""
