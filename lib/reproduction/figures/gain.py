"""Figures of what the gain is made of: functions of tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

BLUE = "#0072B2"


def shares(tables: Mapping[str, pd.DataFrame], lines: Sequence[pd.Series], axes: Sequence[Axes]) -> None:
    """Draw measured log ratios with intervals against the share of treated labels: a panel per table.

    Args:
        tables: ``measured``, ``low`` and ``high`` by share, by what is said of the surfaces.
        lines: predicted log ratios by share, one per table.
        axes: one per table.
    """
    for ax, (title, rows), line in zip(axes, tables.items(), lines, strict=True):
        ax.plot(line.index, line, color="0.6")
        bars = [rows["measured"] - rows["low"], rows["high"] - rows["measured"]]
        ax.errorbar(rows.index, rows["measured"], bars, fmt="o", color=BLUE)
        ax.axvline(0.5, color="0.8", linestyle=":")
        ax.axhline(0, color="0.6", linewidth=0.8)
        ax.set(title=f"surfaces {title}", xlabel="share of treated labels")
    axes[0].set_ylabel("log ratio to 0.19")


def swap(table: pd.DataFrame, titles: Mapping[str, str], axes: Sequence[Axes]) -> None:
    """Draw allocation (filled) and placement (open) with intervals: a panel per surface, a row per estimator."""
    names = list(table.index.unique(0))[::-1]
    for ax, (surface, title) in zip(axes, titles.items(), strict=True):
        for part, shift, face in (("allocation", 0.14, BLUE), ("placement", -0.14, "white")):
            rows = table.xs((surface, part), level=(1, 2)).loc[names]
            for k, row in enumerate(rows.itertuples()):
                ax.plot([row.low, row.high], [k + shift] * 2, color=BLUE)
                look = {"markerfacecolor": face, "label": part if not k else None}
                ax.plot(row.log_ratio, k + shift, "o", color=BLUE, **look)
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set(title=title, xlabel="log ratio", xticks=[-0.4, -0.2, 0, 0.2])
    axes[0].set_yticks(np.arange(len(names)), names)
    axes[0].legend(fontsize=8)
