"""What every registered criterion owes its caller."""

from dataclasses import replace

import numpy as np
import pytest
from cases import each, part_and_whole
from golden_gains import GAINS, Judge

import macal
from macal.acquisition import CRITERIA, Belief, Criterion, PoolState, Restriction
from macal.posterior import Posterior, Prior

NAMES = macal.names()
each_criterion = each("name", NAMES)
DETERMINISTIC = [name for name in NAMES if not CRITERIA[name].factory.stochastic]


def a_state(n=40, seed=0, n_labelled=6, treated=0.4, x=None, features=None):
    """A pool under a model that has been fitted, all numbers distinct."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3)) if x is None else x
    t = (rng.random(len(x)) < treated).astype(np.int64)
    t[:2] = 0, 1
    root = rng.standard_normal((len(x), 2, 2))
    return PoolState(
        x, t, rng.choice(len(x), n_labelled, replace=False).astype(np.int64), np.random.default_rng(1),
        Belief(
            Posterior(rng.standard_normal((len(x), 2)), root @ root.transpose(0, 2, 1)),
            rng.standard_normal((len(x), 8)) if features is None else features,
            rng.uniform(0.1, 0.9, len(x)),
            Prior((1.0, 2.0), (1.5, 0.7), (0.1, 0.3)),
        ),
    )  # fmt: skip


def believing(**changes):
    return replace(a_state(), belief=replace(a_state().belief, **changes))


X, T = a_state().x, a_state().t


def check(state, batch, size):
    assert batch.dtype.kind == "i" and batch.ndim == 1
    assert len(batch) == len(set(batch.tolist())) == min(size, len(state.unlabelled))
    assert np.isin(batch, state.unlabelled).all()


def test_every_criterion_says_whose_it_is():
    for entry in CRITERIA.values():
        assert issubclass(entry.factory, Criterion) and entry.label and entry.source


def test_what_can_be_planned_under_demands_is_stated_plainly_too():
    """See the recipe for a criterion in CONTRIBUTING.md."""
    planned = [name for name in DETERMINISTIC if not CRITERIA[name].factory.needs]
    assert {*planned} == {*GAINS}


@each("name", sorted(GAINS))
@each("seed", range(3))
def test_utilities_are_the_gains_of_the_picks(name, seed):
    state, size = a_state(30, seed), 7
    args = state.x, state.t, state.labelled, 2, size, name
    if GAINS[name] is None:
        with pytest.raises(ValueError, match=CRITERIA[name].factory.__name__):
            macal.plan(*args, return_utilities=True)
        return
    batches, utilities = macal.plan(*args, return_utilities=True)
    assert [*map(np.shape, batches)] == [*map(np.shape, utilities)] == [(size,)] * 2
    assert np.array_equal(batches, macal.plan(*args))
    judge, done = Judge(name, {}, state.x, state.t), state.labelled.tolist()
    for batch, scores in zip(batches, utilities, strict=True):
        step = 2 if judge.paired else 1
        for k in range(0, size, step):
            heads = batch[k : k + step]
            value = judge.gain(done, heads).value
            assert scores[k : k + step] == pytest.approx([value] * len(heads), rel=1e-7)
            done += heads.tolist()


def test_utilities_of_a_draw_by_scores_are_the_log_scores_with_their_noise():
    _, (scores,) = macal.plan(X, T, [0, 1], 1, 9, "pi-bald", return_utilities=True)
    assert np.isfinite(scores).all() and (np.diff(scores) <= 0).all()


class TestContract:
    @each_criterion
    @each("size", [1, 2, 5, 10, 1000])
    def test_distinct_unlabelled_and_of_the_right_size(self, name, size):
        state = a_state()
        check(state, macal.get(name).select(state, size), size)

    @each_criterion
    def test_nothing_left_gives_nothing(self, name):
        state = replace(a_state(), labelled=np.arange(40))
        assert macal.get(name).select(state, 5).tolist() == []
        assert list(macal.get(name).plan(state, [5, 5])) == []

    @each_criterion
    def test_same_seed_same_batch(self, name):
        first, second = (macal.get(name).select(a_state(), 7) for _ in range(2))
        assert np.array_equal(first, second)

    @each_criterion
    @each("arm", [0, 1])
    def test_an_exhausted_arm_leaves_the_other(self, name, arm):
        state = a_state()
        state = replace(state, labelled=np.flatnonzero(state.t == arm))
        check(state, macal.get(name).select(state, 7), 7)

    @each_criterion
    @each("start", ["none", "treated", "control"])
    def test_an_arm_may_be_empty_at_the_start(self, name, start):
        state = a_state()
        labelled = {
            "none": [],
            "treated": np.flatnonzero(state.t == 1)[:3],
            "control": np.flatnonzero(state.t == 0)[:3],
        }[start]
        state = replace(state, labelled=np.array(labelled, np.int64))
        check(state, macal.get(name).select(state, 7), 7)

    @each_criterion
    @each("kind", ["copies", "constant", "zero"])
    def test_duplicates_do_no_harm(self, name, kind):
        rng = np.random.default_rng(3)
        rows = {"copies": rng.integers(0, 5, 40), "constant": np.zeros(40, int), "zero": np.zeros(40, int)}[kind]
        scale = 0.0 if kind == "zero" else 1.0
        state = a_state(x=scale * rng.standard_normal((5, 3))[rows], features=scale * rng.standard_normal((5, 8))[rows])
        for size in (7, 1000):
            check(state, macal.get(name).select(state, size), size)

    @each_criterion
    def test_a_plan_never_repeats_a_unit(self, name):
        state = a_state()
        batches = list(macal.get(name).plan(state, [5] * 20))
        assert [len(b) for b in batches] == [5] * 6 + [4]
        assert set(np.concatenate(batches).tolist()) == set(state.unlabelled.tolist())

    @each_criterion
    def test_the_state_is_left_alone(self, name):
        state = a_state()
        own = (state.x, state.t, state.labelled, state.belief.features, state.belief.propensity)
        for array in (*own, state.belief.posterior.mean, state.belief.posterior.cov):
            array.flags.writeable = False
        check(state, macal.get(name).select(state, 6), 6)


# FCCM counts units, so that ties are the rule, and by its public code they go to the lowest index
@each("name", [name for name in DETERMINISTIC if name != "fccm"])
def test_the_order_of_the_pool_does_not_matter(name):
    state = a_state()
    order = np.random.default_rng(5).permutation(40)  # unit order[k] of the old pool is unit k of the new one
    known = state.belief
    shuffled = PoolState(
        state.x[order], state.t[order], np.flatnonzero(np.isin(order, state.labelled)), np.random.default_rng(1),
        Belief(
            Posterior(known.posterior.mean[order], known.posterior.cov[order]),
            known.features[order], known.propensity[order], known.prior,
        ),
    )  # fmt: skip
    size = 6  # with 8 features, BAIT's last directions are ties
    assert np.array_equal(macal.get(name).select(state, size), order[macal.get(name).select(shuffled, size)])


@each("name", sorted(set(NAMES) - set(DETERMINISTIC)))
def test_draws_differ_from_seed_to_seed(name):
    batches = {
        tuple(macal.get(name).select(replace(a_state(), rng=np.random.default_rng(seed)), 7).tolist())
        for seed in range(10)
    }
    assert len(batches) > 5


@each("name", sorted(set(NAMES) - set(DETERMINISTIC)))
def test_who_is_ineligible_is_not_drawn(name):
    state = replace(a_state(), restriction=Restriction(np.arange(10, 35)))
    assert set(macal.get(name).select(state, 1000)) == set(a_state().unlabelled) - {*range(10, 35)}


@each("name, need", [(name, need) for name in NAMES for need in CRITERIA[name].factory.needs])
def test_without_what_it_needs_a_criterion_makes_no_choice(name, need):
    with pytest.raises(ValueError, match=f"{CRITERIA[name].factory.__name__} .*{need}"):
        macal.get(name).select(believing(**{need: None}), 3)
    if need == "posterior":
        with pytest.raises(ValueError, match="40 .* 39"):
            macal.get(name).select(believing(posterior=Posterior(np.zeros((39, 2)), np.zeros((39, 2, 2)))), 3)


@part_and_whole("n", 200, 2000)
def test_random_is_uniform_and_balanced_is_balanced(n):
    state = a_state(400, n_labelled=0, treated=0.2)
    counts = np.zeros(400)
    for _ in range(n):
        counts[macal.get("random-balanced").select(state, 10)] += 1
        batch = macal.get("random-balanced").select(state, 10)
        assert state.t[batch].tolist() == [1, 0] * 5
    for arm in (0, 1):
        expected = n * 5 / (state.t == arm).sum()
        assert abs(counts[state.t == arm] - expected).max() < 5 * np.sqrt(expected)


def test_balanced_goes_on_with_one_arm():
    state = a_state(40, n_labelled=0, treated=0.1)
    n1 = int(state.t.sum())
    batch = macal.get("random-balanced").select(state, 40)
    assert state.t[batch].tolist() == [1, 0] * n1 + [0] * (40 - 2 * n1)


@part_and_whole("n", 200, 1000)
@each("share", [0.05, 0.19, 0.5, 0.7])
def test_a_given_share_is_kept_and_each_arm_is_uniform(share, n):
    state = a_state(400, n_labelled=0, treated=0.5)
    criterion = macal.get("random-share", share=share)
    counts = np.zeros(400)
    for _ in range(n):
        batch = criterion.select(state, 20)
        assert state.t[batch].sum() == round(20 * share)
        counts[batch] += 1
    for arm, part in ((1, share), (0, 1 - share)):
        expected = n * round(20 * part) / (state.t == arm).sum()
        assert abs(counts[state.t == arm] - expected).max() < 5 * np.sqrt(expected)


def test_a_given_share_makes_up_for_the_start_and_for_an_exhausted_arm():
    state = a_state(40, n_labelled=0, treated=0.1)
    few = np.flatnonzero(state.t == 1)
    asked = macal.get("random-share", share=0.5).select(replace(state, labelled=few[:2]), 10)
    assert state.t[asked].sum() == min(4, len(few) - 2)
    rest = macal.get("random-share", share=0.9).select(state, 40)
    assert sorted(rest) == list(range(40))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_a_share_must_leave_both_arms_labels(share):
    with pytest.raises(ValueError, match="share must lie between 0 and 1"):
        macal.get("random-share", share=share)


@part_and_whole("n", 4000, 20_000)
def test_the_locally_rare_arm_is_drawn_by_its_inverse_propensity(n):
    state = a_state(8, n_labelled=0)
    e = state.belief.propensity
    own = np.where(state.t == 1, e, 1 - e)
    rare = macal.get("random-rare")
    first = np.bincount([rare.select(state, 1)[0] for _ in range(n)], minlength=8) / n
    np.testing.assert_allclose(first, 1 / own / (1 / own).sum(), atol=0.015 * np.sqrt(20_000 / n))


def test_a_plan_of_the_rare_arm_estimates_the_propensity_once(monkeypatch):
    calls = []
    estimate = lambda x, t: calls.append(0) or np.full(len(t), 0.5)  # noqa: E731
    monkeypatch.setattr("macal.acquisition.bald.logistic_propensity", estimate)
    state = believing(propensity=None)
    assert len(list(macal.get("random-rare").plan(state, [5] * 4))) == 4 and len(calls) == 1


def test_random_pairs_are_nearest_counterparts_and_their_first_units_uniform():
    state = a_state(60, n_labelled=0)
    free = np.ones(60, bool)
    batch = macal.get("random-pairs").select(state, 20)
    for unit, partner in batch.reshape(-1, 2):
        others = np.flatnonzero(free & (state.t != state.t[unit]))
        assert partner == others[np.linalg.norm(state.x[others] - state.x[unit], axis=1).argmin()]
        free[[unit, partner]] = False
    firsts = np.bincount([macal.get("random-pairs").select(state, 2)[0] for _ in range(6000)], minlength=60)
    assert abs(firsts - 100).max() < 5 * np.sqrt(100)
