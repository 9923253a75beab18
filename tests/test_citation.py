"""What is said of sources, versions and dates agrees wherever it is said."""

import json
import os
import re
import subprocess
import tomllib

import pytest
import yaml

import macal
from reproduction import site
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


@pytest.fixture
def clone(tmp_path):
    """A repository of two commits, 3 and 5 May 2020, and a function that writes the records of a table."""

    def git(*arguments, day="2020-05-03"):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        when = {f"GIT_{who}_DATE": f"{day}T12:00:00Z" for who in ("COMMITTER", "AUTHOR")}
        command = ["git", *names, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | when, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    commits = []
    for day in ("2020-05-03", "2020-05-05"):
        git("commit", "-q", "--allow-empty", "-m", day, day=day)
        commits.append(git("rev-parse", "HEAD"))

    def write(name, *manifests):
        (tmp_path / "results").mkdir(exist_ok=True)
        file = tmp_path / "results" / f"{name}.json"
        file.write_text(json.dumps({"records": [{"manifest": manifest} for manifest in manifests]}), encoding="utf-8")

    return tmp_path, commits, write


def test_dates_of_recorded_tables_are_those_of_their_commits(clone):
    root, (first, last), write = clone
    write("a", {"commit": last}, {})
    write("b", {"commit": first}, {"commit": "0" * 40})
    (root / "results" / "claims.json").write_text("{}", encoding="utf-8")  # no table
    assert site.computed(root) == "3 May 2020 to 5 May 2020"


def test_without_a_history_no_date_is_made_up(clone):
    root, _, write = clone
    write("a", {}, {"commit": "0" * 40})
    assert "no history" in site.computed(root)
