"""Comparing methods on the same replications."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


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
