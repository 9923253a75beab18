"""What no registry names is refused, and the reference names what is registered."""

import re
from pathlib import Path

import pytest

import macal
from macal.acquisition import CRITERIA
from macal.models import MODELS
from macal.registry import UnknownName


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: macal.get("macal", alfa=1.0), "'alfa' .*'alpha'"),
        (lambda: macal.get("random", seed=1), "'random' 'seed'"),
        (lambda: macal.load("toy", center=1.0), "'center' .*'centre'"),
        (lambda: macal.load("acic", seed=0, centre=1.0), "'acic' 'centre'"),
    ],
)
def test_what_is_unknown_is_refused(call, message):
    with pytest.raises(UnknownName, match=message):
        call()


def test_the_reference_of_the_book_has_what_is_registered():
    text = (Path(__file__).parents[2] / "book" / "api.md").read_text(encoding="utf-8")
    modules = set(re.findall(r"auto\w+:: ([\w.]+)", text))
    made = [entry.factory for catalogue in (MODELS, CRITERIA) for entry in catalogue.values()]
    assert {thing.__module__ for thing in made} <= modules
    things = [getattr(macal, name) for name in macal.__all__]
    named = {f"{thing.__module__}.{thing.__name__}" for thing in things if hasattr(thing, "__module__")}
    assert named - {"macal.acquisition.catalogue.get", "macal.acquisition.catalogue.names"} <= modules
