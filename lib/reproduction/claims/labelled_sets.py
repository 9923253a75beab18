"""Verdicts V1 and V2: what the labelled sets look like."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal.comparison import gaps
from reproduction.claims import versions
from reproduction.claims.comparison import Case, against, conclude, describe_rows, lowest
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


def compared(table: pd.DataFrame, rules: Rules, method: str = "macal", others: Sequence[str] = OTHERS) -> pd.DataFrame:
    """A method's log ratio to each other one, by default of the figures, paired by replication.

    Returns:
        Rows of :func:`reproduction.claims.comparison.against` by measure, step and method, adjusted within each measure
        and step.
    """
    rows = {}
    for step, part in table[table["method"].isin([method, *others])].groupby("step"):
        part = part.rename(columns={"step": "labelled"})
        for measure in MEASURES:
            differences = gaps(part, method, measure)
            rows[measure, step] = against(differences, rules, family=len(others))
    return pd.concat(rows, names=["measure", "step"])


def judge_labelled_sets(rules: Rules, version: Version) -> Verdict:
    """V1: MACAL's labels lie closer to a counterpart (paired), and closer to the whole pool (spread), than the others'.

    Judged apart, paired by replication, at the steps that the paper shows; 'holds' where both hold on all data sets.
    """
    cases, shown = [], []
    for dataset, table in _recorded(rules, version).items():
        found = compared(table, rules, version.macal)
        for measure in (PAIRED, SPREAD):
            cases += _cases(found.loc[measure], version, dataset, version.macal, measure)
        shown.append(f"{dataset}: {_said(found)}{absent(table['method'].unique(), OTHERS)}")
    paired, spread = (_on_data_sets(cases, measure) for measure in (PAIRED, SPREAD))
    said = f"pair up: {paired}; spread out: {spread}; {'; '.join(shown)}"
    return conclude(cases, rules, word=together([paired, spread]), text=said)


def judge_spread(rules: Rules, version: Version) -> Verdict:
    """V2: mu-rho-BALD's labels leave a smaller covering radius than Random's, by data set and step."""
    cases = []
    for dataset, table in _recorded(rules, version).items():
        if BEST in table["method"].unique():
            found = compared(table, rules, BEST, ("random",)).loc[SPREAD]
            cases += _cases(found, version, dataset, BEST, SPREAD)
    return conclude(cases, rules, "log ratio of covering radii, ")


def _on_data_sets(cases: Sequence[Case], measure: str) -> Word:
    """The verdict by a measure: on the data sets, each from its steps."""
    steps: dict[str, list[Word]] = {}
    for case in (case for case in cases if case.about["measure"] == measure):
        steps.setdefault(case.about["dataset"], []).append(case.word)
    return together(map(together, steps.values()))


def _recorded(rules: Rules, version: Version) -> dict[str, pd.DataFrame]:
    found = {dataset: measured(dataset, rules, version) for dataset in STEPS}
    return {dataset: table for dataset, table in found.items() if table is not None}


def _cases(found: pd.DataFrame, version: Version, dataset: str, method: str, measure: str) -> list[Case]:
    """A case for each step of :func:`compared` by one measure."""
    steps = found.assign(table=TABLES[version][dataset]).groupby(level="step")
    parts = {step: rows.droplevel("step") for step, rows in steps}
    about = {"dataset": dataset, "measure": measure}
    return [
        Case(
            lowest(rows, len(rows)),
            rows,
            method,
            {**about, "step": step},
            f"{dataset}, step {step}: {describe_rows(rows)}",
        )
        for step, rows in parts.items()
    ]


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
