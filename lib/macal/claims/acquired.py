"""Verdict V1: what the labelled sets look like, measured on recorded picks."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal import datasets, metrics, results
from macal.claims.evidence import MINIMUM, TABLES
from macal.claims.verdict import Verdict
from macal.problem import Problem

SHOWN = ("random", "lcmd", "qhte", "mu-rho-bald")  # Figures 4 and 6 to 8, beside MACAL
STEPS = {"ihdp": (5, 15), "ibm": (10, 30), "cmnist": (10, 30)}
MEASURES = ("counterpart", "w1", "radius")  # all better where smaller


def labelled(problem: Problem, picks: Sequence[Sequence[int]], step: int) -> np.ndarray:
    """Indices labelled after ``step`` queries of a recorded campaign."""
    return np.concatenate([problem.start, *picks[:step]]).astype(np.int64)


def measures(dataset: str, methods: Sequence[str], steps: Sequence[int]) -> pd.DataFrame:
    """Measure recorded labelled sets.

    Args:
        dataset: "ihdp", "ibm" or "cmnist".
        methods: names in the table.
        steps: queries done.

    Returns:
        One row per replication, method and step: ``treated`` (number), ``counterpart`` (mean distance of a labelled
        unit to the nearest labelled unit of the other arm), ``close`` (share of labelled units for which that is at
        most the pool's own median), ``w1`` between the labelled arms, ``radius`` (from any unit of the pool to the
        nearest label of its own arm, the largest). Replications that all methods have.

    Raises:
        FileNotFoundError: nothing is recorded.
    """
    records = [r for r in results.load(TABLES[dataset]).attrs["records"] if r["config"]["method"] in methods]
    have = pd.DataFrame([(r["config"]["replication"], r["config"]["method"]) for r in records])
    complete = have.groupby(0)[1].nunique() == len(set(methods)) if len(have) else pd.Series(dtype=bool)
    rows = []
    for replication in complete.index[complete]:
        problem = datasets.load(dataset, int(replication))
        caliper = float(np.median(metrics.counterpart_distance(problem.pool.x, problem.pool.t)))
        for record in (r for r in records if r["config"]["replication"] == replication):
            for step in steps:
                found = _measure(problem, labelled(problem, record["picks"], step), caliper)
                rows.append({"replication": replication, "method": record["config"]["method"], "step": step} | found)
    return pd.DataFrame(rows)


def _measure(problem: Problem, indices: np.ndarray, caliper: float) -> dict[str, float]:
    pool, x, t = problem.pool, problem.pool.x[indices], problem.pool.t[indices]
    gaps = metrics.counterpart_distance(x, t)
    return {
        "treated": float(t.sum()),
        "counterpart": float(gaps.mean()),
        "close": float(np.mean(gaps <= caliper)),
        "w1": metrics.wasserstein(x, t),
        "radius": max(metrics.covering_radius(pool.x[pool.t == arm], x[t == arm]) for arm in (0, 1)),
    }


def judge_acquired() -> Verdict:
    """V1: MACAL's mean is the smallest of the five methods in each measure, at each of the paper's steps."""
    found, shown, words = {}, [], []
    for dataset, steps in STEPS.items():
        try:
            table = measures(dataset, ("macal", *SHOWN), steps)
        except FileNotFoundError:
            continue
        if len(table) and table["replication"].nunique() >= MINIMUM:
            found[dataset] = table.groupby(["step", "method"])[list(MEASURES)].mean()
    if not found:
        return Verdict("not tested", f"fewer than {MINIMUM} recorded replications of the five methods on any data set")
    for dataset, means in found.items():
        for step, rows in means.groupby("step"):
            first = (rows.droplevel(0).idxmin() == "macal").to_dict()
            words += [first["counterpart"] and first["w1"], first["radius"]]
            best = [name for name, yes in first.items() if yes]
            shown.append(f"{dataset} after {step} queries smallest in {', '.join(best) or 'none'}")
    verdict = "holds" if all(words) else "holds in part" if any(words) else "does not hold"
    return Verdict(verdict, "; ".join(shown))
