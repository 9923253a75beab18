"""What the label of a person in a ball would tell of an arm's surface, at most.

Phi maps people to the features of the kernel, whose inner products are prior covariances, and A is the square root of
the posterior covariance operator, 0 <= A <= 1: c(x, z) = <A phi_x, A phi_z>, v(x) = |A phi_x|^2. Let x be the centre of
a ball of radius r, and x' a member. With the squared exponential kernel of variance 1 and length scale l,

    |A phi_x - A phi_x'|^2 <= |phi_x - phi_x'|^2 <= 2 (1 - exp(-r^2 / (2 l^2))) = e^2.

G(x), the root of the mean of c(x, z)^2 over the targets, is a seminorm of A phi_x of at most h |A phi_x|; h^2 is the
largest eigenvalue of the targets' posterior covariances, each divided by the number of targets. So G(x') is at most
g = min(G(x) + h e, h), and v(x') is at least u^2, u = max(sqrt(v(x)) - e, g / h): where it is less than (g / h)^2, so
is G(x')^2 less than h^2 v(x'). The gain of x' is therefore at most g^2 / (u^2 + noise).
"""

import numpy as np
from scipy.linalg import cholesky, eigvalsh, solve_triangular
from scipy.linalg.blas import dger

from macal.acquisition.gaussian import Covariances, without
from macal.kernels import JITTER
from macal.posterior import Prior
from macal.scale.arm import BallArm, SomeBalls
from macal.shapes import Centres, Covariates, Outcomes

_SLACK = 1e-9  # of the variance of a surface, which is 1: more than float64 rounding


class GainArm(BallArm):
    """An arm whose people score by their gain, mean over targets of c^2 / (v + noise).

    Args:
        balls: see :class:`BallArm`.
        labels: covariates of the people with a label at the beginning, (k, d).
        n_free: see :class:`BallArm`.
        targets: people whose effects are to be learned, (m, d).
        prior: of the arm's surface alone, of variance 1.
        weight: of the arm's gains.
    """

    def __init__(
        self, balls: SomeBalls, labels: Covariates, n_free: int, targets: Centres, prior: Prior, weight: int
    ) -> None:
        super().__init__(balls, len(labels), n_free)
        self._labels, self._targets, self._prior, self._weight = labels, targets, prior, weight
        self._noise, self._lengthscale = float(prior.noise[0]), float(prior.lengthscale[0])
        gram = self._kernel(labels, labels) + (self._noise + JITTER) * np.eye(len(labels))
        # L L' the labels' covariance; L^-1 k(labels, .), (labels, .): whitened
        self._root = cholesky(gram, lower=True)
        self._told = self._whitened(targets)
        self._left = without(self._kernel(targets, targets), self._told, self._told)
        self._rows, self._cross = np.empty((len(labels), 0)), np.empty((0, len(targets)))
        self._variance = self._mean_square = np.empty(0)
        self._added(balls.x)
        self._h = self._highest()

    def _kernel(self, x: Covariates, z: Centres) -> Covariances:
        return self._prior.covariance(x, 0, z, 0)

    def _whitened(self, x: Covariates) -> Covariances:
        return solve_triangular(self._root, self._kernel(self._labels, x), lower=True, check_finite=False)

    def _highest(self) -> float:
        """h, the most that G can be of a person whose variance is 1."""
        m = len(self._left)
        return float(np.sqrt(max(eigvalsh(self._left, subset_by_index=[m - 1, m - 1])[0], 0.0) / m + _SLACK))

    @property
    def alone(self) -> Outcomes:
        """Gain of each centre, (p,)."""
        return self._weight * self._mean_square / (self._variance.clip(min=0) + self._noise)

    @property
    def bound(self) -> Outcomes:
        """At least the gain of each person in a ball, (p,); minus infinity where there is none."""
        e = np.sqrt(-2 * np.expm1(-0.5 * np.square(self.balls.radius / self._lengthscale)))
        g = np.minimum(np.sqrt(self._mean_square) + self._h * e, self._h)
        u = np.maximum(np.sqrt(self._variance.clip(min=0)) - e, g / self._h)
        most = self._weight * (g**2 / (u**2 + self._noise) + _SLACK)
        return np.where(self.free | self.more, most, -np.inf)

    def _added(self, x: Covariates) -> None:
        rows = self._whitened(x)
        cross = without(self._kernel(x, self._targets), rows, self._told)
        self._rows, self._cross = np.hstack([self._rows, rows]), np.vstack([self._cross, cross])
        self._variance = np.append(self._variance, 1 - np.square(rows).sum(0))
        self._mean_square = np.append(self._mean_square, _mean_square(cross))

    def _labelled(self, k: int) -> None:
        x, column = self.balls.x[[k]], self._rows[:, k]
        deviation = np.sqrt(max(self._variance[k], 0.0) + self._noise)
        # covariances with the label, divided by its s.d.: a further row of what is whitened
        told = self._cross[k] / deviation
        row = (self._kernel(x, self.balls.x)[0] - column @ self._rows) / deviation
        self._root = np.block([[self._root, np.zeros((len(column), 1))], [column, deviation]])
        self._labels = np.vstack([self._labels, x])
        self._told, self._rows = np.vstack([self._told, told]), np.vstack([self._rows, row])
        self._variance -= row**2
        self._left -= np.outer(told, told)
        # (p, m) in place: the transpose of a C-ordered table is Fortran's
        self._cross = dger(-1.0, told, row, a=self._cross.T, overwrite_a=True).T
        self._mean_square = _mean_square(self._cross)
        self._h = self._highest()


def _mean_square(c: Covariances) -> Outcomes:
    return np.einsum("nm,nm->n", c, c) / c.shape[1]
