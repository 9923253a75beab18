"""The order of the book: few entries in the sidebar, every page once, and pages that lead on to the one after them."""

import ast
import json
import re
from collections import defaultdict

import jupytext
import yaml
from cases import each

from reproduction.book import ROOT

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [chapter for part in TOC["parts"] for chapter in part["chapters"]]
# each chapter with the pages of detail below it, in the order of reading
GROUPS = [[TOC["root"]]] + [[page["file"] for page in (c, *c.get("sections", ()))] for c in CHAPTERS]
ORDER = [name for group in GROUPS for name in group]


def text(name):
    return (ROOT / "book" / f"{name.partition('/')[2]}.md").read_text(encoding="utf-8")


def outputs(page):
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells for output in cell.get("outputs", [])]


def label(name):
    """What a link to a page names: its label, where it has one, or else its file."""
    found = re.search(r"(?m)^\(([\w-]+)\)=\n# ", text(name))
    return f"#{found[1]}" if found else f"{name.partition('/')[2]}.md"


def test_the_sidebar_has_at_most_24_entries_when_nothing_is_unfolded():
    assert len(GROUPS) <= 24


def test_every_page_stands_once_in_the_contents():
    assert sorted(name.partition("/")[2] for name in ORDER) == sorted(p.stem for p in (ROOT / "book").glob("*.md"))


def test_a_page_with_parameters_is_a_notebook_that_papermill_reaches():
    for name in ORDER:
        assert name.startswith("notebooks/") or not re.search(r"tags:.*parameters", text(name)), name


@each("name", ORDER[1:])
def test_the_line_next_leads_to_the_page_or_the_chapter_after_this_one(name):
    place = ORDER.index(name)
    chapters = [ORDER.index(group[0]) for group in GROUPS]
    after = {place + 1, min([p for p in chapters if p > place], default=place + 1)} - {len(ORDER)}
    for line in re.findall(r"(?m)^\*\*Next[.:]\*\*(.*)$", text(name)):
        (first, *_) = re.findall(r"\]\(([^)]+)\)", line)
        assert first in {label(ORDER[p]) for p in after}, f"{name} leads to {first}"


# ---------------------------------------------------------------- exercises

EXERCISES = r"(?m)^\((ex-[\w-]+)\)=\n## Exercises?$"
WITH_EXERCISES = [name for name in ORDER if re.search(EXERCISES, text(name))]


def named(source, imports_and_functions_alone=False):
    """Names that the statements of a cell bind at its top level."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif not imports_and_functions_alone:
            yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


@each("name", WITH_EXERCISES)
def test_exercises_have_a_solution_in_words_and_one_in_code_and_leave_the_page_as_it_is(name):
    before, _, after = re.split(EXERCISES, text(name))
    exercises, _, rest = after.partition("\n## ")
    assert "{code-cell}" not in rest
    for exercise in exercises.split("\n### ")[1:]:
        words, code = exercise.index("{dropdown} Solution"), exercise.index("{code-cell}")
        assert words < code and "tags: [hide-cell]" in exercise[code:]
    header = text(name).partition("\n---\n")[0] + "\n---\n"
    own, theirs = (
        [cell.source for cell in jupytext.reads(part, fmt="md:myst").cells if cell.cell_type == "code"]
        for part in (before, header + exercises)
    )
    kept = {found for source in own for found in named(source, imports_and_functions_alone=True)}
    assert theirs and not kept & {found for source in theirs for found in named(source)}


def test_the_appendix_lists_all_exercises():
    labels = [re.search(EXERCISES, text(name))[1] for name in WITH_EXERCISES]
    assert len(labels) > 10 and not [label for label in labels if f"](#{label})" not in text("book/appendix")]


def test_no_name_stands_for_two_values():
    """A glued quantity is glued once in the whole book, so that no page shows another value under its name."""
    pages = defaultdict(list)
    for page in (ROOT / "notebooks").glob("*.ipynb"):
        for output in outputs(page):
            if "scrapbook" in output.get("metadata", {}):
                pages[output["metadata"]["scrapbook"]["name"]].append(page.stem)
    assert len(pages) > 500 and not {name: found for name, found in pages.items() if len(found) > 1}


def test_no_stored_output_names_the_build_of_a_package():
    """PyTorch for CPUs calls itself 2.13.0+cpu, the one for GPUs not, and both must put out what is stored."""
    for page in (ROOT / "notebooks").glob("*.ipynb"):
        for output in outputs(page):
            said = json.dumps(output.get("text", output.get("data", {}).get("text/plain")))
            assert not re.search(r"\d\+(cpu|cu\d)", said), page.stem
