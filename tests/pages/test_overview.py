"""Forests: what a mark says is in its colour, its fill and its place."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reproduction.figures import overview

ROWS = pd.DataFrame(
    [
        ("clear", -20.0, -30.0, -10.0, "ahead"),
        ("barely", -15.0, -30.0, -0.2, "ahead"),
        ("behind", 25.0, 5.0, 50.0, "behind"),
        ("open", 4.0, -20.0, 40.0, "open"),
        ("alike", -1.0, -5.0, 4.0, "no lead"),
    ],
    columns=["method", "change", "low", "high", "comparison"],
).set_index("method")
LOOKS = {  # colour, and how the mark is filled
    "clear": (overview.LESS, "full"),
    "barely": (overview.LESS, "left"),
    "behind": (overview.MORE, "full"),
    "open": (overview.OPEN, "none"),
    "alike": (overview.OPEN, "none"),
}


@pytest.fixture(scope="module")
def lines():
    ax = Figure().add_subplot()
    overview.forest(ROWS, [float(k) for k in range(len(ROWS))], ax)
    return ax.lines


def test_colours_and_fills_are_those_of_the_word(lines):
    assert overview.LESS == "#0072B2" and overview.MORE == "#D55E00"  # blue is lower, orange higher
    for bar, mark, look in zip(lines[::2], lines[1::2], LOOKS.values(), strict=True):
        assert (mark.get_markeredgecolor(), mark.get_fillstyle()) == look
        assert bar.get_color() == look[0]


def test_bars_and_marks_stand_where_the_numbers_are(lines):
    for k, (bar, mark, row) in enumerate(zip(lines[::2], lines[1::2], ROWS.itertuples(), strict=True)):
        assert np.allclose(np.expm1(bar.get_xdata()) * 100, [row.low, row.high]) and list(bar.get_ydata()) == [k, k]
        assert np.allclose(np.expm1(mark.get_xdata()) * 100, row.change)


def test_what_was_run_is_said_by_data_set_and_version():
    keys = ["claim", "version", "estimator", "dataset", "against"]
    rows = [("E1", "code version", "", "ihdp", name, 20.0) for name in ("random", "qhte")]
    rows += [("E3", "code version", "", "cmnist", "random", 5.0), ("E3", "code version", "", "cmnist", "qhte", 3.0)]
    pairs = pd.DataFrame(rows, columns=[*keys, "replications"]).set_index(keys)
    assert overview.run_of(pairs, "ihdp", "code version") == "2 of 8 baselines, 20 runs"
    assert overview.run_of(pairs, "cmnist", "code version") == "2 of 8 baselines, 3 to 5 runs"
