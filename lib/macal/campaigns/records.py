"""Records of campaigns: one file each, written whole or not at all, and read only if it is what it says it is.

A record is a file of two lines of JSON: the schema and the SHA-256 of the second line, which holds the configuration it
answers, its rows (one per training), its picks and a manifest. A folder of records is a *store*, whose ``specs/`` say
what it was asked for.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from macal.storage import atomic

SCHEMA = 1
CHECKPOINTS = "checkpoints"  # folder of a store


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
        return sha256(json.dumps(self.config, sort_keys=True))[:16]


def sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def path_of(config: dict[str, Any], folder: Path) -> Path:
    """Where ``folder`` keeps the record that answers this configuration."""
    return folder / f"{Record(config, [], []).key}.json"


def write(record: Record, folder: Path) -> Path:
    """Write a record into ``folder`` under its key, whole or not at all; OSError leaves an older one as it was."""
    path = path_of(record.config, folder)
    content = json.dumps(asdict(record))
    head = json.dumps({"schema": SCHEMA, "sha256": sha256(content)})
    atomic.write({path: f"{head}\n{content}".encode()})
    return path


def read(path: Path, config: Mapping[str, Any] | None = None) -> Record:
    """Read a record and check it, and that it answers ``config`` where that is given.

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
    if sha256(content) != stated:
        raise DamagedRecord(f"{path} was changed after it was written; delete it, and it is run again")
    record = Record(**json.loads(content))
    if config is not None and record.config != dict(config):
        wrong = [k for k in sorted({*record.config, *config}) if record.config.get(k) != config.get(k)]
        raise ForeignRecord(f"{path} answers another configuration: {', '.join(wrong)} differ")
    return record


def is_valid(path: Path, config: Mapping[str, Any], aside: bool = False) -> bool:
    """Whether a file is a whole record of this configuration; set it ``aside`` where it is damaged, to be written anew.

    ForeignRecord where it is a whole record of another schema or configuration.
    """
    if not path.exists():
        return False
    try:
        read(path, json.loads(json.dumps(config)))
    except DamagedRecord:
        if aside:
            path.replace(path.with_suffix(".damaged"))
        return False
    return True


def write_if_missing(record: Record, folder: Path) -> None:
    """Write a record unless a whole one is there: work that is cut off among its records writes only the others."""
    if not is_valid(path_of(record.config, folder), record.config, aside=True):
        write(record, folder)


def read_all(folder: Path) -> list[Record]:
    """All records of a folder, by name; files that are no records by their name are left alone.

    Raises:
        FileNotFoundError: no such folder.
        DamagedRecord: see :func:`read`.
        ForeignRecord: see :func:`read`, or a file that bears another record's name.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} to read records from")
    records = []
    for path in sorted(folder.glob("[!.]*.json")):
        if not re.fullmatch("[0-9a-f]{16}", path.stem):
            raise ForeignRecord(f"{path} is no record; name a store, a folder that a sweep has filled")
        records.append(read(path))
        if path.stem != records[-1].key:
            raise ForeignRecord(f"{path} holds the record {records[-1].key}; it was renamed")
    return records


def checkpoints(store: Path) -> list[Record]:
    """Checkpoints of chunks that are not finished; damaged ones are left out, another schema raises ForeignRecord."""
    found = []
    for path in sorted((store / CHECKPOINTS).glob("[!.]*.json")):
        with suppress(DamagedRecord, FileNotFoundError):  # a chunk that ends meanwhile takes its own away
            found.append(read(path))
    return [c for c in found if not all(path_of(config, store).is_file() for config in c.config["chunk"])]


def table(records: Iterable[Record]) -> pd.DataFrame:
    """One row per training, the configuration's plain values repeated in front.

    ForeignRecord for records of different data sets, protocols or models, which must not stand in one table.
    """
    records = list(records)
    for name in ("dataset", "protocol", "model"):
        found = {json.dumps(r.config.get(name), sort_keys=True) for r in records}
        if len(found) > 1:
            raise ForeignRecord(f"records of different {name}s cannot stand in one table: {', '.join(sorted(found))}")
    plain = lambda config: {k: v for k, v in config.items() if isinstance(v, (str, int, float))}  # noqa: E731
    return pd.DataFrame([plain(r.config) | row for r in records for row in r.rows])


def write_request(request: Mapping[str, Any], configs: Iterable[dict[str, Any]], store: Path) -> None:
    """Leave in ``specs/`` of a store what it was asked for, JSON values, and the keys of all its campaigns."""
    campaigns = [Record(config, [], []).key for config in configs]
    content = json.dumps({"asked": dict(request), "campaigns": campaigns}, indent=1)
    path = store / "specs" / f"{sha256(content)[:16]}.json"
    if not path.is_file():
        atomic.write({path: content.encode()})


def requested_keys(store: Path) -> dict[Path, set[str]]:
    """Keys of the campaigns that a store was asked for, by the file of :func:`note` that says so; or DamagedRecord."""
    found = {}
    for path in sorted((store / "specs").glob("[!.]*.json")):
        try:
            found[path] = set(json.loads(path.read_text(encoding="utf-8"))["campaigns"])
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedRecord(f"{path} does not say what was asked for; delete it and run the sweep again") from error
    return found
