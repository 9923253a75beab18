"""MACAL with its weight chosen anew for every query, by the error that is to be expected; no outcome is needed.

The published rule leaves alpha to the user, and no value is best throughout a campaign. Here every value on a list is
tried out on paper: what would it label, and how large would the error of the effect then be, on average over the
surfaces that a Gaussian process prior thinks possible?

Reference: E. V. Bonilla, K. M. A. Chai and C. K. I. Williams, "Multi-task Gaussian Process Prediction", Advances in
Neural Information Processing Systems 20, 2008 (two surfaces, one kernel, a correlation).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from macal.acquisition.base import Criterion, PoolState
from macal.acquisition.distances import Macal
from macal.arguments import as_count
from macal.kernels import matern32
from macal.shapes import Arms, Covariates, Indices

_TARGETS = 4096  # units judged at a time
_TIE = 1e-9  # relative difference of errors that is rounding


@dataclass(frozen=True)
class Rolling(Criterion):
    """MACAL whose weight is, at every query, the one whose simulated picks leave the smallest expected error.

    The error is that of one Matern-3/2 process per arm, of fixed hyperparameters, averaged over the pool and over the
    prior: a function of (x, t, labelled) alone. So a campaign can be planned in advance, and a shorter plan begins a
    longer one; but, as the weight changes between queries, the picks depend on the size of the batch.

    Attributes:
        rho: prior correlation of the two surfaces, from -1 to 1.
        lengthscale: of the kernel, in the covariates' unit; by default the root mean squared distance between two units
            of the pool.
        noise: variance of a label's noise, where that of a surface is 1.
        alphas: weights that are tried; of equally good ones the first is taken.
        block: queries that are simulated before a weight is judged.

    Raises:
        ValueError: a parameter is out of range.
    """

    least: ClassVar[int] = 2

    rho: float = 0.5
    lengthscale: float | None = None
    noise: float = 0.01
    alphas: tuple[float, ...] = (0.0, 0.25, 0.5, 1.0, 2.5, 10.0)
    block: int = 1

    def __post_init__(self) -> None:
        if not -1 <= self.rho <= 1:
            raise ValueError(f"rho is a correlation, from -1 to 1; got {self.rho!r}")
        for name in ("lengthscale", "noise"):
            value = getattr(self, name)
            if not (value is None and name == "lengthscale") and not 0 < (value or 0) < np.inf:
                raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
        as_count(self.block, "block")
        if not len(self.alphas):
            raise ValueError("alphas must hold at least one weight to try")
        for alpha in self.alphas:
            Macal(alpha=alpha)

    def select(self, state: PoolState, batch_size: int) -> Indices:
        """See :meth:`Criterion.select`."""
        return self.choose(state, batch_size)[1]

    def choose(self, state: PoolState, batch_size: int) -> tuple[float, Indices]:
        """Return the weight for the next batch and the batch.

        The weight is NaN where there is nothing to weigh: no free pair, or a batch of one.
        """
        sizes = [batch_size] * self.block
        if batch_size < 2 or len(np.unique(state.t[state.unlabelled])) < 2:
            return np.nan, Macal(alpha=self.alphas[0]).select(state, batch_size)
        length = self.lengthscale or rms_distance(state.x)
        plans = [list(Macal(alpha=alpha).plan(state, sizes)) for alpha in self.alphas]
        sets = [np.concatenate([state.labelled, *plan]) for plan in plans]
        errors = [expected_error(state.x, state.t, done, self.rho, length, self.noise) for done in sets]
        best = next(k for k, error in enumerate(errors) if error <= min(errors) * (1 + _TIE))
        return self.alphas[best], plans[best][0]

    def steps(self, state: PoolState, sizes: Iterable[int]) -> Iterator[tuple[float, Indices]]:
        """Yield weight and batch of one query after the other, until the pool is exhausted."""
        for size in sizes:
            alpha, batch = self.choose(state, size)
            if not len(batch):
                return
            yield alpha, batch
            state = replace(state, labelled=np.concatenate([state.labelled, batch]))


def rms_distance(x: Covariates) -> float:
    """Root mean squared distance between two different units, from the covariates' variances; 1 where all are equal."""
    total = x.var(axis=0, ddof=1).sum()
    return float(np.sqrt(2 * total)) if total > 0 else 1.0


def expected_error(x: Covariates, t: Arms, labelled: Indices, rho: float, length: float, noise: float) -> float:
    """Expected squared error of the effect, averaged over the pool, where each arm has its own process.

    V1 + V0 - 2 rho Cross: the two posterior variances, and the expected product of the two residuals. Each arm's
    covariances with the pool are whitened by the Cholesky factor of its labels' gram matrix.

    Args:
        x: covariates of the pool, (n, d).
        t: treatment, (n,).
        labelled: indices of the labels; an arm may have none.
        rho: prior correlation of the two surfaces, which both have variance 1.
        length: length scale of the Matern-3/2 kernel.
        noise: variance of a label's noise.
    """
    one, zero = (labelled[t[labelled] == arm] for arm in (1, 0))
    roots = [cholesky(matern32(x[u], x[u], length) + noise * np.eye(len(u)), lower=True) for u in (one, zero)]
    between = _whiten(roots[0], _whiten(roots[1], matern32(x[zero], x[one], length)).T)
    total = 0.0
    for k in range(0, len(x), _TARGETS):
        part = x[k : k + _TARGETS]
        v1, v0 = (_whiten(root, matern32(x[u], part, length)) for root, u in zip(roots, (one, zero), strict=True))
        known1, known0 = (np.einsum("ij,ij->j", v, v) for v in (v1, v0))
        shared = np.einsum("ij,ij->j", v1, between @ v0)
        total += ((2 - known1 - known0) - 2 * rho * (1 - known1 - known0 + shared)).sum()
    return float(total / len(x))


def _whiten(root: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return solve_triangular(root, columns, lower=True, check_finite=False) if len(root) else columns
