"""Reading and writing tables: CSV, Parquet, Zarr, and data frames known to narwhals."""

import io
from importlib import import_module
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd

from macal.optional import needed
from macal.survey.tables.blocks import PartedTable
from macal.survey.tables.csv import CsvTable
from macal.survey.tables.parquet import ParquetTable
from macal.survey.tables.zarr import ZarrTable, is_zarr

FORMATS = {".csv": "CSV", ".parquet": "Parquet"}


def as_pandas(table: Any) -> pd.DataFrame:
    """Return a table as a pandas DataFrame; ValueError if it is none, multi-level, or not in memory."""
    if isinstance(table, pd.DataFrame):
        if table.index.nlevels > 1 or table.columns.nlevels > 1:
            raise ValueError("the table must have an index and columns of one level; use reset_index()")
        return table
    try:
        return nw.from_native(table, eager_only=True).to_pandas()
    except TypeError as error:
        raise ValueError(
            f"the table must be a DataFrame of pandas, polars or Arrow, in memory, got {type(table).__name__}"
        ) from error


def like(frame: pd.DataFrame, table: Any) -> Any:
    """Return a pandas DataFrame in the type of ``table``, the index as first column if that type has none."""
    kind = getattr(nw.from_native(table, eager_only=True, pass_through=True), "implementation", None)
    if kind is None or isinstance(table, pd.DataFrame):
        return frame
    return nw.from_dict({c: v.tolist() for c, v in frame.reset_index().items()}, backend=kind).to_native()


def _of_suffix(path: Path) -> str:
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path} must end in {' or '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]


def read(path: Path) -> pd.DataFrame:
    """Read a table from a CSV file (cells as text), a Parquet file, or a Zarr group.

    Raises:
        OSError: the file cannot be read.
        ValueError: another suffix, or not a table.
    """
    source = opened(path)
    parts = [part for _, part in source.parts(source.columns)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(source.columns))
    if not len(table):
        raise ValueError(f"{path} has no rows; it needs one row per unit")
    return table


def opened(path: Path) -> PartedTable:
    """Open a table to be read part by part: a Zarr group, a CSV file, a Parquet file or a folder of these.

    Raises:
        OSError: no such file.
        ValueError: another suffix, or not a table.
    """
    if is_zarr(path):
        return ZarrTable.of(path)
    if path.is_dir() or path.suffix.lower() == ".parquet":
        return ParquetTable.of(path)
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return CsvTable.of(path)
    raise ValueError(f"{path} cannot be read; save it as CSV (.csv or .csv.gz) or Parquet (.parquet)")


def check_can_write(path: Path) -> None:
    """Check in advance that :func:`written` can write a file.

    Raises:
        ImportError: pyarrow, for Parquet, is missing.
        ValueError: a suffix of neither CSV nor Parquet.
    """
    if _of_suffix(path) != "CSV":
        with needed("pyarrow", "Parquet files"):
            import_module("pyarrow")


def written(frame: pd.DataFrame, path: Path) -> bytes:
    """Return a table, with its index, as bytes of a CSV or Parquet file, by suffix; else ValueError."""
    if _of_suffix(path) == "CSV":
        return frame.to_csv().encode()
    file = io.BytesIO()
    with needed("pyarrow", "Parquet files"):
        frame.reset_index().to_parquet(file, engine="pyarrow", index=False)
    return file.getvalue()
