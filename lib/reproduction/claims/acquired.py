"""Verdict V1: what the labelled sets look like."""

import numpy as np
import pandas as pd

from macal.campaigns import results
from reproduction.claims.evidence import MINIMUM
from reproduction.claims.verdict import Verdict
from reproduction.studies.labelled_sets import STEPS

MEASURES = ("counterpart", "w1", "radius")  # of pairing up, of alike arms, of spreading out; better where smaller
OTHERS = ("random", "lcmd", "qhte", "mu-rho-bald")  # beside MACAL in Figures 4 and 6 to 8


def means(dataset: str) -> pd.DataFrame:
    """Mean of each measure, by step and method; methods with enough replications.

    Raises:
        FileNotFoundError: nothing is recorded.
    """
    table = results.load(f"acquired_{dataset}")
    enough = table.groupby("method")["replication"].transform("nunique") >= MINIMUM
    return table[enough].groupby(["step", "method"])[["treated", *MEASURES, "close"]].mean()


def judge_acquired() -> Verdict:
    """V1: MACAL's mean is smallest in every measure, at every step shown by the paper, among the methods measured."""
    words, shown, absent = [], [], {}
    for dataset in STEPS:
        try:
            found = means(dataset)
        except FileNotFoundError:
            continue
        here = set(found.index.get_level_values("method"))
        if not {"macal", "random"} <= here:
            continue
        absent[dataset] = [m for m in OTHERS if m not in here]
        for step, rows in found.groupby("step"):
            rows = rows.droplevel("step").loc[["macal", *(m for m in OTHERS if m in here)]]
            first = [name for name in MEASURES if rows[name].idxmin() == "macal"]
            words.append(np.isin(MEASURES, first))
            shown.append(f"{dataset} after {step} queries: {', '.join(first) or 'none'}")
    if not words:
        return Verdict("not tested", f"fewer than {MINIMUM} recorded replications on any data set")
    kept = np.array(words)
    verdict = "holds" if kept.all() else "holds in part" if kept[:, :2].all(axis=1).any() else "does not hold"
    lacking = "; ".join(f"{name} lacks {', '.join(m)}" for name, m in absent.items() if m)
    return Verdict(verdict, f"MACAL smallest in {'; '.join(shown)}" + (f" ({lacking})" if lacking else ""))
