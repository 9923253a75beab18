"""One exact Gaussian process per arm: the model of the paper's toy study, and a cheap second opinion elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import gpytorch
import numpy as np
import torch
from scipy.optimize import minimize

from macal.posterior import Posterior
from macal.problem import Split
from macal.registry import UnknownName
from macal.shapes import Centres, Covariates, LabelledOutcomes, Outcomes

OPTIMISERS = ("adam", "lbfgs")
_BOUNDS = (-15.0, 60.0)  # of parameters before the softplus: keeps a line search from overflowing


class _GP(gpytorch.models.ExactGP):
    """Constant mean, scaled isotropic RBF kernel, Gaussian noise; float64."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        self.double()

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Matrices of a few hundred rows gain nothing from more threads, and lose tenfold where cores are shared."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class ExactGP:
    """One exact GP per arm, hyperparameters by maximum marginal likelihood.

    An arm without labelled units keeps its prior: the labelled outcomes' mean, and their variance.

    Attributes:
        optimiser: "adam" for the paper's fixed number of steps, "lbfgs" to convergence.
        steps: Adam steps, or L-BFGS iterations at most.
        lr: Adam's learning rate.
        standardise: centre and scale outcomes by the labelled units' mean and standard deviation, and start the length
            scale at the median distance between labelled units; else outcomes as they are and gpytorch's own initial
            values, as in the toy study.

    Raises:
        UnknownName: no such optimiser.
    """

    optimiser: str = "adam"
    steps: int = 500
    lr: float = 0.01
    standardise: bool = True

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise UnknownName("optimiser", self.optimiser, OPTIMISERS)

    def fit_predict(self, labelled: Split, x: Covariates) -> Posterior:
        """Fit both arms to the labelled units and return the posterior at ``x``.

        Args:
            labelled: units with revealed outcomes, (m, d); at least one.
            x: where to predict, (n, d).

        Raises:
            ValueError: no labelled unit.
        """
        if not len(labelled):
            raise ValueError("a model needs at least one labelled unit, got none")
        centre, scale = (labelled.y.mean(), labelled.y.std() or 1.0) if self.standardise else (0.0, 1.0)
        mean, var = np.empty((len(x), 2)), np.empty((len(x), 2))
        with _one_thread():
            for arm in (0, 1):
                own = labelled.t == arm
                mean[:, arm], var[:, arm] = self._arm(labelled.x[own], (labelled.y[own] - centre) / scale, x)
        return Posterior(centre + scale * mean, scale**2 * var[:, :, None] * np.eye(2))

    def _arm(self, x: Centres, y: LabelledOutcomes, x_new: Covariates) -> tuple[Outcomes, Outcomes]:
        if not len(y):
            return np.zeros(len(x_new)), np.ones(len(x_new))
        x, y, x_new = (torch.as_tensor(np.array(a), dtype=torch.float64) for a in (x, y, x_new))
        gp = _GP(x, y)
        if self.standardise and len(y) > 1:
            gp.kernel.base_kernel.lengthscale = torch.pdist(x).median().clamp_min(1e-3)
        with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.debug(False):
            self._maximise(gp, x, y)
            gp.eval()
            with torch.no_grad():
                f = gp(x_new)
                # rounding leaves variances of about -1e-10 beside labelled units
                return f.mean.numpy(), f.lazy_covariance_matrix.diagonal().clamp_min(0).numpy()

    def _maximise(self, gp: _GP, x: torch.Tensor, y: torch.Tensor) -> None:
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(gp.likelihood, gp)
        gp.train()

        def loss() -> torch.Tensor:
            gp.zero_grad()
            value = -evidence(gp(x), y)
            value.backward()
            return value

        if self.optimiser == "lbfgs":
            _lbfgs(gp, loss, self.steps)
            return
        optimiser = torch.optim.Adam(gp.parameters(), lr=self.lr)
        for _ in range(self.steps):
            loss()
            optimiser.step()


def _lbfgs(gp: _GP, loss: Callable[[], torch.Tensor], max_iter: int) -> None:
    """Minimise ``loss`` over the unconstrained parameters of ``gp`` with SciPy's bounded L-BFGS."""
    parameters = list(gp.parameters())

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        torch.nn.utils.vector_to_parameters(torch.from_numpy(flat), parameters)
        value = loss().item()
        return value, torch.cat([p.grad.reshape(-1) for p in parameters]).numpy()

    start = torch.nn.utils.parameters_to_vector(parameters).detach().numpy()
    found = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[_BOUNDS] * start.size,
        options={"maxiter": max_iter},
    )
    torch.nn.utils.vector_to_parameters(torch.from_numpy(found.x), parameters)
