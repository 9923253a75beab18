"""Recorded campaigns: one file each, written whole or not at all, and read only if it is what it says it is.

A record is a file of two lines of JSON: the schema and the SHA-256 of the second line, which holds the configuration it
answers, its rows (one per training), its picks and a manifest. Nothing but the standard library is needed to write one,
so that a bare machine can run a sweep. :func:`publish` gathers records into the compact tables under ``results/`` that
the book loads by :func:`load`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from macal.campaigns import atomic, provenance
from macal.campaigns.provenance import uncommitted
from macal.optional import needed
from macal.registry import nearest

SCHEMA = 1
FOLDER = Path(__file__).resolve().parents[3] / "results"


class DamagedRecord(ValueError):
    """A file that is no record, is cut short, or was changed after it was written."""


class ForeignRecord(ValueError):
    """A whole record of another schema, or of another configuration than the one asked for."""


class Incomplete(ValueError):
    """A store that lacks campaigns that it was asked for."""


class Uncommitted(ValueError):
    """Records that were made by code that no commit holds."""


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


def path_of(config: dict[str, Any], folder: Path) -> Path:
    """Where ``folder`` keeps the record that answers this configuration."""
    return folder / f"{Record(config, [], []).key}.json"


def write(record: Record, folder: Path) -> Path:
    """Write a record into ``folder`` under its key, whole or not at all.

    Raises:
        OSError: the folder cannot be written, or the disk is full; an older record of the same key is left as it was.
    """
    path = path_of(record.config, folder)
    content = json.dumps(asdict(record))
    head = json.dumps({"schema": SCHEMA, "sha256": _sha256(content)})
    atomic.write({path: f"{head}\n{content}".encode()})
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
        FileNotFoundError: no such folder.
        DamagedRecord: see :func:`read`.
        ForeignRecord: see :func:`read`, or a file that bears another record's name.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} to read records from")
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


def note(request: Mapping[str, Any], configs: Iterable[dict[str, Any]], store: Path) -> None:
    """Leave in ``specs/`` of a store what it was asked for, by which :func:`publish` knows whether it is complete.

    Args:
        request: the sweep or study, JSON values alone.
        configs: of all its campaigns.
        store: folder of the records.
    """
    campaigns = [Record(config, [], []).key for config in configs]
    content = json.dumps({"asked": dict(request), "campaigns": campaigns}, indent=1)
    path = store / "specs" / f"{_sha256(content)[:16]}.json"
    if not path.is_file():
        atomic.write({path: content.encode()})


def asked(store: Path) -> dict[Path, set[str]]:
    """Keys of the campaigns that a store was asked for, by the file that says so; see :func:`note`.

    Raises:
        DamagedRecord: a file that is not what :func:`note` writes.
    """
    found = {}
    for path in sorted((store / "specs").glob("[!.]*.json")):
        try:
            found[path] = set(json.loads(path.read_text(encoding="utf-8"))["campaigns"])
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedRecord(f"{path} does not say what was asked for; delete it and run the sweep again") from error
    return found


def _check_complete(store: Path, have: set[str]) -> None:
    plans, failed = asked(store), sorted(store.glob("*.failed"))
    wanted = set().union(*plans.values())
    where = [str(path) for path, keys in plans.items() if keys - have] + [str(path) for path in failed]
    if plans and where:
        raise Incomplete(
            f"{store} lacks {len(wanted - have)} of {len(wanted)} campaigns, {len(failed)} chunks have failed, see"
            f" {', '.join(where[:3])}; run the sweep again, delete the files of what is no longer wanted, or publish"
            " what there is by --partial (partial=True)"
        )


def require_committed(dirty: bool = False) -> None:
    """Refuse to begin what could not be published: records by code that differs from its commit.

    Raises:
        Uncommitted: it does, and ``dirty`` is not set.
    """
    if provenance.origin()["dirty"] and not dirty:
        raise Uncommitted(
            f"the code in {provenance.PACKAGE.parent} differs from its commit, so that no record would lead back to it;"
            " commit it, or go on by --dirty (dirty=True)"
        )


def checkout(folder: Path = FOLDER) -> Path:
    """Return the folder of the recorded tables.

    Raises:
        FileNotFoundError: it is that of the book's repository, by default, and the package is installed without it.
    """
    if folder == FOLDER and not folder.is_dir():
        raise FileNotFoundError(
            "recorded tables come with the book's repository, not with the package; run this in a clone, or name a"
            " folder"
        )
    return folder


def targets(name: str, folder: Path = FOLDER, replace: bool = False) -> tuple[Path, Path]:
    """Return where a table and its manifest are written, once it is sure that they may be.

    Args:
        name: of the table: lower-case letters, digits, "_" and "-".
        folder: of the tables.
        replace: whether there may be a table of that name.

    Raises:
        ValueError: another character in the name, or something in the place that is no plain file.
        FileExistsError: there is such a table, and it is not to be replaced.
        FileNotFoundError: see :func:`checkout`.
    """
    if not re.fullmatch("[a-z0-9_-]+", name):
        raise ValueError(f"a table's name must be of lower-case letters, digits, '_' and '-', got {name!r}")
    paths = checkout(folder) / f"{name}.parquet", folder / f"{name}.json"
    for path in paths:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise ValueError(f"{path} is a link or a folder, which no table replaces; choose another name")
        if path.exists() and not replace:
            raise FileExistsError(f"{path} exists; choose another name, or replace it by --replace (replace=True)")
    return paths


def _change(manifest: Path, records: Iterable[Record]) -> str:
    """Say what becomes of the campaigns of a table that is replaced."""
    new = {r.key: len(r.rows) for r in records}
    now = f"{len(new)} campaigns with {sum(new.values())} trainings"
    try:
        described = json.loads(manifest.read_text(encoding="utf-8"))["records"]
        old = {Record(r["config"], [], []).key: r["rows"] for r in described}
        before = f"{len(old)} campaigns with {sum(old.values())} trainings"
    except (OSError, ValueError, KeyError, TypeError):
        return f"a table that cannot be read by {now}"
    added, kept, dropped = len(new.keys() - old.keys()), len(new.keys() & old.keys()), len(old.keys() - new.keys())
    lost = ", which the new table lacks" if dropped else ""
    return f"{before} by {now}: {added} added, {kept} kept, {dropped} dropped{lost}"


def publish(
    store: Path,
    name: str,
    folder: Path = FOLDER,
    *,
    replace: bool = False,
    partial: bool = False,
    dirty: bool = False,
    report: Callable[[str], Any] = print,
) -> pd.DataFrame:
    """Gather the records of a store into ``<name>.parquet`` and ``<name>.json``, its manifest with the picks.

    Args:
        store: folder of the records.
        name: of the table: lower-case letters, digits, "_" and "-".
        folder: of the tables.
        replace: replace a table of that name.
        partial: publish a store that lacks campaigns that it was asked for.
        dirty: publish records that were made by uncommitted code, see :func:`.provenance.checkout_state`.
        report: is told what a table is replaced by, and how many records uncommitted code has made.

    Raises:
        ValueError: no record in the store, or a name that does not do.
        Incomplete: the store lacks campaigns; a store of an earlier version does not say.
        Uncommitted: records say that their code differed from its commit; those of an earlier version do not say.
        FileExistsError: there is a table of that name, and ``replace`` is not set.
        OSError: a file cannot be read or written.
    """
    path, about = targets(name, folder, replace=True)
    if folder.resolve() == store.resolve():
        raise ValueError(f"a table cannot be published into its own store, {store}; name another folder")
    records = read_all(store)
    if not records:
        raise ValueError(f"no record in {store}; run the sweep first")
    if not partial:
        _check_complete(store, {r.key for r in records})
    changed = [f"{r.key}.json" for r in records if uncommitted(r.manifest)]
    found = f"{len(changed)} of {len(records)} campaigns were made by code that differs from its commit"
    if changed and not dirty:
        raise Uncommitted(
            f"{found}: {', '.join(changed[:3])}{' and more' * (len(changed) > 3)} in {store}; commit the code, delete"
            " them and run them again, or publish them as they are by --dirty (dirty=True)"
        )
    gathered = table(records)
    if path.exists() or about.exists():
        change = _change(about, records)
        if not replace:
            raise FileExistsError(f"{path} exists; --replace (replace=True) would replace {change}")
        report(f"{name}: replacing {change}")
    if changed:
        report(f"{name}: {found}")
    content, described = _encoded(gathered, records)
    # the manifest first: a table is there once its manifest is, and a stop between them shows, for the digests differ
    atomic.write({about: described, path: content})
    return gathered


def _encoded(gathered: pd.DataFrame, records: Iterable[Record]) -> tuple[bytes, bytes]:
    """Return a table and its manifest as they are written."""
    with needed("pyarrow", "recorded tables"):
        content = gathered.to_parquet(index=False)
    described = {
        "schema": SCHEMA,
        "table": hashlib.sha256(content).hexdigest(),
        "records": [asdict(r) | {"rows": len(r.rows)} for r in records],
    }
    return content, json.dumps(described, separators=(",", ":")).encode()


class _Shared(list):  # pandas copies a table's attributes with every operation on it, deeply
    def __deepcopy__(self, memo: dict[int, Any]) -> "_Shared":
        return self


def load(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """A published table; ``.attrs["records"]`` holds configuration, picks and manifest of each campaign.

    Raises:
        FileNotFoundError: nothing of that name was published; see also :func:`checkout`.
        DamagedRecord: the table is not the one that its manifest describes.
        ForeignRecord: another schema.
    """
    path = checkout(folder) / f"{name}.parquet"
    if not path.is_file():
        known = [p.stem for p in folder.glob("*.parquet")]
        raise FileNotFoundError(f"no recorded table {nearest(name, known)}")
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    if about["schema"] != SCHEMA:
        raise ForeignRecord(f"{path} has schema {about['schema']!r}, this version reads {SCHEMA}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != about["table"]:
        raise DamagedRecord(f"{path} is not the table that {name}.json describes; publish it again")
    with needed("pyarrow", "recorded tables"):
        found = pd.read_parquet(path)
    found.attrs["records"] = _Shared(about["records"])
    return found


def unpack(name: str, store: Path, folder: Path = FOLDER) -> int:
    """Put the records of a published table into a store, so that a sweep adds to them; return how many were put.

    A record that the store holds already is left alone.

    Args:
        name: of the table.
        store: folder of the records; made where it is missing.
        folder: of the tables.

    Raises:
        FileNotFoundError: see :func:`load`.
        DamagedRecord: see :func:`load`.
        ForeignRecord: see :func:`load`.
        OSError: the store cannot be written.
    """
    found, begin, count = load(name, folder), 0, 0
    for described in found.attrs["records"]:
        rows = found.iloc[begin : begin + described["rows"]]
        begin += described["rows"]
        own = rows[[c for c in found.columns if c not in described["config"]]].to_dict("records")
        record = Record(**described | {"rows": own})
        if not path_of(record.config, store).exists():
            write(record, store)
            count += 1
    return count


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


def origins(found: pd.DataFrame) -> pd.DataFrame:
    """Say which code made a loaded table: campaigns and trainings, a row per commit and per whether it was dirty.

    Both are None for records of code outside a checkout, and of versions that did not say; see
    :func:`.provenance.checkout_state`.
    """
    rows = [
        (r["manifest"].get("commit"), uncommitted(r["manifest"]) or r["manifest"].get("dirty"), 1, r["rows"])
        for r in found.attrs["records"]
    ]
    named = pd.DataFrame(rows, columns=["commit", "dirty", "campaigns", "trainings"])
    return named.groupby(["commit", "dirty"], dropna=False).sum()
