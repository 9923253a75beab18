"""One exact Gaussian process per arm: the model of the paper's toy study, and a cheap second opinion elsewhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import gpytorch
import numpy as np
import torch
from scipy.optimize import minimize

from macal.models.task import Task
from macal.posterior import Posterior
from macal.problem import Split
from macal.registry import UnknownName
from macal.shapes import Centres, Covariates, LabelledOutcomes

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


@contextmanager
def _dense() -> Iterator[None]:
    """Cholesky factors throughout, and predictions at labelled units without a warning."""
    with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.debug(False):
        yield


@dataclass(frozen=True)
class Fitted:
    """Both arms after a fit; an arm without labelled units is None and keeps its prior.

    Attributes:
        gps: control, treated.
        centre: what was subtracted from the outcomes.
        scale: what they were divided by.
        info: nothing to report.
    """

    gps: Sequence[_GP | None]
    centre: float
    scale: float
    info: Mapping[str, float] = field(default_factory=dict)

    @torch.no_grad()
    def predict(self, x: Covariates) -> Posterior:
        """Return the posterior of both noiseless outcomes at ``x``, (n, d)."""
        mean, var = np.zeros((len(x), 2)), np.ones((len(x), 2))
        new = torch.as_tensor(np.array(x), dtype=torch.float64)
        with _one_thread(), _dense():
            for arm, gp in enumerate(self.gps):
                if gp is not None:
                    f = gp(new)
                    mean[:, arm] = f.mean.numpy()
                    # rounding leaves variances of about -1e-10 beside labelled units
                    var[:, arm] = f.lazy_covariance_matrix.diagonal().clamp_min(0).numpy()
        return Posterior(self.centre + self.scale * mean, self.scale**2 * var[:, :, None] * np.eye(2))


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

    def fit(self, tasks: Sequence[Task]) -> list["Fitted"]:
        """Fit both arms to the labelled units of each task.

        Args:
            tasks: labelled units, at least one each; validation units and seeds are not used.

        Raises:
            ValueError: a task without labelled units.
        """
        with _one_thread():
            return [self._fit(i, task.labelled) for i, task in enumerate(tasks)]

    def _fit(self, i: int, labelled: Split) -> "Fitted":
        if not len(labelled):
            raise ValueError(f"a model needs at least one labelled unit, got none in tasks[{i}]")
        centre, scale = (labelled.y.mean(), labelled.y.std() or 1.0) if self.standardise else (0.0, 1.0)
        arms = [labelled.t == arm for arm in (0, 1)]
        gps = [self._arm(labelled.x[own], (labelled.y[own] - centre) / scale) if own.any() else None for own in arms]
        return Fitted(gps, float(centre), float(scale))

    def _arm(self, x: Centres, y: LabelledOutcomes) -> _GP:
        x, y = (torch.as_tensor(np.array(a), dtype=torch.float64) for a in (x, y))
        gp = _GP(x, y)
        if self.standardise and len(y) > 1:
            gp.kernel.base_kernel.lengthscale = torch.pdist(x).median().clamp_min(1e-3)
        with _dense():
            self._maximise(gp, x, y)
        return gp.eval()

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
