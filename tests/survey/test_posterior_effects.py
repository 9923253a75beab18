"""Beliefs about effects, their forecast, and the rule that ends a campaign, against dense algebra and the models."""

import re

import numpy as np
import pytest

import macal
from macal import models
from macal.posterior import Prior
from macal.survey.inference import EffectPosterior, StoppingRule, posterior_effects, posterior_sd

MODELS = {"exact": models.get("exact-gp", optimiser="lbfgs"), "joint": models.get("joint-gp")}


def dense(prior, x, t, labelled):
    """Covariance of all effects, from that of both surfaces at all units, (n, n)."""
    n = len(x)
    rows = [np.concatenate([prior.covariance(x, r, x, s) for s in (0, 1)], axis=1) for r in (0, 1)]
    k = np.concatenate(rows)
    own = labelled + n * t[labelled]
    gram = k[np.ix_(own, own)] + np.diag(prior.noise[t[labelled]])
    k = k - k[:, own] @ np.linalg.solve(gram, k[own])
    effect = np.hstack([-np.eye(n), np.eye(n)])
    return effect @ k @ effect.T


@pytest.mark.parametrize(
    "prior", [Prior([1.0, 2.0], [1.5, 1.5], [0.1, 0.3], 0.7), Prior([1.0, 2.0], [1.5, 0.8], [0.1, 0.3])]
)
def test_spreads_are_those_of_dense_algebra(prior, monkeypatch):
    monkeypatch.setattr(posterior_effects, "_BLOCK", 7)
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    for labelled in (np.arange(12), np.flatnonzero(t == 1)[:3]):
        whole, found = dense(prior, x, t, labelled), posterior_sd(prior, x, t, labelled)
        np.testing.assert_allclose(found.effects**2, whole.diagonal(), rtol=1e-8)
        assert found.average**2 == pytest.approx(whole.mean(), rel=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_a_belief_is_the_fitted_model_s(name):
    problem = macal.load("ihdp", 0)
    pool, labelled = problem.pool, np.arange(60)
    (fitted,) = MODELS[name].fit([models.Task(pool[labelled])])
    found, told = posterior_sd(fitted.prior, pool.x, pool.t, labelled), fitted.predict(pool.x)
    np.testing.assert_allclose(found.effects**2, told.tau_var, rtol=1e-6)
    belief = EffectPosterior(told.tau, found)
    assert belief.average.value == pytest.approx(told.tau.mean())
    assert belief.average.width == pytest.approx(2 * 1.95996 * found.average, rel=1e-5)
    np.testing.assert_allclose(belief.half_widths, 1.95996 * found.effects, rtol=1e-5)
    # a mean of effects is never less certain than the effects are on average
    assert found.average <= np.sqrt(np.mean(found.effects**2))


def test_many_targets_stand_for_more(monkeypatch):
    rng = np.random.default_rng(1)
    x, t = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
    prior = Prior([1.0, 1.0], [1.0, 1.0], [0.1, 0.1])
    whole = posterior_sd(prior, x, t, np.arange(40))
    monkeypatch.setattr(posterior_effects, "MAX_TARGETS", 250)
    some = posterior_sd(prior, x, t, np.arange(40))
    np.testing.assert_array_equal(some.effects, whole.effects)
    assert some.average == pytest.approx(whole.average, rel=0.3) and some.average != whole.average


def test_nobody_labelled_is_no_belief():
    with pytest.raises(ValueError, match="no unit is labelled"):
        posterior_sd(Prior([1.0, 1.0], [1.0, 1.0], [0.1, 0.1]), np.zeros((3, 1)), np.zeros(3, int), np.empty(0, int))


@pytest.mark.parametrize(
    ("width", "more", "said"),
    [
        (1.9, True, "stop: .* 1.9 wide"),
        (2.0, False, "stop"),
        (2.1, True, "continue: .* 2.1 wide"),
        (2.1, False, "continue with"),
        (np.inf, True, "continue:"),
    ],
)
def test_a_rule_stops_by_width(width, more, said):
    assert re.match(said, StoppingRule(2.0).decide(width, more))


def test_weights_stand_for_so_many_people():
    rng = np.random.default_rng(0)
    x, t, labelled = rng.normal(size=(60, 3)), np.arange(60) % 2, np.arange(12)
    prior, weights = Prior((1.0, 1.0), (2.0, 2.0), (0.1, 0.1), 0.4), rng.integers(1, 5, 60)
    units = np.repeat(np.arange(60), weights)
    first = np.array([int(np.flatnonzero(units == k)[0]) for k in labelled])
    ours = posterior_sd(prior, x, t, labelled, weights.astype(float))
    theirs = posterior_sd(prior, x[units], t[units], first)
    assert ours.average == pytest.approx(theirs.average, rel=1e-9)
    belief = EffectPosterior(x[:, 0], ours, weights=weights.astype(float))
    assert belief.average.value == pytest.approx(x[units, 0].mean())
