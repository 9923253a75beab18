"""Demands on a plan: money, quotas, clusters, who must be in and who may not.

Every demand is a set of linear bounds, low <= A z <= high, on the vector z of who is labelled (n,), 1 or 0. So demands
can be checked, searched for a plan that meets them, and dropped one by one to see which conflict.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.sparse import coo_array, csr_array

from macal.registry import UnknownName
from macal.shapes import Arms, Indices

Money = Float[np.ndarray, "n"]
Limits = Float[np.ndarray, "r"]
Members = Bool[np.ndarray, "n"]

_VALUE = r"(?P<value>(?:[<>]=?)?[^<>=]+?)"  # as >50K
_QUOTA = re.compile(rf"\s*(?P<column>.+?)\s*(?:=\s*{_VALUE}\s*)?(?P<sign>>=|<=)\s*(?P<number>.+?)\s*")


@dataclass(frozen=True, eq=False)
class Demand:
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


def _demand(name: str, rows: object, low: float = -np.inf, high: float = np.inf) -> Demand:
    matrix = csr_array(rows)
    return Demand(name, matrix, np.full(matrix.shape[0], low), np.full(matrix.shape[0], high))


def at_most(name: str, weights: Money, limit: float | int) -> Demand:
    """The weights of those who are labelled add up to at most ``limit``."""
    return _demand(name, weights[None], high=float(limit))


def left_out(name: str, units: Indices, n: int) -> Demand:
    """None of these units is labelled."""
    return _demand(name, _indicator(units, n)[None], high=0.0)


def must_be_in(name: str, units: Indices, n: int) -> Demand:
    """All of these units are labelled."""
    return _demand(name, _indicator(units, n)[None], low=float(len(units)))


def _indicator(units: Indices, n: int) -> Money:
    row = np.zeros(n)
    row[units] = 1
    return row


def one_of_each(name: str, clusters: Arms, known: Indices) -> Demand:
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


def some_of_each(strata: Arms) -> Demand:
    """At least one unit of each stratum is labelled; ``strata`` are their numbers, (n,), -1 for a unit in none."""
    units, shape = np.flatnonzero(strata >= 0), (int(strata.max(initial=-1)) + 1, len(strata))
    return _demand("some of each", coo_array((np.ones(len(units)), (strata[units], units)), shape), low=1.0)


def whole(name: str, clusters: Arms) -> Demand:
    """All units of a cluster are labelled or none; -1 for a unit that is free of this."""
    units = np.flatnonzero(clusters >= 0)
    units = units[clusters[units].argsort(kind="stable")]
    # z of a unit minus z of the one before it in its cluster is 0
    later = np.flatnonzero(np.diff(clusters[units], prepend=-1) == 0)
    k = np.arange(len(later))
    entries = np.repeat([1.0, -1.0], len(later)), (np.tile(k, 2), np.append(units[later], units[later - 1]))
    return _demand(name, coo_array(entries, (len(later), len(clusters))), low=0.0, high=0.0)


@dataclass(frozen=True)
class Quota:
    """At least, or at most, so many labels of those with a value in a column; or so large a share of all labels.

    Attributes:
        column: of the table.
        value: whose labels are counted; None for each value of the column by itself.
        least: whether it is a lower bound.
        number: of labels; of all labels, from 0 to 1, where it is a share.
        share: whether it is one.
    """

    column: str
    value: str | None
    least: bool
    number: float | int
    share: bool

    @classmethod
    def parse(cls, text: str) -> "Quota":
        """Read ``region>=10`` (of each region), ``region=north>=10``, ``female=1<=40%``.

        Raises:
            ValueError: the text is no quota, or its number is out of range.

        >>> Quota.parse("region = north >= 30%")
        Quota(column='region', value='north', least=True, number=0.3, share=True)
        """
        found = _QUOTA.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise ValueError(f"a quota is written as 'region>=10', 'region=north>=10' or 'sex=f<=40%', got {text!r}")
        share = found["number"].endswith("%")
        try:
            number = float(found["number"].rstrip("% "))
        except ValueError:
            number = np.nan
        if not 0 <= number <= (100 if share else np.inf) or number == np.inf:
            raise ValueError(f"the quota {text!r} must end in a number of at least 0, or in a share from 0% to 100%")
        return cls(found["column"], found["value"], found["sign"] == ">=", number / 100 if share else number, share)

    def demands(self, column: pd.Series, weights: Money, heads: Money | None = None) -> Iterable[Demand]:
        """One demand for the value, or for each value of the column.

        Args:
            column: of the pool, n values.
            weights: what each unit counts towards a lower bound, (n,): her probability to answer.
            heads: people whom each unit stands for, (n,); 1 by default.

        Raises:
            ValueError: the column has missing values.
            UnknownName: nobody has the value.
        """
        if column.isna().any():
            raise ValueError(
                f"column {self.column!r} of a quota has {int(column.isna().sum())} missing values; fill them in, say"
                " with 'unknown'"
            )
        texts = column.map({value: _text(value) for value in column.unique()})
        known, heads = sorted(set(texts)), np.ones(len(column)) if heads is None else heads
        if self.value is not None and self.value not in known:
            raise UnknownName(f"value of column {self.column!r} in a quota", self.value, known[:20])
        for value in known if self.value is None else [self.value]:
            members = (texts == value).to_numpy()
            yield Group(replace(self, value=value), members, weights, round(float(heads @ members))).demand()

    @property
    def amount(self) -> str:
        """The number, as a reader would say it."""
        return f"{100 * self.number:.10g} %" if self.share else f"{self.number:.10g}"

    def said(self, values: str) -> str:
        """What is demanded of people with these values."""
        return f"at {'least' if self.least else 'most'} {self.amount} with {self.column} = {values}"


@dataclass(frozen=True, eq=False)
class Group:
    """Whom a quota counts.

    Attributes:
        quota: on one value.
        members: who has it, (n,).
        weights: what each unit counts towards a lower bound or a share, (n,).
        there: people of the table who have it.
    """

    quota: Quota
    members: Members
    weights: Money
    there: int

    def demand(self) -> Demand:
        """What the quota demands."""
        quota, row = self.quota, np.where(self.members, 1.0, 0.0)
        if quota.share:  # members' labels - share x all labels, in expectation
            low, high = (0.0, np.inf) if quota.least else (-np.inf, 0.0)
            row = (row - quota.number) * self.weights
        elif quota.least:
            low, high, row = quota.number, np.inf, row * self.weights
        else:
            low, high = -np.inf, quota.number  # if all of them answer
        return replace(_demand(quota.said(str(quota.value)), row[None], low, high), group=self)

    def eased(self, plan: Money) -> "Group":
        """The quota that a plan meets, (n,): its number is the nearest whole one, or per mille, on the far side."""
        quota = self.quota
        reached = plan @ (self.members * (self.weights if quota.share or quota.least else 1))
        reached /= max(plan @ self.weights, 1e-300) if quota.share else 1
        scale = 1000 if quota.share else 1
        number = np.floor(scale * reached + 1e-6) if quota.least else np.ceil(scale * reached - 1e-6)
        return replace(self, quota=replace(quota, number=float(number / scale)))


def _text(value: object) -> str:
    """A value as a quota writes it: 1 for 1.0, every digit of a number that has a fraction."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
