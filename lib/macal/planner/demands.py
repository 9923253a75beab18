"""Demands on a plan: money, quotas, clusters, who must be in and who may not.

Every demand is a set of linear bounds, low <= A z <= high, on the vector z of who is labelled (n,), 1 or 0. So demands
can be checked, searched for a plan that meets them, and dropped one by one to see which conflict.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.sparse import coo_array, csr_array

from macal.registry import UnknownName
from macal.shapes import Arms, Indices

Money = Float[np.ndarray, "n"]
Limits = Float[np.ndarray, "r"]

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
    """

    name: str
    matrix: csr_array
    low: Limits
    high: Limits


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

    def demands(self, column: pd.Series, weights: Money) -> Iterable[Demand]:
        """One demand for the value, or for each value of the column.

        Args:
            column: of the pool, n values.
            weights: what each unit counts towards a lower bound, (n,): her probability to answer.

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
        known = sorted(set(texts))
        if self.value is not None and self.value not in known:
            raise UnknownName(f"value of column {self.column!r} in a quota", self.value, known[:20])
        for value in known if self.value is None else [self.value]:
            yield self._demand(value, (texts == value).to_numpy(), weights)

    def _demand(self, value: str, members: np.ndarray, weights: Money) -> Demand:
        number = f"{100 * self.number:g} %" if self.share else f"{self.number:g}"
        name = f"at {'least' if self.least else 'most'} {number} with {self.column} = {value}"
        row = np.where(members, 1.0, 0.0)
        if self.share:  # members' labels - share x all labels, in expectation
            row = (row - self.number) * weights
            return _demand(name, row[None], *((0.0, np.inf) if self.least else (-np.inf, 0.0)))
        if self.least:
            return _demand(name, (row * weights)[None], low=self.number)
        return _demand(name, row[None], high=self.number)  # if all of them answer


def _text(value: object) -> str:
    """A value as a quota writes it: 1 for 1.0, every digit of a number that has a fraction."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
