"""The sampling frame: covariates, costs, response probabilities and groups of a table."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from macal.datasets import from_table
from macal.datasets.encoding import Scaling, check_spellings, encoded, numbers, with_excess
from macal.datasets.table import check_index
from macal.problem import Problem
from macal.registry import UnknownName, check_known
from macal.shapes import Arms, Covariates, Indices, Mask, Money, Outcomes, Rows
from macal.survey.columns import (
    PLAN,
    Columns,
    arm_values,
    check_households,
    check_marks,
    check_no_gaps,
    check_proxies,
    known_propensity,
    marked_units,
    positive_numbers,
)
from macal.survey.constraints import (
    Constraint,
    Quota,
    all_or_none,
    at_most,
    at_most_one_per_cluster,
    cells,
    exclude_units,
    include_units,
)
from macal.survey.inference.ridge import Ridge
from macal.survey.tables.roles import Roles, prepared, read_as
from macal.survey.tables.sample import FirstPhase, Sample

_WHOLE = r"-?\d+(?:\.0*)?"
_ROUNDED = r"\d(?:[.,]\d+)?E\+\d+|[1-9]\d{14}0+(?:\.0*)?"


@dataclass(frozen=True, eq=False)
class SamplingFrame:
    """All units of a table.

    Attributes:
        problem: covariates and arms; its start are units with a known outcome.
        cost: cost of surveying each unit, (n,).
        response: response probability, (n,), 1 for known outcomes.
        clusters: cluster number, (n,), -1 for none.
        excluded: excluded units.
        included: mandatory units.
        table: the caller's table, by the units' names.
        roles: roles of its columns.
        arms: value of the treatment in each arm, the reference first.
        first_phase: design of the first phase, if the table is a sample.
        rows: position of each row of the caller's table, (n,); None without one.
        propensity: known probability of treatment, (n,); None to estimate it.
        sd: guessed residual s.d., (n,); None without a guess.
        cluster: column of the clusters; None without clusters.
    """

    problem: Problem
    cost: Money
    response: Money
    clusters: Arms
    excluded: Indices
    included: Rows
    table: pd.DataFrame
    roles: Roles
    arms: Sequence[Any] = (0, 1)
    first_phase: FirstPhase | None = None
    rows: Arms | None = None
    propensity: Outcomes | None = None
    sd: Outcomes | None = None
    cluster: str | None = None

    @classmethod
    def of(cls, table: pd.DataFrame | Sample, columns: Columns) -> "SamplingFrame":
        """Read a table, or a sample of one; units are ordered by name, so plans do not depend on the order of rows.

        Raises:
            UnknownName: an unknown column.
            ValueError: a column that does not fit its role.
        """
        columns.check()
        if isinstance(table, Sample):
            return cls._read(table.table, columns, table.roles, table.phase)
        table, roles = read_as(table, columns.hints())
        check_index(table.index)
        order = _by_name(table.index)
        return replace(cls._read(table.iloc[order], columns, roles), rows=order.argsort())

    @classmethod
    def _read(
        cls,
        table: pd.DataFrame,
        columns: Columns,
        roles: Roles,
        phase: FirstPhase | None = None,
        scale: Rows | None = None,
    ) -> "SamplingFrame":
        """Read a table by its units' names, scaled by all rows or some."""
        if table.index.name in PLAN:
            raise ValueError(f"the identifier {table.index.name!r} is also a column of the plan; rename it")
        if not roles.kinds:
            raise ValueError("no column is left as a covariate; name covariates, or set the columns' kinds (--kind)")
        covariates = prepared(table, roles.kinds)
        given = covariates.assign(**{c: table[c] for c in (columns.treatment, columns.outcome) if c is not None})
        check_no_gaps(table, columns, covariates)
        check_proxies(prepared(table, roles.proxies))
        known = columns.outcome is not None and table[columns.outcome].notna().any()
        if known and table[columns.outcome].notna().all():
            raise ValueError(
                f"every outcome in {columns.outcome!r} is known, so no one is left to survey; to plan as if none were,"
                f" drop the outcome and ignore the column: --kind {columns.outcome}=ignore"
            )
        start = {} if known else {"start": []}
        arms = arm_values(table[columns.treatment], columns)
        start |= {"reference": columns.reference}
        problem = from_table(given, list(roles.kinds), columns.treatment, columns.outcome if known else None, **start)
        if scale is not None:
            own = {c: numbers(covariates[c], str(c)) for c in covariates}
            problem = replace(problem, pool=replace(problem.pool, x=encoded(own, scale)))
        response = positive_numbers(table, columns.response, "response")
        response[problem.start] = 1.0
        if (response > 1).any():
            where = f" in column {columns.response!r}" * isinstance(columns.response, str)
            raise ValueError(f"response is a probability, at most 1, got {response.max():g}{where}; write 70% as 0.7")
        homes = pd.Series(np.nan, table.index) if columns.cluster is None else table[columns.cluster]
        if columns.cluster is not None:
            check_spellings(homes, "the clusters")
            check_households(table, columns.cluster, columns.kinds or {})
        cost, clusters = positive_numbers(table, columns.cost, "cost"), pd.factorize(homes)[0].astype(np.int64)
        marked = [marked_units(table, column) for column in (columns.exclude, columns.include)]
        check_marks(problem, *marked, table.index, columns, arms)
        known = None if columns.propensity is None else known_propensity(table, columns.propensity, len(arms))
        sd = None if columns.sd is None else positive_numbers(table, columns.sd, "sd")
        given = {"propensity": known, "sd": sd, "cluster": columns.cluster}
        return cls(problem, cost, response, clusters, *marked, table, roles, arms, phase, **given)

    def __len__(self) -> int:
        return len(self.cost)

    @property
    def population(self) -> int:
        """Number of people in the whole table."""
        return len(self) if self.first_phase is None else self.first_phase.rows

    @property
    def weights(self) -> Outcomes:
        """People in the whole table that each unit represents, (n,)."""
        return np.ones(len(self)) if self.first_phase is None else self.first_phase.weights

    @cached_property
    def confounders(self) -> Covariates:
        """Covariates of the models of treatment, response and outcomes, (n, columns)."""
        return self.scaled(with_excess)

    @cached_property
    def modelled_response(self) -> Outcomes:
        """Response probability predicted by covariates in each arm, (n,), as in estimates; 1 for known outcomes."""
        t, found = self.problem.pool.t, self.response.copy()
        open_ = np.delete(np.arange(len(self)), self.problem.start)
        for arm in np.unique(t[open_]):
            own = open_[t[open_] == arm]
            if np.ptp(r := found[own]):
                x = self.confounders[own]
                found[own] = np.clip(Ridge().fit(x, r).predict(x), r.min(), r.max())
        return found

    def scaled(self, scaled: Scaling, names: Iterable[str] | None = None) -> Covariates:
        """Return covariates, all or some, with numbers scaled by ``scaled``, (n, columns)."""
        kinds = self.roles.kinds if names is None else {name: self.roles.kinds[name] for name in names}
        columns = prepared(self.table, kinds)
        named = {str(c): numbers(columns[c], str(c)) for c in columns}
        return encoded(named, np.arange(len(self)), scaled).astype(np.float64)

    @cached_property
    def proxies(self) -> Covariates:
        """Proxies of the outcome models, (n, columns); gaps are indicated, numbers imputed by covariates per arm."""
        parts = [np.empty((len(self), 0))]
        for name, column in prepared(self.table, self.roles.proxies).items():
            gap = column.isna().to_numpy()
            whole = column.where(~gap, column[~gap].iloc[0])
            part = encoded({str(name): numbers(whole, str(name))}, np.flatnonzero(~gap), with_excess).astype(np.float64)
            if self.roles.proxies[name] == "category":
                part[gap] = 0.0
            else:
                self._impute(part, gap)
            parts += [part, gap[:, None] * 1.0] if gap.any() else [part]
        return np.hstack(parts)

    def _impute(self, part: Covariates, gap: Mask) -> None:
        """Impute gaps in a number's columns, (n, k), by covariates in each arm."""
        for arm in np.unique(self.problem.pool.t[gap]):
            own = self.problem.pool.t == arm
            if (known := own & ~gap).sum() < 2:
                continue
            for column in part.T:
                model = Ridge().fit(self.confounders[known], column[known])
                column[own & gap] = model.predict(self.confounders[own & gap])

    def restricted_to(self, rows: Indices, phase: FirstPhase | None = None) -> "SamplingFrame":
        """Return some of the units.

        Args:
            rows: positions of the units, (k,).
            phase: their first phase, (k,) (default: unchanged).
        """
        if phase is None and self.first_phase is not None:
            phase = replace(
                self.first_phase, chances=self.first_phase.chances[rows], cells=self.first_phase.cells[rows]
            )
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        start, excluded, included = (
            place[units][place[units] >= 0] for units in (self.problem.start, self.excluded, self.included)
        )
        problem = replace(self.problem, pool=self.problem.pool[rows], start=start)
        parts = (self.cost[rows], self.response[rows], self.clusters[rows], excluded, included, self.table.iloc[rows])
        known, sd = (None if values is None else values[rows] for values in (self.propensity, self.sd))
        return SamplingFrame(
            problem, *parts, self.roles, self.arms, phase, propensity=known, sd=sd, cluster=self.cluster
        )

    def extended_by(self, others: pd.DataFrame, columns: Columns) -> "SamplingFrame":
        """Return the units followed by others, encoded on the scales of the first.

        Args:
            others: rows of the same table, by name; known ones are skipped.
            columns: roles of the columns.
        """
        others = others[~others.index.isin(self.table.index)]
        table = pd.concat([self.table, others])
        return SamplingFrame._read(table, columns, self.roles, None, np.arange(len(self)))

    def contrast(self, arm: int) -> tuple["SamplingFrame", Indices]:
        """Return the units of an arm and the reference arm, as treated and controls, and their positions, (k,)."""
        t = self.problem.pool.t
        rows = np.flatnonzero(np.isin(t, (0, arm)))
        view, treated = self.restricted_to(rows), (t[rows] == arm).astype(np.int64)
        problem = replace(view.problem, pool=replace(view.problem.pool, t=treated))
        return replace(view, problem=problem, arms=(self.arms[0], self.arms[arm])), rows

    def positions(self, names: Iterable[Any], what: str) -> Indices:
        """Return positions of units by name, (k,), also as a spreadsheet rewrites names.

        Raises:
            UnknownName: no such unit, or several.
            ValueError: a number whose digits a spreadsheet has removed.
        """
        names = list(names)
        places = self.table.index.get_indexer(pd.Index(names, dtype=object)).astype(np.int64)
        for k in np.flatnonzero(places < 0):
            places[k] = self._place(names[k], what)
        return places

    def has(self, names: Iterable[Any]) -> Mask:
        """Return which names are a unit's, (k,), also as a spreadsheet rewrites them."""
        return np.array([_spelling(name) in self._spelt for name in names], dtype=bool)

    def _place(self, name: Any, what: str) -> int:
        found = self._spelt.get(_spelling(name), [])
        if len(found) == 1:
            return found[0]
        if re.fullmatch(_ROUNDED, str(name)):
            raise ValueError(
                f"{name} in {what} is a long number whose digits a spreadsheet has removed; copy the names from the"
                " plan, with that column as text"
            )
        raise UnknownName(f"unit in {what}", name, self.table.index[found or slice(20)], guess=False)  # of others

    @cached_property
    def _spelt(self) -> dict[str, list[int]]:
        """Positions of units by the :func:`_spelling` of their names."""
        found: dict[str, list[int]] = {}
        for place, name in enumerate(self.table.index):
            found.setdefault(_spelling(name), []).append(place)
        return found

    def demands(
        self,
        budget: float | int,
        quotas: Sequence[Quota],
        rule: str,
        spend: float | int | None,
        known: Indices,
        refused: Rows,
    ) -> list[Constraint]:
        """Return all constraints on a plan, the budget first.

        Args:
            budget: money for units that are not known.
            quotas: quotas on groups.
            rule: cluster rule, "whole" or "one".
            spend: money per round, or None.
            known: labelled units.
            refused: refusals and pending reserves.
        """
        n, free = len(self), ~np.isin(np.arange(len(self)), known)
        demands = [at_most(f"a budget of {budget:g}", np.where(free, self.cost, 0.0), budget)]
        check_known("column in a quota", self.table.columns, *(quota.column for quota in quotas))
        for quota in quotas:
            check_spellings(self.table[quota.column], "a quota")
            quota.check_counts(self.table[quota.column])
            demands += quota.demands(self.table[quota.column], self.response, self.weights)
        bought = self.cluster_ids(rule, known, refused)
        out, must = np.setdiff1d(self.excluded, known), np.setdiff1d(self.included, np.append(known, refused))
        if (self.clusters >= 0).any():
            counted = ", known outcomes included" * bool((self.clusters[known] >= 0).any())
            one, all_of = f"at most one person per cluster{counted}", "whole clusters or none of their members"
            demands.append(
                at_most_one_per_cluster(one, self.clusters, known) if rule == "one" else all_or_none(all_of, bought)
            )
        price = self.of_clusters(bought, self.cost)
        if out.size:
            demands.append(exclude_units(f"{out.size} excluded", out, n))
        if refused.size:
            demands.append(exclude_units(f"{refused.size} refusals or pending reserves", refused, n))
        if spend is not None and (dear := np.flatnonzero(free & (price > spend * (1 + 1e-9)))).size:
            demands.append(
                exclude_units(f"at most {spend:g} per round, less than the cost of each of {dear.size} people", dear, n)
            )
        if must.size:
            demands.append(include_units(f"{must.size} mandatory", must, n))
        return demands

    def cells(self, quotas: Sequence[Quota]) -> list[pd.Series]:
        """Return what quotas distinguish, (n,) each, by the names of their columns."""
        by_key: dict[tuple[object, ...], list[Quota]] = {}
        for quota in quotas:
            by_key.setdefault(quota.key, []).append(quota)
        return [cells(same, self.table[key[0]]) for key, same in by_key.items() if key[0] in self.table]

    def cluster_ids(self, rule: str, known: Indices, refused: Rows) -> Arms:
        """Return the cluster that each unit is selected with, (n,), -1 if alone, known or a refusal."""
        clusters = self.clusters.copy() if rule == "whole" else np.full(len(self), -1)
        clusters[known] = clusters[refused] = -1
        return clusters

    def cluster_labels(self) -> Arms:
        """Return the cluster of each unit, (n,); units in none are clusters of their own."""
        alone = self.clusters.max(initial=-1) + 1 + np.arange(len(self))
        return np.where(self.clusters < 0, alone, self.clusters)

    @staticmethod
    def of_clusters(clusters: Arms, values: Money) -> Money:
        """Return the sum of values in each unit's cluster, (n,); its own value if it is in none."""
        return np.where(clusters < 0, values, np.bincount(clusters + 1, values)[clusters + 1])


def _spelling(name: Any) -> str:
    """Return a name without what a spreadsheet changes: white space, zeros around a whole number.

    >>> [_spelling(name) for name in ("00041", 24171.0, " p0043 ")]
    ['41', '24171', 'p0043']
    """
    return re.sub(r"(-?)0*(\d+)(?:\.0*)?", r"\1\2", text) if re.fullmatch(_WHOLE, text := str(name).strip()) else text


def _by_name(names: pd.Index) -> Arms:
    """Return rows sorted by name, whole numbers by size, (n,)."""
    keys = names if pd.api.types.is_integer_dtype(names.dtype) else names.astype(str)
    return keys.to_numpy().argsort(kind="stable")
