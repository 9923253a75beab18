"""The figure of *The reproduction, at a glance*: published curves beside ours."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from macal.plots import style


def beside(published: pd.DataFrame, own: pd.DataFrame, levels: Mapping[str, float], ax: Axes) -> Axes:
    """Draw the published mean errors as circles, our means as lines, and our replications thin.

    A mean is drawn at the sizes that all replications of its method have.

    Args:
        published: ``method``, ``labelled``, ``pehe``; one row per method and size.
        own: recorded rows of the same methods; others are left out.
        levels: what a dashed line is called -> its height.
        ax: where to draw.
    """
    for method, circles in published.groupby("method", sort=False):
        colour, _, label = style(method)
        wide = own[own["method"] == method].pivot_table("pehe", "labelled", "replication")
        for replication in wide:
            ax.plot(wide[replication].dropna(), color=colour, linewidth=0.5, alpha=0.25)
        ax.plot(wide.dropna().mean(axis="columns"), "o-", color=colour, linewidth=2.2, label=label)
        ax.plot(circles["labelled"], circles["pehe"], "o", markerfacecolor="white", markeredgecolor=colour)
    for said, height in levels.items():
        ax.axhline(height, color="0.35", linewidth=0.9, linestyle="--")
        ax.annotate(
            said, (1, height), (0, 2), xycoords=ax.get_yaxis_transform(), textcoords="offset points", ha="right"
        )
    ax.set_xlabel("labels")
    return ax
