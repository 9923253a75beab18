"""Demands on a plan: money, quotas, clusters, who must be in and who may not.

Every demand is a set of linear bounds, low <= A z <= high, on the vector z of who is labelled (n,), 1 or 0. So demands
can be checked, searched for a plan that meets them, and dropped one by one to see which conflict.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from scipy.sparse import coo_array, csr_array

from macal.registry import UnknownName
from macal.shapes import Arms, Indices

Money = Float[np.ndarray, "n"]
Limits = Float[np.ndarray, "r"]
Members = Bool[np.ndarray, "n"]

_VALUE = r'(?:"(?:[^"]|"")*"|(?![\s"])(?:[<>]=?)?[^<>=|]+?)'  # as >50K, or whatever stands in quotes
_VALUES = rf"(?P<values>{_VALUE}(?:\s*\|\s*{_VALUE})*)"
_QUOTA = re.compile(rf"\s*(?P<column>.+?)\s*(?:=\s*{_VALUES}\s*)?(?P<sign>>=|<=)\s*(?P<number>.+?)\s*")
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)?\s*\.\.\s*(-?\d+(?:\.\d+)?)?")
_MAX_SHOWN = 6  # values of a quota that are named
_MAX_SINGLE_VALUES = 20  # values of a column of numbers, more of which are seldom meant one by one


@dataclass(frozen=True, eq=False)
class Constraint:
    """Linear bounds on who is labelled.

    Attributes:
        name: what is demanded, as a reader would say it.
        matrix: one row per bound, one column per unit, (r, n).
        low: lower bounds, (r,); minus infinity where there is none.
        high: upper bounds, (r,); infinity where there is none.
        group: whose quota it is, where it is one.
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
    """The weights of those who are labelled add up to at most ``limit``."""
    return _demand(name, weights[None], high=float(limit))


def exclude_units(name: str, units: Indices, n: int) -> Constraint:
    """None of these units is labelled."""
    return _demand(name, _indicator(units, n)[None], high=0.0)


def include_units(name: str, units: Indices, n: int) -> Constraint:
    """All of these units are labelled."""
    return _demand(name, _indicator(units, n)[None], low=float(len(units)))


def _indicator(units: Indices, n: int) -> Money:
    row = np.zeros(n)
    row[units] = 1
    return row


def at_most_one_per_cluster(name: str, clusters: Arms, known: Indices) -> Constraint:
    """At most one unit of each cluster is labelled, and nobody new of a cluster with a label.

    Args:
        name: of the demand.
        clusters: number of each unit's cluster, (n,), -1 for a unit in none.
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
    """At least one unit of each stratum is labelled; ``strata`` are their numbers, (n,), -1 for a unit in none."""
    units, shape = np.flatnonzero(strata >= 0), (int(strata.max(initial=-1)) + 1, len(strata))
    return _demand("some of each", coo_array((np.ones(len(units)), (strata[units], units)), shape), low=1.0)


def all_or_none(name: str, clusters: Arms) -> Constraint:
    """All units of a cluster are labelled or none; -1 for a unit that is free of this."""
    units = np.flatnonzero(clusters >= 0)
    units = units[clusters[units].argsort(kind="stable")]
    # z of a unit minus z of the one before it in its cluster is 0
    later = np.flatnonzero(np.diff(clusters[units], prepend=-1) == 0)
    k = np.arange(len(later))
    entries = np.repeat([1.0, -1.0], len(later)), (np.tile(k, 2), np.append(units[later], units[later - 1]))
    return _demand(name, coo_array(entries, (len(later), len(clusters))), low=0.0, high=0.0)


@dataclass(frozen=True)
class Range:
    """Numbers from one to another, both included; an infinite one is no bound."""

    low: float
    high: float

    def __str__(self) -> str:
        return "..".join("" if np.isinf(end) else f"{end:.10g}" for end in (self.low, self.high))


@dataclass(frozen=True)
class Quota:
    """At least, or at most, so many labels of those with some values in a column; or so large a share of all labels.

    Attributes:
        column: of the table.
        values: whose labels are counted, as one number; none for each value of the column by itself.
        least: whether it is a lower bound.
        number: of labels; of all labels, from 0 to 1, where it is a share.
        share: whether it is one.
    """

    column: str
    values: tuple[str | Range, ...]
    least: bool
    number: float | int
    share: bool

    @classmethod
    def parse(cls, text: str) -> "Quota":
        """Read ``region>=10`` (of each region), ``sex=f<=40%``, ``region=north|south>=10``, or ``age=65..>=10``.

        A range is ``18..64``, ``65..`` or ``..17``, its ends included; a value that holds one of the signs, or is
        written like a range, stands in quotes: ``size="5|6">=10``.

        Raises:
            ValueError: the text is no quota, a range runs backwards, or the number is out of range.

        >>> Quota.parse("region = north >= 30%")
        Quota(column='region', values=('north',), least=True, number=0.3, share=True)
        """
        found = _QUOTA.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise ValueError(
                "a quota is written as 'region>=10', 'sex=f<=40%', 'region=north|south>=10' or 'age=65..>=10', a value"
                f' that holds one of <>=|" as \'size="5|6">=10\', got {text!r}'
            )
        share = found["number"].endswith("%")
        try:
            number = float(found["number"].rstrip("% "))
        except ValueError:
            number = np.nan
        if not 0 <= number <= (100 if share else np.inf) or number == np.inf:
            raise ValueError(f"the quota {text!r} must end in a number of at least 0, or in a share from 0% to 100%")
        values = tuple(_read(one.strip()) for one in re.findall(rf"{_VALUE}(?=\s*(?:\||$))", found["values"] or ""))
        return cls(found["column"], values, found["sign"] == ">=", number / 100 if share else number, share)

    def demands(self, column: pd.Series, weights: Money, heads: Money | None = None) -> Iterable[Constraint]:
        """One demand for the values, or for each value of the column.

        Args:
            column: of the pool, n values.
            weights: what each unit counts towards a lower bound, (n,): her probability to answer.
            heads: people whom each unit stands for, (n,); 1 by default.

        Raises:
            ValueError: the column has missing values, or a range is asked for and it holds no numbers.
            UnknownName: nobody has the value.
        """
        if column.isna().any():
            raise ValueError(
                f"column {self.column!r} of a quota has {int(column.isna().sum())} missing values; fill them in, say"
                " with 'unknown'"
            )
        heads, texts = np.ones(len(column)) if heads is None else heads, _texts(column)
        every = [self] if self.values else [replace(self, values=(value,)) for value in sorted(set(texts))]
        for quota in every:
            members = quota.members(column, texts)
            yield Group(quota, members, weights, round(float(heads @ members))).demand()

    def members(self, column: pd.Series, texts: pd.Series) -> Members:
        """Who has one of the values, (n,), in a column or, as quotas write them, in its texts."""
        inside = np.zeros(len(column), bool)
        for value in self.values:
            if isinstance(value, Range):
                if not is_numeric_dtype(column) or is_bool_dtype(column):
                    raise ValueError(f"column {self.column!r} holds no numbers, so that a quota cannot be on {value}")
                some = column.between(value.low, value.high)
            else:
                some = texts == value
            if not some.any():
                raise UnknownName(f"value of column {self.column!r} in a quota", str(value), sorted(set(texts))[:20])
            inside |= some.to_numpy(bool, na_value=False)
        return inside

    def check_counts(self, column: pd.Series) -> None:
        """Refuse a number that is meant as a bound on the column's own numbers.

        Raises:
            ValueError: each value is counted, of many numbers among which the number lies, and most have fewer people,
                or none has more.
        """
        if self.values or self.share or not is_numeric_dtype(column) or is_bool_dtype(column):
            return
        counts, number = column.value_counts(), f"{self.number:.10g}"
        is_off = counts.median() < self.number if self.least else counts.max() <= self.number
        if len(counts) > _MAX_SINGLE_VALUES and is_off and column.min() <= self.number <= column.max():
            raise ValueError(
                f"the quota '{self.column}{'>=' if self.least else '<='}{number}' counts the people of each of the"
                f" {len(counts)} values of {self.column}; a range is written"
                f" '{self.column}={Range(*((self.number, np.inf) if self.least else (-np.inf, self.number)))}>=10'"
            )

    @property
    def is_ranged(self) -> bool:
        """Whether a range is among the values."""
        return any(isinstance(value, Range) for value in self.values)

    @property
    def key(self) -> tuple[object, ...]:
        """The same for quotas on single values of one column, which count different people."""
        is_single = len(self.values) == 1 and isinstance(self.values[0], str)
        return (self.column,) if is_single else (self.column, self.values)

    @property
    def shown(self) -> str:
        """The values, as a reader would say them."""
        more = [f"{len(self.values) - _MAX_SHOWN:,} more"] * (len(self.values) > _MAX_SHOWN)
        return " or ".join([*map(str, self.values[:_MAX_SHOWN]), *more])

    @property
    def amount(self) -> str:
        """The number, as a reader would say it."""
        return f"{100 * self.number:.10g} %" if self.share else f"{self.number:.10g}"

    def describe(self, values: str) -> str:
        """What is demanded of people with these values."""
        return f"at {'least' if self.least else 'most'} {self.amount} with {self.column} = {values}"


def cells(quotas: Sequence[Quota], column: pd.Series) -> pd.Series:
    """What quotas of one key tell people apart by, (n,): the column's values, or which of the quotas counts them."""
    if not quotas[0].values:
        return column
    told, texts = pd.Series(f"not {' or '.join(quota.shown for quota in quotas)}", column.index, object), _texts(column)
    for quota in quotas:
        told[quota.members(column, texts)] = quota.shown
    return told.rename(column.name)


@dataclass(frozen=True, eq=False)
class Group:
    """Whom a quota counts.

    Attributes:
        quota: on some values.
        members: who has one, (n,).
        weights: what each unit counts towards a lower bound or a share, (n,).
        n_members: people of the table who have one.
    """

    quota: Quota
    members: Members
    weights: Money
    n_members: int

    def demand(self) -> Constraint:
        """What the quota demands."""
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
        """The quota that a plan meets, (n,): its number is the nearest whole one, or per mille, on the far side."""
        quota = self.quota
        reached = plan @ (self.members * (self.weights if quota.share or quota.least else 1))
        reached /= max(plan @ self.weights, 1e-300) if quota.share else 1
        scale = 1000 if quota.share else 1
        number = np.floor(scale * reached + 1e-6) if quota.least else np.ceil(scale * reached - 1e-6)
        return replace(self, quota=replace(quota, number=float(number / scale)))


def _read(value: str) -> str | Range:
    """A value as a quota writes it; a range, where it is none in quotes."""
    if value.startswith('"'):
        return value[1:-1].replace('""', '"')
    found = _RANGE.fullmatch(value)
    if not found or not any(found.groups()):
        return value
    low, high = (float(end or inf) for end, inf in zip(found.groups(), ("-inf", "inf"), strict=True))
    if low > high:
        raise ValueError(f"the range {value} of a quota must run from a number to a larger one")
    return Range(low, high)


def _texts(column: pd.Series) -> pd.Series:
    """Values of a column as quotas write them: 1 for 1.0, every digit of a number that has a fraction."""
    return column.map({v: str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in column.unique()})
