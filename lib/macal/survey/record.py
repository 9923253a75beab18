"""The file of a campaign: JSON that says what it is, in which version, and whether it is whole."""

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
from macal.survey.file_checks import Damaged
from macal.survey.fingerprints import as_planned, changed, difference, fingerprint
from macal.survey.policy import Policy
from macal.survey.sampling_frame import Columns
from macal.survey.tables.roles import USED, Roles
from macal.survey.tables.sample import FirstPhase, Sample

FORMAT, VERSION = "macal campaign", 2
WAIT = 60.0  # seconds for whoever else writes a file
_SAMPLE: Mapping[str, Any] = {
    "columns": Mapping[str, Mapping[str, Any]],
    "chances": Sequence[float],
    "cells": Sequence[int],
    "rows": int,
    "roles": Mapping[str, Any],
}
_COLUMN: Mapping[str, Any] = {"type": str, "values": Sequence[Any]}
_TYPES = ("int", "uint", "float", "bool", "datetime", "category", "str")  # of a sample's columns; others are objects
_UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)  # what a wrong sample may end in


class Stale(ValueError):
    """A campaign that is older than its file."""


def checksum(content: dict[str, Any]) -> str:
    """SHA-256 of what JSON can hold, written in one way."""
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
    """Write a campaign to its file, and others before it, all or none; return it with its new revision.

    Args:
        campaign: with a plan.
        path: of its file.
        others: by path.
        may: raises where the files may not be written; it is asked once nobody else writes there.

    Raises:
        OSError: a file cannot be written, or somebody else has been writing it for a minute.
        Stale: the file has another revision than the campaign had when it was read.
        ValueError: see :func:`content_of`.
    """
    atomic.check(path)
    content, place = content_of(campaign), atomic.real(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic.alone(place.parent, WAIT) as held:
        if not held:
            raise TimeoutError(f"{path} is being written by another process for more than {WAIT:g} seconds; try again")
        may()
        there = _revision(place, campaign.revision)
        if campaign.revision not in (0, there):
            raise Stale(
                f"{path} has been written since it was read (revision {there}, read {campaign.revision}); nothing of it"
                " was replaced: load it again, and repeat the step"
            )
        new = campaign.evolve(revision=there + 1)
        atomic.write_step({**(others or {}), path: packed(content | {"revision": new.revision})})
    return new


def _revision(path: Path, before: int) -> int:
    """Revision of a campaign's file, which whoever replaces it continues; ``before`` where there is no file."""
    if not path.exists():
        return before
    try:
        return read(path)["revision"]
    except Damaged:
        if before:
            raise
        return 0


def read(path: Path) -> dict[str, Any]:
    """Read and verify a campaign's file; nothing in it is ever run.

    Raises:
        OSError: there is no such file, or it cannot be read.
        Damaged: the file is no campaign, of a version that is not known here, or not as it was written.
    """
    try:
        whole = json.loads(path.read_bytes(), parse_constant=_no_number)
        content = whole.get("content") if isinstance(whole, dict) else None
        found = checksum(content) if isinstance(content, dict) else None
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path} is no campaign: it is not JSON ({error}); take an earlier copy of it") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise Damaged(f"{path} is no campaign: its format is not {FORMAT!r}")
    version = whole.get("version")
    if version != VERSION:
        way = "update macal" if file_checks.fits(version, int) and version > VERSION else "take another copy of it"
        raise Damaged(f"{path} has version {version!r}, and macal reads {VERSION}; {way}")
    if found is None or whole.get("sha256") != found:
        raise Damaged(f"{path} is not as it was written: its checksum differs; take an earlier copy of it")
    file_checks.check_fields(content)
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def name_of(unit: Any) -> str | int | None:
    """The name of a unit, None for nobody, as JSON can hold it.

    Raises:
        ValueError: neither text nor a whole number.
    """
    unit = unit.item() if isinstance(unit, np.generic) else unit
    if isinstance(unit, bool) or not isinstance(unit, (str, int, NoneType)):
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
    """The campaign of a file's content.

    Args:
        content: see :func:`content_of`.
        table: that it was planned on, its rows and columns in any order, with others or without columns that the
            plan does not use; a campaign that was planned on a sample holds that.

    Raises:
        Damaged: a field is missing, unknown, or cannot be; it names which.
        ValueError: another table, or one without the columns that the campaign names.
    """
    file_checks.check_fields(content)
    is_sample = content["sample"] is not None
    if table is None and not is_sample:
        raise ValueError("the campaign holds no sample: it needs the table that it was planned on")
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
    """Check that the table is as it was, by its fingerprint, and has the columns that the policy names."""
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
        raise file_checks.damaged(f"field 'policy' names a column {lacking[0]!r}, which the table does not have")


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
    return [None if pd.isna(v) else v for v in column.tolist()]


def _sample_of(content: Mapping[str, Any]) -> Sample:
    """A sample from the content of a campaign's file, every field checked; without the second one."""
    file_checks.as_hinted("sample", content, _SAMPLE, _SAMPLE)
    for name, column in content["columns"].items():
        file_checks.as_hinted(f"column {name!r} of sample", column, _COLUMN, _COLUMN)
    roles, n = file_checks.parse_dataclass(Roles, content["roles"], "roles"), len(content["chances"])
    lengths = {len(column["values"]) for column in content["columns"].values()} | {len(content["cells"])}
    if lengths != {n} or not n or content["rows"] < n:
        raise file_checks.damaged("fields 'columns', 'chances', 'cells' and 'rows' of sample are not of one sample")
    if not all(0 < chance <= 1 for chance in content["chances"]) or min(content["cells"]) < -1:
        raise file_checks.damaged("field 'chances' or 'cells' of sample holds what it cannot")
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
