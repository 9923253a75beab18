"""One exact Gaussian process for both arms: two surfaces, correlated, with one length scale.

Cov(f_r(x), f_s(z)) = sigma_r sigma_s exp(-|x - z|^2 / (2 l^2)), times rho where r and s differ; outcomes have the mean
and the noise of their arm. The hyperparameters are those of largest posterior density, under the weak priors of
:data:`PRIORS`: see label ``sec-joint`` of the book.

Notation: C = K + diag(noise) = L L', r = y - mean, w = C^-1 r.

References:
    E. Bonilla, K. M. Chai and C. Williams, "Multi-task Gaussian Process Prediction", NeurIPS, 2007 (the covariance).
    A. Alaa and M. van der Schaar, "Bayesian Inference of Individualized Treatment Effects using Multi-task Gaussian
    Processes", NeurIPS, 2017 (its use for effects).
    C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006 (Eqs. 2.25, 2.26, 5.8, 5.9).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform

from macal.arguments import as_count
from macal.kernels import JITTER, rbf_of, typical
from macal.models.base import LATER, NotFitted, Task, centre_and_scale, check_labelled
from macal.posterior import Posterior, Prior
from macal.problem import Split
from macal.shapes import Covariances, Covariates, Gram, Outcomes
from macal.threads import one_thread

# mean and s.d. of each parameter's normal prior, for outcomes with mean 0 and variance 1; control first
PRIORS = np.array(
    [
        (0.0, 1.0),  # mean of an arm's outcomes
        (0.0, 1.0),
        (0.0, 1.0),  # log sigma
        (0.0, 1.0),
        (-2.3, 1.5),  # log of noise over sigma^2: a tenth, within a factor of 20
        (-2.3, 1.5),
        (0.0, 1.0),  # log of the length scale over the median distance between labels
        (0.0, 1.0),  # artanh rho
    ]
)
_BLOCK = 4096  # places whose covariances with all labels are held at a time
_WIDEST = 6.0  # prior s.d.s that a parameter may be away from its prior mean

_MEAN, _SIGMA, _RATIO, _LENGTH, _RHO = slice(0, 2), slice(2, 4), slice(4, 6), 6, 7  # places among the parameters


@dataclass(frozen=True, eq=False)
class _Labels:
    """Outcomes to explain, sorted by arm.

    Attributes:
        squared: squared distances between the n labels, over the squared median distance, (n, n).
        y: outcomes, centred and scaled, (n,).
        controls: how many of the labels, the first ones, are control.
    """

    squared: Gram
    y: Outcomes
    controls: int

    def arms(self) -> tuple[slice, slice]:
        return slice(self.controls), slice(self.controls, None)

    def per_label(self, two: Float[np.ndarray, "2"]) -> Outcomes:
        """One of two numbers for each label, that of its arm, (n,)."""
        return np.repeat(two, [self.controls, len(self.y) - self.controls])

    def evidence(self, at: Float[np.ndarray, "8"]) -> tuple[float, Float[np.ndarray, "8"]]:
        """Log marginal likelihood and its gradient (Eqs. 5.8 and 5.9).

        evidence = -(r'w + log det C + n log 2 pi) / 2; with M = w w' - C^-1, d evidence / d theta =
        tr[M dC / d theta] / 2, and for an arm's mean the sum of w over the arm.
        """
        k, across = self._kernel(at)
        noise = np.exp(at[_RATIO]) * np.exp(at[_SIGMA]) ** 2
        root = cholesky(k + np.diag(self.per_label(noise + JITTER)), lower=True, check_finite=False)
        residual = self.y - self.per_label(at[_MEAN])
        w = cho_solve((root, True), residual, check_finite=False)
        value = -0.5 * (residual @ w + len(w) * np.log(2 * np.pi)) - np.log(root.diagonal()).sum()
        m = -_inverse(root)
        m += np.outer(w, w)
        controls, treated = self.arms()
        gradient = np.empty(8)
        gradient[_MEAN] = [w[arm].sum() for arm in self.arms()]
        gradient[_RHO] = (m[controls, treated] * across).sum() * (1 - np.tanh(at[_RHO]) ** 2)
        gradient[_RATIO] = np.array([m.diagonal()[arm].sum() / 2 for arm in self.arms()]) * noise
        m *= k  # M . K
        gradient[_SIGMA] = np.array([m[arm].sum() for arm in self.arms()]) + 2 * gradient[_RATIO]
        gradient[_LENGTH] = (m * self.squared).sum() / (2 * np.exp(at[_LENGTH]) ** 2)
        return value, gradient

    def _kernel(self, at: Float[np.ndarray, "8"]) -> tuple[Gram, Covariances]:
        """Covariances K of the surfaces at the labels, and those across arms before rho: K's derivative in rho."""
        sigma, (controls, treated), rho = self.per_label(np.exp(at[_SIGMA])), self.arms(), np.tanh(at[_RHO])
        k = rbf_of(self.squared / np.exp(at[_LENGTH]) ** 2)
        k *= np.outer(sigma, sigma)
        across = k[controls, treated].copy()
        k[controls, treated] *= rho
        k[treated, controls] *= rho
        return k, across


def _inverse(root: Gram) -> Gram:
    """Inverse of L L' from its factor L."""
    lower, _ = dpotri(root, lower=True)
    return np.tril(lower) + np.tril(lower, -1).T


@dataclass(frozen=True, eq=False)
class _Posterior:
    """Density of the parameters, mean + s.d. of :data:`PRIORS` times basis @ z, z standard normal, given labels."""

    labels: _Labels

    def descend(self, z: Outcomes, basis: Float[np.ndarray, "8 k"]) -> tuple[float, Outcomes]:
        """Negative log density but for a constant, and its gradient."""
        mean, deviation = PRIORS.T
        value, gradient = self.labels.evidence(mean + deviation * (basis @ z))
        return z @ z / 2 - value, z - basis.T @ (deviation * gradient)

    def highest(self, basis: Float[np.ndarray, "8 k"], starts: Float[np.ndarray, "starts k"]) -> Float[np.ndarray, "8"]:
        """Float[np.ndarray, "8"] of largest density."""
        bounds, options = [(-_WIDEST, _WIDEST)] * basis.shape[1], {"jac": True, "method": "L-BFGS-B"}
        tries = [minimize(self.descend, z, (basis,), bounds=bounds, **options) for z in starts]
        best = min(tries, key=lambda found: found.fun)
        mean, deviation = PRIORS.T
        return mean + deviation * (basis @ best.x)


@dataclass(frozen=True, eq=False)
class FittedJointGP:
    """Both surfaces after a fit.

    Attributes:
        prior: fitted hyperparameters, in the outcome's unit.
        mean: of each arm's outcomes, (2,).
        labelled: what it was fitted to.
        root: lower Cholesky factor of the outcomes' covariance, (n, n).
        info: the fitted correlation of the surfaces, ``rho``.
    """

    prior: Prior
    mean: Float[np.ndarray, "2"]
    labelled: Split
    root: Gram
    info: Mapping[str, float] = field(default_factory=dict)

    def predict(self, x: Covariates) -> Posterior:
        """Return the posterior of both noiseless outcomes at ``x``, (n, d) (Eqs. 2.25 and 2.26)."""
        blocks = [self._predict(x[k : k + _BLOCK]) for k in range(0, len(x), _BLOCK)]
        mean, cov = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return Posterior(mean, cov)

    def _predict(self, x: Covariates) -> tuple[np.ndarray, np.ndarray]:
        known, t = self.labelled.x.astype(np.float64), self.labelled.t
        new = x.astype(np.float64)
        # L^-1 k(labels, new), (labels, n) for each surface
        whitened = [
            solve_triangular(self.root, self.prior.covariance(known, t, new, s), lower=True, check_finite=False)
            for s in (0, 1)
        ]
        residual = solve_triangular(self.root, self.labelled.y - self.mean[t], lower=True)
        mean = np.stack([self.mean[s] + residual @ whitened[s] for s in (0, 1)], axis=1)  # (n, 2)
        cov = np.empty((len(x), 2, 2))
        for r, s in ((0, 0), (0, 1), (1, 1)):
            cov[:, r, s] = cov[:, s, r] = self.prior.between(r, s) - np.einsum("kn,kn->n", whitened[r], whitened[s])
        return mean, cov


@dataclass(frozen=True)
class JointGP:
    """One exact process for both arms, with fitted correlation, on standardised outcomes; see the module.

    Attributes:
        provides: of a fitted model to criteria, "posterior" and "prior".
        correlated: whether the surfaces' correlation is fitted; else it is 0.
        most: labels that the hyperparameters are fitted to, drawn at random where there are more.
        starts: climbs from so many length scales, each a third of the one before; the highest density is kept.

    Raises:
        ValueError: fewer labels than 2, or fewer starts than 1.
    """

    provides: ClassVar[tuple[str, ...]] = ("posterior", "prior")

    correlated: bool = True
    most: int = 1000
    starts: int = field(default=1, metadata=LATER)

    def __post_init__(self) -> None:
        as_count(self.most, "most", 2)
        as_count(self.starts, "starts")

    @one_thread()
    def fit(self, tasks: Sequence[Task]) -> list[FittedJointGP]:
        """Fit both arms to the labelled units of each task; the seed draws at most ``most``.

        Raises:
            ValueError: a task without labelled units.
            NotFitted: a covariance without Cholesky factor.
        """
        check_labelled(tasks)
        return [self._fit(place, task) for place, task in enumerate(tasks)]

    def _fit(self, place: int, task: Task) -> FittedJointGP:
        units = task.labelled
        centre, scale = centre_and_scale(units.y)
        some = np.random.default_rng(task.seed).permutation(len(units))[: self.most]
        try:
            unit, at = self._climb(units[np.sort(some)], centre, scale)
            prior = _prior(at, unit, scale)
            x, t = units.x.astype(np.float64), units.t
            covariance = prior.covariance(x, t, x, t)
            root = cholesky(covariance + np.diag(prior.noise[t] + JITTER * prior.variance[t]), lower=True)
        except np.linalg.LinAlgError as error:
            reason = f"{len(units)} labelled units: the covariance is not positive definite ({error})"
            raise NotFitted(place, reason) from error
        return FittedJointGP(prior, centre + scale * at[_MEAN], units, root, {"rho": prior.rho})

    def _climb(self, units: Split, centre: float, scale: float) -> tuple[float, Float[np.ndarray, "8"]]:
        """Unit of the length scale, and the parameters of largest posterior density."""
        order = np.argsort(units.t, kind="stable")
        distances = pdist(units.x.astype(np.float64)[order])
        unit = typical(distances)
        y, controls = (units.y[order] - centre) / scale, int((units.t == 0).sum())
        density = _Posterior(_Labels(squareform((distances / unit) ** 2), y, controls))
        free = np.eye(8) if self.correlated else np.eye(8)[:, :_RHO]
        starts = np.zeros((self.starts, free.shape[1]))
        starts[:, _LENGTH] = -np.log(3) * np.arange(self.starts)  # a third of the length scale at each further start
        return unit, density.highest(free, starts)


def _prior(at: Float[np.ndarray, "8"], unit: float, scale: float) -> Prior:
    """Hyperparameters in the units of the covariates and of the outcome."""
    variance = scale**2 * np.exp(2 * at[_SIGMA])
    lengths = [unit * float(np.exp(at[_LENGTH]))] * 2
    return Prior(variance, lengths, variance * np.exp(at[_RATIO]), float(np.tanh(at[_RHO])))
