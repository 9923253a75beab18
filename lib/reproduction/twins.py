"""What an executed twin holds beyond the text that people edit, so that it can be read in Jupyter.

Jupyter's renderers know neither glued numbers nor captions of outputs. So the twin has the numbers filled in, each in
a mark that names it; a figure's caption in a cell of its own, which the site leaves out; and folded what the site
folds or hides. :func:`undress` takes all of that off again.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

ROLE = re.compile(r"\{glue:text\}`([^`]+)`")
RECORDED = re.compile(r"\{recorded\}`([^`]+)`")
FILLED = re.compile(r'<span data-glue="([^"]*)">.*?</span>', re.S)
SPECIAL = re.compile(r"([\\`*_{}\[\]<$|])")  # what Markdown would read as its own
CAPTION = "caption"  # tag of a cell that holds one
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
PLAIN = "application/papermill.record/text/plain"
PARTS = ("source_hidden", "outputs_hidden")

Values = Callable[[str, str], str]  # of a page and a name: what it glued, as text


def glued(notebook: Any) -> dict[str, str]:
    """What a notebook has glued, as text by name."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    records = [output for output in outputs if "scrapbook" in output.get("metadata", {})]
    texts = {output["metadata"]["scrapbook"]["name"]: output["data"].get(PLAIN) for output in records}
    return {name: "".join(text) for name, text in texts.items() if text is not None}


def stored(folder: Path) -> Values:
    """Values of the notebooks of a folder, each of which is read once."""
    page_values = cache(lambda page: glued(json.loads((folder / page).read_text(encoding="utf-8"))))

    def value(page: str, name: str) -> str:
        try:
            return page_values(page)[name]
        except KeyError:
            raise KeyError(f"{page} glues no {name!r}") from None

    return value


def dress(notebook: Any, page: str, values: Values) -> Any:
    """Fill in numbers, add captions and folds, in place.

    Args:
        notebook: an undressed one.
        page: its file name.
        values: of all pages, its own included.

    Raises:
        KeyError: a number is not glued; the message names it and the page.
    """
    from nbformat.v4 import new_markdown_cell

    def fill(found: re.Match[str]) -> str:
        said = SPECIAL.sub(r"\\\1", _formatted(found[1], page, values))
        return f'<span data-glue="{found[1]}">{said}</span>'

    cells = []
    for cell in notebook["cells"]:
        cells.append(cell)
        if cell["cell_type"] == "markdown":
            cell["source"] = ROLE.sub(fill, cell["source"])
            continue
        if cell["cell_type"] != "code":
            continue
        tags = {*cell["metadata"].get("tags", [])}
        if tags & FOLDED:
            cell["metadata"]["jupyter"] = {"source_hidden": True}
        if tags & {"hide-cell", "hide-output", "remove-cell", "remove-output"}:
            cell["metadata"].setdefault("jupyter", {})["outputs_hidden"] = True
        caption = cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")
        if caption:
            text = filled(caption, page, values)
            text = RECORDED.sub(lambda found: f"Data: {', '.join(f'`{name}`' for name in found[1].split())}.", text)
            own = new_markdown_cell(f"**Figure.** {text}", metadata={"tags": [CAPTION, "remove-cell"]})
            own["id"] = f"{cell['id'][:56]}-caption"
            cells.append(own)
    notebook["cells"] = cells
    return notebook


def undress(notebook: Any) -> Any:
    """Take off what :func:`dress` put on, in place."""
    notebook["cells"] = [c for c in notebook["cells"] if CAPTION not in c["metadata"].get("tags", [])]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = FILLED.sub(r"{glue:text}`\1`", cell["source"])
        for part in PARTS:
            cell["metadata"].get("jupyter", {}).pop(part, None)
        if cell["metadata"].get("jupyter") == {}:
            del cell["metadata"]["jupyter"]
    return notebook


def dress_all(folder: Path, names: Iterable[str]) -> None:
    """Dress the notebooks of these names in a folder, and those that quote them, where that changes one."""
    import nbformat

    files, values = {f"{name}.ipynb" for name in names}, stored(folder)
    for path in sorted(folder.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if files & {path.name, *re.findall(r"\b(\w+\.ipynb)::", text)}:
            notebook = dress(undress(nbformat.reads(text, 4)), path.name, values)
            if nbformat.writes(notebook) + "\n" != text:
                write(notebook, path)


def write(notebook: Any, target: Path) -> None:
    """Write a notebook whole or not at all."""
    import nbformat

    draft = target.with_suffix(".tmp")
    nbformat.write(notebook, draft)
    os.replace(draft, target)


def filled(text: str, page: str, values: Values) -> str:
    """Fill a page's glued numbers into a text."""
    return ROLE.sub(lambda found: _formatted(found[1], page, values), text)


def _formatted(name: str, page: str, values: Values) -> str:
    from myst_nb.core.variables import format_plain_text

    place, _, key = name.rpartition("::")
    key, _, form = key.partition(":")
    return format_plain_text(values(place or page, key), form)
