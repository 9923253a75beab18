"""Figures of the toy study: pure functions of tables and arrays."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from numpy.typing import ArrayLike

from macal.plots import ARM_COLOURS, style
from macal.shapes import Outcomes

QUANTITIES = {"pehe": r"$\sqrt{\epsilon_{PEHE}}$", "wass": "distance (surrogate)", "var": "model variance"}
LINES = ("-", "--", "-.", ":")


def overlay(
    figure: pd.DataFrame, own: pd.DataFrame, again: pd.DataFrame, columns: Mapping[str, str], axes: np.ndarray
) -> np.ndarray:
    """Draw published bands, our means and the re-run public code: a row per quantity, a column per method.

    Args:
        figure: published ``quantity``, ``method``, ``n_train``, ``mean``, ``sd``; bands are two s.d.s wide.
        own: recorded rows.
        again: ``quantity``, ``method``, ``seed``, ``n_train``, ``value``.
        columns: published quantity -> column of ``own``.
        axes: array of ``Axes``, quantities x methods.
    """
    for row, (quantity, column) in zip(axes, columns.items(), strict=True):
        for ax, (method, band) in zip(row, figure.query("quantity == @quantity").groupby("method"), strict=True):
            colour, _, label = style(method)
            low, high = band["mean"] - 2 * band["sd"], band["mean"] + 2 * band["sd"]
            ax.fill_between(
                band["n_train"], low.clip(lower=0), high, color="0.82", linewidth=0, label="published ± 2 s.d."
            )
            ax.plot(band["n_train"], band["mean"], color="0.45", linewidth=1, label="published mean")
            code = again.query("quantity == @quantity and method == @method").groupby("n_train")["value"].mean()
            ax.plot(code.index, code, "--", color="black", linewidth=1, label="public code, run again")
            mean = own[own["method"] == method].groupby("labelled")[column].mean()
            ax.plot(mean.index, mean, color=colour, label="this book")
            if ax in axes[0]:
                ax.set_title(label, color=colour)
            ax.set(ylim=(0, None), xticks=[25, 145, 265])
        row[0].set_ylabel(QUANTITIES[quantity])
    return axes


def legend_below(fig: Figure, ncols: int) -> Legend:
    """Put one legend below a figure whose panels show the same lines."""
    handles = fig.axes[0].get_legend_handles_labels()
    return fig.legend(*handles, ncols=ncols, fontsize=8, loc="outside lower center")


def ratios(table: pd.DataFrame, value: str, ax: Axes, names: Mapping[str, str], base: str) -> Axes:
    """Ratio of ``value`` to that of one variant of a method against the number of labels, a line per variant.

    Args:
        table: recorded rows.
        value: column; positive.
        ax: where to draw.
        names: method -> what it is called; in the order of drawing, from dark to light.
        base: the variant that the others are compared with, replication by replication; means are geometric.
    """
    wide = np.log(table[table["method"].isin(names)].pivot_table(value, ["replication", "labelled"], "method"))
    mean = np.exp(wide.sub(wide[base], axis=0).groupby(level="labelled").mean())
    shades = colormaps["viridis"](np.linspace(0, 0.85, len(names)))
    for shade, line, (method, label) in zip(shades, cycle(LINES), names.items(), strict=False):
        ax.plot(mean.index, mean[method], line, color=shade, linewidth=1.6, label=label)
    ax.set(xlabel="labelled units")
    return ax


def surface(
    grid: Outcomes, mean: Outcomes, sd: Outcomes, labelled: ArrayLike, picked: ArrayLike, arm: int, ax: Axes
) -> Axes:
    """Draw one arm of one campaign: truth, belief with two s.d.s, labelled units, and those picked next."""
    truth = (np.cos, np.sin)[arm]
    ax.fill_between(
        grid, np.clip(mean - 2 * sd, -2, 2), np.clip(mean + 2 * sd, -2, 2), color=ARM_COLOURS[arm], alpha=0.2, lw=0
    )
    ax.plot(grid, truth(2 * grid), "--", color="0.4", linewidth=0.8)
    ax.plot(grid, mean, color=ARM_COLOURS[arm], linewidth=1.2)
    for places, look in (
        (labelled, {"color": "black", "s": 9}),
        (picked, {"facecolor": "none", "edgecolor": "black", "s": 40}),
    ):
        ax.scatter(places, truth(2 * np.asarray(places)), zorder=3, **look)
    ax.set(ylim=(-2.1, 2.1), yticks=[-1, 1], xlim=(grid[0], grid[-1]))
    return ax


def side_by_side(ax: Axes, titles: Sequence[str]) -> list[Axes]:
    """Put a column of panels, one per method, in the place of ``ax``."""
    figure = ax.figure
    ax.remove()
    panels = list(np.atleast_1d(figure.subplots(len(titles), 1, sharex=True)))
    for panel, method in zip(panels, titles, strict=True):
        colour, _, name = style(method)
        panel.set_title(name, color=colour, fontsize=9)
    return panels
