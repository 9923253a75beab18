"""A sweep on a machine that has six packages and what they need, and its completion at home."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from importlib import metadata

import numpy as np
import pandas as pd
import pytest
from installed import installed_with, name_of

from macal import __main__ as command
from macal import datasets, results, sweeps
from macal.campaigns import bundle, evaluation
from macal.campaigns.sweeps import Spec

THERE = ("torch", "gpytorch", "numpy", "scipy", "pandas", "scikit-learn")
DUE = {"name": "due", "width": 8, "inducing": 4, "batch": 8, "steps": 2, "epochs": 2, "device": "cpu"}
SPEC = Spec("ihdp", {"random": {}, "mu-bald": {}}, (0,), DUE, n_queries=2)
# a finder that knows nothing of packages installed here and not there
BLOCK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root in {absent}:
            raise ModuleNotFoundError(f"No module named {{root!r}}", name=root)
sys.meta_path.insert(0, Absent())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {absent} else find(name, package)
"""


@pytest.fixture(scope="module")
def away(tmp_path_factory):
    """Pack a sweep, run it without the packages that are not there, return its folder."""
    folder = tmp_path_factory.mktemp("bare") / "pack"
    bundle.pack(SPEC, folder)
    there = installed_with(THERE)
    absent = {
        module for module, owners in metadata.packages_distributions().items() if not set(map(name_of, owners)) & there
    } - set(bundle.PURE_PYTHON)
    assert {"ot", "pyarrow", "distributed", "pooch"} <= absent
    (folder / "lib" / "sitecustomize.py").write_text(BLOCK.format(absent=absent - {"econml"}))
    environment = {k: v for k, v in os.environ.items() if k != "MACAL_DATA"} | {"PYTHONPATH": "lib"}
    order = [sys.executable, "-m", "macal", "sweep", "spec.json", "store"]
    done = subprocess.run(order, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "6 trainings in store" in done.stdout
    return folder


@pytest.mark.exhaustive
def test_it_runs_there_and_is_completed_here(away, tmp_path):
    store = away / "store"
    left_out = results.table(results.read_all(store))
    assert left_out[["w1", "counterpart", "radius"]].isna().all(axis=None)
    with pytest.raises(results.Incomplete, match="distances"):
        results.publish(store, "mine", tmp_path)
    assert bundle.complete(store) == 2 and bundle.complete(store) == 0
    home = sweeps.sweep(SPEC, tmp_path)
    columns = ["method", "step"]
    found = results.table(results.read_all(store)).sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(found, home.sort_values(columns, ignore_index=True))
    assert found.w1.notna().all()


@pytest.mark.exhaustive
def test_packed_data_are_the_ones_that_are_read(away):
    assert (away / "lib/econml/data/ihdp/sim.csv").is_file() and not (away / "data").exists()
    assert json.loads((away / "spec.json").read_text())["methods"] == SPEC.methods
    with pytest.raises(FileExistsError):
        bundle.pack(SPEC, away)


def test_sets_that_grow_are_measured_as_each_of_them_alone():
    problem = datasets.load("toy", 0)
    sets = [problem.start, *(np.union1d(problem.start, np.arange(k)) for k in (5, 9))]
    sets = [np.concatenate([problem.start, np.setdiff1d(one, problem.start)]) for one in sets]
    for found, own in zip(evaluation.distances(problem, sets), sets, strict=True):
        assert found == pytest.approx(evaluation.distances(problem, [own])[0], rel=1e-9)


def test_what_an_installation_without_pot_left_out_is_added_alone(tmp_path, monkeypatch):
    problem = sweeps.datasets.load("ihdp", 0)
    (measured,) = evaluation.distances(problem, [problem.labelled([[0, 1]])])
    row = {"step": 1, "pehe": 2.0} | measured | {"w1": float("nan"), "radius": 7.0}
    results.write(results.Record(SPEC.config(0, "random"), [row], [[0, 1]], {}), tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ot", None)
        with pytest.raises(ImportError, match="pot"):
            bundle.complete(tmp_path)
    assert bundle.complete(tmp_path) == 1 and bundle.complete(tmp_path) == 0
    (record,) = results.read_all(tmp_path)
    assert record.rows == [row | {"w1": measured["w1"]}]


def test_commands(tmp_path, capsys):
    spec = tmp_path / "spec.json"
    small = replace(SPEC, model={"name": "exact-gp", "optimiser": "lbfgs", "steps": 4}, methods={"random": {}})
    spec.write_text(json.dumps(asdict(small)))
    store = tmp_path / "store"
    assert command.main(["list", str(spec), str(store), "--seconds", "3600"]) == 0
    assert "3.0" in capsys.readouterr().out
    assert command.main(["sweep", str(spec), str(store)]) == 0
    assert "3 trainings" in capsys.readouterr().out
    assert command.main(["complete", str(store)]) == 0
    assert "0 records" in capsys.readouterr().out
    publish = ["publish", str(store), "mine", "--into", str(tmp_path / "out")]
    assert command.main(publish) == 0
    assert capsys.readouterr().out == "3 trainings published as mine\n"
    assert command.main(publish) == 1
    assert "--replace" in capsys.readouterr().err
    assert command.main([*publish, "--replace"]) == 0
    next(store.glob("*.json")).unlink()
    other = replace(small, replications=(1,))
    sweeps.sweep(other, store)
    assert command.main([*publish, "--replace"]) == 1
    assert "1 of 2 campaigns" in capsys.readouterr().err
    assert command.main([*publish, "--replace", "--partial"]) == 0
    assert "1 added, 0 kept, 1 dropped" in capsys.readouterr().out
    for path in (store / "specs").iterdir():
        path.unlink()
    assert command.main([*publish, "--replace"]) == 0
    assert str(store) in capsys.readouterr().out


@pytest.mark.parametrize("order", [["complete"], ["publish", "mine"]])
def test_a_store_that_is_missing_is_one_line(tmp_path, capsys, order):
    assert command.main([order[0], str(tmp_path / "nope"), *order[1:]]) == 1
    error = capsys.readouterr().err
    assert "nope" in error and error.count("\n") == 1


@pytest.mark.parametrize("name", ["pack", "new/folder/pack"])
def test_a_failed_pack_leaves_nothing(tmp_path, monkeypatch, name):
    def missing(*groups):
        raise FileNotFoundError("no such images")

    with monkeypatch.context() as patch:
        patch.setattr(bundle.files, "require", missing)
        with pytest.raises(FileNotFoundError, match="no such images"):
            bundle.pack(SPEC, tmp_path / name)
    assert not list(tmp_path.iterdir())
    bundle.pack(SPEC, tmp_path / name)
    assert {p.name for p in (tmp_path / name).iterdir()} == {"lib", "spec.json"}
    assert {p.name for p in (tmp_path / name).parent.iterdir()} == {"pack"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "JSON"),
        (b"\xff", "UTF-8"),
        ("[]", "object"),
        ('{"datasets": "ihdp"}', "'dataset'"),
        (None, "no such file"),
        ('{"dataset": "ihdp"}', "methods"),
    ],
)
def test_a_wrong_spec_is_one_line(unchecked, tmp_path, capsys, content, message):
    if content is not None:
        (tmp_path / "spec.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert command.main(["sweep", str(tmp_path / "spec.json"), str(tmp_path / "store")]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
