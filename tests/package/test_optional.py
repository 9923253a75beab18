"""What a plain installation lacks is named, with what needs it."""

import importlib
import sys

import numpy as np
import pandas as pd
import pytest

from macal import Planner, metrics, models, results, sweeps
from macal.campaigns import tables
from macal.models import Task
from macal.problem import Split
from reproduction.theory import wasserstein

X, T = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
SPEC = sweeps.Spec("ihdp", {"random": {}}, (0,), n_queries=1)


def planned():
    planner = Planner("t", 2, criterion="alc-fixed")
    planner.plan(pd.DataFrame({"x": X[:, 0], "t": T}))
    return planner


def read_anew(name):
    tables._read.cache_clear()  # another test of this process may have read it
    return results.load(name)


@pytest.mark.parametrize(
    ("module", "package", "call"),
    [
        ("ot", "pot", lambda folder: metrics.wasserstein(X, T)),
        ("ot", "pot", lambda folder: wasserstein.transport(X, X, "root")),
        ("pyarrow", "pyarrow", lambda folder: read_anew("toy")),
        ("matplotlib", "matplotlib", lambda folder: planned().report(folder / "plan.html")),
        ("econml.metalearners", "econml", lambda folder: models.get("meta-learner").fit([Task(Split(X, T, X[:, 0]))])),
        ("distributed", "distributed", lambda folder: sweeps.sweep(SPEC, folder, scheduler="local")),
        ("optuna", "optuna", lambda folder: importlib.import_module("reproduction.studies.tuning")),
    ],
)
def test_a_missing_package_is_named(monkeypatch, tmp_path, module, package, call):
    monkeypatch.delitem(sys.modules, "reproduction.studies.tuning", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"need the package {package}: pip install {package}"):
        call(tmp_path)
