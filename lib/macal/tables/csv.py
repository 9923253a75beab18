"""CSV files: every cell is read as text, then columns become what all their cells are.

So an identifier keeps what is written, ``00041``, ``1E5`` or 23 digits. The line of names tells what separates the
fields. A mark at the beginning tells the encoding, or all bytes do: what is not UTF-8 is taken for Windows-1252.
"""

import codecs
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal.compat import override
from macal.tables.blocks import PartedTable

ROWS = 2**17  # of a part
_BLOCK = 2**24  # bytes that are looked at together
_HEAD = 2**20  # characters in which a line of names ends
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENCODINGS = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}  # to be spoken of
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_GROWTH = 8  # of a file's bytes, as text in memory


def read_text(path: Path, **options: Any) -> Any:
    """Read a CSV file with text in every cell, missing where pandas takes it for that; ValueError for no table."""
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


def _is_nobody(part: pd.DataFrame) -> np.ndarray:
    """Which rows hold nothing but separators, or the names of the columns once more, (rows,)."""
    first = part.iloc[:, 0]
    rows = np.flatnonzero(first.isna() | (first == part.columns[0]))
    some = part.iloc[rows]
    nobody = np.zeros(len(part), bool)
    nobody[rows] = (some.isna().all(axis=1) | (some == part.columns).all(axis=1)).to_numpy()
    return nobody


def encoding_of(path: Path) -> str:
    """The encoding of a file of text.

    Raises:
        OSError: there is no such file.
        ValueError: it is neither UTF-8 nor UTF-16 nor Windows-1252.
    """
    with path.open("rb") as file:
        start = file.read(4)
        for mark, name in _MARKS.items():
            if start.startswith(mark):
                return name
        for encoding in ("utf-8", "cp1252"):
            file.seek(0)
            decoder = codecs.getincrementaldecoder(encoding)()
            try:
                while block := file.read(_BLOCK):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                continue
            return encoding
    raise ValueError(f"{path} cannot be read as CSV: it is no text in UTF-8, UTF-16 or Windows-1252; save it as UTF-8")


def separator_of(path: Path, encoding: str) -> str:
    """What separates the fields of a file: of comma, semicolon and tab what the line of names has most often."""
    with path.open(encoding=encoding, newline="") as file:
        text = re.sub(r"^\ufeff?(?:[ \t]*[\r\n])*", "", file.read(_HEAD))
    found = re.match(r'(?:"[^"]*"|[^"\r\n])*', text)
    head = re.sub(r'"[^"]*"', "", found[0] if found else "")
    return max(_SEPARATORS, key=head.count)


@dataclass(frozen=True)
class CsvTable(PartedTable):
    """A table in a CSV file, with its encoding, as Python calls it, and what separates the fields."""

    encoding: str = "utf-8"
    separator: str = ","

    @classmethod
    def of(cls, path: Path) -> "CsvTable":
        """Read the names of the columns: OSError where there is no such file, ValueError where it is no table."""
        encoding = encoding_of(path)
        separator = separator_of(path, encoding)
        names = read_text(path, nrows=0, encoding=encoding, sep=separator).columns
        return cls(str(path), tuple(names), encoding, separator)

    @property
    def told(self) -> str:
        """How the file is read, where that had to be found out."""
        how = [f"text in {_ENCODINGS[self.encoding]}"] if self.encoding in _ENCODINGS else []
        how += [f"fields separated by {_SEPARATORS[self.separator]}"] if self.separator != "," else []
        return f"{self.path} is read as {', '.join(how)}" if how else ""

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
        how = {"encoding": self.encoding, "sep": self.separator}
        with read_text(Path(self.path), chunksize=ROWS, **how) as chunks:
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
                part = part[~_is_nobody(part)]
                if len(part) or not start:
                    yield start, part[wanted].reset_index(drop=True)
                start += len(part)

    @override
    def check_memory(self, memory: float) -> None:
        """Parts are small."""
