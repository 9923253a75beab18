"""Figures of the bench: pure functions of tables."""

from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.methods import label

MAX_PER_CENT = 60  # per cent at which the colour is full


def regrets(table: pd.DataFrame, ax: Axes, free: Collection[str]) -> None:
    """Colour and print how far criteria err above the best, in per cent: a row for each, a column per data set.

    Args:
        table: by data set, mean log ratio of each criterion, its columns in the order of drawing.
        ax: where to draw.
        free: criteria that need no answers, in bold.
    """
    shares = 100 * np.expm1(table.T.to_numpy())
    ax.imshow(shares, cmap="Oranges", vmin=0, vmax=MAX_PER_CENT, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 0.7 * MAX_PER_CENT else "black"
        ax.text(column, row, f"{share:.0f}", color=colour, ha="center", va="center", fontsize=9)
    ax.set_xticks(range(len(table)), [name.replace(" ", "\n") for name in table.index], fontsize=9)
    ax.set_yticks(range(table.shape[1]), [label(name) for name in table], fontsize=9)
    for name, text in zip(table, ax.get_yticklabels(), strict=True):
        text.set_fontweight("bold" if name in free else "normal")
    ax.axvline(len(table) - 1.5, color="white", linewidth=4)
    ax.xaxis.tick_top()
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
