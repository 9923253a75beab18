"""Figures of intervals and of what a draw saves: pure functions of tables."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from macal.plots import style
from reproduction.claims.weighted import NAMES

COLOURS = {"srs": "0.45", "macal": style("macal").colour, "ate": "#0072B2", "informed": "#009E73", "half": "#56B4E9"}
MODEL_COLOURS = {"exact GP": "#0072B2", "joint GP": "#D55E00"}
LINES = {"macal": "-", "random": "--"}


def coverage(found: pd.DataFrame, ax: Axes, promised: float, off: float) -> Axes:
    """Draw the coverage of each design with its interval, a row each, worlds apart.

    Args:
        found: :func:`reproduction.claims.weighted.coverage`, of one number of labels.
        ax: where to draw.
        promised: coverage that was promised; a band shows ``off`` around it.
        off: half its width.
    """
    ax.axvspan(promised - off, promised + off, color="0.92", linewidth=0)
    ax.axvline(promised, color="0.5", linewidth=0.8)
    return _rows(found, ["coverage", "low", "high"], ax)


def needed(found: pd.DataFrame, ax: Axes, labels: int) -> Axes:
    """Draw how many labels a simple random sample needs for the width of each design, on the rows of :func:`coverage`.

    Args:
        found: ``needed`` by world and design, simple random samples among them; missing where nothing is to be drawn.
        ax: where to draw.
        labels: that each design has.
    """
    ax.axvline(labels, color="0.5", linewidth=0.8)
    return _rows(found.assign(low=found["needed"], high=found["needed"]), ["needed", "low", "high"], ax)


def _rows(found: pd.DataFrame, columns: list[str], ax: Axes) -> Axes:
    worlds = pd.factorize(found.index.get_level_values("world"))[0]
    # a gap of one row between worlds
    places = -(np.arange(len(found)) + worlds)
    for place, (_, design), (value, low, high) in zip(places, found.index, found[columns].to_numpy(), strict=True):
        ax.hlines(place, low, high, color=COLOURS[design], linewidth=1.4)
        ax.plot(value, place, "o", color=COLOURS[design])
    ax.set_yticks(places, [f"{world}: {NAMES[design]}" for world, design in found.index], fontsize=8)
    ax.grid(axis="y", visible=False)
    return ax


def held(table: pd.DataFrame, value: str, ax: Axes, promised: float) -> Axes:
    """Draw the share of intervals that hold against the number of labels: a colour per model, a line per method."""
    ax.axhline(promised, color="0.5", linewidth=0.8)
    for (model, method), own in table.groupby(["model", "method"], sort=False):
        mean = own.groupby("labelled")[value].mean()
        ax.plot(
            mean.index, mean, LINES[method], color=MODEL_COLOURS[model], label=f"{model}, {style(str(method)).label}"
        )
    ax.set(xlabel="labelled units")
    return ax
