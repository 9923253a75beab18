"""What a pilot is worth, by the comparisons that :mod:`reproduction.studies.pilots` fixed before its first run."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduction.claims import rounds as learning
from reproduction.claims.comparison import against
from reproduction.claims.rules import RULES, Rules
from reproduction.studies import pilots, tables

TABLES = tables.by_dataset(tables.PILOTS)
ROWS = ["dataset", "model"]
DRAWN = [name for name in pilots.CAMPAIGNS if name.startswith("drawn")]


class Pilots(NamedTuple):
    """What was found.

    Attributes:
        against: log ratio of every campaign to "never", mean over rows, as :func:`.comparison.against` returns it, with
            ``learns``, the share of later plans that went by the answers, ``worst``, the largest mean of a row, and
            ``price``, the mean over ``unneeded`` rows; an index of campaigns.
        drawn: a drawn pilot against a fixed one of its size, in the same columns; an index of drawn campaigns.
        unneeded: rows, (data set, model), on which learning at once had no lower mean error in other replications.
        chosen: the pilot that is recommended by the rule fixed beforehand; None where none is shown to pay.
    """

    against: pd.DataFrame
    drawn: pd.DataFrame
    unneeded: list[tuple[str, str]]
    chosen: str | None


def recorded() -> pd.DataFrame:
    """Read the tables as one.

    Raises:
        FileNotFoundError: a table is missing.
    """
    return pd.concat([tables.load(name).assign(dataset=data) for data, name in TABLES.items()])


def unneeded() -> list[tuple[str, str]]:
    """Rows on which learning at once in five rounds had no lower mean error than rounds that do not learn."""
    logs = learning.load().xs("5 rounds", level="setting")
    means = (logs["at once"] - logs["never"]).groupby(level=ROWS).mean()
    return [(str(data), str(model)) for data, model in means.index[means >= 0]]


def judge(rules: Rules = RULES) -> Pilots:
    """Compare every campaign with "never", and drawn pilots with fixed ones."""
    table = recorded()
    logs = np.log(table.set_index([*ROWS, "replication", "method"])["pehe"]).unstack("method")
    ratio = logs.sub(logs["never"], axis=0).drop(columns="never")
    rows = ratio.groupby(level=ROWS).mean()
    idle = unneeded()
    found = against(ratio.groupby(level="replication").mean(), rules)
    price = rows.loc[idle].mean() if idle else np.nan
    found = found.assign(worst=rows.max(), price=price, learns=table.groupby("method")["learns"].mean())
    fixed = logs[[name.replace("drawn", "fixed") for name in DRAWN]].set_axis(DRAWN, axis=1)
    drawn = against((logs[DRAWN] - fixed).groupby(level="replication").mean(), rules)
    return Pilots(found, drawn, idle, _chosen(found, drawn))


def _chosen(found: pd.DataFrame, drawn: pd.DataFrame) -> str | None:
    best = str(found.loc[[name for name in found.index if name.startswith("fixed")], "log_ratio"].idxmin())
    if found.loc[best, "high"] >= 0:
        return None
    other = best.replace("fixed", "drawn")
    return other if drawn.loc[other, "high"] < 0 else best
