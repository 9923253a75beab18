"""Figures of the paper's Lemmas 2 to 4, and of what holds instead. Functions of campaigns and arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from macal import plots
from macal.kernels import rbf
from reproduction.claims import lemmas
from reproduction.figures.overview import LESS, MORE
from reproduction.figures.toy import legend_below
from reproduction.theory import variance
from reproduction.theory import wasserstein as ws
from reproduction.theory.variance import VarianceCampaign

LEMMA = "Lemma 3, arms of equal size"
WALK = (4.8, 3.1)  # inches: text of 12 points stays readable where a phone shrinks it


def refit(scales: Mapping[str, float], axes: Sequence[Axes]) -> None:
    """Draw how more labels make a refitted model less certain far away.

    ``scales``: length scale by when it was fitted, before and after the labels at quarters.
    """
    line = np.linspace(-3, 3, 601)
    more = np.union1d(lemmas.ALIASED, lemmas.QUARTERS)
    for ax, x, (when, scale) in zip(axes, (lemmas.ALIASED, more), scales.items(), strict=True):
        y, gram = lemmas.aliased(x)[:, None], rbf(x[:, None], x[:, None], scale) + 1e-4 * np.eye(len(x))
        mean = (rbf(line[:, None], x[:, None], scale) @ np.linalg.solve(gram, y))[:, 0]
        band = 2 * np.sqrt(variance.line_posterior(x, line, scale, 1e-4))
        ax.fill_between(line, mean - band, mean + band, color="#56B4E9", alpha=0.45, linewidth=0)
        ax.plot(line, lemmas.aliased(line), "--", color="0.35", linewidth=1)
        ax.plot(x, y, "o", color="black", markersize=4)
        ax.axvline(2.2, color="#D55E00", linestyle=":", linewidth=1.2)
        ax.set(title=f"{when}: length scale {scale:.2f}", xlabel="x")
    axes[0].set_ylabel("f(x)")


def drops(runs: Mapping[str, VarianceCampaign], claimed: float, ax: Axes) -> None:
    """Draw what each step takes off the mean variance, by kernel, and the claimed drop."""
    looks = (("#CC3377", "o-"), ("#E69F00", "s-"), ("#0072B2", "^-"), ("0.45", "-"))
    for (name, run), (colour, mark) in zip(runs.items(), looks, strict=True):
        fallen = -np.diff(run.mean)
        ax.plot(range(1, len(run.mean)), fallen, mark, color=colour, label=name, linewidth=1.3, markersize=3.5)
    ax.axhline(claimed, color="black", linestyle="--", linewidth=1.2, label="claimed minimum")
    ax.set(yscale="log", ylim=(1e-9, 1), xlabel="step", ylabel="drop of the mean variance")
    ax.legend(fontsize=8, loc="lower left", bbox_to_anchor=(1.0, 0.2))


def variance_bounds(runs: Mapping[str, Sequence[np.ndarray]], axes: Sequence[Axes]) -> None:
    """Draw mean variances with both bounds: a panel per kernel, one legend below them.

    Args:
        runs: by kernel, the most uncertain units labelled, random ones, the linear and the geometric bound, (steps,).
        axes: one per kernel, of one figure.
    """
    for ax, (name, (uncertain, drawn, linear, geometric)) in zip(axes, runs.items(), strict=True):
        ax.plot(uncertain, color="#0072B2", label="most uncertain")
        ax.plot(drawn, ":", color="#D55E00", label="random")
        ax.plot(linear, "-.", color="black", linewidth=1.1, label="linear bound")
        ax.plot(geometric, "--", color="0.5", linewidth=1.1, label="paper's bound")
        ax.set_title(name, fontsize=8.5)
        ax.set_xlabel("step")
    axes[0].set(ylabel="mean variance", ylim=(0, 1.02))
    legend_below(axes[0].figure, 4)


def one_by_one(places: np.ndarray, run: VarianceCampaign, step: int, ax: Axes) -> None:
    """Draw the variance at places on a line, (n, 1), after so many steps, with its mean and the linear bound."""
    labelled, v = np.concatenate(run.picks[: step + 1]), run.variances[step]
    ax.fill_between(places[:, 0], v, step="mid", color="#56B4E9", linewidth=0)
    at = places[labelled, 0]
    ax.plot(at, np.zeros(len(at)), "v", color="black", markersize=6, clip_on=False)
    ax.axhline(run.mean[step], color="#CC3377", label="mean")
    ax.axhline(variance.repaired_bound(run)[step], color="black", linestyle="-.", label="linear bound")
    ax.set(xlabel="x (triangles: labels)", ylabel="variance", ylim=(0, 1.05))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))


def noisy(run: VarianceCampaign, noise: float, again: np.ndarray, floor: np.ndarray, axes: Sequence[Axes]) -> None:
    """Draw a campaign with noise beside its bounds, and repeated labels beside theirs.

    Args:
        run: each unit labelled once.
        noise: variance of a label's noise.
        again: mean variance of 20 units, the most uncertain labelled repeatedly, (labels,).
        floor: what any design leaves, (labels,).
        axes: two.
    """
    a, b = axes
    a.plot(run.mean, color="0.6", linewidth=4, label="measured")
    a.plot(variance.repaired_bound(run, noise), "-.", color="black", label="repaired bound")
    a.plot(variance.geometric_bound(run), "--", color="#CC3377", label="paper's bound")
    a.set(xlabel="step", ylabel="mean variance")
    a.legend(fontsize=8)
    n = np.arange(1, len(again) + 1)
    b.loglog(n, again, color="#0072B2", label="most uncertain, repeatedly")
    b.loglog(n, floor, "-.", color="black", label="floor of any design")
    b.loglog(n, (1 - 1 / 20) ** n, "--", color="#CC3377", label=r"$\beta^n$")
    b.set(xlabel="labels", ylim=(2e-3, 1.1))
    b.legend(fontsize=8, loc="lower left")


def on_a_line(rough: np.ndarray, least: np.ndarray, smooth: np.ndarray, ax: Axes) -> None:
    """Draw mean variances label by label: exponential kernel, the least possible, (n,) each; RBF kernel, (m,)."""
    n = np.arange(1, len(rough) + 1)
    ax.loglog(n, rough, color="#0072B2", label="exponential, most uncertain first")
    ax.loglog(n, least, "-.", color="black", label="exponential, minimum")
    seen = np.maximum(smooth, 1e-12)
    ax.loglog(range(1, len(seen) + 1), seen, "s", color="#CC3377", ms=3, label="RBF, most uncertain first")
    ax.set(xlabel="labels", ylabel="mean variance", ylim=(1e-10, 1.5))
    ax.legend(fontsize=8, loc="lower right")


def equal_arms(measured: Mapping[str, np.ndarray], ax: Axes) -> None:
    """Draw distances of arms of ten as shares of the start, (pairs + 1,) by metric, the squared one among them."""
    names = {"euclidean": "Euclidean", "cityblock": "city block", "chebyshev": "Chebyshev", "root": "root of Euclidean"}
    marks = zip(ws.METRICS, "os^D", ("#0072B2", "#E69F00", "#009E73", "#56B4E9"), strict=True)
    squared = measured["sqeuclidean"]
    pairs = np.arange(len(squared))
    for place, (cost, mark, colour) in enumerate(marks):
        share = measured[cost] / measured[cost][0]
        ax.plot(pairs[place::4], share[place::4], mark, color=colour, label=names[cost])
    ax.plot(ws.lemma(1.0, 10, pairs), "--", color="black", linewidth=1.1, label=LEMMA)
    ax.plot(squared / squared[0], color="#CC3377", label="squared Euclidean")
    ax.set(xlabel="identical pairs", ylabel="share of the start", ylim=(0, 1.03))
    ax.legend(fontsize=8)


def walk(shares: np.ndarray, n: int, step: int, ax: Axes) -> None:
    """Draw the distance between the arms, as a share of its start, pair by pair, beside the paper's rate.

    Args:
        shares: after 0, 1, ... identical pairs, (k + 1,).
        n: labels of the larger arm at the start.
        step: where the dot stands.
        ax: of a figure of the size :data:`WALK`.
    """
    k = np.arange(len(shares))
    claimed = ws.lemma(1.0, n, k)
    exact = np.allclose(shares, claimed)
    colour, top = LESS if exact else MORE, int(shares.argmax())
    said = "exactly as claimed" if exact else f"{100 * (shares[top] - 1):+.0f}%"
    ax.axhline(1, color="0.85", linewidth=1)
    ax.plot(k, claimed, "--", color="0.35", linewidth=1.5)
    ax.plot(k, shares, color=colour, linewidth=2.5)
    ax.plot(step, shares[step], "o", color=colour, markersize=9)
    ax.text(top + (1 if exact else 0), shares[top] + 0.1, said, color=colour, fontsize=13, fontweight="bold")
    ax.text(k[-1] + 0.2, claimed[-1], "Lemma 3", color="0.35", fontsize=12, va="center")
    if not exact:
        ax.text(k[-1] + 0.2, shares[-1], "measured", color=colour, fontsize=12, va="center")
    ax.set(ylim=(0, 2.7), xlim=(-0.3, k[-1] + 2.6), xticks=k[::5], yticks=(0, 1, 2), yticklabels=("0", "100%", "200%"))
    ax.tick_params(labelsize=12)
    ax.set_xlabel("identical pairs labelled", fontsize=12)
    ax.set_title("distance between the arms, start = 100%", fontsize=12, loc="left")


def unequal_arms(shares: np.ndarray, rate: np.ndarray, ax: Axes) -> None:
    """Draw distances as shares of the start, (starts, pairs + 1), their median, and the paper's rate, (pairs + 1,)."""
    ax.plot(shares.T, color="#0072B2", alpha=0.13, linewidth=0.8)
    ax.plot(np.median(shares, axis=0), color="#0072B2", linewidth=2.4, label="median of the starts")
    ax.plot(rate, "--", color="black", linewidth=1.3, label=LEMMA)
    ax.axhline(1, color="0.6", linewidth=0.8)
    ax.set(xlabel="identical pairs", ylabel="share of the start", ylim=(0, 2.6))
    ax.legend(fontsize=8)


def ihdp(distance: np.ndarray, certificate: np.ndarray, floor: np.ndarray, lemma: np.ndarray, ax: Axes) -> None:
    """Draw distances between the arms along campaigns, means over replications."""
    bound = certificate.mean(axis=0)
    ax.plot(np.arange(1, len(bound) + 1), bound, ":", color="#CC3377", label="certificate")
    ax.plot(distance.mean(axis=0), color="#CC3377", label="distance between the arms")
    ax.plot(floor.mean(axis=0), color="0.55", linewidth=1.3, label="minimum, any controls")
    ax.plot(lemma.mean(axis=0), "--", color="black", linewidth=1.2, label=LEMMA)
    title = f"IHDP, {len(distance)} replications"
    ax.set(xlabel="pairs labelled", ylabel="$W_1$", ylim=(0, None), title=title)
    ax.legend(fontsize=8)


def representation(axes: Sequence[Axes]) -> None:
    """Draw two designs on a line below their images under a map that reverses them; numbers are arms' distances."""
    images = ws.image_distances(lemmas.designs(), ws.stretch)
    for ax, (name, arms) in zip(axes, lemmas.designs().items(), strict=True):
        for units, arm, shift in zip(arms, (1, 0), (0.04, -0.04), strict=True):
            ends = [units, ws.stretch(units)]
            look = {"marker": plots.ARM_MARKERS[arm], "color": plots.ARM_COLOURS[arm], "s": 60}
            for height, place in enumerate(ends):
                ax.scatter(place, np.full(2, height) + shift, **look)
            ax.plot(ends, [[0.0] * 2, [1.0] * 2], color="0.75", linewidth=0.8, zorder=0)
        for height, value in enumerate(images[name]):
            ax.text(15.4, height, f"$W_1$ = {value:.2f}", ha="right", va="center", fontsize=10)
        ax.set_yticks((0, 1), ("x", r"$\phi(x)$"))
        ax.set(title=f"design {name}", xlim=(-0.6, 15.6), ylim=(-0.35, 1.35))
