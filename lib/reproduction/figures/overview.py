"""Forests: MACAL's error over another method's, with intervals, a line for each comparison."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from reproduction.benchmarks import BASELINES
from reproduction.claims.scale import range_of

LESS, MORE, OPEN = "#0072B2", "#D55E00", "#767676"
TOUCH_TOLERANCE = 0.5  # per cent: an interval that ends nearer to none than this touches it


def per_cent(value: float, form: str) -> str:
    """A number as figures print it: in a format, with a minus sign, before the per cent."""
    return f"{value:{form}}%".replace("-", "\N{MINUS SIGN}")


def forest(rows: pd.DataFrame, places: Sequence[float], ax: Axes, size: float = 10) -> None:
    """Draw a line for each row, its change beside it: blue below 0, orange above, grey and hollow where open.

    A marker is half filled where a significant interval touches 0.

    Args:
        rows: of :func:`reproduction.claims.ledger.pairs`.
        places: heights, one per row.
        ax: where to draw; its axis is logarithmic in the ratio of errors.
        size: of the text, in points.
    """
    for place, row in zip(places, rows.itertuples(), strict=True):
        colour = {"ahead": LESS, "behind": MORE}.get(row.comparison, OPEN)
        low, change, high = (np.log1p(value / 100) for value in (row.low, row.change, row.high))
        touches = min(abs(row.low), abs(row.high)) < TOUCH_TOLERANCE
        fill = "none" if colour == OPEN else "left" if touches else "full"
        ax.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
        look = {"markersize": 8, "fillstyle": fill, "markerfacecoloralt": "white", "markeredgecolor": colour}
        ax.plot(change, place, "o", color=colour, **look)
        where = {"textcoords": "offset points", "ha": "center", "color": colour, "fontsize": size}
        text = ax.annotate(per_cent(row.change, "+.0f"), (change, place), (0, 6), **where)
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])


def scale(marks: Sequence[int], limits: tuple[float, float], ax: Axes, size: float = 10, middle: str = "0") -> None:
    """Mark per cent on an axis of log ratios, with a line at 0 that ``middle`` names."""
    ax.axvline(0, color=OPEN, linewidth=0.9, zorder=0)
    names = [per_cent(mark, "+d") if mark else middle for mark in marks]
    ax.set_xticks([np.log1p(mark / 100) for mark in marks], names, fontsize=size)
    ax.set_xlim(*(np.log1p(limit / 100) for limit in limits))
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines[["left", "right", "top"]].set_visible(False)


def run_of(pairs: pd.DataFrame, dataset: str, version: str) -> str:
    """Say how many of the paper's baselines MACAL is compared with, in how many runs: "8 of 8 baselines, 20 runs"."""
    found = pairs.xs((version, dataset), level=("version", "dataset")).replications.astype(int)
    return f"{len(found)} of {len(BASELINES)} baselines, {range_of(found.agg(['min', 'max']).tolist())} runs"


def front(pairs: pd.DataFrame, names: Mapping[str, tuple[str, str]], ax: Axes, narrow: bool = False) -> None:
    """The front page's forest: MACAL against Random, a data set after another, the code version above the text version.

    Args:
        pairs: of :func:`reproduction.claims.ledger.pairs`.
        names: data set -> its name, and what it is of.
        ax: where to draw.
        narrow: for a phone.
    """
    rows = pairs.xs("random", level="against").droplevel(["claim", "estimator"]).swaplevel().loc[list(names)]
    gap = 2.9 if narrow else 2.6
    places = [-gap * k - 1.05 * v for k in range(len(names)) for v in range(2)]
    rows = rows.reindex([(name, version) for name in names for version in ("code version", "text version")])
    size = 11 if narrow else 10
    forest(rows, places, ax, size)
    scale((-40, 0, 40) if narrow else (-40, -20, 0, 20, 40), (-52, 75), ax, size, "random")
    across = ax.get_yaxis_transform()
    for k, (label, said) in enumerate(names.values()):
        top = -gap * k
        if narrow:
            ax.text(-0.42, top + 0.8, f"{label}, {said}", transform=across, weight="bold", fontsize=size)
        else:
            ax.text(-0.68, top, label, transform=across, weight="bold", va="center", fontsize=size + 1)
            ax.text(-0.68, top - 1.05, said, transform=across, color=OPEN, va="center", fontsize=size - 1)
    for place, (name, version) in zip(places, rows.index, strict=True):
        look = {"transform": across, "ha": "right", "va": "center"}
        said, run = version.split()[0] if narrow else version, run_of(pairs, name, version)
        ax.text(-0.02, place + 0.18, said, fontsize=size, **look)
        ax.text(
            -0.02, place - 0.28, run.replace(" baselines", "") if narrow else run, fontsize=size - 2, color=OPEN, **look
        )
    ax.set_ylim(places[-1] - 0.6, 1.5)
    for said, side, colour in (("MACAL's error is lower", "right", LESS), ("higher", "left", MORE)):
        shift = (-6 if side == "right" else 6, 0)
        place = ax.get_xaxis_transform()
        ax.annotate(said, (0, 0.97), shift, place, "offset points", ha=side, color=colour, fontsize=size)
