"""Figures of real tables: individual effects or one average, what a draw saves, how often its intervals hold."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.figures.overview import LESS, MORE, OPEN, per_cent

EQUAL, NAMES = "0.55", {"equal": "equal allocation", "draw": "unequal", "bound": "bound"}


def _rows(names: Sequence[str], axes: Sequence[Axes], size: float, above: bool) -> None:
    """Name a row at each whole number from 0 down: left of the first panel, or, for a phone, above its line."""
    for ax in axes:
        ax.grid(axis="y", visible=False)
        ax.spines[["left", "right", "top"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.tick_params(axis="x", labelsize=size)
        ax.set(yticks=[], ylim=(0.6 - len(names), 1.7 if above else 1.1))
    if not above:
        axes[0].set_yticks(-np.arange(len(names)), names, fontsize=size)
        return
    for place, name in enumerate(names):
        axes[0].text(0, 0.28 - place, name, transform=axes[0].get_yaxis_transform(), va="bottom", fontsize=size)


def plot_saved(found: pd.DataFrame, ax: Axes, size: float = 10, above: bool = False) -> Axes:
    """Draw the share of answers that designs save, a row for each table, the draw's in per cent beside it.

    Args:
        found: by table, per cent ``equal``, ``draw``, ``regression`` and ``bound``, an estimate of the most there is to
            save.
        ax: where to draw.
        size: of the text, in points.
        above: names stand above their rows, for a phone.
    """
    places = -np.arange(len(found))
    ax.axvline(0, color="0.3", linewidth=0.9)
    ax.hlines(places, np.minimum(found.min(axis=1), 0), found.max(axis=1), color="0.85", linewidth=1)
    ax.plot(found["bound"], places, "|", color="black", markersize=11, markeredgewidth=1.8)
    ax.plot(found["equal"], places, "o", color=EQUAL, markersize=6)
    ax.plot(found["regression"], places, "x", color=MORE, markersize=6)
    ax.plot(found["draw"], places, "o", color=LESS, markersize=7.5)
    for place, row in zip(places, found.itertuples(), strict=True):
        where = {"textcoords": "offset points", "ha": "left", "color": LESS, "fontsize": size - 1}
        ax.annotate(per_cent(row.draw, ".0f"), (row.bound, place), (7, -4), **where)
    first, up = found.iloc[0], 18 if above else 0
    for column, lift, side, colour in (
        ("equal", 8, "right", "0.4"),
        ("draw", 17, "center", LESS),
        ("bound", 8, "left", "k"),
    ):
        where = {"textcoords": "offset points", "ha": side, "fontsize": size, "weight": "bold"}
        ax.annotate(NAMES[column], (first[column], 0), (0, lift + up), color=colour, annotation_clip=False, **where)
    ax.set_xlabel("answers saved, %", fontsize=size)
    _rows(list(found.index), [ax], size, above)
    return ax


def proxied(found: pd.DataFrame, axes: Sequence[Axes], promised: float, size: float = 10, above: bool = False) -> None:
    """Draw the share of answers that proxies save, and coverage with them, a row for each table.

    Args:
        found: by table ``saved``, and coverage ``held proxy`` and ``held covariate``, per cent; ``help``, whether the
            first is significant.
        axes: for what is saved, and for coverage.
        promised: coverage that was promised, per cent.
        size: of the text, in points.
        above: names stand above their rows, for a phone.
    """
    places, left, right = -np.arange(len(found)), *axes
    for ax, zero, columns in ((left, 0, ["saved"]), (right, promised, ["held proxy", "held covariate"])):
        ax.axvline(zero, color="0.3", linewidth=0.9)
        ends = found[columns].assign(zero=zero)
        ax.hlines(places, ends.min(axis=1), ends.max(axis=1), color="0.85", linewidth=1)
    left.scatter(found["saved"], places, 50, np.where(found["help"], LESS, "white"), edgecolors=LESS, zorder=3)
    for place, saved in zip(places, found["saved"], strict=True):
        where = {"textcoords": "offset points", "color": LESS, "fontsize": size - 1}
        left.annotate(per_cent(round(saved), "d"), (max(saved, 0), place), (8, -4), **where)
    right.plot(found["held proxy"], places, "o", color=LESS, markersize=6, clip_on=False)
    right.plot(found["held covariate"], places, "x", color=MORE, markersize=6, clip_on=False)
    low, high = left.get_xlim()
    left.set_xlim(low, high + 0.25 * (high - low))  # room for the last number
    left.set_xlabel("answers saved, %", fontsize=size)
    right.set_xlabel("coverage, %", fontsize=size)
    right.set(xlim=(0, 100), xticks=[0, 50, 100])
    for name, colour, place, side in (("covariate", MORE, 0, "left"), ("proxy", LESS, 100, "right")):
        where = {"textcoords": "offset points", "ha": side, "color": colour, "fontsize": size, "weight": "bold"}
        right.annotate(name, (place, 0), (0, 28 if above else 10), annotation_clip=False, **where)
    _rows(list(found.index), axes, size, above)
    if above:  # names reach into the other panel, between its rows
        left.set_zorder(2)
        left.patch.set_visible(False)
        for text in left.texts:
            text.set_in_layout(False)


def covered(found: pd.DataFrame, ax: Axes, promised: float, size: float = 8, named: bool = True) -> Axes:
    """Draw the coverage of intervals with its own interval, a row for each case.

    Args:
        found: by case, shares ``coverage``, ``low`` and ``high``.
        ax: where to draw.
        promised: coverage that was promised.
        size: of the text, in points.
        named: name every case; else those alone that lie below the promise, which are orange.
    """
    places, below = -np.arange(len(found)), (found["high"] < promised).to_numpy()
    colours = np.where(below, MORE, LESS)
    ax.axvline(100 * promised, color="0.3", linewidth=0.9)
    ax.hlines(places, 100 * found["low"], 100 * found["high"], color=colours, linewidth=1.4)
    ax.scatter(100 * found["coverage"], places, 20, colours, zorder=3)
    ax.set_xlabel("coverage of the true effect, %", fontsize=size)
    ax.grid(axis="y", visible=False)
    ax.tick_params(labelsize=size)
    if named:
        ax.set_yticks(places, found.index)
        return ax
    ax.set_yticks([])
    ax.spines[["left", "right", "top"]].set_visible(False)
    for place, (name, row) in zip(places[below], found[below].iterrows(), strict=True):
        where = {"textcoords": "offset points", "va": "center", "ha": "right", "color": MORE, "fontsize": size}
        ax.annotate(f"{name}, {100 * row['coverage']:.0f}%", (100 * row["low"], place), (-6, 0), **where)
    return ax


def against_average(
    found: pd.DataFrame,
    titles: Mapping[str, str],
    axes: Sequence[Axes],
    reach: float,
    size: float = 9,
    above: bool = False,
) -> None:
    """Draw how much further from the truth individual effects are than one average effect, a panel for each size.

    Args:
        found: by ``table`` and ``size``: ``excess``, ``low`` and ``high``, per cent.
        titles: of the tables, which are drawn in this order.
        axes: one for each size.
        reach: to both sides; an arrow says what lies beyond.
        size: of the text, in points.
        above: names stand above their rows, for a phone.
    """
    for (answers, own), ax in zip(found.groupby(level="size", sort=False), axes, strict=True):
        own = own.droplevel("size").reindex(list(titles))
        ax.axvspan(-reach, 0, color="#E8F1FA", zorder=0)
        ax.axvline(0, color="0.3", linewidth=1)
        for place, (_, row) in zip(-np.arange(len(own)), own.iterrows(), strict=True):
            _interval(row, place, ax, reach)
        said = "half of the table" if answers == "half" else f"{int(answers):,} answers"
        ax.set_title(said, fontsize=size + 1, loc="left", weight="bold")
        for name, side, colour in (("individual ", "right", LESS), (" average", "left", MORE)):
            ax.text(0, 1.3 if above else 0.7, name, ha=side, va="center", color=colour, fontsize=size)
        marks = (-10, 0, 10)
        ax.set_xticks(marks, [f"{mark:+d}%".replace("-", "\N{MINUS SIGN}") if mark else "0" for mark in marks])
        ax.set_xlim(-reach, reach)
    _rows(list(titles.values()), axes, size, above)


def _interval(row: pd.Series, place: float, ax: Axes, reach: float) -> None:
    """One row of :func:`against_average`: grey and hollow where its interval holds 0, nothing where it has none."""
    colour = LESS if row.high < 0 else MORE if row.low > 0 else OPEN
    ax.hlines(place, *np.clip([row.low, row.high], -reach, reach), color=colour, linewidth=1.4)
    for end, mark in ((row.low, "<"), (row.high, ">")):
        if abs(end) > reach:
            ax.plot(np.clip(end, -reach, reach), place, mark, color=colour, markersize=4, clip_on=False)
    if abs(row.excess) <= reach:
        ax.plot(
            row.excess, place, "o", color=colour, markersize=5, markerfacecolor="white" if colour == OPEN else colour
        )
