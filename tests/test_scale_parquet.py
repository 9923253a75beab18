"""Plans of Parquet files out of memory: those of the planner, whatever the layout of the file and whoever works."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from processes import deadly, forked, forked_workers

from macal.__main__ import main
from macal.planner import large
from macal.planner.large import bytes_of, plan_large
from macal.planner.people import Columns
from macal.planner.planner import Planner
from macal.planner.policy import Policy
from macal.scale import blocks, workers
from macal.scale.blocks import added
from macal.scale.parquet import ParquetTable
from macal.scale.workers import hands

COLUMNS = Columns("free", identifier="person")
POLICY = Policy(40, "macal", batch_size=10)


@pytest.fixture
def small(monkeypatch, unchecked):
    monkeypatch.setattr(blocks, "BLOCK", 128)
    monkeypatch.setattr(large, "BALLS", 200)
    monkeypatch.setattr(large, "FIRST", 50)
    monkeypatch.setattr(large, "PERSON", np.inf)  # never among people


def people(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"person": rng.permutation(n) + 7, "age": rng.integers(18, 90, n).astype(float)})
    table["income"], table["bmi"] = rng.lognormal(10, 1, n), rng.normal(25, 4, n).round(1)
    table["region"] = rng.choice(["north", "south", "west"], n)
    table["free"] = (rng.random(n) < 0.3).astype(int)
    return table


def written(table, path, rows=200):
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, engine="pyarrow", index=False, row_group_size=rows, write_page_checksum=True)
    return path


def test_sums_of_blocks_are_those_of_numpy_to_the_last_bit(monkeypatch):
    rng = np.random.default_rng(0)
    for n in (1, 127, 129, 1000, 4099, 100_003):
        monkeypatch.setattr(blocks, "BLOCK", int(rng.choice([128, 300, 1000])))
        values = rng.lognormal(0, 3, n)
        spans = list(blocks._leaves(0, n))
        total = added([np.array([values[a:b].sum()]) for a, b in spans], n)
        assert total[0] == values.sum() and spans[-1][1] == n


@pytest.mark.parametrize("criterion", ["macal", "qhte", "symmetry", "coreset", "alc-fixed"])
def test_with_no_tolerance_the_plan_is_the_planners(small, tmp_path, criterion):
    table, policy = people(), Policy(40, criterion)
    plain = Planner("free", 40, identifier="person", criterion=criterion).plan(table)
    found = plan_large(written(table, tmp_path / "people.parquet"), COLUMNS, policy, tolerance=0.0)
    pd.testing.assert_frame_equal(found.people.drop(columns="within"), plain)
    assert (found.people["within"] == 0).all()


def test_known_outcomes_arms_and_rows_without_names(small, tmp_path):
    table = people().drop(columns="person")
    table["free"] = np.where(table["free"] == 1, "sms", np.where(table["age"] > 60, "call", "none"))
    table["visits"] = np.where(np.arange(len(table)) % 300 == 5, 1.0, np.nan)
    options = {"outcome": "visits", "reference": "none"}
    plain = Planner("free", 30, criterion="macal", **options).plan(table)
    found = plan_large(
        written(table, tmp_path / "a.parquet"), Columns("free", **options), Policy(30, "macal"), tolerance=0.0
    )
    pd.testing.assert_frame_equal(found.people.drop(columns="within"), plain, check_dtype=False, check_index_type=False)


def test_neither_row_groups_nor_files_change_a_plan_with_a_tolerance(small, tmp_path):
    table = people()
    paths = [written(table, tmp_path / f"{rows}.parquet", rows) for rows in (90, 1500)]
    plans = [plan_large(path, COLUMNS, POLICY, tolerance=0.5) for path in paths]
    for k in range(3):
        written(table[500 * k : 500 * (k + 1)], tmp_path / "parts" / f"{k}.parquet", 210)
    plans.append(plan_large(tmp_path / "parts", COLUMNS, POLICY, tolerance=0.5))
    for one in plans[1:]:
        pd.testing.assert_frame_equal(one.people, plans[0].people)
    assert 0 < plans[0].people["within"].max() <= 0.5


def test_a_damaged_row_group_is_named(small, tmp_path):
    path = written(people(), tmp_path / "people.parquet")
    chunk = pq.ParquetFile(path).metadata.row_group(3).column(2)
    content = bytearray(path.read_bytes())
    middle = chunk.data_page_offset + chunk.total_compressed_size // 3
    content[middle : middle + 40] = bytes(byte ^ 255 for byte in content[middle : middle + 40])
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"row group 3 of .*people\.parquet, rows 601 to 800, cannot be read"):
        plan_large(path, COLUMNS, POLICY)


def test_what_only_memory_can_plan_is_refused(small, tmp_path):
    path = written(people(), tmp_path / "people.parquet")
    for columns, policy, text in (
        (COLUMNS, Policy(40, quotas=["region>=3"]), "'quotas' needs the whole table in memory"),
        (Columns("free", cost="age"), POLICY, "'cost' needs the whole table in memory"),
        (Columns("free", cluster="region"), POLICY, "'cluster' needs"),
        (Columns("free", cost=-1.0), POLICY, "the cost must be a number above 0"),
        (COLUMNS, Policy(40, "abc3"), "ABC3 cannot be planned out of memory"),
        (Columns("region"), POLICY, "region must hold both 0 and 1"),
        (Columns("gone"), POLICY, "gone"),
    ):
        with pytest.raises(ValueError, match=text):
            plan_large(path, columns, policy)
    with pytest.raises(ValueError, match="memory must be at least 0.5GB here"):
        plan_large(path, COLUMNS, POLICY, memory=1e8)
    with pytest.raises(ValueError, match=r"1040 targets and labels need 0.54GB of this process; take fewer targets"):
        plan_large(path, COLUMNS, Policy(40, "alc-fixed"), memory=5.2e8)
    with pytest.raises(ValueError, match="row group 0 of .* too much"):
        ParquetTable.of(path).check_memory(1e3)
    table = people()
    table.loc[[3, 9], "bmi"] = np.nan
    with pytest.raises(ValueError, match=r"missing or infinite values in bmi \(2\) of 1500 rows"):
        plan_large(written(table, tmp_path / "gaps.parquet"), COLUMNS, POLICY)


def test_memory_is_read():
    assert [bytes_of(text) for text in ("8GB", "500 MB", "2g", "1e9"[:1])] == [8e9, 5e8, 2e9, 1.0]
    with pytest.raises(ValueError, match="memory must be a number of bytes"):
        bytes_of("much")


def test_the_command_plans_out_of_memory(small, tmp_path, capsys):
    path, out = written(people(), tmp_path / "people.parquet"), tmp_path / "plan.csv"
    given = [str(path), "--treatment", "free", "--budget", "20", "-o", str(out), "--id", "person"]
    assert main(["plan", *given, "--tolerance", "0", "--memory", "1GB"]) == 0
    told = capsys.readouterr().out
    assert "no pick is more than 0 below the best, 100% are the best" in told and "left out" not in told
    assert pd.read_csv(out).columns.tolist() == ["person", "round", "free", "cost", "within"]
    assert main(["plan", *given, "--replace", "--memory", "1GB", "--report", str(tmp_path / "r.html")]) == 1
    assert "--report need the whole table in memory" in capsys.readouterr().err


DYING = """
import os, signal
with open({path!r}, "a") as file:
    file.write(".")
if os.path.getsize({path!r}) <= {deaths}:
    os.kill(os.getpid(), signal.SIGKILL)
"""
PEAK = """
import resource
def peak():
    return 1000 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from macal.planner import large
large.PERSON, large._BASE = float("inf"), peak() + 1e8
memory = large._BASE + 1.5e7
found = large.plan_large(path, columns, policy, memory=memory, tolerance=1e-9)
with open(told, "w") as file:
    file.write(f"{found.balls} {peak() / memory}")
"""
on_a_cluster = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.mark.exhaustive
def test_memory_is_kept(small, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(6000, 60))).add_prefix("number_").assign(free=np.arange(6000) % 2)
    path, told = written(table, tmp_path / "wide.parquet", 2000), tmp_path / "told"
    forked(PEAK, path=path, columns=Columns("free"), policy=Policy(100, "macal"), told=told).join()
    balls, share = map(float, told.read_text().split())
    assert 4000 < balls < 6000 and share < 1  # balls were opened until they were too many


@pytest.mark.exhaustive
@on_a_cluster
def test_a_job_may_see_more_workers_die_than_dask_allows(tmp_path):
    path = tmp_path / "deaths"
    with forked_workers(), hands("local", 1e9) as each:
        assert each(exec, [DYING.format(path=str(path), deaths=5), "pass"], "dying") == [None, None]
    assert len(path.read_text()) == 6


@pytest.mark.exhaustive
@on_a_cluster
def test_the_command_plans_on_a_cluster(small, tmp_path, monkeypatch):
    for module in (large, workers):
        monkeypatch.setattr(module, "processors", lambda: 2)
    path = written(people(600), tmp_path / "people.parquet")
    given = [str(path), "--treatment", "free", "--budget", "20", "--id", "person", "--memory", "4GB"]
    with forked_workers():
        assert main(["plan", *given, "-o", str(tmp_path / "cluster.csv"), "--scheduler", "local"]) == 0
    assert main(["plan", *given, "-o", str(tmp_path / "alone.csv")]) == 0
    assert (tmp_path / "cluster.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()


@pytest.mark.exhaustive
@pytest.mark.parametrize("deaths", [3])
@on_a_cluster
def test_killed_workers_cost_their_parts_alone(small, tmp_path, monkeypatch, deaths):
    path, policy = written(people(1500), tmp_path / "people.parquet", 300), Policy(20, "qhte")
    alone = plan_large(path, COLUMNS, policy, tolerance=0.1)
    marks = [tmp_path / f"death {k}" for k in range(deaths)]
    waiting = iter(marks)

    @contextmanager
    def killed(scheduler, memory):
        with hands(scheduler, memory) as each:
            # of the jobs done together, whoever is the second ends its worker
            yield lambda call, jobs, what: each(
                deadly, [(call, job, next(waiting, None) if k == 1 else None) for k, job in enumerate(jobs)], what
            )

    monkeypatch.setattr(large, "hands", killed)
    for module in (large, workers):
        monkeypatch.setattr(module, "processors", lambda: 2)
    with forked_workers():
        found = plan_large(path, COLUMNS, policy, "local", tolerance=0.1)
    pd.testing.assert_frame_equal(found.people, alone.people)
    assert all(mark.exists() for mark in marks)
