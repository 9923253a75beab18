"""Recorded campaigns: one file each, written whole or not at all, and read only if it is what it says it is.

A record is a file of two lines of JSON: the schema and the SHA-256 of the second line, which holds the configuration it
answers, its rows (one per training), its picks and a manifest. Nothing but the standard library is needed to write one,
so that a bare machine can run a sweep. :func:`publish` gathers records into the compact tables under ``results/`` that
the book loads by :func:`load`.
"""

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from macal.registry import nearest

SCHEMA = 1
FOLDER = Path(__file__).resolve().parents[2] / "results"


class DamagedRecord(ValueError):
    """A file that is no record, is cut short, or was changed after it was written."""


class ForeignRecord(ValueError):
    """A whole record of another schema, or of another configuration than the one asked for."""


@dataclass(frozen=True)
class Record:
    """One campaign as it was run.

    Attributes:
        config: what was asked for: data set, protocol, replication, method, parameters, model; JSON values alone.
        rows: one dictionary per training.
        picks: the batches, in the order in which they were bought.
        manifest: where, when and with what it was run.
    """

    config: dict[str, Any]
    rows: list[dict[str, Any]]
    picks: list[list[int]]
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Short digest of the configuration; the record's name in a store."""
        return _sha256(json.dumps(self.config, sort_keys=True))[:16]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def manifest(
    sources: Mapping[str, str], seconds: float, device: str, threads: int, compiled: bool = False
) -> dict[str, Any]:
    """Say where a record comes from.

    Args:
        sources: raw files and their SHA-256.
        seconds: that the campaign took.
        device: "cpu", or the name of the GPU.
        threads: of PyTorch.
        compiled: whether training steps were, by ``torch.compile``.
    """
    package = Path(__file__).parent
    code = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        code.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    packages = {name: metadata.version(name) for name in ("numpy", "scipy", "torch", "gpytorch", "pandas")}
    machine = {
        "device": device,
        "threads": threads,
        "compiled": compiled,
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    return {"code": code.hexdigest(), "packages": packages, "sources": dict(sources), "seconds": seconds, **machine}


def path_of(config: dict[str, Any], folder: Path) -> Path:
    """Where ``folder`` keeps the record that answers this configuration."""
    return folder / f"{Record(config, [], []).key}.json"


def write(record: Record, folder: Path) -> Path:
    """Write a record into ``folder`` under its key: to a temporary file, flushed to the disk, then renamed.

    Raises:
        OSError: the folder cannot be written, or the disk is full; an older record of the same key is left as it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(record.config, folder)
    content = json.dumps(asdict(record))
    text = json.dumps({"schema": SCHEMA, "sha256": _sha256(content)}) + "\n" + content
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    return path


def read(path: Path, config: Mapping[str, Any] | None = None) -> Record:
    """Read a record and check it.

    Args:
        path: the file.
        config: the configuration it must answer; any by default.

    Raises:
        DamagedRecord: the file is no record, is cut short, or was changed.
        ForeignRecord: another schema, or another configuration.
    """
    try:
        head, content = path.read_text(encoding="utf-8").split("\n")
        head = json.loads(head)
        schema, stated = head["schema"], head["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedRecord(f"{path} is not a whole record ({error}); delete it, and it is run again") from error
    if schema != SCHEMA:
        raise ForeignRecord(
            f"{path} has schema {schema!r}, this version reads {SCHEMA}; run it again, or read it with its own version"
        )
    if _sha256(content) != stated:
        raise DamagedRecord(f"{path} was changed after it was written; delete it, and it is run again")
    record = Record(**json.loads(content))
    if config is not None and record.config != dict(config):
        wrong = [k for k in sorted({*record.config, *config}) if record.config.get(k) != config.get(k)]
        raise ForeignRecord(f"{path} answers another configuration: {', '.join(wrong)} differ")
    return record


def read_all(folder: Path) -> list[Record]:
    """All records of a folder, by name; files that are no records by their name are left alone.

    Raises:
        DamagedRecord: see :func:`read`.
        ForeignRecord: see :func:`read`, or a file that bears another record's name.
    """
    records = []
    for path in sorted(folder.glob("[!.]*.json")):
        records.append(read(path))
        if path.stem != records[-1].key:
            raise ForeignRecord(f"{path} holds the record {records[-1].key}; it was renamed")
    return records


def table(records: Iterable[Record]) -> pd.DataFrame:
    """One row per training, the configuration's plain values repeated in front.

    Raises:
        ForeignRecord: records of different data sets, protocols or models, which must not stand in one table.
    """
    records = list(records)
    for name in ("dataset", "protocol", "model"):
        found = {json.dumps(r.config.get(name), sort_keys=True) for r in records}
        if len(found) > 1:
            raise ForeignRecord(f"records of different {name}s cannot stand in one table: {', '.join(sorted(found))}")
    plain = lambda config: {k: v for k, v in config.items() if isinstance(v, (str, int, float))}  # noqa: E731
    return pd.DataFrame([plain(r.config) | row for r in records for row in r.rows])


def publish(store: Path, name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """Gather the records of a store into ``<name>.parquet`` and ``<name>.json``, its manifest with the picks.

    Raises:
        ValueError: no record in the store.
    """
    records = read_all(store)
    if not records:
        raise ValueError(f"no record in {store}; run the sweep first")
    gathered = table(records)
    folder.mkdir(parents=True, exist_ok=True)
    gathered.to_parquet(folder / f"{name}.parquet", index=False)
    content = (folder / f"{name}.parquet").read_bytes()
    about = {
        "schema": SCHEMA,
        "table": hashlib.sha256(content).hexdigest(),
        "records": [asdict(r) | {"rows": len(r.rows)} for r in records],
    }
    (folder / f"{name}.json").write_text(json.dumps(about, separators=(",", ":")), encoding="utf-8")
    return gathered


class _Shared(list):  # pandas copies a table's attributes with every operation on it, deeply
    def __deepcopy__(self, memo: dict[int, Any]) -> "_Shared":
        return self


def load(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """A published table; ``.attrs["records"]`` holds configuration, picks and manifest of each campaign.

    Raises:
        FileNotFoundError: nothing of that name was published.
        DamagedRecord: the table is not the one that its manifest describes.
        ForeignRecord: another schema.
    """
    path = folder / f"{name}.parquet"
    if not path.is_file():
        known = [p.stem for p in folder.glob("*.parquet")]
        raise FileNotFoundError(f"no recorded table {nearest(name, known)}")
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    if about["schema"] != SCHEMA:
        raise ForeignRecord(f"{path} has schema {about['schema']!r}, this version reads {SCHEMA}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != about["table"]:
        raise DamagedRecord(f"{path} is not the table that {name}.json describes; publish it again")
    found = pd.read_parquet(path)
    found.attrs["records"] = _Shared(about["records"])
    return found


def cost(found: pd.DataFrame) -> pd.DataFrame:
    """What a loaded table took: campaigns, trainings and hours, a row per device and number of threads.

    Hours are wall-clock, on machines that may have been shared; an upper bound of what an idle one needs.
    """
    rows = [
        (r["manifest"]["device"], r["manifest"]["threads"], 1, r["rows"], r["manifest"]["seconds"] / 3600)
        for r in found.attrs["records"]
    ]
    named = pd.DataFrame(rows, columns=["device", "threads", "campaigns", "trainings", "hours"])
    return named.groupby(["device", "threads"]).sum()
