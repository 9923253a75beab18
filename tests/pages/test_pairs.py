"""Every chapter is a pair: book/NAME.md, which people edit, and notebooks/NAME.ipynb, which holds the outputs."""

import ast
import json
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from cases import each

from reproduction import twins
from reproduction.book import ROOT, chapters

NAMES = [name for name in chapters() if (ROOT / "notebooks" / f"{name}.ipynb").exists()]
each_chapter = each("name", NAMES)
VALUES = twins.stored(ROOT / "notebooks")


def notebook(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)


def stored(name):
    return twins.undress(notebook(name)).cells


def code(name):
    return [cell for cell in stored(name) if cell.cell_type == "code"]


def inputs(cells):
    return [(cell.cell_type, cell.source.strip(), sorted(cell.metadata.get("tags", []))) for cell in cells]


def test_no_orphans():
    assert chapters() == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


@each_chapter
def test_twins_agree(name):
    text = jupytext.read(ROOT / "book" / f"{name}.md").cells
    assert inputs(text) == inputs(stored(name)), (
        f"book/{name}.md and its notebook differ: `make execute NAME={name}` if the text is right, "
        f"`make pull NAME={name}` if the notebook is"
    )


@each_chapter
def test_twins_are_dressed_for_jupyter(name):
    """Numbers, captions and folds are those of the stored outputs, and come off again."""
    plain = twins.undress(notebook(name))
    dressed = twins.dress(twins.undress(notebook(name)), f"{name}.ipynb", VALUES)
    assert dressed == notebook(name), f"make execute NAME={name}"
    assert twins.undress(dressed) == plain and "{glue:text}" not in str([c.source for c in notebook(name).cells])


@each_chapter
def test_executed_in_order_without_errors(name):
    counts = [cell.execution_count for cell in code(name) if cell.source.strip()]
    assert counts == list(range(1, len(counts) + 1))
    assert not [output for cell in code(name) for output in cell.outputs if output.output_type == "error"]


@each_chapter
def test_parameters_are_annotated_literals_and_checked(name):
    cells = code(name)
    for place, cell in enumerate(cells):
        if "parameters" in cell.metadata.get("tags", []):
            for line in ast.parse(cell.source).body:
                assert isinstance(line, ast.AnnAssign), f"no annotated assignment: {ast.unparse(line)}"
                ast.literal_eval(line.value)
            assert "book.check(" in cells[place + 1].source, "the next cell must call book.check"


@each_chapter
def test_outputs_name_no_path_of_this_machine(name):
    outputs = json.dumps([cell.outputs for cell in code(name)])
    for folder in {str(ROOT), f"{Path.home()}/", f"{tempfile.gettempdir()}/", f"{sys.prefix}/"} - {"//"}:
        assert folder not in outputs
