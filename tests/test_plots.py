"""Figures show the numbers they were given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from macal import plots


@pytest.fixture
def ax():
    with plt.style.context(plots.STYLE):
        figure, axes = plt.subplots()
        yield axes
        figure.canvas.draw()
        plt.close(figure)


def test_curves_draw_means_and_intervals(ax):
    table = pd.DataFrame(
        {
            "method": ["macal"] * 4 + ["own"] * 4,
            "labelled": [10, 20] * 4,
            "replication": [0, 0, 1, 1] * 2,
            "pehe": [3.0, 1, 5, np.nan, 2, 2, 2, 2],
        }
    )
    plots.curves(table, "pehe", ax)
    assert [line.get_label() for line in ax.get_lines()] == ["MACAL", "own"]
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [4, 1])
    assert len(ax.collections) == 2


def test_arms_counts_every_unit(ax):
    x, t = np.linspace(0, 1, 30)[:, None], np.arange(30) % 3 == 0
    plots.arms(x, t.astype(int), ax, bins=7)
    assert [abs(patch.get_data().values.sum()) for patch in ax.patches] == [10, 20]
