"""Recorded studies of the backbones: the paper's words against the public code, company in a batch, images.

A study is a list of jobs; each writes one record (:mod:`macal.campaigns.results`) into a store, and what has its record
is never run again. ``python -m reproduction.studies.backbones variants STORE`` runs what the store lacks, one job after
the other, and publishes the table.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from macal import datasets, metrics, models
from macal.arguments import as_count
from macal.campaigns import evaluation, results, terminal
from macal.campaigns.results import Record
from macal.models import Task, due
from macal.problem import Problem

Row = dict[str, Any]
Job = tuple[dict[str, Any], Callable[[], list[Row]]]  # a configuration, and the work that answers it

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


def drawn(problem: Problem, n: int) -> np.ndarray:
    """Return ``n`` pool units drawn at random; the sets of one problem are nested."""
    return np.random.default_rng(problem.seed).permutation(len(problem.pool))[:n]


def fit_rows(model: Any, requests: Iterable[tuple[Problem, int, int]]) -> list[Row]:
    """Train on ``(problem, labelled units, initialisation)`` as one batch.

    Returns:
        One row per training: ``replication``, ``labelled``, ``init``, ``pehe`` on the test set, ``epochs`` and
        ``valid_loss``.
    """
    requests = list(requests)
    tasks = [Task(p.pool[drawn(p, n)], p.valid, 100 * p.seed + init) for p, n, init in requests]
    return [
        {"replication": p.seed, "labelled": n, "init": init, "pehe": metrics.pehe(f.predict(p.test.x).tau, p.test.tau)}
        | f.info
        for (p, n, init), f in zip(requests, model.fit(tasks), strict=True)
    ]


def run(jobs: Iterable[Job], store: Path, report: Callable[[str], Any] = print) -> None:
    """Run the jobs that have no record yet, one after the other.

    Args:
        jobs: configurations of JSON values, ``dataset`` and ``protocol`` among them, and what answers them.
        store: folder of the records.
        report: is told what was run.

    Raises:
        DamagedRecord: a file of the store is not whole.
    """
    for config, work in jobs:
        config = json.loads(json.dumps(config))
        path = results.path_of(config, store)
        if path.exists():
            results.read(path, config)
            continue
        start = time.perf_counter()
        rows = work()
        seconds = time.perf_counter() - start
        sources = datasets.load(config["dataset"], 0, config["protocol"]).sources
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        results.write(
            Record(config, rows, [], results.manifest(sources, seconds, device, torch.get_num_threads())), store
        )
        report(
            f"{', '.join(f'{k} {v}' for k, v in config.items() if isinstance(v, (str, int, float)))}: {seconds:.0f} s"
        )


def variants(
    sizes: Sequence[int] = SIZES, blocks: Sequence[Sequence[int]] = BLOCKS, settings: Any = None
) -> list[Job]:  # fmt: skip
    """IHDP: what the public code does otherwise than the paper's words, one thing at a time and all together.

    The splits are the public code's: 202 validation units, of which minibatches can be made; the paper's 75 are one.

    Args:
        sizes: labelled units, drawn at random.
        blocks: replications, and which of them train as one batch; a job each, times sizes and variants.
        settings: a :class:`macal.models.due.Due`; the paper's words by default.
    """
    settings = settings or models.get("due")

    def job(n: int, block: Sequence[int], name: str) -> Job:
        def work() -> list[Row]:
            requests = [(datasets.load("ihdp", k, "code"), n, 0) for k in block]
            return fit_rows(replace(settings, **VARIANTS[name]), requests)

        config = {"dataset": "ihdp", "protocol": "code", "study": "variants", "variant": name, "n": n}
        return config | {"replications": list(block), "settings": asdict(settings)}, work

    return [job(n, block, name) for n in sizes for block in blocks for name in VARIANTS]


def company(
    replications: Sequence[int] = (0, 1), n: int = 100, inits: int = 8, settings: Any = None
) -> list[Job]:  # fmt: skip
    """IHDP: the same trainings as one batch, in another order, and one at a time.

    Args:
        replications: of the data.
        n: labelled units, drawn at random.
        inits: initialisations of each.
        settings: a :class:`macal.models.due.Due`; the paper's words by default.
    """
    settings = settings or models.get("due")

    def job(name: str) -> Job:
        def work() -> list[Row]:
            problems = [datasets.load("ihdp", k, "code") for k in replications]
            requests = [(p, n, init) for p in problems for init in range(inits)]
            order = np.random.default_rng(0).permutation(len(requests)) if name == "permuted" else range(len(requests))
            return fit_rows(replace(settings, slots=ARRANGEMENTS[name]), [requests[k] for k in order])

        config = {"dataset": "ihdp", "protocol": "code", "study": "company", "variant": name, "n": n, "inits": inits}
        return config | {"replications": list(replications), "settings": asdict(settings)}, work

    return [job(name) for name in ARRANGEMENTS]


def images(sizes: Sequence[int] = IMAGES, settings: Any = None) -> list[Job]:
    """CMNIST replication 0: the image network on nested random sets, with Table 1's validation and test units.

    Args:
        sizes: labelled units, one training each.
        settings: a :class:`macal.models.due.Due`; the paper's image network by default.
    """
    settings = settings or models.get("due", **due.CNN)

    def job(n: int) -> Job:
        def work() -> list[Row]:
            problem = datasets.load("cmnist", 0)
            return evaluation.evaluate(problem, [drawn(problem, n)], settings).to_dict("records")

        config = {"dataset": "cmnist", "protocol": "paper", "replication": 0, "method": "random", "n": n}
        return config | {"settings": asdict(settings)}, work

    return [job(n) for n in sizes]


STUDIES = {
    "variants": (variants, "backbones"),
    "company": (company, "backbones_company"),
    "images": (images, "cmnist_falling"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what a store lacks of one study, and publish its table."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.studies.backbones", description=main.__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("store", type=Path, help="folder of the records")
    parser.add_argument("--jobs", type=int, help="only so many of its jobs (default: all)")
    parser.add_argument("--into", type=Path, default=results.FOLDER, help="where the table goes (default: results/)")
    parser.add_argument("--replace", action="store_true", help="replace a table that is there")
    parser.add_argument("--partial", action="store_true", help="publish before all jobs are done")
    chosen = parser.parse_args(arguments)
    make, name = STUDIES[chosen.study]
    jobs = make()
    wanted = jobs if chosen.jobs is None else jobs[: as_count(chosen.jobs, "jobs")]
    results.targets(name, chosen.into, chosen.replace)  # before hours are spent
    results.note({"study": chosen.study}, [config for config, _ in jobs], chosen.store)
    torch.set_num_threads(1)
    run(wanted, chosen.store, lambda line: print(line, flush=True))
    results.publish(chosen.store, name, chosen.into, replace=chosen.replace, partial=chosen.partial)


if __name__ == "__main__":
    terminal.start(main)
