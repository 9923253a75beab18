"""Verdicts F1a to F1d: the toy study, from its recorded campaigns."""

from pathlib import Path

import numpy as np
import pandas as pd

from macal.campaigns import results
from macal.comparison import interval
from reproduction.claims.verdict import Verdict

SIMPLE = ("random", "uncertainty", "symmetry")  # the paper's 'three naive methods'
PAPER = (*SIMPLE, "macal")
COLUMNS = {"pehe": "pehe", "wass": "surrogate", "var": "variance"}  # the published quantities, and our columns
EARLY, LATE = (35, 65), (165, 265)  # labels


def published(name: str = "paper_fig1", folder: Path = results.FOLDER) -> pd.DataFrame:
    """Figure 1 as numbers: ``quantity`` (pehe, wass, var), ``method``, ``n_train``, ``mean`` and ``sd`` over 20 seeds.

    Args:
        name: "paper_fig1", read off the vector graphics that the authors published; or "public_code_toy", their code
            run again with seeds 0 to 4, which has ``seed`` and ``value`` instead of mean and s.d.
        folder: where the tables are.
    """
    return pd.read_csv(results.checkout(folder) / f"{name}.csv")


def log_difference(table: pd.DataFrame, method: str, other: str, value: str, labels: tuple[int, int]) -> pd.Series:
    """Mean of log(method / other) over the sizes in ``labels`` (inclusive), by replication; below 0 is less."""
    rows = table[table["labelled"].between(*labels) & table["method"].isin([method, other])]
    wide = np.log(rows.pivot_table(value, ["replication", "labelled"], "method"))
    return (wide[method] - wide[other]).groupby("replication").mean()


def less(differences: pd.Series) -> bool:
    """Whether the 95 % bootstrap interval of the mean lies below 0."""
    return interval(differences)[1] < 0


def quickness(table: pd.DataFrame, within: float = 0.1) -> pd.DataFrame:
    """Labels at which each method first comes within 10 % of the replication's best final PEHE of the paper's four.

    Returns:
        One row per replication, one column per method; a method that never does gets one step more than the last size.
    """
    last = table["labelled"].max()
    final = table[(table["labelled"] == last) & table["method"].isin(PAPER)].groupby("replication")["pehe"].min()
    there = table[table["pehe"] <= (1 + within) * table["replication"].map(final)]
    first = there.groupby(["replication", "method"])["labelled"].min().unstack()
    step = int(np.diff(np.unique(table["labelled"])).min())
    names = list(dict.fromkeys(table["method"]))
    return first.reindex(index=np.unique(table["replication"]), columns=names).fillna(last + step)


def deviations(table: pd.DataFrame, methods: dict[str, str] | None = None) -> pd.DataFrame:
    """Our mean minus the published one, in published s.d.s, for every size that both have.

    Args:
        table: recorded rows.
        methods: published name -> name in ``table``; the same by default.

    Returns:
        ``quantity``, ``method``, ``n_train``, ``published``, ``sd``, ``ours``, ``z``.
    """
    figure, rows = published().rename(columns={"mean": "published"}), []
    for quantity, column in COLUMNS.items():
        for method in PAPER:
            own = table[table["method"] == (methods or {}).get(method, method)]
            means = own.groupby("labelled")[column].mean().rename("ours").rename_axis("n_train").reset_index()
            rows.append(means.assign(quantity=quantity, method=method))
    found = figure.merge(pd.concat(rows), on=["quantity", "method", "n_train"])
    return found.assign(z=(found["ours"] - found["published"]) / found["sd"])


def inside(table: pd.DataFrame, methods: dict[str, str] | None = None, sds: float = 2.0) -> pd.DataFrame:
    """At how many sizes our mean lies within ``sds`` published s.d.s: one row per method, one column per quantity."""
    found = deviations(table, methods).assign(inside=lambda d: d["z"].abs() <= sds)
    return found.pivot_table("inside", "method", "quantity", aggfunc="sum")[list(COLUMNS)].loc[list(PAPER)]


def _verdict(met: int, of: int) -> str:
    return "holds" if met == of else "holds in part" if met else "does not hold"


def judge_symmetry(table: pd.DataFrame | None = None) -> Verdict:
    """F1a: Symmetry's PEHE below Random's and Uncertainty's over 35 to 65 labels, above the latter's over 165 to 265.

    Paired by replication, mean log ratios, 95 % bootstrap intervals that exclude 0.
    """
    table = results.load("toy") if table is None else table
    early = {other: log_difference(table, "symmetry", other, "pehe", EARLY) for other in ("random", "uncertainty")}
    late = log_difference(table, "uncertainty", "symmetry", "pehe", LATE)
    fast, saturates = all(map(less, early.values())), less(late)
    ratios = ", ".join(f"{np.exp(d.mean()):.2f} times {other.title()}'s" for other, d in early.items())
    return Verdict(
        _verdict(fast + saturates, 2),
        f"Symmetry's PEHE is {ratios} over {EARLY[0]} to {EARLY[1]} labels, and {np.exp(-late.mean()):.2f} times "
        f"Uncertainty's over {LATE[0]} to {LATE[1]} (geometric means, {late.size} replications)",
    )


def judge_quickest(table: pd.DataFrame | None = None, within: float = 0.1) -> Verdict:
    """F1b: labels to within 10 % of the best final PEHE, MACAL against each other method of the figure, then of ours.

    'Holds' where MACAL needs fewer than every one, QHTE and Random balanced included, that the figure leaves out; 'in
    part' where it needs fewer than those of the figure. Paired, 95 % bootstrap intervals that exclude 0.
    """
    table = results.load("toy") if table is None else table
    labels = quickness(table, within)
    ahead = {name: less(labels["macal"] - labels[name]) for name in labels if name != "macal"}
    figure = all(ahead[name] for name in SIMPLE)
    verdict = "holds" if all(ahead.values()) else "holds in part" if figure else "does not hold"
    means = ", ".join(f"{name} {mean:.0f}" for name, mean in labels.mean().sort_values().items())
    return Verdict(verdict, f"labels to within {within:.0%} of the best final PEHE, mean over replications: {means}")


def judge_reductions(table: pd.DataFrame | None = None) -> Verdict:
    """F1c: among the three simple methods, Symmetry has the least exact W1 and Uncertainty the least model variance.

    Areas under the curves: mean log ratios over all sizes after the start, paired, 95 % bootstrap intervals.
    """
    table = results.load("toy") if table is None else table
    span = int(table["labelled"].min()) + 1, int(table["labelled"].max())
    met, said = 0, []
    for best, column, name in (("symmetry", "w1", "W1"), ("uncertainty", "variance", "variance")):
        against = {o: log_difference(table, best, o, column, span) for o in SIMPLE if o != best}
        met += all(map(less, against.values()))
        ratios = ", ".join(f"{np.exp(d.mean()):.2f} times {other.title()}'s" for other, d in against.items())
        said.append(f"{best.title()}'s {name} is {ratios}")
    return Verdict(_verdict(met, 2), "; ".join(said) + " (geometric means over all sizes)")


def judge_curves(table: pd.DataFrame | None = None, sizes: int = 20) -> Verdict:
    """F1d: our mean within the published mean +- 2 s.d. at 20 or more of 25 sizes, for each of the twelve curves."""
    counts = inside(results.load("toy") if table is None else table)
    good = counts >= sizes
    by_quantity = "; ".join(
        f"{quantity}: " + ", ".join(f"{method} {n}" for method, n in counts[quantity].items()) for quantity in counts
    )
    return Verdict(
        _verdict(int(good.to_numpy().sum()), good.size),
        f"{int(good.to_numpy().sum())} of {good.size} curves lie within 2 published s.d.s at {sizes} or more of 25 "
        f"sizes; sizes inside, {by_quantity}",
    )
