"""Figures show the numbers they were given."""

import base64
import io
from types import SimpleNamespace

import IPython
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from IPython.core.formatters import PNGFormatter
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

import macal
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
            "method": ["own"] * 4 + ["macal"] * 4 + ["random"] * 4,
            "labelled": [10, 20] * 6,
            "replication": [0, 0, 1, 1] * 3,
            "pehe": [2, 2, 2, 2, 3.0, 1, 5, np.nan, 2, 2, 2, 2],
        }
    )
    plots.curves(table, "pehe", ax)
    assert [line.get_label() for line in ax.get_lines()] == ["Random", "MACAL", "own"]
    np.testing.assert_allclose(ax.get_lines()[1].get_ydata(), [4, 1])
    assert len(ax.collections) == 3


def test_a_logarithmic_axis_names_its_ticks_by_plain_numbers(ax):
    table = pd.DataFrame({"method": "macal", "labelled": [10, 20], "replication": 0, "pehe": [0.8, 2.4]})
    plots.curves(table, "pehe", ax, band=False, log=True)
    ax.figure.canvas.draw()
    shown = {tick.get_text() for tick in ax.get_yticklabels(which="both")} - {""}
    assert ax.get_yscale() == "log" and {"1", "2"} <= shown and all(float(text) > 0 for text in shown)


def test_arms_counts_every_unit(ax):
    x, t = np.linspace(0, 1, 30)[:, None], np.arange(30) % 3 == 0
    plots.arms(x, t.astype(int), ax, bins=7)
    assert [abs(patch.get_data().values.sum()) for patch in ax.patches] == [10, 20]


def test_every_method_has_a_style_and_a_name_of_its_own():
    styles = [plots.style(method) for method in plots.methods()]
    assert {*macal.names()} < {*plots.methods()} and None not in {style.colour for style in styles}
    assert len({style[:2] for style in styles}) == len({style.label for style in styles}) == len(styles)


def test_picks_draws_every_unit_once_and_joins_pairs(ax):
    x, t = np.arange(20.0).reshape(10, 2), np.tile([1, 0], 5)
    plots.picks(x, t, np.array([0, 1]), np.array([2, 3, 4]), ax)
    assert sum(len(c.get_offsets()) for c in ax.collections) == 10
    assert [c.get_label() for c in ax.collections][-2:] == ["treated, picked", "control, picked"]
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), x[[2, 3]])


def test_method_grid_names_panels_and_drops_spare_ones():
    x, t = np.arange(20.0).reshape(10, 2), np.tile([1, 0], 5)
    figure, axes = plt.subplots(1, 3)
    plots.method_grid(x, t, np.array([0]), {"macal": np.array([2, 3]), "own": np.array([4, 5])}, axes, pairs=("macal",))
    assert [ax.get_title() for ax in figure.axes] == ["MACAL", "own"]
    assert [len(ax.get_lines()) for ax in figure.axes] == [1, 0]
    plt.close(figure)


def test_comparisons_fill_what_is_clear(ax):
    found = pd.DataFrame(
        {"log_ratio": [-0.2, 0.1], "low": [-0.3, -0.1], "high": [-0.1, 0.3], "comparison": ["ahead", "open"]},
        index=["random", "qhte"],
    )
    plots.comparisons(found, ax)
    faces = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"]
    assert faces[0] == "white" != faces[1]  # drawn from below
    assert [label.get_text() for label in ax.get_yticklabels()] == ["QHTE", "Random"]
    np.testing.assert_allclose(
        [line.get_xdata() for line in ax.lines if line.get_marker() == "None"][:2], [[-0.1, 0.3], [-0.3, -0.1]]
    )


@pytest.mark.parametrize("width, least", [(7.2, 8.0), (3.0, 8.0), (14.4, 16.0)])
def test_shown_figures_are_sharp_small_and_legible(width, least):
    with plt.style.context(plots.STYLE):
        figure, axes = plt.subplots(figsize=(width, 3))
        axes.imshow(np.random.default_rng(0).random((40, 40)), aspect="auto", cmap="viridis")
        axes.set_title("small", fontsize=5)
        axes.text(5, 5, "large", fontsize=20)
        shown, size = plots.png(figure)
        plt.close(figure)
    image = Image.open(io.BytesIO(base64.b64decode(shown)))
    assert image.mode == "P" and image.info["dpi"] == pytest.approx((192, 192), abs=0.1)
    assert (size["width"], size["height"]) == (image.width // 2, image.height // 2)
    assert size["width"] == pytest.approx(96 * width, rel=0.05)
    drawn = [text.get_fontsize() for text in figure.findobj(Text)]
    assert min(drawn) == least and max(drawn) == 20


def test_the_house_style_shows_figures_in_a_notebook_and_leaves_scripts_alone(monkeypatch):
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"image/png": PNGFormatter()}))
    monkeypatch.setattr(plt, "switch_backend", lambda name: None)
    with plt.style.context("default"):
        monkeypatch.setattr(IPython, "get_ipython", lambda: None)
        plots.use_house_style()
        assert plt.rcParams["figure.dpi"] == 96
        monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
        plots.use_house_style()
        assert shell.display_formatter.formatters["image/png"].lookup_by_type(Figure) is plots.png
