"""What is said of sources, versions and dates agrees wherever it is said."""

import re
import tomllib

import yaml

import macal
from reproduction.book import ROOT


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    page = (ROOT / "book" / "cite.md").read_text(encoding="utf-8")
    assert project["version"] == macal.__version__ == cited["version"]
    assert set(re.findall(r"\b\d+\.\d+\.\d+(?:\.dev\d+)?\b", page)) == {macal.__version__}


def test_a_version_without_a_release_says_so():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d\S*)", changes, re.M)
    assert (".dev" in macal.__version__) == (macal.__version__ not in released)


def test_citations_name_the_same_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"][0]
    names = [f"{author['family-names']}, {author['given-names']}" for author in cited["authors"]]
    for file in ("book/references.bib", "book/cite.md"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert cited["title"] in text and "2411.11256" in text, file
        assert all(name in text for name in names), file
