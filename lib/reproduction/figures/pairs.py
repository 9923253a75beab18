"""Figures of pairs: what leaks, what they are worth, where partners are; of arrays and tables."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from macal import plots

RHO = r"correlation $\rho$ of the surfaces"
PAIRED, OTHER = "#CC3377", "0.35"
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # of text on lines


def leakage(
    surfaces: Mapping[str, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]],
    targets: np.ndarray,
    estimates: Mapping[str, np.ndarray],
    effect: np.ndarray,
    axes: Sequence[Axes],
) -> None:
    """Draw both surfaces with one design's labels, and the effect as two designs estimate it.

    Args:
        surfaces: of control and treated, by name: labelled places, (n, 1), and the surface, a function of such.
        targets: (m, 1).
        estimates: by design, the paired one first, (m,) each.
        effect: the true one, (m,).
        axes: two.
    """
    left, right = axes
    inner = np.linspace(-2, 2, 400)[:, None]
    for arm, (name, (x, surface)) in enumerate(surfaces.items()):
        colour, shown = plots.ARM_COLOURS[arm], x[np.abs(x[:, 0]) < 2]
        left.plot(inner, surface(inner), color=colour, linewidth=1.2, label=name)
        left.plot(shown, surface(shown), plots.ARM_MARKERS[arm], color=colour, markersize=4.5)
    left.set(xlabel="x", ylabel="outcome", ylim=(-2, 4.4))
    left.legend(ncols=2, loc="upper left")
    for (name, estimate), (colour, line) in zip(estimates.items(), ((PAIRED, "-"), ("0.5", "--")), strict=True):
        right.plot(targets, estimate, line, color=colour, label=name, linewidth=1.4)
    right.plot(targets, effect, ":", color="black", label="true effect")
    right.set(xlabel="x", ylabel="effect", xlim=(-4.5, 4.5), ylim=(-1.3, 4.4))
    right.legend(ncols=2, loc="upper left")


def purchase(x: np.ndarray, t: np.ndarray, asked: np.ndarray, new: np.ndarray, paired: bool, ax: Axes) -> None:
    """Draw two people who are asked next, and how far each is from the units of the same arm asked before.

    Args:
        x: all units' two covariates, (n, 2).
        t: arms, (n,).
        asked: rows of those asked before.
        new: rows of the two.
        paired: whether they were chosen as a pair, whose distance is drawn too.
        ax: where to draw.
    """
    for arm in (0, 1):
        look, own = {"marker": plots.ARM_MARKERS[arm]}, asked[t[asked] == arm]
        ax.scatter(*x[t == arm].T, s=30, facecolors="white", edgecolors="#8a8a8a", linewidths=0.9, **look)
        ax.scatter(*x[own].T, s=46, color="#333333", **look)
        for unit in new[t[new] == arm]:
            near = x[own[np.linalg.norm(x[own] - x[unit], axis=1).argmin()]]
            ax.plot(*np.array([x[unit], near]).T, "--", color="#767676", linewidth=1, zorder=0)
            if paired:
                ax.text(*(x[unit] + near) / 2, "far", ha="center", va="center", color="#555555", bbox=BEHIND)
            ax.scatter(*x[unit], s=80, color="#0072B2", **look)
    if paired:
        ax.plot(*x[new].T, color="#0072B2", linewidth=2)
        ax.annotate("alike", x[new].mean(axis=0), (0, -17), textcoords="offset points",
                    ha="center", va="center", color="#0072B2", weight="bold")  # fmt: skip
    ax.set(xticks=[], yticks=[], xlabel="age", ylabel="income")


def near_pairs(gaps: np.ndarray, worst: np.ndarray, one_wave: np.ndarray, ax: Axes) -> None:
    """Draw the leakage of the worst baseline and of a sine against the distance within a pair, (n,) each."""
    ax.loglog(gaps, worst, "s-", color="#D55E00", label="worst baseline of norm 1")
    ax.loglog(gaps, one_wave, "o-", color="#0072B2", label="sine")
    ax.loglog(gaps, gaps * worst[0] / gaps[0] * 3, ":", color="0.3", label="proportional")
    ax.set(xlabel="distance within a pair", ylabel="leakage")
    ax.legend()


def worth(table: pd.DataFrame, ax: Axes) -> None:
    """Draw formula and simulation, with four standard errors, against the correlation: a line per design.

    ``table``: ``formula``, ``simulated`` and ``standard error`` by design, the paired one first, and correlation.
    """
    designs = table.index.unique(0)
    for name, colour, line in zip(designs, (PAIRED, OTHER), ("-", "--"), strict=True):
        rows = table.loc[name]
        ax.plot(rows.index, rows["formula"], line, color=colour)
        ax.errorbar(rows.index, rows["simulated"], 4 * rows["standard error"], fmt="o", color=colour)
        ax.text(0.93, rows["formula"].iloc[-1], str(name), color=colour, va="center")
    ax.set(xlabel=RHO, ylabel="squared error", ylim=(0, None))
    ax.set_xlim(-1, 1.2)


def joint(correlations: np.ndarray, errors: Mapping[tuple[str, str], np.ndarray], ax: Axes) -> None:
    """Draw errors, (n,) by design and model (separate or joint), against correlations, (n,)."""
    for (design, model), values in errors.items():
        colour, line = PAIRED if design == "paired" else OTHER, "-" if model == "separate" else ":"
        ax.plot(correlations, values, line, color=colour, label=f"{design}, {model}")
    ax.set(xlabel=RHO, ylabel="squared error", ylim=(0, None))
    ax.legend()


def shifted(
    grid: np.ndarray,
    surfaces: tuple[np.ndarray, np.ndarray],
    labels: Sequence[tuple[np.ndarray, np.ndarray]],
    estimate: np.ndarray,
    ax: Axes,
) -> None:
    """Draw two surfaces, their labels, the effect and its estimate."""
    for arm, values, name in zip((1, 0), surfaces, ("treated", "control"), strict=True):
        ax.plot(grid, values, color=plots.ARM_COLOURS[arm], linewidth=1, label=name)
    for arm, (x, y) in zip((1, 0), labels, strict=True):
        ax.plot(x, y, plots.ARM_MARKERS[arm], color=plots.ARM_COLOURS[arm])
    ax.plot(grid, surfaces[0] - surfaces[1], ":", color="black", label="effect")
    ax.plot(grid, estimate, color=PAIRED, label="estimate")
    ax.set(ylim=(-5, 7), xlim=(-4, 4), xlabel="x")
    ax.legend(ncols=4, fontsize=8, loc="upper center")


def shares_by_weight(shares: pd.DataFrame, ylabel: str, ax: Axes) -> None:
    """Draw two shares against the weight, named at the lines' ends; the table has a row per weight."""
    for column, colour, line in zip(shares, ("#0072B2", "#009E73"), ("o-", "s--"), strict=True):
        ax.plot(range(len(shares)), shares[column], line, color=colour)
        ax.text(len(shares) - 1, shares[column].iloc[-1] - 0.19, str(column), color=colour, ha="right", va="top")
    ax.set_xticks(range(len(shares)), [f"{a:g}" for a in shares.index])
    ax.set(xlabel=r"$\alpha$", ylabel=ylabel, ylim=(0, 1.05))


def distances_by_weight(table: pd.DataFrame, ax: Axes) -> None:
    """Draw two distances against the weight, named to the right of the lines; the table has a row per weight."""
    for column, colour, line in zip(table, ("#0072B2", "#D55E00"), ("o-", "s--"), strict=True):
        ax.plot(range(len(table)), table[column], line, color=colour)
        ax.text(len(table) - 0.85, table[column].iloc[-1], str(column), color=colour, va="center")
    ax.set_xticks(range(len(table)), [f"{a:g}" for a in table.index])
    ax.set(xlabel=r"$\alpha$", ylabel="distance", ylim=(0, None), xlim=(-0.3, 8.4))


def locality(pairs: pd.DataFrame, partners: pd.DataFrame, slope: float, axes: Sequence[Axes]) -> None:
    """Draw pairs' distances against their bounds, and best partners' against the nearest unit's.

    Args:
        pairs: ``alpha``, ``distance`` and ``bound``, a row per pair.
        partners: ``nearest``, ``euclidean`` and ``squared``, a row per unit.
        slope: of the line that bounds Euclidean partners.
        axes: two.
    """
    left, right = axes
    look = {"markeredgewidth": 0}
    for (a, rows), colour in zip(pairs.groupby("alpha"), ("#E69F00", "#009E73", "#0072B2"), strict=True):
        label = rf"$\alpha$ = {a:g}"
        left.plot(rows["bound"], rows["distance"], "o", alpha=0.6, color=colour, label=label, **look)
    end = 1.05 * pairs["bound"].max()
    left.plot([0, end], [0, end], color="0.3", linewidth=1)
    left.set(xlabel="bound", ylabel="distance within the pair", xlim=(0, end), ylim=(0, 1.5 * pairs["distance"].max()))
    for name, mark, colour in (("squared", "s", "#D55E00"), ("euclidean", "o", "#0072B2")):
        label = f"{name} distances"
        right.plot(partners["nearest"], partners[name], mark, alpha=0.25, color=colour, label=label, **look)
    end = 1.05 * partners["nearest"].max()
    right.plot([0, end], [0, end * slope], color="0.3", linewidth=1)
    right.set(xlabel="distance of the nearest control", ylabel="distance of the best partner")
    right.set(xlim=(0, end), ylim=(0, 1.25 * partners[["euclidean", "squared"]].max(axis=None)))
    left.legend()
    right.legend(loc="lower right")


def twin_rates(
    pairs: np.ndarray, rates: Mapping[int, tuple[np.ndarray, np.ndarray]], start: int, axes: Sequence[Axes]
) -> None:
    """Draw one term of the bound against an arm's labels, the other against pairs, with what theory says, dotted.

    Args:
        pairs: numbers of pairs, (n,), from 0.
        rates: by dimension, mean squared distances to the labels, (n,), and distances between the arms, (m,), m <= n.
        start: labels of each arm at the start.
        axes: two.
    """
    left, right = axes
    labels = pairs[1:] + start
    for (d, (m2, w1)), colour in zip(rates.items(), ("#0072B2", "#009E73", "#E69F00", "#CC3377"), strict=True):
        left.loglog(labels, m2[1:], "o-", color=colour)
        left.text(labels[-1] * 1.15, m2[-1], f"d = {d}", color=colour, va="center")
        left.loglog(labels, 1.6 * m2[1] * (labels / labels[0]) ** (-2 / d), ":", color=colour, linewidth=1)
        right.plot(pairs[: len(w1)], w1 / w1[0], "o", color=colour, alpha=0.7)
    more = np.linspace(0, 64, 200)
    right.plot(more, start / (start + more), ":", color="black")
    left.set(xlabel="labels of an arm", ylabel=r"$\sum_t \mathbb{E}\, m_t^2$", xlim=(9, 700))
    right.set(xlabel="pairs", ylabel="$W_1$ / $W_1$ at the start", ylim=(0, 1.05))


def ranks(table: pd.DataFrame, mean: pd.DataFrame, axes: Sequence[Axes]) -> None:
    """Draw where chosen batches rank among all: a panel per ``c``, a row per rule, a dot per pool, bars for means.

    Args:
        table: ``chosen by``, ``c`` and ``rank``.
        mean: mean ranks, rules x ``c``.
        axes: one per ``c``.
    """
    for ax, (c, part) in zip(axes, table.groupby("c"), strict=True):
        place = part["chosen by"].map({name: -k for k, name in enumerate(mean.index)})
        ax.plot(part["rank"], place, "o", color=PAIRED, alpha=0.25, markeredgewidth=0)
        ax.plot(mean[c], -np.arange(len(mean)), "|", color="black", markersize=14)
        ax.set(title=f"c = {c:g}", xlim=(-0.03, 1.03), xlabel="share beaten")
    axes[0].set_yticks(-np.arange(len(mean)), mean.index)


def evaluations(counts: Mapping[str, Sequence[int]], ax: Axes) -> None:
    """Draw how many pair scores each search, by name, computed for each pick."""
    looks = (("#E69F00", ":"), ("#CC3377", "-"), ("#0072B2", "-."), ("0.4", "--"))
    for (name, own), (colour, line) in zip(counts.items(), looks, strict=True):
        ax.plot(range(1, len(own) + 1), own, line, color=colour, label=name, linewidth=1.4)
    ax.set(yscale="log", xlabel="pair", ylabel="pair scores computed", ylim=(100, None))
    ax.legend(ncols=2, fontsize=8)
