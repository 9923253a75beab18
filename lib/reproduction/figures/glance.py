"""The figure of *The reproduction, at a glance*: published curves beside ours."""

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd
from matplotlib.axes import Axes

from macal.plots import style


def beside(
    published: pd.DataFrame | None,
    own: pd.DataFrame,
    ax: Axes,
    levels: Mapping[str, float] = MappingProxyType({}),
    said: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    value: str = "pehe",
    size: float = 10,
    thin: bool = True,
) -> Axes:
    """Draw published means as circles, our means as lines, and our replications thin.

    A mean is drawn at the sizes that all replications of its method have.

    Args:
        published: ``method``, ``labelled`` and the value; one row per method and size; None where nothing is.
        own: recorded rows; of methods that are published alone, where some are.
        ax: where to draw.
        levels: what a dashed line is called -> its height.
        said: where a method's name is written, labels and height.
        value: column of the mean.
        size: of the text, in points.
        thin: draw the replications, too.
    """
    for method in (own if published is None else published)["method"].unique():
        colour, _, label = style(method)
        wide = own[own["method"] == method].pivot_table(value, "labelled", "replication")
        for replication in wide if thin else ():
            ax.plot(wide[replication].dropna(), color=colour, linewidth=0.5, alpha=0.2)
        ax.plot(wide.dropna().mean(axis="columns"), "-", color=colour, linewidth=2.2)
        if published is not None:
            circles = published[published["method"] == method]
            look = {"markersize": 4, "markerfacecolor": "white", "markeredgecolor": colour}
            ax.plot(circles["labelled"], circles[value], "o", **look)
        if method in said:
            ax.text(*said[method], label, color=colour, va="center", weight="bold", fontsize=size)
    for name, height in levels.items():
        ax.axhline(height, color="0.35", linewidth=0.9, linestyle="--")
        ax.annotate(name, (1, height), (0, 2), ax.get_yaxis_transform(), "offset points", ha="right", fontsize=size)
    ax.set_xlabel("labels", fontsize=size)
    ax.tick_params(labelsize=size)
    return ax
