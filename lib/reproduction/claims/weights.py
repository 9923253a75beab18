"""Verdict A1: whether large weights of similarity are best early, and smaller ones later."""

import numpy as np
import pandas as pd

from macal.comparison import shared
from reproduction.benchmarks import PAPER
from reproduction.claims.comparison import against, span, told, values
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import Version, by_stretch


def campaigns(version: Version, dataset: str) -> pd.DataFrame | None:
    """Rows at the replications and sizes that all weights have, without the start; None where one is not recorded."""
    table = version.load(dataset)
    if table is None:
        return None
    try:
        table = PAPER[dataset].inner(shared(table, list(version.weights)))
    except ValueError:  # a weight is lacking, or nothing that all have
        return None
    return table if len(table) else None


def gains(version: Version, dataset: str, table: pd.DataFrame) -> pd.DataFrame:
    """Figure 5's ratio as a log, PEHE at weight 0 over PEHE at a weight; above 0 is better than 0.

    Returns:
        A row per replication and stretch (its last size), averaged over sizes; a column per weight above 0.
    """
    table = pd.concat(by_stretch(table, PAPER[dataset].stretches), names=["up to"]).reset_index("up to")
    logs = np.log(table.pivot(index=["replication", "up to", "labelled"], columns="method", values="pehe"))
    logs = logs[list(version.weights)].rename(columns=version.weights)
    return -logs.sub(logs[0.0], axis=0).drop(columns=0.0).groupby(["replication", "up to"]).mean()


def regret(version: Version, dataset: str) -> pd.Series | None:
    """Mean error over the whole campaign above that of the best weight, per cent, by weight; None without campaigns."""
    table = campaigns(version, dataset)
    if table is None:
        return None
    logs = np.log(table.pivot(index=["replication", "labelled"], columns="method", values="pehe")).mean()
    logs = logs[list(version.weights)].rename(version.weights)
    return 100 * np.expm1(logs - logs.min())


def shift(version: Version, dataset: str, table: pd.DataFrame) -> pd.Series:
    """How much more the weights 5 and 10 gain over 0 and 1 in the first stretch than in the last, by replication."""
    gain = gains(version, dataset, table)
    lead = (gain[[5.0, 10.0]].mean(axis=1) - gain[1.0] / 2).unstack()  # weight 0 gains 0
    if lead.shape[1] < 2:  # one stretch shows no shift
        return pd.Series(np.nan, lead.index)
    return lead[lead.columns[0]] - lead[lead.columns[-1]]


def shifts(version: Version, rules: Rules) -> dict[str, pd.DataFrame]:
    """Data set -> :func:`reproduction.claims.comparison.against` of the shift, with enough replications."""
    found = {}
    for name in version.tables:
        table = campaigns(version, name)
        if table is None:
            continue
        # turned round, so that a shift as the paper sees it is "ahead"
        gap = -shift(version, name, table).to_frame("shift")
        parts = [*by_stretch(table, PAPER[name].stretches).values()]
        used = span(pd.concat([parts[0], parts[-1]]))
        found[name] = against(gap, rules).assign(table=version.tables[name], **used)
    return {name: rows for name, rows in found.items() if len(rows)}


def judge_alpha(rules: Rules, version: Version) -> Verdict:
    """A1, per data set: the large weights' lead over the small ones is larger in the first stretch than in the last."""
    found = shifts(version, rules)
    if not found:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications of all weights on any data set")
    words: dict[str, Word] = {"ahead": "holds", "open": "open"}
    judged = [words.get(rows["comparison"].iloc[0], "fails") for rows in found.values()]
    said = "; ".join(f"{name}: {told(rows)}" for name, rows in found.items())
    about = {"estimator": version.name, "measure": "shift of the lead of weights 5 and 10"}
    about["methods"] = list(version.weights)
    rows = tuple(row for name, own in found.items() for row in values(own, "last stretch", dataset=name, **about))
    return Verdict(
        together(judged, len(PAPER)), f"lead of the weights 5 and 10, last stretch minus first, {said}", rows
    )
