"""Small multiples: a panel per method, where the intervals of several would lie on one another."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal.comparison import log_ratio, shared
from macal.plots import curves, style


def against_random(table: pd.DataFrame, methods: Sequence[str], axes: np.ndarray) -> np.ndarray:
    """Draw each method's log ratio of PEHE to Random's, with its interval; MACAL's goes along as a thin line."""
    for ax in axes.flat[len(methods) :]:
        ax.set_visible(False)
    for ax, method in zip(axes.flat, methods, strict=False):
        rows = log_ratio(shared(table, ["random", "macal", method]))
        if method != "macal":
            curves(rows[rows["method"] == "macal"], "log_ratio", ax, band=False)
            ax.lines[0].set(linewidth=0.8)
        own = rows[rows["method"] == method]
        curves(own, "log_ratio", ax).axhline(0, color="0.5", linewidth=0.8)
        ax.label_outer()
        ax.set_title(f"{style(method).label}, n = {own['replication'].nunique()}", fontsize=9)
    return axes


def each(table: pd.DataFrame, value: str, methods: Sequence[str], axes: np.ndarray) -> np.ndarray:
    """Draw each method's mean with its interval in a panel of its own, over the other methods' means, which are thin.

    Args:
        table: ``method``, ``labelled``, ``replication`` and the value.
        value: column on the vertical axis.
        methods: one per panel; the panel of one that the table lacks is hidden.
        axes: as many.
    """
    for ax, method in zip(axes, methods, strict=True):
        own = table[table["method"] == method]
        if own.empty:
            ax.set_visible(False)
            continue
        for _, other in table[table["method"] != method].groupby("method"):
            means = other.groupby("labelled")[value].mean()
            ax.plot(means.index, means, color="0.75", linewidth=0.8)
        curves(own, value, ax).set_xlabel("")
        ax.axhline(0, color="0.5", linewidth=0.8)
    return axes
