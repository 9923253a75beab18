"""Errors in the outcome's unit, and whether an estimate beats the best constant effect: what ratios hide."""

from collections.abc import Sequence
from functools import cache

import pandas as pd

from macal import datasets
from reproduction.claims.versions import by_label_range


@cache
def best_constant(dataset: str, protocol: str, replication: int) -> float:
    """PEHE of the best constant effect on the test set: the s.d. of the true effects, in the outcome's unit.

    Raises:
        DataUnavailable: raw files are not on this machine and could not be downloaded.
    """
    return float(datasets.load(dataset, replication, protocol).test.tau.std())


def best_constants(table: pd.DataFrame) -> pd.Series:
    """:func:`best_constant` of each replication of a recorded table of one data set and protocol."""
    dataset, protocol = table["dataset"].iloc[0], table["protocol"].iloc[0]
    return pd.Series({r: best_constant(dataset, protocol, int(r)) for r in sorted(table["replication"].unique())})


def errors(table: pd.DataFrame, ends: Sequence[int]) -> pd.DataFrame:
    """PEHE in the outcome's unit by stretch and method, and the share of trainings worse than the best constant.

    Returns:
        ``replications``, ``mean`` and ``median`` over trainings, ``best constant`` (mean over the same trainings),
        ``worse than constant`` (share of ``trainings``).
    """
    constant = table["replication"].map(best_constants(table))
    table = table.assign(constant=constant, worse=table["pehe"] > constant)
    columns = {
        "replications": ("replication", "nunique"),
        "trainings": ("pehe", "size"),
        "mean": ("pehe", "mean"),
        "median": ("pehe", "median"),
        "best constant": ("constant", "mean"),
        "worse than constant": ("worse", "mean"),
    }
    parts = {end: part.groupby("method").agg(**columns) for end, part in by_label_range(table, ends).items()}
    return pd.concat(parts, names=["up to"])
