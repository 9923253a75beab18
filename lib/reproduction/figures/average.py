"""Figures of what a draw saves, and of how often its intervals hold: pure functions of tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

INDIVIDUAL, ONE = "#0072B2", "#B2480A"
COLOURS = {"draw": "#0072B2", "equal": "0.55"}
NAMES = {"draw": "the draw", "equal": "as many of each arm, at random"}


def saved(found: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the share of answers that designs save, a row for each table.

    Args:
        found: by table, the shares ``equal``, ``draw`` and ``bound``, an estimate of the most there is to save.
        ax: where to draw.
    """
    places = -np.arange(len(found))
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.plot(found["bound"], places, "|", color="black", markersize=12, label="estimated limit")
    for design in ("equal", "draw"):
        ax.plot(found[design], places, "o", color=COLOURS[design], label=NAMES[design])
    ax.set_yticks(places, found.index)
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


def against_average(found: pd.DataFrame, titles: Mapping[str, str], axes: Sequence[Axes], reach: float) -> None:
    """Draw how much further from the truth individual effects are than one average effect, a panel for each size.

    Args:
        found: by ``table`` and ``size``: ``excess``, ``low`` and ``high``, per cent.
        titles: of the tables, which are drawn in this order.
        axes: one for each size.
        reach: to both sides; what lies beyond is cut.
    """
    for (size, own), ax in zip(found.groupby(level="size", sort=False), axes, strict=True):
        own = own.droplevel("size").reindex(list(titles))
        ax.axvspan(-reach, 0, color="#E8F1FA", zorder=0)
        ax.axvline(0, color="0.3", linewidth=1)
        for place, (_, row) in enumerate(own.iterrows()):
            sure = not row["low"] <= 0 <= row["high"]
            colour = (INDIVIDUAL if row["high"] < 0 else ONE) if sure else "0.55"
            ax.hlines(-place, *np.clip([row["low"], row["high"]], -reach, reach), color=colour, linewidth=1.4)
            middle = {
                "color": colour,
                "markersize": 5,
                "markerfacecolor": colour if sure else "white",
                "clip_on": False,
            }
            ax.plot(np.clip(row["excess"], -reach, reach), -place, "o", **middle)
        ax.set_title("half of the table" if size == "half" else f"{int(size):,} answers", fontsize=9, loc="left")
        ax.text(-0.02, 1.0, "individual ", ha="right", va="top", transform=ax.get_xaxis_transform(), color=INDIVIDUAL)
        ax.text(0.02, 1.0, " average", ha="left", va="top", transform=ax.get_xaxis_transform(), color=ONE)
        ax.set(xlim=(-reach, reach), ylim=(0.7 - len(titles), 1.2))
        ax.grid(axis="y", visible=False)
    axes[0].set_yticks(-np.arange(len(titles)), list(titles.values()), fontsize=8)
