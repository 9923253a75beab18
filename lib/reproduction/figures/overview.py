"""The figure of the front page: MACAL's error beside Random's and QHTE's, on every data set and model recorded."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

PER_CENT = (-40, 0, 100)  # marks of the axis
COLOURS = {"ahead": "#0072B2", "behind": "#D55E00"}
OPEN = "#767676"


def forest(cells: Mapping[tuple[str, str], pd.DataFrame], others: Sequence[str], axes: Sequence[Axes]) -> None:
    """Draw MACAL's error over that of others, with intervals; markers are filled where the comparison is decided.

    Args:
        cells: (model, data set) -> log ratios, as :func:`reproduction.claims.estimators.cells` gives them.
        others: methods, a column of the figure each.
        axes: as many, which share their rows.
    """
    places = np.arange(len(cells))[::-1]
    for other, ax in zip(others, axes, strict=True):
        rows = pd.DataFrame([found.loc[other] for found in cells.values()])
        for place, row in zip(places, rows.itertuples(), strict=True):
            colour = COLOURS.get(row.comparison, OPEN)
            ax.plot([row.low, row.high], [place, place], color=colour, linewidth=1.6)
            face = colour if row.comparison in COLOURS else "white"
            ax.plot(row.log_ratio, place, "o", color=colour, markerfacecolor=face, markersize=7)
        ax.axvline(0, color="#767676", linewidth=0.8)
        names = [f"{value:+d} %" if value else "0" for value in PER_CENT]
        ax.set_xticks([np.log1p(value / 100) for value in PER_CENT], names)
        ax.set_xlim(np.log(0.43), np.log(2.4))
        ax.grid(visible=False)
    axes[0].set_yticks(places, [f"{data}, {model}" for model, data in cells])
    axes[0].set_ylim(-0.6, len(cells) - 0.4)


def beside(values: Sequence[str], heading: str, x: float, ax: Axes) -> None:
    """Print a column of text to the right of a figure, a line for each of its rows, the first on top."""
    across = ax.get_yaxis_transform()
    ax.text(x, len(values) - 0.3, heading, transform=across, ha="right", va="bottom")
    for place, value in enumerate(reversed(values)):
        ax.text(x, place, value, transform=across, ha="right", va="center")
