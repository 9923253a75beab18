"""Recorded tables: the records of a store gathered into one compact file and its manifest, which the book loads.

:func:`publish` writes them under ``results/``, :func:`load` reads them, :func:`unpack` turns one into a store again.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import lru_cache
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from macal.campaigns import provenance
from macal.campaigns.provenance import uncommitted
from macal.campaigns.records import (
    CHECKPOINTS,
    SCHEMA,
    DamagedRecord,
    ForeignRecord,
    Record,
    checkpoints,
    is_valid,
    path_of,
    read,
    read_all,
    requested_keys,
    table,
    write,
)
from macal.optional import needed
from macal.registry import nearest
from macal.storage import atomic

FOLDER = Path(__file__).resolve().parents[3] / "results"


class Incomplete(ValueError):
    """A store that lacks campaigns that it was asked for, or distances within labelled sets."""


class Uncommitted(ValueError):
    """Records that were made by code that no commit holds."""


def _check_complete(store: Path, have: set[str]) -> None:
    plans, failed = requested_keys(store), sorted(store.glob("*.failed"))
    wanted = set().union(*plans.values())
    where = [str(path) for path, keys in plans.items() if keys - have] + [str(path) for path in failed]
    if plans and where:
        raise Incomplete(
            f"{store} lacks {len(wanted - have)} of {len(wanted)} campaigns, {len(failed)} chunks have failed, see"
            f" {', '.join(where[:3])}; run the sweep again, delete the files of what is no longer wanted, or publish"
            " what there is by --partial (partial=True)"
        )


def require_committed(dirty: bool = False) -> None:
    """Raise Uncommitted where the code differs from its commit, unless ``dirty``: records could not be published."""
    if provenance.origin()["dirty"] and not dirty:
        raise Uncommitted(
            f"the code in {provenance.PACKAGE.parent} differs from its commit, so that no record would lead back to it;"
            " commit it, or go on by --dirty (dirty=True)"
        )


def checkout(folder: Path = FOLDER) -> Path:
    """Return the folder of the recorded tables; FileNotFoundError where it is the default, and the package has none."""
    if folder == FOLDER and not folder.is_dir():
        raise FileNotFoundError(
            "recorded tables come with the book's repository, not with the package; run this in a clone, or name a"
            " folder"
        )
    return folder


def targets(name: str, folder: Path = FOLDER, replace: bool = False) -> tuple[Path, Path]:
    """Return where a table and its manifest are written, once it is sure that they may be.

    Raises:
        ValueError: a name not of lower-case letters, digits, "_" and "-", or something there that is no plain file.
        FileExistsError: there is such a table, and ``replace`` is not set.
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
        partial: publish a store that lacks campaigns that it was asked for, with the checkpoints of chunks under way.
        dirty: publish records that were made by uncommitted code, see :func:`.provenance.checkout_state`.
        report: is told what a table is replaced by, and how many records uncommitted code has made.

    Raises:
        ValueError: nothing in the store to publish, or a name that does not do.
        Incomplete: the store lacks campaigns (a store of an earlier version does not say) or distances.
        Uncommitted: records say that their code differed from its commit.
        FileExistsError: there is a table of that name, and ``replace`` is not set.
        OSError: a file cannot be read or written.
    """
    path, about = targets(name, folder, replace=True)
    if folder.resolve() == store.resolve():
        raise ValueError(f"a table cannot be published into its own store, {store}; name another folder")
    records, underway = read_all(store), checkpoints(store) if partial else []
    if not records and not underway:
        raise ValueError(f"no record in {store}; run the sweep first")
    if not partial:
        _check_complete(store, {r.key for r in records})
    if any(isnan(row.get("radius", 0)) for r in records for row in r.rows):
        raise Incomplete(f"{store} lacks distances that a bundle leaves out; run: python -m macal complete {store}")
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
    content, described = _encoded(gathered, records, underway)
    # the manifest first: a table is there once its manifest is, and a stop between them shows, for the digests differ
    atomic.write({about: described, path: content})
    return gathered


def _encoded(gathered: pd.DataFrame, records: Iterable[Record], underway: Iterable[Record]) -> tuple[bytes, bytes]:
    """Return a table and its manifest, which holds checkpoints whole, as they are written."""
    with needed("pyarrow", "recorded tables"):
        content = gathered.to_parquet(index=False)
    described = {
        "schema": SCHEMA,
        "table": hashlib.sha256(content).hexdigest(),
        "records": [asdict(r) | {"rows": len(r.rows)} for r in records],
    } | ({CHECKPOINTS: [asdict(c) for c in underway]} if underway else {})
    return content, json.dumps(described, separators=(",", ":")).encode()


class _Shared(list):  # pandas copies a table's attributes with every operation on it, deeply
    def __deepcopy__(self, memo: dict[int, Any]) -> "_Shared":
        return self


def load(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """A published table; ``.attrs["records"]`` holds configuration, picks and manifest of each campaign.

    ``.attrs["checkpoints"]`` holds what was under way, ``.attrs["sha256"]`` the digest of its file.

    Raises:
        FileNotFoundError: nothing of that name was published; see also :func:`checkout`.
        DamagedRecord: the table is not the one that its manifest describes.
        ForeignRecord: another schema.
    """
    path = checkout(folder) / f"{name}.parquet"
    if not path.is_file():
        known = [p.stem for p in folder.glob("*.parquet")]
        raise FileNotFoundError(f"no recorded table {nearest(name, known)}")
    files = path, path.with_suffix(".json")
    return _read(*files, *((s.st_ino, s.st_mtime_ns, s.st_size) for s in (file.stat() for file in files))).copy()


@lru_cache(maxsize=64)  # a ledger reads every table several times
def _read(path: Path, manifest: Path, *versions: tuple[int, ...]) -> pd.DataFrame:
    """Read a table and its manifest; ``versions`` tell the files from others that had these names before."""
    about = json.loads(manifest.read_text(encoding="utf-8"))
    if about["schema"] != SCHEMA:
        raise ForeignRecord(f"{path} has schema {about['schema']!r}, this version reads {SCHEMA}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != about["table"]:
        raise DamagedRecord(f"{path} is not the table that {manifest.name} describes; publish it again")
    with needed("pyarrow", "recorded tables"):
        found = pd.read_parquet(path)
    found.attrs["sha256"] = about["table"]
    found.attrs["records"] = _Shared(about["records"])
    found.attrs[CHECKPOINTS] = _Shared(about.get(CHECKPOINTS, []))
    return found


def unpack(name: str, store: Path, folder: Path = FOLDER) -> int:
    """Put the records of a published table into a store, so that a sweep adds to them; return how many were put.

    Records that are there, and checkpoints as far as the published ones, are left alone. Raises as :func:`load`.
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
    for described in found.attrs[CHECKPOINTS]:
        _restore(Record(**described), store / CHECKPOINTS)
    return count


def _restore(checkpoint: Record, folder: Path) -> None:
    path = path_of(checkpoint.config, folder)
    if not is_valid(path, checkpoint.config, aside=True) or read(path).manifest["done"] < checkpoint.manifest["done"]:
        write(checkpoint, folder)


def cost(found: pd.DataFrame) -> pd.DataFrame:
    """What a loaded table took: campaigns, trainings and wall-clock hours, a row per device and number of threads."""
    rows = [
        (r["manifest"]["device"], r["manifest"]["threads"], 1, r["rows"], r["manifest"]["seconds"] / 3600)
        for r in found.attrs["records"]
    ]
    named = pd.DataFrame(rows, columns=["device", "threads", "campaigns", "trainings", "hours"])
    return named.groupby(["device", "threads"]).sum()


def origins(found: pd.DataFrame) -> pd.DataFrame:
    """Say which code made a loaded table: campaigns and trainings, a row per commit and per whether it was dirty.

    Both are "unknown" where records do not say; see :func:`.provenance.checkout_state`.
    """
    words = {True: "yes", False: "no", None: "unknown"}
    manifests = [(r["manifest"], r["rows"]) for r in found.attrs["records"]]
    rows = [(m.get("commit") or "unknown", words[uncommitted(m) or m.get("dirty")], 1, n) for m, n in manifests]
    named = pd.DataFrame(rows, columns=["commit", "dirty", "campaigns", "trainings"])
    return named.groupby(["commit", "dirty"]).sum()
