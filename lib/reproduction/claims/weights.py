"""Verdict A1: whether large weights of similarity are best early, and smaller ones later."""

from typing import Any

import numpy as np
import pandas as pd

from macal.comparison import shared
from reproduction.claims.comparison import against, span, told, values
from reproduction.claims.families import CASES
from reproduction.claims.readings import EXACT, STRETCHES, WRITTEN, Reading, by_stretch, inner
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together


def campaigns(reading: Reading, dataset: str) -> pd.DataFrame | None:
    """Rows at the replications and sizes that all weights have, without the start; None where one is not recorded."""
    table = reading.load(dataset)
    if table is None:
        return None
    try:
        table = inner(shared(table, list(reading.weights)), dataset)
    except ValueError:  # a weight is lacking, or nothing that all have
        return None
    return table if len(table) else None


def gains(reading: Reading, dataset: str, table: pd.DataFrame) -> pd.DataFrame:
    """Figure 5's ratio as a log, PEHE at weight 0 over PEHE at a weight; above 0 is better than 0.

    Returns:
        A row per replication and stretch (its last size), averaged over sizes; a column per weight above 0.
    """
    table = pd.concat(by_stretch(table, STRETCHES[dataset]), names=["up to"]).reset_index("up to")
    logs = np.log(table.pivot(index=["replication", "up to", "labelled"], columns="method", values="pehe"))
    logs = logs[list(reading.weights)].rename(columns=reading.weights)
    return -logs.sub(logs[0.0], axis=0).drop(columns=0.0).groupby(["replication", "up to"]).mean()


def shift(reading: Reading, dataset: str, table: pd.DataFrame) -> pd.Series:
    """How much more the weights 5 and 10 gain over 0 and 1 in the first stretch than in the last, by replication."""
    gain = gains(reading, dataset, table)
    lead = (gain[[5.0, 10.0]].mean(axis=1) - gain[1.0] / 2).unstack()  # weight 0 gains 0
    if lead.shape[1] < 2:  # one stretch shows no shift
        return pd.Series(np.nan, lead.index)
    return lead[lead.columns[0]] - lead[lead.columns[-1]]


def shifts(reading: Reading, rules: Rules) -> dict[str, pd.DataFrame]:
    """Data set -> :func:`reproduction.claims.comparison.against` of the shift, with enough replications."""
    found = {}
    for name in reading.tables:
        table = campaigns(reading, name)
        if table is None:
            continue
        # turned round, so that a shift as the paper sees it is "ahead"
        gap = -shift(reading, name, table).to_frame("shift")
        parts = [*by_stretch(table, STRETCHES[name]).values()]
        used = span(pd.concat([parts[0], parts[-1]]))
        found[name] = against(gap, rules, reading.share(name, rules, list(reading.weights))).assign(**used)
    return {name: rows for name, rows in found.items() if len(rows)}


def judge_alpha(rules: Rules, reading: Reading) -> Verdict:
    """A1, per data set: the large weights' lead over the small ones is larger in the first stretch than in the last."""
    found = shifts(reading, rules)
    words: dict[str, Word] = {"ahead": "holds", "undecided": "undecided"}
    judged = [words.get(rows["comparison"].iloc[0], "does not hold") for rows in found.values()]
    shown = [_said(found, rules) or f"fewer than {rules.minimum} recorded replications of all weights on any data set"]
    rows = _values(found, reading)
    if reading is WRITTEN and (exact := shifts(EXACT, rules)):
        shown.append(f"Exact Gaussian processes: {_said(exact, rules)}")
        rows += _values(exact, EXACT, beside=True)
    return Verdict(together(judged, CASES), ". ".join(shown), rows)


def _values(found: dict[str, pd.DataFrame], reading: Reading, **about: bool) -> tuple[dict[str, Any], ...]:
    what = {"estimator": reading.name, "measure": "shift of the lead of weights 5 and 10", **about}
    what["methods"] = list(reading.weights)
    return tuple(row for name, rows in found.items() for row in values(rows, "last stretch", dataset=name, **what))


def _said(found: dict[str, pd.DataFrame], rules: Rules) -> str:
    shown = "; ".join(f"{name}: {told(rows, rules)}" for name, rows in found.items())
    return f"lead of the weights 5 and 10, last stretch minus first, {shown}" if shown else ""
