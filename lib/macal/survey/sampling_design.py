"""Sampling designs with known inclusion probabilities; the estimate that they serve is in book/enough.md (sec-drawn).

Quotas define strata; a mandatory unit is a stratum by itself. A label of unit i with response probability r_i adds
size_i^2 / (pi_i r_i) to the variance, so pi_i is proportional to size_i / sqrt(r_i cost_i) if everyone surveyed is
paid, and to size_i / (r_i sqrt(cost_i)) if only answers are (Cochran 1977, 5.5). n labels of a stratum leave
(sum s_i) (sum s_i price_i) / n, and go one by one to the stratum with the largest fall per cost
(:mod:`macal.survey.stratum_counts`). Money is held back so that the budget suffices for every sample, unless
it pays for everyone.

Reserves: n + r units of a stratum are drawn in random order, and the first n surveyed; if a are surveyed in the end,
each had probability q a / (n + r), q being its probability of being drawn. Clusters: whole ones are sampling units with
summed sizes and costs (Cochran 1977, 9A.2); under the rule "one", one member of each is drawn first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from macal.acquisition import DEFAULT
from macal.datasets.encoding import check_spellings
from macal.registry import check_known
from macal.shapes import Arms, Counts, Indices, Money, Outcomes, PerArmChance, PerStratum, Rows, Totals
from macal.survey.conflicts import Conflict
from macal.survey.inference import (
    crossfit_propensity,
    draw_balanced,
    draw_sample,
    inclusion_probabilities,
    size_measure,
)
from macal.survey.inference.weighted import of_each_arm
from macal.survey.policy import Policy
from macal.survey.purchases import Purchases
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.stratum_counts import StratumCounts

MISSING = "missing"  # group of units without a value
_WITHOUT = f"plan without a sample (--criterion {DEFAULT})"
_MIN_SIZE_MEASURE = 1e-9  # replaces sizes of 0 if too few are positive
_NO_UNITS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """A sampling design: inclusion probabilities, strata, reserves.

    Attributes:
        chances: inclusion probability of each sampling unit, (n,), at its representative; else 0.
        strata: stratum of each sampling unit, (n,), at its representative; else -1.
        n_reserves: reserves of each stratum, (strata,).
        units: the sampling units.
    """

    chances: Outcomes
    strata: Arms
    n_reserves: Counts
    units: "SamplingUnits"

    def inclusion_of(self, units: Indices) -> Outcomes:
        """Return the inclusion probabilities of some units, (k,)."""
        return self.chances[self.units.representative[units]] * self.units.within_cluster_probability[units]


@dataclass(frozen=True, eq=False)
class SamplingUnits:
    """Sampling units: people, whole clusters, or one person of each cluster.

    Attributes:
        people: the frame without clusters; a representative has the cost of its cluster.
        size_measure: size measure of inclusion probabilities apart from the uniform share, (n,).
        price: expected cost of a label, (n,).
        representative: representative of each unit, (n,); -1 if another member was drawn.
        within_cluster_probability: probability of representing the cluster under the rule "one", (n,); else 1.
        propensity: probability of each arm, (n, arms), in samples for an effect.
    """

    people: SamplingFrame
    size_measure: Outcomes
    price: Money
    representative: Rows
    within_cluster_probability: Outcomes
    propensity: PerArmChance | None = None

    @cached_property
    def _in_order(self) -> tuple[Indices, Indices]:
        """Units by sampling unit, and the representative of each."""
        order = self.representative.argsort(kind="stable")
        return order, self.representative[order]

    @property
    def others(self) -> Indices:
        """Units that represent no sampling unit, (k,)."""
        return np.flatnonzero(self.representative != np.arange(len(self.representative)))

    def members(self, heads: Indices) -> Rows:
        """Return the units of these representatives, cluster by cluster."""
        order, units = self._in_order
        first, last = (np.searchsorted(units, heads, side) for side in ("left", "right"))
        return np.concatenate([order[a:b] for a, b in zip(first, last, strict=True)])


def sampling_design(
    people: SamplingFrame, policy: Policy, picks: Indices | None = None, units: SamplingUnits | None = None
) -> SamplingDesign:
    """Return the sampling design.

    Args:
        people: the table.
        policy: settings.
        picks: units that the criterion plans, for a sample by it, (k,).
        units: sampling units under another budget, to save work.

    Raises:
        Conflict: no sample meets all constraints.
        ValueError: constraints that a probability sample cannot meet, or that give a unit probability 0.
    """
    known, rule = people.problem.start, policy.cluster_rule
    demands = people.demands(float(policy.budget), policy.parsed, rule, policy.batch_cost, known, _NO_UNITS)
    units = sampling_units(people, policy, picks) if units is None else units
    every, people, size = people, units.people, units.size_measure
    strata = strata_of(people, policy, units.others)
    own = strata >= 0
    if not own.any() or policy.budget < people.cost[own].min():
        return SamplingDesign(np.zeros(len(people)), strata, np.zeros(0, np.int64), units)
    pays_all = people.cost[own].sum() <= policy.budget * (1 + 1e-9)
    kept = 0.0 if pays_all else float(pd.Series(people.cost[own]).groupby(strata[own]).agg(np.ptp).max())
    if policy.budget <= kept:
        raise ValueError(_too_small(people, policy, strata))
    try:
        numbers = _allocation(units, policy, strata, policy.budget - kept)
    except Conflict as found:
        try:
            Purchases(demands, every.cost, known, every.cluster_ids(rule, known, _NO_UNITS))
        except Conflict as also:  # infeasible without a sample, too
            raise Conflict(replace(also.found, nearest=found.found.nearest)) from found
        raise Conflict(found.found, "sample", f", or {_WITHOUT}") from found
    chances, spare = np.zeros(len(people)), _reserve_counts(units, strata, numbers)
    for k in np.flatnonzero(numbers):
        whole = int(numbers[k] + spare[k])
        chances[strata == k] = _stratum_inclusion(size[strata == k], whole, policy.uniform) * (numbers[k] / whole)
    return SamplingDesign(chances, strata, spare, units)


def _reserve_counts(units: SamplingUnits, strata: Arms, numbers: Counts) -> Counts:
    """Return reserves per stratum, (strata,); none for clusters, certain answers or unequal costs."""
    has_clusters = (units.representative[units.others] >= 0).any()
    if (units.people.response == 1).all() or has_clusters or not _is_one(units.people.cost[strata >= 0]):
        return np.zeros_like(numbers)
    return np.minimum(numbers, np.bincount(strata[strata >= 0]) - numbers)


def _stratum_inclusion(size: Outcomes, number: int, uniform: float) -> Outcomes:
    """Return inclusion probabilities within a stratum, (k,)."""
    if np.count_nonzero(size) < number:
        size = np.maximum(size, _MIN_SIZE_MEASURE * (size.max() or 1.0))
    return inclusion_probabilities(size, number, uniform)


def strata_of(people: SamplingFrame, policy: Policy, others: Rows = _NO_UNITS) -> Arms:
    """Return the stratum of each unit, (n,), -1 for ineligible, known and ``others``."""
    cells = [np.zeros(len(people)), *(cell.to_numpy() for cell in people.cells(policy.parsed))]
    strata = pd.DataFrame(dict(enumerate(cells))).groupby(list(range(len(cells))), dropna=False).ngroup()
    strata = strata.to_numpy(np.int64, copy=True)
    strata[people.included] = strata.max(initial=0) + 1 + np.arange(len(people.included))
    strata[people.problem.start] = strata[people.excluded] = strata[others] = -1
    strata[strata >= 0] = np.unique(strata[strata >= 0], return_inverse=True)[1]
    return strata


def representatives(people: SamplingFrame, policy: Policy) -> Indices:
    """Return the representative of each unit, (n,): the first of a whole cluster, else the unit itself."""
    clusters, alone = people.cluster_ids(policy.cluster_rule, people.problem.start, _NO_UNITS), np.arange(len(people))
    return np.where(clusters < 0, alone, pd.Series(alone).groupby(clusters).transform("min").to_numpy())


def ineligible(people: SamplingFrame, policy: Policy) -> Indices:
    """Return ineligible units, (k,): excluded ones, and others in their whole clusters."""
    out, heads = np.setdiff1d(people.excluded, people.problem.start), representatives(people, policy)
    return np.flatnonzero(np.isin(heads, heads[out]))


def sampling_units(people: SamplingFrame, policy: Policy, picks: Indices | None = None) -> SamplingUnits:
    """Return the sampling units; under the cluster rule "one" the members are drawn here.

    Size measures follow the average effect or, for a sample by a criterion, its ``picks``, (k,).

    Raises:
        ValueError: constraints that a probability sample cannot meet, or an arm with too few people.
    """
    _refuse(people, policy)
    head, first = representatives(people, policy), np.ones(len(people))
    clusters = people.cluster_ids(policy.cluster_rule, people.problem.start, _NO_UNITS)
    cost, out = people.of_clusters(clusters, people.cost), ineligible(people, policy)
    e, price = None, cost
    if picks is not None:
        size = np.isin(np.arange(len(people)), picks).astype(float)
    else:
        e = propensities(people, policy)
        size = _size_for_effect(people, policy, e)
        if policy.pay == "answered":
            price = people.of_clusters(clusters, people.cost * people.modelled_response)
        size = people.of_clusters(clusters, size) / np.sqrt(price / price.min())
    if policy.cluster_rule == "one":
        rng, free = np.random.default_rng([policy.seed, len(people), 1]), people.clusters >= 0
        free[out] = False
        units = np.flatnonzero(free)[people.clusters[free].argsort(kind="stable")]
        first[units], chosen = _one_per_cluster(people.clusters[units], size[units], policy.uniform, rng)
        head[np.setdiff1d(units, units[chosen])] = -1
        size = size / first
    alone, included = np.full(len(people), -1), np.unique(head[people.included])
    people = replace(people, cost=cost, clusters=alone, included=included, excluded=out)
    return SamplingUnits(people, size, price, head, first, e)


def _one_per_cluster(
    clusters: Arms, size: Outcomes, uniform: float, rng: np.random.Generator
) -> tuple[Outcomes, Indices]:
    """Draw one unit of each cluster; units are sorted by cluster.

    Returns:
        Inclusion probabilities, (k,); places of the units drawn, (clusters,).
    """
    start, which, heads = np.unique(clusters, return_index=True, return_inverse=True, return_counts=True)[1:]
    total = np.bincount(which, size)
    even = 1 / heads[which]
    share = np.divide(size, total[which], out=even.copy(), where=total[which] > 0)
    chances = uniform * even + (1 - uniform) * share
    # cumulative probabilities within the cluster
    up_to = chances.cumsum() - np.append(0.0, chances.cumsum())[start][which]
    before = np.bincount(which, up_to <= rng.random(len(start))[which], len(start)).astype(np.int64)
    return chances, start + np.minimum(before, heads - 1)


def propensities(people: SamplingFrame, policy: Policy) -> PerArmChance:
    """Return propensity scores, (n, arms), known or estimated.

    Raises:
        ValueError: an arm has too few people.
    """
    if people.propensity is not None:
        return of_each_arm(people.propensity)
    try:
        t, arms = people.problem.pool.t, people.arms
        return of_each_arm(crossfit_propensity(people.confounders, t, policy.seed, people.weights, names=arms))
    except ValueError as error:
        raise ValueError(f"{error}; add people of that arm, drop it from the table, or {_WITHOUT}") from error


def _size_for_effect(people: SamplingFrame, policy: Policy, e: PerArmChance) -> Outcomes:
    """Return size measures for the average effect, (n,), from propensity scores ``e``."""
    groups = None if policy.by is None else groups_of(people, policy.by)
    worth = size_measure(policy.target, e, people.problem.pool.t, groups=groups) * people.weights
    return worth * (1.0 if people.sd is None else people.sd) / np.sqrt(people.modelled_response)


def groups_of(people: SamplingFrame, by: str) -> np.ndarray:
    """Return the value of a column for each unit, (n,), or :data:`MISSING`.

    Raises:
        UnknownName: no such column.
    """
    check_known("column of groups", people.table.columns, by)
    column = people.table[by]
    check_spellings(column, "groups")
    return column.astype(object).where(column.notna(), MISSING).to_numpy()


def _allocation(units: SamplingUnits, policy: Policy, strata: Arms, money: float) -> Counts:
    """Return the allocation to strata, (strata,)."""
    people, size, own = units.people, units.size_measure, strata >= 0

    def total(values: Outcomes) -> PerStratum:
        return np.bincount(strata[own], values[own])

    heads, s, priced = total(np.ones(len(size))), total(size), total(size * units.price)

    def mean(values: Outcomes) -> PerStratum:
        """Return the expected value of a label of each stratum."""
        flat = total(values) / heads
        by_size = np.divide(total(size * values), s, out=flat.copy(), where=s > 0)
        return policy.uniform * flat + (1 - policy.uniform) * by_size

    each, answering = mean(people.cost), mean(people.response)
    inside = [strata == k for k in range(len(each))]
    totals = [mean_costs(size[k], people.cost[k], policy.uniform) for k in inside]
    numbers = _nothing_bought(people, policy, strata, each, answering, money, totals)
    for k in range(len(each)):
        if not numbers.buy(k):
            is_small = numbers.is_short and money < policy.budget
            one = int(np.flatnonzero(strata == k)[0])
            small = _too_small(people, policy, strata)
            raise ValueError(small if is_small else _no_chance(people, policy, one, numbers.nearest()))
    while (left := np.flatnonzero(numbers.open)).size:
        # s priced / n - s priced / (n + 1), by cost
        gain = s * priced / (numbers.bought * (numbers.bought + 1)) / each
        k = int(left[gain[left].argmax()])
        some = int(heads[k]) if left.size == 1 else 1
        while not numbers.buy(k, some) and some > 1:
            some //= 2
        if numbers.is_short:
            break
    numbers.fill()
    return numbers.bought


def mean_costs(size: Outcomes, cost: Money, uniform: float) -> Totals:
    """Return the mean cost of 0, 1, 2, ... labels of a stratum of k people, (k + 1,)."""
    size = np.maximum(size, _MIN_SIZE_MEASURE * (size.max() or 1.0))
    order, number = size.argsort()[::-1], np.arange(1, len(size) + 1)
    s, c = size[order], cost[order]
    rest, of_rest = s[::-1].cumsum()[::-1], (s * c)[::-1].cumsum()[::-1]
    # with n labels, j are certain: the first for which (n - j) s_j / rest_j is at most 1
    j = np.searchsorted(np.arange(len(s)) + rest / s, number - 1e-9).clip(max=len(s) - 1)
    by_size = np.append(0.0, c.cumsum())[j] + (number - j) / rest[j] * of_rest[j]
    return np.append(0.0, uniform * number * cost.mean() + (1 - uniform) * by_size)


def _nothing_bought(
    people: SamplingFrame,
    policy: Policy,
    strata: Arms,
    each: PerStratum,
    answering: PerStratum,
    money: float,
    totals: Sequence[Totals],
) -> StratumCounts:
    """Return empty counts, with mean costs and response probabilities per stratum."""
    known = people.problem.start
    own = strata >= 0
    cost, response = (np.where(own, m[strata], v) for m, v in ((each, people.cost), (answering, people.response)))
    alike = replace(people, cost=cost, response=response)
    demands = alike.demands(max(money, 0.0), policy.parsed, policy.cluster_rule, None, known, _NO_UNITS)
    kept = f" ({policy.budget:g}, less what is held back for an expensive sample)" if money != policy.budget else ""
    demands[0] = replace(demands[0], name=demands[0].name + kept)
    return StratumCounts(demands, alike.cost, known, strata, totals)


def draw_rounds(people: SamplingFrame, policy: Policy, chosen: SamplingDesign) -> list[Indices]:
    """Draw the rounds of a plan, each by itself a sample with proportional probabilities."""
    free = np.flatnonzero(chosen.chances)
    if not free.size:
        return []
    cost, rng = chosen.units.people.cost[free], np.random.default_rng([policy.seed, free.size])
    if _is_one(cost):
        parts = [units[:number] for units, number in _ordered(chosen, free, rng)]
        units = parts[0] if len(parts) == 1 else rng.permutation(np.concatenate(parts))
    else:
        units = free[draw_balanced(chosen.chances[free], chosen.strata[free], cost, rng)]
    largest = int(np.bincount(chosen.units.representative[chosen.units.representative >= 0])[free].max())
    limits = [
        policy.batch_size and max(policy.batch_size // largest, 1),
        policy.batch_cost and int(policy.batch_cost / cost[0] * (1 + 1e-9)),
    ]
    size = min((int(k) for k in limits if k is not None), default=len(units))
    if not size:
        raise ValueError(f"a round of {policy.batch_cost:g} is too small: an answer costs {cost[0]:g}; raise it")
    return [chosen.units.members(units[k : k + size]) for k in range(0, len(units), size)]


def assign_reserves(policy: Policy, chosen: SamplingDesign) -> dict[int, int]:
    """Return the reserve of each planned unit that has one."""
    free = np.flatnonzero(chosen.chances)
    if not chosen.n_reserves.any():
        return {}
    parts = _ordered(chosen, free, np.random.default_rng([policy.seed, free.size]))
    pairs = [zip(units[:number].tolist(), units[number:].tolist(), strict=False) for units, number in parts]
    return {unit: other for pair in pairs for unit, other in pair}


def _ordered(chosen: SamplingDesign, free: Indices, rng: np.random.Generator) -> list[tuple[Rows, int]]:
    """Return the units drawn per stratum, reserves last, and how many of them are not reserves."""
    parts = []
    for k in np.unique(chosen.strata[free]):
        units = free[chosen.strata[free] == k]
        number = round(chosen.chances[units].sum())
        whole = number + int(chosen.n_reserves[k])
        parts.append((units[draw_sample(np.minimum(chosen.chances[units] * (whole / number), 1.0), rng)], number))
    return parts


def _is_one(cost: Money) -> bool:
    return bool((cost == cost[0]).all())


def _too_small(people: SamplingFrame, policy: Policy, strata: Arms) -> str:
    own = pd.Series(people.cost).where(strata >= 0).groupby(strata)
    low, high = own.transform("min"), own.transform("max")
    dear = int((people.cost - low).argmax())
    is_whole = policy.cluster_rule == "whole" and people.cluster is not None
    who = str(people.table.index[dear])
    if is_whole and pd.notna(home := people.table[people.cluster].iloc[dear]):
        who = f"{people.cluster} {home}"
    enough = float((high - low).max() + own.mean().sum())
    one = "survey one per cluster (--cluster-rule one), " * is_whole
    return (
        f"a budget of {policy.budget:g} is too small for a sample: {who} costs {high[dear]:g} and the cheapest"
        f" {low[dear]:g}; the difference of {high[dear] - low[dear]:g} is held back so that the budget suffices for any"
        f" sample; raise the budget to about {enough:.4g}, {one}exclude {who}, or {_WITHOUT}"
    )


def _no_chance(people: SamplingFrame, policy: Policy, unit: int, nearest: Sequence[str]) -> str:
    values = " and ".join(f"{cell.name} = {cell.iloc[unit]}" for cell in people.cells(policy.parsed))
    who = f" with {values}" if values else ""
    ways = "; or ".join([*(f"plan with {way}" for way in nearest), "exclude them", _WITHOUT])
    return f"the constraints give people{who} no chance of selection, so no weight can represent them; {ways}"


def _refuse(people: SamplingFrame, policy: Policy) -> None:
    cluster, is_one = people.clusters[people.clusters >= 0], policy.cluster_rule == "one"
    cost = people.of_clusters(people.cluster_ids(policy.cluster_rule, people.problem.start, _NO_UNITS), people.cost)
    sure = people.clusters[np.union1d(people.problem.start, people.included)]
    wrong = ["quotas on clustered people"] * bool(cluster.size and policy.parsed)
    wrong += ["clusters in a first-phase sample"] * bool(cluster.size and people.first_phase is not None)
    if is_one and (sure >= 0).any():
        wrong.append("--cluster-rule one in clusters with a mandatory person or an outcome")
    wrong += ["rounds by cost if costs differ"] * (policy.batch_cost is not None and not _is_one(cost))
    if wrong:
        raise ValueError(f"a probability sample cannot have {' and '.join(wrong)}; leave that out, or {_WITHOUT}")
