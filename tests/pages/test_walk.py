"""The pages of the walk: from scratch first, nothing hidden that is the subject, and readable in Jupyter."""

import ast
import re
import sys

import jupytext
import pytest
from cases import each
from test_contents import ORDER, text

from reproduction.book import ROOT, walk

WALK = walk()
OPEN = {"numpy", "scipy", "torch", "gpytorch", "ot"}
LINES = 20
each_page = each("name", WALK)


def cells(name):
    return [cell for cell in jupytext.read(ROOT / "book" / f"{name}.md").cells if cell.cell_type == "code"]


def tags(cell):
    return {*cell.metadata.get("tags", [])}


def imported(source):
    """Names that a cell imports -> the package that they come from."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name.partition(".")[0]: a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: node.module.partition(".")[0] for a in node.names}
    return found


def borrowed(source, packages):
    """What a from-scratch cell takes of the project, or of a package that readers have not."""
    named = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    used = {name: packages[name] for name in named & packages.keys()} | imported(source)
    return {name for name, package in used.items() if package not in OPEN | sys.stdlib_module_names}


@each_page
def test_the_walk_is_from_scratch_in_short_cells(name):
    every = cells(name)
    packages = {}
    for cell in every:
        packages |= imported(cell.source)
    scratch = [cell.source for cell in every if "from-scratch" in tags(cell)]
    assert scratch, "no cell is tagged from-scratch"
    for source in scratch:
        assert not borrowed(source, packages), borrowed(source, packages)
        assert len(source.splitlines()) <= LINES, source
    hidden = {"hide-cell", "hide-input", "remove-input", "remove-cell"}
    assert not [cell for cell in every if "from-scratch" in tags(cell) and tags(cell) & hidden]


@each_page
def test_what_is_drawn_or_computed_is_at_most_folded(name):
    assert not [cell.source for cell in cells(name) if "remove-input" in tags(cell)]
    (first, *_) = cells(name)
    assert "hide-cell" in tags(first) and imported(first.source), "the first cell is the folded imports"


@each_page
def test_a_figure_stands_before_the_second_heading_and_exercises_at_the_end(name):
    page = text(f"notebooks/{name}")
    begin = re.split(r"(?m)^## ", page)[0]
    assert re.search(r"figure:\n|stepper\(|class=\"play\"", begin), "no figure"
    assert len(re.findall(r"(?m)^\(ex-[\w-]+\)=", page)) >= 2, "fewer than two exercises"


@each("name", ORDER)
def test_pages_use_what_jupyter_renders(name):
    assert not re.search(r"\{container\}|\{glue:figure\}|```\{glue\}", text(name))


@pytest.mark.parametrize("source", ["macal.plan(x)", "book.glue({})", "import reproduction", "pd.concat(x)"])
def test_a_cell_that_borrows_is_found(source):
    packages = {"macal": "macal", "book": "reproduction", "np": "numpy", "pd": "pandas"}
    assert borrowed(source, packages) and not borrowed("np.sqrt(min(x))", packages)
