"""Parquet files, row group by row group."""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from macal.compat import override
from macal.optional import needed
from macal.survey.tables.blocks import GroupedTable, RowGroup


class ParquetTable(GroupedTable):
    """A table in one Parquet file, or in all of a folder, sorted by name."""

    part_name = "row group"

    @classmethod
    def of(cls, path: Path) -> "ParquetTable":
        """Read the footers.

        Raises:
            OSError: no such file.
            ValueError: not a Parquet file, no rows, or files of a folder with different columns.
        """
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        groups: list[RowGroup] = []
        types: dict[str, str] = {}
        for file in files:
            footer = _opened(file)
            found = {field.name: str(field.type) for field in footer.schema_arrow}
            if types and found != types:
                raise ValueError(f"{file} and {files[0]} differ in columns or types; unify them")
            types = found
            for k in range(footer.metadata.num_row_groups):
                group, start = footer.metadata.row_group(k), groups[-1].stop if groups else 0
                groups.append(RowGroup(str(file), k, start, start + group.num_rows, group.total_byte_size))
        if not groups or not groups[-1].stop:
            raise ValueError(f"{path} has no rows; it needs one row per unit")
        return cls(str(path), tuple(types), tuple(groups))

    @override
    def decoded(self, group: RowGroup, columns: Sequence[str]) -> Any:
        try:
            with _opened(group.path) as file:
                return file.read_row_group(group.number, list(columns))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"row group {group.number} of {group.path}, rows {group.start + 1} to {group.stop}, cannot be read:"
                f" {' '.join(str(error).split())}; fetch the file again"
            ) from error


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
    """Return the footer, cached because every row group needs it."""
    from pyarrow import parquet

    return parquet.read_metadata(path)
