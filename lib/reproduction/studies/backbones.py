"""Recorded studies of the backbones: the paper's words against the public code, trainings in batches, images."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from macal import datasets, metrics, models
from macal.campaigns import evaluation
from macal.models import Task, due
from macal.models.base import settings_of
from macal.models.due import Due
from macal.problem import Problem
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

VARIANTS: dict[str, dict[str, Any]] = {  # what changes against the paper's words
    "paper": {},
    "treatment": {"treatment": due.CODE["treatment"]},
    "kernel": {"kernel": due.CODE["kernel"]},
    "validation": {"validation": due.CODE["validation"]},
    "code": due.CODE,
}
SIZES = (200, 50, 100, 470)  # labelled IHDP units, in the order of their jobs
BLOCKS = (range(6), range(6, 12))  # replications that train as one batch
ARRANGEMENTS = {"batch": 16, "permuted": 16, "alone": 1}  # models in training at a time
IMAGES = (50, 250, 1000, 2550)  # labelled CMNIST units; a campaign of the paper ends at 2550


def random_units(problem: Problem, n: int) -> np.ndarray:
    """Return ``n`` pool units drawn at random; the sets of one problem are nested."""
    return np.random.default_rng(problem.seed).permutation(len(problem.pool))[:n]


def train(model: Due, requests: Iterable[tuple[Problem, int, int]]) -> list[evaluation.Row]:
    """Train on ``(problem, randomly labelled units, initialisation)`` as one batch.

    Returns:
        One row per training: ``replication``, ``labelled``, ``init``, ``pehe`` on the test set, ``epochs`` and
        ``valid_loss``.
    """
    requests = list(requests)
    tasks = [Task(p.pool[random_units(p, n)], p.valid, 100 * p.seed + init) for p, n, init in requests]
    return [
        {"replication": p.seed, "labelled": n, "init": init, "pehe": metrics.pehe(f.predict(p.test.x).tau, p.test.tau)}
        | f.info
        for (p, n, init), f in zip(requests, model.fit(tasks), strict=True)
    ]


def variants(
    sizes: Sequence[int] = SIZES, blocks: Sequence[Sequence[int]] = BLOCKS, settings: Due | None = None
) -> list[Job]:
    """IHDP: what the public code does otherwise than the paper's words, one thing at a time and all together.

    The splits are the public code's: 202 validation units, of which minibatches can be made; the paper's 75 are one.

    Args:
        sizes: labelled units, drawn at random.
        blocks: replications, and which of them train as one batch; a job each, times sizes and variants.
        settings: a :class:`macal.models.due.Due`; the paper's words by default.
    """
    settings = settings or models.get("due")

    def job(n: int, block: Sequence[int], name: str) -> Job:
        model = replace(settings, **VARIANTS[name])

        def work() -> list[Answer]:
            return [Answer(train(model, [(datasets.load("ihdp", k, "code"), n, 0) for k in block]))]

        config = {"dataset": "ihdp", "protocol": "code", "study": "variants", "variant": name, "n": n}
        return Job([config | {"replications": list(block), "settings": settings_of(settings)}], work, model)

    return [job(n, block, name) for n in sizes for block in blocks for name in VARIANTS]


def batching(
    replications: Sequence[int] = (0, 1), n: int = 100, inits: int = 8, settings: Due | None = None
) -> list[Job]:
    """IHDP: the same trainings as one batch, in another order, and one at a time.

    Args:
        replications: of the data.
        n: labelled units, drawn at random.
        inits: initialisations of each.
        settings: a :class:`macal.models.due.Due`; the paper's words by default.
    """
    settings = settings or models.get("due")

    def job(name: str) -> Job:
        model = replace(settings, slots=ARRANGEMENTS[name])

        def work() -> list[Answer]:
            problems = [datasets.load("ihdp", k, "code") for k in replications]
            requests = [(p, n, init) for p in problems for init in range(inits)]
            order = np.random.default_rng(0).permutation(len(requests)) if name == "permuted" else range(len(requests))
            return [Answer(train(model, [requests[k] for k in order]))]

        # "company" is what records of this study have always answered
        config = {"dataset": "ihdp", "protocol": "code", "study": "company", "variant": name, "n": n, "inits": inits}
        return Job([config | {"replications": list(replications), "settings": settings_of(settings)}], work, model)

    return [job(name) for name in ARRANGEMENTS]


def images() -> list[Job]:
    """CMNIST replication 0: the image network on nested random sets, with Table 1's validation and test units."""
    settings = models.get("due", **due.CNN)

    def job(n: int) -> Job:
        def work() -> list[Answer]:
            problem = datasets.load("cmnist", 0)
            return [Answer(evaluation.evaluate(problem, [random_units(problem, n)], settings).to_dict("records"))]

        config = {"dataset": "cmnist", "protocol": "paper", "replication": 0, "method": "random", "n": n}
        return Job([config | {"settings": settings_of(settings)}], work, settings)

    return [job(n) for n in IMAGES]


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``backbones``, ``backbones_batching`` or ``cmnist_falling``; see :meth:`.tables.Table.jobs`.

    The last has one replication, whatever is asked for.
    """
    some = [] if replications is None else [range(replications)]
    if table.name == "backbones":
        return variants(blocks=some or BLOCKS)
    return batching(*some) if table.name == "backbones_batching" else images()
