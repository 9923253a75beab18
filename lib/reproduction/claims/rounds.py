"""Verdict L1: rounds that learn keep half of what learning at once gains, and are nowhere worse than without it.

What is compared, and what is expected, was fixed in :mod:`reproduction.studies.rounds` before the first run. A row is a
data set under an estimator in a setting; its error is log PEHE, mean over the last two rounds, paired by replication.
"""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.comparison import against, values
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.verdict import Verdict, Word
from reproduction.studies import rounds, tables

TABLES = tables.by_dataset(tables.ROUNDS)
ROWS = len(TABLES) * len(rounds.SETTINGS) * len(rounds.MODELS)
PLACE = ("setting", "dataset", "model")  # of a row
KEPT, WORSE = 0.5, 0.04  # share of the gain that is to be kept; share by which no row may be worse


def load() -> pd.DataFrame:
    """Read the complete tables.

    Returns:
        Log PEHE, mean over the last rounds: by ``setting``, ``dataset``, ``model`` and ``replication``, a column per
        rule.
    """
    found = []
    for data, name in TABLES.items():
        with suppress(FileNotFoundError):
            table = tables.load(name)
            wide = np.log(table.set_index(["setting", "model", "replication", "method"])["pehe"])
            wide = wide.groupby(level=[0, 1, 2, 3]).mean().unstack("method")
            if len(wide) == rounds.REPLICATIONS * ROWS // len(TABLES) and not wide.isna().any(axis=None):
                found.append(pd.concat({data: wide}, names=["dataset"]).swaplevel(0, 1))
    return pd.concat(found) if found else pd.DataFrame(columns=list(rounds.RULES))


def means(logs: pd.DataFrame) -> pd.DataFrame:
    """Log ratio of each rule to "never", mean over data sets and estimators, and ``kept``, by setting.

    ``kept`` is the share of the way from "never" to "at once" that "learned" goes.
    """
    rows = logs.groupby(level=["setting", "dataset", "model"], sort=False).mean()
    found = rows.sub(rows["never"], axis=0).groupby(level="setting", sort=False).mean()
    return found.assign(kept=found["learned"] / found["at once"])


def compared(logs: pd.DataFrame, other: str, rules: Rules = RULES) -> pd.DataFrame:
    """Set "learned" against another rule on every row: see :func:`.comparison.against`, adjusted for all rows."""
    differences = (logs["learned"] - logs[other]).unstack(list(PLACE))
    differences.columns = [", ".join(place) for place in differences.columns]
    return against(differences.astype(float), rules, family=ROWS)


def judge(rules: Rules) -> Verdict:
    """Judge L1: it holds where both parts are as expected, and in part where one is."""
    logs = load()
    if len(logs) < rounds.REPLICATIONS * ROWS:
        done = len(logs) // (rounds.REPLICATIONS * ROWS // len(TABLES))
        return Verdict("not tested", f"{done} of {len(TABLES)} tables are complete")
    if rounds.REPLICATIONS < rules.minimum:
        return Verdict("not tested", f"fewer than {rules.minimum} recorded replications")
    by_setting, rows = means(logs), compared(logs, "never", rules)
    limit = np.log1p(WORSE)
    kept = bool((by_setting["learned"] <= KEPT * by_setting["at once"]).all())
    worse = rows.index[rows["low"] > limit]
    word: Word = "holds" if kept and not len(worse) else "holds in part" if kept or not len(worse) else "does not hold"
    gains = "; ".join(
        f"{setting}: {row['learned']:+.3f}, at once {row['at once']:+.3f}" for setting, row in by_setting.iterrows()
    )
    counts = rows["comparison"].value_counts()
    at_once = (logs["at once"] - logs["never"]).groupby(level=PLACE, sort=False).mean()
    found: tuple[dict[str, Any], ...] = ()
    for (setting, data, model), gain in at_once.items():
        row = rows.loc[[", ".join((setting, data, model))]].set_axis(["never"])
        about = {"setting": setting, "dataset": data, "estimator": model, "at_once": gain, "table": TABLES[data]}
        found += values(row, "learned", **about)
    return Verdict(
        word,
        f"log ratio to rounds that do not learn, mean over {len(TABLES)} data sets and {len(rounds.MODELS)} estimators:"
        f" {gains}; of {ROWS} rows {counts.get('ahead', 0)} are ahead, {counts.get('behind', 0)} behind, and"
        f" {len(worse)} are significantly worse by more than {WORSE:.0%}",
        found,
    )
