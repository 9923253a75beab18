"""Designs against brute force in joint Gaussians, and against the public code of ABC3."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import each, part_and_whole
from scipy.spatial.distance import pdist

import macal
from macal.acquisition import Belief, PoolState
from macal.acquisition.design import ABC3
from macal.posterior import Prior

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "abc3.npz", allow_pickle=False)
POOLS = sorted({key.partition("_")[0] for key in GOLDEN.files})
DIFFERENCE = np.array([-1.0, 1.0])


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


def information(c, s, v):
    """Mutual information of a label and some targets, 1/2 log(det S v / det of both)."""
    return (log_det(s) + np.log(v) - log_det(np.block([[s, c[:, None]], [c[None], np.array([[v]])]]))) / 2


WORTH = {  # of a label of variance v, whose covariance with the two surfaces at a target is c; S theirs
    "alc": lambda c, s, v: (DIFFERENCE @ c) ** 2 / v,
    "epig-mu": information,
    "epig-tau": lambda c, s, v: information(DIFFERENCE[None] @ c, (DIFFERENCE @ s @ DIFFERENCE).reshape(1, 1), v),
}


def dense_posterior(x, t, labelled, prior):
    """Covariance of both surfaces at all units given the labels, (2n, 2n): dense, and written down anew."""
    n = len(x)
    surface, lengths = np.repeat([0, 1], n), np.repeat(prior.lengthscale, n)
    squared = np.square(np.concatenate([x, x])[:, None] - np.concatenate([x, x])[None]).sum(axis=2)
    same = np.where(surface[:, None] == surface, 1.0, prior.rho)
    deviation = np.sqrt(np.repeat(prior.variance, n))
    k = same * np.outer(deviation, deviation) * np.exp(-squared / (2 * np.outer(lengths, lengths)))
    own = labelled + n * t[labelled]
    gram = k[np.ix_(own, own)] + np.diag(prior.noise[t[labelled]])
    return k - k[:, own] @ np.linalg.solve(gram, k[own]) if len(own) else k


def brute(name, x, t, labelled, prior, units):
    """What the label of each unit is worth, mean over all units as targets."""
    n, k = len(x), dense_posterior(x, t, np.array(labelled, np.int64), prior)
    own = units + n * t[units]
    pairs = [np.array([z, z + n]) for z in range(n)]
    return np.array(
        [np.mean([WORTH[name](k[q, z], k[np.ix_(z, z)], k[q, q] + prior.noise[q // n]) for z in pairs]) for q in own]
    )


def a_problem(seed):
    rng = np.random.default_rng(seed)
    n, rho = int(rng.integers(4, 12)), [0.0, 0.6, -0.8][seed % 3]
    lengths = rng.uniform(0.4, 2, 2)
    prior = Prior(rng.uniform(0.3, 3, 2), lengths if rho == 0 else lengths[[0, 0]], rng.uniform(0.02, 1, 2), rho)
    x, t = rng.normal(size=(n, int(rng.integers(1, 4)))), rng.integers(0, 2, n)
    return PoolState(x, t, rng.permutation(n)[: rng.integers(0, n - 2)], belief=Belief(prior=prior))


@each("name", WORTH)
@each("seed", range(12))
def test_gains_are_those_of_brute_force_also_after_a_pick(name, seed):
    state, criterion = a_problem(seed), macal.get(name)
    posterior = criterion.posterior(state)
    first = int(criterion.select(state, 1)[0])
    posterior.label(first)
    done = [*state.labelled.tolist(), first]
    for arm in (0, 1):
        free = posterior.units[arm] != first
        units = posterior.units[arm][free]
        expected = brute(name, state.x, state.t, done, state.belief.prior, units)
        # 1e-12 of a surface's variance is added to each label's noise
        assert criterion.gain(posterior, arm)[free] == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_targets_are_a_fixed_draw_from_the_pool():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    state = PoolState(x, t, np.arange(5), belief=Belief(prior=Prior((1, 1), (1, 1), (0.1, 0.1))))
    some = macal.get("alc", targets=7)
    assert some.posterior(state).target[0, 0].shape == (7,)
    assert np.array_equal(some.select(state, 5), some.select(state, 5))
    assert not np.array_equal(some.select(state, 5), macal.get("alc").select(state, 5))


def test_a_plan_is_one_long_batch():
    state, criterion = a_problem(3), macal.get("epig-tau")
    batches = list(criterion.plan(state, [1, 2, 100]))
    assert np.array_equal(np.concatenate(batches), criterion.select(state, 103))


@dataclass(frozen=True)
class _Golden(ABC3):
    """ABC3 with the length scales and the noise of a golden pool."""

    name: Any = None

    def covariates(self, state):
        return super().covariates(state) / GOLDEN[f"{self.name}_length_scale"]

    def prior(self, state):
        return Prior((1, 1), (1, 1), GOLDEN[f"{self.name}_sigma"] ** 2)


@pytest.mark.parametrize("name", POOLS)
def test_scores_of_abc3(name):
    x, scores, picks, arms = (GOLDEN[f"{name}_{key}"] for key in ("x_raw", "scores", "picks", "pick_arm"))
    labelled, given = (GOLDEN[f"{name}_{key}"].tolist() for key in ("start", "start_arm"))
    criterion = _Golden(name=name)
    for k, (pick, of) in enumerate(zip(picks.tolist(), arms.tolist(), strict=True)):
        for arm in (0, 1):  # their table has every unit under both arms
            t = np.full(len(x), arm)
            t[labelled] = given
            posterior = criterion.posterior(PoolState(x.astype(float), t, np.array(labelled)))
            ours = criterion.gain(posterior, arm)
            # their noise is rounded to single precision
            assert ours == pytest.approx(scores[k, arm][posterior.units[arm]], rel=4e-8)
        labelled.append(pick)
        given.append(of)


@pytest.mark.parametrize("name", [name for name in POOLS if str(GOLDEN[f"{name}_mode"]) == "observed"])
def test_picks_of_abc3_under_the_arms_that_were_given(name):
    t = GOLDEN[f"{name}_t"].astype(np.int64)
    start, picks = GOLDEN[f"{name}_start"].astype(np.int64), GOLDEN[f"{name}_picks"]
    t[start] = GOLDEN[f"{name}_start_arm"]
    state = PoolState(GOLDEN[f"{name}_x_raw"].astype(float), t, start)
    assert _Golden(name=name).select(state, len(picks)).tolist() == picks.tolist()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: macal.get("alc", targets=0), "targets"),
        (lambda: macal.get("alc", targets=True), "targets"),
        (lambda: macal.get("alc-fixed", noise=0.0), "above 0"),
        (lambda: Prior((0, 1), (1, 1), (1, 1)), "above 0"),
        (lambda: Prior((1, 1), (1, float("inf")), (1, 1)), "above 0"),
        (lambda: Prior((1, 1), (1, 1), (1, 1), 1.5), "rho"),
        (lambda: Prior((1, 1), (1, 2), (1, 1), 0.5), "length scale"),
    ],
)
def test_what_cannot_be_is_refused(unchecked, call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_fixed_hyperparameters_plan_a_whole_campaign_whatever_the_outcomes_scale():
    problem = macal.load("ihdp", 0)
    plan = macal.schedule(problem, "alc-fixed", n_queries=3)
    assert len(plan) == 40
    unit = np.median(pdist(problem.pool.x.astype(float)))  # 470 units: all of them
    known = Prior((7.0, 7.0), (2 * unit,) * 2, (1.4, 1.4))
    state = PoolState(problem.pool.x.astype(float), problem.pool.t, problem.start, belief=Belief(prior=known))
    expected = macal.get("alc").select(state, 20)
    found = macal.get("alc-fixed", lengthscale=2.0, noise=0.2).select(replace(state, belief=Belief()), 20)
    assert found.tolist() == expected.tolist()


@each("name", ["alc-fixed", "abc3"])
@part_and_whole("times", 4, 20)
def test_a_plan_of_whole_numbers_goes_on_where_it_was_stopped(name, times):
    """Many gains are equal there but for rounding, which a plan that is begun anew does otherwise."""
    for seed in range(times):
        rng = np.random.default_rng(seed)
        x, t = rng.integers(0, 4, (200, 3)).astype(float), rng.integers(0, 2, 200)
        start = rng.permutation(200)[:6]
        whole = macal.plan(x, t, start, 10, 5, name)
        rest = macal.plan(x, t, np.concatenate([start, *whole[:4]]), 6, 5, name)
        assert [b.tolist() for b in rest] == [b.tolist() for b in whole[4:]], seed
