"""*The paper, page by page*: no item of the paper is missing, each has a place or a reason, and every place exists."""

import re

import numpy as np
import pandas as pd
import pytest

from reproduction.book import ROOT
from reproduction.claims import CLAIMS

REFERENCE = re.compile(r"\]\(#([\w-]+)\)|\{(?:eq|numref|ref|prf:ref)\}`([\w-]+)`")
TARGET = re.compile(r"^\(([\w-]+)\)=$|^:label: ([\w-]+)$|^ *:?name: ([\w-]+)$|^\$\$ \(([\w-]+)\)$", re.M)


def rows(text):
    """Items of the page's tables, in order: item, what it says, place."""
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| "]
    return pd.DataFrame([row for row in cells if row[0] != "item"], columns=["item", "says", "place"]).map(
        lambda cell: cell.strip(" |")
    )


def unplaced(table):
    """Items with neither a reference nor a reason."""
    placed = [bool(REFERENCE.search(place)) or "not treated, because " in place for place in table.place]
    return table.item[~np.array(placed)].tolist()


def unresolved(text, pages):
    """References of a text that no page defines."""
    defined = {name for page in pages for found in TARGET.findall(page) for name in found if name}
    return sorted({name for found in REFERENCE.findall(text) for name in found if name} - defined)


@pytest.fixture(scope="module")
def text():
    return (ROOT / "book" / "paper_index.md").read_text(encoding="utf-8")


def test_every_item_of_the_paper_has_one_row_in_the_paper_s_order(text):
    items = pd.read_csv(ROOT / "tests" / "paper_items.csv", keep_default_na=False)
    assert rows(text).item.tolist() == items["item"].tolist()
    labels = " ".join(items["labels"]).split()
    assert len(labels) == len({*labels}) == 88  # of the LaTeX source, all of them


def test_every_item_has_a_place_or_a_reason(text):
    assert unplaced(rows(text)) == []
    assert unplaced(rows("| item | a | b |\n| Eq. 1 | the effect | later |\n")) == ["Eq. 1"]


def test_every_place_exists(text):
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "book").glob("*.md")]
    assert unresolved(text, pages) == []
    assert unresolved("[x](#sec-nowhere) {eq}`eq-none`", pages) == ["eq-none", "sec-nowhere"]


def test_every_claim_of_the_paper_is_named(text):
    named = set(re.findall(r"\b([A-Z]\d[a-d]?)\b", " ".join(rows(text).place)))
    assert {claim.key for claim in CLAIMS if claim.origin == "paper"} - named == set()
