"""The joint Gaussian process: gpytorch's evidence and predictions, one optimum, and no arm that is given up."""

from dataclasses import replace

import gpytorch
import numpy as np
import pytest
import torch
from cases import exhaustive
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from needs import needs_data
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist

import macal
from macal.campaigns import begin
from macal.models import Task, get, joint_gp
from macal.models.joint_gp import PRIORS, JointGP
from macal.problem import Split

CONTROLS, N = 9, 21
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 3)), RNG.normal(size=N)
T = np.repeat([0, 1], [CONTROLS, N - CONTROLS])
LABELS = joint_gp._Labels(cdist(X, X, "sqeuclidean"), Y, CONTROLS)
around = hnp.arrays(float, 8, elements=st.floats(-1.5, 1.5)).map(lambda z: PRIORS[:, 0] + PRIORS[:, 1] * z)


class Hadamard(gpytorch.models.ExactGP):
    """gpytorch's own multitask process of those hyperparameters, one task per arm."""

    def __init__(self, at, noise):
        fixed = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(torch.tensor(noise))
        places = torch.tensor(X), torch.tensor(T)[:, None]
        super().__init__(places, torch.tensor(Y), fixed)
        self.means = torch.tensor(at[:2])
        self.covariance, self.arms = gpytorch.kernels.RBFKernel(), gpytorch.kernels.IndexKernel(num_tasks=2, rank=2)
        self.double()
        self.covariance.lengthscale = float(np.exp(at[6]))
        sigma, rho = np.exp(at[2:4]), np.tanh(at[7])
        between = np.outer(sigma, sigma) * np.array([[1, rho], [rho, 1]])
        with torch.no_grad():
            self.arms.covar_factor.copy_(torch.tensor(np.linalg.cholesky(between)))
        self.arms.var = torch.full((2,), 1e-14, dtype=torch.float64)

    def forward(self, x, t):
        covariance = self.covariance(x).mul(self.arms(t))
        return gpytorch.distributions.MultivariateNormal(self.means[t[:, 0]], covariance)


@given(around)
@settings(max_examples=20)
def test_the_evidence_is_gpytorchs(at):
    noise = np.exp(at[4:6] + 2 * at[2:4])[T]
    model = Hadamard(at, noise)
    with gpytorch.settings.fast_computations(False, False, False), torch.no_grad():
        model.train()
        theirs = model.likelihood(model(*model.train_inputs)).log_prob(model.train_targets).item()
    assert LABELS.evidence(at)[0] == pytest.approx(theirs, rel=1e-7, abs=1e-7)


@given(around)
def test_the_gradient_is_that_of_the_evidence(at):
    by_differences = approx_fprime(at, lambda a: LABELS.evidence(a)[0], 1e-6)
    np.testing.assert_allclose(LABELS.evidence(at)[1], by_differences, rtol=1e-3, atol=1e-3)


def test_the_predictions_are_gpytorchs(monkeypatch):
    at = PRIORS[:, 0] + np.array([0.2, -0.3, 0.4, -0.5, 0.3, -0.2, 0.1, 0.6])
    monkeypatch.setattr(JointGP, "_climb", lambda self, units, centre, scale: (1.0, at))
    y = (Y - Y.mean()) / Y.std()
    (fitted,) = JointGP().fit([Task(Split(X, T, y))])
    noise, new = np.exp(at[4:6] + 2 * at[2:4])[T], RNG.normal(size=(5, 3))
    model = Hadamard(at, noise)
    model.set_train_data(targets=torch.tensor(y), strict=False)
    model.eval()
    found = fitted.predict(new)
    for arm in (0, 1):
        with gpytorch.settings.fast_computations(False, False, False), torch.no_grad():
            theirs = model(torch.tensor(new), torch.full((5, 1), arm))
        np.testing.assert_allclose(found.mean[:, arm], theirs.mean, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found.cov[:, arm, arm], theirs.variance, rtol=1e-6, atol=1e-7)


def test_the_correlation_across_arms_is_that_of_both_surfaces_at_once():
    problem = macal.load("ihdp", 0)
    labelled = problem.pool[np.arange(60)]
    (fitted,) = JointGP().fit([Task(labelled)])
    new, prior, x, t = problem.test.x[:4].astype(float), fitted.prior, labelled.x.astype(float), labelled.t
    twice, arms = np.tile(new, (2, 1)), np.repeat([0, 1], 4)
    gram = prior.covariance(x, t, x, t) + np.diag(prior.noise[t])
    cross = prior.covariance(x, t, twice, arms)
    # the 8 x 8 covariance of (f_0, f_1) at the new places, by the textbook
    both = prior.covariance(twice, arms, twice, arms) - cross.T @ np.linalg.solve(gram, cross)
    found = fitted.predict(problem.test.x[:4]).cov
    np.testing.assert_allclose(found[:, 0, 1], both[np.arange(4), 4 + np.arange(4)], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_the_top_whatever_the_start(monkeypatch, seed):
    problem = macal.load("ihdp", seed)
    task = Task(problem.pool[np.random.default_rng(seed).permutation(len(problem.pool))[:60]])
    (plain,) = JointGP().fit([task])
    start, minimize = np.random.default_rng(seed).normal(size=8), joint_gp.minimize
    moved = lambda f, zero, *given, **options: minimize(f, zero + start, *given, **options)  # noqa: E731
    monkeypatch.setattr(joint_gp, "minimize", moved)
    (other,) = JointGP().fit([task])
    for name in ("variance", "lengthscale", "noise"):
        np.testing.assert_allclose(getattr(plain.prior, name), getattr(other.prior, name), rtol=0.02)
    assert plain.prior.rho == pytest.approx(other.prior.rho, abs=0.01)


def test_without_correlation_the_arms_are_independent_and_share_the_length_scale():
    units = macal.load("ihdp", 0).pool
    (fitted,) = get("joint-gp", correlated=False).fit([Task(units[np.arange(60)])])
    assert fitted.prior.rho == 0 and fitted.prior.lengthscale[0] == fitted.prior.lengthscale[1]
    assert not fitted.predict(units.x).cov[:, 0, 1].any()


def test_most_bounds_the_labels_that_hyperparameters_are_fitted_to():
    units = macal.load("ihdp", 0).pool
    (few,), (same,) = JointGP(most=40).fit([Task(units, seed=3)]), JointGP(most=40).fit([Task(units, seed=3)])
    (other,) = JointGP(most=40).fit([Task(units, seed=4)])
    assert few.prior.lengthscale[0] == same.prior.lengthscale[0] != other.prior.lengthscale[0]
    with pytest.raises(ValueError, match="most"):
        get("joint-gp", most=1)


def first_bought(name, replication, model, criterion):
    """Treated units among the first 50 that are bought, from every tenth of the pool."""
    problem = macal.load(name, replication)
    rows = np.r_[problem.start, np.setdiff1d(np.arange(0, len(problem.pool), 10), problem.start)]
    thinned = replace(problem, pool=problem.pool[rows], start=np.arange(len(problem.start)))
    campaign = begin(thinned, criterion, n_queries=1)
    campaign.choose_remaining(model)
    return int(thinned.pool.t[campaign.batches[0]].sum())


@needs_data("mnist")
@pytest.mark.parametrize("criterion", ["alc", exhaustive("epig-tau"), exhaustive("epig-mu")])
def test_an_arm_of_which_little_is_known_is_not_given_up(criterion):
    # 31 labels that maximum likelihood takes for pure noise, so that no treated unit is bought
    assert first_bought("cmnist", 2, get("exact-gp", optimiser="lbfgs"), criterion) == 0
    assert 10 <= first_bought("cmnist", 2, get("joint-gp"), criterion)
