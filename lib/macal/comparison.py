"""Comparing methods on the same replications: paired ratios, intervals, tests adjusted for their number."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

Mean = Literal["geometric", "arithmetic"]  # of errors over numbers of labels


def log_ratio(table: pd.DataFrame, baseline: str = "random", value: str = "pehe") -> pd.DataFrame:
    """Log of each method's value over the baseline's, paired by replication and number of labels.

    Args:
        table: rows of :func:`macal.run`.
        baseline: the method that the others are divided by.
        value: column to be compared; positive.

    Returns:
        The rows of the other methods with a column ``log_ratio``.

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


def interval(values: ArrayLike, coverage: float = 0.95, n_resamples: int = 2000) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over replications; ValueError below two values."""
    values = np.asarray(values, float)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"an interval needs at least two replications, got shape {values.shape}")
    from scipy.stats import bootstrap

    how = {"confidence_level": coverage, "n_resamples": n_resamples, "method": "percentile"}
    found = bootstrap((values,), np.mean, **how, rng=np.random.default_rng(0))
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def gaps(table: pd.DataFrame, method: str = "macal", value: str = "pehe", mean: Mean = "geometric") -> pd.DataFrame:
    """Log ratio of a method's value to every other's, one number per replication: what :func:`judge` is given.

    A row per replication, a column per other method: the log of the ratio of their means over the numbers of labels
    that both have, or NaN; of geometric means this is the mean log ratio. ValueError where the method is not in the
    table, or a training is there twice.
    """
    wide = table.pivot(index=["replication", "labelled"], columns="method", values=value)
    if method not in wide:
        raise ValueError(f"no rows of method {method!r}; the table has: {', '.join(wide.columns)}")
    others = wide.drop(columns=method)
    if mean == "geometric":
        return -np.log(others).sub(np.log(wide[method]), axis=0).groupby("replication").mean()
    own = (0 * others).add(wide[method], axis=0)  # NaN where either has none
    theirs = others.add(0 * wide[method], axis=0)
    return np.log(own.groupby("replication").mean() / theirs.groupby("replication").mean())


def levels(rows: pd.DataFrame, value: str = "pehe", mean: Mean = "geometric", by: Sequence[str] = ()) -> pd.DataFrame:
    """Log of each method's mean over numbers of labels: a row per replication (and ``by``), a column per method."""
    wide = rows.pivot(index=["replication", *by, "labelled"], columns="method", values=value)
    keys = ["replication", *by]
    return np.log(wide).groupby(keys).mean() if mean == "geometric" else np.log(wide.groupby(keys).mean())


def judge(gaps: pd.DataFrame, level: float = 0.05, family: int | None = None) -> pd.DataFrame:
    """Hold paired differences against a mean of 0, several columns at once.

    Args:
        gaps: a row per replication, a column per comparison; NaN where a replication has no say.
        level: chance of a false finding anywhere among the columns.
        family: number of comparisons to adjust for; the columns by default.

    Returns:
        A row per column: ``replications``, ``log_ratio`` (mean), ``median``, Student's interval ``low``, ``high``
        (Bonferroni; ended at 0 where Holm's test finds a sign that it would leave open), ``p`` (Student's t, Holm over
        the family) and ``p_flips`` (the same of :func:`sign_flips`).

    Raises:
        ValueError: a column with fewer than two replications.
    """
    family = family or gaps.shape[1]
    rows = []
    for name, column in gaps.items():
        values = column.dropna()
        about = {"replications": len(values), "log_ratio": values.mean(), "median": values.median()}
        found = student(values, 1 - level / family)
        rows.append({"method": str(name), **about, **found, "p_flips": sign_flips(values)})
    found = pd.DataFrame(rows).set_index("method")
    found = found.assign(**{p: holm(found[p], family) for p in ("p", "p_flips")})
    for end, sign in (("low", 1), ("high", -1)):
        across = (found["p"] < level) & (sign * found["log_ratio"] > 0) & (sign * found[end] < 0)
        found[end] = found[end].mask(across, 0.0)
    return found


def holm(p: ArrayLike, family: int) -> np.ndarray:
    """Adjust p-values, (k,), for their number by Holm's steps; of a larger family the rest counts as 1."""
    p = np.asarray(p, float)
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    # the i-th smallest times the number not yet rejected, and never below the one before
    adjusted[order] = np.maximum.accumulate(p[order] * (family - np.arange(len(p)))).clip(max=1)
    return adjusted


def paired(table: pd.DataFrame, method: str = "macal", value: str = "pehe", level: float = 0.05) -> pd.DataFrame:
    """Set one method against every other, paired by replication.

    Args:
        table: rows of :func:`macal.run`; the method has every replication and number of labels that another has.
        method: the method that is compared.
        value: column to be compared; positive.
        level: chance of a false finding anywhere in the table; intervals hold together with chance 1 - level.

    Returns:
        A row per other method: :func:`judge` of :func:`gaps`, and ``difference``, the mean in the value's own unit.

    Raises:
        ValueError: see :func:`log_ratio`; fewer than two replications.
    """
    order = log_ratio(table, method, value)["method"].unique()
    wide = table.pivot(index=["replication", "labelled"], columns="method", values=value)
    found = judge(gaps(table, method, value)[order], level)
    difference = -wide[order].sub(wide[method], axis=0).groupby("replication").mean().mean()
    return found.assign(difference=difference)


def student(values: pd.Series, coverage: float = 0.95) -> dict[str, float]:
    """Student's interval ``low``, ``high`` of the mean, and ``p`` of a mean of 0; ValueError below two values."""
    from scipy.stats import ttest_1samp

    if len(values) < 2:
        raise ValueError(f"a paired comparison needs at least two replications, got {len(values)}")
    if values.nunique() == 1:  # no spread: t is not defined
        only = float(values.iloc[0])
        return {"low": only, "high": only, "p": float(only == 0)}
    found = ttest_1samp(values, 0)
    bounds = found.confidence_interval(coverage)
    return {"low": float(bounds.low), "high": float(bounds.high), "p": float(found.pvalue)}


def sign_flips(values: ArrayLike, draws: int = 9999) -> float:
    """Two-sided p of a mean of 0, where every sign could as well have been the other one.

    Exact over all 2^n patterns up to 20 values; from there ``draws`` random patterns with a fixed seed.
    """
    values = np.asarray(values, float)
    if values.size > 20:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (draws, values.size))
        return float((1 + (np.abs(signs @ values) >= np.abs(values.sum()) - 1e-12).sum()) / (draws + 1))
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return float((np.abs(sums) >= np.abs(values.sum()) - 1e-12).mean())


def shared(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The rows of these methods at the replications and numbers of labels that all have; ValueError for none."""
    absent = set(methods) - set(table["method"].unique())
    if absent:
        raise ValueError(
            f"no rows of {', '.join(sorted(absent))}; the table has: {', '.join(table['method'].unique())}"
        )
    rows = table[table["method"].isin(methods)]
    codes = pd.Series(pd.factorize(rows["method"])[0], rows.index)  # whole numbers are told apart faster than names
    counts = codes.groupby([rows["replication"], rows["labelled"]]).transform("nunique")
    if not (counts == len(set(methods))).any():
        raise ValueError(f"no replication and number of labels that all of {', '.join(methods)} have")
    return rows[counts == len(set(methods))]


def beside(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """The rows at the replications and numbers of labels that the method has too: what :func:`paired` can compare."""
    keys = ["replication", "labelled"]
    return table.merge(table.loc[table["method"] == method, keys], on=keys)


def summary(table: pd.DataFrame, labelled: int, baseline: str = "random", value: str = "pehe") -> pd.DataFrame:
    """Describe all methods at one number of labels, on the replications that the baseline has too.

    A row per method, the best ``log_ratio`` first: ``replications``, ``mean`` and ``median`` of the value, and the mean
    log ratio to the baseline with Student's 95% interval ``low``, ``high``. Raises as :func:`log_ratio`.
    """
    rows = beside(table[table["labelled"] == labelled], baseline)
    values = rows.groupby("method")[value].agg(replications="size", mean="mean", median="median")
    ratios = log_ratio(rows, baseline, value).groupby("method")["log_ratio"]
    found = {method: {"log_ratio": g.mean(), **(student(g) if len(g) > 1 else {})} for method, g in ratios}
    found = pd.DataFrame(found, index=["log_ratio", "low", "high"]).T
    return values.join(found).sort_values("log_ratio", kind="stable", na_position="last")


def labels_to_reach(table: pd.DataFrame, targets: pd.Series, value: str = "pehe") -> pd.DataFrame:
    """Labels that each method needs to reach, and from then on keep, a replication's target.

    A row per replication, a column per method; infinite where it is never reached for good, NaN where it was not run.

    Args:
        table: rows of :func:`macal.run`.
        targets: replication -> the value that is low enough.
        value: column that is to come down to it.
    """
    rows = table[["replication", "method", "labelled", value]].sort_values("labelled")
    keys = [rows["replication"], rows["method"]]
    place = rows.groupby(keys).cumcount()
    above = rows[value].to_numpy() > targets.loc[rows["replication"]].to_numpy()
    begin = place.where(above, -1).groupby(keys).transform("max") + 1
    found = rows["labelled"].astype(float).where(place == begin).groupby(keys).max().fillna(np.inf).unstack()
    return found.reindex(index=table["replication"].unique(), columns=table["method"].unique())
