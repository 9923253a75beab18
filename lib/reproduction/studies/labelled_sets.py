"""What the labelled sets of Figures 4 and 6 to 8 look like, in numbers.

``python -m reproduction record acquired_ihdp acquired_ibm acquired_cmnist`` plans the label-free campaigns, measures
them and what recorded sweeps have picked, and publishes one table per data set.
"""

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from macal import acquisition, datasets, metrics
from macal.campaigns import begin, results
from macal.campaigns.results import Record
from macal.problem import Problem
from macal.shapes import Indices

STEPS = {"ihdp": (5, 15), "ibm": (10, 30), "cmnist": (10, 30)}  # queries done, as in the paper's figures
PLANNED = ("random", "random-balanced", "qhte", "macal")
PICKED = ("mu-rho-bald", "lcmd")  # by a trained model: from recorded sweeps
SWEEPS = {"ihdp": "ihdp_due", "ibm": "ibm_due", "cmnist": "cmnist_due"}


def measure(problem: Problem, indices: Indices, caliper: float) -> dict[str, float]:
    """Measure a labelled set with both arms.

    Args:
        problem: the problem.
        indices: what is labelled.
        caliper: largest distance of a close counterpart.

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
    """Plan a label-free campaign; MACAL with the paper's weight of 2.5."""
    campaign = begin(problem, method, n_queries=n_queries)
    campaign.plan()
    return [batch.tolist() for batch in campaign.batches]


def swept(dataset: str, replication: int) -> dict[str, Sequence[Sequence[int]]]:
    """Batches that recorded sweeps of the deep kernel have picked, by method; none where nothing is recorded."""
    try:
        found = results.load(SWEEPS[dataset]).attrs["records"]
    except FileNotFoundError:
        return {}
    configs = {r["config"]["method"]: r for r in found if r["config"]["replication"] == replication}
    return {method: configs[method]["picks"] for method in PICKED if method in configs}


def records(dataset: str, replication: int) -> list[Record]:
    """Measure one replication: the planned methods, and those that were swept."""
    problem, steps = datasets.load(dataset, replication), STEPS[dataset]
    caliper = float(np.median(metrics.counterpart_distance(problem.pool.x, problem.pool.t)))
    made, batches = [], swept(dataset, replication)
    for method in (*PLANNED, *batches):
        start = time.perf_counter()
        picks = batches.get(method) or plan(problem, method, max(steps))
        rows = [{"step": step} | measure(problem, problem.labelled(picks[:step]), caliper) for step in steps]
        about = results.manifest(problem.sources, time.perf_counter() - start, "cpu", 1)
        config = {"dataset": dataset, "protocol": problem.protocol, "replication": replication, "method": method}
        config["criterion"] = asdict(acquisition.get(method))
        made.append(Record(config, rows, [list(batch) for batch in picks[: max(steps)]], about))
    return made


def record(
    dataset: str, replications: Iterable[int], folder: Path = results.FOLDER, replace: bool = False
) -> pd.DataFrame:  # fmt: skip
    """Measure some replications and publish them as ``acquired_<dataset>``.

    Args:
        dataset: a name of ``STEPS``.
        replications: of the data, at least one.
        folder: where the table goes.
        replace: replace a table that is there.

    Raises:
        FileExistsError: there is a table, and ``replace`` is not set; nothing is measured.
        ValueError: no replication.
    """
    replications = list(replications)
    if not replications:
        raise ValueError("replications must be a list of at least one, got none")
    results.targets(f"acquired_{dataset}", folder, replace)
    with tempfile.TemporaryDirectory() as store:
        for replication in replications:
            for one in records(dataset, replication):
                results.write(one, Path(store))
        return results.publish(Path(store), f"acquired_{dataset}", folder, replace=replace)
