"""Criteria that score each unit by a posterior over its two potential outcomes: Causal-BALD and its relatives.

A batch is drawn without replacement with probability proportional to score^(1 / temperature); at temperature 0 it is
the top of the list. Scores live on the log scale, clipped to what float64 holds. Notation: s_t = Var(mu_t(x)), s_tau =
Var(mu_1(x) - mu_0(x)) = cov_00 + cov_11 - 2 cov_01, t the unit's own arm, e propensity.

References:
    A. Jesson, P. Tigas, J. van Amersfoort, A. Kirsch, U. Shalit and Y. Gal, "Causal-BALD: Deep Bayesian Active Learning
    of Outcomes to Infer Treatment-Effects from Observational Data", NeurIPS, 2021 (mu-, rho-, mu-rho-, tau-, pi- and
    mu-pi-BALD).
    I. Sundin, P. Schulam, E. Siivola, A. Vehtari, S. Saria and S. Kaski, "Active Learning for Decision-Making from
    Imbalanced Observational Data", ICML, 2019 (the type S error).
    W. Kool, H. van Hoof and M. Welling, "Stochastic Beams and Where To Find Them: The Gumbel-Top-k Trick for Sampling
    Sequences Without Replacement", ICML, 2019 (the draw).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from macal.acquisition.base import Criterion, Planned, PoolState
from macal.arguments import NotNegative, as_hinted
from macal.compat import override
from macal.logistic import logistic_propensity
from macal.posterior import Posterior
from macal.search.scores import Ranked
from macal.shapes import Arms, Outcomes

_HUGE = float(np.finfo(np.float64).max)
_TINY = float(np.finfo(np.float64).tiny)


def _log_variance(variance: Outcomes) -> Outcomes:
    """Log of what float64 holds of a variance, (n,); NaN, as in inf - inf, is not known to be small."""
    return np.log(np.clip(np.nan_to_num(variance, nan=_HUGE, posinf=_HUGE), _TINY, _HUGE))


def _own(posterior: Posterior, arm: Arms) -> Outcomes:
    """Log variance of the outcome under ``arm``, (n,)."""
    return _log_variance(posterior.cov[np.arange(len(arm)), arm, arm])


def _effect(posterior: Posterior) -> Outcomes:
    """Log variance of the effect, (n,)."""
    with np.errstate(invalid="ignore", over="ignore"):
        return _log_variance(posterior.tau_var)


def propensity_of(state: PoolState, criterion: Criterion) -> Outcomes:
    """``Belief.propensity``, or :func:`logistic_propensity` of the pool where that is missing, (n,)."""
    is_given = state.belief.propensity is not None
    return state.need("propensity", criterion) if is_given else logistic_propensity(state.x, state.t)


@dataclass(frozen=True)
class _Scored(Planned):
    """Draw units without replacement by a softmax of their log scores over ``temperature``, finite and at least 0."""

    stochastic: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("posterior",)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        as_hinted({"temperature": self.temperature}, {"temperature": NotNegative})

    @abstractmethod
    def log_score(self, state: PoolState) -> Outcomes:
        """Log of the score of every unit of the pool, (n,), finite."""

    @override
    def search(self, state: PoolState, price: Outcomes | None = None) -> Ranked:
        return Ranked(state.free, self.log_score(state), self.temperature, state.rng)

    def posterior(self, state: PoolState) -> Posterior:
        """The state's posterior; ValueError where there is none, it is not about the pool, or it holds NaN."""
        posterior = state.need("posterior", self)
        if np.isnan(posterior.mean).any() or np.isnan(posterior.cov).any():
            raise ValueError(
                f"the posterior must not hold NaN for {type(self).__name__}; did the model's training diverge?"
            )
        return posterior


@dataclass(frozen=True)
class Uncertainty(_Scored):
    """Highest predictive standard deviation of the unit's own arm, sqrt(s_t); deterministic by default."""

    stochastic: ClassVar[bool] = False
    temperature: float = 0.0

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        return _own(self.posterior(state), state.t) / 2


@dataclass(frozen=True)
class MuBald(_Scored):
    """s_t: what is unknown about the outcome that would be seen."""

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        return _own(self.posterior(state), state.t)


@dataclass(frozen=True)
class TauBald(_Scored):
    """s_tau: what is unknown about the effect."""

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        return _effect(self.posterior(state))


@dataclass(frozen=True)
class RhoBald(_Scored):
    """s_tau / s_{1-t}: the unknown of the effect, relative to the outcome that stays unseen."""

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        posterior = self.posterior(state)
        return _effect(posterior) - _own(posterior, 1 - state.t)


@dataclass(frozen=True)
class MuRhoBald(_Scored):
    """s_t s_tau / s_{1-t}, the product of mu-BALD and rho-BALD."""

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        posterior = self.posterior(state)
        return _own(posterior, state.t) + _effect(posterior) - _own(posterior, 1 - state.t)


@dataclass(frozen=True)
class PiBald(_Scored):
    """t (1 - e) + (1 - t) e, the probability of the other arm.

    Label-free: e is :func:`propensity_of` the pool.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        e = propensity_of(state, self)
        if not ((e >= 0) & (e <= 1)).all():
            raise ValueError(f"Belief.propensity must lie in 0..1, got {np.min(e)}..{np.max(e)}")
        return _log_variance(np.where(state.t == 1, 1 - e, e))


@dataclass(frozen=True)
class MuPiBald(PiBald):
    """(t (1 - e) + (1 - t) e) s_t, the product of pi-BALD and mu-BALD."""

    needs: ClassVar[tuple[str, ...]] = ("posterior",)

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        return super().log_score(state) + _own(self.posterior(state), state.t)


@dataclass(frozen=True)
class Sundin(_Scored):
    """Phi(-abs(E tau) / sqrt(s_tau)): how probably the effect's sign is wrong, the expected type S error."""

    @override
    def log_score(self, state: PoolState) -> Outcomes:
        posterior = self.posterior(state)
        with np.errstate(over="ignore"):
            # |E tau| / sqrt(s_tau)
            z = np.minimum(np.abs(posterior.tau) * np.exp(-_effect(posterior) / 2), 1e100)
        return log_ndtr(-z)
