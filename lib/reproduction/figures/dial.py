"""Figures of the dial: pure functions of tables."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import TwoSlopeNorm
from matplotlib.patheffects import withStroke

from reproduction.theory import allocation

COLOURS, NORM = "RdBu_r", TwoSlopeNorm(0, -0.4, 0.4)  # blue where MACAL gains
ESTIMATOR_COLOURS = ("#0072B2", "#D55E00")


def phase(power: float, ax: Axes) -> ScalarMappable:
    """Colour the plane of arms' error ratio and natural share by what balanced arms gain, with the line of no gain.

    ``power``: b by which squared errors fall.
    """
    r, natural = np.geomspace(0.05, 16, 161), np.linspace(0.05, 0.65, 121)
    gains = [[allocation.gain(0.5, float(share), float(ratio), power) for ratio in r] for share in natural]
    drawn = ax.pcolormesh(r, natural, gains, cmap=COLOURS, norm=NORM, shading="nearest", alpha=0.55, rasterized=True)
    shares = natural[np.abs(natural - 0.5) > 0.01]
    ties = [allocation.tie(0.5, float(share), power) for share in shares]
    ax.plot(ties, shares, color="0.2", linewidth=1)
    ax.axhline(0.5, color="0.2", linewidth=1)
    ax.set(xscale="log", xlim=(0.05, 16), ylim=(0.05, 0.65), ylabel="pool's treated fraction")
    ax.set_xlabel("error ratio, treated over control surface")
    ax.set_xticks([0.1, 0.25, 0.5, 1, 2, 4, 8], ["0.1", "0.25", "0.5", "1", "2", "4", "8"])
    ax.minorticks_off()
    return ScalarMappable(drawn.norm, COLOURS)


def places(table: pd.DataFrame, marker: str, ax: Axes, size: float = 46, named: bool = True) -> Axes:
    """Mark cases on the plane of :func:`phase`, filled by what MACAL was measured to gain."""
    look = {"cmap": COLOURS, "norm": NORM, "edgecolor": "black", "linewidth": 0.8, "zorder": 3}
    ax.scatter(table["ratio"], table["natural"], size, table["gain"], marker=marker, **look)
    for name, row in table.iterrows() if named else ():
        place, above = (row["ratio"], row["natural"]), {"xytext": (0, 8), "textcoords": "offset points", "ha": "center"}
        text = ax.annotate(str(name), place, fontsize=8, zorder=4, **above)
        text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    return ax


def calibration(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw measured against predicted log ratios, a colour per estimator.

    ``table``: ``predicted`` and ``measured`` by estimator and case.
    """
    for colour, (name, rows) in zip(ESTIMATOR_COLOURS, table.groupby("estimator"), strict=False):
        ax.plot(rows["predicted"], rows["measured"], "o", color=colour, markersize=4, label=str(name))
    ends = [min(*ax.get_xlim(), *ax.get_ylim()), max(*ax.get_xlim(), *ax.get_ylim())]
    ax.plot(ends, ends, color="0.5", linestyle="--", linewidth=1)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.axvline(0, color="0.7", linewidth=0.8)
    ax.set(xlabel="predicted log PEHE / PEHE of Random", ylabel="measured")
    return ax
