"""The fast engine against full recomputation, on its own path, where ties allow several right plans."""

import numpy as np
import pytest
from cases import drawn
from hypothesis import strategies as st
from oracles import exact_plan, shortfall

import macal
from macal.acquisition import plan_batches
from macal.search import nearest, pairs

TOLERANCE = 1e-13  # float64 rounding of sums of a few dozen squares, nothing else
SHORT = {  # lists, blocks and tiles so short that every branch is taken
    pairs: {"_ROWS": 3, "_LIST": 2, "_PAIRS": 8, "_BLOCK": 4, "_TILE": 16},
    nearest: {"SHORT": 3, "_ELEMENTS": 32},
}
KINDS = ("normal", "shifted", "lattice", "line", "copies", "twins", "constant", "offset", "outlier", "spread")


def draw(kind, n, d, rng):
    x = rng.standard_normal((n, d))
    t = (rng.random(n) < rng.uniform(0.15, 0.6)).astype(int)
    t[:2] = 0, 1
    match kind:
        case "shifted":
            x += 2 * t[:, None]
        case "lattice":
            x = rng.integers(-2, 3, (n, d)).astype(float)
        case "line":
            x = rng.integers(0, 30, (n, 1)).astype(float)
        case "copies":
            x = x[rng.integers(0, max(1, n // 3), n)]
        case "twins":
            x[1::2] = x[: 2 * (n // 2) : 2]
            t[: 2 * (n // 2)] = np.tile([0, 1], n // 2)
        case "constant":
            x[:] = x[0]
        case "offset":
            x += 1e6
        case "outlier":
            x[0] = 1e5
        case "spread":
            x *= 10.0 ** rng.integers(-8, 9, d)
    return x, t


@st.composite
def pools(draw_):
    rng = np.random.default_rng(draw_(st.integers(0, 2**32 - 1)))
    n = draw_(st.sampled_from([2, 3, 5, 12, 20, 28]))
    x, t = draw(draw_(st.sampled_from(KINDS)), n, draw_(st.sampled_from([1, 2, 7])), rng)
    x *= draw_(st.sampled_from([1.0, 1.0, 1e-100, 1e-5, 1e8, 1e100]))
    start = draw_(st.sampled_from(["random", "none", "treated", "control", "most"]))
    labelled = rng.permutation(n)[: {"most": n - 2, "none": 0}.get(start, n // 4)]
    labelled = labelled[t[labelled] == (start == "treated")] if start in ("treated", "control") else labelled
    return x, t, labelled


def shorten(patch):
    for module, values in SHORT.items():
        for key, value in values.items():
            patch.setattr(module, key, value)


def named(alpha):
    return ("symmetry", {}, (1.0, 0.0)) if alpha is None else ("macal", {"alpha": alpha}, (alpha, 1.0))


@drawn(
    80,
    2400,
    pool=pools(),
    alpha=st.sampled_from([0.0, 0.5, 1.0, 2.5, 10.0, 1e6, None]),
    metric=st.sampled_from(["euclidean", "sqeuclidean"]),
    size=st.sampled_from([2, 3, 10, 50]),
    small=st.booleans(),
)
def test_no_pick_is_worse_than_the_best_of_its_moment(unchecked, pool, alpha, metric, size, small):
    x, t, labelled = pool
    name, parameters, weights = named(alpha)
    with pytest.MonkeyPatch.context() as patch:
        if small:
            shorten(patch)
        batches = plan_batches(macal.get(name, metric=metric, **parameters), x, t, labelled, 100, size)
    assert sorted(np.concatenate([labelled, *batches]).astype(int).tolist()) == list(range(len(t)))
    picked = [b.tolist() for b in batches]
    assert shortfall(x, t, labelled, picked, [size] * len(batches), *weights, metric) <= TOLERANCE


@st.composite
def tied_pools(draw_):
    """Pools in which many scores are equal to the last bit."""
    rng = np.random.default_rng(draw_(st.integers(0, 2**32 - 1)))
    kind = draw_(st.sampled_from(["lattice", "line", "copies", "twins", "constant", "survey", "binary"]))
    n, d = draw_(st.sampled_from([4, 9, 24])), draw_(st.sampled_from([1, 2, 3, 7]))
    x, t = draw(kind, n, d, rng)
    if kind in ("survey", "binary"):
        x = rng.integers(0, [2] * d if kind == "binary" else rng.integers(1, 6, d), (n, d)).astype(float)
    if draw_(st.booleans()):  # standardised, as a table's columns are
        x = (x - x.mean(axis=0)) / np.where(np.ptp(x, axis=0) > 0, x.std(axis=0), 1)
    return x, t, rng.permutation(n)[: draw_(st.sampled_from([0, 1, n // 4]))]


@drawn(
    60,
    2000,
    pool=tied_pools(),
    alpha=st.sampled_from([0.0, 0.5, 1.0, 2.5, None]),
    metric=st.sampled_from(["euclidean", "sqeuclidean"]),
    size=st.sampled_from([2, 3, 10]),
    stop=st.integers(1, 6),
    small=st.booleans(),
)
def test_ties_go_to_the_lowest_unit_and_a_resumed_plan_is_the_same_plan(
    unchecked, pool, alpha, metric, size, stop, small
):
    x, t, labelled = pool
    name, parameters, weights = named(alpha)
    criterion = macal.get(name, metric=metric, **parameters)
    with pytest.MonkeyPatch.context() as patch:
        if small:
            shorten(patch)
        whole = [batch.tolist() for batch in plan_batches(criterion, x, t, labelled, 8, size)]
        begun = np.concatenate([labelled, *whole[:stop]]).astype(int)
        rest = [batch.tolist() for batch in plan_batches(criterion, x, t, begun, max(1, 8 - stop), size)]
    assert whole == exact_plan(x, t, labelled, [size] * 8, *weights, metric)
    assert rest == whole[stop:]


def test_many_people_of_few_kinds_are_planned_kind_by_kind(monkeypatch):
    rng = np.random.default_rng(0)
    kinds = rng.standard_normal((30, 3))
    who = rng.integers(0, 30, 20_000)
    t = rng.integers(0, 2, 20_000)
    seen = []
    make = nearest.Arm.set_short_list
    monkeypatch.setattr(nearest.Arm, "set_short_list", lambda arm, rows: (seen.append(len(arm.x)), make(arm, rows))[1])
    picks = np.concatenate(macal.plan(kinds[who], t, [], 40, 10, "macal"))
    assert max(seen) == 30
    for kind in range(30):
        for arm in (0, 1):
            own = picks[(who[picks] == kind) & (t[picks] == arm)]
            assert own.tolist() == np.flatnonzero((who == kind) & (t == arm))[: len(own)].tolist()


@drawn(30, 300, pool=pools(), name=st.sampled_from(["qhte", "coreset"]), short=st.sampled_from([1, 3, 256]))
def test_farthest_first_takes_the_farthest(unchecked, pool, name, short):
    x, t, labelled = pool
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "SHORT", short)
        batches = plan_batches(macal.get(name), x, t, labelled, 100, 4)
    groups = t if name == "qhte" else np.zeros_like(t)
    assert sorted(np.concatenate([labelled, *batches]).astype(int).tolist()) == list(range(len(t)))
    picked = [[k] for k in np.concatenate(batches).tolist()]
    assert shortfall(x, groups, labelled, picked, [1] * len(t), 1.0) <= TOLERANCE


def test_a_lead_that_float32_cannot_see_decides():
    gap = 1e-9  # float32 sees no difference between 1 and 1 + 1e-9
    x = np.array([[0.0, 0], [0, 1], [50, 0], [50, 1 - gap], [100, 0], [100, 1 + gap], [0, -400], [0, -401]])
    t = np.array([1, 0] * 4)
    start = np.array([6, 7])
    assert plan_batches(macal.get("symmetry"), x, t, start, 1, 2)[0].tolist() == [2, 3]
    assert (x[2:4].astype(np.float32) == [[50, 0], [50, 1]]).all()


def test_few_rows_are_looked_through(monkeypatch):
    rows = []
    look_through = pairs.PairSearch._look_through
    monkeypatch.setattr(pairs, "_ROWS", 32)
    monkeypatch.setattr(
        pairs.PairSearch, "_look_through", lambda self, r, limit: (rows.append(len(r)), look_through(self, r, limit))[1]
    )
    rng = np.random.default_rng(0)
    x, t, start = rng.standard_normal((3000, 25)), (rng.random(3000) < 0.3).astype(int), rng.choice(3000, 20, False)
    macal.plan(x, t, start, 20, 10, "macal")
    n1 = int(t.sum() - t[start].sum())
    # full recomputation looks through all free rows for each of the 100 pairs
    assert sum(rows) < 3 * n1 < 100 * (n1 - 100) / 10
