"""The contents of the book: every page once, every glued name once."""

import itertools
import json
import re
from collections import defaultdict

import yaml

from reproduction.book import ROOT

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [chapter for part in TOC["parts"] for chapter in part["chapters"]]
ORDER = [TOC["root"], *(page["file"] for c in CHAPTERS for page in (c, *c.get("sections", ())))]


def text(name):
    return (ROOT / "book" / f"{name.partition('/')[2]}.md").read_text(encoding="utf-8")


def outputs(page):
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells for output in cell.get("outputs", [])]


def test_next_leads_through_the_contents():
    for name, after in itertools.pairwise(ORDER[1:]):
        head = text(after)[: re.search(r"(?m)^# ", text(after)).start()]
        label = re.findall(r"\((sec-[\w-]+)\)=", head)[-1]
        last = text(name).rstrip().splitlines()[-1]
        assert last.startswith("**Next:** [") and last.endswith(f"](#{label})"), (name, label)


def test_every_page_stands_once_in_the_contents():
    assert sorted(name.partition("/")[2] for name in ORDER) == sorted(p.stem for p in (ROOT / "book").glob("*.md"))


def test_a_page_with_parameters_is_a_notebook_that_papermill_reaches():
    for name in ORDER:
        assert name.startswith("notebooks/") or not re.search(r"tags:.*parameters", text(name)), name


def test_no_name_stands_for_two_values():
    """A glued quantity is glued once; a comparison, wherever it is quoted, has one value."""
    pages = defaultdict(list)
    for page in (ROOT / "notebooks").glob("*.ipynb"):
        for output in outputs(page):
            if "scrapbook" in output.get("metadata", {}):
                pages[output["metadata"]["scrapbook"]["name"]].append(json.dumps(output["data"]))
    quoted = re.compile(r"[A-Z]\d-(code|text)-")
    several = {
        name for name, found in pages.items() if len(found) > 1 and (not quoted.match(name) or len({*found}) > 1)
    }
    assert len(pages) > 300 and not several


def test_pages_take_comparisons_from_the_ledger_alone():
    """MACAL against another method: by ``book.compare`` and ``ledger.pairs``, so that a pair has one interval."""
    judges = "(compare|against|lead|leads|estimators|families|comparison)"
    other = re.compile(
        rf"\.comparisons\b|from reproduction\.claims\.\w+ import [^\n]*\b{judges}\b"
        rf"|from reproduction\.claims import [^\n]*\b{judges}\b|\bcomparison\.(paired|judge|compare)\("
    )
    for name in ORDER:
        cells = re.findall(r"(?ms)^```\{code-cell\}.*?^```", text(name))
        assert not [found[0] for cell in cells for found in other.finditer(cell)], name


def test_no_stored_output_names_the_build_of_a_package():
    """PyTorch for CPUs calls itself 2.13.0+cpu, the one for GPUs not, and both must put out what is stored."""
    for page in (ROOT / "notebooks").glob("*.ipynb"):
        for output in outputs(page):
            said = json.dumps(output.get("text", output.get("data", {}).get("text/plain")))
            assert not re.search(r"\d\+(cpu|cu\d)", said), page.stem
