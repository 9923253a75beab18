"""Fingerprints of a campaign's table: hashes of used columns and of units, in any order."""

import base64
from collections.abc import Collection, Mapping
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from macal.survey.campaign import CampaignState, name_phrase
from macal.survey.facts import count_phrase

FIELDS: Mapping[str, Any] = {"columns": Mapping[str, str | None], "name": str, "names": str, "people": int, "rows": str}
MAX_HASHED = 100_000  # largest number of people with a hash each
_ODD = np.uint64(0x9E3779B97F4A7C15)


def fingerprint(campaign: CampaignState) -> dict[str, Any]:
    """Return the fingerprint of a campaign's table.

    Returns:
        ``columns``, name -> hash, None if unused; ``name`` of the identifier and hash of its ``names``; number of
        ``people``; ``rows``, four bytes each in base 64, empty above :data:`MAX_HASHED`.
    """
    table, policy = campaign.people.table, campaign.policy
    asked = {*campaign.columns.named().values(), *(quota.column for quota in policy.parsed), policy.by}
    used = [c for c in table if c in asked or c not in campaign.people.roles.left_out]
    names = pd.util.hash_array(table.index.astype(str).to_numpy(object))
    cells = {str(c): _mixed(names, _hashes(table[c])) for c in used}
    rows = reduce(_mixed, (cells[name] for name in sorted(cells)), names)
    return {
        "columns": {str(c): _digest(cells[str(c)]) if str(c) in cells else None for c in table},
        "name": str(table.index.name),
        "names": _digest(names),
        "people": len(table),
        "rows": base64.b64encode(rows.astype("<u4").tobytes()).decode() if len(table) <= MAX_HASHED else "",
    }


def _hashes(column: pd.Series) -> np.ndarray:
    """Return a hash of each cell, (n,), independent of numeric types."""
    if column.dtype.kind in "iufb":
        return pd.util.hash_array(column.to_numpy(np.float64, na_value=np.nan) + 0.0)  # -0 is 0
    return pd.util.hash_pandas_object(column, index=False).to_numpy(np.uint64)


def _mixed(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return pd.util.hash_array(one * _ODD + other)


def _digest(hashes: np.ndarray) -> str:
    """Return a hash that ignores order."""
    return f"{int(hashes.sum(dtype=np.uint64)):016x}"


def as_planned(table: Any, was: Mapping[str, Any]) -> Any:
    """Return a table with the columns that it had when planned, in that order.

    Raises:
        ValueError: a used column is missing.
    """
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    there = {str(c): c for c in getattr(frame, "columns", ())}
    if lacking := [c for c, digest in was["columns"].items() if digest and c not in there]:
        raise changed(f"column{'s' * (len(lacking) > 1)} {name_phrase([*map(repr, lacking)])} {_is(lacking)} missing")
    kept = [there[c] for c in dict.fromkeys([was["name"], *was["columns"]]) if c in there]
    if kept == list(there.values()):
        return table
    return table[kept] if isinstance(table, pd.DataFrame) else frame.select(kept).to_native()


def difference(campaign: CampaignState, was: Mapping[str, Any], planned: Collection[Any]) -> str:
    """Return how a campaign's table differs from the planned one; else empty.

    Args:
        campaign: with the table.
        was: fingerprint in the file.
        planned: names of planned units.
    """
    people = campaign.people.table.index
    gone = [name for name in planned if isinstance(name, (str, int)) and name not in people]
    lost = f"; {name_phrase(gone)} of the plan {_is(gone)} missing" * bool(gone)
    now = fingerprint(campaign)
    columns, before = ({c: v for c, v in one["columns"].items() if v} for one in (now, was))
    if columns == before and now["names"] == was["names"]:
        return ""
    there, then = (np.frombuffer(base64.b64decode(one["rows"]), "<u4") for one in (now, was))
    others = people[~np.isin(there, then)] if len(then) and set(columns) == set(before) else []
    if now["names"] != was["names"]:
        new = f"; {name_phrase(others)} {_is(others)} new or changed" * bool(len(others))
        return f"it has {count_phrase(now['people'], 'row')}, and had {was['people']:,}{lost}{new}"
    names = [c for c in {**before, **columns} if columns.get(c) != before.get(c)]
    what = f"column{'s' * (len(names) > 1)} {name_phrase([*map(repr, names)])} differ{'s' * (len(names) == 1)}"
    return what + f" for {name_phrase(others)}" * bool(len(others))


def changed(what: str) -> ValueError:
    """Return the error for another table."""
    return ValueError(
        f"the table has changed since the campaign was planned: {what}; use the original table, and pass answers to"
        " observe"
    )


def _is(some: Any) -> str:
    return "are" if len(some) > 1 else "is"
