"""Sweeps end with the same bits, whatever happens to them on the way."""

import contextlib
import json
import os
import random
import signal
import threading
import time
from dataclasses import asdict, replace
from types import SimpleNamespace

import pandas as pd
import psutil
import pytest
from cases import each
from processes import command, forked

from macal import __main__, results, sweeps
from macal.campaigns import records
from macal.campaigns.sweeps import Spec, chunks, listing, run_chunk
from macal.storage import atomic

GP = {"name": "exact-gp", "optimiser": "lbfgs", "steps": 8}
SPEC = Spec("ihdp", {"random": {}, "macal": {"alpha": 1.0}, "mu-bald": {}}, (0, 1), GP, n_queries=3, every=2, block=2)
FORK = "import threading, macal, tqdm; tqdm.tqdm.set_lock(threading.RLock()); macal.sweep(spec, store)"


def same(one, other):
    pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    store = tmp_path_factory.mktemp("undisturbed")
    return sweeps.sweep(SPEC, store), store


def test_a_sweep_has_every_campaign_and_training(undisturbed):
    table, store = undisturbed
    found = table.groupby(["method", "replication"]).step.apply(list)
    assert found["random", 0] == found["macal", 1] == [0, 2, 3] and found["mu-bald", 0] == [0, 1, 2, 3]
    assert set(table.columns) >= set("dataset protocol alpha labelled treated pehe pehe_valid w1 radius".split())
    assert table[table.method == "macal"].alpha.eq(1.0).all()
    for record in results.read_all(store):
        assert len(record.picks) == 3 and record.manifest["threads"] == 1 and record.manifest["sources"]
    assert not list((store / "checkpoints").iterdir())


def test_methods_share_the_training_at_their_start(undisturbed):
    start = undisturbed[0].query("step == 0")
    assert start.groupby("replication").pehe.nunique().eq(1).all()


def test_finished_campaigns_are_not_run_again(undisturbed):
    table, store = undisturbed
    before = {p: p.stat().st_mtime_ns for p in store.glob("*.json")}
    same(sweeps.sweep(SPEC, store), table)
    assert {p: p.stat().st_mtime_ns for p in store.glob("*.json")} == before
    assert listing(SPEC, store).finished.all() and listing(SPEC, store).hours.sum() == 0


def test_listing_counts_before_anything_is_run(tmp_path):
    found = listing(SPEC, tmp_path, seconds=36.0)
    assert found.campaigns.tolist() == [2, 2, 2] and found.trainings.tolist() == [6, 6, 8]
    assert not found.finished.any() and found.hours.sum() == pytest.approx(0.2) and not list(tmp_path.iterdir())


@pytest.mark.exhaustive
def test_a_sweep_that_is_killed_again_and_again_ends_with_the_same_bits(tmp_path, unchecked):
    kills = 20
    spec = replace(SPEC, replications=tuple(range(kills // 2 + 1)))
    table = sweeps.sweep(spec, tmp_path / "undisturbed")
    store = tmp_path / "disturbed"
    moments = random.Random(0)
    finished, halfway = {}, 0
    for _ in range(kills):
        begun, process = time.time(), forked(FORK, spec=spec, store=store)
        while process.is_alive() and not any(p.stat().st_mtime > begun for p in store.glob(".*.lock")):
            time.sleep(0.02)
        time.sleep(0.6 * moments.random())
        process.kill()
        process.join()
        process.close()
        now = {p.name: p.stat().st_mtime_ns for p in store.glob("*.json")}
        assert finished.items() <= now.items(), "a finished campaign was lost or run again"
        halfway += len(now) < len(table.groupby(["method", "replication"]))
        finished = now
    assert halfway >= 0.6 * kills, "most kills came after the end"
    same(sweeps.sweep(spec, store), table)


def test_a_chunk_continues_from_its_checkpoint(undisturbed, tmp_path, monkeypatch):
    chunk = chunks(SPEC)[-1]
    trained = []
    plain = sweeps.loop.train

    def count(model, requests):
        trained.append(len(requests))
        if len(trained) == 3:
            raise KeyboardInterrupt
        return plain(model, requests)

    monkeypatch.setattr(sweeps.loop, "train", count)
    with pytest.raises(KeyboardInterrupt):
        run_chunk(chunk, tmp_path)
    assert run_chunk(chunk, tmp_path) == "done" and trained == [2] * 5  # two steps, one broken off, two more
    mine = results.table(results.read_all(tmp_path)).sort_values(["replication", "step"])
    other = undisturbed[0].query("method == 'mu-bald'").sort_values(["replication", "step"])
    same(mine.reset_index(drop=True), other[mine.columns].reset_index(drop=True))


def test_a_chunk_that_is_cut_off_among_its_records_writes_only_the_others(undisturbed, tmp_path, monkeypatch):
    chunk = next(chunk for chunk in chunks(SPEC) if len(chunk.campaigns) == 2)
    plain, first = records.write, []

    def cut_off(record, folder):
        if folder == tmp_path and first:
            raise KeyboardInterrupt
        path = plain(record, folder)
        if folder == tmp_path:
            first.append((path, path.stat().st_mtime_ns))

    monkeypatch.setattr(records, "write", cut_off)
    with pytest.raises(KeyboardInterrupt):
        run_chunk(chunk, tmp_path)
    monkeypatch.setattr(records, "write", plain)
    monkeypatch.setattr(sweeps.loop, "train", None)  # nothing is left to train
    assert run_chunk(chunk, tmp_path) == "done"
    [(path, written)] = first
    assert path.stat().st_mtime_ns == written
    for record in results.read_all(tmp_path):
        assert record.rows == results.read(undisturbed[1] / f"{record.key}.json").rows


@pytest.mark.parametrize("fault", ["truncated", "flipped", "empty"])
def test_a_damaged_record_is_set_aside_and_run_again(undisturbed, tmp_path, fault):
    spec = replace(SPEC, methods={"random": {}}, replications=(0,), n_queries=1)
    table = sweeps.sweep(spec, tmp_path)
    path = next(tmp_path.glob("*.json"))
    content = path.read_bytes()
    flipped = content[:200] + bytes([content[200] ^ 4]) + content[201:]
    path.write_bytes({"truncated": content[:-20], "flipped": flipped, "empty": b""}[fault])
    same(sweeps.sweep(spec, tmp_path), table)
    assert path.with_suffix(".damaged").exists()


def test_a_listing_changes_nothing(tmp_path):
    spec = replace(SPEC, methods={"random": {}}, replications=(0,), n_queries=1)
    sweeps.sweep(spec, tmp_path)
    path = next(tmp_path.glob("*.json"))
    os.truncate(path, 200)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    assert listing(spec, tmp_path).finished.tolist() == [False]
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before


def test_a_foreign_record_under_a_campaigns_name_is_refused(tmp_path):
    spec = replace(SPEC, methods={"random": {}}, replications=(0, 1), n_queries=1)
    sweeps.sweep(spec, tmp_path)
    one, other = tmp_path.glob("*.json")
    one.write_bytes(other.read_bytes())
    with pytest.raises(results.ForeignRecord, match="another configuration: replication differ"):
        sweeps.sweep(spec, tmp_path)


def test_a_failing_chunk_is_recorded_and_does_not_stop_the_others(tmp_path, monkeypatch):
    spec = replace(SPEC, methods={"random": {}}, n_queries=1)
    plain = sweeps.datasets.load

    def load(name, seed, protocol):
        if seed == 0:
            raise OSError("no such infants")
        return plain(name, seed, protocol)

    monkeypatch.setattr(sweeps.datasets, "load", load)
    with pytest.raises(RuntimeError, match=r"1 of 2 chunks failed[\s\S]*no such infants"):
        sweeps.sweep(spec, tmp_path)
    assert [r.config["replication"] for r in results.read_all(tmp_path)] == [1]
    assert "no such infants" in next(tmp_path.glob("*.failed")).read_text()
    monkeypatch.undo()
    assert set(sweeps.sweep(spec, tmp_path).replication) == {0, 1} and not list(tmp_path.glob("*.failed"))


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    for call in (sweeps.sweep, listing):
        with pytest.raises(NotADirectoryError, match="file"):
            call(replace(SPEC, n_queries=1), tmp_path / "file")


def test_what_another_process_runs_is_not_passed_off_as_finished(tmp_path, capsys):
    spec = replace(SPEC, methods={"random": {}}, n_queries=1)
    (tmp_path / "spec.json").write_text(json.dumps(asdict(spec)))
    store = tmp_path / "store"
    store.mkdir()
    call = ["sweep", str(tmp_path / "spec.json"), str(store)]
    with atomic.locked(store / f".{chunks(spec)[0].name}.lock"):
        with pytest.raises(sweeps.Unfinished, match="1 of 2 .* 1 "):
            sweeps.sweep(spec, store)
        assert len(results.read_all(store)) == 1
        assert __main__.main(call) == 3
    assert __main__.main(call) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 of 2 ")


def test_a_sweep_leaves_in_the_store_what_it_was_asked_for(tmp_path):
    spec = replace(SPEC, methods={"random": {}}, replications=(0,), n_queries=1)
    sweeps.sweep(spec, tmp_path)
    sweeps.sweep(spec, tmp_path)
    [(path, keys)] = results.requested_keys(tmp_path).items()
    assert Spec(**json.loads(path.read_text())["asked"]) == spec
    assert keys == {record.key for record in results.read_all(tmp_path)}
    sweeps.sweep(replace(spec, replications=(0, 1)), tmp_path)
    assert sorted(map(len, results.requested_keys(tmp_path).values())) == [1, 2]


@pytest.mark.exhaustive
def test_processes_and_one_process_agree(undisturbed, tmp_path):
    same(sweeps.sweep(SPEC, tmp_path, workers=2), undisturbed[0])


def session(pid):
    """Processes that were started by the leader of a session, and by those, and still run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


@contextlib.contextmanager
def running(folder, spec, workers):
    """Run a sweep by its command, as the leader of a session, once all workers are busy."""
    (folder / "spec.json").write_text(json.dumps(asdict(spec)))
    process = command(folder, "sweep", "spec.json", "store", "--workers", workers)
    try:
        while len(list((folder / "store").glob(".*.lock"))) < workers:
            assert process.is_alive(), (folder / "stderr").read_text()
            time.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()


def gone(pid, seconds=10):
    """Whether no process of a session is left after some seconds."""
    end = time.monotonic() + seconds
    while session(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not session(pid)


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_sweep_ends_with_its_workers(tmp_path, workers, number, status):
    endless = Spec("ihdp", {"random": {}}, range(6), {"name": "exact-gp", "steps": 10**9}, n_queries=1)
    with running(tmp_path, endless, workers) as process:
        assert len(session(process.pid)) >= (workers > 1) + workers
        if number == signal.SIGINT:  # as a terminal sends it: to all
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)
        process.join(10)
        assert process.exitcode == status and gone(process.pid)
        error = (tmp_path / "stderr").read_text()
        assert number == signal.SIGKILL or (len(error.splitlines()) == 1 and "ended by a signal" in error)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_dask_cluster_agrees_and_survives_the_death_of_a_worker(undisturbed, tmp_path):
    from distributed import Client, LocalCluster

    spec = replace(SPEC, replications=(0, 1), block=1)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        pids = client.run(lambda: __import__("os").getpid())
        killer = threading.Timer(3.0, lambda: __import__("os").kill(next(iter(pids.values())), signal.SIGKILL))
        killer.start()
        found = sweeps.sweep(spec, tmp_path / "killed", scheduler=cluster.scheduler_address)
        killer.cancel()
    same(found, sweeps.sweep(spec, tmp_path / "one"))


@pytest.mark.parametrize("method", ["macal", "mu-bald"])
def test_checkpoints_are_published_and_taken_up_in_another_store(undisturbed, tmp_path, monkeypatch, method):
    table, finished = undisturbed
    spec = replace(SPEC, methods={method: SPEC.methods[method]}, stage=1)
    plain, trained = sweeps.loop.train, []

    def cut_off(model, requests):
        trained.append(len(requests))
        if len(trained) == 3:
            raise KeyboardInterrupt
        return plain(model, requests)

    store, tables, other = tmp_path / "store", tmp_path / "tables", tmp_path / "other"
    monkeypatch.setattr(sweeps.loop, "train", cut_off)
    with pytest.raises(KeyboardInterrupt):
        sweeps.sweep(spec, store)
    tables.mkdir()
    with pytest.raises(ValueError, match="no record in"):  # what is under way is no result
        results.publish(store, "part", tables)
    assert len(results.publish(store, "part", tables, partial=True, dirty=True)) == 0
    assert results.unpack("part", other, tables) == 0
    (path,) = (other / "checkpoints").glob("*.json")
    assert results.read(path) == results.read(store / "checkpoints" / path.name)

    found = sweeps.sweep(spec, other)
    whole = 8 // len(spec.replications) if method == "mu-bald" else 6
    assert len(trained) == whole + 1  # the training that was cut off was run again, and no other
    same(found.reset_index(drop=True), table[table.method == method][found.columns].reset_index(drop=True))
    assert not results.read_all(other)[0].manifest.get("earlier")
    results.publish(other, "whole", tables, dirty=True)
    assert not results.load("whole", tables).attrs["checkpoints"]


def test_a_published_checkpoint_does_not_take_a_chunk_back(undisturbed, tmp_path):
    chunk = chunks(SPEC)[-1]
    config = json.loads(json.dumps(chunk.composition))
    behind, ahead = (records.Record(config, [], [], {"done": k, "picks": [[], []], "seconds": 1.0}) for k in (1, 2))
    for folder, checkpoint in (("store", behind), ("other", ahead)):
        records.write(checkpoint, tmp_path / folder / "checkpoints")
    results.publish(tmp_path / "store", "part", tmp_path, partial=True)
    results.unpack("part", tmp_path / "other", tmp_path)
    path = records.path_of(config, tmp_path / "other" / "checkpoints")
    assert results.read(path) == ahead
    path.write_text("cut")  # a damaged one is set aside
    assert results.unpack("part", tmp_path / "other", tmp_path) == 0 and results.read(path) == behind
    for record in results.read_all(undisturbed[1]):  # and one whose chunk is finished is none
        records.write(record, tmp_path / "store")
    assert not records.checkpoints(tmp_path / "store")


def test_a_chunk_that_was_cut_off_among_its_records_has_a_checkpoint(undisturbed, tmp_path):
    chunk = chunks(SPEC)[-1]
    records.write(
        records.Record(json.loads(json.dumps(chunk.composition)), [], [], {"done": 1}), tmp_path / "checkpoints"
    )
    for k, config in enumerate(chunk.configs):
        assert len(records.checkpoints(tmp_path)) == 1, k
        records.write(records.read(records.path_of(config, undisturbed[1])), tmp_path)
    assert not records.checkpoints(tmp_path)


def test_campaigns_of_a_chunk_share_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps.loop, "stages", lambda *_: iter(()))
    monkeypatch.setattr(sweeps, "time", SimpleNamespace(perf_counter=iter((10.0, 16.0)).__next__))
    assert run_chunk(chunks(SPEC)[0], tmp_path) == "done"
    assert [record.manifest["seconds"] for record in records.read_all(tmp_path)] == [3.0, 3.0]


def test_a_checkpoint_is_that_of_its_stages():
    wider = replace(SPEC, stage=128)
    names = [[chunk.name for chunk in sweeps.chunks(spec)] for spec in (SPEC, wider)]
    free = [not SPEC.criterion(chunk.campaigns[0][1]).needs for chunk in sweeps.chunks(SPEC)]
    assert [a != b for a, b in zip(*names, strict=True)] == free and True in free and False in free


@each(
    "changes, named",
    [
        ({"dataset": "ihpd"}, "'ihpd' .*'ihdp'"),
        ({"protocol": "papers"}, "'papers'"),
        ({"methods": {}}, "method"),
        ({"methods": {"makal": {}}}, "'makal' .*'macal'"),
        ({"methods": {"macal": {"alfa": 1}}}, "'alfa'"),
        ({"methods": {"macal": {"alpha": -1.0}}}, "alpha"),
        ({"model": {"name": "exact"}}, "'exact'"),
        ({"model": {"steps": 5, "nme": 1}}, "'nme'"),
        ({"replications": ()}, "replication"),
        ({"replications": (1, 1)}, "distinct"),
        ({"replications": (-1,)}, "negative"),
        ({"replications": [0.5]}, "replications .*0.5"),
        ({"replications": "012"}, "replications .*'012'"),
        ({"replications": [True]}, "replications .*True"),
        ({"replications": 3}, "replications .*3"),
        *(({name: 0}, name) for name in ("every", "block", "stage", "threads", "n_queries")),
        ({"n_queries": True}, "n_queries .*True"),
        *(({"steps": steps}, "steps") for steps in ([0.5], (), (2, 1), (1, 1), (-1, 2))),
        ({"methods": ["macal"]}, "methods .*'macal'"),
        ({"methods": {"macal": []}}, "'macal'"),
        ({"methods": {"macal": {"criterion": 3}}}, "'criterion'.*3"),
        ({"model": "due"}, "model .*'due'"),
        ({"model": {"name": 3}}, "'name'.*3"),
        ({"model": {"name": "due", "lr": "x"}}, "lr"),
        ({"methods": {"badge": {}}}, "Badge .*features .*due"),
        ({"model": {"name": "meta-learner"}}, "MuBald .*posterior .*exact-gp or joint-gp or due"),
    ],
)
def test_a_spec_is_checked_before_anything_is_run(unchecked, changes, named):
    with pytest.raises(ValueError, match=named):
        replace(SPEC, **changes)


def written(tmp_path, **changes):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(asdict(SPEC) | changes))
    return sweeps.read_spec(path)


def test_a_file_may_write_ranges_for_numbers(tmp_path):
    assert written(tmp_path) == SPEC
    found = written(tmp_path, replications="0-3, 7,9-9", steps="1-3, 9")
    assert found == replace(SPEC, replications=(0, 1, 2, 3, 7, 9), steps=(1, 2, 3, 9))
    for text in ("", "3-1", "2-", "-1", "a", "1,,2", "0-3 5", "0-100000", "0.5", "\u0663", "9" * 5000, "0-3, 2"):
        with pytest.raises(ValueError, match="replications"):
            written(tmp_path, replications=text)


def test_a_listing_loads_no_data(monkeypatch, tmp_path):
    monkeypatch.delattr(sweeps.datasets, "load")
    assert listing(replace(SPEC, dataset="ibm", n_queries=None, methods={"random": {}}), tmp_path).trainings.sum() == 52


def test_label_free_campaigns_are_trained_after_the_steps_named(undisturbed, tmp_path):
    spec = replace(SPEC, methods={"random": {}}, replications=(0,), steps=(1, 3, 9))
    table = sweeps.sweep(spec, tmp_path)
    assert table.step.tolist() == [1, 3]  # the campaign has three queries
    assert listing(spec, tmp_path).trainings.sum() == 2
    named = undisturbed[0].query("method == 'random' and replication == 0 and step == 3").pehe.item()
    assert table.pehe.iloc[-1] == pytest.approx(named, rel=1e-3)  # trained in another batch
