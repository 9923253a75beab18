"""Does :func:`macal.inference.effect_variation` say truly whether the model's effects are worth acting upon, on IHDP?

Replications 0 to 39 of "ihdp", and of "ihdp-a", whose effects are all equal; each as it is, and with 50 columns of
noise beside its covariates. Labels by alc-fixed, looked at with 70 and 150; the joint process. "Seen" is wrong where
the effects that the model estimates are not closer to the test set's true ones than the best constant effect, "not
seen" where they are. At most 5 % of looks at equal effects should be called seen.
"""

from pathlib import Path

import numpy as np

from macal import datasets, metrics, models
from macal.campaigns import begin, evaluation
from macal.inference import effect_variation
from macal.models.base import settings_of
from macal.problem import Problem, Split
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

MODEL = models.get("joint-gp")
REPLICATIONS, NOISE, LOOKS = 40, (0, 50), (6, 14)  # columns of noise; queries of 10 labels after the start of 10


def widened(problem: Problem, columns: int) -> Problem:
    """The problem with so many columns of standard normal noise beside its covariates."""
    rng = np.random.default_rng([problem.seed, columns])

    def wide(units: Split) -> Split:
        x = np.hstack([units.x, rng.normal(size=(len(units), columns))])
        return Split(x, units.t, units.y, units.mu0, units.mu1)

    start, more = problem.start, {"batch_size": problem.batch_size, "n_queries": problem.n_queries}
    return Problem(problem.name, wide(problem.pool), wide(problem.test), start, seed=problem.seed, **more)


def campaign(dataset: str, replication: int, columns: int) -> Job:
    """One campaign, looked at twice."""

    def work() -> list[Answer]:
        problem = widened(datasets.load(dataset, replication), columns)
        played = begin(problem, "alc-fixed", n_queries=max(LOOKS))
        played.plan()
        rows: list[evaluation.Row] = []
        for step in LOOKS:
            labelled, tau = np.sort(played.labelled(step)), problem.test.tau
            (fitted,) = evaluation.train(MODEL, [(problem, labelled)])
            found = effect_variation(MODEL, problem.pool[labelled], replication)
            pehe = metrics.pehe(fitted.predict(problem.test.x).tau, tau)
            told = {"gain": found.gain, "z": found.z, "verdict": found.verdict} if found else {"verdict": "none"}
            rows.append({"labelled": len(labelled), "pehe": pehe, "constant": float(tau.std()), **told})
        return [Answer(rows, played.batches)]

    shared = {"dataset": dataset, "protocol": "paper", "study": "variation", "method": "alc-fixed"}
    config = {**shared, "replication": replication, "columns": columns, "looks": list(LOOKS)}
    return Job([config | {"chooser": None, "estimator": settings_of(MODEL)}], work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table, for so many replications; see :meth:`.tables.Table.jobs`."""
    seeds = range(replications or REPLICATIONS)
    return [campaign(table.dataset, seed, columns) for seed in seeds for columns in NOISE]
