"""Comparing methods on the same replications: paired ratios, intervals, tests adjusted for their number."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from macal.optional import needed


def log_ratio(table: pd.DataFrame, baseline: str = "random", value: str = "pehe") -> pd.DataFrame:
    """Log of each method's value over the baseline's, paired by replication and number of labels.

    Args:
        table: rows of :func:`macal.run`.
        baseline: the method that the others are divided by.
        value: column to be compared; positive.

    Returns:
        The rows of the other methods with a column ``log_ratio``; below 0 the method is better where less is better.

    Raises:
        ValueError: the baseline is not in the table, or lacks a replication or size that another method has.
    """
    keys = ["replication", "labelled"]
    base = table.loc[table["method"] == baseline, [*keys, value]]
    if base.empty:
        raise ValueError(
            f"no rows of method {baseline!r}; the table has: {', '.join(sorted(table['method'].unique()))}"
        )
    rest = table[table["method"] != baseline].merge(
        base, on=keys, how="left", suffixes=("", "_base"), validate="many_to_one"
    )
    if rest[f"{value}_base"].isna().any():
        raise ValueError(f"{baseline!r} lacks replications or sizes that other methods have; run it on the same ones")
    return rest.assign(log_ratio=np.log(rest[value] / rest[f"{value}_base"])).drop(columns=f"{value}_base")


def interval(values: ArrayLike, level: float = 0.95, n_resamples: int = 2000) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over replications (fixed resampling seed).

    Args:
        values: one number per replication; at least two.
        level: coverage.
        n_resamples: bootstrap samples.

    Raises:
        ValueError: fewer than two values.
    """
    values = np.asarray(values, float)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"an interval needs at least two replications, got shape {values.shape}")
    from scipy.stats import bootstrap

    found = bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=n_resamples,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def paired(table: pd.DataFrame, method: str = "macal", value: str = "pehe") -> pd.DataFrame:
    """Set one method against every other, paired by replication.

    Args:
        table: rows of :func:`macal.run`; the method has every replication and number of labels that another has.
        method: the method that is compared.
        value: column to be compared; positive.

    Returns:
        One row per other method: ``replications``, ``difference`` (mean over replications and sizes), ``log_ratio``
        (the same of the log ratio; below 0 the method is better where less is better) with its 95 % interval ``low``,
        ``high``, and ``p``, adjusted by Holm over the rows; both by Student's t over replications, for resampled
        intervals are too short where replications are few.

    Raises:
        ValueError: see :func:`log_ratio`; fewer than two replications.
    """
    with needed("statsmodels", "p-values adjusted for several comparisons"):
        from statsmodels.stats.multitest import multipletests

    keys = ["replication", "labelled"]
    own = table.loc[table["method"] == method, [*keys, value]]
    both = log_ratio(table, method, value).merge(own, on=keys, suffixes=("", "_own"))
    both = both.assign(log_ratio=-both["log_ratio"], difference=both[f"{value}_own"] - both[value])
    means = both.groupby(["method", "replication"], sort=False)[["difference", "log_ratio"]].mean()
    rows = [
        {"method": str(other), "replications": len(group), **group.mean(), **student(group["log_ratio"])}
        for other, group in means.groupby("method", sort=False)
    ]
    found = pd.DataFrame(rows).set_index("method")
    return found.assign(p=multipletests(found["p"], method="holm")[1])


def student(values: pd.Series, level: float = 0.95) -> dict[str, float]:
    """Student's interval ``low``, ``high`` of the mean over replications, and ``p`` of a mean of 0.

    Raises:
        ValueError: fewer than two values.
    """
    from scipy.stats import ttest_1samp

    if len(values) < 2:
        raise ValueError(f"a paired comparison needs at least two replications, got {len(values)}")
    if values.nunique() == 1:  # no spread: t is not defined
        only = float(values.iloc[0])
        return {"low": only, "high": only, "p": float(only == 0)}
    found = ttest_1samp(values, 0)
    bounds = found.confidence_interval(level)
    return {"low": float(bounds.low), "high": float(bounds.high), "p": float(found.pvalue)}


def shared(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The rows of these methods at the replications and numbers of labels that all of them have.

    Raises:
        ValueError: a method that is not in the table, or nothing that all have.
    """
    absent = set(methods) - set(table["method"])
    if absent:
        raise ValueError(
            f"no rows of {', '.join(sorted(absent))}; the table has: {', '.join(table['method'].unique())}"
        )
    rows = table[table["method"].isin(methods)]
    counts = rows.groupby(["replication", "labelled"])["method"].transform("nunique")
    if not (counts == len(set(methods))).any():
        raise ValueError(f"no replication and number of labels that all of {', '.join(methods)} have")
    return rows[counts == len(set(methods))]


def beside(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """The rows at the replications and numbers of labels that the method has too: what :func:`paired` can compare."""
    keys = ["replication", "labelled"]
    return table.merge(table.loc[table["method"] == method, keys], on=keys)


def summary(table: pd.DataFrame, labelled: int, baseline: str = "random", value: str = "pehe") -> pd.DataFrame:
    """Describe all methods at one number of labels, on the replications that the baseline has too.

    Returns:
        One row per method, the best ``log_ratio`` first: ``replications``, ``mean`` and ``median`` of the value, and
        the mean log ratio to the baseline with Student's 95 % interval ``low``, ``high`` (NaN for the baseline, and
        where there is one replication).

    Raises:
        ValueError: see :func:`log_ratio`.
    """
    rows = beside(table[table["labelled"] == labelled], baseline)
    values = rows.groupby("method")[value].agg(replications="size", mean="mean", median="median")
    ratios = log_ratio(rows, baseline, value).groupby("method")["log_ratio"]
    found = {method: {"log_ratio": g.mean(), **(student(g) if len(g) > 1 else {})} for method, g in ratios}
    found = pd.DataFrame(found, index=["log_ratio", "low", "high"]).T
    return values.join(found).sort_values("log_ratio", na_position="last")


def label_efficiency(table: pd.DataFrame, baseline: str = "random", value: str = "pehe") -> pd.DataFrame:
    """Labels that each method needs to reach, and from then on keep, the baseline's final value on each replication.

    Returns:
        One row per replication, one column per method; NaN where it is never reached for good.

    Raises:
        ValueError: the baseline is not in the table.
    """
    final = table[table["method"] == baseline].sort_values("labelled").groupby("replication")[value].last()
    if final.empty:
        raise ValueError(
            f"no rows of method {baseline!r}; the table has: {', '.join(sorted(table['method'].unique()))}"
        )

    def first(rows: pd.DataFrame) -> float:
        rows = rows.sort_values("labelled")
        above = np.flatnonzero(rows[value] > final[rows["replication"].iloc[0]])
        start = above[-1] + 1 if above.size else 0
        return float(rows["labelled"].iloc[start]) if start < len(rows) else np.nan

    groups = table.groupby(["replication", "method"], sort=False)[["replication", "labelled", value]]
    return groups.apply(first).unstack()
