"""A line in a registry is enough: loaders, sweeps and contract tests find what it names; what is unknown is refused."""

import re
import runpy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from needs import each_dataset

import macal
from macal import files
from macal.acquisition import CRITERIA
from macal.datasets import DATASETS, toy
from macal.models import MODELS
from macal.models.base import Effects
from macal.registry import Entry, UnknownName


@dataclass(frozen=True)
class Restless:
    """A model that estimates another effect every time, which no model may."""

    provides = ()

    def fit(self, tasks):
        return [self for _ in tasks]

    def predict(self, x):
        return Effects(np.random.default_rng().random(len(x)))

    info = {}


def test_a_model_is_held_to_the_contract_by_its_line(monkeypatch):
    monkeypatch.setitem(MODELS, "restless", Entry(Restless, "restless", "this test"))
    contract = runpy.run_path(str(Path(__file__).with_name("test_models.py")))
    assert "restless" in contract["NAMES"]
    contract["TestContract"]().test_a_model_says_what_it_provides("restless")
    with pytest.raises(AssertionError):
        contract["TestContract"]().test_the_same_tasks_give_the_same_bits("restless")


def test_a_data_set_is_loaded_swept_and_skipped_by_its_line(monkeypatch):
    monkeypatch.setitem(files.GROUPS, "far", ())
    monkeypatch.setitem(files.FILES, "far/units.csv", None)
    files.declare("far", {"far/units.csv": files.Source("0" * 64, ())})
    monkeypatch.setitem(DATASETS, "far", Entry(toy.load, "far", "this test", files=("far",)))
    (found,) = (case for case in each_dataset() if case.values == ("far",))
    (mark,) = found.marks
    assert mark.args == (True,) and "needs far/units.csv" in mark.kwargs["reason"]
    assert len(macal.load("far", 0, centre=1.0).pool) == 2250
    assert macal.Spec("far", {"random": {}}, (0,)).dataset == "far"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: macal.get("macal", alfa=1.0), "unknown parameter of 'macal' 'alfa' .did you mean 'alpha'"),
        (lambda: macal.get("random", seed=1), "unknown parameter of 'random' 'seed'; known: none"),
        (lambda: macal.load("toy", center=1.0), "unknown parameter of 'toy' 'center' .did you mean 'centre'"),
        (lambda: macal.load("acic", seed=0, centre=1.0), "unknown parameter of 'acic' 'centre'; known: none"),
    ],
)
def test_what_is_unknown_is_refused(call, message):
    with pytest.raises(UnknownName, match=message):
        call()


def test_the_reference_of_the_book_has_what_is_registered():
    text = (Path(__file__).parents[1] / "book" / "api.md").read_text(encoding="utf-8")
    modules = set(re.findall(r"auto\w+:: ([\w.]+)", text))
    made = [entry.factory for catalogue in (MODELS, CRITERIA) for entry in catalogue.values()]
    assert {thing.__module__ for thing in made} <= modules
    things = [getattr(macal, name) for name in macal.__all__]
    named = {f"{thing.__module__}.{thing.__name__}" for thing in things if hasattr(thing, "__module__")}
    assert named - {"macal.acquisition.catalogue.get", "macal.acquisition.catalogue.names"} <= modules
