"""Golden selections of the reference implementation, distributions, degenerate features, bad input."""

from pathlib import Path

import numpy as np
import pytest
from cases import each, part_and_whole

import macal
from macal.acquisition import Belief, PoolState, from_features
from macal.acquisition.features import METHODS

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "bmdal_reg.npz", allow_pickle=False)
SELECTIONS = [key for key in GOLDEN.files if not key.startswith("X_")]


def golden(key):
    method, train, case = key.split("|", 2)
    x_train, x_pool, picks = GOLDEN[f"X_train|{case}"], GOLDEN[f"X_pool|{case}"], GOLDEN[key]
    name, with_train = {"maxdist": "coreset"}.get(method, method), train == "train1"
    return x_train, x_pool, picks.tolist(), from_features(name, x_train, x_pool, len(picks), with_train).tolist()


@pytest.mark.parametrize("key", [key for key in SELECTIONS if key.split("|")[0] not in ("bait", "maxdet")])
def test_golden(key):
    _, _, picks, ours = golden(key)
    assert ours == picks


ROUNDING = 200 * np.finfo(np.float32).eps  # of what is left of a unit, in the precision of the golden features


@pytest.mark.parametrize("key", [key for key in SELECTIONS if key.split("|")[0] in ("bait", "maxdet")])
def test_golden_picks_as_far_as_they_are_determined(key):
    """Without noise p features leave nothing after p picks, and what is then scored is rounding.

    What is left is computed anew from our own picks, in double precision. A pick is determined where no other unit's
    score can reach the best one's; from the first that is not, ours need only be as good as the best.
    """
    x_train, x_pool, picks, ours = golden(key)
    x, aim = x_pool.astype(float), np.concatenate([x_pool, x_train]).astype(float)
    assert "train0" in key  # selection starts from the pool
    determined, same = 0, True
    for i, pick in enumerate(ours[: x.shape[1]]):
        basis = np.linalg.qr(x[ours[:i]].T)[0]
        rest = x - (x @ basis) @ basis.T
        left = (rest**2).sum(1)
        score = left if key.startswith("maxdet") else ((rest @ aim.T) ** 2).sum(1) / (left + 1e-8)
        score[ours[:i]] = left[ours[:i]] = 0
        error = ROUNDING * (x**2).sum(1) / np.maximum(left, 1e-300)  # relative
        reach = np.flatnonzero(score * (1 + error) >= score.max() * (1 - error[score.argmax()]))
        same &= len(reach) == 1
        determined += same
        assert pick in reach and (pick == picks[i] or not same), f"pick {i}"
    assert determined >= 0.7 * i


def a_case(n=60, m=12, p=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, p)), rng.standard_normal((n, p))


@pytest.mark.parametrize("with_train", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_maxdet_maximises_the_determinant(with_train, noise):
    train, pool = a_case()
    picks = []
    for pick in from_features("maxdet", train, pool, 4, with_train, noise=noise):
        base = np.concatenate([train * with_train, pool[picks]])
        base = base[np.abs(base).sum(1) > 0]

        def log_det(k, base=base):
            rows = np.concatenate([base, pool[[k]]])
            # with the start alone spanning all features, only noise keeps the determinant above zero
            return np.linalg.slogdet(rows @ rows.T + noise**2 * np.eye(len(rows)))[1]

        if noise or not with_train:
            best = max((k for k in range(len(pool)) if k not in picks), key=log_det)
            assert pick == best
        picks.append(int(pick))


@pytest.mark.parametrize("with_train", [False, True])
def test_bait_minimises_the_trace(with_train):
    train, pool = a_case()
    everyone, noise, picks = np.concatenate([train, pool]), 0.5, []
    for pick in from_features("bait", train, pool, 10, with_train, noise=noise):

        def trace(k, picks=picks):
            rows = np.concatenate([train[: len(train) * with_train], pool[[*picks, k]]])
            return np.trace(everyone @ np.linalg.inv(np.eye(5) + rows.T @ rows / noise**2) @ everyone.T)

        assert pick == min((k for k in range(len(pool)) if k not in picks), key=trace)
        picks.append(int(pick))


def test_lcmd_by_hand():
    pool = np.array([[10.0, 0], [10, 1], [10, -1.5], [0, 3], [0.5, 3], [-1, 3]])
    # first the largest norm (10, -1.5); then the farthest in its only cluster; then the farthest of the heavier cluster
    assert from_features("lcmd", pool[:0], pool, 3).tolist() == [2, 5, 1]


@pytest.mark.parametrize("name", ["lcmd", "coreset"])
def test_of_equal_norms_the_first_unit_begins(name):
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 50)
    pool = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # squares add up to 1 but for rounding
    assert np.ptp((pool**2).sum(1)) > 0 and (pool**2).sum(1).argmax() > 0
    assert from_features(name, pool[:0], pool, 3)[0] == 0


@part_and_whole("n", 2000, 20_000)
def test_badge_is_k_means_plus_plus_in_distribution(unchecked, n):
    pool, train = np.array([[0.0], [1], [3], [7]]), np.empty((0, 1))
    rng = np.random.default_rng(0)
    pairs = [tuple(from_features("badge", train, pool, 2, seed=rng).tolist()) for _ in range(n)]
    for i in range(4):
        d2 = ((pool - pool[i]) ** 2)[:, 0]
        for j in set(range(4)) - {i}:
            p = d2[j] / d2.sum() / 4
            assert abs(pairs.count((i, j)) - n * p) < 4.5 * np.sqrt(n * p * (1 - p)) + 1e-9


@part_and_whole("n", 1000, 10_000)
def test_badge_starts_from_the_training_units(unchecked, n):
    pool, train = np.array([[0.0], [1], [3]]), np.array([[0.0]])
    rng = np.random.default_rng(0)
    first = np.bincount(
        [from_features("badge", train, pool, 1, with_train=True, seed=rng)[0] for _ in range(n)], minlength=3
    )
    assert first[0] == 0
    assert abs(first[1] - 0.1 * n) < 4.5 * np.sqrt(0.09 * n)


@each("name", METHODS)
@each("with_train", [False, True])
@each("kind", ["zero", "copies", "one column", "huge", "tiny", "no training units"])
def test_degenerate_features_give_a_whole_batch(name, with_train, kind):
    train, pool = a_case()
    match kind:
        case "zero":
            train, pool = train * 0, pool * 0
        case "copies":
            train, pool = train[[0] * 12], pool[[0, 1] * 30]
        case "one column":
            train, pool = train[:, :1], pool[:, :1]
        case "huge":
            train, pool = train * 1e60, pool * 1e60
        case "tiny":
            train, pool = train * 1e-60, pool * 1e-60
        case "no training units":
            train = train[:0]
    for size in (5, 60, 100):
        batch = from_features(name, train, pool, size, with_train)
        assert len(batch) == len(set(batch.tolist())) == min(size, 60)


@pytest.mark.parametrize("name", ["badge", "lcmd", "bait"])
@pytest.mark.parametrize("with_train", [False, True])
def test_a_criterion_selects_from_the_units_that_are_left(name, with_train):
    _, features = a_case()
    labelled = np.array([3, 50, 7])
    state = PoolState(features, np.arange(60) % 2, labelled, np.random.default_rng(4), Belief(features=features))
    free = np.setdiff1d(np.arange(60), labelled)
    expected = from_features(name, features[labelled], features[free], 4, with_train, np.random.default_rng(4))
    assert macal.get(name, with_train=with_train).select(state, 4).tolist() == free[expected].tolist()


TWO, THREE = np.ones((2, 2)), np.ones((3, 2))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("lcdm", TWO, THREE, 1), "'lcdm' .*'lcmd'"),
        (("lcmd", np.ones((2, 3)), THREE, 1), "3 and 2"),
        (("lcmd", TWO, np.ones(3), 1), "x_pool"),
        (("lcmd", np.full((2, 2), np.nan), THREE, 1), "x_train"),
        (("lcmd", TWO, THREE, 0), "batch_size"),
        (("bait", TWO, THREE, 1, False, 0, -1.0), "noise"),
    ],
)
def test_bad_input_is_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        from_features(*arguments)
