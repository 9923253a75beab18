"""Checks of every field of a campaign's file, which anyone may have written."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_type_hints

import numpy as np
import pandas as pd

from macal.arguments import fits, short
from macal.survey import fingerprints
from macal.survey.audit import Audit
from macal.survey.campaign import NEVER, CampaignState, Correction

RecordType = TypeVar("RecordType")
NAME = str | int  # name of a unit
_MIN_WEIGHT = 1 - 1e-9
_FIELDS: Mapping[str, Any] = {
    "columns": Mapping[str, Any],
    "policy": Mapping[str, Any],
    "table": Mapping[str, Any],
    "plan": Mapping[str, Sequence[Any]],
    "answers": Sequence[Sequence[Any]],
    "asked": int,
    "told in": str | None,
    "searched": int | None,
    "told since": bool,
    "revision": int,
    "journal": Sequence[Mapping[str, Any]],
    "sample": Mapping[str, Any] | None,
    "audit": Mapping[str, Any] | None,
    "outcomes": Mapping[str, Sequence[Sequence[Any]]],
    "made by": Mapping[str, Any],
}


class Damaged(ValueError):
    """A file that is not a campaign, or has been changed."""


def damaged(what: str) -> Damaged:
    """Return the error for a changed file."""
    return Damaged(f"the campaign's file has been changed: {what}; use an earlier copy")


def as_hinted(where: str, content: Mapping[str, Any], hints: Mapping[str, Any], needed: Collection[str] = ()) -> None:
    """Check fields by type hints.

    Args:
        where: parent of the fields, for errors; empty for the file.
        content: the fields.
        hints: type hints of all possible fields.
        needed: required fields.

    Raises:
        Damaged: a field is invalid, unknown or missing.
    """
    of = f" of {where}" * bool(where)
    for name, value in content.items():
        if name not in hints:
            raise damaged(f"field {name!r}{of} is unknown")
        if not fits(value, hints[name]):
            raise damaged(f"field {name!r}{of} cannot be {short(value)}")
    if lacking := [name for name in needed if name not in content]:
        raise damaged(f"field {lacking[0]!r}{of} is missing")


def parse_dataclass(kind: type[RecordType], content: Mapping[str, Any], where: str) -> RecordType:
    """Return a dataclass from its fields, checked by their hints and by itself.

    Raises:
        Damaged: a field is invalid.
    """
    as_hinted(where, content, get_type_hints(kind, include_extras=True))
    try:
        return kind(**content)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged(f"field {where!r} is wrong ({error})") from error


def check_fields(content: Mapping[str, Any]) -> None:
    """Check fields, types and ranges of a campaign's content.

    Raises:
        Damaged: a field is invalid.
    """
    as_hinted("", content, _FIELDS, _FIELDS)
    for name, least in (("asked", 0), ("revision", 0), ("searched", 1)):
        value = content[name]
        if value is not None and value < least:
            raise damaged(f"field {name!r} must be at least {least}, got {value}")
    as_hinted("table", content["table"], fingerprints.FIELDS, fingerprints.FIELDS)


def plan_of(content: Mapping[str, Sequence[Any]], campaign: CampaignState) -> pd.DataFrame:
    """Return the plan of a campaign's file, by the units' names.

    Args:
        content: a list per column.
        campaign: with its table, columns and policy.

    Raises:
        Damaged: a column is missing, unknown, of another length, or holds an invalid value.
    """
    people, treatment = campaign.people, campaign.columns.treatment
    hints = {"unit": NAME, "round": int, treatment: Any, "cost": float}
    hints |= {"response": float, "reserve": NAME | None} if campaign.is_uncertain else {}
    if campaign.policy.is_drawn:
        hints |= {"weight": float} | ({"reserve_weight": float} if campaign.is_uncertain else {})
    as_hinted("plan", content, {name: Sequence[hint] for name, hint in hints.items()}, hints)
    for name, values in content.items():
        if len(values) != len(content["unit"]):
            raise damaged(f"column {name!r} of the plan holds {len(values)} values for {len(content['unit'])} people")
    units = _places(campaign, content["unit"], "column 'unit' of the plan")
    plan = {c: pd.Series(v, dtype=object if c == "reserve" else None) for c, v in content.items()}
    _each("round", plan["round"], plan["round"] >= 1)
    arms = pd.Index(people.arms)[people.problem.pool.t[units]].tolist()
    _each(treatment, plan[treatment], [one == arm for one, arm in zip(content[treatment], arms, strict=True)])
    _each("cost", plan["cost"], plan["cost"] == people.cost[units])
    if "weight" in plan:
        _each("weight", plan["weight"], plan["weight"] >= _MIN_WEIGHT)
    if "response" in plan:
        _each("response", plan["response"], plan["response"] == people.response[units])
        _places(campaign, plan["reserve"].dropna(), "column 'reserve' of the plan")
    if "reserve_weight" in plan:
        weight, none = plan["reserve_weight"], plan["reserve"].isna()
        _each("reserve_weight", weight, np.where(none, weight == 0, weight >= _MIN_WEIGHT))
    return pd.DataFrame(plan).set_index("unit").rename_axis(people.table.index.name)


def _each(name: str, values: pd.Series, right: Any) -> None:
    wrong = values[~np.asarray(right, bool)]
    if len(wrong):
        raise damaged(f"column {name!r} of the plan cannot hold {short(wrong.iloc[0])} in row {wrong.index[0] + 1}")


def answers_of(content: Sequence[Sequence[Any]], campaign: CampaignState) -> dict[Any, float | None]:
    """Return the answers of a campaign's file, pairs of a name and an outcome.

    Raises:
        Damaged: an outcome is not a finite number, or a name is unknown or repeated.
    """
    for k, pair in enumerate(content, 1):
        if len(pair) != 2 or not fits(pair[0], NAME) or not fits(pair[1], float | None):
            raise damaged(f"answer {k} of field 'answers' cannot be {short(pair)}")
    _places(campaign, [name for name, _ in content], "field 'answers'")
    return {name: outcome for name, outcome in content}


def journal_of(content: Sequence[Mapping[str, Any]], campaign: CampaignState) -> tuple[Correction, ...]:
    """Return the corrections of a campaign's file.

    Raises:
        Damaged: a field is missing, unknown or invalid.
    """
    journal = tuple(parse_dataclass(Correction, one, "journal") for one in content)
    names = [one.name for one in journal if one.name is not None]
    if wrong := [name for name in names if not fits(name, NAME)]:
        raise damaged(f"field 'name' of journal cannot be {short(wrong[0])}")
    _places(campaign, dict.fromkeys(names), "field 'journal'")
    return journal


def audit_of(content: Mapping[str, Any] | None) -> Audit | None:
    """Return the audit of a campaign's file.

    Raises:
        Damaged: a field is missing, unknown or invalid.
    """
    if content is None:
        return None
    audit = parse_dataclass(Audit, content, "audit")
    if len(audit.ahead) != len(audit.bounds) or len(audit.halves) not in (0, 2):
        raise damaged("fields 'ahead', 'bounds' and 'halves' of audit are not of one plan")
    return audit


def check_asked(campaign: CampaignState) -> None:
    """Check the number of fielded rounds; corrections may have emptied some.

    Raises:
        Damaged: the plan has fewer rounds.
    """
    rounds = campaign.planned["round"]
    most = int(rounds.max() if len(rounds) else 0) + sum(one.now == NEVER for one in campaign.journal)
    if campaign.asked > most:
        raise damaged(f"field 'asked' is {campaign.asked}, and the plan has {most} rounds")


def _places(campaign: CampaignState, names: Iterable[Any], where: str) -> Any:
    """Return places of units, each of which must be in the table and named once."""
    index, names = campaign.people.table.index, list(names)
    places = index.get_indexer(pd.Index(names, dtype=object))
    if (places < 0).any():
        raise damaged(f"{where} names {short(names[int(places.argmin())])}, who is not in the table")
    if (again := pd.Index(places).duplicated()).any():
        raise damaged(f"{where} names {short(names[int(again.argmax())])} more than once")
    return places
