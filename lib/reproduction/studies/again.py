"""Trainings of recorded campaigns again, under the code as it is now: how far do old records still hold?

Of the records that were led back to a commit by their code's digest (:mod:`macal.campaigns.history`), a share of each
table is drawn, and one training of each. The criterion buys its labels again where it needs no model; the model is
fitted again to the labels that the record bought, alone, where the record's was trained in a batch.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
import torch

from macal import acquisition, datasets, metrics, models
from macal.campaigns import evaluation, provenance, results
from macal.campaigns.campaign import begin
from macal.campaigns.history import BY_DIGEST
from macal.campaigns.records import Record
from macal.storage import atomic
from reproduction.studies import tables

FILE = results.FOLDER / "again.csv"
MODELS = {"due": "deep kernel", "exact-gp": "exact GP", "meta-learner": "meta-learner"}
PAIR = ["key", "step"]


class Training(NamedTuple):
    """A recorded training that is to be run again.

    Attributes:
        table: that holds it.
        record: the campaign: configuration, picks, manifest.
        row: the training's.
    """

    table: str
    record: dict[str, Any]
    row: dict[str, Any]

    @property
    def key(self) -> str:
        """The record's name in a store."""
        return Record(self.record["config"], [], []).key


def _to_draw(record: dict[str, Any]) -> bool:
    """Whether a record was led back by its digest, and trains a model that takes seconds: no network of images."""
    model = record["config"].get("model")
    return record["manifest"].get("commit_by") == BY_DIGEST and bool(model) and model.get("encoder") != "cnn"


def drawn(names: Iterable[str], share: float, seed: int) -> list[Training]:
    """Draw a share of the records of each table, at least one, and one training of each.

    Args:
        names: of recorded tables.
        share: of the records that may be drawn, in (0, 1].
        seed: of the draw; that of one table does not move that of another.

    Raises:
        ValueError: a share out of range.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be in (0, 1], got {share!r}; 0.1 draws a tenth")
    found = []
    for name in names:
        table, rng = tables.load(name), np.random.default_rng([seed, crc32(name.encode())])
        records = table.attrs["records"]
        begins = np.cumsum([0, *(record["rows"] for record in records)])
        may = [k for k, record in enumerate(records) if _to_draw(record)]
        for k in sorted(rng.choice(may, int(np.ceil(share * len(may))), replace=False)) if may else ():
            rows = table.iloc[begins[k] : begins[k + 1]]
            found.append(Training(name, records[k], rows.iloc[rng.integers(len(rows))].to_dict()))
    return found


def bought_again(training: Training) -> float:
    """Units among a training's labels that its criterion does not buy again; NaN where a model has to choose."""
    config, step = training.record["config"], int(training.row["step"])
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in config["criterion"].items()}  # JSON has no tuples
    criterion = acquisition.get(given.pop("name"), **given)
    if criterion.needs:
        return float("nan")
    problem = datasets.load(config["dataset"], config["replication"], config["protocol"])
    if not step:
        return 0.0
    campaign = begin(problem, criterion, n_queries=step)
    campaign.plan()
    return float(len({*campaign.labelled()} - {*problem.labelled(_batches(training))}))


def _batches(training: Training) -> list[np.ndarray]:
    return [np.array(batch, np.int64) for batch in training.record["picks"][: int(training.row["step"])]]


def trained_again(training: Training) -> float:
    """PEHE of the training's model, fitted again to the labels that the record bought."""
    config = training.record["config"]
    problem = datasets.load(config["dataset"], config["replication"], config["protocol"])
    model = models.get(**config["model"])
    (fitted,) = evaluation.train(model, [(problem, problem.labelled(_batches(training)))])
    return metrics.pehe(fitted.predict(problem.test.x).tau, problem.test.tau)


def run(trainings: Sequence[Training], file: Path = FILE, report: Callable[[str], Any] = print) -> pd.DataFrame:
    """Run trainings again that a file does not hold, and write each as it ends, so that a run that is cut off goes on.

    Returns:
        The file: ``table``, ``key`` (of the record), ``replication``, ``method``, ``step``, ``labelled``, ``model``,
        ``recorded`` and ``again`` (PEHE), ``other labels`` (see :func:`bought_again`), ``seconds``, ``code`` (the
        package's digest now).

    Raises:
        OSError: the file cannot be written.
    """
    found = pd.read_csv(file) if file.is_file() else pd.DataFrame(columns=PAIR)
    have = set(map(tuple, found[PAIR].to_numpy()))
    for training in trainings:
        config, row, start = training.record["config"], training.row, time.perf_counter()
        pair = (training.key, int(row["step"]))
        if pair in have:
            continue
        torch.set_num_threads(config["threads"])
        about = {"table": training.table, "key": pair[0], "replication": config["replication"]}
        about |= {"method": config["method"], "step": pair[1], "labelled": int(row["labelled"])}
        about |= {"model": MODELS[config["model"]["name"]], "recorded": row["pehe"]}
        about |= {"again": trained_again(training), "other labels": bought_again(training)}
        about |= {"seconds": round(time.perf_counter() - start, 2), "code": provenance.origin()["code"]}
        found = pd.concat([found, pd.DataFrame([about])], ignore_index=True) if len(found) else pd.DataFrame([about])
        atomic.write({file: found.to_csv(index=False).encode()})
        report(f"{training.table} {config['method']} {config['replication']}: {row['pehe']:.6g}, {about['again']:.6g}")
    return found


def agreement(found: pd.DataFrame) -> pd.DataFrame:
    """Say how far trainings that were run again agree with their records.

    Args:
        found: columns of :func:`run`.

    Returns:
        A row per model: ``records``, ``median`` and ``largest`` relative deviation of PEHE, ``mean log ratio`` of the
        new PEHE to the recorded one, ``plans`` that were bought again and, of those, ``equal plans``.
    """
    deviation = (found["again"] / found["recorded"] - 1).abs()
    told = found.assign(deviation=deviation, ratio=np.log(found["again"] / found["recorded"]))
    told = told.assign(equal=(told["other labels"] == 0).astype(int))
    return told.groupby("model").agg(
        **{
            "records": ("key", "nunique"),
            "median": ("deviation", "median"),
            "largest": ("deviation", "max"),
            "mean log ratio": ("ratio", "mean"),
            "plans": ("other labels", "count"),
            "equal plans": ("equal", "sum"),
        }
    )
