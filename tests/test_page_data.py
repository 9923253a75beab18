"""Under each figure that is drawn from a recorded table a reader finds the table."""

import re

import jupytext
from cases import each

from reproduction.book import ROOT, chapters

READS = re.compile(r"(?<!macal)(?<!Planner)(?<!toy)\.load\(|estimators\.cells\(")
# computed on a page that reads others
LIVE = {"fig-run-it", "fig-toy-data", "fig-toy-due", "fig-stretch", "fig-ihdp-due", "fig-toy-pool", "fig-toy-budget"}
GLUED = re.compile(r"```\{glue:figure\}.*?\n:name: (\S+)\n(.*?)```", re.DOTALL)


def figures(page):
    """Captions of a page's figures, by name."""
    for cell in jupytext.reads(page, "md:myst").cells:
        about = cell.metadata.get("mystnb", {}).get("figure", {})
        if "name" in about:
            yield about["name"], about["caption"]
    yield from GLUED.findall(page)


def pages():
    for name in chapters():
        text = (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
        if READS.search(text) and list(figures(text)):
            yield name, text


PAGES = dict(pages())


@each("name", PAGES)
def test_every_figure_of_recorded_tables_names_them(name):
    text = PAGES[name]
    assert not [figure for figure, caption in figures(text) if figure not in LIVE and "{recorded}`" not in caption]


def test_the_pages_with_recorded_tables_are_known():
    assert PAGES.keys() >= {"index", "ihdp", "larger", "instead", "dial", "gain", "alpha", "toy", "acquired", "enough"}
    named = {figure for text in PAGES.values() for figure, _ in figures(text)}
    assert LIVE <= named and len(named - LIVE) > 30
