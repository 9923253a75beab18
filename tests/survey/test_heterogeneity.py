"""Whether effects are seen to differ: the held-out loss by a plain path, and what is said of it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from macal import models
from macal.models import Task
from macal.problem import Split
from macal.survey.inference import HeterogeneityTest, heterogeneity_test
from macal.survey.inference.weighted import MAX_PROPENSITY_FLOOR

MODEL = models.get("exact-gp", optimiser="lbfgs")


def units(n=120, slope=2.0, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    t = (rng.uniform(size=n) < 1 / (1 + np.exp(-x[:, 1]))).astype(np.int64)
    mu0, tau = np.sin(x[:, 0]), 1 + slope * x[:, 1]
    return Split(x, t, mu0 + t * tau + noise * rng.normal(size=n), mu0, mu0 + tau)


def test_the_loss_is_that_of_answers_that_the_fit_has_not_seen():
    own, seed = units(), 3
    order = np.random.default_rng(seed).permutation(len(own))
    order = order[np.argsort(own.t[order], kind="stable")]
    gains, errors = [], []
    z = (own.x - own.x.mean(axis=0)) / own.x.std(axis=0)
    for k in range(5):
        out = order[k::5]
        rest = np.setdiff1d(np.arange(len(own)), out)
        (fitted,) = MODEL.fit([Task(own[rest], seed=seed)])
        e = LogisticRegression(max_iter=1000).fit(z[rest], own.t[rest]).predict_proba(z[out])[:, 1]
        e = e.clip(MAX_PROPENSITY_FLOOR, 1 - MAX_PROPENSITY_FLOOR)
        mu = fitted.predict(own.x[out]).mean
        m = e * mu[:, 1] + (1 - e) * mu[:, 0]
        constant = np.diff(fitted.predict(own.x[rest]).mean, axis=1).mean()
        one = (own.y[out] - m - (own.t[out] - e) * constant) ** 2
        each = (own.y[out] - m - (own.t[out] - e) * (mu[:, 1] - mu[:, 0])) ** 2
        gains, errors = [*gains, *(one - each)], [*errors, *one]
    found = heterogeneity_test(MODEL, own, seed)
    assert found.gain == pytest.approx(np.sum(gains) / np.sum(errors), rel=1e-6)
    assert found.z == pytest.approx(np.mean(gains) / (np.std(gains, ddof=1) / np.sqrt(len(own))), rel=1e-6)
    assert found.answers == len(own)


def test_few_answers_of_an_arm_say_nothing():
    own = units()
    treated, control = np.flatnonzero(own.t == 1), np.flatnonzero(own.t == 0)
    assert heterogeneity_test(MODEL, own[np.r_[control, treated[:9]]]) is None
    assert heterogeneity_test(MODEL, own[np.r_[control, treated[:10]]]) is not None
    assert heterogeneity_test(MODEL, own[control]) is None


@pytest.mark.parametrize(
    ("gain", "z", "shown", "said"),
    [(0.2, 1.7, True, "20.0%"), (0.02, 1.6, False, "2.0%"), (-0.1, -0.5, False, "10.0%")],
)
def test_effects_are_shown_by_the_stated_chance(gain, z, shown, said):
    found = HeterogeneityTest(gain, z, 1234)
    assert found.shown == shown and said in found.describe() and "1,234" in found.describe()
