"""Plans of Zarr groups out of memory: those of the same table in Parquet; chunks that are damaged or gone are named."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from test_scale_parquet import COLUMNS, POLICY, people, written

from macal.__main__ import main
from macal.planner import large
from macal.planner.large import plan_large
from macal.planner.people import Columns
from macal.planner.policy import Policy
from macal.scale import blocks
from macal.scale.zarr import ZarrTable

zarr = pytest.importorskip("zarr")


@pytest.fixture
def small(monkeypatch, unchecked):
    monkeypatch.setattr(blocks, "BLOCK", 128)
    monkeypatch.setattr(large, "PERSON", np.inf)  # never among people


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
def test_a_plan_is_that_of_the_same_table_in_parquet(small, tmp_path, form):
    table = people(900).assign(known=lambda t: np.where(t.index % 300 == 5, 1.0, np.nan))
    if form == 2:
        table = table.assign(region=table["region"] == "north")
    columns = Columns("free", identifier="person", outcome="known")
    plan, other = (
        plan_large(path, columns, POLICY, tolerance=0.5).people
        for path in (stored(table, tmp_path / "a.zarr", form=form), written(table, tmp_path / "a.parquet"))
    )
    pd.testing.assert_frame_equal(plan, other)


def test_chunks_in_shards_are_read(small, tmp_path):
    table = people(900)
    path = stored(table, tmp_path / "a.zarr", (100, 100), shards=(300,))
    assert [group.stop for group in ZarrTable.of(path).groups] == [300, 600, 900]
    plan, other = (plan_large(one, COLUMNS, POLICY).people for one in (path, written(table, tmp_path / "a.parquet")))
    pd.testing.assert_frame_equal(plan, other)


def test_a_damaged_chunk_and_a_missing_one_are_named(small, tmp_path):
    path = stored(people(), tmp_path / "people.zarr")
    chunk = path / "income" / "c" / "3"
    os.truncate(chunk, 60)
    with pytest.raises(ValueError, match=r"chunk 3 of .*people\.zarr/income, rows 601 to 800, cannot be read"):
        plan_large(path, COLUMNS, POLICY)
    chunk.unlink()
    with pytest.raises(ValueError, match=r"chunk 3 of .*income, rows 601 to 800, is missing; .* write_empty_chunks"):
        plan_large(path, COLUMNS, POLICY)


def test_a_coordinate_names_people_and_is_no_covariate(small, tmp_path):
    path = stored(people(), tmp_path / "people.zarr")
    group, names = zarr.open_group(path, mode="a"), np.arange(1500) * 3
    group.create_array("row", data=names, chunks=(500,), dimension_names=["row"], config={"write_empty_chunks": True})
    roles = plan_large(path, COLUMNS, POLICY).roles
    assert roles.loc["row"].tolist() == ["left out", "coordinate of int64, which is neither a number nor a category"]
    named = plan_large(path, Columns("free", identifier="row"), POLICY).people
    assert named.index.isin(names).all()


def test_what_is_no_table_is_refused(small, tmp_path):
    path = stored(people(), tmp_path / "people.zarr")
    for values, text in ((np.ones((1500, 2)), r"'odd' of .* has shape \(1500, 2\)"), (np.ones(9), r"shape \(9,\)")):
        group = zarr.open_group(path, mode="a")
        group.create_array("odd", data=values, overwrite=True)
        with pytest.raises(ValueError, match=text + "; columns need one dimension and one length"):
            plan_large(path, COLUMNS, POLICY)
    shutil.rmtree(path)
    with pytest.raises(OSError, match="people.zarr"):
        plan_large(path, COLUMNS, POLICY)
    zarr.open_group(path, mode="w")
    with pytest.raises(ValueError, match="has no rows"):
        plan_large(path, COLUMNS, POLICY)
    with pytest.raises(ValueError, match="chunk 0 of .* too much"):
        ZarrTable.of(stored(people(), path)).check_memory(1e3)


def test_the_command_plans_a_group_without_being_told_how(small, tmp_path, capsys):
    path, out = stored(people(), tmp_path / "people.zarr"), tmp_path / "plan.csv"
    given = [str(path), "--treatment", "free", "--budget", "20", "-o", str(out), "--id", "person"]
    assert main(["plan", *given, "--criterion", "alc-fixed", "--parameter", "targets=50"]) == 0
    assert "no pick is more than" in capsys.readouterr().out
    found = plan_large(path, COLUMNS, Policy(20, "alc-fixed", parameters={"targets": 50})).people
    pd.testing.assert_frame_equal(pd.read_csv(out, index_col="person"), found, check_dtype=False)
