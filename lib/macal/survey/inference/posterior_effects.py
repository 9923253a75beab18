"""Posterior of effects under a fitted Gaussian process, now and after further labels; book/enough.md measures coverage.

Given hyperparameters, variances depend on who is labelled only (Rasmussen and Williams 2006, Eqs. 2.25 and 2.26). With
c(z) = Cov(f_1(z) - f_0(z), labels), K the covariance of noisy labels, and targets z_1 .. z_n,

    Var tau(z) = Var_prior tau(z) - c(z)' K^-1 c(z),
    Var mean tau = mean_ij Cov_prior(tau(z_i), tau(z_j)) - c' K^-1 c,    c = mean_i c(z_i).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri

from macal.arguments import hinted
from macal.kernels import JITTER
from macal.posterior import Prior
from macal.shapes import Arms, Covariates, Indices, Outcomes
from macal.survey.inference.weighted import Estimate

MAX_TARGETS = 4000  # largest number of targets for the mean kernel; more are thinned evenly
_BLOCK = 1000
_SIGN = (-1.0, 1.0)  # sign of each surface in the effect


@dataclass(frozen=True, eq=False)
class PosteriorSd:
    """Posterior standard deviations, in the outcome's unit.

    Attributes:
        effects: s.d. of the effect of each unit, (n,).
        average: s.d. of their mean effect.
    """

    effects: Outcomes
    average: float


@dataclass(frozen=True, eq=False)
class EffectPosterior:
    """Posterior of the effects, in the outcome's unit.

    Attributes:
        effects: posterior mean of each unit's effect, (n,).
        sd: posterior standard deviations.
        level: coverage probability of each interval, if the model is right.
        weights: people that each unit represents, (n,) (default: 1), as used for ``sd``.
    """

    effects: Outcomes
    sd: PosteriorSd
    level: float = 0.95
    weights: Outcomes | None = None

    @property
    def half_widths(self) -> Outcomes:
        """Half the width of each unit's interval, (n,)."""
        return float(ndtri((1 + self.level) / 2)) * self.sd.effects

    @property
    def average(self) -> Estimate:
        """The mean effect of the people that the units represent."""
        value, error = float(np.average(self.effects, weights=self.weights)), self.sd.average
        reach = float(ndtri((1 + self.level) / 2)) * error
        return Estimate(value, value - reach, value + reach, error)


@hinted
def posterior_sd(
    prior: Prior, x: Covariates, t: Arms, labelled: Indices, weights: Outcomes | None = None
) -> PosteriorSd:
    """Return posterior s.d. of the effects of n units once some are labelled.

    Args:
        prior: hyperparameters.
        x: covariates, (n, d).
        t: treatment, (n,).
        labelled: labelled units, (m,); outcomes are not needed.
        weights: people that each unit represents in the average, (n,) (default: 1).

    Raises:
        ValueError: no unit is labelled.
    """
    if not len(labelled):
        raise ValueError("no unit is labelled, so there is no posterior; label some first")
    x = x.astype(np.float64)
    share = np.full(len(x), 1 / len(x)) if weights is None else weights / weights.sum()
    variance, average = np.zeros(len(x)), 0.0
    # correlated surfaces are one system, independent ones are two
    for arms in [(0, 1)] if prior.rho else [(0,), (1,)]:
        at_one_place = float(sum(_SIGN[r] * _SIGN[s] * prior.between(r, s) for r in arms for s in arms))
        variance += at_one_place
        explained, mean = _explained(prior, x, t, labelled[np.isin(t[labelled], arms)], arms, share)
        variance -= explained
        average += at_one_place * _mean_kernel(prior, x, arms[0], share) - np.square(mean).sum()
    return PosteriorSd(np.sqrt(variance.clip(min=0)), float(np.sqrt(max(average, 0.0))))


def _parts(n: int) -> list[slice]:
    return [slice(k, k + _BLOCK) for k in range(0, n, _BLOCK)]


def _explained(
    prior: Prior, x: Covariates, t: Arms, own: Indices, arms: Sequence[int], share: Outcomes
) -> tuple[Outcomes, Float[np.ndarray, " m"]]:
    """Return c(z)' K^-1 c(z), (n,), and the mean of L^-1 c by shares, (labels,), with L L' = K."""
    if not len(own):
        return np.zeros(len(x)), np.zeros(0)
    gram = prior.covariance(x[own], t[own], x[own], t[own])
    root = cholesky(gram + np.diag(prior.noise[t[own]] + JITTER * prior.variance[t[own]]), lower=True)
    explained, mean = [], np.zeros(len(own))
    for part in _parts(len(x)):
        c = sum(_SIGN[s] * prior.covariance(x[own], t[own], x[part], s) for s in arms)
        # (labels, k) for k units
        whitened = solve_triangular(root, c, lower=True, check_finite=False)
        explained.append(np.square(whitened).sum(axis=0))
        mean += whitened @ share[part]
    return np.concatenate(explained), mean


def _mean_kernel(prior: Prior, x: Covariates, arm: int, share: Outcomes) -> float:
    """Return the mean of exp(-|z_i - z_j|^2 / (2 lengthscale^2)) by shares of i and j."""
    places = np.linspace(0, len(x) - 1, min(len(x), MAX_TARGETS)).astype(int)
    some, w = x[places], share[places] / share[places].sum()
    covariances = (w[z] @ prior.covariance(some[z], arm, some, arm) @ w for z in _parts(len(some)))
    return float(sum(covariances) / prior.variance[arm])
