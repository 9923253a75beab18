"""Constraints on a plan: money, quotas, clusters, mandatory and excluded units.

Each is a set of linear bounds, low <= A z <= high, on the 0/1 vector z of labelled units, (n,).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from scipy.sparse import coo_array, csr_array

from macal.registry import UnknownName
from macal.shapes import Arms, Indices, Limits, Mask, Money

_VALUE = r'(?:"(?:[^"]|"")*"|(?![\s"])(?:[<>]=?)?[^<>=|]+?)'  # as >50K, or anything in quotes
_VALUES = rf"(?P<values>{_VALUE}(?:\s*\|\s*{_VALUE})*)"
_QUOTA = re.compile(rf"\s*(?P<column>.+?)\s*(?:=\s*{_VALUES}\s*)?(?P<sign>>=|<=)\s*(?P<number>.+?)\s*")
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)?\s*\.\.\s*(-?\d+(?:\.\d+)?)?")
_MAX_SHOWN = 6  # values of a quota that are named
_MAX_SINGLE_VALUES = 20  # numbers with more values are seldom meant one by one


@dataclass(frozen=True, eq=False)
class Constraint:
    """Linear bounds on labelled units.

    Attributes:
        name: the constraint in words.
        matrix: one row per bound, one column per unit, (r, n).
        low: lower bounds, (r,), or minus infinity.
        high: upper bounds, (r,), or infinity.
        group: the group that a quota counts; else None.
    """

    name: str
    matrix: csr_array
    low: Limits
    high: Limits
    group: "Group | None" = None


def _demand(name: str, rows: object, low: float = -np.inf, high: float = np.inf) -> Constraint:
    matrix = csr_array(rows)
    return Constraint(name, matrix, np.full(matrix.shape[0], low), np.full(matrix.shape[0], high))


def at_most(name: str, weights: Money, limit: float | int) -> Constraint:
    """Return the constraint that weights of labelled units add up to at most ``limit``."""
    return _demand(name, weights[None], high=float(limit))


def exclude_units(name: str, units: Indices, n: int) -> Constraint:
    """Return the constraint that none of these units is labelled."""
    return _demand(name, _indicator(units, n)[None], high=0.0)


def include_units(name: str, units: Indices, n: int) -> Constraint:
    """Return the constraint that all of these units are labelled."""
    return _demand(name, _indicator(units, n)[None], low=float(len(units)))


def _indicator(units: Indices, n: int) -> Money:
    row = np.zeros(n)
    row[units] = 1
    return row


def at_most_one_per_cluster(name: str, clusters: Arms, known: Indices) -> Constraint:
    """Return the constraint of at most one label per cluster, and no new one in a cluster with a label.

    Args:
        name: name of the constraint.
        clusters: number of each unit's cluster, (n,), -1 for none.
        known: units that are labelled already, (k,).
    """
    used = np.unique(clusters[known])
    asked = clusters >= 0
    asked[known] = False
    units = np.flatnonzero(asked)
    shape = int(clusters.max(initial=-1)) + 1, len(clusters)
    demand = _demand(name, coo_array((np.ones(len(units)), (clusters[units], units)), shape), high=1.0)
    demand.high[used[used >= 0]] = 0.0
    return demand


def at_least_one_per_stratum(strata: Arms) -> Constraint:
    """Return the constraint of at least one label per stratum; ``strata``: numbers, (n,), -1 for none."""
    units, shape = np.flatnonzero(strata >= 0), (int(strata.max(initial=-1)) + 1, len(strata))
    return _demand("some of each", coo_array((np.ones(len(units)), (strata[units], units)), shape), low=1.0)


def all_or_none(name: str, clusters: Arms) -> Constraint:
    """Return the constraint that all units of a cluster are labelled or none; -1 for no cluster."""
    units = np.flatnonzero(clusters >= 0)
    units = units[clusters[units].argsort(kind="stable")]
    # z of a unit minus z of the one before it in its cluster is 0
    later = np.flatnonzero(np.diff(clusters[units], prepend=-1) == 0)
    k = np.arange(len(later))
    entries = np.repeat([1.0, -1.0], len(later)), (np.tile(k, 2), np.append(units[later], units[later - 1]))
    return _demand(name, coo_array(entries, (len(later), len(clusters))), low=0.0, high=0.0)


@dataclass(frozen=True)
class Range:
    """A closed range of numbers; infinite ends are no bounds."""

    low: float
    high: float

    def __str__(self) -> str:
        return "..".join("" if np.isinf(end) else f"{end:.10g}" for end in (self.low, self.high))


@dataclass(frozen=True)
class Quota:
    """A bound on the number, or share, of labels with some values in a column.

    Attributes:
        column: column of the table.
        values: values whose labels are counted together; empty for each value by itself.
        least: whether it is a lower bound.
        number: number of labels, or share from 0 to 1.
        share: whether it is a share.
    """

    column: str
    values: tuple[str | Range, ...]
    least: bool
    number: float | int
    share: bool

    @classmethod
    def parse(cls, text: str) -> "Quota":
        """Parse ``region>=10`` (for each region), ``sex=f<=40%``, ``region=north|south>=10``, or ``age=65..>=10``.

        Ranges ``18..64``, ``65..`` and ``..17`` include their ends; quote values that contain a sign or look like a
        range: ``size="5|6">=10``.

        Raises:
            ValueError: not a quota, a reversed range, or a number out of range.

        >>> Quota.parse("region = north >= 30%")
        Quota(column='region', values=('north',), least=True, number=0.3, share=True)
        """
        found = _QUOTA.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise ValueError(
                "write a quota as 'region>=10', 'sex=f<=40%', 'region=north|south>=10' or 'age=65..>=10', and quote"
                f' values with one of <>=|" as in \'size="5|6">=10\'; got {text!r}'
            )
        share = found["number"].endswith("%")
        try:
            number = float(found["number"].rstrip("% "))
        except ValueError:
            number = np.nan
        if not 0 <= number <= (100 if share else np.inf) or number == np.inf:
            raise ValueError(f"the quota {text!r} must end in a number of at least 0 or a share from 0% to 100%")
        values = tuple(_read(one.strip()) for one in re.findall(rf"{_VALUE}(?=\s*(?:\||$))", found["values"] or ""))
        return cls(found["column"], values, found["sign"] == ">=", number / 100 if share else number, share)

    def demands(self, column: pd.Series, weights: Money, heads: Money | None = None) -> Iterable[Constraint]:
        """Return one constraint for the values, or one for each value of the column.

        Args:
            column: column of the pool, n values.
            weights: weight of each unit in a lower bound, (n,): its response probability.
            heads: people that each unit represents, (n,) (default: 1).

        Raises:
            ValueError: missing values in the column, or a range of text.
            UnknownName: no unit has the value.
        """
        if column.isna().any():
            raise ValueError(
                f"column {self.column!r} of a quota has {int(column.isna().sum())} missing values; fill them in, for"
                " example with 'unknown'"
            )
        heads, texts = np.ones(len(column)) if heads is None else heads, _texts(column)
        every = [self] if self.values else [replace(self, values=(value,)) for value in sorted(set(texts))]
        for quota in every:
            members = quota.members(column, texts)
            yield Group(quota, members, weights, round(float(heads @ members))).demand()

    def members(self, column: pd.Series, texts: pd.Series) -> Mask:
        """Return the mask of units with one of the values, (n,), in a column or in its texts."""
        inside = np.zeros(len(column), bool)
        for value in self.values:
            if isinstance(value, Range):
                if not is_numeric_dtype(column) or is_bool_dtype(column):
                    raise ValueError(f"column {self.column!r} is not numeric, so a quota cannot use the range {value}")
                some = column.between(value.low, value.high)
            else:
                some = texts == value
            if not some.any():
                raise UnknownName(f"value of column {self.column!r} in a quota", str(value), sorted(set(texts))[:20])
            inside |= some.to_numpy(bool, na_value=False)
        return inside

    def check_counts(self, column: pd.Series) -> None:
        """Refuse a number that seems meant as a bound on the column's own numbers.

        Raises:
            ValueError: the number lies among many values, most of which have fewer people, or none more.
        """
        if self.values or self.share or not is_numeric_dtype(column) or is_bool_dtype(column):
            return
        counts, number = column.value_counts(), f"{self.number:.10g}"
        is_off = counts.median() < self.number if self.least else counts.max() <= self.number
        if len(counts) > _MAX_SINGLE_VALUES and is_off and column.min() <= self.number <= column.max():
            raise ValueError(
                f"the quota '{self.column}{'>=' if self.least else '<='}{number}' counts people with each of the"
                f" {len(counts)} values of {self.column}; write a range as"
                f" '{self.column}={Range(*((self.number, np.inf) if self.least else (-np.inf, self.number)))}>=10'"
            )

    @property
    def is_ranged(self) -> bool:
        """Whether a range is among the values."""
        return any(isinstance(value, Range) for value in self.values)

    @property
    def key(self) -> tuple[object, ...]:
        """A key that quotas on single values of one column share, as they count different units."""
        is_single = len(self.values) == 1 and isinstance(self.values[0], str)
        return (self.column,) if is_single else (self.column, self.values)

    @property
    def shown(self) -> str:
        """The values in words."""
        more = [f"{len(self.values) - _MAX_SHOWN:,} more"] * (len(self.values) > _MAX_SHOWN)
        return " or ".join([*map(str, self.values[:_MAX_SHOWN]), *more])

    @property
    def amount(self) -> str:
        """The number in words."""
        return f"{100 * self.number:.10g}%" if self.share else f"{self.number:.10g}"

    def describe(self, values: str) -> str:
        """Return the bound in words, for these values."""
        return f"at {'least' if self.least else 'most'} {self.amount} with {self.column} = {values}"


def cells(quotas: Sequence[Quota], column: pd.Series) -> pd.Series:
    """Return what quotas of one key distinguish, (n,): the column's values, or the quota that counts each unit."""
    if not quotas[0].values:
        return column
    told, texts = pd.Series(f"not {' or '.join(quota.shown for quota in quotas)}", column.index, object), _texts(column)
    for quota in quotas:
        told[quota.members(column, texts)] = quota.shown
    return told.rename(column.name)


@dataclass(frozen=True, eq=False)
class Group:
    """The units that a quota counts.

    Attributes:
        quota: quota on some values.
        members: units with one of the values, (n,).
        weights: weight of each unit in a lower bound or a share, (n,).
        n_members: people in the table with one of the values.
    """

    quota: Quota
    members: Mask
    weights: Money
    n_members: int

    def demand(self) -> Constraint:
        """Return the quota as a constraint."""
        quota, row = self.quota, np.where(self.members, 1.0, 0.0)
        if quota.share:  # members' labels - share x all labels, in expectation
            low, high = (0.0, np.inf) if quota.least else (-np.inf, 0.0)
            row = (row - quota.number) * self.weights
        elif quota.least:
            low, high, row = quota.number, np.inf, row * self.weights
        else:
            low, high = -np.inf, quota.number  # if all of them answer
        return replace(_demand(quota.describe(quota.shown), row[None], low, high), group=self)

    def relaxed(self, plan: Money) -> "Group":
        """Return the quota that a plan, (n,), meets: the nearest whole number, or per mille, on the feasible side."""
        quota = self.quota
        reached = plan @ (self.members * (self.weights if quota.share or quota.least else 1))
        reached /= max(plan @ self.weights, 1e-300) if quota.share else 1
        scale = 1000 if quota.share else 1
        number = np.floor(scale * reached + 1e-6) if quota.least else np.ceil(scale * reached - 1e-6)
        return replace(self, quota=replace(quota, number=float(number / scale)))


def _read(value: str) -> str | Range:
    """Return a value or, unless quoted, a range."""
    if value.startswith('"'):
        return value[1:-1].replace('""', '"')
    found = _RANGE.fullmatch(value)
    if not found or not any(found.groups()):
        return value
    low, high = (float(end or inf) for end, inf in zip(found.groups(), ("-inf", "inf"), strict=True))
    if low > high:
        raise ValueError(f"the range {value} of a quota must run from a smaller to a larger number")
    return Range(low, high)


def _texts(column: pd.Series) -> pd.Series:
    """Return values as quotas write them: 1 for 1.0, and every digit of fractions."""
    return column.map({v: str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in column.unique()})
