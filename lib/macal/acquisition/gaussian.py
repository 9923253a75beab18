"""What labels say about two surfaces with a Gaussian process prior, while more labels come in one by one."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dgemm, dger

from macal.kernels import JITTER
from macal.posterior import Prior
from macal.shapes import Arms, Covariances, Covariates, Indices, Outcomes, PerCentre, Rows

_WAITING = 64  # labels that tables count at once
_CELLS = 2**16  # of tables of candidates and targets that are looked at at a time: half a megabyte


class GPPosterior:
    """Posterior covariances between candidates and targets, for independent surfaces or correlated ones.

    Candidates are the units that are not labelled at the beginning, each under its own arm. More than two surfaces are
    independent; of independent ones no covariance across is kept.

    Args:
        x: what the kernel is a function of, (n, d), float64.
        t: treatment, (n,).
        labelled: indices of the labels; an arm may have none.
        targets: indices of the m targets.
        prior: hyperparameters.

    Attributes:
        units: candidates of each arm, control first, ascending.
        variance: Var f_t(x) of the candidates of each arm.
        target: (r, s) -> Cov(f_r(z), f_s(z)), (m,).
    """

    def __init__(self, x: Covariates, t: Arms, labelled: Indices, targets: Rows, prior: Prior) -> None:
        self._x, self._t, self._prior = x, t, prior
        unlabelled = np.ones(len(t), bool)
        unlabelled[labelled] = False
        arms = range(len(prior.variance))
        self.units: list[Indices] = [np.flatnonzero(unlabelled & (t == arm)) for arm in arms]
        self._x_of = [x[units] for units in self.units]
        self._norms = [np.square(of_arm).sum(axis=1) for of_arm in self._x_of]
        # L^-1 k(labels, .), L L' the labels' covariance, (labels, candidates): whitened; later labels add rows
        whitened, at_targets = zip(*(self._whitened(labelled, targets, arm) for arm in arms), strict=True)
        self._rows: list[list[Covariances]] = [[table] for table in whitened]
        self.variance = [prior.variance[arm] - np.square(whitened[arm]).sum(axis=0) for arm in arms]
        self._tables = [
            {s: subtract_product(k, whitened[arm], at_targets[s]) for s, k in self._priors(arm, targets).items()}
            for arm in arms
        ]
        # by arm, labels that its tables do not count yet: what they tell of the targets, and of the arm's candidates
        self._waiting: list[list[tuple[dict[int, PerCentre], Outcomes]]] = [[] for _ in arms]
        self._squares: dict[int, Outcomes] = {}
        self.target = {
            (r, s): prior.between(r, s) - np.einsum("nm,nm->m", at_targets[r], at_targets[s])
            for r in arms
            for s in self.correlated_arms(r)
        }

    def correlated_arms(self, arm: int) -> tuple[int, ...]:
        """Surfaces that a label of this arm says something about."""
        return (0, 1) if self._prior.rho else (arm,)

    def _kernel(self, one: Indices, arm: int | Arms, other: Rows, surface: int) -> Covariances:
        """Prior covariance of f_arm at some units with f_surface at others."""
        return self._prior.covariance(self._x[one], arm, self._x[other], surface)

    def _priors(self, arm: int, targets: Rows) -> dict[int, Covariances]:
        """Prior covariances of an arm's candidates with each surface at the targets that it is linked with."""
        own = self._kernel(self.units[arm], arm, targets, arm)
        between = self._prior.between
        return {s: own if s == arm else own * (between(arm, s) / between(arm, arm)) for s in self.correlated_arms(arm)}

    def _whitened(self, labelled: Indices, targets: Rows, arm: int) -> tuple[Covariances, Covariances]:
        """Whitened covariances of the labels with the arm's candidates, and with its surface at the targets."""
        known = labelled[np.isin(self._t[labelled], self.correlated_arms(arm))]
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

    @property
    def cross(self) -> list[dict[int, Covariances]]:
        """By arm of the candidates, then by surface of the targets linked with it: Cov(f_t(x), f_s(z)), (n, m)."""
        for arm in range(len(self._tables)):
            self._settle(arm)
        return self._tables

    def _settle(self, arm: int) -> None:
        """Let the tables of an arm count the labels that wait."""
        tables, waiting, rows = self._tables[arm], self._waiting[arm], self._rows[arm]
        if waiting:
            new = np.array([row for _, row in waiting])  # (labels, n)
            for s in tables:
                tables[s] = subtract_product(tables[s], new, np.array([at_targets[s] for at_targets, _ in waiting]))
            waiting.clear()
        if len(rows) > _WAITING:
            rows[:] = [np.concatenate(rows)]

    def with_effect(self, arm: int, rows: slice = slice(None)) -> Covariances:
        """Covariance of a candidate's surface with the effect at each target, up to sign, (n, m); of some rows."""
        return _effect({s: table[rows] for s, table in self.cross[arm].items()})

    def squares(self, arm: int) -> Outcomes:
        """Sum over targets of the squares of :meth:`with_effect`, (n,)."""
        if arm not in self._squares:
            blocks = by_rows(self.cross[arm][arm].shape, lambda rows: self.with_effect(arm, rows))
            self._squares[arm] = np.concatenate([np.empty(0), *(np.einsum("nm,nm->n", c, c) for c in blocks)])
        return self._squares[arm]

    def label(self, unit: int) -> int:
        """Count a candidate as labelled, by which all covariances change by rank one; return its arm."""
        arm = int(self._t[unit])
        i = int(np.searchsorted(self.units[arm], unit))
        deviation = np.sqrt(self.query_variance(arm)[i])
        # covariances with the label, divided by its s.d.: a further row of what is whitened
        at_targets = {s: self._at_targets(arm, i, s) / deviation for s in self.correlated_arms(arm)}
        rows = {b: self._covariance(arm, i, b) / deviation for b in self.correlated_arms(arm)}
        for b, row in rows.items():
            if b in self._squares:
                # |c - row e|^2 = |c|^2 - 2 row (c' e) + row^2 |e|^2, e that of the effect
                effect = _effect(at_targets)
                change = row * (row * (effect @ effect) - 2 * self._times(b, effect))
                self._squares[b] = (self._squares[b] + change).clip(min=0)
            self._rows[b].append(row[None])
            self.variance[b] -= row**2
            self._waiting[b].append((at_targets, row))
            if len(self._waiting[b]) == _WAITING:
                self._settle(b)
        for r, s in self.target:
            if r in at_targets:
                self.target[r, s] -= at_targets[r] * at_targets[s]
        return arm

    def _at_targets(self, arm: int, i: int, surface: int) -> PerCentre:
        """Covariance of candidate i of an arm with a surface at the targets, given the labels so far, (m,)."""
        waiting = sum(at_targets[surface] * row[i] for at_targets, row in self._waiting[arm])
        return self._tables[arm][surface][i] - waiting

    def _times(self, arm: int, vector: PerCentre) -> Outcomes:
        """Covariances of the arm's candidates with the effect, times a vector, given the labels so far, (n,)."""
        # a row at a time, so that equal rows have equal products
        product = _effect({s: np.einsum("nm,m->n", table, vector) for s, table in self._tables[arm].items()})
        return product - sum(row * (_effect(at_targets) @ vector) for at_targets, row in self._waiting[arm])

    def _covariance(self, arm: int, i: int, other: int) -> Outcomes:
        """Covariance of candidate i of an arm with the candidates of another, given the labels so far, (n,)."""
        k = self._prior.covariance(self._x_of[arm][[i]], arm, self._x_of[other], other, self._norms[other])[0]
        return k - sum(own[:, i] @ rows for own, rows in zip(self._rows[arm], self._rows[other], strict=True))


def subtract_product(k: Covariances, a: Covariances, b: Covariances) -> Covariances:
    """Return k - a' b in place of k, (n, m), by one product of matrices: a second table may not fit."""
    if not k.size or not a.size:
        return k
    if len(a) == 1:  # half the time of a product of matrices
        return dger(-1.0, b[0], a[0], a=k.T, overwrite_a=True).T
    return dgemm(-1.0, b, a, beta=1.0, c=k.T, trans_a=True, overwrite_c=True).T


def _effect(of: dict[int, np.ndarray]) -> np.ndarray:
    """The second surface's less the first's; where the other is independent, the one there is."""
    return of[1] - of[0] if len(of) == 2 else next(iter(of.values()))


def by_rows(shape: tuple[int, int], value: Callable[[slice], np.ndarray]) -> Iterator[np.ndarray]:
    """A value of some rows of a table at a time."""
    n, m = shape
    step = max(1, _CELLS // m)
    return (value(slice(k, k + step)) for k in range(0, n, step))
