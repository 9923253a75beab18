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

from macal.inference.weighted import Estimate
from macal.kernels import JITTER
from macal.posterior import Prior
from macal.shapes import Arms, Centres, Covariates, Indices, Outcomes

MOST = 4000  # targets between which covariances are taken: of more, so many evenly spread ones
_BLOCK = 1000
_SIGN = (-1.0, 1.0)  # of a surface in the effect

Whitened = Float[np.ndarray, "m"]


@dataclass(frozen=True, eq=False)
class Spread:
    """What labels leave open, in the outcome's unit.

    Attributes:
        effects: s.d. of the effect of each unit, (n,).
        average: s.d. of their mean effect.
    """

    effects: Outcomes
    average: float


@dataclass(frozen=True, eq=False)
class EffectBelief:
    """Effects as a model believes them, in the outcome's unit.

    Attributes:
        effects: mean of the effect of each unit, (n,).
        spread: their s.d.s.
        level: chance of each interval to hold its effect, if the model is right.
    """

    effects: Outcomes
    spread: Spread
    level: float = 0.95

    @property
    def reach(self) -> Outcomes:
        """Half the width of each unit's interval, (n,)."""
        return float(ndtri((1 + self.level) / 2)) * self.spread.effects

    @property
    def average(self) -> Estimate:
        """The mean effect of the units."""
        value, error = float(self.effects.mean()), self.spread.average
        reach = float(ndtri((1 + self.level) / 2)) * error
        return Estimate(value, value - reach, value + reach, error)


def spread(prior: Prior, x: Covariates, t: Arms, labelled: Indices) -> Spread:
    """What a process leaves open of the effects of n units once some of them are labelled.

    Args:
        prior: hyperparameters.
        x: covariates, (n, d).
        t: treatment, (n,).
        labelled: units that are, (m,); their outcomes need not be known.

    Raises:
        ValueError: nobody is labelled.
    """
    if not len(labelled):
        raise ValueError("nobody is labelled, so that there is no belief but the prior; ask somebody first")
    x = x.astype(np.float64)
    variance, average = np.zeros(len(x)), 0.0
    # surfaces that labels of either arm say something about are one system, independent ones are two
    for arms in [(0, 1)] if prior.rho else [(0,), (1,)]:
        signs = [(r, s, _SIGN[r] * _SIGN[s]) for r in arms for s in arms]
        variance += sum(sign * prior.between(r, s) for r, s, sign in signs)
        explained, total = _explained(prior, x, t, labelled[np.isin(t[labelled], arms)], arms)
        variance -= explained
        average += _prior_average(prior, x, signs) - np.square(total / len(x)).sum()
    return Spread(np.sqrt(variance.clip(min=0)), float(np.sqrt(max(average, 0.0))))


def _parts(x: Covariates) -> list[Centres]:
    return [x[k : k + _BLOCK] for k in range(0, len(x), _BLOCK)]


def _explained(prior: Prior, x: Covariates, t: Arms, own: Indices, arms: Sequence[int]) -> tuple[Outcomes, Whitened]:
    """c(z)' K^-1 c(z) of each unit, (n,), and L^-1 c summed over units, L L' = K, (labels,)."""
    if not len(own):
        return np.zeros(len(x)), np.zeros(0)
    gram = prior.covariance(x[own], t[own], x[own], t[own])
    root = cholesky(gram + np.diag(prior.noise[t[own]] + JITTER * prior.variance[t[own]]), lower=True)
    explained, total = [], np.zeros(len(own))
    for part in _parts(x):
        c = sum(_SIGN[s] * prior.covariance(x[own], t[own], part, s) for s in arms)
        # (labels, k) for k units
        told = solve_triangular(root, c, lower=True, check_finite=False)
        explained.append(np.square(told).sum(axis=0))
        total += told.sum(axis=1)
    return np.concatenate(explained), total


def _prior_average(prior: Prior, x: Covariates, signs: Sequence[tuple[int, int, float]]) -> float:
    """mean_ij Cov_prior(tau(z_i), tau(z_j)) of the surfaces of one system."""
    some = x[np.linspace(0, len(x) - 1, min(len(x), MOST)).astype(int)]
    total = sum(sign * prior.covariance(z, r, some, s).sum() for r, s, sign in signs for z in _parts(some))
    return float(total / len(some) ** 2)
