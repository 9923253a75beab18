"""A grid of campaigns that survives what machines do: resumable, in one process, in several, or on a Dask cluster.

The unit of work is a *chunk*: campaigns that are trained together, always the same ones with the same number of
threads, so that a chunk that is run again gives the same bits. A chunk writes a checkpoint after each stage and one
record per campaign at its end (:mod:`~macal.campaigns.results`); what has its record is never run again. Two sweeps may
share a store: a chunk is locked while it is run.
"""

import json
import reprlib
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from filelock import FileLock, Timeout
from tqdm import tqdm

from macal import acquisition, datasets, models
from macal.arguments import as_count
from macal.campaigns import atomic, loop, results
from macal.campaigns.results import Record
from macal.campaigns.workers import each
from macal.models import compiled
from macal.registry import Registry, UnknownName


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
        object.__setattr__(self, "replications", _numbers(self.replications, "replications"))
        if self.dataset not in datasets.names():
            raise UnknownName("dataset", self.dataset, datasets.names())
        if self.protocol not in datasets.PROTOCOLS:
            raise UnknownName("protocol", self.protocol, datasets.PROTOCOLS)
        _as_object(self.methods, "methods", '{"macal": {"alpha": 2.5}}')
        if not self.methods or not self.replications:
            raise ValueError("a sweep needs at least one method and one replication, got none")
        if len(set(self.replications)) < len(self.replications) or min(self.replications) < 0:
            raise ValueError(f"replications must be distinct and not negative, got {reprlib.repr(self.replications)}")
        for name in ("every", "block", "stage", "threads"):
            as_count(getattr(self, name), name)
        if self.n_queries is not None:
            as_count(self.n_queries, "n_queries")
        if self.steps is not None:
            object.__setattr__(self, "steps", _numbers(self.steps, "steps"))
            if not self.steps or list(self.steps) != sorted({*self.steps}) or self.steps[0] < 0:
                raise ValueError(f"steps must be rising numbers of queries, 0 or more, got {self.steps}")
        model = self.build_model()
        for method in self.methods:
            loop.check_needs(self.criterion(method), model)

    def criterion(self, method: str) -> acquisition.Criterion:
        """Make the criterion of a method."""
        return _make(acquisition.CRITERIA, self.methods[method], "criterion", method, f"methods[{method!r}]")

    def build_model(self) -> models.Model:
        """Make the model."""
        return _make(models.MODELS, self.model, "name", "exact-gp", "model")

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


def _numbers(values: Any, name: str) -> tuple[int, ...]:
    plain = isinstance(values, Iterable) and not isinstance(values, (str, Mapping))
    found = tuple(values) if plain else ()
    if not plain or any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) for v in found):
        raise ValueError(f"{name} must be a list of whole numbers, say [0, 1, 2], got {reprlib.repr(values)}")
    return tuple(map(int, found))


def _as_object(value: Any, name: str, example: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name} must be an object, say {example}, got {reprlib.repr(value)}")


def _make(registry: Registry, given: Any, key: str, default: str, where: str) -> Any:
    """Make a criterion or a model of what a field of a spec says; ``key`` holds its name."""
    _as_object(given, where, '{"alpha": 2.5}' if key == "criterion" else '{"name": "exact-gp", "steps": 500}')
    name = given.get(key, default)
    if not isinstance(name, str):
        raise ValueError(f"{where}[{key!r}] must be one of the names {', '.join(registry)}; got {name!r}")
    try:
        return registry.make(name, {k: v for k, v in given.items() if k != key})
    except (TypeError, AttributeError) as error:  # a value of another type than the parameter's
        raise ValueError(f"{where} holds a parameter of the wrong type ({error}), got {given!r}") from error


def read_spec(path: Path) -> Spec:
    """Read a spec from a JSON file with its fields; ``results/specs`` of the book's repository holds examples.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not JSON, or no spec; the message names the file and the field.
    """
    known = {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(Spec)}
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # of the encoding too
        raise ValueError(f"{path} is not JSON in UTF-8 ({error}); results/specs holds examples of specs") from error
    try:
        _as_object(given, "a spec", '{"dataset": "toy", "methods": {"macal": {}}, "replications": [0, 1]}')
        for name in given:
            if name not in known:
                raise UnknownName("field", name, known)
        if missing := [name for name, required in known.items() if required and name not in given]:
            raise ValueError(f"a spec needs the fields dataset, methods and replications, got no {', '.join(missing)}")
        return Spec(**given)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


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
        """Whether the store holds a whole record of each campaign; a damaged one counts as none. Changes nothing."""
        return all(_sound(results.path_of(config, store), config) for config in self.configs)


def _sound(path: Path, config: dict[str, Any], aside: bool = False) -> bool:
    """Whether a record is whole; set it ``aside`` where it is not, to be written again."""
    if not path.exists():
        return False
    try:
        results.read(path, json.loads(json.dumps(config)))
    except results.DamagedRecord:
        if aside:
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

    Raises:
        NotADirectoryError: the store is a file.
    """
    _refuse_file(store)
    rows = []
    queries = spec.n_queries or datasets.load(spec.dataset, spec.replications[0], spec.protocol).n_queries
    for chunk in chunks(spec):
        based = spec.criterion(chunk.campaigns[0][1]).needs
        trainings = len(chunk.campaigns) * len(loop.trained(queries, 1 if based else spec.steps or spec.every))
        finished = chunk.finished(store)
        hours = 0.0 if finished else trainings * seconds / 3600
        rows.append((chunk.name, len(chunk.campaigns), trainings, finished, hours))
    return pd.DataFrame(rows, columns=["chunk", "campaigns", "trainings", "finished", "hours"])


def _refuse_file(store: Path) -> None:
    if store.exists() and not store.is_dir():
        raise NotADirectoryError(f"{store} is a file; a store is the folder of the records")


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold a lock that ends with the process, whatever ends the process; False where somebody else has it."""
    lock = FileLock(path, fallback_to_soft=False)  # a lock in software would outlive a process that is killed
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        yield False
        return
    with held:
        path.touch()  # says when the chunk was begun last
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
            trace = traceback.format_exc()
            atomic.write({failure: trace.encode()})
            return trace
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
        if _sound(results.path_of(config, store), config, aside=True):
            continue  # written before the chunk was cut off among its records
        took = seconds / len(campaigns)
        about = results.manifest(campaign.problem.sources, took, device, spec.threads, compiled.wanted(device))
        own = [row for row in rows if (row["replication"], row["method"]) == (campaign.problem.seed, campaign.method)]
        own = [{k: v for k, v in row.items() if k not in ("replication", "method")} for row in own]
        results.write(Record(config, own, [b.tolist() for b in campaign.batches], about), store)
    (store / "checkpoints" / f"{chunk.name}.json").unlink(missing_ok=True)


def _restore(chunk: Chunk, store: Path, campaigns: Sequence[loop.Campaign]) -> tuple[list[loop.Row], float, int]:
    """Put campaigns where the checkpoint left them; return its rows, its seconds and how many stages are done."""
    path = store / "checkpoints" / f"{chunk.name}.json"
    if not _sound(path, chunk.composition, aside=True):
        return [], 0.0, 0
    checkpoint = results.read(path)
    if campaigns[0].criterion.needs:
        for campaign, picks in zip(campaigns, checkpoint.manifest["picks"], strict=True):
            campaign.batches = [np.array(batch, np.int64) for batch in picks]
    return checkpoint.rows, checkpoint.manifest["seconds"], checkpoint.manifest["done"]


class Unfinished(RuntimeError):
    """A sweep that could not finish all its campaigns: chunks failed, or another process still runs some.

    Attributes:
        summary: how many campaigns are finished, and how many another process runs.
        failures: the traceback of each chunk that failed.
    """

    def __init__(self, summary: str, failures: Sequence[str]) -> None:
        """Say the summary and the first traceback."""
        super().__init__("\n".join([summary, *failures[:1]]))
        self.summary, self.failures = summary, failures


def sweep(spec: Spec, store: Path | str, scheduler: str | None = None, workers: int = 1) -> pd.DataFrame:
    """Run all chunks of a sweep that are not finished, and return the table of all.

    Args:
        spec: the sweep.
        store: folder of the records; made where it is missing.
        scheduler: None for this machine, "local" for a Dask cluster started here, or the address of yours, whose
            workers must see ``store``.
        workers: processes on this machine; they end when this one does.

    Returns:
        The rows of all campaigns of the sweep.

    Raises:
        Unfinished: chunks failed, or another process runs them; all that could be run was.
        ForeignRecord: the store holds a record under a name that is another campaign's.
        OSError: the store is a file, or cannot be written.
    """
    store, processes, every = Path(store), as_count(workers, "workers"), chunks(spec)
    _refuse_file(store)
    results.note(asdict(spec), [config for chunk in every for config in chunk.configs], store)
    todo = [chunk for chunk in every if not chunk.finished(store)]
    outcomes = {}
    with tqdm(total=len(todo), desc="chunks", disable=None) as bar:
        for name, outcome in each(partial(_outcome, store=store), todo, processes, scheduler):
            outcomes[name] = outcome
            bar.update()
    _check_finished(spec, [chunk for chunk in todo if not chunk.finished(store)], outcomes)
    paths = [results.path_of(config, store) for chunk in every for config in chunk.configs]
    return results.table([results.read(path) for path in paths])


def _check_finished(spec: Spec, left: Sequence[Chunk], outcomes: Mapping[str, str]) -> None:
    """Raise :class:`Unfinished` where chunks are left, each after its outcome."""
    if not left:
        return
    failures = [outcomes[chunk.name] for chunk in left if outcomes[chunk.name] != "elsewhere"]
    missing = sum(len(chunk.campaigns) for chunk in left)
    elsewhere = sum(len(chunk.campaigns) for chunk in left if outcomes[chunk.name] == "elsewhere")
    total = len(spec.methods) * len(spec.replications)
    advice = f"{len(failures)} of {len(outcomes)} chunks failed, run again to retry them"
    raise Unfinished(
        f"{total - missing} of {total} campaigns are finished, {elsewhere} are run by another process;"
        f" {advice if failures else 'run again when it has ended'}",
        failures,
    )


def _outcome(chunk: Chunk, store: Path) -> tuple[str, str]:
    return chunk.name, run_chunk(chunk, store)
