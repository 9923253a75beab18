"""Figures: pure functions of tables and arrays, an ``Axes`` in, the ``Axes`` out."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from macal.results import interval
from macal.shapes import Arms, Covariates

STYLE = str(Path(__file__).with_name("house.mplstyle"))
ARM_COLOURS = ("#D55E00", "#0072B2")  # control, treated (Okabe and Ito's palette, safe for colour-blind readers)
METHODS = {  # colour, line style and name in a legend
    "random": ("#7f7f7f", "--", "Random"),
    "qhte": ("#E69F00", "-.", "QHTE"),
    "symmetry": ("#009E73", ":", "Symmetry"),
    "macal": ("#CC3377", "-", "MACAL"),
}


def use_house_style() -> None:
    """Draw every figure from here on in the book's style."""
    plt.style.use(STYLE)


def curves(table: pd.DataFrame, value: str, ax: Axes, band: bool = True) -> Axes:
    """Mean of ``value`` against the number of labels, a line per method, with 95 % bootstrap intervals.

    Args:
        table: rows of :func:`macal.run`, or of :func:`macal.results.log_ratio`.
        value: column on the vertical axis.
        ax: where to draw.
        band: draw the intervals; needs two replications or more.
    """
    for method, rows in table.groupby("method", sort=False):
        colour, line, label = METHODS.get(str(method), (None, "-", str(method)))
        groups = rows.dropna(subset=value).groupby("labelled")[value]
        mean = groups.mean()
        (drawn,) = ax.plot(mean.index, mean, line, color=colour, label=label)
        if band:
            bounds = groups.apply(lambda v: interval(v) if len(v) > 1 else (np.nan, np.nan))
            low, high = np.array(bounds.tolist()).T
            ax.fill_between(mean.index, low, high, color=drawn.get_color(), alpha=0.18, linewidth=0)
    ax.set_xlabel("labelled units")
    return ax


def arms(x: Covariates, t: Arms, ax: Axes, bins: int = 60) -> Axes:
    """Histogram of one covariate in both arms, the control arm below the axis.

    Args:
        x: one covariate, (n, 1).
        t: treatment, (n,).
        ax: where to draw.
        bins: number of bins, shared by the arms.
    """
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
