"""Verdicts D1 and D2: sizes, and where IHDP's pairs end."""

from collections.abc import Callable

import pandas as pd

from macal import datasets
from reproduction.benchmarks import IHDP, PAPER
from reproduction.claims.verdict import Verdict
from reproduction.studies import tables
from reproduction.studies.replications import SIZES

TABLE_1 = pd.DataFrame({name: vars(one) for name, one in PAPER.items()}, [*SIZES, "replications"]).T.astype(int)
TURNING_POINT = IHDP.until  # labels, Section 5.1
WITHIN = 10  # labels of it


def recorded(dataset: str) -> pd.DataFrame:
    """What is recorded of each replication, by its number, see :func:`.replications.measure`."""
    return tables.load(tables.by_dataset(tables.REPLICATIONS)[dataset]).set_index("replication")


def turning_points(replications: int = 100) -> pd.DataFrame:
    """Where IHDP's pairs must end, one row per replication.

    Every pair takes one treated unit, whichever it is: there are as many pairs as treated units outside the start.

    Returns:
        ``replication``, ``treated`` units in the pool, ``started`` (treated units among the start), ``labelled`` (units
        labelled when the last pair is complete).
    """
    rows = []
    for problem in (datasets.load("ihdp", seed) for seed in range(replications)):
        treated, started = int(problem.pool.t.sum()), int(problem.pool.t[problem.start].sum())
        rows.append((problem.seed, treated, started, len(problem.start) + 2 * (treated - started)))
    return pd.DataFrame(rows, columns=["replication", "treated", "started", "labelled"])


def judge_sizes(name: Callable[[str], object] = str) -> Verdict:
    """D1: IHDP and CMNIST to the unit; IBM, whose pool is random, within 1% in every replication.

    ``name`` says what the evidence calls a data set.
    """
    every = {dataset: recorded(dataset)[SIZES] for dataset in TABLE_1.index}
    found = pd.concat(every, names=["dataset", "replication"])
    off = (found / TABLE_1[SIZES].reindex(found.index, level="dataset") - 1).abs().groupby("dataset").max().max(axis=1)
    limits = pd.Series({"ihdp": 0.0, "cmnist": 0.0, "ibm": 0.01})
    shown = "; ".join(f"{name(one)}: {f'within {off[one]:.2%}' if off[one] else 'exactly'}" for one in limits.index)
    good = int((off[limits.index] <= limits).sum())
    verdict = {len(limits): "holds", 0: "fails"}.get(good, "holds in part")
    return Verdict(verdict, f"{shown}, over {found.index.unique('replication').size} replications")


def judge_turning_point(replications: int = 100) -> Verdict:
    """D2: 'holds' where the median replication's pairs end near the paper's number, 'in part' where some one's do."""
    labelled = turning_points(replications)["labelled"]
    near = int(((labelled - TURNING_POINT).abs() <= WITHIN).sum())
    verdict = "fails" if not near else "holds in part"
    if abs(labelled.median() - TURNING_POINT) <= WITHIN:
        verdict = "holds"
    return Verdict(
        verdict,
        f"the last pair is complete at {labelled.min()} to {labelled.max()} labels, median {labelled.median():.0f}; "
        f"within {WITHIN} of {TURNING_POINT} in {near} of {replications} replications",
    )
