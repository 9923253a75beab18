"""Zarr groups: read like the same table in Parquet; chunks that are damaged or gone are named."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from test_sample import drawn, people, same, written

from macal.survey.tables import frames
from macal.survey.tables.zarr import ZarrTable

zarr = pytest.importorskip("zarr")


def stored(table, path, chunks=(200, 350), form=3, **options):
    """Write a table as a group whose columns have chunks of two sizes, by turns."""
    group = zarr.open_group(path, mode="w", zarr_format=form)
    with zarr.config.set({"array.write_empty_chunks": True}):
        for k, name in enumerate(table):
            values = table[name].to_numpy()
            values = values if values.dtype.kind in "fiub" else values.astype(np.dtypes.StringDType())
            group.create_array(name, data=values, chunks=(chunks[k % 2],), **options)
    return path


@pytest.mark.parametrize("form", [2, 3])
@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
def test_a_sample_is_that_of_the_same_table_in_parquet(tmp_path, form):
    table = people(900)
    table = table[sorted(table)]  # a group has no order of its own
    if form == 2:
        table = table.assign(region=table["region"] == "north")
    paths = stored(table, tmp_path / "a.zarr", form=form), written(table, tmp_path / "a.parquet")
    same(*(drawn(frames.opened(path), jobs=2) for path in paths))
    pd.testing.assert_frame_equal(*(frames.read(path) for path in paths), check_dtype=False)


def test_chunks_in_shards_are_read(tmp_path):
    table = people(900)[sorted(people(9))]
    path = stored(table, tmp_path / "a.zarr", (100, 100), shards=(300,))
    assert [group.stop for group in ZarrTable.of(path).groups] == [300, 600, 900]
    same(*(drawn(frames.opened(one)) for one in (path, written(table, tmp_path / "a.parquet"))))


def test_a_damaged_chunk_and_a_missing_one_are_named(tmp_path):
    path = stored(people(1500), tmp_path / "people.zarr")
    chunk = path / "income" / "c" / "3"
    os.truncate(chunk, 60)
    with pytest.raises(ValueError, match=r"chunk 3 of .*people\.zarr/income, rows 601 to 800, cannot be read"):
        drawn(frames.opened(path))
    chunk.unlink()
    with pytest.raises(ValueError, match=r"chunk 3 of .*income, rows 601 to 800, is missing; .* write_empty_chunks"):
        drawn(frames.opened(path))


@pytest.mark.parametrize(("form", "file"), [(2, ".zgroup"), (2, "age/.zarray"), (3, "zarr.json"), (3, "age/zarr.json")])
@pytest.mark.parametrize("content", ["{", "[]", '{"zarr_format": 4, "node_type": "grp", "shape": ["x"]}'])
def test_broken_metadata_are_named(tmp_path, form, file, content):
    path = stored(people(60)[["age", "free"]], tmp_path / "people.zarr", form=form)
    (path / file).write_text(content)
    with pytest.raises(ValueError, match=f"people.zarr/{file} cannot be read"):
        frames.opened(path)


def test_what_is_no_table_is_refused(tmp_path):
    path = stored(people(1500), tmp_path / "people.zarr")
    for values, text in ((np.ones((1500, 2)), r"'odd' of .* has shape \(1500, 2\)"), (np.ones(9), r"shape \(9,\)")):
        group = zarr.open_group(path, mode="a")
        group.create_array("odd", data=values, overwrite=True)
        with pytest.raises(ValueError, match=text + "; columns must have one dimension"):
            frames.opened(path)
    shutil.rmtree(path)
    with pytest.raises(OSError, match="people.zarr"):
        frames.read(path)
    zarr.open_group(path, mode="w")
    with pytest.raises(ValueError, match="has no rows"):
        frames.opened(path)
    with pytest.raises(ValueError, match="chunk 0 of .* too much"):
        ZarrTable.of(stored(people(), path)).check_memory(1e3)
