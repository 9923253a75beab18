"""The page of round trips, where the packages are installed that it can do without."""

from pathlib import Path

import jupytext
import pytest

PAGE = Path(__file__).parents[2] / "book" / "round_trips.md"
PACKAGES = {  # name -> what the page calls it, and the first version that works
    "causalml": ("CausalML, X-learner", None),
    "dowhy": ("DoWhy, EconML's X-learner", "0.14"),
}


def run(page):
    """The names of a page once its cells have run."""
    names = {"__name__": "page"}
    for cell in jupytext.read(page).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, str(page), "exec"), names)
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_a_round_trip_through_a_package_that_may_be_missing(package):
    name, version = PACKAGES[package]
    pytest.importorskip(package, version, reason=f"{package} is not installed, and not part of the environment")
    error = run(PAGE)["error"]
    assert 0 < error[name] < 3 * error["macal, joint Gaussian process"]
    if package == "dowhy":  # the same learner by another door, if not to the last digit
        assert error[name] == pytest.approx(error["EconML, X-learner"], rel=0.05)
