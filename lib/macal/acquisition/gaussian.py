"""What labels say about two surfaces with a Gaussian process prior, while more labels come in one by one."""

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dgemm, dger

from macal.kernels import JITTER
from macal.posterior import Prior
from macal.shapes import Arms, Covariates, Indices, Outcomes, Rows

AtTargets = Float[np.ndarray, "m"]
ArmOfEach = Int[np.ndarray, "k"]
Covariances = Float[np.ndarray, "_ _"]


class Knowledge:
    """Posterior covariances between candidates and targets, for independent surfaces or correlated ones.

    Candidates are the units that are not labelled at the beginning, each under its own arm. Surfaces that are
    independent are told apart: a label of one arm says nothing of the other, and no covariance across is kept. More
    than two surfaces are independent.

    Args:
        x: what the kernel is a function of, (n, d), float64.
        t: treatment, (n,).
        labelled: indices of the labels; an arm may have none.
        targets: indices of the m targets.
        prior: hyperparameters.

    Attributes:
        units: candidates of each arm, control first, ascending.
        free: whether they are unlabelled still.
        variance: Var f_t(x) of the candidates of each arm.
        cross: by arm of the candidates, then by surface of the targets: Cov(f_t(x), f_s(z)), (n, m); own surface only
            where the surfaces are independent.
        target: (r, s) -> Cov(f_r(z), f_s(z)), (m,).
    """

    def __init__(self, x: Covariates, t: Arms, labelled: Indices, targets: Rows, prior: Prior) -> None:
        self._x, self._t, self._prior = x, t, prior
        unlabelled = np.ones(len(t), bool)
        unlabelled[labelled] = False
        arms = range(len(prior.variance))
        self.units: list[Indices] = [np.flatnonzero(unlabelled & (t == arm)) for arm in arms]
        self.free = [np.ones(len(units), bool) for units in self.units]
        self._x_of = [x[units] for units in self.units]
        self._norms = [np.square(of_arm).sum(axis=1) for of_arm in self._x_of]
        # L^-1 k(labels, .), L L' the labels' covariance, (labels, candidates): whitened; later labels add rows
        whitened, told = zip(*(self._whitened(labelled, targets, arm) for arm in arms), strict=True)
        self._rows: list[list[Covariances]] = [[table] for table in whitened]
        self.variance = [prior.variance[arm] - np.square(whitened[arm]).sum(axis=0) for arm in arms]
        self.cross = [
            {
                s: without(self._kernel(self.units[arm], arm, targets, s), whitened[arm], told[s])
                for s in self.linked(arm)
            }
            for arm in arms
        ]
        self.target = {
            (r, s): prior.between(r, s) - np.einsum("nm,nm->m", told[r], told[s]) for r in arms for s in self.linked(r)
        }

    def linked(self, arm: int) -> tuple[int, ...]:
        """Surfaces that a label of this arm says something about."""
        return (0, 1) if self._prior.rho else (arm,)

    def _kernel(self, one: Indices, arm: int | ArmOfEach, other: Rows, surface: int) -> Covariances:
        """Prior covariance of f_arm at some units with f_surface at others."""
        return self._prior.covariance(self._x[one], arm, self._x[other], surface)

    def _whitened(self, labelled: Indices, targets: Rows, arm: int) -> tuple[Covariances, Covariances]:
        """Whitened covariances of the labels with the arm's candidates, and with its surface at the targets."""
        known = labelled[np.isin(self._t[labelled], self.linked(arm))]
        t = self._t[known]
        tables = self._kernel(known, t, self.units[arm], arm), self._kernel(known, t, targets, arm)
        if not len(known):
            return tables
        gram = self._prior.covariance(self._x[known], t, self._x[known], t)
        gram += np.diag(self._prior.noise[t] + JITTER * self._prior.variance[t])
        root = cholesky(gram, lower=True, overwrite_a=True)
        return tuple(solve_triangular(root, k, lower=True, check_finite=False, overwrite_b=True) for k in tables)

    def query_variance(self, arm: int) -> Outcomes:
        """Variance of a label of each candidate of an arm, v = Var f_t(x) + noise_t."""
        return self.variance[arm].clip(min=0) + self._prior.noise[arm]

    def with_effect(self, arm: int, rows: slice = slice(None)) -> Covariances:
        """Covariance of a candidate's surface with the effect at each target, up to sign, (n, m); of some rows."""
        c = self.cross[arm]
        return c[1][rows] - c[0][rows] if len(c) == 2 else c[arm][rows]

    def effect_variance(self) -> AtTargets:
        """Variance of the effect at each target, S_00 + S_11 - 2 S_01, (m,)."""
        return self.target[0, 0] + self.target[1, 1] - 2 * self.target.get((0, 1), 0.0)

    def label(self, unit: int) -> int:
        """Count a candidate as labelled: all covariances change by rank one; return it."""
        arm = int(self._t[unit])
        i = int(np.searchsorted(self.units[arm], unit))
        self.free[arm][i] = False
        deviation = np.sqrt(self.query_variance(arm)[i])
        # covariances with the label, divided by its s.d.: a further row of what is whitened
        told = {s: self.cross[arm][s][i] / deviation for s in self.linked(arm)}
        rows = {b: self._covariance(arm, i, b) / deviation for b in self.linked(arm)}
        for b, row in rows.items():
            self._rows[b].append(row[None])
            self.variance[b] -= row**2
            for s in told if len(row) else ():
                # (n, m) in place: the transpose of a C-ordered table is Fortran's
                self.cross[b][s] = dger(-1.0, told[s], row, a=self.cross[b][s].T, overwrite_a=True).T
        for r, s in self.target:
            if r in told:
                self.target[r, s] -= told[r] * told[s]
        return unit

    def _covariance(self, arm: int, i: int, other: int) -> Outcomes:
        """Covariance of candidate i of an arm with the candidates of another, given the labels so far, (n,)."""
        k = self._prior.covariance(self._x_of[arm][[i]], arm, self._x_of[other], other, self._norms[other])[0]
        return k - sum(own[:, i] @ rows for own, rows in zip(self._rows[arm], self._rows[other], strict=True))


def without(k: Covariances, a: Covariances, b: Covariances) -> Covariances:
    """Return k - a' b in place of k, (n, m), by one product of matrices: a second table may not fit."""
    if not k.size or not a.size:
        return k
    return dgemm(-1.0, b, a, beta=1.0, c=k.T, trans_a=True, overwrite_c=True).T
