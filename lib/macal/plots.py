"""Figures: pure functions of tables and arrays, an ``Axes`` in, the ``Axes`` out."""

import base64
import io
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter
from PIL import Image

from macal.acquisition import CRITERIA
from macal.comparison import student
from macal.shapes import Arms, Covariates

STYLE = str(Path(__file__).with_name("house.mplstyle"))
PAGE, LEAST_TEXT = 7.2, 8.0  # inches to which a page shrinks wider figures; points that text then has at least
ARM_COLOURS = ("#D55E00", "#0072B2")  # control, treated (Okabe and Ito's palette, safe for colour-blind readers)
ARM_MARKERS = ("o", "^")


class Style(NamedTuple):
    """How a method is drawn: colour (None for the next free one), line, and name in a legend."""

    colour: str | None
    line: str
    label: str


VARIANTS = {  # of a registered criterion, under names of their own
    "macal-squared": Style("#0072B2", ":", "MACAL, squared"),
    "macal-0": Style("#4D004B", ":", "MACAL, α = 0"),
    "macal-1": Style("#88419D", "--", "MACAL, α = 1"),
    "macal-5": Style("#8C96C6", "-.", "MACAL, α = 5"),
    "macal-10": Style("#A0A0D0", "-", "MACAL, α = 10"),
}


def methods() -> list[str]:
    """Names of the methods with a style of their own, in the order of a legend."""
    return [*CRITERIA, *VARIANTS]


def style(method: object) -> Style:
    """The style of a method: what its criterion is registered with, or, for an unknown one, its name alone."""
    entry = CRITERIA.get(str(method))
    return Style(*entry.style, entry.label) if entry else VARIANTS.get(str(method), Style(None, "-", str(method)))


def use_house_style() -> None:
    """Draw every figure from here on in the book's style; in a notebook they are shown by :func:`png`."""
    plt.style.use(STYLE)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        plt.switch_backend(plt.get_backend())  # now, for it shows figures in its own way when it is loaded
        shell.display_formatter.formatters["image/png"].for_type(Figure, png)


def png(figure: Figure) -> tuple[str, dict[str, int]]:
    """Draw a figure at twice its resolution and in at most 256 colours, no text below 8 points at the width of a page.

    Returns the PNG in base64, and its natural width and height in pixels.
    """
    least = LEAST_TEXT * max(1.0, figure.get_figwidth() / PAGE)
    for text in figure.findobj(Text):
        text.set_fontsize(max(least, text.get_fontsize()))
    drawn, small, dpi = io.BytesIO(), io.BytesIO(), 2 * figure.dpi
    figure.savefig(drawn, format="png", dpi=dpi, bbox_inches="tight")
    image = Image.open(drawn).convert("RGB").quantize(dither=Image.Dither.NONE)
    image.save(small, "PNG", optimize=True, dpi=(dpi, dpi))
    size = {"width": image.width // 2, "height": image.height // 2}
    return base64.b64encode(small.getvalue()).decode(), size


def curves(table: pd.DataFrame, value: str, ax: Axes, band: bool = True, log: bool = False) -> Axes:
    """Mean of ``value`` against the number of labels, a line per method in its :func:`style`, with intervals.

    Args:
        table: rows of :func:`macal.run`, or of :func:`macal.comparison.log_ratio`.
        value: column on the vertical axis.
        ax: where to draw.
        band: draw Student's 95% intervals of the mean; needs two replications or more.
        log: use a logarithmic axis, its ticks named by plain numbers.
    """
    given = list(table["method"].unique())
    for method in sorted(given, key=[*methods(), *given].index):
        colour, line, label = style(method)
        rows = table[table["method"] == method]
        groups = rows.dropna(subset=value).groupby("labelled")[value]
        mean = groups.mean()
        (drawn,) = ax.plot(mean.index, mean, line, color=colour, label=label)
        if band:
            found = [student(v) if len(v) > 1 else {"low": np.nan, "high": np.nan} for _, v in groups]
            low, high = ([one[end] for one in found] for end in ("low", "high"))
            ax.fill_between(mean.index, low, high, color=drawn.get_color(), alpha=0.18, linewidth=0)
    ax.set_xlabel("labelled units")
    if log:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
    return ax


def arms(x: Covariates, t: Arms, ax: Axes, bins: int = 60) -> Axes:
    """Histogram of one covariate, (n, 1), in both arms, the control arm below the axis."""
    edges = np.linspace(x.min(), x.max(), bins + 1)
    for arm, sign in ((1, 1), (0, -1)):
        height, _ = np.histogram(x[t == arm, 0], edges)
        ax.stairs(
            sign * height, edges, fill=True, color=ARM_COLOURS[arm], alpha=0.75, label="treated" if arm else "control"
        )
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.yaxis.set_major_formatter(lambda v, _: f"{abs(v):.0f}")
    ax.set(xlabel="x", ylabel="units")
    return ax


def picks(x: Covariates, t: Arms, labelled: np.ndarray, batch: np.ndarray, ax: Axes, links: bool = True) -> Axes:
    """Draw a pool in the plane, (n, 2): free units pale, labelled full, the batch ringed and, by ``links``, paired."""
    whole = np.arange(len(t))
    if links:
        for i, j in zip(batch[::2], batch[1::2], strict=False):
            ax.plot(*x[[i, j]].T, color="0.25", linewidth=1, zorder=1.5)
    for units, shade, size, edge, name in (
        (np.setdiff1d(whole, [*labelled, *batch]), 0.3, 18, "none", "free"),
        (labelled, 1.0, 34, "none", "labelled"),
        (batch, 1.0, 50, "black", "picked"),
    ):
        for arm in (1, 0):
            own = units[t[units] == arm]
            look = {"marker": ARM_MARKERS[arm], "color": ARM_COLOURS[arm], "edgecolor": edge, "alpha": shade, "s": size}
            label = f"{'treated' if arm else 'control'}, {name}"
            ax.scatter(*x[own].T, linewidth=0.9, zorder=2, label=label, **look)
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.grid(visible=False)
    return ax


def method_grid(
    x: Covariates,
    t: Arms,
    labelled: np.ndarray,
    batches: dict[str, np.ndarray],
    axes: np.ndarray,
    pairs: tuple[str, ...] = (),
) -> np.ndarray:
    """Draw what each method picks from the same pool, a panel per method; panels left over vanish.

    Args:
        x: covariates of the pool, (n, 2).
        t: treatment, (n,).
        labelled: units labelled before the batches.
        batches: method -> its batch, in pick order.
        axes: array of ``Axes``, at least as many as methods.
        pairs: methods whose picks are pairs, to be joined.
    """
    for ax in axes.flat[len(batches) :]:
        ax.remove()
    for ax, (method, batch) in zip(axes.flat, batches.items(), strict=False):
        colour, _, label = style(method)
        picks(x, t, labelled, batch, ax, links=method in pairs)
        ax.set_title(label, color=colour or "black", fontsize=9)
    return axes


def comparisons(found: pd.DataFrame, ax: Axes) -> Axes:
    """Draw ``log_ratio``, ``low`` and ``high`` by method, filled where ``comparison`` is "ahead" or "behind"."""
    for k, (method, row) in enumerate(found.iloc[::-1].iterrows()):
        colour = style(method).colour or "0.3"
        ax.plot([row["low"], row["high"]], [k, k], color=colour)
        face = colour if row["comparison"] in ("ahead", "behind") else "white"
        ax.plot(row["log_ratio"], k, "o", color=colour, markerfacecolor=face)
    ax.set_yticks(range(len(found)), [style(m).label for m in found.index[::-1]])
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.set_ylim(-0.6, len(found) - 0.4)
    return ax
