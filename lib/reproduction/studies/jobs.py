"""Studies as lists of jobs: a job answers configurations by one piece of work, and is never done twice."""

import json
import time
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from macal import datasets, models
from macal.campaigns import provenance, records
from macal.campaigns.evaluation import Row
from macal.campaigns.records import Record
from macal.datasets import real
from macal.storage import atomic


class Estimators(UserDict[str, Any]):
    """Models by what a study calls them, made from their settings when asked for: pages read names without a model."""

    def __getitem__(self, called: str) -> models.Model:
        return models.get(**self.data[called])


class Answer(NamedTuple):
    """What a job found for one of its configurations.

    Attributes:
        rows: one dictionary per training or labelled set.
        picks: the batches, in the order in which they were bought; none where the study buys nothing.
        seconds: that it took; its share of the job's by default.
    """

    rows: list[Row]
    picks: Sequence[Sequence[int]] = ()
    seconds: float | None = None


@dataclass(frozen=True)
class Job:
    """Work that is done in one go.

    Attributes:
        configs: what it answers, a record each: JSON values, ``dataset`` and ``protocol`` among them; a data set
            without loader is drawn by the study.
        work: returns an answer to each, in their order.
        model: that is trained, whose device the manifest names; None where it is a processor's work.
        sources: returns raw files and their SHA-256, where the study draws data from them; a data set names its own.
    """

    configs: Sequence[dict[str, Any]]
    work: Callable[[], Sequence[Answer]]
    model: object = None
    sources: Callable[[], Mapping[str, str]] = dict

    def finished(self, store: Path) -> bool:
        """Whether the store holds a whole record of each configuration; a damaged one counts as none."""
        return all(records.is_valid(records.path_of(config, store), config) for config in self.configs)


def on_table(study: str, table: str, rows: Callable[[], list[Row]], **about: Any) -> Job:
    """Make the job of a study on a real table, which returns rows; ``about`` tells it from others on the table."""
    config = {"dataset": "tables", "protocol": "paper", "study": study, "table": table, **about}
    return Job([config], lambda: [Answer(rows())], sources=lambda: real.people(table).sources)


def run(jobs: Iterable[Job], store: Path, report: Callable[[str], Any] = print, at_most: int | None = None) -> None:
    """Run the jobs that are not finished, one after the other, and write their records; run again to go on.

    A job that another process runs is left to it.

    Args:
        jobs: of a study.
        store: folder of the records; made where it is missing.
        report: is told what was run.
        at_most: jobs to run now; all by default.

    Raises:
        ForeignRecord: a file of the store bears the name of a record that it is not.
    """
    store.mkdir(parents=True, exist_ok=True)
    provenance.origin()  # of the code as it is now, not at the end
    todo = [job for job in jobs if not job.finished(store)]
    for job in todo[:at_most]:
        with atomic.locked(store / f".{Record(job.configs[0], [], []).key}.lock") as mine:
            if mine and not job.finished(store):
                report(_play(job, store))


def _play(job: Job, store: Path) -> str:
    """Do a job and write its records; return what to tell of it."""
    import torch  # here, since pages read the catalogue without a model

    start = time.perf_counter()
    answers = job.work()
    took = time.perf_counter() - start
    for config, answer in zip(job.configs, answers, strict=True):
        seconds = took / len(answers) if answer.seconds is None else answer.seconds
        drawn = config["dataset"] not in datasets.names()
        sources = job.sources() if drawn else datasets.load(config["dataset"], 0, config["protocol"]).sources
        device = provenance.device_of(job.model)
        about = provenance.manifest(sources, seconds, device, torch.get_num_threads())
        picks = [list(map(int, batch)) for batch in answer.picks]
        records.write_if_missing(Record(json.loads(json.dumps(config)), answer.rows, picks, about), store)
    told = ", ".join(f"{k} {v}" for k, v in job.configs[0].items() if isinstance(v, (str, int, float)))
    return f"{told}{' and more' * (len(answers) > 1)}: {took:.0f} s"
