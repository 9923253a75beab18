"""MACAL with its weight chosen anew for every query, by the error expected under a Gaussian process prior.

Reference: E. V. Bonilla, K. M. A. Chai and C. K. I. Williams, "Multi-task Gaussian Process Prediction", NeurIPS, 2008
(two surfaces, one kernel, a correlation).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from macal.acquisition.base import Criterion, PoolState
from macal.acquisition.distances import Macal
from macal.arguments import Count, Positive, as_hinted
from macal.compat import override
from macal.kernels import matern32_of, squared_distances
from macal.metrics import rms_distance
from macal.search.pairs import PairSearches
from macal.shapes import Arms, Centres, Covariates, Indices, UnitIndices
from macal.threads import one_thread

_TARGETS = 4096  # units judged at a time
_TIE = 1e-9  # relative difference of errors that is rounding


@dataclass(frozen=True)
class Rolling(Criterion):
    """MACAL whose weight is, at every query, the one whose simulated picks leave the smallest expected error.

    The error is that of one Matern-3/2 process per arm, of fixed hyperparameters, averaged over the pool and over the
    prior. A shorter plan begins a longer one, but the picks depend on the size of the batch.

    Attributes:
        rho: prior correlation of the two surfaces, from -1 to 1.
        lengthscale: of the kernel, in the covariates' unit; by default :func:`macal.metrics.rms_distance` of the pool.
        noise: variance of a label's noise, where that of a surface is 1.
        alphas: weights that are tried; of equally good ones the first is taken.
        block: queries that are simulated before a weight is judged.

    Raises:
        ValueError: a parameter is out of range.
    """

    min_batch_size: ClassVar[int] = 2

    rho: float = 0.5
    lengthscale: float | None = None
    noise: float = 0.01
    alphas: tuple[float, ...] = (0.0, 0.25, 0.5, 1.0, 2.5, 10.0)
    block: int = 1

    def __post_init__(self) -> None:
        if not -1 <= self.rho <= 1:
            raise ValueError(f"rho is a correlation, from -1 to 1; got {self.rho!r}")
        as_hinted(vars(self), {"lengthscale": Positive | None, "noise": Positive, "block": Count})
        if not len(self.alphas):
            raise ValueError("alphas must hold at least one weight to try")
        for alpha in self.alphas:
            Macal(alpha=alpha)

    @override
    def select(self, state: PoolState, batch_size: int) -> Indices:
        return self.choose(state, batch_size)[1]

    @one_thread()
    def choose(self, state: PoolState, batch_size: int) -> tuple[float, Indices]:
        """Return the weight for the next batch and the batch; NaN for no free pair, or a batch of one."""
        if batch_size < 2 or len(np.unique(state.t[state.unlabelled])) < 2:
            return np.nan, Macal(alpha=self.alphas[0]).select(state, batch_size)
        length = self.lengthscale or rms_distance(state.x)
        start = PairSearches(state.x, state.t, state.labelled, 0.0)
        searches = (start.under(alpha) for alpha in self.alphas)
        plans = [[search.batch(batch_size)[0] for _ in range(self.block)] for search in searches]
        added = [np.concatenate(plan) for plan in plans]
        errors = expected_errors(state.x, state.t, state.labelled, added, self.rho, length, self.noise)
        best = next(k for k, error in enumerate(errors) if error <= min(errors) * (1 + _TIE))
        return self.alphas[best], plans[best][0]


@one_thread()
def expected_errors(
    x: Covariates, t: Arms, labelled: Indices, plans: Sequence[UnitIndices], rho: float, length: float, noise: float
) -> list[float]:
    """Expected squared error of the effect after each plan, mean over the pool, where each arm has its own process.

    V1 + V0 - 2 rho Cross: the two posterior variances, and the expected product of the two residuals. With L_a the
    Cholesky factor of the covariance of arm a's labels, and W_a = L_a^-1 K(labels, pool), the pool's sums are those of
    1 - |W_a|^2 and of 1 - |W_1|^2 - |W_0|^2 + W_1' B W_0, where B = L_1^-1 K(treated, controls) L_0^-T; the last is the
    sum of B * (W_1 W_0').

    Args:
        x: covariates of the pool, (n, d).
        t: treatment, (n,).
        labelled: indices of the labels; an arm may have none.
        plans: indices of the labels that come on top, of each plan.
        rho: prior correlation of the two surfaces, which both have variance 1.
        length: length scale of the Matern-3/2 kernel.
        noise: variance of a label's noise.
    """
    x = x - x.mean(axis=0)  # distances are differences of squares
    zero, one = (
        _Arm(x, labelled[t[labelled] == arm], [p[t[p] == arm] for p in plans], length, noise) for arm in (0, 1)
    )
    parts = [x[k : k + _TARGETS] for k in range(0, len(x), _TARGETS)]
    known0, known1, shared = (
        sum(sums) / len(x) for sums in zip(*(_sums(zero.whitened(z), one.whitened(z)) for z in parts), strict=True)
    )
    errors = []
    for k in range(len(plans)):
        at0, at1 = zero.rows[k], one.rows[k]
        across = _matern(x[zero.labels[at0]], x[one.labels[at1]], length)
        between = _whiten(one.roots[k], _whiten(zero.roots[k], across).T)  # (treated, controls)
        known = known0[at0].sum() + known1[at1].sum()
        product = 1 - known + (between * shared[np.ix_(at1, at0)]).sum()
        errors.append(float(2 - known - 2 * rho * product))
    return errors


class _Arm:
    """The labels of one arm, those of all plans behind those there are, and their whitened covariances with units.

    Attributes:
        labels: indices in the pool, (k,).
        rows: places of each plan's labels among them, those there are first.
        roots: Cholesky factor of each plan's labels' covariance.
    """

    def __init__(
        self, x: Covariates, old: UnitIndices, new: Sequence[UnitIndices], length: float, noise: float
    ) -> None:
        self.labels = np.concatenate([old, *new])
        self._old, self._x, self._length = len(old), x[self.labels], length
        ends = np.cumsum([len(old), *map(len, new)])
        self.rows = [np.r_[: len(old), ends[k] : ends[k + 1]] for k in range(len(new))]
        self.roots = [
            cholesky(_matern(self._x[rows], self._x[rows], length) + noise * np.eye(len(rows)), lower=True)
            for rows in self.rows
        ]

    def whitened(self, z: Centres) -> np.ndarray:
        """L^-1 K(labels, z) of those there are, and below it the further rows of each plan, (k, m)."""
        old, w = self._old, _matern(self._x, z, self._length)
        w[:old] = _whiten(self.roots[0][:old, :old], w[:old])
        for rows, root in zip(self.rows, self.roots, strict=True):
            w[rows[old:]] = _whiten(root[old:, old:], w[rows[old:]] - root[old:, :old] @ w[:old])
        return w


def _sums(w0: np.ndarray, w1: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums over units of the squares of each row, and of the products of an arm's rows with the other's."""
    return np.square(w0).sum(axis=1), np.square(w1).sum(axis=1), w1 @ w0.T


def _matern(a: Covariates, b: Centres, length: float) -> np.ndarray:
    return matern32_of(squared_distances(a, b) / length**2)


def _whiten(root: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return solve_triangular(root, columns, lower=True, check_finite=False) if len(root) else columns
