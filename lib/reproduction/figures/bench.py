"""Figures of the bench: pure functions of tables."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from macal import acquisition
from reproduction.claims.bench import average

MOST = 0.5  # regret at which the colour is full
TALL = 20  # rows from which columns are named at both ends


def label(method: str) -> str:
    """What a criterion of the bench is called in a figure."""
    if method in acquisition.CRITERIA:
        return acquisition.CRITERIA[method].label
    name, _, rest = method.rpartition("-")
    return f"{acquisition.CRITERIA[name].label}, " + ("4 queries ahead" if rest == "ahead" else f"weight {rest}")


def regrets(table: pd.DataFrame, ax: Axes) -> AxesImage:
    """Colour and print the regret of each criterion on each row; below, the largest of each and the data sets' mean.

    ``table``: :func:`reproduction.claims.bench.regret`, its columns in the order of drawing.
    """
    below = {("largest", ""): table.max(), ("mean", ""): average(table)}
    whole = pd.concat([table, pd.DataFrame(below).T])
    drawn = ax.imshow(whole, cmap="YlOrRd", vmin=0, vmax=MOST, aspect="auto")
    for (row, column), value in np.ndenumerate(whole.to_numpy()):
        dark = value > 0.6 * MOST
        weight = "bold" if value == 0 else "normal"
        text = {"fontsize": 6.5, "ha": "center", "va": "center", "fontweight": weight}
        short = f"{value:.2f}".removeprefix("0")
        said = short if short.startswith(".") else f"{value:.1f}"
        ax.text(column, row, said, color="w" if dark else "k", **text)
    names = [label(method) for method in whole]
    ax.set_xticks(range(len(names)), names, rotation=70, ha="right", fontsize=8)
    if len(whole) > TALL:
        top = ax.secondary_xaxis("top")
        top.set_xticks(
            range(len(names)), names, rotation=70, ha="left", va="center", rotation_mode="anchor", fontsize=8
        )
        top.tick_params(length=0)
    ax.set_yticks(range(len(whole)), [", ".join(filter(None, place)) for place in whole.index], fontsize=8)
    data = [place[0] for place in whole.index]
    for row in (k for k in range(1, len(data)) if data[k] != data[k - 1]):
        ax.axhline(row - 0.5, color="k", linewidth=0.8)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    return drawn


def forest(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw log ratios with their intervals, a row each, filled where they are decided.

    ``table``: ``log_ratio``, ``low``, ``high``, ``comparison`` by row.
    """
    places = np.arange(len(table))[::-1]
    decided = table["comparison"].isin(["ahead", "behind"]).to_numpy()
    ax.hlines(places, table["low"], table["high"], color="#0072B2", linewidth=1.2)
    fill = ["#0072B2" if known else "white" for known in decided]
    ax.scatter(table["log_ratio"], places, 22, fill, edgecolors="#0072B2", zorder=3)
    ax.axvline(0, color="0.6", linewidth=0.8)
    ax.set_yticks(places, table.index, fontsize=8)
    return ax
