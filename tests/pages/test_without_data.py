"""A clone whose raw data are gone, with no cache and no network: pages that declare no raw files run all the same.

They do so as an older processor would, so that one execution of all pages shows both.
"""

import os
import re
import shutil
import subprocess
import sys

import matplotlib
import pytest

from macal.datasets import DATASETS
from reproduction import book, paths

NEEDY = {  # pages that are kept as they are, and why
    "average": "it estimates everybody's chance of treatment in the real tables",
    "data": "it shows the files themselves, and measures every replication anew",
    "ibm": "it plays campaigns on IBM's births",
    "cmnist": "it shows CMNIST's images, and plays campaigns on them",
    "paper_code": "it looks at the effects of IBM's units",
    "plan_my_survey": "it plans a survey of a real table's people",
}
LOADS = "|".join(name for name, entry in DATASETS.items() if entry.files)
READS = (
    rf"""macal\.load\(\s*"({LOADS})"|\b(ibm|acic)\.table\(|\bcmnist\.digits\(|\bfiles\.read\(|\baverage\.population\("""
)
DEAD = "http://127.0.0.1:9"  # a port that nothing listens on


def test_the_pages_that_declare_raw_files_are_those_that_read_them():
    texts = {name: (book.ROOT / "book" / f"{name}.md").read_text(encoding="utf-8") for name in book.chapters()}
    assert {name for name, text in texts.items() if "files.require(" in text} == NEEDY.keys()
    assert {name for name, text in texts.items() if re.search(READS, text)} == NEEDY.keys()


@pytest.fixture
def bare(tmp_path):
    """Copy the working tree without its raw data, and say in which environment it has neither a cache nor a network."""
    left_out = {"data", "runs", "_build", "tests"}

    def ignored(folder, names):
        top = left_out if folder == str(book.ROOT) else set()
        return {name for name in names if name in top or name == "__pycache__" or name.startswith(".")}

    shutil.copytree(book.ROOT, tmp_path / "clone", ignore=ignored)
    proxies = {name: DEAD for key in ("http_proxy", "https_proxy", "all_proxy") for name in (key, key.upper())}
    alone = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path / "clone" / "lib")}
    # fonts are not looked for anew by every page
    environment = os.environ | proxies | alone | {"MPLCONFIGDIR": matplotlib.get_cachedir()}
    environment.pop("MACAL_DATA", None)
    return tmp_path / "clone", environment


@pytest.mark.exhaustive
def test_every_page_runs_without_data_and_agrees_or_says_what_it_lacks(bare):
    clone, environment = bare
    older = paths.paths().get("baseline", {})
    order = [sys.executable, "-m", "reproduction.book", "--keep"]
    done = subprocess.run(order, cwd=clone, env=environment | older, capture_output=True, text=True, check=False)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert said.keys() == set(book.chapters())
    kept = {name for name, outcome in said.items() if outcome.startswith("kept as it is, without ")}
    assert kept == NEEDY.keys()
    # an output beyond its tolerance would be written, and said
    assert [line for line in said.items() if line[0] not in kept and not re.fullmatch(r"[\d.]+ s", line[1])] == []
    assert "could not be downloaded" in done.stderr and "git restore data" in done.stderr
    assert not (clone / "data").exists() and not list((clone.parent / "cache").rglob("*.parquet"))
