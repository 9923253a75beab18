"""The file of a campaign: JSON that says what it is, in which version, and whether it is whole."""

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal.acquisition import DEFAULT
from macal.campaigns import provenance
from macal.campaigns.records import sha256
from macal.planner.audit import Audit
from macal.planner.campaign import CampaignState, Correction
from macal.planner.people import Columns
from macal.planner.policy import Policy
from macal.storage import atomic
from macal.tables.roles import Roles
from macal.tables.sample import Phase, Sample

FORMAT, VERSION = "macal campaign", 1
LEARNED = "alc-learned"  # a criterion of earlier files
WAIT = 60.0  # seconds for whoever else writes a file


class Damaged(ValueError):
    """A file that is no campaign, or not as it was written."""


class Stale(ValueError):
    """A campaign that is older than its file."""


def _checksum(content: dict[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def packed(content: dict[str, Any]) -> bytes:
    """Return the bytes of a campaign's file: its content, and the SHA-256 of that as canonical JSON."""
    whole = {"format": FORMAT, "version": VERSION, "sha256": _checksum(content), "content": content}
    return (json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def saved(campaign: CampaignState, path: Path, others: Mapping[Path, bytes] | None = None) -> CampaignState:
    """Write a campaign to its file, and others with it, all or none; return it with its new revision.

    Args:
        campaign: with a plan.
        path: of its file.
        others: by path.

    Raises:
        OSError: a file cannot be written, or somebody else has been writing it for a minute.
        Stale: the file has another revision than the campaign had when it was read.
        ValueError: see :func:`content_of`.
    """
    new = campaign.but(revision=campaign.revision + 1)
    content = packed(content_of(new))
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic.alone(path.parent, WAIT) as held:
        if not held:
            raise TimeoutError(f"{path} is being written by another process for more than {WAIT:g} seconds; try again")
        if path.exists() and campaign.revision and (there := read(path).get("revision", 0)) != campaign.revision:
            raise Stale(
                f"{path} has been written since it was read (revision {there}, read {campaign.revision}); nothing of it"
                " was replaced: load it again, and repeat the step"
            )
        atomic.write({path: content, **(others or {})})
    return new


def read(path: Path) -> dict[str, Any]:
    """Read and verify a campaign's file; nothing in it is ever run.

    Raises:
        OSError: there is no such file, or it cannot be read.
        Damaged: the file is no campaign, of a version that is not known here, or not as it was written.
    """
    try:
        whole = json.loads(path.read_bytes())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Damaged(f"{path} is no campaign: it is not JSON ({error}); take an earlier copy of it") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise Damaged(f"{path} is no campaign: its format is not {FORMAT!r}")
    if whole.get("version") != VERSION:
        raise Damaged(f"{path} has version {whole.get('version')!r}, and this package reads {VERSION}; update it")
    if not isinstance(whole.get("content"), dict) or whole.get("sha256") != _checksum(whole["content"]):
        raise Damaged(f"{path} is not as it was written: its checksum differs; take an earlier copy of it")
    return whole["content"]


def fingerprint(table: pd.DataFrame) -> str:
    """SHA-256 of a table, its index and its columns; the order of the rows does not count."""
    rows = np.sort(pd.util.hash_pandas_object(table, index=True).to_numpy(np.uint64))
    names = json.dumps([str(table.index.name), *map(str, table.columns)])
    return hashlib.sha256(names.encode() + rows.astype("<u8").tobytes()).hexdigest()


def name_of(unit: Any) -> str | int:
    """The name of a unit as JSON can hold it.

    Raises:
        ValueError: neither text nor a whole number.
    """
    unit = unit.item() if isinstance(unit, np.generic) else unit
    if isinstance(unit, bool) or not isinstance(unit, (str, int)):
        raise ValueError(f"a unit's name must be text or a whole number to be kept in a file, got {unit!r}")
    return unit


def content_of(campaign: CampaignState) -> dict[str, Any]:
    """What the file of a campaign holds: its settings, the plan, the answers; of the table a fingerprint.

    Raises:
        ValueError: nothing is planned yet, or a unit's name is neither text nor a whole number.
    """
    rows = campaign.planned.rename_axis("unit").reset_index()
    rows = {c: [None if v is None or v != v else v for v in values.tolist()] for c, values in rows.items()}
    if "reserve" in rows:
        rows["reserve"] = [name if name is None else name_of(name) for name in rows["reserve"]]
    return {
        "columns": asdict(campaign.columns),
        "policy": asdict(campaign.policy),
        "table": fingerprint(campaign.people.table),
        "plan": rows | {"unit": [name_of(unit) for unit in rows["unit"]]},
        "answers": [[name_of(unit), outcome] for unit, outcome in campaign.answers.items()],
        "asked": campaign.asked,
        "told in": campaign.told_in,
        "searched": campaign.searched,
        "told since": campaign.told_since,
        "revision": campaign.revision,
        "journal": [asdict(one) | {"name": name_of(one.name)} for one in campaign.journal],
        "sample": _sample_content(campaign.table) if campaign.is_sample else None,
        "audit": asdict(campaign.audit) if campaign.audit else None,
        "made by": provenance.origin() | provenance.versions("numpy", "pandas", "scipy", "torch"),
    }


def campaign_of(content: dict[str, Any], table: Any) -> CampaignState:
    """The campaign of a file's content.

    Args:
        content: see :func:`content_of`.
        table: that it was planned on, in any order of its rows; a campaign that was planned on a sample holds that.

    Raises:
        Damaged: the content lacks a field, or has one that this package does not know.
        ValueError: another table.
    """
    try:
        return _campaign_of(content, table)
    except (KeyError, TypeError) as error:
        raise Damaged(
            f"the campaign's file lacks a field, or has an unknown one ({error}); take an earlier copy of it"
        ) from error


def _campaign_of(content: dict[str, Any], table: Any) -> CampaignState:
    table = _sample_of(content["sample"]) if content.get("sample") else table
    columns, policy = Columns(**content["columns"]), _policy_of(content["policy"])
    campaign = CampaignState(columns, policy, table, asked=content["asked"])
    if (now := fingerprint(campaign.people.table)) != content["table"]:
        raise ValueError(
            f"the table has changed since the campaign was planned: its fingerprint was {content['table'][:12]} and is"
            f" {now[:12]}; take the table as it was, and give answers to observe"
        )
    plan = {c: pd.Series(v, dtype=object if c == "reserve" else None) for c, v in content["plan"].items()}
    planned = pd.DataFrame(plan).set_index("unit").rename_axis(campaign.people.table.index.name)
    audit = Audit(**content["audit"]) if content.get("audit") else None
    journal = tuple(Correction(**one) for one in content.get("journal", []))
    later = {"revision": content.get("revision", 0), "journal": journal, "told_in": content.get("told in")}
    later["searched"] = content.get("searched")
    later["told_since"] = content.get("told since", bool(content["answers"]))
    return campaign.but(plan=planned, answers=dict(content["answers"]), audit=audit, **later)


@cache  # a command reads its file twice
def _tell_of_learned() -> None:
    warnings.warn(f"{LEARNED!r} is no longer a rule: new rounds go by {DEFAULT!r}", stacklevel=4)


def _policy_of(settings: dict[str, Any]) -> Policy:
    """The settings; rounds that learned, which are no longer planned, go on by the default rule."""
    if settings["criterion"] == LEARNED:
        if settings["draw"] is None:  # a draw stands as it was drawn
            _tell_of_learned()
        kept = {name: value for name, value in settings["parameters"].items() if name != "threshold"}
        settings = settings | {"criterion": DEFAULT, "parameters": kept}
    return Policy(**settings)


def _sample_content(sample: Sample) -> dict[str, Any]:
    """A sample as a campaign's file holds it."""
    table, phase = sample.table.reset_index(), sample.phase
    return {
        "columns": {str(c): {"type": str(v.dtype), "values": _plain(v)} for c, v in table.items()},
        "chances": phase.chances.tolist(),
        "cells": phase.cells.tolist(),
        "rows": phase.rows,
        "roles": asdict(sample.roles),
    }


def _plain(column: pd.Series) -> list[Any]:
    if column.dtype.kind not in "iufb":
        column = column.astype(object).map(lambda v: v if isinstance(v, (bool, int, float)) else str(v), "ignore")
    return [None if v is None or v != v else v for v in column.tolist()]


def _sample_of(content: dict[str, Any]) -> Sample:
    """A sample from the content of a campaign's file; without the second one."""
    columns = {c: pd.Series(v["values"], dtype=_type(v["type"])) for c, v in content["columns"].items()}
    table = pd.DataFrame(columns).set_index(next(iter(columns)))
    phase = Phase(np.array(content["chances"]), np.array(content["cells"], np.int64), content["rows"])
    return Sample(table, table[:0], phase, Roles(**content["roles"]))


def _type(name: str) -> str:
    return name if name.startswith(("int", "uint", "float", "bool", "datetime", "category", "str")) else "object"
