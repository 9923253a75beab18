"""The wall between the tool and the reproduction, and the order of the rooms."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from cases import each

LIB = Path(__file__).resolve().parents[2] / "lib"
# each may use those before it
ROOMS = ["vocabulary", "storage", "datasets", "search", "acquisition", "models", "campaigns", "survey", "plots"]
VOCABULARY = {"arguments", "comparison", "compat", "hashing", "kernels", "logistic", "metrics"}
VOCABULARY |= {"optional", "posterior", "problem", "registry", "shapes", "threads"}
SHELVES = "outputs benchmarks methods theory studies claims figures twins book experiments paths site pdf".split()


def modules(package):
    return sorted(path for path in (LIB / package).rglob("*.py"))


def imported(path):
    """Modules of ours that a file imports, at its top or inside a function, as tuples of names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{a.name}" for a in node.names]
        yield from (tuple(name.split(".")) for name in names if name.split(".")[0] in ("macal", "reproduction"))


def room(parts):
    """Where a module of the tool stands."""
    return ROOMS.index("vocabulary" if parts[1] in VOCABULARY else parts[1])


@each("path", modules("macal"))
def test_nothing_of_the_tool_imports_the_reproduction(path):
    assert not [parts for parts in imported(path) if parts[0] == "reproduction"]


@each("path", modules("macal"))
def test_imports_of_the_tool_point_up_the_list(path):
    here = path.relative_to(LIB).with_suffix("").parts
    if here[1] in ("__init__", "__main__"):
        return  # the door: it may use every room
    later = [".".join(parts) for parts in imported(path) if room(parts) > room(here)]
    assert not later, f"{path.name} stands before what it imports: {', '.join(later)}"


@each("path", modules("reproduction"))
def test_imports_of_the_reproduction_point_up_the_list(path):
    here = path.relative_to(LIB).with_suffix("").parts
    if here[1] in ("__init__", "__main__"):
        return
    later = [
        ".".join(parts)
        for parts in imported(path)
        if parts[0] == "reproduction" and SHELVES.index(parts[1]) > SHELVES.index(here[1])
    ]
    assert not later, f"{path.name} stands before what it imports: {', '.join(later)}"


def test_nothing_imports_back_inside_rooms_either():
    """Type checkers' imports count, too; a package's ``__init__`` is the door to its own modules."""
    files = {".".join(p.relative_to(LIB).with_suffix("").parts): p for p in modules("macal") if p.stem != "__init__"}
    graph = {
        name: {part for parts in imported(path) for part in (".".join(parts), ".".join(parts[:-1])) if part in files}
        for name, path in files.items()
        if path.stem != "__main__"
    }
    assert len(list(TopologicalSorter(graph).static_order())) >= len(graph)  # a circle raises


def test_no_file_stands_loose_beside_the_rooms():
    loose = {path.stem for path in (LIB / "macal").glob("*.py")} - {"__init__", "__main__"}
    assert loose == VOCABULARY | {"plots"}
