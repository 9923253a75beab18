"""A plan whose people are drawn, each with a chance that is known; see :mod:`macal.survey.inference.sampling`.

*Quotas* hold in every draw: people are drawn within strata, the combinations of values of the quotas' columns, and of
each stratum as many as the quotas allow. Whoever must be asked is a stratum by herself. Everybody who may be asked has
a chance, so each stratum has a label at least; where demands leave it none, that is an error.

*Costs, refusals.* An answer that comes with chance r_i adds worth_i^2 / (chance_i r_i) to the variance of the average
effect; r_i is what covariates and arm tell of it, for so estimates model it. With money for everybody asked, chance_i
proportional to s_i = worth_i / root of (r_i cost_i) makes the sum least; with money for answers, of which r_i cost_i is
expected, worth_i / (r_i root of cost_i) (Neyman's allocation with costs). The worth counts a guess of each person's
s.d., where there is one. The criterion's own plan goes by gain per cost already. The budget holds in every draw: the
mean cost is below it by the most that a draw may be dearer than the mean; see :mod:`macal.survey.inference.balanced`.
Labels go in one order whatever the budget, up to the first that it does not bear; so more money gives nobody a smaller
chance, but for what quotas need.

*Numbers.* n labels of a stratum leave (sum of s_i) (sum of s_i price_i) / n of that variance, the price being cost_i,
or r_i cost_i. So labels go one by one to the stratum where the fall, by the mean cost of a label, is largest, as far as
all demands can still be met (:mod:`macal.survey.stratum_counts`).

*Reserves.* Where some may not answer and labels cost the same, n + r of a stratum are drawn, in random order, as many
reserves r as there are labels n, if so many people are left. The first n are asked, and each has one of the others as a
reserve by that order. Who refuses is settled without looking at reserves; so those of them who are asked are, given
their number, a random part, and whoever is asked had the chance q a / (n + r): q to be drawn, a of the stratum asked.
Quotas then hold for the answers that are expected, a stratum's mean chance to answer, of those drawn, taken for
everybody in it.

*Clusters.* Where clusters are asked whole, they are what is drawn: a cluster costs what its people cost, and is worth
the sum of what they are worth, as if all of them left the same open; everybody in it has its chance. The same demands
and the same draw apply, a cluster being represented by its first person. A round holds so many clusters that the
largest ones do not exceed its size, or one; each round is then a sample with chances in the same proportions. Where one
of each cluster may be asked, somebody is drawn of each first, a share uniformly and the rest by worth; those are then
drawn as people are, and a weight is 1 over both chances. An excluded person takes her cluster out where it is asked
whole. Quotas are refused: only the draw decides how many of a group are asked.

Reference: W. G. Cochran, *Sampling Techniques*, Wiley, 1977, Section 5.5 (allocation with costs), 9A.2 (clusters drawn
with unequal chances).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from macal.acquisition import DEFAULT
from macal.datasets.encoding import check_spellings
from macal.logistic import PerArmChance
from macal.registry import check_known
from macal.shapes import Arms, Indices, Outcomes, Rows
from macal.survey.conflicts import Conflict
from macal.survey.constraints import Money
from macal.survey.greedy import GreedyPlan
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
from macal.survey.stratum_counts import Counts, PerStratum, StratumCounts, Totals

MISSING = "missing"  # group of whoever has no value
_WITHOUT = f"plan without draw: --criterion {DEFAULT}"
_MIN_SIZE_MEASURE = (
    1e-9  # worth of whoever is worth nothing, where more labels are to be drawn than people are worth something
)
_NO_UNITS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """Who is drawn with which chance.

    Attributes:
        chances: of each lot, (n,), at the place of the unit that represents it; 0 for whoever represents none.
        strata: number of the stratum of each lot, (n,), -1 for whoever represents none.
        n_reserves: reserves of each stratum, (strata,).
        units: what is drawn.
    """

    chances: Outcomes
    strata: Arms
    n_reserves: Counts
    units: "SamplingUnits"

    def inclusion_of(self, units: Indices) -> Outcomes:
        """Chance of each of some units to be asked, (k,)."""
        return self.chances[self.units.representative[units]] * self.units.within_cluster_probability[units]


@dataclass(frozen=True, eq=False)
class SamplingUnits:
    """What is drawn: people, whole clusters, or one person of each cluster.

    Attributes:
        people: as they are drawn, without clusters; whoever represents a cluster costs what it costs.
        size_measure: what chances are proportional to, but for the uniform share, (n,).
        price: what a label of each is expected to cost, (n,).
        representative: unit that represents each one, (n,); -1 for whoever was not drawn to represent her cluster.
        within_cluster_probability: chance of each to represent her cluster, where one of each is asked, (n,); else 1.
        propensity: chance of each arm, (n, arms), where people are drawn for an effect.
    """

    people: SamplingFrame
    size_measure: Outcomes
    price: Money
    representative: Rows
    within_cluster_probability: Outcomes
    propensity: PerArmChance | None = None

    @cached_property
    def _in_order(self) -> tuple[Indices, Indices]:
        """Units lot after lot, and which each of them is in."""
        order = self.representative.argsort(kind="stable")
        return order, self.representative[order]

    @property
    def others(self) -> Indices:
        """Units that represent no lot, (k,)."""
        return np.flatnonzero(self.representative != np.arange(len(self.representative)))

    def members(self, heads: Indices) -> Rows:
        """Units of these heads, cluster after cluster."""
        order, units = self._in_order
        first, last = (np.searchsorted(units, heads, side) for side in ("left", "right"))
        return np.concatenate([order[a:b] for a, b in zip(first, last, strict=True)])


def sampling_design(
    people: SamplingFrame, policy: Policy, ranked: GreedyPlan, units: SamplingUnits | None = None
) -> SamplingDesign:
    """Chances to be drawn.

    Args:
        people: the table.
        policy: how a plan is made; the chances follow the criterion's plan or the worth for the average effect.
        ranked: the plan that the criterion makes.
        units: of a draw for an effect under another budget, to spare the work.

    Raises:
        Conflict: no draw meets all demands.
        ValueError: demands that a draw with known chances cannot keep to, or that leave somebody without a chance.
    """
    units = sampling_units(people, policy, ranked) if units is None else units
    people, size, strata = units.people, units.size_measure, strata_of(units.people, policy, units.others)
    own, range_ = strata >= 0, pd.Series(people.cost).groupby(strata)
    kept = float((range_.max() - range_.min()).drop(-1, errors="ignore").max()) if own.any() else 0.0
    if not own.any() or policy.budget < people.cost[own].min():
        return SamplingDesign(np.zeros(len(people)), strata, np.zeros(0, np.int64), units)
    if policy.budget <= kept:
        raise ValueError(_too_small(people, policy, strata))
    numbers = _allocation(units, policy, strata, policy.budget - kept, ranked)
    chances, spare = np.zeros(len(people)), _reserve_counts(units, strata, numbers)
    for k in np.flatnonzero(numbers):
        whole = int(numbers[k] + spare[k])
        chances[strata == k] = _stratum_inclusion(size[strata == k], whole, policy.uniform) * (numbers[k] / whole)
    return SamplingDesign(chances, strata, spare, units)


def _reserve_counts(units: SamplingUnits, strata: Arms, numbers: Counts) -> Counts:
    """Reserves of each stratum, (strata,): none for a cluster, where everybody answers, or where costs differ."""
    has_clusters = (units.representative[units.others] >= 0).any()
    if (units.people.response == 1).all() or has_clusters or not _is_one(units.people.cost[strata >= 0]):
        return np.zeros_like(numbers)
    return np.minimum(numbers, np.bincount(strata[strata >= 0]) - numbers)


def _stratum_inclusion(size: Outcomes, number: int, uniform: float) -> Outcomes:
    """Chances within a stratum, (k,)."""
    if np.count_nonzero(size) < number:
        size = np.maximum(size, _MIN_SIZE_MEASURE * (size.max() or 1.0))
    return inclusion_probabilities(size, number, uniform)


def strata_of(people: SamplingFrame, policy: Policy, others: Rows = _NO_UNITS) -> Arms:
    """Number of the stratum in which each unit is drawn, (n,), -1 for whoever is not, and for others."""
    cells = [np.zeros(len(people)), *(cell.to_numpy() for cell in people.cells(policy.parsed))]
    strata = pd.DataFrame(dict(enumerate(cells))).groupby(list(range(len(cells))), dropna=False).ngroup()
    strata = strata.to_numpy(np.int64, copy=True)
    strata[people.included] = strata.max(initial=0) + 1 + np.arange(len(people.included))
    strata[people.problem.start] = strata[people.excluded] = strata[others] = -1
    strata[strata >= 0] = np.unique(strata[strata >= 0], return_inverse=True)[1]
    return strata


def representatives(people: SamplingFrame, policy: Policy) -> Indices:
    """The unit that represents each one, (n,): the first of a cluster that is asked whole, else herself."""
    clusters, alone = people.cluster_ids(policy.cluster_rule, people.problem.start, _NO_UNITS), np.arange(len(people))
    return np.where(clusters < 0, alone, pd.Series(alone).groupby(clusters).transform("min").to_numpy())


def ineligible(people: SamplingFrame, policy: Policy) -> Indices:
    """Units that cannot be asked, (k,): excluded, with whoever would be asked with them."""
    out, heads = np.setdiff1d(people.excluded, people.problem.start), representatives(people, policy)
    return np.flatnonzero(np.isin(heads, heads[out]))


def eligible(people: SamplingFrame, policy: Policy) -> Indices:
    """All other units, (k,): who may be asked, or has an outcome."""
    return np.setdiff1d(np.arange(len(people)), ineligible(people, policy))


def sampling_units(people: SamplingFrame, policy: Policy, ranked: GreedyPlan | None = None) -> SamplingUnits:
    """What is drawn, for an effect or by a plan; of clusters of which one each is asked, that one is drawn here.

    Raises:
        ValueError: demands that a draw with known chances cannot keep to, or an arm with too few people.
    """
    _refuse(people, policy)
    head, first = representatives(people, policy), np.ones(len(people))
    clusters = people.cluster_ids(policy.cluster_rule, people.problem.start, _NO_UNITS)
    cost, out = people.of_clusters(clusters, people.cost), ineligible(people, policy)
    e, price = propensities(people, policy) if policy.draw == "effect" else None, cost
    size = _size(people, policy, ranked, e)
    if e is not None:
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
    """Draw one of each cluster; units lie cluster by cluster.

    Returns:
        Chance of each to be drawn, (k,); places of those drawn, (clusters,).
    """
    start, which, heads = np.unique(clusters, return_index=True, return_inverse=True, return_counts=True)[1:]
    total = np.bincount(which, size)
    even = 1 / heads[which]
    share = np.divide(size, total[which], out=even.copy(), where=total[which] > 0)
    chances = uniform * even + (1 - uniform) * share
    # chances of those before each and hers, within her cluster
    up_to = chances.cumsum() - np.append(0.0, chances.cumsum())[start][which]
    before = np.bincount(which, up_to <= rng.random(len(start))[which], len(start)).astype(np.int64)
    return chances, start + np.minimum(before, heads - 1)


def propensities(people: SamplingFrame, policy: Policy) -> PerArmChance:
    """Chance of each arm, (n, arms): known, or estimated.

    Raises:
        ValueError: an arm has too few people.
    """
    if people.propensity is not None:
        return of_each_arm(people.propensity)
    try:
        t, arms = people.problem.pool.t, people.arms
        return of_each_arm(crossfit_propensity(people.confounders, t, policy.seed, people.weights, names=arms))
    except ValueError as error:
        raise ValueError(f"{error}; add people of that arm, leave it out of the table, or {_WITHOUT}") from error


def _size(people: SamplingFrame, policy: Policy, ranked: GreedyPlan | None, e: PerArmChance | None) -> Outcomes:
    """What a label of each unit is worth, (n,): for an effect where chances of the arms are given, else by a plan."""
    if e is not None:
        groups = None if policy.by is None else groups_of(people, policy.by)
        worth = size_measure(policy.target, e, people.problem.pool.t, groups=groups) * people.weights
        return worth * (1.0 if people.sd is None else people.sd) / np.sqrt(people.modelled_response)
    picks = np.concatenate([_NO_UNITS, *ranked.rounds().filled])
    return np.isin(np.arange(len(people)), picks).astype(float)


def groups_of(people: SamplingFrame, by: str) -> np.ndarray:
    """Value of a column for each unit, (n,); :data:`MISSING` where there is none.

    Raises:
        UnknownName: no such column.
    """
    check_known("column of groups", people.table.columns, by)
    column = people.table[by]
    check_spellings(column, "groups")
    return column.astype(object).where(column.notna(), MISSING).to_numpy()


def _allocation(units: SamplingUnits, policy: Policy, strata: Arms, money: float, ranked: GreedyPlan) -> Counts:
    """Labels of each stratum, (strata,)."""
    people, size, own = units.people, units.size_measure, strata >= 0

    def total(values: Outcomes) -> PerStratum:
        return np.bincount(strata[own], values[own])

    heads, s, priced = total(np.ones(len(size))), total(size), total(size * units.price)

    def mean(values: Outcomes) -> PerStratum:
        """Of a label of each stratum."""
        flat = total(values) / heads
        by_size = np.divide(total(size * values), s, out=flat.copy(), where=s > 0)
        return policy.uniform * flat + (1 - policy.uniform) * by_size

    each, answering = mean(people.cost), mean(people.response)
    inside = [strata == k for k in range(len(each))]
    totals = [mean_costs(size[k], people.cost[k], policy.uniform) for k in inside]
    try:
        numbers = _nothing_bought(people, policy, strata, each, answering, money, totals)
    except Conflict as found:
        try:
            Purchases(ranked.demands, ranked.cost, ranked.state.labelled, ranked.clusters)
        except Conflict as also:  # no plan without draw meets the demands either
            raise Conflict(replace(also.found, nearest=found.found.nearest)) from found
        raise Conflict(found.found, "draw", f", or {_WITHOUT}") from found
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
    # n labels leave j certain, the first for which (n - j) s_j / rest_j is at most 1
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
    """Counts of labels, each of which costs, and is answered, as one of its stratum is on average."""
    known = people.problem.start
    own = strata >= 0
    cost, response = (np.where(own, m[strata], v) for m, v in ((each, people.cost), (answering, people.response)))
    alike = replace(people, cost=cost, response=response)
    demands = alike.demands(max(money, 0.0), policy.parsed, policy.cluster_rule, None, known, _NO_UNITS)
    kept = f" ({policy.budget:g}, less what a draw may be dearer than the mean)" if money != policy.budget else ""
    demands[0] = replace(demands[0], name=demands[0].name + kept)
    return StratumCounts(demands, alike.cost, known, strata, totals)


def draw_rounds(people: SamplingFrame, policy: Policy, chosen: SamplingDesign) -> list[Indices]:
    """Draw the rounds of a plan, in random order: each is by itself a sample with chances in the same proportions."""
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
        raise ValueError(f"a round of {policy.batch_cost:g} buys nobody: an answer costs {cost[0]:g}")
    return [chosen.units.members(units[k : k + size]) for k in range(0, len(units), size)]


def assign_reserves(policy: Policy, chosen: SamplingDesign) -> dict[int, int]:
    """The reserve of each unit of the plan that has one."""
    free = np.flatnonzero(chosen.chances)
    if not chosen.n_reserves.any():
        return {}
    parts = _ordered(chosen, free, np.random.default_rng([policy.seed, free.size]))
    pairs = [zip(units[:number].tolist(), units[number:].tolist(), strict=False) for units, number in parts]
    return {unit: other for pair in pairs for unit, other in pair}


def _ordered(chosen: SamplingDesign, free: Indices, rng: np.random.Generator) -> list[tuple[Rows, int]]:
    """Units drawn of each stratum, reserves last, and how many of them are asked at first."""
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
    one = "ask one of each cluster (--cluster-rule one), " * is_whole
    return (
        f"a budget of {policy.budget:g} is too small for a draw: {who} costs {high[dear]:g} and the cheapest"
        f" {low[dear]:g}, and the {high[dear] - low[dear]:g} between them is kept back, so that the money lasts whoever"
        f" is drawn; raise the budget to about {enough:.4g}, {one}exclude {who}, or {_WITHOUT}"
    )


def _no_chance(people: SamplingFrame, policy: Policy, unit: int, nearest: Sequence[str]) -> str:
    values = " and ".join(f"{cell.name} = {cell.iloc[unit]}" for cell in people.cells(policy.parsed))
    who = f" with {values}" if values else ""
    ways = "; or ".join([*(f"plan with {way}" for way in nearest), "exclude them", _WITHOUT])
    return f"the demands leave nobody{who} a chance to be drawn, and no weight could speak for such people; {ways}"


def _refuse(people: SamplingFrame, policy: Policy) -> None:
    cluster, is_one = people.clusters[people.clusters >= 0], policy.cluster_rule == "one"
    cost = people.of_clusters(people.cluster_ids(policy.cluster_rule, people.problem.start, _NO_UNITS), people.cost)
    sure = people.clusters[np.union1d(people.problem.start, people.included)]
    found = {
        "quotas on people of clusters, for only the draw decides how many of a group are asked": bool(
            cluster.size and policy.parsed
        ),
        "clusters of a sample": bool(cluster.size and people.first_phase is not None),
        "one of each cluster where somebody must be asked or has an outcome, for her neighbours would have no chance": (
            is_one and bool((sure >= 0).any())
        ),
        "rounds of so much money where costs differ, for the dear would come late": policy.batch_cost is not None
        and not _is_one(cost),
    }
    if wrong := " and ".join(name for name, there in found.items() if there):
        raise ValueError(f"a draw with known chances cannot keep to {wrong}; leave that out, or {_WITHOUT}")
