"""Verdicts V1 and V2: what the labelled sets look like."""

import numpy as np
import pandas as pd

from macal.comparison import gaps
from reproduction.claims import versions
from reproduction.claims.comparison import against, lowest, told, values
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import CODE, TEXT, Version, absent
from reproduction.studies import tables
from reproduction.studies.labelled_sets import STEPS

PAIRED, SPREAD = "counterpart", "radius"  # mean distance to the nearest of the other arm; worst distance to a label
MEASURES = (PAIRED, "w1", SPREAD)  # better where smaller
TABLES = {CODE: tables.by_dataset(tables.SETS_CODE), TEXT: tables.by_dataset(tables.SETS)}
BEST = "mu-rho-bald"  # "the most representative method" of Causal-BALD
OTHERS = ("random", "lcmd", "qhte", BEST)  # beside MACAL in Figures 4 and 6 to 8


def measured(dataset: str, rules: Rules, version: Version = TEXT) -> pd.DataFrame | None:
    """The recorded measures of methods with enough replications, or None."""
    table = versions.load(TABLES[version][dataset], keys=("method", "replication", "step"))
    if table is None:
        return None
    table = table[table.groupby("method")["replication"].transform("nunique") >= rules.minimum]
    return table if {version.macal, "random"} <= {*table["method"].unique()} else None


def means(table: pd.DataFrame) -> pd.DataFrame:
    """Mean of each measure, by step and method."""
    return table.groupby(["step", "method"])[["treated", *MEASURES, "close"]].mean()


def compared(table: pd.DataFrame, rules: Rules, macal: str = "macal") -> pd.DataFrame:
    """MACAL's log ratio to each other method of the figures, paired by replication.

    Returns:
        Rows of :func:`reproduction.claims.comparison.against` by measure, step and method, adjusted within each measure
        and step.
    """
    rows = {}
    for step, part in table[table["method"].isin([macal, *OTHERS])].groupby("step"):
        part = part.rename(columns={"step": "labelled"})
        for measure in MEASURES:
            differences = gaps(part, macal, measure)
            rows[measure, step] = against(differences, rules, family=len(OTHERS))
    return pd.concat(rows, names=["measure", "step"])


def word(found: pd.DataFrame) -> Word:
    """The verdict on 'closer than every other method' at the steps that the paper shows, absent methods aside."""
    steps = found.groupby(level="step")
    return together(lowest(rows.droplevel("step"), len(rows)) for _, rows in steps)


def judge_labelled_sets(rules: Rules, version: Version) -> Verdict:
    """V1: MACAL's labels lie closer to a counterpart (paired), and closer to the whole pool (spread), than the others'.

    Judged apart, paired by replication, at the steps that the paper shows; 'holds' where both hold on all data sets.
    """
    words: dict[str, list[Word]] = {PAIRED: [], SPREAD: []}
    shown, rows = [], ()
    for dataset in STEPS:
        table = measured(dataset, rules, version)
        if table is None:
            continue
        found = compared(table, rules, version.macal)
        for measure in words:
            words[measure].append(word(found.loc[measure]))
            for step, part in found.loc[measure].assign(table=TABLES[version][dataset]).groupby(level="step"):
                rows += values(part.droplevel("step"), version.macal, dataset=dataset, measure=measure, step=step)
        shown.append(f"{dataset}: {_said(found)}{absent(table['method'].unique(), OTHERS)}")
    if not shown:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications on any data set")
    paired, spread = (together(words[measure]) for measure in (PAIRED, SPREAD))
    said = f"pair up: {paired}; spread out: {spread}; {'; '.join(shown)}"
    return Verdict(together([paired, spread]), said, rows)


def judge_spread(rules: Rules, version: Version) -> Verdict:
    """V2: mu-rho-BALD's labels leave a smaller covering radius than Random's, by data set and step."""
    words, shown, rows = [], [], ()
    for dataset in STEPS:
        table = measured(dataset, rules, version)
        if table is None or BEST not in table["method"].unique():
            continue
        for step, part in table[table["method"].isin([BEST, "random"])].groupby("step"):
            found = against(gaps(part.rename(columns={"step": "labelled"}), BEST, SPREAD), rules)
            if len(found):
                words.append(lowest(found, 1))
                shown.append(f"{dataset}, step {step}: {told(found)}")
                own = found.assign(table=TABLES[version][dataset])
                rows += values(own, BEST, dataset=dataset, measure=SPREAD, step=step)
    if not words:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications of both on any data set")
    return Verdict(together(words), f"log ratio of covering radii, {'; '.join(shown)}", rows)


def _said(found: pd.DataFrame) -> str:
    """Ratio of MACAL's measure to each other method's at the paper's last step, with its interval."""
    last = found.xs(found.index.get_level_values("step").max(), level="step")
    parts = []
    for measure, name in ((PAIRED, "distance to the counterpart"), (SPREAD, "covering radius")):
        rows = last.loc[measure]
        ratios = np.exp(rows[["log_ratio", "low", "high"]])
        shown = ", ".join(f"{m} {r.log_ratio:.2f} [{r.low:.2f}, {r.high:.2f}]" for m, r in ratios.iterrows())
        parts.append(f"{name} over that of {shown}")
    return "; ".join(parts)
