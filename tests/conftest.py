"""Settings shared by all tests."""

import os
import signal
import sys
from pathlib import Path

# dozens of processes import the same modules: whoever compiled them last time has spared 15 seconds to each of us
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many test processes run as there are cores; before any library asks

import pytest
import threadpoolctl
import torch
from hypothesis import settings
from jaxtyping import config, install_import_hook
from processes import served

# what a shell starts in the background does not hear Ctrl-C, nor do the processes that tests send it to
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

torch.set_num_threads(1)
threadpoolctl.threadpool_limits(int(os.environ["OMP_NUM_THREADS"]), "blas")  # a plugin may have been first

# files that take longest, first: one that is begun last keeps the other processes waiting
LONGEST = (
    "test_without_data.py test_experiments.py test_site.py test_inference_targets.py test_sample.py test_pdf.py"
    " test_compiled.py backbones.ipynb toy.ipynb ihdp.ipynb cmnist.ipynb test_verdicts_again.py"
    " test_planner_estimate.py test_play.py test_sweeps.py test_campaign_machine.py test_planner_greedy.py"
    " test_tables.py ihdp_small.ipynb own_data.ipynb test_ledger.py wasserstein_lemma.ipynb instead.ipynb"
    " test_book.py variance_lemma.ipynb data.ipynb test_play_tables.py test_pair_search.py"
    " test_planner_clusters.py test_fieldwork.py test_recording.py test_sequential.py test_due.py"
    " test_planner_report.py test_exact_gp.py test_design.py test_files.py"
).split()

# a browser that asks for nothing by itself
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split()
QUIET += "--disable-component-update --disable-sync".split()

settings.register_profile("whole", derandomize=True, deadline=None)
settings.register_profile("part", settings.get_profile("whole"), max_examples=30)


def pytest_configure(config):
    """In the exhaustive run, draw more problems, and check array shapes and types wherever the library states them."""
    settings.load_profile("part" if config.option.markexpr else "whole")
    config.addinivalue_line("filterwarnings", "ignore::macal.survey.Doubt")  # small tables have much to doubt
    if not config.option.markexpr:
        install_import_hook(["macal", "reproduction"], "beartype.beartype")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Begin with the longest files; leave the page that trains for a minute to the exhaustive run."""
    for item in items:
        if item.path.name == "backbones.ipynb":
            item.add_marker("exhaustive")
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unchecked(monkeypatch):
    """Check no types: values of wrong ones reach the library, and thousands of small calls take a third less time."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def checked_once(request):
    """Check no types in the whole of a test whose part always runs."""
    if request.node.get_closest_marker("exhaustive") and "whole" in request.node.name:
        request.getfixturevalue("unchecked")


@pytest.fixture(autouse=True)
def origin(monkeypatch):
    """Let tests record and publish from a working tree with changes; return what tells the origin of the code."""
    from macal.campaigns import provenance

    plain = provenance.origin
    monkeypatch.setattr(provenance, "origin", lambda: dict(provenance.UNKNOWN))
    return plain


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for all tests."""
    from reproduction.pdf import chromium

    try:
        path = chromium()
    except FileNotFoundError as error:
        refuse = pytest.fail if os.environ.get("MACAL_REQUIRE_BROWSER") else pytest.skip
        refuse(str(error))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address():
    """Where the book's modules are served, on this machine only."""
    with served(Path(__file__).parents[1] / "book" / "_static") as address:
        yield address


@pytest.fixture(scope="module")
def tab(browser, address):
    """An empty page beside the modules."""
    page = browser.new_page(base_url=address)
    page.goto("/favicon.svg")
    yield page
    page.close()
