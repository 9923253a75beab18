"""Zarr groups, chunk by chunk: one array for each column, as xarray and Dask write them."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from macal.compat import override
from macal.optional import needed
from macal.survey.tables.blocks import GroupedTable, RowGroup

_METADATA = ("zarr.json", ".zarray", ".zgroup")


class ZarrTable(GroupedTable):
    """A table in a Zarr group of arrays of one dimension and one length, each a column, values as they are stored.

    A chunk is damaged where its codec says so; one that is missing is refused, even if it held the fill value alone.
    """

    part_name = "chunk"

    @classmethod
    def of(cls, path: Path) -> "ZarrTable":
        """Read the metadata.

        Raises:
            OSError: there is no such folder.
            ValueError: it is no Zarr group, or has no rows; arrays that are no columns.
        """
        arrays = _opened(path)
        shapes = {name: array.shape for name, array in arrays.items()}
        first = next(iter(shapes.values()), (0,))
        if odd := [name for name, shape in shapes.items() if len(shape) != 1 or shape != first]:
            raise ValueError(
                f"array {odd[0]!r} of {path} has shape {shapes[odd[0]]}; columns need one dimension and one length"
            )
        if not first[0]:
            raise ValueError(f"{path} has no rows; one row for each unit is needed")
        n, step = first[0], max(_rows(array) for array in arrays.values())
        width = sum(array.dtype.itemsize for array in arrays.values())
        starts = range(0, n, step)
        groups = (RowGroup(str(path), k, a, min(a + step, n), width * step) for k, a in enumerate(starts))
        return cls(str(path), tuple(arrays), tuple(groups))

    @override
    def decoded(self, group: RowGroup, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        return pa.table({name: pa.array(_values(self._arrays[name], group)) for name in columns})

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        return _opened(self.path)


def is_zarr(path: Path) -> bool:
    """Whether a path is that of a Zarr group."""
    return path.suffix == ".zarr" or any((path / name).exists() for name in ("zarr.json", ".zgroup"))


def _opened(path: Path | str) -> dict[str, Any]:
    with needed("zarr", "Zarr tables"):
        import zarr
    Path(path).stat()  # OSError where there is no such folder
    group = _read(Path(path), partial(zarr.open_group, path, mode="r"))
    folders = sorted(folder for folder in Path(path).iterdir() if any((folder / name).exists() for name in _METADATA))
    found = {folder.name: _read(folder, partial(_node, group, folder)) for folder in folders}
    return {name: array for name, array in found.items() if isinstance(array, zarr.Array)}


def _node(group: Any, folder: Path) -> Any:
    node = group[folder.name]
    if (folder / ".zarray").exists() and not hasattr(node, "shape"):
        raise ValueError("it describes no array")
    return node


def _read(folder: Path, read: Callable[[], Any]) -> Any:
    """Read the metadata in a folder; ValueError with the name of the file where they are wrong."""
    try:
        return read()
    except Exception as error:  # zarr has errors of many kinds for them
        file = next((folder / name for name in _METADATA if (folder / name).exists()), folder)
        told = " ".join(str(error).split())
        raise ValueError(f"{file} cannot be read as Zarr: {told}; take the table from its source again") from error


def _rows(array: Any) -> int:
    """Rows that are stored together."""
    return (array.shards or array.chunks)[0]


def _values(array: Any, group: RowGroup) -> np.ndarray:
    """Rows of a column, chunk by chunk."""
    step = _rows(array)
    chunks = range(group.start // step, math.ceil(group.stop / step))
    parts = [_chunk(array, k)[max(group.start - k * step, 0) : group.stop - k * step] for k in chunks]
    values = np.concatenate(parts)
    return values.astype(object) if values.dtype.kind == "T" else values


def _chunk(array: Any, k: int) -> np.ndarray:
    start, stop = k * _rows(array), min((k + 1) * _rows(array), array.shape[0])
    folder = Path(array.store.root) / array.path
    where = f"chunk {k} of {folder}, rows {start + 1} to {stop},"
    if not (folder / array.metadata.encode_chunk_key((k,))).exists():
        raise ValueError(
            f"{where} is missing; take the table from its source again, or, if it holds nothing but the fill value,"
            " write it with write_empty_chunks=True"
        )
    try:
        return array[start:stop]
    except Exception as error:  # codecs have errors of many kinds
        raise ValueError(
            f"{where} cannot be read: {' '.join(str(error).split())}; take the table from its source again"
        ) from error
