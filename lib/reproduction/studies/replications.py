"""What the replications of the paper's data sets are: their sizes, and how their two surfaces lie.

Verdicts read this from recorded tables, so that a clone without the raw files sees the same ones.
"""

from pathlib import Path

import numpy as np

from macal import datasets
from macal.problem import Problem
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

REPLICATIONS = 10
SIZES = ["start", "step", "queries", "pool", "valid", "test"]  # as Table 1 counts them


def measure(problem: Problem) -> dict[str, float]:
    """Measure one replication.

    Returns:
        ``SIZES``; ``correlation`` of the two surfaces over the pool, and ``ratio`` of their s.d.s there, treated over
        control.
    """
    pool = problem.pool
    splits = len(pool), len(problem.valid), len(problem.test)
    sizes = len(problem.start), problem.batch_size, problem.n_queries, *splits
    surfaces = {
        "correlation": float(np.corrcoef(pool.mu1, pool.mu0)[0, 1]),
        "ratio": float(pool.mu1.std() / pool.mu0.std()),
    }
    return dict(zip(SIZES, sizes, strict=True)) | surfaces


def job(dataset: str, replication: int) -> Job:
    """Make the job that measures one replication of a data set."""
    config = {"dataset": dataset, "protocol": "paper", "study": "replications", "replication": replication}
    return Job([config], lambda: [Answer([measure(datasets.load(dataset, replication))])])


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table, for so many replications; see :meth:`.tables.Table.jobs`."""
    chosen = range(REPLICATIONS if replications is None else replications)
    return [job(table.dataset, replication) for replication in chosen]
