"""A grid of campaigns that survives what machines do: resumable, in one process, in several, or on a Dask cluster.

The unit of work is a *chunk*: campaigns that are trained together, always the same ones with the same number of
threads, so that a chunk that is run again gives the same bits. It writes a checkpoint after each stage and one record
per campaign at its end (:mod:`~macal.campaigns.records`), and is locked while it is run.
"""

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from macal import datasets
from macal.arguments import Count, hinted
from macal.campaigns import loop, provenance, records
from macal.campaigns.records import Record
from macal.campaigns.spec import Spec, read_spec
from macal.storage import atomic
from macal.storage.workers import each
from macal.threads import use_torch_threads

__all__ = ["Chunk", "Spec", "Unfinished", "register_request", "chunks", "listing", "read_spec", "run_chunk", "sweep"]


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
        free = not self.spec.criterion(self.campaigns[0][1]).is_adaptive
        return {"chunk": self.configs} | ({"stage": self.spec.stage} if free else {})

    def finished(self, store: Path) -> bool:
        """Whether the store holds a whole record of each campaign; a damaged one counts as none. Changes nothing."""
        return all(records.is_valid(records.path_of(config, store), config) for config in self.configs)


def chunks(spec: Spec) -> list[Chunk]:
    """Divide a sweep: label-free methods by replication, model-based ones by block of replications."""
    free = [name for name in spec.methods if not spec.criterion(name).is_adaptive]
    based = [name for name in spec.methods if name not in free]
    groups = [[name] for name in based] if spec.apart else [based]
    blocks = [spec.replications[k : k + spec.block] for k in range(0, len(spec.replications), spec.block)]
    found = []
    for block in blocks:
        found += [Chunk(spec, tuple((r, m) for m in free)) for r in block if free]
        found += [Chunk(spec, tuple((r, m) for r in block for m in group)) for group in groups if group]
    return found


def listing(spec: Spec, store: Path, seconds: float = 1.0) -> pd.DataFrame:
    """List the chunks of a sweep without running any: ``campaigns``, ``trainings``, ``finished``, ``hours`` to run.

    ``seconds`` is what one training takes. NotADirectoryError where the store is a file.
    """
    _refuse_file(store)
    rows = []
    queries = spec.n_queries or datasets.DATASETS[spec.dataset].queries
    if not queries:
        queries = datasets.load(spec.dataset, spec.replications[0], spec.protocol).n_queries
    for chunk in chunks(spec):
        based = spec.criterion(chunk.campaigns[0][1]).is_adaptive
        trainings = len(chunk.campaigns) * len(loop.training_steps(queries, 1 if based else spec.steps or spec.every))
        finished = chunk.finished(store)
        hours = 0.0 if finished else trainings * seconds / 3600
        rows.append((chunk.name, len(chunk.campaigns), trainings, finished, hours))
    return pd.DataFrame(rows, columns=["chunk", "campaigns", "trainings", "finished", "hours"])


def _refuse_file(store: Path) -> None:
    if store.exists() and not store.is_dir():
        raise NotADirectoryError(f"{store} is a file; a store is the folder of the records")


def run_chunk(chunk: Chunk, store: Path) -> str:
    """Run a chunk, from its checkpoint if there is one, and write its records.

    Returns:
        "done", "finished before", "elsewhere" (another process runs it), or the traceback, kept in ``<name>.failed``.
    """
    store.mkdir(parents=True, exist_ok=True)
    failure = store / f"{chunk.name}.failed"
    with atomic.locked(store / f".{chunk.name}.lock") as mine:
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
    use_torch_threads(chunk.spec.threads)
    spec, model, start = chunk.spec, chunk.spec.build_model(), time.perf_counter()
    problems = {r: datasets.load(spec.dataset, r, spec.protocol) for r, _ in chunk.campaigns}
    campaigns = [loop.begin(problems[r], spec.criterion(m), m, n_queries=spec.n_queries) for r, m in chunk.campaigns]
    rows, before, done, origins = _restore(chunk, store, campaigns)
    for stage in loop.stages(campaigns, model, spec.steps or spec.every, spec.stage, done):
        rows, done = rows + stage, done + 1
        picks = [[batch.tolist() for batch in c.batches] for c in campaigns]
        seconds = before + time.perf_counter() - start
        about = {"done": done, "seconds": seconds, "picks": picks, "origins": origins}
        records.write(Record(chunk.composition, rows, [], about), store / records.CHECKPOINTS)
    seconds = before + time.perf_counter() - start
    device = provenance.device_of(model)
    for campaign, config in zip(campaigns, chunk.configs, strict=True):
        took = seconds / len(campaigns)
        about = provenance.manifest(campaign.problem.sources, took, device, spec.threads, origins)
        own = [row for row in rows if (row["replication"], row["method"]) == (campaign.problem.seed, campaign.method)]
        own = [{k: v for k, v in row.items() if k not in ("replication", "method")} for row in own]
        records.write_if_missing(Record(config, own, [b.tolist() for b in campaign.batches], about), store)
    (store / records.CHECKPOINTS / f"{chunk.name}.json").unlink(missing_ok=True)


def _restore(
    chunk: Chunk, store: Path, campaigns: Sequence[loop.Campaign]
) -> tuple[list[loop.Row], float, int, list[dict[str, Any]]]:
    """Put campaigns where the checkpoint left them: its rows, seconds, stages done, origins of all code so far."""
    path, own = store / records.CHECKPOINTS / f"{chunk.name}.json", provenance.origin()
    if not records.is_valid(path, chunk.composition, aside=True):
        return [], 0.0, 0, [own]
    checkpoint = records.read(path)
    about = checkpoint.manifest
    if campaigns[0].criterion.is_adaptive:
        for campaign, picks in zip(campaigns, about["picks"], strict=True):
            campaign.batches = [np.array(batch, np.int64) for batch in picks]
    before = about.get("origins", [provenance.UNKNOWN])
    return checkpoint.rows, about["seconds"], about["done"], before if own in before else [*before, own]


class Unfinished(RuntimeError):
    """A sweep that could not finish all its campaigns: chunks failed, or another process still runs some.

    Attributes:
        summary: how many campaigns are finished, and how many another process runs.
        failures: the traceback of each chunk that failed.
    """

    def __init__(self, summary: str, failures: Sequence[str]) -> None:
        super().__init__("\n".join([summary, *failures[:1]]))
        self.summary, self.failures = summary, failures


def register_request(spec: Spec, store: Path) -> None:
    """Leave in a store what a sweep asks for, see :func:`.records.note`; running it does so too."""
    records.write_request(asdict(spec), [config for chunk in chunks(spec) for config in chunk.configs], store)


@hinted
def sweep(
    spec: Spec, store: Path | str, scheduler: str | None = None, workers: Count = 1, at_most: Count | None = None
) -> pd.DataFrame:
    """Run all chunks of a sweep that are not finished, and return the table of all, the rows of all campaigns.

    Args:
        spec: the sweep.
        store: folder of the records; made where it is missing.
        scheduler: None for this machine, "local" for a Dask cluster started here, or one that sees ``store``.
        workers: processes on this machine; they end when this one does.
        at_most: chunks to run now; all by default.

    Raises:
        Unfinished: chunks failed, another process runs them, or they are more than ``at_most``; all others are run.
        ForeignRecord: the store holds a record under a name that is another campaign's.
        OSError: the store is a file, or cannot be written.
    """
    store, every = Path(store), chunks(spec)
    _refuse_file(store)
    register_request(spec, store)
    todo = [chunk for chunk in every if not chunk.finished(store)]
    now = todo[:at_most]
    outcomes = {}
    with tqdm(total=len(now), desc="chunks", disable=None) as bar:
        for name, outcome in each(partial(_outcome, store=store), now, workers, scheduler):
            outcomes[name] = outcome
            bar.update()
    _check_finished(spec, [chunk for chunk in todo if not chunk.finished(store)], outcomes)
    paths = [records.path_of(config, store) for chunk in every for config in chunk.configs]
    return records.table([records.read(path) for path in paths])


def _check_finished(spec: Spec, left: Sequence[Chunk], outcomes: Mapping[str, str]) -> None:
    """Raise :class:`Unfinished` where chunks are left, each after its outcome or not begun."""
    if not left:
        return
    told = [outcomes.get(chunk.name, "not begun") for chunk in left]
    failures = [outcome for outcome in told if outcome not in ("elsewhere", "not begun")]
    missing = sum(len(chunk.campaigns) for chunk in left)
    elsewhere = sum(len(chunk.campaigns) for chunk, outcome in zip(left, told, strict=True) if outcome == "elsewhere")
    total = len(spec.methods) * len(spec.replications)
    advice = "run again to go on" if "not begun" in told else "run again when it has ended"
    if failures:
        advice = f"{len(failures)} of {len(outcomes)} chunks failed, run again to retry them"
    raise Unfinished(
        f"{total - missing} of {total} campaigns are finished, {elsewhere} are run by another process; {advice}",
        failures,
    )


def _outcome(chunk: Chunk, store: Path) -> tuple[str, str]:
    return chunk.name, run_chunk(chunk, store)
