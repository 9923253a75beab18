"""Zarr groups, chunk by chunk: one array per column, as written by xarray and Dask."""

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
    """A table in a Zarr group of one-dimensional arrays of one length; missing chunks are refused."""

    part_name = "chunk"

    @classmethod
    def of(cls, path: Path) -> "ZarrTable":
        """Read the metadata.

        Raises:
            OSError: no such folder.
            ValueError: not a Zarr group, no rows, or arrays that are not columns.
        """
        arrays = _opened(path)
        shapes = {name: array.shape for name, array in arrays.items()}
        first = next(iter(shapes.values()), (0,))
        if odd := [name for name, shape in shapes.items() if len(shape) != 1 or shape != first]:
            raise ValueError(
                f"array {odd[0]!r} of {path} has shape {shapes[odd[0]]}; columns must have one dimension and one length"
            )
        if not first[0]:
            raise ValueError(f"{path} has no rows; it needs one row per unit")
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
    """Return whether a path is a Zarr group."""
    return path.suffix == ".zarr" or any((path / name).exists() for name in ("zarr.json", ".zgroup"))


def _opened(path: Path | str) -> dict[str, Any]:
    with needed("zarr", "Zarr tables"):
        import zarr
    Path(path).stat()  # OSError if there is no such folder
    group = _read(Path(path), partial(zarr.open_group, path, mode="r"))
    folders = sorted(folder for folder in Path(path).iterdir() if any((folder / name).exists() for name in _METADATA))
    found = {folder.name: _read(folder, partial(_node, group, folder)) for folder in folders}
    return {name: array for name, array in found.items() if isinstance(array, zarr.Array)}


def _node(group: Any, folder: Path) -> Any:
    node = group[folder.name]
    if (folder / ".zarray").exists() and not hasattr(node, "shape"):
        raise ValueError("it does not describe an array")
    return node


def _read(folder: Path, read: Callable[[], Any]) -> Any:
    """Read the metadata in a folder; ValueError with the file if they are invalid."""
    try:
        return read()
    except Exception as error:  # zarr raises many types of errors
        file = next((folder / name for name in _METADATA if (folder / name).exists()), folder)
        why = " ".join(str(error).split())
        raise ValueError(f"{file} cannot be read as Zarr: {why}; fetch the table again") from error


def _rows(array: Any) -> int:
    """Return the number of rows stored together."""
    return (array.shards or array.chunks)[0]


def _values(array: Any, group: RowGroup) -> np.ndarray:
    """Return rows of a column, chunk by chunk."""
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
            f"{where} is missing; fetch the table again or, if the chunk holds only the fill value, write it with"
            " write_empty_chunks=True"
        )
    try:
        return array[start:stop]
    except Exception as error:  # codecs raise many types of errors
        raise ValueError(f"{where} cannot be read: {' '.join(str(error).split())}; fetch the table again") from error
