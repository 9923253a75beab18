"""Plans under demands: none is ever broken, and every purchase is the best that could be made, by brute force."""

from dataclasses import dataclass, replace
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cases import drawn, each, exhaustive, part_and_whole
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import macal
from macal.acquisition import PoolState, plan_batches
from macal.acquisition.rows import power_of_two
from macal.planner import feasible, offers
from macal.planner.demands import Quota, at_most, left_out, must_be_in, one_of_each, whole
from macal.planner.feasible import Conflict
from macal.planner.greedy import GreedyPlan
from macal.planner.ledger import Ledger
from macal.planner.numbers import Numbers

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
        quota = Quota("group", str(column[0]), least, count / 4 if share else count, share)
        demands += quota.demands(column, np.ones(n))
    demands += [left_out("excluded", out, n)] if out.size else []
    demands += [must_be_in("must", first, n)] if first.size else []
    together = np.full(n, -1)
    if problem.rule == "one":
        demands.append(one_of_each("one of each", groups, known))
    if problem.rule == "whole":
        together = np.where(roles == 0, -1, groups)
        demands.append(whole("whole", together))
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
    alpha, novelty = task.criterion.weights()
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


@drawn(200, 2000, problem=DRAWN)
def test_no_demand_is_ever_broken_and_nobody_is_missed(unchecked, problem):
    no_demand_is_broken(problem)


@drawn(80, 500, problem=DRAWN)
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


@drawn(40, 200, problem=DRAWN)
def test_large_tables_are_searched_in_part_and_lose_nothing(unchecked, monkeypatch, problem):
    monkeypatch.setattr(feasible, "_MANY", 0)
    monkeypatch.setattr(feasible, "_SOME", 1)
    no_demand_is_broken(problem)


def test_as_many_classes_as_controls_are_all_pairs(monkeypatch):
    rng = np.random.default_rng(0)
    x, t, cost = rng.standard_normal((90, 3)), np.arange(90) % 3 // 2, rng.integers(1, 9, 90) * 1.0
    demands = [at_most("a budget", cost, 120.0)]
    every = make_task("macal", x, t, [], demands, cost).rounds().filled
    monkeypatch.setattr(offers, "ALL", 0)
    monkeypatch.setattr(offers, "CLASSES", int((t == 0).sum()))
    in_classes = make_task("macal", x, t, [], demands, cost).rounds().filled
    assert [b.tolist() for b in every] == [b.tolist() for b in in_classes] and len(every) > 2


def test_after_a_refusal_only_its_unit_is_looked_at_again(unchecked):
    rng = np.random.default_rng(0)
    n, other = 40, np.broadcast_to(np.arange(40, 100), (40, 60))
    pairs = offers.Offers(np.arange(n), other, rng.random((n, 60)), np.ones((n, 60)), np.ones((n, 60)))
    ledger, m = SimpleNamespace(open=np.ones(100, bool), left=lambda: np.inf), rng.random(100)
    looked, look = [], pairs._look
    pairs._look = lambda rows, *rest: (looked.extend(rows.tolist()), look(rows, *rest))[1]
    refused, gains = set(range(n)), []
    for _ in range(5):
        looked.clear()
        i, j, gain = pairs.best(m, ledger)
        assert set(looked) <= refused | {i}
        pairs.drop(i, j)
        gains.append(gain)
        refused = {i}
    every = m[:n, None] + m[40:] - np.random.default_rng(0).random((n, 60))
    assert np.allclose(gains, np.sort(every.ravel())[::-1][:5])


def test_demands_on_clusters_whose_people_are_far_apart_in_the_table():
    clusters = np.array([0, 1, 0, 1, 2, -1])
    one = one_of_each("one of each", clusters, np.array([3]))
    assert one.matrix.toarray().tolist() == [[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]]
    assert one.high.tolist() == [1, 0, 1]  # nobody beside who is labelled already
    together = whole("whole", clusters)
    assert {tuple(np.flatnonzero(row)) for row in together.matrix.toarray()} == {(0, 2), (1, 3)}
    assert not together.low.any() and not together.high.any()


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
        quota = Quota(column, None, bool(rng.integers(2)), count / 16 if share else count, share)
        demands += list(quota.demands(table[column], np.ones(n)))[: rng.integers(4)]
    demands += [left_out("out", out, n), must_be_in("must", must, n)] if len(out) else []
    return demands, cost, known, strata, rng


@part_and_whole("n", 12, 40)
def test_numbers_of_strata_may_be_bought_where_people_may(n):
    met = sold_out = 0
    for seed in range(n):
        demands, cost, known, strata, rng = strata_task(seed)
        try:
            ledger = Ledger(demands, cost, known, np.full(len(cost), -1))
        except Conflict as conflict:
            with pytest.raises(Conflict) as ours:
                Numbers(demands, cost, known, strata)
            assert ours.value.names == conflict.names
            continue
        numbers, met = Numbers(demands, cost, known, strata), met + 1
        while numbers.open.any():
            k = int(rng.choice(np.flatnonzero(numbers.open)))
            units = np.flatnonzero(ledger.open & (strata == k))[:1]
            bought = len(ledger.buy(units)) if units.size else 0
            assert numbers.buy(k) == bool(bought)
            sold_out += not bought
        assert not ledger.open[strata >= 0].any()
    assert met > n // 2 and sold_out > n


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
