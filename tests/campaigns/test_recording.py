"""Every recorded table has an origin: the catalogue, the one runner, and the command."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
from cases import each
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import roles

from macal import models, results, sweeps
from macal.campaigns import provenance
from macal.campaigns.records import Record, sha256
from macal.storage import atomic
from reproduction import __main__ as command
from reproduction import site
from reproduction.claims import CLAIMS, RULES, versions
from reproduction.studies import jobs, recording, tables, toy
from reproduction.studies.jobs import Answer, Job

GP = {"name": "exact-gp", "optimiser": "lbfgs", "steps": 8}
SPEC = sweeps.Spec("ihdp", {"random": {}}, (0, 1), GP, n_queries=1)
CONFIGS = [{"dataset": "toy", "protocol": "paper", "replication": k, "method": "random"} for k in range(3)]
SWEPT = [name for name, table in (tables.TABLES | tables.INTERIM).items() if not table.study]
GONE = ("alc-learned",)  # recorded only: the rule is removed
STUDIED = [name for name, table in tables.TABLES.items() if table.study and table.study != "tuning"]


def key(config):
    return Record(config, [], []).key


def keys(spec):
    return {key(spec.config(r, m)) for r in spec.replications for m in spec.methods}


def recorded(name, without=()):
    """Keys of the records of a table, but those of some methods; none where it is not recorded."""
    with suppress(FileNotFoundError):
        records = results.load(name).attrs["records"]
        return [key(r["config"]) for r in records if r["config"].get("method") not in without]
    return []


def test_every_table_says_what_makes_it():
    named = [name for t in tables.TABLES.values() for name in t.sweeps]
    assert len(named) == len(set(named)) and not {*tables.INTERIM} & {*tables.TABLES}
    for table in tables.TABLES.values():
        assert bool(table.study) != bool(table.sweeps), table.name
        assert {spec.dataset for spec in table.specs().values()} <= {table.dataset}, table.name
        assert not table.line or tables.by_dataset(table.line)[table.dataset] == table.name, "two tables on one line"


@pytest.mark.exhaustive
def test_every_recorded_table_is_of_the_data_set_that_it_names():
    found = {name: {*tables.load(name)["dataset"]} for name in tables.files() if name not in tables.FILES}
    assert found and found == {name: {tables.get(name).dataset} for name in found}


def test_sweeps_ask_for_the_records_they_always_asked_for():
    before = json.loads((results.FOLDER.parent / "tests" / "golden" / "sweeps.json").read_text(encoding="utf-8"))
    specs = {name: spec for table in tables.TABLES.values() for name, spec in table.specs().items()}
    now = {name: [[key(c) for c in chunk.configs] for chunk in sweeps.chunks(specs[name])] for name in before}
    assert {name: sha256(json.dumps(found))[:16] for name, found in now.items()} == before


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Recorded tables of two names, in a folder of their own."""
    for name in ("ihdp_s", "ihdp_s-squared"):
        put(name, name, tmp_path)
    monkeypatch.setattr(results, "load", partial(results.load, folder=tmp_path))
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    return tmp_path


def put(name, as_name, folder):
    for end in ("parquet", "json"):
        shutil.copy(tables.SPECS.parent / f"{name}.{end}", folder / f"{as_name}.{end}")


def test_a_file_that_is_not_declared_is_not_read(elsewhere):
    def read():
        found = [versions.load(name) for name in ("ihdp_s", "ihdp_gp", "ibm_gp")]
        return [None if t is None else t.to_csv() for t in found], tables.files(), said("ihdp_s* ihdp_s-squared")

    before = read()
    for name in ("ihdp_s-mine", "ihdp_gp-mine", "ibm_gp-mine", "bench_mine"):
        put("ihdp_shares", name, elsewhere)
    (elsewhere / "mine.csv").write_text("a,b")
    assert read() == before and before[2] == ["ihdp_s", "ihdp_s-squared", "ihdp_s-squared"]
    assert said("mine") == said("ihdp_s-mine") == said("ihdp_gp") == []
    for load in (tables.load, versions.load):
        with pytest.raises(ValueError, match="unknown table 'ihdp_gp-mine'"):
            load("ihdp_gp-mine")


def said(text):
    """The tables that a caption names by its role; none where it is refused."""
    roles.register_local_role("recorded", site._recorded)
    env = SimpleNamespace(app=SimpleNamespace(builder=SimpleNamespace(name="latex")))
    made = publish_doctree(f":recorded:`{text}`", settings_overrides={"env": env, "report_level": 5})
    return [node.astext() for node in made.findall(nodes.literal)]


def test_a_declared_table_that_is_missing_says_so(elsewhere, monkeypatch):
    with pytest.raises(FileNotFoundError, match="'ihdp_gp'"):
        tables.load("ihdp_gp")
    assert versions.load("ihdp_gp") is None
    monkeypatch.setattr(tables, "SPECS", elsewhere)
    with pytest.raises(FileNotFoundError, match="ihdp_gp-free.json"):
        tables.get("ihdp_gp").specs()


@pytest.mark.exhaustive
@each("name", SWEPT)
def test_each_record_of_a_sweep_is_answered_by_one_spec(name):
    table, have = tables.get(name), recorded(name)
    asked = {spec: keys(found) for spec, found in table.specs().items()}
    assert len(have) == len(set(have))
    assert [k for k in have if sum(k in found for found in asked.values()) != 1] == []
    for spec in table.sweeps:  # a chunk is there whole or not at all
        for chunk in sweeps.chunks(table.specs()[spec]):
            assert {key(c) in have for c in chunk.configs} in ({True}, {False})


@pytest.mark.exhaustive
@each("name", STUDIED)
def test_each_record_of_a_study_is_asked_for(name):
    asked = [key(config) for job in tables.get(name).jobs() for config in job.configs]
    assert len(asked) == len(set(asked)) and set(recorded(name, GONE)) <= set(asked)


WHOLE = {"D1", "W2", "W3", "S1", "S2", "S3"}  # which read their tables one after the other, and need each of them


def test_claims_rest_on_the_tables_that_they_name(monkeypatch):
    asked, load = [], results.load

    def none(name, *more):
        asked.append(name)
        raise FileNotFoundError(name)

    def real(name, *more):
        asked.append(name)
        return load(name, *more)

    for claim in (claim for claim in CLAIMS if any(claim.decided_by())):
        asked.clear()
        with monkeypatch.context() as patch, suppress(FileNotFoundError):
            patch.setattr(results, "load", real if claim.key in WHOLE else none)
            if claim.key not in WHOLE:
                patch.setattr(tables.Table, "recorded", property(lambda table: asked.extend(table.parts) or []))
            claim.verdicts(RULES)
        assert set(asked) - set(tables.INTERIM) == {*chain.from_iterable(claim.decided_by())}, claim.key


def test_lines_of_evidence():
    for version, end in ((versions.TEXT, "due"), (versions.CODE, "code"), (versions.EXACT, "gp")):
        assert version.tables == {name: f"{name}_{end}" for name in ("ihdp", "ibm", "cmnist")}
    with pytest.raises(ValueError, match=r"unknown table 'ihdp_deu' \(did you mean 'ihdp_due'"):
        tables.load("ihdp_deu")


def answers(*rows, calls=None):
    def work():
        if calls is not None:
            calls.append(len(rows))
        return [Answer([{"pehe": row}], [[np.int64(3), 1]]) for row in rows]

    return work


def test_a_job_is_done_once_and_its_picks_are_kept(tmp_path):
    calls, told = [], []
    made = [Job(CONFIGS[:2], answers(1.5, 2.5, calls=calls), models.get("due", device="cpu"))]
    for _ in range(2):
        jobs.run(made, tmp_path, told.append)
    assert calls == [2] and len(told) == 1 and "replication 0" in told[0]
    found = {r.config["replication"]: r for r in results.read_all(tmp_path)}
    assert [found[k].rows for k in (0, 1)] == [[{"pehe": 1.5}], [{"pehe": 2.5}]]
    assert found[0].picks == [[3, 1]] and found[0].manifest["device"] == "cpu"
    assert found[0].manifest["seconds"] == found[1].manifest["seconds"]


def test_a_damaged_record_is_set_aside_and_its_job_done_again(tmp_path):
    made = [Job(CONFIGS[:2], answers(1.5, 2.5))]
    jobs.run(made, tmp_path, lambda line: None)
    kept, path = (tmp_path / f"{key(config)}.json" for config in CONFIGS[:2])
    before = kept.stat().st_mtime_ns
    path.write_text(path.read_text().replace("2.5", "2.4"))
    jobs.run(made, tmp_path, lambda line: None)
    assert results.read(path).rows == [{"pehe": 2.5}] and path.with_suffix(".damaged").exists()
    assert kept.stat().st_mtime_ns == before


def test_jobs_are_run_so_many_at_a_time_and_failures_keep_what_is_done(tmp_path):
    def fail():
        raise ValueError("no such infants")

    made = [Job([config], answers(float(k))) for k, config in enumerate(CONFIGS)]
    jobs.run(made, tmp_path, lambda line: None, at_most=1)
    assert [r.config["replication"] for r in results.read_all(tmp_path)] == [0]
    with pytest.raises(ValueError, match="no such infants"):
        jobs.run([*made[:2], Job(CONFIGS[2:], fail)], tmp_path, lambda line: None)
    assert len(results.read_all(tmp_path)) == 2
    with atomic.locked(tmp_path / f".{key(CONFIGS[2])}.lock"):  # another process runs it
        jobs.run(made, tmp_path, lambda line: None)
    assert len(results.read_all(tmp_path)) == 2


@pytest.fixture
def tiny(monkeypatch):
    """Make the catalogue hold two tables that are quickly made: ``swept`` and ``toy``."""
    part = toy.Part({"symmetry": toy.FIGURE["symmetry"], "macal": toy.FIGURE["macal"]}, "lbfgs", centre=3.0, every=24)
    monkeypatch.setitem(toy.RECORDED, "toy", (part,))
    swept = tables.Table("ihdp_quick", "ihdp", "a sweep", sweeps=("one", "two"))
    specs = {"one": SPEC, "two": replace(SPEC, methods={"macal": {}})}
    monkeypatch.setattr(tables.Table, "specs", lambda self: specs)
    return {"swept": swept, "toy": tables.get("toy"), "part": part}


def test_sweeps_of_a_table_are_run_in_parts_and_published(tiny, tmp_path, capsys):
    store, into = tmp_path / "store", tmp_path / "out"
    with pytest.raises(results.Incomplete, match="3 of 4"):
        recording.record(tiny["swept"], store, into, jobs=1)
    assert not into.exists() and len(results.read_all(store)) == 1
    part = recording.record(tiny["swept"], store, into, jobs=2, partial=True)
    assert part.groupby("method").replication.nunique().to_dict() == {"random": 2, "macal": 1}
    with pytest.raises(FileExistsError, match="--replace"):
        recording.record(tiny["swept"], store, into)
    assert len(results.read_all(store)) == 3  # nothing was run in vain
    whole = recording.record(tiny["swept"], store, into, replace=True)
    assert whole.groupby("method").replication.nunique().to_dict() == {"random": 2, "macal": 2}
    assert "3 added" not in capsys.readouterr().out and len(results.requested_keys(store)) == 2


@pytest.mark.exhaustive
def test_the_toy_study_is_recorded_as_it_is_run(tiny, tmp_path):
    store, into = tmp_path / "store", tmp_path / "out"
    found = recording.record(tiny["toy"], store, into, replications=2)
    assert found.labelled.tolist() == [25, 265] * 4 and set(found.centre) == {3.0}
    again = toy.run(tiny["part"], range(2))
    merged = again.merge(found, on=["replication", "method", "labelled"], suffixes=("", "_recorded"))
    for name in ("pehe", "w1", *toy.MEASURES):
        np.testing.assert_array_equal(merged[name], merged[f"{name}_recorded"])
    own = {
        (r["config"]["replication"], r["config"]["method"]): r["picks"]
        for r in results.load("toy", into).attrs["records"]
    }
    assert own[1, "macal"] == again.attrs["picks"][3] and len(own) == 4


def test_uncommitted_code_runs_nothing(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "origin", lambda: {"code": "a", "commit": "b", "dirty": True})
    with pytest.raises(results.Uncommitted):
        recording.record(tiny["swept"], tmp_path / "store", tmp_path / "out", replications=1)
    assert not (tmp_path / "store").exists()
    found = recording.record(tiny["swept"], tmp_path / "store", tmp_path / "out", replications=1, dirty=True)
    assert results.origins(results.load("ihdp_quick", tmp_path / "out")).index.tolist() == [("b", "yes")]
    assert set(found.replication) == {0} and set(found.method) == {"random", "macal"}


def test_the_command_passes_on_what_is_asked(monkeypatch, capsys, tmp_path):
    asked = []
    monkeypatch.setattr(
        recording, "record", lambda table, store, **more: asked.append((table.name, store, more)) or [1]
    )
    into = ["--into", str(tmp_path)]
    given = ["--jobs", "3", "--replications", "2", "--workers", "4", "--replace", "--partial", "--dirty"]
    assert command.main(["record", "toy", "--store", str(tmp_path), *into, *given]) == 0
    assert command.main(["record", "toy", *into]) == 0
    common = {"into": tmp_path}
    some = common | dict.fromkeys(("replace", "partial", "dirty"), True) | {"workers": 4, "jobs": 3, "replications": 2}
    none = common | dict.fromkeys(("replace", "partial", "dirty"), False) | dict.fromkeys(("jobs", "replications"))
    assert asked == [("toy", tmp_path, some), ("toy", recording.Path("runs/toy"), none | {"workers": 1})]
    for option in ("jobs", "replications"):
        assert command.main(["record", "toy", f"--{option}", "0", *into]) == 1
        assert option in capsys.readouterr().err
    assert command.main(["record", "toi"]) == 1
    assert "'toy'" in capsys.readouterr().err


def test_the_books_own_tables_are_not_replaced_unasked(tmp_path, capsys):
    assert command.main(["record", "toy", "--store", str(tmp_path / "store")]) == 1
    assert "toy.parquet exists" in capsys.readouterr().err and not (tmp_path / "store").exists()


def test_the_command_lists_the_catalogue(monkeypatch, capsys):
    monkeypatch.setattr(tables, "TABLES", {"cmnist_code": tables.TABLES["cmnist_code"]})
    monkeypatch.setattr(tables, "INTERIM", {})
    assert command.main(["record"]) == 0
    assert "cmnist_code    30        20" in capsys.readouterr().out
