"""What a fitted Gaussian process believes of the effects, and what it will believe after labels to come.

Given hyperparameters, the variance of what is estimated depends on who is labelled and not on what they say: with
c(z) = Cov(f_1(z) - f_0(z), labels), K the covariance of the labels and their noise, and targets z_1 .. z_n,

    Var tau(z) = Var_prior tau(z) - c(z)' K^-1 c(z),
    Var mean tau = mean_ij Cov_prior(tau(z_i), tau(z_j)) - c' K^-1 c,    c = mean_i c(z_i).

So the next round can be forecast before it is bought. The hyperparameters are taken as known, which makes intervals
too narrow while labels are few; the book measures by how much.

Reference: C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, MIT Press, 2006, Eqs. 2.25
and 2.26.
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

MAX_TARGETS = 4000  # targets between which covariances are taken: of more, so many evenly spread ones
_BLOCK = 1000
_SIGN = (-1.0, 1.0)  # of a surface in the effect

Whitened = Float[np.ndarray, "m"]


@dataclass(frozen=True, eq=False)
class PosteriorSd:
    """What labels leave open, in the outcome's unit.

    Attributes:
        effects: s.d. of the effect of each unit, (n,).
        average: s.d. of their mean effect.
    """

    effects: Outcomes
    average: float


@dataclass(frozen=True, eq=False)
class EffectPosterior:
    """Effects as a model believes them, in the outcome's unit.

    Attributes:
        effects: mean of the effect of each unit, (n,).
        sd: what the labels leave open of them.
        level: chance of each interval to hold its effect, if the model is right.
        weights: people whom each unit stands for, (n,), 1 by default; those that ``sd`` was computed with.
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
        """The mean effect of the units, or of the people whom they stand for."""
        value, error = float(np.average(self.effects, weights=self.weights)), self.sd.average
        reach = float(ndtri((1 + self.level) / 2)) * error
        return Estimate(value, value - reach, value + reach, error)


@hinted
def posterior_sd(
    prior: Prior, x: Covariates, t: Arms, labelled: Indices, weights: Outcomes | None = None
) -> PosteriorSd:
    """What a process leaves open of the effects of n units once some of them are labelled.

    Args:
        prior: hyperparameters.
        x: covariates, (n, d).
        t: treatment, (n,).
        labelled: units that are, (m,); their outcomes need not be known.
        weights: people whom each unit stands for, (n,), 1 by default; they count in the average.

    Raises:
        ValueError: nobody is labelled.
    """
    if not len(labelled):
        raise ValueError("nobody is labelled, so that there is no belief but the prior; ask somebody first")
    x = x.astype(np.float64)
    share = np.full(len(x), 1 / len(x)) if weights is None else weights / weights.sum()
    variance, average = np.zeros(len(x)), 0.0
    # surfaces that labels of either arm say something about are one system, independent ones are two
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
) -> tuple[Outcomes, Whitened]:
    """c(z)' K^-1 c(z) of each unit, (n,), and the mean of L^-1 c by shares, (n,), L L' = K, (labels,)."""
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
    """Mean of exp(-|z_i - z_j|^2 / (2 lengthscale^2)) by shares i and j; a system of surfaces has one length scale."""
    places = np.linspace(0, len(x) - 1, min(len(x), MAX_TARGETS)).astype(int)
    some, w = x[places], share[places] / share[places].sum()
    covariances = (w[z] @ prior.covariance(some[z], arm, some, arm) @ w for z in _parts(len(some)))
    return float(sum(covariances) / prior.variance[arm])
