"""Examples in docstrings are true, and every public name has one."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

from cases import each

import macal
from macal import metrics
from reproduction.book import ROOT

LIB = ROOT / "lib"
FILES = [path for path in sorted((LIB / "macal").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


class Finder(doctest.DocTestFinder):
    """Looks through the wrappers that check types in tests, which doctest takes for another module's functions."""

    def _from_module(self, module, thing):
        return super()._from_module(module, inspect.unwrap(thing) if inspect.isroutine(thing) else thing)


def module_of(path: Path):
    return importlib.import_module(".".join(path.relative_to(LIB).with_suffix("").parts).removesuffix(".__init__"))


@each("path", FILES)
def test_examples(path):
    module = module_of(path)
    found = [test for test in Finder().find(module) if test.examples]
    assert sum(len(test.examples) for test in found) == path.read_text(encoding="utf-8").count(">>> ")
    for test in found:
        said = []
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
        assert not said, "".join(said)


def test_every_public_name_has_an_example():
    public = [name for name in macal.__all__ if not inspect.ismodule(getattr(macal, name))]
    assert not [name for name in public if not re.search(rf"(>>>|\.\.\.) .*\b{name}\(", macal.__doc__)]
    own = [f for f in vars(metrics).values() if inspect.isroutine(f) and f.__module__ == metrics.__name__]
    measures = [f for f in own if not f.__name__.startswith("_")]
    assert len(measures) >= 6 and not [f.__name__ for f in measures if ">>> " not in f.__doc__]
