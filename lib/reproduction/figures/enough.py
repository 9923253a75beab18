"""The figure of models' intervals: a pure function of a table."""

import pandas as pd
from matplotlib.axes import Axes

from macal.plots import style

COLOURS = {"exact GP": "#0072B2", "joint GP": "#D55E00"}
LINES = {"macal": "-", "random": "--"}


def held(table: pd.DataFrame, value: str, ax: Axes, promised: float) -> Axes:
    """Draw the share of intervals that hold against the number of labels: a colour per model, a line per method."""
    ax.axhline(promised, color="0.5", linewidth=0.8)
    for (model, method), own in table.groupby(["model", "method"], sort=False):
        mean = own.groupby("labelled")[value].mean()
        ax.plot(mean.index, mean, LINES[method], color=COLOURS[model], label=f"{model}, {style(str(method)).label}")
    ax.set(xlabel="labelled units")
    return ax
