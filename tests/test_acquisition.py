"""Whole campaigns, and brute force for the criteria made of distances."""

import numpy as np
import pandas as pd
import pytest
import torch
from cases import drawn, each
from hypothesis import strategies as st

import macal
from macal import acquisition
from macal.acquisition import CRITERIA, get, names, plan_batches


def pool(seed, n1=8, n0=15, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n1 + n0, d)), rng.permutation(np.repeat([1, 0], [n1, n0]))


each_criterion = each("name", [name for name in names() if not CRITERIA[name].factory.needs])


class TestCampaigns:
    @each_criterion
    @each("batch_size", [1, 4, 7, 23, 40])
    @each("start", [[], [0], [3, 8, 1]])
    def test_batches_are_new_distinct_and_of_the_right_size(self, name, batch_size, start):
        x, t = pool(0)
        if batch_size < get(name).min_batch_size:
            with pytest.raises(ValueError, match="batch_size must be at least 2, got 1; one at a time choose .*'qhte'"):
                plan_batches(get(name), x, t, start, n_queries=50, batch_size=batch_size)
            return
        batches = plan_batches(get(name), x, t, start, n_queries=50, batch_size=batch_size)
        assert sorted(np.concatenate([start, *batches]).tolist()) == list(range(23))
        assert {b.size for b in batches[:-1]} <= {batch_size} and 0 < batches[-1].size <= batch_size
        assert all(b.dtype.kind == "i" for b in batches)

    @each_criterion
    def test_a_short_plan_begins_a_long_one(self, name):
        x, t = pool(3)
        short, long = plan_batches(get(name), x, t, [0], 2, 4), plan_batches(get(name), x, t, [0], 5, 4)
        assert np.array_equal(np.concatenate(short), np.concatenate(long[:2]))

    @each_criterion
    def test_nothing_left(self, name):
        x, t = pool(5)
        assert plan_batches(get(name), x, t, np.arange(23), 3, 4) == []


def distance(a, b, metric):
    gap = np.sum((a - b) ** 2)
    return gap if metric == "sqeuclidean" else np.sqrt(gap)


def novelty(x, t, unit, done, metric, empty):
    return min((distance(x[unit], x[i], metric) for i in done if t[i] == t[unit]), default=empty)


def best_farthest(x, t, free, done, metric):
    return max(novelty(x, t, u, done, metric, np.inf) for u in free)


@st.composite
def pools(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d = draw(st.integers(2, 10)), draw(st.integers(1, 3))
    x = rng.normal(size=(n, d)) * draw(st.sampled_from([1e-6, 1.0, 1e6]))
    x = draw(st.sampled_from([x, np.round(x), x[rng.integers(0, n, n)]]))
    t = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    return x, t, rng.choice(n, draw(st.integers(0, n - 1)), replace=False)


def check_farthest(x, t, done, pick, metric):
    free = [u for u in range(len(t)) if u not in done]
    best = best_farthest(x, t, free, done, metric)
    mine = novelty(x, t, pick, done, metric, np.inf)
    assert mine == best or mine >= best * (1 - 1e-12)


@drawn(20, 500, case=pools())
def test_qhte_takes_the_farthest_unit_every_time(unchecked, case):
    x, t, start = case
    done = list(start)
    for pick in np.concatenate(plan_batches(get("qhte"), x, t, start, 20, 3)):
        check_farthest(x, t, done, pick, "euclidean")
        done.append(pick)


@drawn(
    50,
    500,
    case=pools(),
    metric=st.sampled_from(["euclidean", "sqeuclidean"]),
    alpha=st.sampled_from([0.0, 0.5, 1.0, 2.5, 10.0, None]),
    batch_size=st.integers(2, 5),
)
def test_pairs_have_the_best_score_every_time(unchecked, case, metric, alpha, batch_size):
    x, t, start = case
    criterion = get("symmetry", metric=metric) if alpha is None else get("macal", alpha=alpha, metric=metric)
    weight, reward = (1.0, 0.0) if alpha is None else (alpha, 1.0)
    done = list(start)

    def score(a, b):
        gain = sum(novelty(x, t, u, done, metric, 0.0) for u in (a, b))
        return reward * gain - weight * distance(x[a], x[b], metric)

    for batch in plan_batches(criterion, x, t, start, 20, batch_size):
        picks = batch.tolist()
        while picks:
            free = [u for u in range(len(t)) if u not in done]
            two_sided = {0, 1} <= set(t[free].tolist()) and len(picks) >= 2
            if two_sided:
                pair, picks = picks[:2], picks[2:]
                assert t[pair].tolist() == [1, 0]
                best = max(score(a, b) for a in free for b in free if t[a] == 1 and t[b] == 0)
                scale = max(abs(best), np.abs(x).max() ** (2 if metric == "sqeuclidean" else 1), 1e-300)
                assert score(*pair) >= best - 1e-12 * scale
                done += pair
            else:
                check_farthest(x, t, done, picks[0], metric)
                done.append(picks.pop(0))


def test_the_default_is_one_that_needs_no_model():
    x, t = pool(8)
    default = [batch.tolist() for batch in macal.plan(x, t, [0], 3, 5)]
    assert default == [batch.tolist() for batch in plan_batches(get(acquisition.DEFAULT), x, t, [0], 3, 5)]
    assert not get(acquisition.DEFAULT).is_adaptive
    assert macal.Planner("t", 10).campaign.policy.criterion == acquisition.DEFAULT


def test_macal_on_a_pool_worked_out_by_hand():
    # start at 0 in both arms; (treated 10, control 9) scores 10 + 9 - 2.5, (treated 4, control 4) scores 8
    x, t = np.array([[0.0], [0], [10], [9], [4], [4], [-3]]), np.array([1, 0, 1, 0, 1, 0, 0])
    assert [b.tolist() for b in macal.plan(x, t, [0, 1], n_queries=3, batch_size=2, criterion="macal")] == [
        [2, 3],
        [4, 5],
        [6],
    ]


def test_macal_without_a_penalty_is_farthest_first_in_each_arm():
    x, t = pool(6, 8, 8)
    start = [int(np.flatnonzero(t == a)[0]) for a in (0, 1)]
    picks = np.concatenate(macal.plan(x, t, start, 7, 2, "macal", alpha=0.0))
    far = np.concatenate(plan_batches(get("qhte"), x, t, start, 14, 1))
    for arm in (0, 1):
        assert np.array_equal(picks[t[picks] == arm], far[t[far] == arm])


def test_even_batches_do_not_change_the_plan():
    x, t = pool(7)
    plans = [np.concatenate(macal.plan(x, t, [0, 5], 30, size, "macal")) for size in (2, 4, 22)]
    assert all(np.array_equal(plans[0], p) for p in plans)


@pytest.mark.parametrize("form", [torch.as_tensor, pd.DataFrame, np.ndarray.tolist])
def test_plan_takes_covariates_in_every_usual_form(form):
    x, t = pool(8)
    assert np.array_equal(macal.plan(form(x), t, [0], 2, 4, "macal"), macal.plan(x, t, [0], 2, 4, "macal"))


X, T = pool(9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": X[:, 0]}, "x must have two axes"),
        ({"x": np.where(X > 1, np.nan, X)}, "x must be finite"),
        ({"x": X.astype(str)}, "x must be numeric"),
        ({"t": T[:-1]}, "t must have one entry for each of the 23 units"),
        ({"t": T * 2}, "t must be binary"),
        ({"t": np.ones(23), "criterion": "macal"}, "pairs need two arms"),
        ({"labelled": [23]}, r"labelled must lie in 0..22, got 23..23"),
        ({"labelled": [1, 1]}, "labelled must not repeat"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1"),
        ({"n_queries": 0}, "n_queries must be an integer of at least 1"),
        ({"criterion": "macal", "alpha": -1.0}, "alpha must be a finite number of at least 0, got -1.0"),
        ({"criterion": "macal", "alpha": np.nan}, "alpha must be a finite number of at least 0, got nan"),
        ({"criterion": "macal", "metric": "euclid"}, r"unknown metric 'euclid' \(did you mean 'euclidean'\?\)"),
        ({"alpha": 1.0}, "unknown parameter of 'alc-fixed' 'alpha'"),
        ({"criterion": "alc"}, "ALC needs PoolState.prior, which only a fitted model provides"),
    ],
)
def test_plan_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        macal.plan(**{"x": X, "t": T, "labelled": [0]} | arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get("maca"), r"unknown criterion 'maca' \(did you mean 'macal'\?\)"),
        (lambda: get("macal", alhpa=1), r"unknown parameter of 'macal' 'alhpa' \(did you mean 'alpha'\?\)"),
        (lambda: get("random", alpha=1), "unknown parameter of 'random' 'alpha'"),
    ],
)
def test_get_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
