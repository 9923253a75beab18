"""Figures of a report, as small SVG with text and without fonts."""

import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from macal.optional import needed
from macal.shapes import Arms, Distances, Outcomes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"control": "#D55E00", "treated": "#0072B2"}
_MORE = ("#009E73", "#CC79A7", "#56B4E9", "#8C6D31")  # of further arms
FAINT = "#8a8a8a"
_LOOK = {
    "svg.fonttype": "none",
    "svg.hashsalt": "macal",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "path.simplify": True,
}
_WIDTH, _HEIGHT = 4.2, 2.7  # inches: about the width of a phone


class Drawing:
    """A figure; ``svg`` holds it once it is done.

    Attributes:
        svg: the drawing.
    """

    svg: str = ""


def check() -> None:
    """Check that figures can be drawn.

    Raises:
        ImportError: matplotlib is missing.
    """
    with needed("matplotlib", "reports"):
        import matplotlib  # noqa: F401


@contextmanager
def drawing(what: str, height: float = _HEIGHT) -> Iterator[tuple["Axes", Drawing]]:
    """Yield an axes and its drawing, as SVG.

    Args:
        what: alternative text.
        height: height in inches.

    Raises:
        ImportError: matplotlib is missing.
    """
    with needed("matplotlib", "reports"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas
    done, file = Drawing(), io.StringIO()
    with rc_context(_LOOK):
        figure = Canvas(figsize=(_WIDTH, height), layout="constrained")
        yield figure.add_subplot(), done
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing, transparent=True)
    svg = file.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r"(-?\d+\.\d\d)\d+", r"\1", svg)  # a hundredth of a point is enough
    svg = _named(re.sub(r"\s*\n\s*", "\n", svg), hashlib.sha256(what.encode()).hexdigest()[:6])
    done.svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(what)}" ', 1)


def _named(svg: str, prefix: str) -> str:
    """Return SVG with ids that are unique on a page and reproducible."""
    names = dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg))
    new = {name: f"{prefix}-{k}" for k, name in enumerate(names)}
    return re.sub(r'(\bid="|="#|url\(#)([^")]+)', lambda m: m[1] + new.get(m[2], m[2]), svg)


def costs(rounds: pd.DataFrame) -> str:
    """Draw the cost of each round as bars, and the cumulative cost as a line."""
    with drawing("Bars: cost of each round. Line: cumulative cost.") as (ax, done):
        ax.bar(rounds.index, rounds["cost"], color="#9ecae1", label="this round")
        ax.plot(rounds.index, rounds["so far"], color="#08519c", marker="o", markersize=3, label="so far")
        ax.set(xlabel="round", ylabel="cost", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
    return done.svg


def covered(table: pd.DataFrame) -> str:
    """Draw distances to the nearest label by round, a line per arm."""
    with drawing("Mean distance to the nearest label of the same arm, by round, a line per arm.") as (ax, done):
        for arm, colour in zip(table, [*COLOURS.values(), *_MORE] * table.shape[1], strict=False):
            ax.plot(table.index, table[arm], color=colour, marker="o", markersize=3, label=arm)
        ax.set(xlabel="round", ylabel="distance to nearest label", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
    return done.svg


def distances(groups: Mapping[str, Distances]) -> str:
    """Draw the share of people with a counterpart within a distance, a line per group."""
    with drawing("Share of people with a counterpart within each distance, before and after.") as (ax, done):
        for (name, values), colour in zip(groups.items(), (FAINT, "#CC3377"), strict=True):
            ordered = np.sort(values)[np.unique(np.linspace(0, len(values) - 1, 200).astype(int))]
            ax.plot(ordered, np.linspace(0, 1, len(ordered)), color=colour, drawstyle="steps-post", label=name)
        ax.set(xlabel="distance to nearest counterpart", ylabel="share", ylim=(0, 1.02), xlim=(0, None))
        ax.legend()
    return done.svg


def effects(table: pd.DataFrame) -> str:
    """Draw sorted effects, and intervals ``low`` to ``high`` as a band."""
    ordered = table.sort_values("effect", kind="stable")
    rows = np.unique(np.linspace(0, len(table) - 1, 200).astype(int))
    some, share = ordered.iloc[rows], rows / max(len(table) - 1, 1)
    with drawing("Individual effects in ascending order, with intervals.") as (ax, done):
        ax.axhline(0, color="0.8", linewidth=1)
        ax.fill_between(share, some["low"], some["high"], color="#9ecae1", label="95% intervals")
        ax.plot(share, some["effect"], color="#08519c", label="effect")
        ax.set(xlabel="share of people", ylabel="effect", xlim=(0, 1))
        ax.figure.legend(loc="outside upper center", ncol=2)
    return done.svg


def propensities(score: Outcomes, t: Arms, what: str) -> str:
    """Draw histograms of propensity scores by arm."""
    with drawing(f"Histograms of propensity scores of both arms: {what}.") as (ax, done):
        for arm, (name, colour) in enumerate(COLOURS.items()):
            ax.hist(score[t == arm], np.linspace(0, 1, 21), color=colour, alpha=0.5, density=True, label=name)
        ax.set(xlabel=f"propensity score, {what}", ylabel="density", xlim=(0, 1))
        ax.legend()
    return done.svg


def balance(table: pd.DataFrame) -> str:
    """Draw standardised differences before and after, a row per covariate."""
    with drawing("Standardised differences of covariates before and after.", 0.9 + 0.22 * len(table)) as (ax, done):
        rows = np.arange(len(table))[::-1]
        ax.axvline(0, color="0.8", linewidth=1)
        ax.hlines(rows, table["all"], table["labelled"], color="0.8")
        ax.plot(table["all"], rows, "o", color=FAINT, label="all people")
        ax.plot(table["labelled"], rows, "D", color="#CC3377", markersize=5, label="labelled")
        ax.set_yticks(rows, [_short(name) for name in table.index], parse_math=False)
        ax.set(xlabel="standardised difference")
        ax.figure.legend(loc="outside upper center", ncol=2)
    return done.svg


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
