"""A grid of campaigns that survives what machines do: resumable, in one process, in several, or on a Dask cluster.

The unit of work is a *chunk*: campaigns that are trained together, always the same ones with the same number of
threads, so that a chunk that is run again gives the same bits. A chunk writes a checkpoint after each stage and one
record per campaign at its end (:mod:`macal.results`); what has its record is never run again. Two sweeps may share a
store: a chunk is locked while it is run.
"""

import fcntl
import json
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from macal import acquisition, datasets, loop, models, results
from macal.models import fused
from macal.problem import as_count
from macal.registry import UnknownName
from macal.results import Record


@dataclass(frozen=True)
class Spec:
    """What a sweep is to run: every method on every replication.

    Attributes:
        dataset: a name of :func:`macal.datasets.names`.
        methods: name in the table -> {"criterion": name, and its parameters}.
        replications: seeds of the data.
        model: {"name": a name of :func:`macal.models.names`, and its parameters}.
        protocol: "paper" or "code".
        n_queries: batches per campaign; the problem's own by default.
        every: train label-free campaigns at every so many queries.
        steps: train them after these numbers of queries instead, where ``every`` is too even.
        block: replications per chunk of model-based methods, which move in lock-step.
        stage: trainings per checkpoint of label-free methods; the more, the less time is spent waiting for the last.
        threads: of PyTorch, in each process.

    Raises:
        UnknownName: a name that does not exist.
        ValueError: a value out of range; nothing to run.
    """

    dataset: str
    methods: dict[str, dict[str, Any]]
    replications: Sequence[int]
    model: dict[str, Any] = field(default_factory=lambda: {"name": "exact-gp"})
    protocol: str = "paper"
    n_queries: int | None = None
    every: int = 1
    steps: Sequence[int] | None = None
    block: int = 5
    stage: int = 32
    threads: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "replications", tuple(self.replications))
        if self.dataset not in datasets.names():
            raise UnknownName("dataset", self.dataset, datasets.names())
        if self.protocol not in datasets.PROTOCOLS:
            raise UnknownName("protocol", self.protocol, datasets.PROTOCOLS)
        if not self.methods or not self.replications:
            raise ValueError("a sweep needs at least one method and one replication, got none")
        if len(set(self.replications)) < len(self.replications) or min(self.replications) < 0:
            raise ValueError(f"replications must be distinct and not negative, got {self.replications}")
        for name in ("every", "block", "stage", "threads"):
            as_count(getattr(self, name), name)
        if self.n_queries is not None:
            as_count(self.n_queries, "n_queries")
        if self.steps is not None:
            object.__setattr__(self, "steps", tuple(self.steps))
            if not self.steps or list(self.steps) != sorted({*self.steps}) or self.steps[0] < 0:
                raise ValueError(f"steps must be rising numbers of queries, 0 or more, got {self.steps}")
        for method in self.methods:
            self.criterion(method)
        self.build_model()

    def criterion(self, method: str) -> acquisition.Criterion:
        """Make the criterion of a method."""
        parameters = dict(self.methods[method])
        return acquisition.get(parameters.pop("criterion", method), **parameters)

    def build_model(self) -> Any:
        """Make the model."""
        parameters = dict(self.model)
        return models.get(parameters.pop("name", "exact-gp"), **parameters)

    def config(self, replication: int, method: str) -> dict[str, Any]:
        """Return the configuration that the record of one campaign answers, and that names it."""
        parameters = asdict(self.criterion(method))
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "replication": replication,
            "method": method,
            "alpha": parameters.get("alpha"),
            "criterion": {"name": self.methods[method].get("criterion", method), **parameters},
            "model": {"name": self.model.get("name", "exact-gp"), **asdict(self.build_model())},
            "n_queries": self.n_queries,
            "every": self.every,
            "threads": self.threads,
        } | ({} if self.steps is None else {"steps": list(self.steps)})


@dataclass(frozen=True)
class Chunk:
    """Campaigns that are trained together."""

    spec: Spec
    campaigns: tuple[tuple[int, str], ...]

    @property
    def configs(self) -> list[dict[str, Any]]:
        """Configurations of its campaigns."""
        return [self.spec.config(*campaign) for campaign in self.campaigns]

    @property
    def name(self) -> str:
        """Digest of :attr:`composition`."""
        return Record(self.composition, [], []).key

    @property
    def composition(self) -> dict[str, Any]:
        """What a checkpoint must agree with to be taken up again."""
        free = not self.spec.criterion(self.campaigns[0][1]).needs
        return {"chunk": self.configs} | ({"stage": self.spec.stage} if free else {})

    def finished(self, store: Path) -> bool:
        """Whether the store holds a whole record of each campaign; a damaged one is set aside, and counts as none."""
        return all(_sound(results.path_of(config, store), config) for config in self.configs)


def _sound(path: Path, config: dict[str, Any]) -> bool:
    if not path.exists():
        return False
    try:
        results.read(path, json.loads(json.dumps(config)))
    except results.DamagedRecord:
        path.replace(path.with_suffix(".damaged"))
        return False
    return True


def chunks(spec: Spec) -> list[Chunk]:
    """Divide a sweep: label-free methods by replication, model-based ones by block of replications."""
    free = [name for name in spec.methods if not spec.criterion(name).needs]
    based = [name for name in spec.methods if name not in free]
    blocks = [spec.replications[k : k + spec.block] for k in range(0, len(spec.replications), spec.block)]
    found = []
    for block in blocks:
        found += [Chunk(spec, tuple((r, m) for m in free)) for r in block if free]
        found += [Chunk(spec, tuple((r, m) for r in block for m in based))] if based else []
    return found


def listing(spec: Spec, store: Path, seconds: float = 1.0) -> pd.DataFrame:
    """List the chunks of a sweep without running any.

    Args:
        spec: the sweep.
        store: where its records are.
        seconds: that one training takes, for the estimate.

    Returns:
        One row per chunk: ``campaigns``, ``trainings``, ``finished``, ``hours`` still to run.
    """
    rows = []
    queries = spec.n_queries or datasets.load(spec.dataset, spec.replications[0], spec.protocol).n_queries
    for chunk in chunks(spec):
        based = spec.criterion(chunk.campaigns[0][1]).needs
        trainings = len(chunk.campaigns) * len(loop.trained(queries, 1 if based else spec.steps or spec.every))
        finished = chunk.finished(store)
        hours = 0.0 if finished else trainings * seconds / 3600
        rows.append((chunk.name, len(chunk.campaigns), trainings, finished, hours))
    return pd.DataFrame(rows, columns=["chunk", "campaigns", "trainings", "finished", "hours"])


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold a lock that ends with the process, whatever ends the process; False where somebody else has it."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def run_chunk(chunk: Chunk, store: Path) -> str:
    """Run a chunk, from its checkpoint if there is one, and write its records.

    Returns:
        "done", "finished before", "elsewhere" (another process runs it), or the traceback of what went wrong, which is
        also kept in ``<name>.failed`` until the chunk succeeds.
    """
    store.mkdir(parents=True, exist_ok=True)
    failure = store / f"{chunk.name}.failed"
    with _locked(store / f".{chunk.name}.lock") as mine:
        if not mine:
            return "elsewhere"
        if chunk.finished(store):
            return "finished before"
        try:
            _play(chunk, store)
        except Exception:  # whatever it is, the other chunks still run
            failure.write_text(traceback.format_exc())
            return failure.read_text()
        failure.unlink(missing_ok=True)
        return "done"


def _play(chunk: Chunk, store: Path) -> None:
    torch.set_num_threads(chunk.spec.threads)
    spec, model, start = chunk.spec, chunk.spec.build_model(), time.perf_counter()
    problems = {r: datasets.load(spec.dataset, r, spec.protocol) for r, _ in chunk.campaigns}
    campaigns = [loop.begin(problems[r], spec.criterion(m), m, n_queries=spec.n_queries) for r, m in chunk.campaigns]
    rows, before, done = _restore(chunk, store, campaigns)
    for stage in loop.stages(campaigns, model, spec.steps or spec.every, spec.stage, done):
        rows, done = rows + stage, done + 1
        picks = [[batch.tolist() for batch in c.batches] for c in campaigns]
        seconds = before + time.perf_counter() - start
        checkpoint = Record(chunk.composition, rows, [], {"done": done, "seconds": seconds, "picks": picks})
        results.write(checkpoint, store / "checkpoints")
    seconds = before + time.perf_counter() - start
    device = (
        torch.cuda.get_device_name()
        if getattr(model, "device", "cpu") != "cpu" and torch.cuda.is_available()
        else "cpu"
    )
    for campaign, config in zip(campaigns, chunk.configs, strict=True):
        if _sound(results.path_of(config, store), config):
            continue  # written before the chunk was cut off among its records
        took = seconds / len(campaigns)
        about = results.manifest(campaign.problem.sources, took, device, spec.threads, fused.wanted(device))
        own = [row for row in rows if (row["replication"], row["method"]) == (campaign.problem.seed, campaign.method)]
        own = [{k: v for k, v in row.items() if k not in ("replication", "method")} for row in own]
        results.write(Record(config, own, [b.tolist() for b in campaign.batches], about), store)
    (store / "checkpoints" / f"{chunk.name}.json").unlink(missing_ok=True)


def _restore(chunk: Chunk, store: Path, campaigns: Sequence[loop.Campaign]) -> tuple[list[loop.Row], float, int]:
    """Put campaigns where the checkpoint left them; return its rows, its seconds and how many stages are done."""
    path = store / "checkpoints" / f"{chunk.name}.json"
    if not _sound(path, chunk.composition):
        return [], 0.0, 0
    checkpoint = results.read(path)
    if campaigns[0].criterion.needs:
        for campaign, picks in zip(campaigns, checkpoint.manifest["picks"], strict=True):
            campaign.batches = [np.array(batch, np.int64) for batch in picks]
    return checkpoint.rows, checkpoint.manifest["seconds"], checkpoint.manifest["done"]


def sweep(spec: Spec, store: Path | str, scheduler: str | None = None, workers: int = 1) -> pd.DataFrame:
    """Run all chunks of a sweep that are not finished, and return the table of what is.

    Args:
        spec: the sweep.
        store: folder of the records; made where it is missing.
        scheduler: None for this machine, "local" for a Dask cluster started here, or the address of yours, whose
            workers must see ``store``.
        workers: processes on this machine.

    Returns:
        The rows of all finished campaigns of the sweep.

    Raises:
        RuntimeError: chunks failed; all others were run, and the message holds the first traceback.
        ForeignRecord: the store holds a record under a name that is another campaign's.
    """
    store = Path(store)
    todo = [chunk for chunk in chunks(spec) if not chunk.finished(store)]
    failures = []
    with tqdm(total=len(todo), desc="chunks", disable=None) as bar:
        for outcome in _outcomes(todo, store, scheduler, as_count(workers, "workers")):
            failures += [outcome] if outcome.startswith("Traceback") else []
            bar.update()
    if failures:
        raise RuntimeError(f"{len(failures)} of {len(todo)} chunks failed; run again to retry them\n{failures[0]}")
    paths = [results.path_of(config, store) for chunk in chunks(spec) for config in chunk.configs]
    return results.table([results.read(path) for path in paths if path.exists()])


def _outcomes(todo: list[Chunk], store: Path, scheduler: str | None, workers: int) -> Iterator[str]:
    if scheduler is not None:
        yield from _on_dask(todo, store, scheduler, workers)
    elif workers == 1:
        yield from (run_chunk(chunk, store) for chunk in todo)
    else:
        import multiprocessing

        # a fork would inherit PyTorch's threads in no usable state
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield from (job.result() for job in as_completed([pool.submit(run_chunk, c, store) for c in todo]))


def _on_dask(todo: list[Chunk], store: Path, scheduler: str, workers: int) -> Iterator[str]:
    from distributed import Client, LocalCluster
    from distributed import as_completed as as_done

    local = scheduler == "local"
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) if local else scheduler
    with Client(cluster) as client:
        yield from (f.result() for f in as_done(client.map(run_chunk, todo, store=store, pure=False, retries=3)))
    if local:
        cluster.close()
