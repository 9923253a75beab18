"""Figures of the paper's Theorem 1: bias and variance, risk bound, greedy steps, rates; of arrays and tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from macal import kernels
from reproduction.theory.risk import State

PARTS = {"squared bias": ("#D55E00", "-"), "variance": ("#0072B2", "--"), "posterior variance": ("0.35", ":")}


def repeated_fits(
    places: np.ndarray, truth: np.ndarray, fits: np.ndarray, mean: np.ndarray, labelled: np.ndarray, ax: Axes
) -> None:
    """Draw a curve and a mean prediction, (n,), at places, (n,), single fits, (r, n), and labelled places, (m,)."""
    ax.plot(places, fits.T, color="#0072B2", alpha=0.25, linewidth=0.7)
    ax.plot(places, truth, color="black", linewidth=1.4, label="truth")
    ax.plot(places, mean, "--", color="#D55E00", linewidth=1.6, label="mean of all fits")
    ax.plot([], [], color="#0072B2", linewidth=0.7, label="single fits")
    low = fits.min() - 0.25
    ax.plot(labelled, np.full(len(labelled), low), "|", color="0.3", markersize=9)
    ax.set(xlabel="x; ticks: labelled points", ylim=(low - 0.15, fits.max() + 0.7))
    ax.legend(ncols=3, fontsize=8, loc="upper center")


def parts(runs: Mapping[float, Sequence[np.ndarray]], thick: int, axes: Sequence[Axes]) -> None:
    """Draw the parts of the error against the number of labels: a panel per noise, a thin line per start.

    Args:
        runs: by noise, one array per start: labels, squared bias, variance, posterior variance, (steps, 4).
        thick: the start that is drawn in full colour.
        axes: one per noise.
    """
    for ax, (noise, paths) in zip(axes, runs.items(), strict=True):
        for k, path in enumerate(paths):
            for column, (name, (colour, line)) in enumerate(PARTS.items(), start=1):
                thin = {"alpha": 0.25, "linewidth": 0.6} if k != thick else {"label": name}
                ax.plot(path[:, 0], path[:, column], line, color=colour, **thin)
        ax.set(yscale="log", xlabel="labels", title=f"noise {noise:g}, {len(paths)} starts")
    axes[1].set_ylim(1e-5, None)
    axes[0].legend(fontsize=8, loc="upper right")


def fit(places: np.ndarray, truth: np.ndarray, state: State, ax: Axes) -> None:
    """Draw a curve, (n,), at places, (n,), with the mean prediction and two s.d.s over the labels' noise."""
    thin, sd = slice(None, None, 2), 2 * np.sqrt(state.parts.variance)
    low, high = state.mean - sd, state.mean + sd
    ax.fill_between(places[thin], low[thin], high[thin], color="#0072B2", alpha=0.25)
    ax.plot(places[thin], truth[thin], color="black", linewidth=1.2, label="truth")
    ax.plot(places[thin], state.mean[thin], "--", color="#D55E00", label="mean prediction")
    at = places[state.labelled]
    ax.plot(at, np.full(at.size, -1.75), "|", color="0.3", markersize=9)
    ax.set(ylim=(-1.9, 2.3), xlabel="x; ticks: labelled points", yticks=[-1, 0, 1])
    ax.legend(ncols=2, fontsize=8, loc="upper center")


def ladder(table: pd.DataFrame, names: Mapping[str, str], axes: Sequence[Axes]) -> None:
    """Draw both bounds and the error, and the smallest valid constant, against the number of labels.

    Args:
        table: ``loose``, ``tight``, ``pehe`` and ``constant``, a row per number of labels.
        names: what the columns are called.
        axes: two.
    """
    left, right = axes
    looks = {"loose": ("#D55E00", "--"), "tight": ("#E69F00", "-"), "pehe": ("black", "-")}
    for column, (colour, line) in looks.items():
        left.plot(table.index, table[column], line, marker="o", color=colour, label=names[column])
    left.set(yscale="log", xlabel="labels per arm", title="Bound and error")
    left.legend()
    c = table["constant"]
    right.plot(c.index, c, "o-", color="#0072B2")
    right.axhline(c.iloc[-1], color="0.4", linestyle=":", linewidth=1)
    right.set(xlabel="labels per arm", title="Smallest valid C", ylim=(0, None))


def error_over_target(grid: np.ndarray, target: np.ndarray, error: np.ndarray, labels: np.ndarray, ax: Axes) -> None:
    """Draw the target's density and the effect's squared error on a grid, (n,) each, and labels, (m,), as ticks."""
    ax.fill_between(grid, 5 * (target / target.max()), color="0.85", label="target")
    ax.plot(grid, error, color="#CC3377", label="squared error of the effect")
    ax.plot(labels, np.full(labels.size, -0.25), "|", color="black", markersize=10)
    ax.set(ylim=(-0.5, 6), xlabel="x", yticks=[0, 2, 4])
    ax.legend(ncols=2, fontsize=8, loc="upper center")


def greedy_and_best(places: np.ndarray, sets: Mapping[str, tuple[Sequence[int], float]], axes: Sequence[Axes]) -> None:
    """Draw the variance that sets of labels leave on places of a line, (n, 1): a panel per set.

    Args:
        places: one apart, from 0.
        sets: labelled places and mean variance, by name.
        axes: one per set.
    """
    fine = np.linspace(-0.5, len(places) - 0.5, 201)[:, None]
    for ax, (name, (labels, mean)) in zip(axes, sets.items(), strict=True):
        done = places[list(labels)]
        fine_left, left = (
            kernels.posterior_variance(kernels.rbf(at, done), kernels.rbf(done, done), np.ones(len(at)), 0)
            for at in (fine, places)
        )
        ax.plot(fine, fine_left, color="0.6", linewidth=1)
        ax.vlines(places[:, 0], 0, left, color="#CC3377", linewidth=5)
        look = {"color": "black", "markersize": 8, "clip_on": False, "zorder": 3}
        ax.plot(done[:, 0], np.zeros(len(done)), "o", **look)
        ax.set(title=f"{name}: mean variance {mean:.3f}", xlabel="place; dots are labelled", ylim=(0, 1.05))
    axes[0].set_ylabel("remaining variance")


def coverage(shares: pd.DataFrame, guaranteed: float, ax: Axes) -> None:
    """Draw shares of the best reduction: a row per column of the table, a dot per cloud."""
    for row, name in enumerate(shares):
        jitter = np.random.default_rng(row).uniform(-0.22, 0.22, len(shares))
        colour = "#0072B2" if "greedy" in str(name) else "#E69F00"
        ax.plot(shares[name], -row + jitter, "o", alpha=0.5, color=colour)
    ax.axvline(guaranteed, color="black", linestyle=":")
    ax.text(guaranteed, -3.3, " guaranteed", fontsize=8)
    ax.set_yticks(range(0, -4, -1), shares.columns)
    ax.set(xlim=(0.55, 1.02), xlabel="share of the best reduction")


def chosen_places(sets: Mapping[str, tuple[Sequence[int], float]], ax: Axes) -> None:
    """Mark the places, of nine, that greedy and the best set label, with the share of variance that each takes away."""
    for row, ((labels, worth), colour) in enumerate(zip(sets.values(), ("#CC3377", "black"), strict=True)):
        ax.plot(range(9), np.full(9, -row), "o", color="0.85", markersize=11)
        ax.plot(labels, np.full(len(labels), -row), "o", color=colour, markersize=11)
        ax.text(8.6, -row, f"{100 * (1 - worth):.1f}%", va="center")
    ax.set_yticks([0, -1], list(sets))
    ax.set(ylim=(-1.6, 0.9), xlim=(-0.6, 10), xlabel="place; right: remaining variance", xticks=range(9))
    ax.grid(False)


def left_out(kept: np.ndarray, dropped: Mapping[float, np.ndarray], ax: Axes) -> None:
    """Draw what case ii keeps at each step, (steps,), and what it leaves out, by constant."""
    i = np.arange(1, len(kept) + 1)
    ax.plot(i, kept, color="black", label="kept: $S_i$")
    for (c, e), colour in zip(dropped.items(), ("#D55E00", "#E69F00", "#0072B2"), strict=True):
        ax.plot(i, e, "--", color=colour, label=f"dropped, C = {c:,.0f}")
    ax.set(xscale="log", yscale="log", xlabel="step i", ylim=(5e-5, 3e3))
    ax.set_title("Case ii: kept and left out")
    ax.legend()


def over_claim(ratios: Mapping[str, np.ndarray], ax: Axes) -> None:
    """Draw the bound over its claimed size, (steps + 1,), by what falls."""
    for (name, ratio), colour in zip(ratios.items(), ("#0072B2", "#D55E00"), strict=True):
        ax.plot(range(len(ratio)), ratio, color=colour)
        ax.text(len(ratio) - 1, ratio[-1] * 1.06, name, color=colour, ha="right")
    ax.axhline(1, color="black", linestyle=":", linewidth=1)
    title = r"$B_i$ over $B_0\,\gamma_0/(\gamma_0+i)$"
    ax.set(xlabel="step i", ylim=(0, 1.8), title=title)


def envelope(runs: Mapping[str, tuple[np.ndarray, np.ndarray]], noise: float, axes: Sequence[Axes]) -> None:
    """Draw bounds along campaigns with their two inequalities: a panel per campaign.

    Args:
        runs: variance and distance at every step, (steps + 1,) each, by name.
        noise: of both arms together.
        axes: one per campaign.
    """
    for ax, (name, (v, w)) in zip(axes, runs.items(), strict=True):
        band = r"$CW_i+\zeta$ to $V_0+CW_i+\zeta$"
        ax.fill_between(range(len(v)), w + noise, v[0] + w + noise, color="0.9", label=band)
        ax.plot(v + w + noise, color="#CC3377", label="$B_i$")
        ax.plot(w, "--", color="#0072B2", label="$W_i$", linewidth=1.2)
        ax.plot(v, ":", color="black", label="$V_i$", linewidth=1.2)
        ax.set(title=name, xlabel="step i", ylim=(0, 3.2))
    axes[1].legend(loc="upper right")


def front_door(effects: Mapping[str, float], truth: float, ax: Axes) -> None:
    """Draw average effects as bars, from above, and the true one as a line."""
    names, colours = list(effects)[::-1], ["#0072B2", "#D55E00", "0.6"]
    ax.barh(names, [effects[name] for name in names], color=colours, height=0.6)
    ax.axvline(truth, color="0.3", linestyle="--", linewidth=1)
    ax.set(xlabel="average effect")
