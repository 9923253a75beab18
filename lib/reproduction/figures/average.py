"""Figures of what a draw saves, and of how often its intervals hold: pure functions of tables."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

COLOURS = {"draw": "#0072B2", "equal": "0.55"}
NAMES = {"draw": "the draw", "equal": "as many of each arm, at random"}


def saved(found: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the share of answers that designs save, a row for each table and number of answers.

    Args:
        found: by table and number of answers, the shares ``equal``, ``draw`` and ``bound``, the most there is to save.
        ax: where to draw.
    """
    places = -np.arange(len(found)) - 0.5 * (np.arange(len(found)) // 2)
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.plot(found["bound"], places, "|", color="black", markersize=12, label="the most that any draw could")
    for design in ("equal", "draw"):
        ax.plot(found[design], places, "o", color=COLOURS[design], label=NAMES[design])
    ax.set_yticks(places, [f"{table}, {size:,}" for table, size in found.index])
    ax.set_xlabel("answers of a simple random sample that are saved, %")
    ax.grid(axis="y", visible=False)
    return ax


def covered(found: pd.DataFrame, ax: Axes, promised: float) -> Axes:
    """Draw the coverage of intervals with its own interval, a row for each case.

    Args:
        found: by case, shares ``coverage``, ``low`` and ``high``.
        ax: where to draw.
        promised: coverage that was promised.
    """
    places = -np.arange(len(found))
    ax.axvline(100 * promised, color="0.5", linewidth=0.8)
    ax.hlines(places, 100 * found["low"], 100 * found["high"], color=COLOURS["draw"], linewidth=1.4)
    ax.plot(100 * found["coverage"], places, "o", color=COLOURS["draw"])
    ax.set_yticks(places, found.index, fontsize=8)
    ax.set_xlabel("intervals that hold the true effect, %")
    ax.grid(axis="y", visible=False)
    return ax
