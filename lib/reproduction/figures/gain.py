"""The figure of the best share of labels: a function of tables."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes

BLUE = "#0072B2"


def shares(tables: Mapping[str, pd.DataFrame], lines: Sequence[pd.Series], axes: Sequence[Axes]) -> None:
    """Draw measured changes with intervals against the share of treated labels: a panel per table.

    Args:
        tables: ``measured``, ``low`` and ``high`` by share, by title.
        lines: predicted changes by share, one per table.
        axes: one per table.
    """
    for ax, (title, rows), line in zip(axes, tables.items(), lines, strict=True):
        ax.plot(line.index, line, color="0.5")
        bars = [rows["measured"] - rows["low"], rows["high"] - rows["measured"]]
        ax.errorbar(rows.index, rows["measured"], bars, fmt="o", color=BLUE)
        ax.axhline(0, color="0.6", linewidth=0.8)
        ax.set(title=title, xlabel="treated fraction of labels")
    axes[0].set_ylabel("% relative to a fraction of 0.19")
