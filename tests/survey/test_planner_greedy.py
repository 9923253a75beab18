"""Plans under demands: none is ever broken, and every purchase is the best that could be made, by brute force."""

import os
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from cases import drawn, each, exhaustive, part_and_whole
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csc_array
from scipy.spatial.distance import cdist

import macal
from macal.acquisition import PoolState, plan_batches
from macal.search import pairs
from macal.search.rows import power_of_two
from macal.survey import conflicts, feasible
from macal.survey.conflicts import Conflict
from macal.survey.constraints import Quota, all_or_none, at_most, at_most_one_per_cluster, exclude_units, include_units
from macal.survey.greedy import GreedyPlan
from macal.survey.purchases import Purchases
from macal.survey.stratum_counts import StratumCounts

LABEL_FREE = [name for name in macal.names() if not macal.acquisition.CRITERIA[name].factory.needs]
PLANNED = [name for name in LABEL_FREE if name != "macal-rolling"]


def make_task(name, x, t, known, demands, cost, clusters=None, size=10, spend=None, first=(), seed=0):
    state = PoolState(x, t, np.asarray(known, np.int64), np.random.default_rng(seed))
    clusters = np.full(len(t), -1) if clusters is None else clusters
    price = cost / cost.min()
    return GreedyPlan(macal.get(name), state, demands, cost, price, clusters, np.array(first, np.int64), size, spend)


@pytest.mark.parametrize(
    ("size", "kind"),
    [(7, "lattice"), exhaustive(7, "continuous"), exhaustive(10, "lattice"), exhaustive(10, "continuous")],
)
@each("name", PLANNED)
def test_unit_costs_and_no_other_demand_give_todays_plan(name, kind, size):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((120, 4)) if kind == "continuous" else rng.integers(0, 3, (120, 3)).astype(float)
    t = (rng.random(120) < 0.4).astype(np.int64)
    for known in (np.arange(6), np.arange(0), np.flatnonzero(t == 1)[:4]):
        today = plan_batches(macal.get(name), x, t, known, 8, size, seed=3)
        budget = at_most("a budget", np.where(np.isin(np.arange(120), known), 0.0, 1.0), 8.0 * size)
        short, long = (make_task(name, x, t, known, [budget], np.ones(120), size=size, seed=3) for _ in range(2))
        for ours in (short.rounds().filled, long.greedy()[0].filled):  # the way without demands, and the one with them
            assert [b.tolist() for b in ours] == [b.tolist() for b in today]


@dataclass(frozen=True)
class Drawn:
    """A problem of n units in plain numbers: what hypothesis draws and makes smaller."""

    n: int
    each: list[tuple[int, int, int, int]]  # arm, cost, role, cluster
    quotas: list[tuple[int, bool, bool, int]]  # the group as bits, share or count, at least or at most, the number
    budget: int
    rule: str
    lattice: bool
    all_must: bool
    size: int
    name: str
    seed: int


number = lambda most: st.integers(0, most)  # noqa: E731
DRAWN = st.builds(
    Drawn,
    st.integers(2, 14),
    st.lists(st.tuples(number(1), number(8), number(11), number(3)), min_size=14, max_size=14),
    st.lists(st.tuples(number(2**14 - 1), st.booleans(), st.booleans(), number(4)), max_size=3),
    number(40),
    st.sampled_from(["none", "one", "whole"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([3, 4]),
    st.sampled_from(["macal", "macal", "qhte", "symmetry", "coreset", "fccm", "random-balanced"]),
    number(99),
)


def build(problem):
    """The plan to be made and its demands; many cannot be met."""
    n, rng = problem.n, np.random.default_rng(problem.seed)
    t, cost, roles, groups = np.array(problem.each[:n]).T
    t[:2], cost, groups = [0, 1], cost + 1.0, groups - 1
    known, out = np.flatnonzero(roles == 0), np.flatnonzero(np.isin(roles, (1, 3)))  # 3: out, and perhaps in as well
    first = np.flatnonzero(np.isin(roles, (2, 3) if problem.all_must else (2,)))
    demands = [at_most("budget", np.where(roles == 0, 0.0, cost), problem.budget)]
    for bits, share, least, count in problem.quotas:
        column = pd.Series(bits >> np.arange(n) & 1)
        quota = Quota("group", (str(column[0]),), least, count / 4 if share else count, share)
        demands += quota.demands(column, np.ones(n))
    demands += [exclude_units("excluded", out, n)] if out.size else []
    demands += [include_units("must", first, n)] if first.size else []
    together = np.full(n, -1)
    if problem.rule == "one":
        demands.append(at_most_one_per_cluster("one of each", groups, known))
    if problem.rule == "whole":
        together = np.where(roles == 0, -1, groups)
        demands.append(all_or_none("whole", together))
    x = rng.integers(0, 3, (n, 2)).astype(float) if problem.lattice else rng.standard_normal((n, 2))
    return make_task(problem.name, x, t, known, demands, cost, together, problem.size, None, first), demands


def plans(demands, n, known):
    """All plans that meet some demands, one row of 0 and 1 each."""
    z = np.array(list(product((0.0, 1.0), repeat=n - len(known))))
    every = np.ones((len(z), n))
    every[:, np.setdiff1d(np.arange(n), known)] = z
    met = np.ones(len(z), bool)
    for d in demands:
        total = every @ d.matrix.toarray().T
        met &= ((total >= d.low - 1e-9) & (total <= d.high + 1e-9)).all(axis=1)
    return every[met]


def least_conflict(demands, n, known):
    subsets = (some for size in range(len(demands) + 1) for some in combinations(demands, size))
    return next(len(some) for some in subsets if not len(plans(some, n, known)))


def best_pair(task, inside, could_be):
    """The best pair of all that some plan holds, and what it is worth, by all scores."""
    m = [np.zeros(len(task.cost)), np.zeros(len(task.cost))]
    x, t = task.state.x, task.state.t
    alpha, novelty = task.criterion.alpha, task.criterion.novelty
    d = cdist(x, x)
    for arm in (0, 1):
        labels = np.flatnonzero(inside & (t == arm))
        m[arm] = novelty * d[:, labels].min(axis=1) if labels.size else m[arm]
    worth = {}
    for i, j in product(np.flatnonzero(~inside & (t == 1)), np.flatnonzero(~inside & (t == 0))):
        if could_be([i, j]):
            gain, price = m[1][i] + m[0][j] - alpha * d[i, j], task.price[i] + task.price[j]
            worth[i, j] = gain / price if gain > 0 else gain * price
    return worth


def check_purchases(task, bought, possible):
    """Each purchase of a pair was worth no less than any other that some plan holds."""
    inside = np.zeros(len(task.cost), bool)
    inside[task.state.labelled] = True
    k = len(task.first)
    inside[bought[:k]] = True
    while k < len(bought):
        could_be = lambda units: bool(possible[:, [*np.flatnonzero(inside), *units]].all(axis=1).any())  # noqa: E731
        worth = best_pair(task, inside, could_be)
        pair = tuple(sorted(bought[k : k + 2], key=lambda unit: -task.state.t[unit]))
        if not worth:
            return
        assert worth[pair] >= max(worth.values()) - 1e-9
        inside[bought[k : k + 2]] = True
        k += 2


def no_demand_is_broken(problem):
    task, demands = build(problem)
    n, known = len(task.cost), task.state.labelled
    possible = plans(demands, n, known) if n <= 12 else None
    try:
        batches = task.rounds().filled
    except Conflict as conflict:
        if possible is not None:
            assert not len(possible)
            assert len(conflict.names) == least_conflict(demands, n, known)
        return
    bought = np.concatenate([*batches, np.empty(0, np.int64)])
    z = np.zeros(n)
    z[known], z[bought] = 1, z[bought] + 1
    assert z.max() <= 1 and all(len(batch) for batch in batches)
    for d in demands:
        total = d.matrix @ z
        assert (total >= d.low - 1e-9).all() and (total <= d.high + 1e-9).all(), d.name
    if possible is None:
        return
    assert len(possible)
    larger = possible[(possible >= z).all(axis=1)]
    assert len(larger) == 1  # nobody else could be asked


@drawn(20, 300, problem=DRAWN)
def test_no_demand_is_ever_broken_and_nobody_is_missed(unchecked, problem):
    no_demand_is_broken(problem)


@drawn(10, 150, problem=DRAWN)
def test_every_pair_is_the_best_that_some_plan_holds(unchecked, problem):
    task, demands = build(problem)
    n, known = len(task.cost), task.state.labelled
    clustered = any(d.name == "whole" for d in demands)
    task = replace(task, criterion=macal.get("macal"), size=None)
    if n > 12 or clustered:
        return
    try:
        batches = task.greedy()[0].filled
    except Conflict:
        return
    check_purchases(task, [unit for batch in batches for unit in batch], plans(demands, n, known))


@drawn(7, 80, problem=DRAWN)
def test_large_tables_are_searched_in_part_and_lose_nothing(unchecked, monkeypatch, problem):
    monkeypatch.setattr(feasible, "_MANY_COLUMNS", 0)
    monkeypatch.setattr(feasible, "_N_TRIED_FIRST", 1)
    no_demand_is_broken(problem)


class Shop:
    """Who may be bought, in plain numbers: open units, money, clusters, and pairs that are refused."""

    def __init__(self, cost, clusters, refused, money):
        self.open, self.price, self.money = np.ones(len(cost), bool), cost, money
        self.clusters, self.refused, self.asked = clusters, refused, []

    def remaining_budget(self):
        return self.money

    def price_of_pairs(self, units, others):
        shared = (self.clusters[units] == self.clusters[others]) & (self.clusters[units] >= 0)
        return self.price[units] + np.where(shared, 0.0, self.price[others])

    def compatible_with(self, unit):
        self.asked.append(unit)
        return self.open & ~self.refused[unit]


def best_bargain(x, t, labels, alpha, novelty, price, shop):
    """The pair that is worth most by its score per price, of equal ones the first; by a look at all of them."""
    d = cdist(x, x)
    m = [min((d[k, i] for i in labels if t[i] == t[k]), default=0.0) for k in range(len(t))]
    found = []
    for i, j in product(np.flatnonzero((t == 1) & shop.open), np.flatnonzero((t == 0) & shop.open)):
        if shop.price_of_pairs(i, j) <= shop.remaining_budget() and not shop.refused[i, j]:
            gain = novelty * (m[i] + m[j]) - alpha * d[i, j]
            found.append((gain / (price[i] + price[j]) if gain > 0 else gain * (price[i] + price[j]), -i, -j))
    return max(found, default=None)


@part_and_whole("times", 7, 200)
def test_a_pair_under_demands_is_the_best_of_all(times, monkeypatch, unchecked):
    sold_out = refusals = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        short = {"_ROWS": 3, "_LIST": 2, "_PAIRS": 8, "_CLASS": 4, "_TILE": 16, "_BLOCKS": 3} if seed % 3 else {}
        for name, value in short.items():
            monkeypatch.setattr(pairs, name, value)
        n = int(rng.integers(4, 40))
        x = rng.standard_normal((n, 2)) if seed % 2 else rng.integers(0, 4, (n, 2)).astype(float)
        t = np.r_[0, 1, rng.integers(0, 2, n - 2)]
        price = rng.choice([1.0, 1.0, 2.0, 7.5], n) if seed % 4 else np.ones(n)
        refused = np.triu(rng.random((n, n)) < 0.3 * (seed % 5 == 0), 1)
        shop = Shop(price * rng.choice([1.0, 2.0], n), rng.integers(-1, 4, n), refused | refused.T, float(n))
        alpha, novelty = [(2.5, 1.0), (0.0, 1.0), (1.0, 0.0), (10.0, 1.0)][rng.integers(4)]
        labels = rng.permutation(n)[: rng.integers(0, 3)]
        shop.open[labels] = False
        search = pairs.PairSearches(x, t, labels, alpha, novelty, price=price)
        (one,) = search.searches
        while True:
            found, truth = one.best(shop), best_bargain(x, t, labels, alpha, novelty, price, shop)
            while found and refused[min(found[:2]), max(found[:2])]:
                one.recheck_partners(found[0])
                found, refusals = one.best(shop), refusals + 1
            if found is None:
                assert truth is None
                break
            i, j, gain = found
            gain /= power_of_two(x)
            both = price[i] + price[j]
            assert (gain / both if gain > 0 else gain * both) == pytest.approx(truth[0], rel=1e-9, abs=1e-9)
            if seed % 2:  # without ties
                assert (i, j) == (-truth[1], -truth[2])
            shop.open[[i, j]] = False
            shop.open[rng.integers(n)] = False  # somebody's quota is full
            shop.money -= float(shop.price_of_pairs(i, j))
            search.add(np.array([i, j]))
            labels = np.r_[labels, i, j]
        sold_out += shop.money < shop.price.max()
        monkeypatch.undo()
    assert sold_out > times // 10 and refusals > times // 10


def test_after_a_refusal_few_rows_are_looked_through(monkeypatch, unchecked):
    rng = np.random.default_rng(0)
    x, t, price = rng.standard_normal((3000, 8)), np.arange(3000) % 2, rng.uniform(1, 9, 3000)
    refused = np.zeros((3000, 3000), bool)
    shop, looked, look = Shop(price, np.full(3000, -1), refused, np.inf), [], pairs.PairSearch._look_through
    monkeypatch.setattr(pairs.PairSearch, "_look_through", lambda s, r, k: (looked.append(len(r)), look(s, r, k))[1])
    search = pairs.PairSearches(x, t, np.arange(6), 2.5, price=price)
    shop.open[:6] = False
    (one,) = search.searches
    for _ in range(200):
        i, j, _ = one.best(shop)
        refused[i, j] = refused[j, i] = True
        one.recheck_partners(i)
    assert sum(looked) < 3 * 1500  # as many rows as there are, a few times, where 200 full searches would be 300,000


def test_a_pair_costs_what_both_do_unless_they_are_bought_together():
    cost, clusters = np.arange(1.0, 7.0), np.array([-1, -1, 0, 0, 1, 1])
    bought = Purchases([at_most("budget", cost, 30)], cost, np.empty(0, np.int64), clusters)
    others = np.arange(1, 6)
    assert bought.price_of_pairs(np.array(0), others).tolist() == [3, 8, 8, 12, 12]
    assert bought.price_of_pairs(np.array(2), others).tolist() == [9, 7, 7, 18, 18]


def strata_task(seed):
    """Demands that count people of a stratum alike: a region, an arm, or somebody by herself."""
    rng = np.random.default_rng(seed)
    n, arms = int(rng.integers(10, 40)), rng.integers(0, 2, 40)
    table = pd.DataFrame({"region": rng.integers(0, 3, n), "arm": arms[:n]})
    strata = 2 * table.region.to_numpy() + table.arm.to_numpy()
    out, known, must = np.split(rng.permutation(n)[:6], [2, 4]) if n > 15 else np.empty((3, 0), np.int64)
    strata[must] = 6 + np.arange(len(must))
    strata[[*out, *known]] = -1
    strata[strata >= 0] = np.unique(strata[strata >= 0], return_inverse=True)[1]
    prices = np.ones(9) if seed % 2 else rng.uniform(1, 3, 9)
    cost, free = prices[strata], ~np.isin(np.arange(n), known)
    demands = [at_most("budget", np.where(free, cost, 0.0), float(rng.integers(5, n)))]
    for column in ("region", "arm", "region"):
        share = bool(rng.integers(2))
        count = float(rng.integers(1, 9))
        quota = Quota(column, (), bool(rng.integers(2)), count / 16 if share else count, share)
        demands += list(quota.demands(table[column], np.ones(n)))[: rng.integers(4)]
    demands += [exclude_units("out", out, n), include_units("must", must, n)] if len(out) else []
    return demands, cost, known, strata, rng


@part_and_whole("n", 4, 40)
def test_numbers_of_strata_may_be_bought_where_people_may(n):
    met = sold_out = 0
    for seed in range(n):
        demands, cost, known, strata, rng = strata_task(seed)
        own = (np.flatnonzero(strata == k) for k in range(strata.max() + 1))
        totals = [cost[units[0]] * np.arange(len(units) + 1) for units in own]
        try:
            purchases = Purchases(demands, cost, known, np.full(len(cost), -1))
        except Conflict as conflict:
            with pytest.raises(Conflict) as ours:
                StratumCounts(demands, cost, known, strata, totals)
            assert ours.value.names == conflict.names
            continue
        numbers, met = StratumCounts(demands, cost, known, strata, totals), met + 1
        while numbers.open.any():
            k = int(rng.choice(np.flatnonzero(numbers.open)))
            units = np.flatnonzero(purchases.open & (strata == k))[:1]
            bought = len(purchases.buy(units)) if units.size else 0
            assert numbers.buy(k) == bool(bought)
            sold_out += not bought
        assert not purchases.open[strata >= 0].any()
    assert met >= n // 2 and sold_out > n


@each("name", ["macal", "symmetry", "qhte"])
def test_a_single_purchase_is_worth_what_it_was_before_it(name):
    """The array of distances follows every purchase: the gain is that of before."""
    x, t = np.array([[0.0], [1.0], [5.0], [9.0]]), np.array([0, 1, 1, 1])
    options = {} if name == "qhte" else {"metric": "sqeuclidean"}
    budget = at_most("a budget", np.array([0.0, 0.0, 1.0, 1.0]), 2.0)
    task = make_task(name, x, t, [0, 1], [budget], np.ones(4))
    task = replace(task, criterion=macal.get(name, **options))
    _, value, _ = task.greedy()
    power = 1 if name == "qhte" else 2
    assert value == pytest.approx((8.0**power + 4.0**power) * power_of_two(x) ** power)


def test_people_who_do_the_same_at_the_same_cost_are_one_number_to_the_program(monkeypatch):
    n, asked = 4000, []
    north, south = np.arange(n) % 4 == 0, np.arange(n) % 4 == 1
    rows = np.stack([np.ones(n), north, south - 0.25])
    low, high = np.array([-np.inf, 60, -np.inf]), np.array([200, np.inf, 0.0])
    system = feasible.Bounded(csc_array(rows), low, high)

    def counted(cost, **program):
        asked.append(len(cost))
        return milp(cost, **program)

    monkeypatch.setattr(feasible, "milp", counted)
    inside = np.zeros(n, bool)
    inside[np.flatnonzero(south)[:40]] = True  # more than a quarter: 120 others must come
    found = system.completion(inside, ~inside, np.ones(n))
    assert asked and max(asked) <= 3 and len(found) >= 120
    assert system.met(system.matrix @ (inside + np.bincount(found, minlength=n)))


def quota_demands(texts, table, cost, budget, weights=None):
    demands = [at_most("a budget", cost, budget)]
    for quota in map(Quota.parse, texts):
        demands += quota.demands(table[quota.column], np.ones(len(cost)) if weights is None else weights)
    return demands


def eased(demands, cost, known):
    """The plan behind what is proposed, and the misses of each demand."""
    system = feasible.Bounded.of(demands, len(cost))
    inside = np.isin(np.arange(len(cost)), known)
    plan = system.nearest(inside, cost, [np.array([k]) for k in range(1, len(demands))])
    if plan is None:
        return None, np.inf
    total = system.matrix @ plan
    assert total[0] <= system.top[0] and (plan[known] == 1).all()
    groups = [
        d.group.relaxed(plan).demand() if miss else d for d, miss in zip(demands, system.missed(total), strict=True)
    ]
    assert feasible.Bounded.of(groups, len(cost)).met(feasible.Bounded.of(groups, len(cost)).matrix @ plan)
    return plan, np.maximum(np.maximum(system.low - total, total - system.high), 0)[1:].sum()


@part_and_whole("times", 10, 80)
def test_the_nearest_demands_can_be_met_and_none_are_nearer(times):
    found = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({"a": rng.integers(0, 3, 9), "b": rng.integers(0, 2, 9)})
        cost, number = rng.integers(1, 5, 9).astype(float), rng.integers(0, 4, 4)
        texts = [f"a>={number[0] + 1}", f"b=0>={number[1]}", f"b=1<={number[2]}", f"a=0>={20 * number[3]}%"]
        if not {0, 1} <= set(table.b) or 0 not in set(table.a):
            continue
        demands = quota_demands(texts, table, cost, float(rng.integers(3, 12)))
        plan, missed = eased(demands, cost, np.array([0]) if cost[0] <= 3 else np.empty(0, np.int64))
        every = plans(demands[:1], 9, [0] if cost[0] <= 3 else [])
        matrix = np.stack([d.matrix.toarray()[0] for d in demands[1:]])
        low, high = (np.array([getattr(d, side)[0] for d in demands[1:]]) for side in ("low", "high"))
        total = every @ matrix.T
        least = np.maximum(np.maximum(low - total, total - high), 0).sum(axis=1).min()
        assert missed == pytest.approx(least, abs=0.01)
        found += least > 0
    assert found > times // 3


@pytest.mark.parametrize("groups", [12, 44, 937])
def test_a_budget_for_fewer_groups_than_are_asked_is_said_without_a_search(groups, monkeypatch):
    asked = []
    solve = feasible.Effort.solved
    monkeypatch.setattr(feasible.Effort, "solved", lambda *a, **b: (asked.append(1), solve(*a, **b))[1])
    n, money = 3 * groups, groups // 2
    table, cost = pd.DataFrame({"site": [f"s{k % groups:03d}" for k in range(n)]}), np.ones(n)
    with pytest.raises(Conflict) as error:
        Purchases(quota_demands(["site>=1"], table, cost, money), cost, np.empty(0, np.int64), np.full(n, -1))
    assert len(error.value.names) == money + 2 and error.value.found.is_smallest and len(asked) <= 4
    assert len(error.value.found.nearest) == 2
    assert error.value.found.nearest[0].endswith(str(groups - money))


def test_a_search_for_a_small_conflict_ends_and_says_that_fewer_may_conflict(monkeypatch):
    monkeypatch.setattr(conflicts, "_SECONDS", 0.0)
    table, cost = pd.DataFrame({"a": np.arange(12) % 4, "b": np.arange(12) % 3}), np.ones(12)
    demands = quota_demands(["a=0>=40%", "a=1>=40%", "a=2>=40%", "b=0>=2"], table, cost, 12.0)
    with pytest.raises(Conflict) as error:
        Purchases(demands, cost, np.empty(0, np.int64), np.full(12, -1))
    assert not error.value.found.is_smallest and len(error.value.names) == len(demands)
    monkeypatch.undo()
    with pytest.raises(Conflict) as error:
        Purchases(demands, cost, np.empty(0, np.int64), np.full(12, -1))
    assert error.value.found.is_smallest and len(error.value.names) == 4


def test_purchases_that_cannot_be_decided_end(monkeypatch):
    rng, n = np.random.default_rng(1), 150
    table = pd.DataFrame({c: rng.integers(0, k, n) for c, k in zip("abc", (3, 2, 4), strict=True)})
    cost = rng.integers(5, 30, n).astype(float)
    texts = ["a=0>=50%", "a=1>=50%", "b=0>=55%", "c=0>=30%", "c=1<=20%"]
    demands = quota_demands(texts, table, cost, 600.0, rng.uniform(0.3, 0.95, n))
    monkeypatch.setattr(feasible, "_NODES", 8)
    system = feasible.Bounded.of(demands, n)
    object.__setattr__(system, "effort", feasible.Effort(8))
    inside = np.arange(n) < 1
    assert system.completion(inside, ~inside, cost) is None
    assert system.effort.nodes < 8 and system.effort.is_spent


def test_a_program_writes_nothing(capfd, monkeypatch):
    noisy = lambda *a, **b: (os.write(1, b"noise"), milp(*a, **b))[1]  # noqa: E731
    monkeypatch.setattr(feasible, "milp", noisy)
    feasible.Effort().solved(np.ones(2), np.ones(2), LinearConstraint(np.ones((1, 2)), 1, 2))
    assert capfd.readouterr().out == ""
    os.write(1, b"kept")
    assert capfd.readouterr().out == "kept"


def test_numbers_that_the_mean_cost_affords_and_the_true_one_does_not_are_not_bought():
    """Quotas need two of each stratum, which by the mean cost of a label are 8, and cost 12."""
    strata = np.repeat([0, 1], 4)
    demands = [at_most("a budget", np.full(8, 2.0), 9.0)]
    demands += [replace(include_units("two", np.flatnonzero(strata == k), 8), low=np.array([2.0])) for k in (0, 1)]
    counts = StratumCounts(demands, np.full(8, 2.0), np.empty(0, np.int64), strata, [np.array([0.0, 3, 6, 9, 12])] * 2)
    assert not counts.buy(0) and counts.is_short
