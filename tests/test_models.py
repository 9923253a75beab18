"""The exact GP against dense algebra, and what it does where an arm is missing."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

import macal
from macal.models import Task, get
from macal.models.exact_gp import _GP, ExactGP
from macal.problem import Split


def split(seed, n, d=2, arms=(0, 1)):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    t = np.resize(arms, n)
    return Split(x, t, np.sin(2 * x[:, 0]) + t + 0.1 * rng.normal(size=n))


def dense_posterior(gp, x, y, x_new):
    """Textbook GP regression with the fitted hyperparameters (Rasmussen and Williams 2006, Eqs. 2.25 and 2.26)."""
    scale, length = gp.kernel.outputscale.item(), gp.kernel.base_kernel.lengthscale.item()
    noise, mean = gp.likelihood.noise.item(), gp.mean.constant.item()
    k = lambda a, b: scale * np.exp(-0.5 * cdist(a, b, "sqeuclidean") / length**2)  # noqa: E731
    solve = np.linalg.solve(k(x, x) + noise * np.eye(len(x)), np.c_[y - mean, k(x, x_new)])
    return mean + k(x_new, x) @ solve[:, 0], scale - np.sum(k(x, x_new) * solve[:, 1:], axis=0)


@pytest.mark.parametrize("optimiser", ["adam", "lbfgs"])
@pytest.mark.parametrize("standardise", [True, False])
def test_posterior_equals_dense_algebra(optimiser, standardise, monkeypatch):
    fitted = []
    monkeypatch.setattr(_GP, "train", lambda self, mode=True: (fitted.append(self), super(_GP, self).train(mode))[1])
    labelled, x_new = split(0, 30), split(1, 12).x
    posterior = ExactGP(optimiser, steps=50, standardise=standardise).fit([Task(labelled)])[0].predict(x_new)
    centre, scale = (labelled.y.mean(), labelled.y.std()) if standardise else (0, 1)
    gps = list(dict.fromkeys(fitted))
    assert len(gps) == 2
    for arm, gp in enumerate(gps):
        own = labelled.t == arm
        mean, var = dense_posterior(
            gp, labelled.x[own].astype(float), (labelled.y[own] - centre) / scale, x_new.astype(float)
        )
        np.testing.assert_allclose(posterior.mean[:, arm], centre + scale * mean, rtol=1e-7)
        np.testing.assert_allclose(posterior.cov[:, arm, arm], scale**2 * var, rtol=1e-6, atol=1e-9)
    assert (posterior.cov[:, 0, 1] == 0).all()
    np.testing.assert_allclose(posterior.tau_var, posterior.cov[:, 0, 0] + posterior.cov[:, 1, 1])


def evidence(optimiser, steps, standardise=False):
    labelled = split(2, 40, arms=(1,))
    x, y = torch.tensor(labelled.x, dtype=torch.float64), torch.tensor(labelled.y)
    gp = _GP(x, y)
    ExactGP(optimiser, steps, standardise=standardise)._maximise(gp, x, y)
    gp.train()
    return gp.likelihood(gp(x)).log_prob(y).item()


def test_lbfgs_reaches_at_least_the_evidence_of_adam():
    assert evidence("lbfgs", 200) >= evidence("adam", 500) - 1e-6 > evidence("adam", 5)


def test_an_empty_arm_keeps_its_prior():
    labelled = split(3, 12, arms=(0,))
    posterior = ExactGP("lbfgs", 20).fit([Task(labelled)])[0].predict(labelled.x)
    np.testing.assert_allclose(posterior.mean[:, 1], labelled.y.mean())
    np.testing.assert_allclose(posterior.cov[:, 1, 1], labelled.y.var())


@pytest.mark.parametrize("n", [1, 2])
def test_single_units_are_enough(n):
    posterior = ExactGP("lbfgs", 20).fit([Task(split(4, n))])[0].predict(split(5, 3).x)
    assert np.isfinite(posterior.mean).all() and (posterior.cov[:, [0, 1], [0, 1]] >= 0).all()


def test_identical_units_and_outcomes():
    same = Split(np.ones((8, 2)), np.arange(8) % 2, np.full(8, 3.0))
    assert np.isfinite(ExactGP("lbfgs", 20).fit([Task(same)])[0].predict(same.x).mean).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get("exactgp"), r"unknown model 'exactgp' \(did you mean 'exact-gp'\?\)"),
        (lambda: get("exact-gp", step=5), r"unknown parameter of 'exact-gp' 'step' \(did you mean 'steps'\?\)"),
        (lambda: get("exact-gp", optimiser="sgd"), "unknown optimiser 'sgd'; known: adam, lbfgs"),
        (lambda: ExactGP().fit([Task(split(0, 4)[[]])])[0].predict(split(0, 4).x), "at least one labelled unit"),
        (lambda: macal.evaluate(macal.load("toy"), [[0, 9999]]), "labelled must lie in 0..2249"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
