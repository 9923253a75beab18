"""Figures of the data chapter: pure functions of tables and arrays, an ``Axes`` in, the ``Axes`` out."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from macal.plots import ARM_COLOURS
from macal.shapes import Arms, Outcomes


def share_by_arm(values: Outcomes, t: Arms, ax: Axes) -> Axes:
    """Draw the distribution of a probability in both arms, the control arm below the axis.

    Heights are square roots of shares of the arm, so that thin tails show.
    """
    edges = np.linspace(0, 1, 41)
    for arm, sign in ((1, 1), (0, -1)):
        height, _ = np.histogram(values[t == arm], edges)
        label = "treated" if arm else "control"
        ax.stairs(
            sign * np.sqrt(height / height.sum()), edges, fill=True, color=ARM_COLOURS[arm], alpha=0.75, label=label
        )
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="probability of treatment", xticks=[0, 0.5, 1], yticks=[], xlim=(-0.02, 1.02))
    ax.grid(visible=False, axis="y")
    return ax


def surfaces(position: Outcomes, mu0: Outcomes, mu1: Outcomes, ax: Axes) -> Axes:
    """Draw both outcome surfaces against one number per unit, the effect shaded between them."""
    order = np.argsort(position)
    x, low, high = (np.asarray(v)[order] for v in (position, mu0, mu1))
    ax.fill_between(x, low, high, color="0.78", linewidth=0, label="effect")
    for arm, mu in ((0, low), (1, high)):
        ax.plot(x, mu, ".-", color=ARM_COLOURS[arm], markersize=2, linewidth=1, label=rf"$\mu_{arm}$")
    ax.set_ylabel("outcome")
    return ax


def bias_step(classes: np.ndarray, t: Arms, dropped: np.ndarray, ax: Axes) -> Axes:
    """Draw how many units of each class an arm has, what is dropped as an outline, the control arm below the axis."""
    values = np.unique(classes)
    for arm, sign in ((1, 1), (0, -1)):
        count = [[np.sum((classes == v) & (t == arm) & (dropped == gone)) for v in values] for gone in (False, True)]
        kept, gone = sign * np.array(count)
        ax.bar(values, kept, color=ARM_COLOURS[arm], alpha=0.85, label="treated, kept" if arm else "control, kept")
        if gone.any():
            ax.bar(
                values,
                gone,
                bottom=kept,
                facecolor="none",
                edgecolor=ARM_COLOURS[arm],
                hatch="////",
                label="treated, dropped",
            )
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set_xticks(values)
    ax.yaxis.set_major_formatter(lambda v, _: f"{abs(v):,.0f}")
    ax.set_ylabel("units")
    return ax


def digit_ladder(images: np.ndarray, labels: np.ndarray, phi: Outcomes, ax: Axes) -> Axes:
    """Lay out the digits, a column each, from the least to the most ink of its class.

    Images are evenly spread over the range of phi, without its ends, which are clipped.
    """
    steps = 5
    sheet = np.zeros((28 * steps, 280), np.uint8)
    for digit in range(10):
        own = np.flatnonzero(labels == digit)
        inside = np.linspace(phi[own].min(), phi[own].max(), steps + 2)[1:-1]
        for row, target in enumerate(inside[::-1]):
            nearest = own[np.abs(phi[own] - target).argmin()]
            sheet[28 * row : 28 * row + 28, 28 * digit : 28 * digit + 28] = images[nearest].reshape(28, 28)
    ax.imshow(sheet, cmap="magma", extent=(-3, 3, 0, 1), aspect="auto", interpolation="antialiased")
    ax.set(xlabel=r"$\varphi$", yticks=[0.5 / steps, 1 - 0.5 / steps], yticklabels=["faint", "bold"])
    ax.grid(visible=False)
    return ax


def digit_card(image: np.ndarray, lines: list[str], ax: Axes) -> Axes:
    """Show one image with what is known of it underneath."""
    ax.imshow(image.reshape(28, 28), cmap="magma")
    ax.set(xticks=[], yticks=[], xlabel="\n".join(lines))
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    return ax


def marked_histogram(values: ArrayLike, mark: float, label: str, ax: Axes) -> Axes:
    """Draw a histogram of ``values`` with a marked number beside it."""
    values = np.asarray(values)
    edges = np.arange(values.min() - 2, values.max() + 4, 4)
    ax.hist(values, edges, color="#0072B2", alpha=0.75)
    ax.axvline(np.median(values), color="0.2", linestyle="--", linewidth=1.2, label="median replication")
    ax.axvline(mark, color="#CC3377", label=label)
    ax.set_ylabel("replications")
    return ax
