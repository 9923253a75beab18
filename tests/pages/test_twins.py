"""Executed twins read in Jupyter: numbers filled in, captions below figures, folds; and all of it comes off again."""

import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from reproduction import book, twins
from reproduction.outputs import PNG

TEXT = "Half is {glue:text}`half:.1f`, elsewhere {glue:text}`other.ipynb::word` (`{glue}`)."


def glued(**values):
    cell = new_code_cell("glue()", metadata={"tags": ["remove-cell"]})
    for name, value in values.items():
        data, about = {twins.PLAIN: repr(value)}, {"scrapbook": {"name": name}}
        cell.outputs.append(new_output("display_data", data, metadata=about))
    return cell


def page():
    caption = "Half, {glue:text}`half:.0%`. {recorded}`toy ibm_gp*`"
    figure = new_code_cell("draw()", metadata={"tags": ["hide-input"], "mystnb": {"figure": {"caption": caption}}})
    plain = new_code_cell("1 + 1", metadata={"tags": ["from-scratch"]})
    return new_notebook(cells=[new_markdown_cell(TEXT), figure, glued(half=0.5), plain])


@pytest.fixture
def folder(tmp_path):
    nbformat.write(page(), tmp_path / "one.ipynb")
    nbformat.write(new_notebook(cells=[glued(word="a_b*c<d")]), tmp_path / "other.ipynb")
    return tmp_path


def dressed(folder, name="one"):
    twins.dress_all(folder, [name])
    return nbformat.read(folder / "one.ipynb", 4)


def test_numbers_are_filled_in_and_marked(folder):
    text = dressed(folder).cells[0].source
    assert text.startswith('Half is <span data-glue="half:.1f">0.5</span>, elsewhere <span')
    assert r">a\_b\*c\<d</span>" in text and text.endswith("(`{glue}`).")


def test_a_caption_has_a_cell_that_the_site_leaves_out(folder):
    figure, caption, *_ = dressed(folder).cells[1:]
    assert caption.source == "**Figure.** Half, 50%. Data: `toy`, `ibm_gp*`."
    assert "remove-cell" in caption.metadata.tags and figure.metadata.jupyter == {"source_hidden": True}


def test_what_the_site_hides_is_folded_and_what_it_shows_is_not(folder):
    cells = dressed(folder).cells
    assert cells[3].metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    assert "jupyter" not in cells[4].metadata


def test_undressing_gives_back_what_was_dressed(folder):
    plain = nbformat.read(folder / "one.ipynb", 4)
    once = dressed(folder)
    assert twins.undress(copy.deepcopy(once)) == plain
    assert dressed(folder) == once


def test_a_page_that_quotes_another_follows_it(folder):
    dressed(folder)
    nbformat.write(new_notebook(cells=[glued(word="new")]), folder / "other.ipynb")
    assert ">new</span>" in dressed(folder, "other").cells[0].source


def test_a_number_that_is_not_glued_is_named(folder):
    nbformat.write(new_notebook(cells=[new_markdown_cell("{glue:text}`none:d`")]), folder / "one.ipynb")
    with pytest.raises(KeyError, match=r"one\.ipynb glues no 'none'"):
        dressed(folder)


def test_a_figure_drawn_twice_keeps_the_phones_drawing_aside(monkeypatch):
    shown, sizes = [], []
    monkeypatch.setattr("IPython.display.display", lambda data, metadata, raw: shown.append((data, metadata)))
    book.show(lambda figure, is_phone: sizes.append((is_phone, *figure.get_size_inches())), (4.0, 2.0), (2.0, 3.0))
    assert sizes == [(False, 4, 2), (True, 2, 3)]
    ((data, about),) = shown
    drawings = data["image/png"], about[book.PHONE]
    assert all(drawn.startswith(PNG) for drawn in drawings) and len({*drawings}) == 2
