"""CSV files: every cell is read as text, then columns become what all their cells are.

So an identifier keeps what is written, ``00041``, ``1E5`` or 23 digits. The line of names tells what separates the
fields, or a line ``sep=;`` above it. A mark at the beginning tells the encoding, or all bytes do: what is not UTF-8 is
taken for Windows-1252. A file whose name ends in ``.gz`` is unpacked. What pandas takes for a gap is one, but for the
words None and NA where a column's other texts make them values.
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

ROWS = 2**17  # of a part
_BLOCK = 2**24  # bytes that are looked at together
_HEAD = 2**20  # characters in which a line of names ends
_HEADS = 2  # lines after that of the names that may name the columns again
_LINES = 20  # among which one of names is looked for
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENCODINGS = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}  # to be spoken of
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_REMOVED = "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NULL|NaN|n/a|nan|null".split("|")
_N_CELLS_SAMPLED = 1000  # cells of a part that are looked at before all are
_GROWTH = 8  # of a file's bytes, as text in memory
_PACKED = 5  # of a packed file's bytes, unpacked


@contextmanager
def _strict(where: str) -> Iterator[None]:
    """Say where pandas cannot read, or only warns, of rows with more fields than there are names: ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            yield
        except (ValueError, pd.errors.ParserWarning) as error:
            raise ValueError(f"{where}: {' '.join(str(error).split())}") from error


def _rows_of_head(part: pd.DataFrame, names: Sequence[str]) -> int:
    """How many rows of a file's first part end with the line of names; 0 where none names them."""
    head = part[list(names)][:_LINES]
    is_head = (((head == list(names)) | head.isna()).all(axis=1) & head.notna().any(axis=1)).to_numpy()
    return int(is_head.argmax()) + 1 if is_head.any() else 0


def _is_nobody(part: pd.DataFrame, head: pd.Series) -> np.ndarray:
    """Which rows hold nothing but separators, or what the line of names does, (rows,)."""
    first = part.iloc[:, 0]
    rows = np.flatnonzero(first.isna() | (first == head.iloc[0]))
    some = part.iloc[rows]
    nobody = np.zeros(len(part), bool)
    nobody[rows] = (some.isna().all(axis=1) | ((some == head) | (some.isna() & head.isna())).all(axis=1)).to_numpy()
    return nobody


def _words(column: pd.Series) -> list[str]:
    """Of None and NA those that are values of a column: None among few other words, NA among codes of two capitals."""
    for cells in (column.head(_N_CELLS_SAMPLED), column):
        others = [text for text in cells.dropna().unique() if text not in (*WORDS, column.name)]
        is_word = 0 < len(others) <= FEW_VALUES and not any(map(_is_no_word, others))
        found = {"None": is_word, "NA": bool(others) and all(re.fullmatch("[A-Z]{2}", text) for text in others)}
        if others and not any(found.values()):
            break
    return [word for word in WORDS if found[word]]


def _is_no_word(text: str) -> bool:
    return text in TRUTH or is_like_number_or_date(text)


def _without_words(part: pd.DataFrame, words: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """A part in which None and NA are gaps where they are no values."""
    return pd.DataFrame({c: part[c].mask(part[c].isin(set(WORDS).difference(words[c]))) for c in words})


def _more_heads(names: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """How many lines after that of the names have words where all further ones have numbers, or ids of questions."""
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
    """The encoding of a file of text.

    Raises:
        OSError: there is no such file.
        ValueError: it is neither UTF-8 nor UTF-16 nor Windows-1252, or packed and damaged.
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
        raise ValueError(f"{path} cannot be unpacked: {error}; take the file from its source again") from error
    raise ValueError(f"{path} cannot be read as CSV: it is no text in UTF-8, UTF-16 or Windows-1252; save it as UTF-8")


@dataclass(frozen=True)
class _Head:
    """The first lines of a file: what separates the fields, lines above that of the names, and the fields of each."""

    separator: str
    skipped: int
    lines: Sequence[Sequence[str]]

    @classmethod
    def of(cls, path: Path, encoding: str) -> "_Head":
        """Read them: fields go by ``sep=``, or of comma, semicolon and tab by what the line of names has most often."""
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
        """Names of the columns; ValueError for one that is there twice, or a title or comment in their place."""
        filled = [[field for field in line if field.strip()] for line in self.lines]
        place = next((k for k, fields in enumerate(filled) if fields), None)
        if place is None:
            raise ValueError(f"{path} cannot be read as CSV: it has no line of names")
        first, alone, most = filled[place], len(self.lines[place]) == 1, max(map(len, filled))
        is_title = len(first) == 1 and first[0] == self.lines[place][0] and (alone or most > 2)
        if (is_title or first[0].startswith("#")) and len(first) < most:
            line = next(k for k, fields in enumerate(filled) if len(fields) == most)
            raise ValueError(
                f"line {place + 1 + self.skipped} of {path}, {first[0]!r}, does not name its columns, as line"
                f" {line + 1 + self.skipped} seems to; remove what stands above the names"
            )
        names = self.lines[place]
        if more := _more_heads(names, self.lines[place + 1 :]):
            lines = " and ".join(f"line {place + k + 2 + self.skipped}" for k in range(more))
            text = next(filter(None, self.lines[place + 1]), "")
            raise ValueError(
                f"{path} names its columns more than once, also by {text!r}, which is nobody; remove {lines}, and keep"
                " one line of names above the people"
            )
        if again := sorted({name for name in names if name and names.count(name) > 1}):
            raise ValueError(f"columns must be named once, {path} has more than one called {', '.join(again)}")
        return [name or f"Unnamed: {k}" for k, name in enumerate(names)]


@dataclass(frozen=True)
class CsvTable(PartedTable):
    """A table in a CSV file.

    Attributes:
        encoding: as Python calls it.
        separator: of the fields.
        skipped: lines above the first that has fields.
        spare: empty fields that a row may have beyond the names.
    """

    encoding: str = "utf-8"
    separator: str = ","
    skipped: int = 0
    spare: int = 1

    @classmethod
    def of(cls, path: Path) -> "CsvTable":
        """Read the names of the columns: OSError where there is no such file, ValueError where it is no table."""
        encoding = encoding_of(path)
        head = _Head.of(path, encoding)
        names = head.names(path)
        spare = max(1, max(map(len, head.lines)) - len(names))
        return cls(str(path), tuple(names), encoding, head.separator, head.skipped, spare)

    @property
    def reading_note(self) -> str:
        """How the file is read, where that had to be found out."""
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
        """Where a row begins is known only to who reads from the start."""
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
                        raise ValueError(f"{wrong}: it has no line of names")
                    head = part[list(self.columns)].iloc[above - 1]
                    part = part[above:]
                    words = {c: _words(part[c]) for c in self.columns}
                if (more := part[spare].notna().any(axis=1).to_numpy()).any():
                    row = start + int(more.argmax()) + 1
                    raise ValueError(f"{wrong}: row {row} has more fields than there are names")
                part = _without_words(part, words)
                part = part[~_is_nobody(part, head)]
                if len(part) or not start:
                    yield start, part[wanted].reset_index(drop=True)
                start += len(part)

    @override
    def check_memory(self, memory: float) -> None:
        """Parts are small."""
