"""What the labelled sets of Figures 4 and 6 to 8 look like, in numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from macal import datasets, metrics
from macal.campaigns import begin
from macal.models.base import settings_of
from macal.problem import Problem
from macal.shapes import Indices
from reproduction.methods import Method
from reproduction.studies import tables
from reproduction.studies.jobs import Answer, Job

STEPS = {"ihdp": (5, 15), "ibm": (10, 30), "cmnist": (10, 30)}  # queries done, as in the paper's figures
PLANNED = ("random", "random-balanced", "qhte")  # and MACAL
PICKED = ("mu-rho-bald", "lcmd")  # by a trained model: from recorded sweeps
VERSIONS = {  # line of evidence -> protocol, MACAL's name, line of the sweeps
    tables.SETS: ("paper", "macal", tables.TEXT),
    tables.SETS_CODE: ("code", "macal-squared", tables.CODE),
}
REPLICATIONS = {"ihdp": 10, "ibm": 10, "cmnist": 5}


def measure(problem: Problem, indices: Indices, caliper: float) -> dict[str, float]:
    """Measure a labelled set with both arms.

    Returns:
        ``treated`` (number), ``counterpart`` (mean distance of a labelled unit to the nearest labelled unit of the
        other arm), ``close`` (share of labelled units for which it is at most the caliper), ``w1`` (exact 1-Wasserstein
        distance between the labelled arms), ``radius`` (largest distance from a unit of the pool to the nearest label
        of its own arm).
    """
    pool, x, t = problem.pool, problem.pool.x[indices], problem.pool.t[indices]
    gaps = metrics.counterpart_distance(x, t)
    radii = [metrics.covering_radius(pool.x[pool.t == arm], x[t == arm]) for arm in (0, 1)]
    return {
        "treated": float(t.sum()),
        "counterpart": float(gaps.mean()),
        "close": float(np.mean(gaps <= caliper)),
        "w1": metrics.wasserstein(x, t),
        "radius": max(radii),
    }


def plan(problem: Problem, method: str, n_queries: int) -> list[list[int]]:
    """Plan a label-free campaign."""
    campaign = begin(problem, Method.parse(method).make(), method, n_queries=n_queries)
    campaign.plan()
    return [batch.tolist() for batch in campaign.batches]


def swept(dataset: str, line: str) -> dict[tuple[int, str], Sequence[Sequence[int]]]:
    """Batches of the methods of ``PICKED`` in a line of evidence, by replication and method."""
    found = tables.load(tables.by_dataset(line)[dataset]).attrs["records"]
    configs = [(r["config"]["replication"], r["config"]["method"]) for r in found]
    return {key: r["picks"] for key, r in zip(configs, found, strict=True) if key[1] in PICKED}


def job(
    dataset: str, replication: int, batches: Mapping[str, Sequence[Sequence[int]]], version: str = tables.SETS
) -> Job:
    """Make the job that measures the labelled sets of one replication.

    Args:
        dataset: a name of ``STEPS``.
        replication: of the data.
        batches: of the methods that were swept; MACAL and those of ``PLANNED`` are planned.
        version: a name of ``VERSIONS``.
    """
    protocol, macal, _ = VERSIONS[version]
    methods = (*PLANNED, macal, *batches)
    shared = {"dataset": dataset, "protocol": protocol, "replication": replication}
    asked = [{**shared, "method": m, "criterion": settings_of(Method.parse(m).make())} for m in methods]

    def work() -> list[Answer]:
        problem, steps = datasets.load(dataset, replication, protocol), STEPS[dataset]
        caliper = float(np.median(metrics.counterpart_distance(problem.pool.x, problem.pool.t)))
        bought = [batches.get(m) or plan(problem, m, max(steps)) for m in methods]
        rows = lambda picks, k: {"step": k} | measure(problem, problem.labelled(picks[:k]), caliper)  # noqa: E731
        return [Answer([rows(picks, step) for step in steps], picks[: max(steps)]) for picks in bought]

    return Job(asked, work)


def jobs(table: tables.Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table, for so many replications; see :meth:`.tables.Table.jobs`."""
    version, dataset = table.line, table.dataset
    chosen = range(REPLICATIONS[dataset] if replications is None else replications)
    found = swept(dataset, VERSIONS[version][2])
    return [job(dataset, k, {m: found[k, m] for m in PICKED if (k, m) in found}, version) for k in chosen]
