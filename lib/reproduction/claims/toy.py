"""Verdicts F1a to F1d: the toy study, from its recorded campaigns."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from macal import metrics
from macal.campaigns import results
from macal.comparison import Mean, gaps, interval, labels_to_reach
from macal.datasets import toy
from reproduction.benchmarks import SIMPLE
from reproduction.claims.comparison import comparison_word
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.verdict import Verdict, Word, together

PAPER = (*SIMPLE, "macal")
SAID = {"pehe": "error", "wass": "distance", "var": "variance"}
COLUMNS = {"pehe": "pehe", "wass": "surrogate", "var": "variance"}  # the published quantities, and our columns
EARLY, LATE = (35, 65), (165, 265)  # labels
SIZES = 20  # of 25, at which a curve is to be the published one
WITHIN = 0.1  # of the best final PEHE: what counts as reaching it


def published(name: str = "paper_fig1") -> pd.DataFrame:
    """Figure 1 as numbers: ``quantity`` (pehe, wass, var), ``method``, ``n_train``, ``mean`` and ``sd`` over 20 seeds.

    Args:
        name: "paper_fig1", read off the vector graphics that the authors published; or "public_code_toy", their code
            run again with seeds 0 to 4, which has ``seed`` and ``value`` instead of mean and s.d.
    """
    return pd.read_csv(results.checkout() / f"{name}.csv")


def random_distance(centre: float) -> float:
    """Mean surrogate distance between the arms of 265 randomly selected labels; clouds of units lie at -/+ centre."""
    pools = [toy.load(seed, "paper", centre).pool for seed in range(20)]
    orders = [np.random.default_rng(seed).permutation(len(pool)) for seed, pool in enumerate(pools)]
    drawn = [pool[order[:265]] for pool, order in zip(pools, orders, strict=True)]
    return float(np.mean([metrics.sinkhorn_surrogate(units.x, units.t) for units in drawn]))


def log_difference(
    table: pd.DataFrame, method: str, other: str, value: str, labels: tuple[int, int], mean: Mean = "geometric"
) -> pd.Series:
    """:func:`macal.comparison.gaps` of two methods over the sizes in ``labels`` (inclusive); below 0 is less."""
    rows = table[table["labelled"].between(*labels) & table["method"].isin([method, other])]
    return gaps(rows, method, value, mean)[other]


def bounds(
    differences: Mapping[str, pd.Series],
    method: str,
    rules: Rules,
    margin: float,
    value: str = "log_ratio",
    **about: Any,
) -> tuple[dict[str, Any], ...]:
    """Mean and bootstrap interval over replications of comparisons with a method; none where one has too few.

    Args:
        differences: by the other method, one number per replication; below 0 is less.
        method: that is compared.
        rules: level and minimum of replications.
        margin: a lead that is too small to matter; where an interval rules out a larger one, there is no lead.
        value: what the mean is called.
        about: what else tells these comparisons from others.
    """
    if min(map(len, differences.values())) < rules.minimum:
        return ()
    rows = []
    for other, each in differences.items():
        low, high = interval(each, 1 - rules.level)
        row = {"method": method, "against": other, "replications": len(each), value: each.mean(), "low": low}
        row |= {"high": high, "family": 1, "table": "toy", "comparison": comparison_word(low, high, margin)}
        rows.append(about | row)
    return tuple(rows)


def less(rows: Iterable[Mapping[str, Any]], margin: float) -> Word:
    """Whether a method's means are all surely below the others'."""
    rows = list(rows)
    if not rows:
        return "open"
    if all(row["high"] < 0 for row in rows):
        return "holds"
    return "fails" if any(row["low"] > -margin for row in rows) else "open"


def target(table: pd.DataFrame, within: float = WITHIN) -> pd.Series:
    """PEHE within 10% of the best final one of the paper's four methods, by replication."""
    final = table[(table["labelled"] == table["labelled"].max()) & table["method"].isin(PAPER)]
    return (1 + within) * final.groupby("replication")["pehe"].min()


def quickness(table: pd.DataFrame, within: float = WITHIN) -> pd.DataFrame:
    """Labels at which each method first comes down to the replication's :func:`target`, whether or not it stays there.

    Returns:
        One row per replication, one column per method; a method that never does gets one step more than the last size.
    """
    last = table["labelled"].max()
    there = table[table["pehe"] <= table["replication"].map(target(table, within))]
    first = there.groupby(["replication", "method"])["labelled"].min().unstack()
    step = int(np.diff(np.unique(table["labelled"])).min())
    names = list(dict.fromkeys(table["method"]))
    return first.reindex(index=np.unique(table["replication"]), columns=names).fillna(last + step)


def deviations(table: pd.DataFrame, methods: dict[str, str] | None = None) -> pd.DataFrame:
    """Our mean minus the published one, in published s.d.s, for every size that both have.

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


def inside(table: pd.DataFrame, methods: dict[str, str] | None = None) -> pd.DataFrame:
    """At how many sizes our mean lies within two published s.d.s: one row per method, one column per quantity."""
    found = deviations(table, methods).assign(inside=lambda d: d["z"].abs() <= 2)
    return found.pivot_table("inside", "method", "quantity", aggfunc="sum")[list(COLUMNS)].loc[list(PAPER)]


def judge_symmetry(rules: Rules = RULES, table: pd.DataFrame | None = None) -> Verdict:
    """F1a: Symmetry's PEHE below Random's and Uncertainty's over 35 to 65 labels, above the latter's over 165 to 265.

    Paired by replication, mean log ratios, bootstrap intervals.
    """
    table = results.load("toy") if table is None else table
    others = ("random", "uncertainty")
    early = {other: log_difference(table, "symmetry", other, "pehe", EARLY, rules.mean) for other in others}
    late = log_difference(table, "uncertainty", "symmetry", "pehe", LATE, rules.mean)
    stretches = [(early, "symmetry", EARLY), ({"symmetry": late}, "uncertainty", LATE)]
    found = [bounds(gaps, best, rules, rules.alike, first=first, last=last) for gaps, best, (first, last) in stretches]
    ratios = ", ".join(f"{np.exp(d.mean()):.2f} times {other.title()}'s" for other, d in early.items())
    return Verdict(
        together(less(rows, rules.alike) for rows in found),
        f"Symmetry's PEHE is {ratios} over {EARLY[0]} to {EARLY[1]} labels, and {np.exp(-late.mean()):.2f} times "
        f"Uncertainty's over {LATE[0]} to {LATE[1]} ({rules.mean} means, {late.size} replications)",
        sum(found, ()),
    )


def judge_quickest(
    rules: Rules = RULES, table: pd.DataFrame | None = None, name: Callable[[str], object] = str
) -> Verdict:
    """F1b: labels to within 10% of the best final PEHE, MACAL against each other method of the figure.

    Paired, bootstrap intervals of the difference in labels; ``name`` says what the evidence calls a method.
    """
    table = results.load("toy") if table is None else table
    labels = quickness(table)
    fewer = {other: labels["macal"] - labels[other] for other in SIMPLE}
    rows = bounds(fewer, "macal", rules, 0.0, "labels")
    last, stays = table["labelled"].max(), np.isfinite(labels_to_reach(table, target(table))).sum()
    medians, never = labels.median().sort_values(kind="stable"), (labels > last).sum()
    first = ", ".join(f"{name(m)} {n:.0f} ({labels[m].mean():.0f}; {never[m]})" for m, n in medians.items())
    return Verdict(
        less(rows, 0.0),
        f"labels until the PEHE is first within {WITHIN:.0%} of the best final one (never: one step beyond {last}),"
        f" median of {len(labels)} replications (mean; times never): {first}; replications within {WITHIN:.0%} at"
        f" {last} labels: " + ", ".join(f"{name(m)} {stays[m]}" for m in medians.index),
        rows,
    )


def judge_reductions(rules: Rules = RULES, table: pd.DataFrame | None = None) -> Verdict:
    """F1c: among the three simple methods, Symmetry has the least exact W1 and Uncertainty the least model variance.

    Areas under the curves: mean log ratios over all sizes after the start, paired, bootstrap intervals.
    """
    table = results.load("toy") if table is None else table
    span = int(table["labelled"].min()) + 1, int(table["labelled"].max())
    found, said = [], []
    for best, column, name in (("symmetry", "w1", "W1"), ("uncertainty", "variance", "variance")):
        against = {o: log_difference(table, best, o, column, span) for o in SIMPLE if o != best}
        found.append(bounds(against, best, rules, rules.alike, measure=column))
        ratios = ", ".join(f"{np.exp(d.mean()):.2f} times {other.title()}'s" for other, d in against.items())
        said.append(f"{best.title()}'s {name} is {ratios}")
    word = together(less(rows, rules.alike) for rows in found)
    return Verdict(word, "; ".join(said) + " (geometric means over all sizes after the start)", sum(found, ()))


def judge_curves(rules: Rules = RULES, table: pd.DataFrame | None = None) -> Verdict:
    """F1d: our mean within the published mean +- 2 s.d. at 20 or more of 25 sizes, for each of the twelve curves."""
    table = results.load("toy") if table is None else table
    if table["replication"].nunique() < rules.minimum:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications")
    counts = inside(table).rename(columns=SAID)
    good = counts >= SIZES
    by_quantity = "; ".join(
        f"{quantity}: " + ", ".join(f"{method} {n}" for method, n in counts[quantity].items()) for quantity in counts
    )
    return Verdict(
        "holds" if good.all(axis=None) else "holds in part" if good.any(axis=None) else "fails",
        f"{int(good.to_numpy().sum())} of {good.size} curves lie within 2 published s.d.s at {SIZES} or more of 25 "
        f"sizes; sizes inside, {by_quantity}",
    )
