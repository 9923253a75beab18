"""Records survive what disks and people do to them, or say that they did not."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from macal import results
from macal.campaigns import provenance
from macal.campaigns.results import DamagedRecord, ForeignRecord, Record, read, read_all, write


def record(replication=0, pehe=0.1 + 0.2, **config):
    asked = {"dataset": "toy", "protocol": "paper", "replication": replication, "method": "macal"}
    rows = [{"step": 0, "labelled": 25, "pehe": pehe, "w1": float("nan")}]
    return Record(asked | {"model": {"name": "exact-gp"}} | config, rows, [[3, 1]], {"seconds": 1.5})


def test_a_record_comes_back_to_the_last_bit(tmp_path):
    path = write(record(), tmp_path / "new")
    back = read(path)
    assert back.rows[0]["pehe"] == 0.1 + 0.2 and np.isnan(back.rows[0]["w1"]) and back.picks == [[3, 1]]
    assert back.config == record().config and back.key == record().key == path.stem


def test_the_key_follows_the_configuration_alone():
    turned = Record(dict(reversed(record().config.items())), [], [])
    assert turned.key == record().key != record(replication=1).key


def test_every_flipped_byte_is_noticed(tmp_path):
    path = write(record(), tmp_path)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 2]) + content[place + 1 :])
        with pytest.raises((DamagedRecord, ForeignRecord)):
            read(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "not json", '{"schema": 1}', "\x00\x01"])
def test_a_file_that_is_no_record_is_refused(tmp_path, text):
    path = tmp_path / "foreign.json"
    path.write_text(text)
    with pytest.raises(DamagedRecord):
        read(path)


def test_other_schemas_and_configurations_are_refused(tmp_path):
    path = write(record(), tmp_path)
    with pytest.raises(ForeignRecord, match="method, replication"):
        read(path, record(replication=4, method="qhte").config)
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(ForeignRecord, match="schema 2"):
        read(path)


def test_a_folder_is_read_whole_or_not_at_all(tmp_path):
    for k in range(3):
        write(record(k), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".half.tmp").write_text("{")
    assert sorted(r.config["replication"] for r in read_all(tmp_path)) == [0, 1, 2]
    first = next(tmp_path.glob("*.json"))
    for name in ("renamed", "0123456789abcdef"):
        first = first.rename(tmp_path / f"{name}.json")
        with pytest.raises(ForeignRecord, match=name):
            read_all(tmp_path)


def test_tables_do_not_mix_configurations():
    with pytest.raises(ForeignRecord, match="models"):
        results.table([record(), record(model={"name": "due"})])
    assert results.table([record(), record(1)]).replication.tolist() == [0, 1]


def test_two_writers_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda k: write(record(k % 4), tmp_path), range(64)))
    assert len(set(paths)) == 4 == len(read_all(tmp_path)) == len(list(tmp_path.iterdir()))


def test_published_tables(tmp_path):
    for k in range(3):
        write(record(k), tmp_path / "store")
    table = results.publish(tmp_path / "store", "toy", tmp_path)
    loaded = results.load("toy", tmp_path)
    assert loaded.equals(table) and loaded.attrs["records"][0]["picks"] == [[3, 1]]
    assert loaded.copy()[["pehe"]].attrs["records"] is loaded.attrs["records"]  # not copied at every step
    with pytest.raises(FileNotFoundError, match="'toi' .*'toy'"):
        results.load("toi", tmp_path)
    content = (tmp_path / "toy.parquet").read_bytes()
    (tmp_path / "toy.parquet").write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(DamagedRecord, match="publish it again"):
        results.load("toy", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no record in"):
        results.publish(tmp_path / "empty", "toy", tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder .*nowhere"):
        results.publish(tmp_path / "nowhere", "toy", tmp_path)


@pytest.fixture
def published(tmp_path):
    """A store of three campaigns, the folder that they were published into as ``toy``, and its content."""
    for k in range(3):
        write(record(k), tmp_path / "store")
    out = tmp_path / "out"
    results.publish(tmp_path / "store", "toy", out)
    return tmp_path / "store", out, {path.name: path.read_bytes() for path in out.iterdir()}


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["", ".", "../store", "/tmp/toy", "a/b", "Toy", "toy.json", "toy ", "toy\n"])
def test_a_tables_name_is_no_path(published, name):
    store, out, before = published
    with pytest.raises(ValueError, match="lower-case"):
        results.publish(store, name, out, replace=True)
    assert content(out) == before and len(read_all(store)) == 3


@pytest.mark.parametrize("name", ["toy.json", "toy.parquet"])
def test_no_link_is_followed(published, name):
    store, out, _ = published
    (out / name).rename(store.parent / "mine")
    (out / name).symlink_to(store.parent / "mine")
    before = (store.parent / "mine").read_bytes()
    write(record(3), store)
    with pytest.raises(ValueError, match=name):
        results.publish(store, "toy", out, replace=True)
    assert (store.parent / "mine").read_bytes() == before


def test_a_table_is_replaced_on_demand_alone(published):
    store, out, before = published
    for path in list(store.glob("*.json"))[:2]:
        path.unlink()
    write(record(7), store)
    lines = []
    change = "1 added, 1 kept, 2 dropped"
    with pytest.raises(FileExistsError, match=change):
        results.publish(store, "toy", out, report=lines.append)
    assert content(out) == before and not lines
    results.publish(store, "toy", out, replace=True, report=lines.append)
    assert len(results.load("toy", out)) == 2 and change in lines[0]


@pytest.mark.parametrize("name", ["toy.json", "toy.parquet"])
def test_half_a_table_is_a_table_too(published, name):
    store, out, _ = published
    (out / name).unlink()
    with pytest.raises(FileExistsError):
        results.publish(store, "toy", out)
    lines = []
    results.publish(store, "toy", out, replace=True, report=lines.append)
    assert len(results.load("toy", out)) == 3 and len(lines) == 1


def test_a_stop_between_table_and_manifest_shows(published, monkeypatch):
    store, out, _ = published
    write(record(3), store)
    plain, stopped = os.replace, []

    def stop(draft, path):  # nothing can be put back either, as after a kill
        if stopped or path.suffix == ".parquet":
            stopped.append(path)
            raise KeyboardInterrupt
        plain(draft, path)

    monkeypatch.setattr(os, "replace", stop)
    for name in ("toy", "other"):
        stopped.clear()
        with pytest.raises(KeyboardInterrupt):
            results.publish(store, name, out, replace=True)
    with pytest.raises(DamagedRecord, match="publish it again"):
        results.load("toy", out)
    with pytest.raises(FileNotFoundError, match="no recorded table 'other'"):
        results.load("other", out)


def test_an_incomplete_store_is_published_on_demand_alone(published):
    store, out, _ = published
    results.write_request({"sweep": 1}, [record(k).config for k in range(3)], store)
    results.publish(store, "whole", out)
    results.write_request({"sweep": 2}, [record(k).config for k in range(5)], store)
    with pytest.raises(results.Incomplete, match="2 of 5 campaigns, 0 chunks"):
        results.publish(store, "part", out)
    assert not list(out.glob("part*"))
    assert len(results.publish(store, "part", out, partial=True)) == 3
    for k in (3, 4):
        write(record(k), store)
    (store / "ab.failed").write_text("Traceback")
    with pytest.raises(results.Incomplete, match="0 of 5 campaigns, 1 chunks .*ab.failed"):
        results.publish(store, "five", out)
    (store / "ab.failed").unlink()
    assert len(results.publish(store, "five", out)) == 5


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_request_is_named(published, text):
    store, out, _ = published
    (store / "specs").mkdir()
    (store / "specs" / "00.json").write_text(text)
    with pytest.raises(DamagedRecord, match="00.json"):
        results.publish(store, "five", out)


def test_a_manifest_says_where_numbers_come_from():
    about = provenance.manifest({"a.csv": "00"}, 2.0, "cpu", 1)
    assert about["packages"].keys() >= {"torch", "gpytorch", "numpy"}
    assert (about["seconds"], about["device"], about["threads"], about["sources"]) == (2.0, "cpu", 1, {"a.csv": "00"})


@pytest.mark.parametrize(
    ("asked", "device", "compiled"), [("1", "cpu", True), ("0", "cpu", False), ("1", "H200", True)]
)
def test_a_manifest_says_whether_steps_were_compiled_whoever_writes_it(monkeypatch, asked, device, compiled):
    monkeypatch.setenv("MACAL_COMPILE", asked)
    assert provenance.manifest({}, 1.0, device, 1)["compiled"] is compiled


def test_cost_adds_up_what_the_manifests_say():
    table = pd.DataFrame()
    about = {"device": "cpu", "threads": 1, "seconds": 1800}
    table.attrs["records"] = [{"rows": 3, "manifest": about}, {"rows": 4, "manifest": about | {"seconds": 5400}}]
    assert results.cost(table).loc["cpu", 1].tolist() == [2, 7, 2.0]


@pytest.mark.parametrize("name", ["ihdp_quick", "ihdp_code", "acquired_ihdp"])
def test_a_table_goes_back_into_a_store_and_comes_out_the_same(name, tmp_path):
    store, folder = tmp_path / "store", tmp_path / "tables"
    folder.mkdir()
    table = results.load(name)
    assert results.unpack(name, store) == len(table.attrs["records"])
    again = results.publish(store, name, folder)
    keys = ["method", "replication", "step"]
    pd.testing.assert_frame_equal(*(t.sort_values(keys, ignore_index=True)[table.columns] for t in (again, table)))
    manifests = [sorted(map(str, t.attrs["records"])) for t in (table, results.load(name, folder))]
    assert manifests[0] == manifests[1]
    assert results.unpack(name, store) == 0  # what is there is left alone
