"""The rolling weight: its expected error against plain algebra, its choice against trying all weights by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

import macal
from macal.acquisition import PoolState, plan_batches, rolling
from macal.acquisition.rolling import Rolling, expected_errors
from macal.metrics import rms_distance
from macal.search.pairs import PairSearches
from reproduction.theory import examples, pairing


def expected_error(x, t, labelled, *more):
    return expected_errors(x, t, labelled, [labelled[:0]], *more)[0]


def by_hand(x, t, labelled, rho, length, noise):
    kernel = pairing.matern32(length)
    one, zero = (x[labelled[t[labelled] == arm]] for arm in (1, 0))
    return pairing.residuals(pairing.ridge(kernel, noise), kernel, x, one, zero).error(rho, noise)


@given(st.integers(0, 10_000), st.floats(-1, 1), st.sampled_from([0.3, 2.0]), st.sampled_from([1e-4, 0.1]))
def test_expected_error_against_the_closed_form(seed, rho, length, noise):
    x, t, _ = examples.two_clouds(seed, 12, 15)
    labelled = np.random.default_rng(seed).choice(27, 9, replace=False)
    labelled = np.unique(np.r_[0, 26, labelled])
    assert expected_error(x, t, labelled, rho, length, noise) == pytest.approx(
        by_hand(x, t, labelled, rho, length, noise), rel=1e-9, abs=1e-9
    )


def test_expected_error_of_nothing_and_of_one_arm():
    x, t, _ = examples.two_clouds(0)
    none = np.empty(0, np.int64)
    assert expected_error(x, t, none, 0.3, 1.0, 0.1) == pytest.approx(2 - 0.6, abs=1e-12)
    own = np.array([0, 5])  # treated: only R_1 and the product fall
    k = pairing.matern32(1.0)(x, x[own])
    known = np.einsum("ij,ji->i", k, np.linalg.solve(k[own] + 0.1 * np.eye(2), k.T)).mean()
    assert expected_error(x, t, own, 0.3, 1.0, 0.1) == pytest.approx(2 - known - 0.6 * (1 - known), abs=1e-12)


def test_expected_error_in_parts(monkeypatch):
    x, t, start = examples.two_clouds(1)
    whole = expected_error(x, t, start, 0.7, 1.0, 0.01)
    monkeypatch.setattr(rolling, "_TARGETS", 7)
    assert expected_error(x, t, start, 0.7, 1.0, 0.01) == pytest.approx(whole, rel=1e-12)


def test_rms_distance():
    x = np.random.default_rng(0).normal(size=(30, 4))
    assert rms_distance(x) == pytest.approx(np.sqrt(np.mean(pdist(x) ** 2)), rel=1e-12)
    assert rms_distance(np.ones((5, 2))) == 1


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.9])
def test_the_weight_is_the_best_of_all_that_are_tried(block, rho):
    criterion = Rolling(rho=rho, lengthscale=0.8, noise=0.02, block=block)
    x, t, done = examples.two_clouds(4)
    for _ in range(4):
        alpha, batch = criterion.choose(PoolState(x, t, done), 6)
        plans = {a: macal.plan(x, t, done, block, 6, "macal", alpha=a) for a in criterion.alphas}
        errors = {a: by_hand(x, t, np.concatenate([done, *p]), rho, 0.8, 0.02) for a, p in plans.items()}
        assert errors[alpha] <= min(errors.values()) + 1e-9
        assert batch.tolist() == plans[alpha][0].tolist()
        done = np.concatenate([done, batch])


def test_the_weight_moves_and_depends_on_the_correlation():
    x, t, start = examples.two_clouds(0, 200, 400, 2.0)
    paths = {0.0: [], 0.99: []}
    for rho, path in paths.items():
        rule, done = Rolling(rho=rho, lengthscale=1.0), start
        for size in (10, 10, 20, 40, 80):
            alpha, batch = rule.choose(PoolState(x, t, done), size)
            path.append(alpha)
            done = np.concatenate([done, batch])
    assert paths[0.0][0] >= 2.5 > paths[0.0][-1] and min(paths[0.99]) > max(paths[0.0][2:])


def test_one_weight_is_macal():
    x, t, start = examples.two_clouds(2)
    alone = plan_batches(Rolling(alphas=(2.5,)), x, t, start, 6, 6)
    assert [b.tolist() for b in alone] == [b.tolist() for b in macal.plan(x, t, start, 6, 6, "macal")]


def test_a_plan_of_ten_queries_begins_a_longer_one_and_can_be_taken_up_again():
    x, t, start = examples.two_clouds(3, 40, 60)
    criterion = macal.get("macal-rolling", rho=0.0)
    assert criterion.needs == () and not criterion.stochastic
    short, long = plan_batches(criterion, x, t, start, 10, 4), plan_batches(criterion, x, t, start, 20, 4)
    assert [b.tolist() for b in short] == [b.tolist() for b in long[:10]]
    later = plan_batches(criterion, x, t, np.concatenate([start, *short]), 10, 4)
    assert [b.tolist() for b in later] == [b.tolist() for b in long[10:]]


def test_the_unit_of_the_covariates_does_not_matter():
    x, t, start = examples.two_clouds(5)
    plain, scaled = (plan_batches(Rolling(rho=0.2), x * c, t, start, 5, 6) for c in (1.0, 2.0**10))
    assert [b.tolist() for b in plain] == [b.tolist() for b in scaled]


def test_nothing_to_weigh():
    x, t, start = examples.two_clouds(6)
    state = PoolState(x, t, start)
    assert np.isnan(Rolling().choose(state, 1)[0])
    controls_left = replace(state, labelled=np.flatnonzero(t == 1))
    alpha, batch = Rolling().choose(controls_left, 5)
    assert np.isnan(alpha) and (t[batch] == 0).all() and len(batch) == 5
    assert list(Rolling().plan(replace(state, labelled=np.arange(len(t))), [5, 5])) == []
    with pytest.raises(ValueError, match="two arms"):
        Rolling().select(PoolState(x, np.ones_like(t), start), 4)


def test_searches_under_several_weights_do_not_take_each_other_s_units():
    """Where several units have the same covariates, a pick takes the first of them that is free in its own search."""
    x, t = np.repeat(np.arange(4.0), 6)[:, None], np.tile([0, 1], 12)
    start = PairSearches(x, t, np.arange(2), 0.0)
    plans = [start.under(alpha).batch(22)[0] for alpha in (1.0, 1.0, 2.0)]
    for plan in plans:
        assert np.array_equal(np.sort(plan), np.arange(2, 24))
    assert np.array_equal(*plans[:2])


@pytest.mark.parametrize(
    ("name", "value"),
    [("rho", 1.1), ("rho", float("nan")), ("noise", 0.0), ("lengthscale", -1.0), ("block", 0), ("alphas", ())],
)
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=name.removesuffix("s")):
        macal.get("macal-rolling", **{name: value})
