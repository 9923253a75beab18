"""Batched exact GPs against gpytorch's one at a time, against dense algebra, and against their own neighbours."""

import gpytorch
import numpy as np
import pytest
import torch
from cases import part_and_whole
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

import macal
from macal import acquisition, metrics
from macal.campaigns import begin
from macal.models import NotFitted, Task, cholesky, dense_gp, get
from macal.models.base import settings_of
from macal.models.dense_gp import natural
from macal.models.exact_gp import ExactGP
from macal.problem import Split


@pytest.fixture(autouse=True)
def cholesky_throughout():
    with gpytorch.settings.fast_computations(False, False, False):
        yield


def task(seed, n=None, d=None):
    """Two arms of random sizes on random covariates, noisy or not."""
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(4, 120)), d or int(rng.integers(1, 4))
    x, t = rng.normal(size=(n, d)) * rng.choice([0.5, 1, 4]), np.resize([0, 1, 1], n)
    return Task(Split(x, t, np.sin(2 * x[:, 0]) + t + rng.choice([0, 0.3]) * rng.normal(size=n)))


def arm_of(labelled, arm):
    own = labelled.t == arm
    return torch.tensor(labelled.x[own], dtype=torch.float64), torch.tensor(labelled.y[own])


class GP(gpytorch.models.ExactGP):
    """The public code's model."""

    def __init__(self, x, y):
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean, self.kernel = (
            gpytorch.means.ConstantMean(),
            gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()),
        )
        self.double()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    def ordered(self):
        """Its raw parameters in our order."""
        named = dict(self.named_parameters())
        names = "mean.raw_constant", "kernel.raw_outputscale", "kernel.base_kernel.raw_lengthscale"
        return [named[n] for n in (*names, "likelihood.noise_covar.raw_noise")]

    def natural(self):
        kernel = self.kernel
        found = self.mean.constant, kernel.outputscale, kernel.base_kernel.lengthscale, self.likelihood.noise
        return np.array([float(value.detach()) for value in found])

    def evidence(self):
        """A function of raw parameters: log marginal likelihood per unit and its gradient, by autograd."""
        self.train()
        mll = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self)

        def call(raw=None):
            for p, value in zip(self.ordered(), raw if raw is not None else (), strict=False):
                p.data.fill_(float(value))
            self.zero_grad()
            value = mll(self(*self.train_inputs), self.train_targets)
            value.backward()
            return value.item(), np.array([p.grad.item() for p in self.ordered()])

        return call

    def predicted(self, x):
        with torch.no_grad(), gpytorch.settings.debug(False):
            f = self.eval()(x)
            return f.mean.numpy(), f.variance.numpy()


def by_adam(x, y, steps):
    gp = GP(x, y)
    call, optimiser = gp.evidence(), torch.optim.Adam(gp.parameters(), lr=0.01, maximize=True)
    for _ in range(steps):
        call()
        optimiser.step()
    return gp


def by_lbfgs(x, y):
    gp = GP(x, y)
    call = gp.evidence()

    def descend(raw):
        value, gradient = call(raw)
        return -value, -gradient

    bounds = [(-15.0, 60.0)] * 4  # as ours: noiseless data push the noise towards minus infinity
    call(minimize(descend, np.zeros(4), jac=True, method="L-BFGS-B", bounds=bounds).x)
    return gp


def agree(fitted, labelled, oracle, new, arms=(0, 1), rtol=1e-4):
    """Hyperparameters and predictions; returns how many processes were compared."""
    posterior = fitted.predict(new)
    for arm in arms:
        gp = oracle(*arm_of(labelled, arm))
        own = torch.stack(natural(fitted.gps[arm].raw)).numpy()
        np.testing.assert_allclose(own, gp.natural(), rtol=rtol, atol=rtol * 1e-3)
        mean, var = gp.predicted(torch.tensor(new, dtype=torch.float64))
        spread = max(np.abs(mean).max(), np.ptp(labelled.y))
        np.testing.assert_allclose(posterior.mean[:, arm], mean, rtol=rtol, atol=rtol * spread)
        np.testing.assert_allclose(posterior.cov[:, arm, arm], var, rtol=rtol, atol=rtol * own[1])
    return len(arms)


@part_and_whole("n", 6, 28)
def test_many_problems_at_once_are_single_gpytorch_fits(n):
    tasks = [task(seed) for seed in range(n)]
    fits = ExactGP(steps=25, standardise=False).fit(tasks)
    new = np.random.default_rng(0).normal(size=(9, 3)) * 2
    compared = [agree(f, k.labelled, lambda x, y: by_adam(x, y, 25), new[:, : k.labelled.x.shape[1]].astype(np.float32))
                for f, k in zip(fits, tasks, strict=True)]  # fmt: skip
    assert sum(compared) >= 25 * n / 14


def test_lbfgs_finds_what_it_finds_on_gpytorchs_evidence():
    tasks = [task(seed, n=60, d=1) for seed in range(3)]
    new = np.linspace(-1, 1, 7, dtype=np.float32)[:, None]
    for fitted, k in zip(ExactGP("lbfgs", standardise=False).fit(tasks), tasks, strict=True):
        for arm in (0, 1):
            gp = by_lbfgs(*arm_of(k.labelled, arm))
            assert fitted.gps[arm].evidence >= gp.evidence()()[0] - 1e-6
            np.testing.assert_allclose(
                fitted.predict(new).mean[:, arm], gp.predicted(torch.tensor(new).double())[0], atol=1e-3
            )


@pytest.mark.parametrize("optimiser", ["adam", "lbfgs"])
def test_a_fit_does_not_depend_on_its_neighbours(optimiser):
    model = ExactGP(optimiser, steps=30)
    tasks = [task(seed, n) for seed, n in enumerate((3, 30, 31, 32, 33, 90, 90, 90, 150))]
    alone = [model.fit([k])[0] for k in tasks]
    before = torch.get_num_threads()
    try:
        for threads, order in ((1, range(9)), (2, range(8, -1, -1))):
            torch.set_num_threads(threads)
            for k, fitted in zip(order, model.fit([tasks[k] for k in order]), strict=True):
                for mine, other in zip(fitted.gps, alone[k].gps, strict=True):
                    assert torch.equal(mine.raw, other.raw) and torch.equal(mine.weights, other.weights)
    finally:
        torch.set_num_threads(before)


def test_widths_waste_little():
    wide = np.array([dense_gp.width(n) for n in range(1, 600)])
    assert (wide >= np.arange(1, 600)).all() and (wide % 128 > 0).all() and (wide - np.arange(1, 600)).max() < 16
    assert all(
        dense_gp.together(n) * dense_gp.width(n) ** 2 <= 2**17 or dense_gp.together(n) == 1 for n in (1, 90, 999)
    )


def dense_posterior(gp, x, y, x_new):
    """Textbook GP regression with the fitted hyperparameters (Rasmussen and Williams 2006, Eqs. 2.25 and 2.26)."""
    mean, scale, length, noise = (value.item() for value in natural(gp.raw))
    k = lambda a, b: scale * np.exp(-0.5 * cdist(a, b, "sqeuclidean") / length**2)  # noqa: E731
    solve = np.linalg.solve(k(x, x) + noise * np.eye(len(x)), np.c_[y - mean, k(x, x_new)])
    return mean + k(x_new, x) @ solve[:, 0], scale - np.sum(k(x, x_new) * solve[:, 1:], axis=0)


@pytest.mark.parametrize("optimiser", ["adam", "lbfgs"])
@pytest.mark.parametrize("standardise", [True, False])
def test_posterior_equals_dense_algebra(optimiser, standardise):
    labelled, x_new = task(0, 30, 2).labelled, task(1, 12, 2).labelled.x
    fitted = ExactGP(optimiser, steps=50, standardise=standardise).fit([Task(labelled)])[0]
    posterior = fitted.predict(x_new)
    centre, scale = (labelled.y.mean(), labelled.y.std()) if standardise else (0, 1)
    for arm in (0, 1):
        own = labelled.t == arm
        mean, var = dense_posterior(
            fitted.gps[arm], labelled.x[own].astype(float), (labelled.y[own] - centre) / scale, x_new.astype(float)
        )
        np.testing.assert_allclose(posterior.mean[:, arm], centre + scale * mean, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(posterior.cov[:, arm, arm], scale**2 * var, rtol=1e-6, atol=1e-9)
    assert (posterior.cov[:, 0, 1] == 0).all()
    np.testing.assert_allclose(posterior.tau_var, posterior.cov[:, 0, 0] + posterior.cov[:, 1, 1])


@pytest.mark.parametrize(("model", "settings"), [("exact-gp", {"optimiser": "lbfgs"}), ("joint-gp", {})])
def test_a_wave_taken_for_noise_is_found_by_more_starts(model, settings):
    problem = macal.load("toy", 0)
    campaign = begin(problem, acquisition.get("macal"), "macal", n_queries=12)
    campaign.choose_remaining(get("joint-gp"))
    labelled = Task(problem.pool[campaign.labelled(12)])
    fits = [get(model, starts=k, **settings).fit([labelled])[0] for k in (1, 4)]
    one, more = (metrics.pehe(fitted.predict(problem.test.x).tau, problem.test.tau) for fitted in fits)
    assert one > 0.9 * problem.test.tau.std() and more < 0.1 * problem.test.tau.std()


@pytest.mark.exhaustive
def test_more_starts_never_lower_the_evidence_and_one_is_todays_fit():
    tasks = [task(seed) for seed in range(12)]
    plain, one, three = (ExactGP("lbfgs", **given).fit(tasks) for given in ({}, {"starts": 1}, {"starts": 3}))
    evidence = np.array([[gp.evidence for fitted in fits for gp in fitted.gps] for fits in (plain, one, three)])
    assert (evidence[0] == evidence[1]).all() and (evidence[2] >= evidence[1]).all()
    assert (evidence[2] > evidence[1] + 1e-3).any()
    assert settings_of(ExactGP()) == settings_of(ExactGP(starts=1)) and "starts" not in settings_of(ExactGP())
    for model in ("exact-gp", "joint-gp"):
        with pytest.raises(ValueError, match="starts must be .* got 0"):
            get(model, starts=0)


def test_jitter_grows_where_it_is_needed_alone():
    good, singular = torch.eye(3, dtype=torch.float64) * 2, torch.ones(3, 3, dtype=torch.float64)
    singular[0, 0] = 1 - 1e-7
    factor = cholesky.exact(torch.stack([good, singular]))
    assert torch.equal(factor[0], torch.linalg.cholesky(good))
    np.testing.assert_allclose(factor[1] @ factor[1].T, singular, atol=1e-5)
    with pytest.raises(cholesky.NotPositiveDefinite, match=r"rows \[1\]"):
        cholesky.exact(torch.stack([good, -good]))


@pytest.mark.parametrize("library", ["its own", "OpenBLAS"])
def test_a_matrix_of_nan_has_no_factor_in_any_library(library, monkeypatch):
    if library == "OpenBLAS":  # as PyTorch uses on Arm: a pivot of NaN is not at most 0, so nothing has failed
        plain = torch.linalg.cholesky_ex
        monkeypatch.setattr(torch.linalg, "cholesky_ex", lambda k: (plain(k)[0], torch.zeros(k.shape[:-2], dtype=int)))
    bad = torch.eye(3).repeat(2, 1, 1)
    bad[1, 2, 2] = torch.nan
    for factorise, rows in ((cholesky.exact, bad), (cholesky.jittered, bad[:, None])):
        with pytest.raises(cholesky.NotPositiveDefinite, match=r"rows \[1\]"):
            factorise(rows)


@pytest.mark.parametrize("optimiser", ["adam", "lbfgs"])
def test_a_hopeless_task_is_named(optimiser):
    x = np.arange(6.0)[:, None]
    hopeless = Task(Split(x, np.arange(6) % 2, np.where(np.arange(6) % 2, 1e200 * x[:, 0], 1.0)))
    with pytest.raises(NotFitted, match=r"tasks\[1\] \(treated arm, 3 labelled units: the covariance is not positive"):
        ExactGP(optimiser, standardise=False).fit([task(0), hopeless])


@pytest.mark.parametrize("d", [99, 100, 784])
def test_distances_to_new_units_do_not_depend_on_how_they_are_computed(d):
    rng = np.random.default_rng(d)
    x, new = (torch.from_numpy(50 + rng.normal(size=(n, d))) for n in (30, 12))
    found = dense_gp.distances_to_new(x, torch.cat([new, x[:3]]))
    np.testing.assert_allclose(found, cdist(x, torch.cat([new, x[:3]]), "sqeuclidean"), rtol=1e-12, atol=1e-10 * d)
