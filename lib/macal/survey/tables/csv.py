"""CSV files: all cells are read as text first, so identifiers such as ``00041`` or ``1E5`` stay as they are.

Separators follow the header or a line ``sep=;``, encodings a byte-order mark, UTF-8 or else Windows-1252; ``.gz`` is
unpacked. Gaps are those of pandas, but None and NA stay values if the column's other texts suggest it.
"""

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from macal.compat import override
from macal.datasets.encoding import FEW_VALUES, is_like_number_or_date
from macal.survey.tables.blocks import PartedTable
from macal.survey.tables.summary import TRUTH, WORDS

ROWS = 2**17  # per part
_BLOCK = 2**24  # bytes decoded together
_HEAD = 2**20  # characters that contain the header
_HEADS = 2  # further header lines, at most
_LINES = 20  # among which the header is sought
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENCODINGS = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}  # names in messages
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_REMOVED = "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NULL|NaN|n/a|nan|null".split("|")
_N_CELLS_SAMPLED = 1000  # cells of a part that are checked first
_GROWTH = 8  # size as text in memory, relative to the file
_PACKED = 5  # unpacked size, relative to the packed file


@contextmanager
def _strict(where: str) -> Iterator[None]:
    """Turn errors and warnings of pandas into ValueError with the place."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            yield
        except (ValueError, pd.errors.ParserWarning) as error:
            raise ValueError(f"{where}: {' '.join(str(error).split())}") from error


def _rows_of_head(part: pd.DataFrame, names: Sequence[str]) -> int:
    """Return the number of rows up to the header in a file's first part; 0 without one."""
    head = part[list(names)][:_LINES]
    is_head = (((head == list(names)) | head.isna()).all(axis=1) & head.notna().any(axis=1)).to_numpy()
    return int(is_head.argmax()) + 1 if is_head.any() else 0


def _is_filler(part: pd.DataFrame, head: pd.Series) -> np.ndarray:
    """Return which rows are empty or repeat the header, (rows,)."""
    first = part.iloc[:, 0]
    rows = np.flatnonzero(first.isna() | (first == head.iloc[0]))
    some = part.iloc[rows]
    filler = np.zeros(len(part), bool)
    filler[rows] = (some.isna().all(axis=1) | ((some == head) | (some.isna() & head.isna())).all(axis=1)).to_numpy()
    return filler


def _words(column: pd.Series) -> list[str]:
    """Return which of None and NA are values: None among few other words, NA among codes of two capitals."""
    for cells in (column.head(_N_CELLS_SAMPLED), column):
        given = dict.fromkeys(text for text in cells.tolist() if isinstance(text, str))
        others = [text for text in given if text not in (*WORDS, column.name)]
        is_word = 0 < len(others) <= FEW_VALUES and not any(map(_is_no_word, others))
        found = {"None": is_word, "NA": bool(others) and all(re.fullmatch("[A-Z]{2}", text) for text in others)}
        if others and not any(found.values()):
            break
    return [word for word in WORDS if found[word]]


def _is_no_word(text: str) -> bool:
    return text in TRUTH or is_like_number_or_date(text)


def _without_words(part: pd.DataFrame, words: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return a part with None and NA as gaps unless they are values."""
    gaps = {c: part[c].isin(set(WORDS).difference(words[c])) for c in words}
    return pd.DataFrame({c: part[c].mask(gap) if gap.any() else part[c] for c, gap in gaps.items()})


def _more_heads(names: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """Return the number of further header lines: words above numbers, or ids of questions."""
    rows = [line for line in lines if any(line)]
    ids = [
        k for k, row in enumerate(rows[:_HEADS]) if all(text.startswith('{"ImportId"') for text in filter(None, row))
    ]
    if ids:
        return ids[0] + 1
    people = [dict(enumerate(row)) for row in rows[_HEADS:]]
    given = {k: [row[k] for row in people if row.get(k)] for k in range(len(names))}
    numeric = [k for k, texts in given.items() if len(texts) > 2 and all(map(is_like_number_or_date, texts))]
    if len(numeric) < 2:
        return 0

    def is_head(row: Sequence[str]) -> bool:
        cells = [row[k] if k < len(row) else "" for k in numeric]
        are_words = not any(text in (*_REMOVED, *WORDS) or is_like_number_or_date(text) for text in cells)
        return all(cells) and are_words and len(set(cells)) > 1 and list(row[: len(names)]) != list(names)

    return next((k for k, row in enumerate(rows[:_HEADS]) if not is_head(row)), _HEADS)


def _opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file.

    Raises:
        OSError: no such file.
        ValueError: not UTF-8, UTF-16 or Windows-1252, or a damaged archive.
    """
    try:
        with _opened(path) as file:
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
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}; fetch the file again") from error
    raise ValueError(f"{path} cannot be read as CSV: it is not text in UTF-8, UTF-16 or Windows-1252; save it as UTF-8")


@dataclass(frozen=True)
class _Head:
    """The first lines of a file: separator, skipped lines, and fields of each line."""

    separator: str
    skipped: int
    lines: Sequence[Sequence[str]]

    @classmethod
    def of(cls, path: Path, encoding: str) -> "_Head":
        """Read them; the separator is that of ``sep=``, or the most frequent of , ; and tab in the header."""
        with _opened(path) as file:
            text = codecs.getincrementaldecoder(encoding)().decode(file.read(_HEAD)).removeprefix("\ufeff")
        said = re.match(r'"?sep=([^"\r\n])"?[ \t]*(\r\n|\r|\n)', text)
        text = text[said.end() if said else 0 :]
        found = re.match(r'(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*((?:"[^"]*"|[^"\r\n])*)(.*)', text, re.DOTALL)
        names, rest = (re.sub(r'"[^"]*"', "", part) for part in found.groups()) if found else ("", "")
        separator = said[1] if said else max(_SEPARATORS, key=lambda c: (c in rest, names.count(c), rest.count(c)))
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        try:
            return cls(separator, int(said is not None), list(islice(lines, _LINES)))
        except csv.Error as error:
            raise ValueError(f"{path} cannot be read as CSV: {error}") from error

    def names(self, path: Path) -> list[str]:
        """Return the column names; ValueError for repeated names, a title or a comment."""
        filled = [[field for field in line if field.strip()] for line in self.lines]
        place = next((k for k, fields in enumerate(filled) if fields), None)
        if place is None:
            raise ValueError(f"{path} cannot be read as CSV: it has no header")
        first, alone, most = filled[place], len(self.lines[place]) == 1, max(map(len, filled))
        is_title = len(first) == 1 and first[0] == self.lines[place][0] and (alone or most > 2)
        if (is_title or first[0].startswith("#")) and len(first) < most:
            line = next(k for k, fields in enumerate(filled) if len(fields) == most)
            raise ValueError(
                f"line {place + 1 + self.skipped} of {path}, {first[0]!r}, is not the header, but line"
                f" {line + 1 + self.skipped} seems to be; remove the lines above it"
            )
        names = self.lines[place]
        if more := _more_heads(names, self.lines[place + 1 :]):
            lines = " and ".join(f"line {place + k + 2 + self.skipped}" for k in range(more))
            text = next(filter(None, self.lines[place + 1]), "")
            raise ValueError(f"{path} has more than one header line, also {text!r}; remove {lines}")
        if again := sorted({name for name in names if name and names.count(name) > 1}):
            raise ValueError(f"column names must be unique, {path} repeats {', '.join(again)}; rename them")
        return [name or f"Unnamed: {k}" for k, name in enumerate(names)]


@dataclass(frozen=True)
class CsvTable(PartedTable):
    """A table in a CSV file.

    Attributes:
        encoding: encoding, as in Python.
        separator: field separator.
        skipped: lines above the first with fields.
        spare: extra empty fields allowed in a row.
    """

    encoding: str = "utf-8"
    separator: str = ","
    skipped: int = 0
    spare: int = 1

    @classmethod
    def of(cls, path: Path) -> "CsvTable":
        """Read the header: OSError if there is no such file, ValueError if it is not a table."""
        encoding = encoding_of(path)
        head = _Head.of(path, encoding)
        names = head.names(path)
        spare = max(1, max(map(len, head.lines)) - len(names))
        return cls(str(path), tuple(names), encoding, head.separator, head.skipped, spare)

    @property
    def reading_note(self) -> str:
        """See :attr:`PartedTable.reading_note`."""
        how = [f"text in {_ENCODINGS[self.encoding]}"] if self.encoding in _ENCODINGS else []
        mark = _SEPARATORS.get(self.separator, self.separator)
        how += [f"fields separated by {mark}"] * (self.separator != ",")
        return f"{self.path} is read as {', '.join(how)}" if how else ""

    @property
    def rows(self) -> None:
        """See :attr:`PartedTable.rows`."""

    @property
    def size(self) -> int:
        """See :attr:`PartedTable.size`."""
        path = Path(self.path)
        return _GROWTH * path.stat().st_size * (_PACKED if path.suffix.lower() == ".gz" else 1)

    @override
    def divided(self, count: int) -> Sequence["CsvTable"]:
        """Return the table alone, as rows can only be found from the start."""
        return [self]

    @override
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        start, wanted, head = 0, list(columns), pd.Series(dtype=object)
        words: dict[str, list[str]] = {}
        spare = [f"beyond the names {k}" for k in range(self.spare)]
        how = {"encoding": self.encoding, "sep": self.separator, "skiprows": self.skipped, "header": None}
        how |= {"dtype": str, "index_col": False, "chunksize": ROWS, "names": [*self.columns, *spare]}
        how |= {"keep_default_na": False, "na_values": ["", *_REMOVED]}
        wrong = f"{self.path} cannot be read as CSV"
        with _strict(wrong):
            opened = pd.read_csv(self.path, **how)
        with opened as chunks:
            while True:
                with _strict(f"{wrong} after row {start}"):
                    part = next(chunks, None)
                if part is None:
                    return
                if part.index[0] == 0:
                    if not (above := _rows_of_head(part, self.columns)):
                        raise ValueError(f"{wrong}: it has no header")
                    head = part[list(self.columns)].iloc[above - 1]
                    part = part[above:]
                    words = {c: _words(part[c]) for c in self.columns}
                if (more := part[spare].notna().any(axis=1).to_numpy()).any():
                    row = start + int(more.argmax()) + 1
                    raise ValueError(f"{wrong}: row {row} has more fields than the header")
                part = _without_words(part, words)
                part = part[~_is_filler(part, head)]
                if len(part) or not start:
                    yield start, part[wanted].reset_index(drop=True)
                start += len(part)

    @override
    def check_memory(self, memory: float) -> None:
        """Accept any memory, as parts are small."""
