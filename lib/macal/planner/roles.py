"""What the columns of a table are: guessed where the caller is silent, and told, so that each guess can be undone."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype

from macal.datasets.columns import MAX_CATEGORIES
from macal.registry import UnknownName

KINDS = ("number", "category", "date", "ignore")  # what a caller may say of a column
USED = ("number", "category", "date")
NAMED = re.compile(r"(.*[_ .-])?(id|uuid|person|unit|name|key|index)|unnamed: 0", re.IGNORECASE)
_FEW = 20  # values of a text that are categories however few the rows


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are.

    Attributes:
        identifier: column that names the units; None where rows are numbered.
        kinds: "number", "category" or "date" of each covariate.
        left_out: why each other column is not used.
    """

    identifier: str | None
    kinds: Mapping[str, str]
    left_out: Mapping[str, str]

    def shown(self, named: Mapping[str, str]) -> pd.DataFrame:
        """One row per column: its role, and what is to be said of it.

        Args:
            named: role that the caller gave to a column -> column.
        """
        given = {column: (role, "as you say") for role, column in named.items()}
        given |= {} if self.identifier in (None, *given) else {self.identifier: ("identifier", "guessed")}
        used = {column: ("covariate", kind) for column, kind in self.kinds.items()}
        out = {column: ("left out", why) for column, why in self.left_out.items()}
        return pd.DataFrame((given | used | out), index=["role", "what"]).T.rename_axis("column")


def guess(
    table: pd.DataFrame,
    named: Iterable[str],
    identifier: str | None = None,
    covariates: Iterable[str] | None = None,
    said: Mapping[str, str] | None = None,
) -> Roles:
    """Guess what the columns are that nobody spoke of.

    Args:
        table: one row per unit.
        named: columns that have another role.
        identifier: column that names the units.
        covariates: columns to compare units by; all that are fit for it by default.
        said: column -> "number", "category", "date" or "ignore".

    Raises:
        UnknownName: a column that the table does not have, or an unknown kind.
        ValueError: a covariate that cannot be one: constant, a copy of another, an identifier, or free text.
    """
    said, named = dict(said or {}), set(named)
    columns = list(table.columns)
    for column in [*named, *said, *(covariates or []), *([identifier] if identifier else [])]:
        if column not in columns:
            raise UnknownName("column", column, map(str, columns))
    for kind in said.values():
        if kind not in KINDS:
            raise UnknownName("kind of column", kind, KINDS)
    asked = [c for c in columns if c not in named | {identifier}] if covariates is None else list(covariates)
    found = {column: said.get(column) or _kind(table[column], str(column)) for column in asked}
    if identifier is None:
        rest = [c for c in columns if c not in named and c not in found]
        kinds = found if covariates is None else {c: _kind(table[c], str(c)) for c in rest if c not in said}
        identifier = next((c for c, kind in kinds.items() if kind == "identifier"), None)
        found.pop(identifier, None)
    copies = _copies(table[[c for c, kind in found.items() if kind in USED]])
    found |= {column: f"a copy of {first}" for column, first in copies.items()}
    out = {c: "as you say" if kind == "ignore" else kind for c, kind in found.items() if kind not in USED}
    if covariates is not None and (wrong := {c: why for c, why in out.items() if c not in said}):
        column, why = next(iter(wrong.items()))
        raise ValueError(
            f"column {column!r} cannot be a covariate: {why}; leave it out, or say what it is: {', '.join(USED)}"
        )
    return Roles(identifier, {c: kind for c, kind in found.items() if kind in USED}, out)


def _kind(column: pd.Series, name: str) -> str:
    n, different = len(column), column.nunique(dropna=False)
    if different == 1:
        return "constant"
    if is_bool_dtype(column.dtype):
        return "category"
    if is_numeric_dtype(column.dtype):
        known = is_integer_dtype(column.dtype) and different == n and NAMED.fullmatch(name)
        return "identifier" if known else "number"
    if _is_date(column):
        return "date"
    few = different <= _FEW < n or different <= min(MAX_CATEGORIES, n / 5)
    if few or isinstance(column.dtype, pd.CategoricalDtype):
        return "category"
    known = different == n and (NAMED.fullmatch(name) or not column.astype(str).str.contains(r"\s").any())
    return "identifier" if known else f"free text ({different} different values)"


def _is_date(column: pd.Series) -> bool:
    if is_datetime64_any_dtype(column.dtype):
        return True
    some = column.dropna().head(100)
    if not len(some) or not all(isinstance(v, str) and re.match(r"\d{4}-\d{2}-\d{2}", v) for v in some):
        return False
    return bool(pd.to_datetime(column.dropna(), format="ISO8601", errors="coerce", utc=True).notna().all())


def _copies(table: pd.DataFrame) -> dict[str, str]:
    """Columns that equal one before them -> that one."""
    seen: dict[tuple[object, ...], str] = {}
    copies = {}
    for column in table.columns:
        first = seen.setdefault((int(pd.util.hash_pandas_object(table[column], index=False).sum()),), column)
        if first != column and table[column].equals(table[first].rename(column)):
            copies[column] = first
    return copies


def prepared(table: pd.DataFrame, roles: Roles, said: Mapping[str, str]) -> pd.DataFrame:
    """The covariates, dates as days since the first one, what the caller said to be a category as one.

    Raises:
        ValueError: a column is not what it is said to be.
    """
    columns = {c: _prepared(table[c], kind) for c, kind in roles.kinds.items()}
    columns |= {c: columns[c].astype("category") for c in columns if said.get(c) == "category"}
    return pd.DataFrame(columns, index=table.index)


def _prepared(column: pd.Series, kind: str) -> pd.Series:
    try:
        if kind == "date":
            text = not is_datetime64_any_dtype(column.dtype)
            times = pd.to_datetime(column, format="ISO8601" if text else None, utc=True)
            return (times - times.min()) / pd.Timedelta(days=1)
        if kind == "number" and not is_numeric_dtype(column.dtype):
            return pd.to_numeric(column)
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {column.name!r} is not a {kind} throughout: {error}; mend it or ignore it") from error
    return column
