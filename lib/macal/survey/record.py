"""The file of a campaign: JSON with format, version and checksum."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from macal.campaigns import provenance
from macal.campaigns.records import sha256
from macal.storage import atomic
from macal.survey import file_checks
from macal.survey.campaign import CampaignState
from macal.survey.columns import Columns
from macal.survey.file_checks import Damaged
from macal.survey.fingerprints import as_planned, changed, difference, fingerprint
from macal.survey.policy import Policy
from macal.survey.tables.roles import USED, Roles
from macal.survey.tables.sample import FirstPhase, Sample

FORMAT, VERSION = "macal campaign", 2
WAIT = 60.0  # seconds to wait for another writer
_SAMPLE: Mapping[str, Any] = {
    "columns": Mapping[str, Mapping[str, Any]],
    "chances": Sequence[float],
    "cells": Sequence[int],
    "rows": int,
    "roles": Mapping[str, Any],
}
_COLUMN: Mapping[str, Any] = {"type": str, "values": Sequence[Any]}
_TYPES = ("int", "uint", "float", "bool", "datetime", "category", "str")  # of a sample's columns; others are objects
_UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)  # errors of an invalid sample


class Stale(ValueError):
    """A campaign older than its file."""


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of content as canonical JSON."""
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def packed(content: dict[str, Any]) -> bytes:
    """Return the bytes of a campaign's file: its content, and the SHA-256 of that as canonical JSON."""
    whole = {"format": FORMAT, "version": VERSION, "sha256": checksum(content), "content": content}
    return (json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def saved(
    campaign: CampaignState,
    path: Path,
    others: Mapping[Path, bytes] | None = None,
    may: Callable[[], None] = lambda: None,
) -> CampaignState:
    """Write a campaign and other files, all or none; return it with its new revision.

    Args:
        campaign: with a plan.
        path: path of its file.
        others: content of other files, by path.
        may: raises if the files may not be written; called once the folder is locked.

    Raises:
        OSError: a file cannot be written, or another process writes it for a minute.
        Stale: the file's revision has changed since it was read.
        ValueError: see :func:`content_of`.
    """
    atomic.check(path)
    content, place = content_of(campaign), atomic.real(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic.alone(place.parent, WAIT) as held:
        if not held:
            raise TimeoutError(f"another process has been writing {path} for more than {WAIT:g} seconds; try again")
        may()
        there = _revision(place, campaign.revision)
        if campaign.revision not in (0, there):
            raise Stale(
                f"{path} has changed since it was read (revision {there}, read {campaign.revision}) and was not"
                " replaced; load it again and repeat the step"
            )
        new = campaign.evolve(revision=there + 1)
        atomic.write_step({**(others or {}), path: packed(content | {"revision": new.revision})})
    return new


def _revision(path: Path, before: int) -> int:
    """Return the revision of a campaign's file; ``before`` if there is none."""
    if not path.exists():
        return before
    try:
        return read(path)["revision"]
    except Damaged:
        if before:
            raise
        return 0


def read(path: Path) -> dict[str, Any]:
    """Read and verify a campaign's file; nothing in it is executed.

    Raises:
        OSError: the file cannot be read.
        Damaged: no campaign, an unknown version, or a changed file.
    """
    try:
        whole = json.loads(path.read_bytes(), parse_constant=_no_number)
        content = whole.get("content") if isinstance(whole, dict) else None
        found = checksum(content) if isinstance(content, dict) else None
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path} is not a campaign: it is not JSON ({error}); use an earlier copy") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise Damaged(
            f"{path} is not a campaign: its format is not {FORMAT!r}; give the file that plan --campaign wrote"
        )
    version = whole.get("version")
    if version != VERSION:
        way = "update macal" if file_checks.fits(version, int) and version > VERSION else "use another copy"
        raise Damaged(f"{path} has version {version!r}, and macal reads {VERSION}; {way}")
    if found is None or whole.get("sha256") != found:
        raise Damaged(f"{path} has been changed: its checksum differs; use an earlier copy")
    file_checks.check_fields(content)
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def name_of(unit: Any) -> str | int | None:
    """Return the name of a unit, or None, for JSON.

    Raises:
        ValueError: neither text nor a whole number.
    """
    unit = unit.item() if isinstance(unit, np.generic) else unit
    if isinstance(unit, bool) or not isinstance(unit, (str, int, NoneType)):
        raise ValueError(f"a unit's name must be text or a whole number to be stored, got {unit!r}; rename the units")
    return unit


def content_of(campaign: CampaignState) -> dict[str, Any]:
    """Return the content of a campaign's file: settings, plan, answers, and the table's fingerprint.

    Raises:
        ValueError: nothing is planned yet, or a unit's name is neither text nor a whole number.
    """
    rows = campaign.planned.rename_axis("unit").reset_index()
    rows = {c: [None if v is None or v != v else v for v in values.tolist()] for c, values in rows.items()}
    if "reserve" in rows:
        rows["reserve"] = [name_of(name) for name in rows["reserve"]]
    return {
        "columns": asdict(campaign.columns),
        "policy": asdict(campaign.policy),
        "table": fingerprint(campaign),
        "plan": rows | {"unit": [name_of(unit) for unit in rows["unit"]]},
        "answers": _pairs(campaign.answers),
        "asked": campaign.asked,
        "told in": campaign.outcome_column,
        "searched": campaign.searched,
        "told since": campaign.changed_since_plan,
        "revision": campaign.revision,
        "journal": [asdict(one) | {"name": name_of(one.name)} for one in campaign.journal],
        "sample": _sample_content(campaign.table) if campaign.is_sample else None,
        "audit": asdict(campaign.audit) if campaign.audit else None,
        "outcomes": {one: _pairs(told) for one, told in campaign.by_outcome.items()},
        "made by": provenance.origin() | provenance.versions("numpy", "pandas", "scipy", "torch"),
    }


def campaign_of(content: dict[str, Any], table: Any) -> CampaignState:
    """Return the campaign from a file's content.

    Args:
        content: see :func:`content_of`.
        table: the table that it was planned on; the order of rows and columns, and unused columns, do not matter. None
            for a campaign that holds its sample.

    Raises:
        Damaged: a field is missing, unknown or invalid.
        ValueError: another table, or one without needed columns.
    """
    file_checks.check_fields(content)
    is_sample = content["sample"] is not None
    if table is None and not is_sample:
        raise ValueError("the campaign was not planned on a sample; give the table that it was planned on")
    table = _sample_of(content["sample"]) if is_sample else as_planned(table, content["table"])
    columns = file_checks.parse_dataclass(Columns, content["columns"], "columns")
    campaign = CampaignState(
        columns, file_checks.parse_dataclass(Policy, content["policy"], "policy"), table, asked=content["asked"]
    )
    _check_table(campaign, content)
    campaign = campaign.evolve(
        plan=file_checks.plan_of(content["plan"], campaign),
        answers=file_checks.answers_of(content["answers"], campaign),
        audit=file_checks.audit_of(content["audit"]),
        journal=file_checks.journal_of(content["journal"], campaign),
        revision=content["revision"],
        outcome_column=content["told in"],
        searched=content["searched"],
        changed_since_plan=content["told since"],
    )
    file_checks.check_asked(campaign)
    told = {one: file_checks.answers_of(answers, campaign) for one, answers in content["outcomes"].items()}
    if told and campaign.with_told(told).answers != campaign.answers:
        raise file_checks.damaged("fields 'answers' and 'outcomes' are not of one campaign")
    return campaign.with_told(told) if told else campaign


def _pairs(answers: Mapping[Any, float | None]) -> list[list[Any]]:
    return [[name_of(unit), outcome] for unit, outcome in answers.items()]


def _check_table(campaign: CampaignState, content: Mapping[str, Any]) -> None:
    """Check the table's fingerprint and the columns that the policy names."""
    try:
        found = difference(campaign, content["table"], content["plan"].get("unit", ()))
    except _UNREADABLE as error:
        if campaign.is_sample:
            raise file_checks.damaged(f"field 'sample' or 'columns' is wrong ({error})") from error
        raise
    if found and campaign.is_sample:
        raise file_checks.damaged("field 'table' is not of the sample")
    if found:
        raise changed(found)
    named = [*(quota.column for quota in campaign.policy.parsed), *filter(None, [campaign.policy.by])]
    if lacking := [name for name in named if name not in campaign.people.table]:
        raise file_checks.damaged(f"field 'policy' names a column {lacking[0]!r} that the table lacks")


def _sample_content(sample: Sample) -> dict[str, Any]:
    """Return a first-phase sample as content of a file."""
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
    return [None if pd.isna(v) else v for v in column.tolist()]


def _sample_of(content: Mapping[str, Any]) -> Sample:
    """Return a first-phase sample from a file's content, every field checked; without audit sample."""
    file_checks.as_hinted("sample", content, _SAMPLE, _SAMPLE)
    for name, column in content["columns"].items():
        file_checks.as_hinted(f"column {name!r} of sample", column, _COLUMN, _COLUMN)
    roles, n = file_checks.parse_dataclass(Roles, content["roles"], "roles"), len(content["chances"])
    lengths = {len(column["values"]) for column in content["columns"].values()} | {len(content["cells"])}
    if lengths != {n} or not n or content["rows"] < n:
        raise file_checks.damaged("fields 'columns', 'chances', 'cells' and 'rows' of sample are not of one sample")
    if not all(0 < chance <= 1 for chance in content["chances"]) or min(content["cells"]) < -1:
        raise file_checks.damaged("field 'chances' or 'cells' of sample holds an invalid value")
    if not set(roles.kinds) <= set(content["columns"]) or not set(roles.kinds.values()) <= set(USED):
        raise file_checks.damaged("field 'kinds' of roles is not of the sample")
    try:
        kinds = {c: v["type"] if v["type"].startswith(_TYPES) else "object" for c, v in content["columns"].items()}
        columns = {c: pd.Series(v["values"], dtype=kinds[c]) for c, v in content["columns"].items()}
        table = pd.DataFrame(columns).set_index(next(iter(columns)))
    except _UNREADABLE as error:
        raise file_checks.damaged(f"field 'columns' of sample is wrong ({error})") from error
    phase = FirstPhase(np.array(content["chances"]), np.array(content["cells"], np.int64), content["rows"])
    return Sample(table, table[:0], phase, roles)
