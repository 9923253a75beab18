"""Designs: the units whose labels say most about the effects, under Gaussian processes of known hyperparameters.

A query is unit x under its own arm t. Notation, all given the labels so far: v = Var f_t(x) + noise_t; for a target z,
c = Cov(f_t(x), (f_0, f_1)(z)) and S = Cov((f_0, f_1)(z)); a = (-1, 1), so that a'Sa is the variance of the effect. A
batch is chosen unit by unit, each pick counted as labelled.

References:
    D. A. Cohn, "Neural Network Exploration Using Optimal Experiment Design", Neural Networks 9(6), 1996 (ALC, for one
    surface; here for the difference of two).
    E. Gao, J. Fawkes and D. Sejdinovic, "Causal-EPIG: A Prediction-Oriented Active Learning Framework for CATE
    Estimation", arXiv:2509.21866, 2025.
    T. Cha and D. Lee, "ABC3: Active Bayesian Causal Inference with Cohn Criteria in Randomized Experiments", AAAI, 2025
    (as its public code scores a unit under its own arm).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import pdist

from macal.acquisition.base import MAX_CANDIDATES, Planned, PoolState
from macal.acquisition.gaussian import GPPosterior, by_rows
from macal.arguments import arms_of, as_count
from macal.compat import override
from macal.kernels import typical
from macal.logistic import standardised
from macal.posterior import Prior
from macal.search.scores import Scores
from macal.shapes import Covariates, Indices, Outcomes

SAMPLE = 1000  # units whose distances make a median
ROUNDING = 1e-9  # of a gain, relatively: of equal covariates, say, or of whole numbers
_MIN_REMAINING_SHARE = 1e-12  # share of a variance that a label leaves: none would be infinite information


@dataclass(frozen=True)
class _Design(Planned):
    """The unit with the largest gain, one at a time; of those that are equal within rounding the lowest.

    Attributes:
        own: whether a label changes the gains of its own arm alone, where the surfaces are independent.
        targets: units whose effects are to be learned: so many, drawn by their covariates' hashes, or all.
    """

    own: ClassVar[bool] = True

    targets: int = 1000

    def __post_init__(self) -> None:
        as_count(self.targets, "targets")

    @abstractmethod
    def prior(self, state: PoolState) -> Prior:
        """Hyperparameters of the two surfaces."""

    @abstractmethod
    def gain(self, posterior: GPPosterior, arm: int) -> Outcomes:
        """What the label of each candidate of an arm is worth, (n,)."""

    def covariates(self, state: PoolState) -> Covariates:
        """What the kernel is a function of, (n, d)."""
        return state.x

    @override
    def search(self, state: PoolState, price: Outcomes | None = None) -> "DesignScores":
        return DesignScores(self, state)

    def posterior(self, state: PoolState) -> GPPosterior:
        """What the labels so far say about all candidates and targets."""
        targets = state.drawn(self.targets)
        return GPPosterior(self.covariates(state), state.t, state.labelled, targets, self.prior(state))


@dataclass(frozen=True)
class ALC(_Design):
    """Fall of the variance of the effect, mean over targets of (a'c)^2 / v, by the joint process."""

    needs: ClassVar[tuple[str, ...]] = ("prior",)
    acquisition_model: ClassVar[str | None] = "joint-gp"

    @override
    def prior(self, state: PoolState) -> Prior:
        return state.need("prior", self)

    @override
    def gain(self, posterior: GPPosterior, arm: int) -> Outcomes:
        return posterior.squares(arm) / len(posterior.target[arm, arm]) / posterior.query_variance(arm)


@dataclass(frozen=True)
class EpigTau(ALC):
    """Expected information about the effect, mean over targets of -1/2 log(1 - (a'c)^2 / (v a'Sa))."""

    own: ClassVar[bool] = False

    @override
    def gain(self, posterior: GPPosterior, arm: int) -> Outcomes:
        s, v = posterior.target, posterior.query_variance(arm)
        known = s[0, 0] + s[1, 1] - 2 * s.get((0, 1), 0.0)  # variance of the effect at each target
        return _by_rows(
            lambda rows: _information(posterior.with_effect(arm, rows) ** 2, known, v[rows]), posterior, arm
        )


@dataclass(frozen=True)
class EpigMu(ALC):
    """Expected information about both surfaces, mean over targets of -1/2 log(1 - c' S^-1 c / v)."""

    @override
    def gain(self, posterior: GPPosterior, arm: int) -> Outcomes:
        c, s, v = posterior.cross[arm], posterior.target, posterior.query_variance(arm)
        if len(c) == 1:  # the other surface is independent: c_t^2 / S_tt
            return _by_rows(lambda rows: _information(c[arm][rows] ** 2, s[arm, arm], v[rows]), posterior, arm)
        determinant = s[0, 0] * s[1, 1] - s[0, 1] ** 2

        def some(rows: slice) -> Outcomes:
            # c' S^-1 c = (S_11 c_0^2 - 2 S_01 c_0 c_1 + S_00 c_1^2) / det S
            c0, c1 = c[0][rows], c[1][rows]
            quadratic = s[1, 1] * c0**2 - 2 * s[0, 1] * c0 * c1 + s[0, 0] * c1**2
            return _information(quadratic, determinant, v[rows])

        return _by_rows(some, posterior, arm)


@dataclass(frozen=True)
class FixedALC(ALC):
    """ALC under hyperparameters that no label has moved: a whole campaign can be planned before any outcome is known.

    Independent surfaces of equal variance. Of several arms, the sum over all contrasts with the reference arm.

    Attributes:
        targets: units whose effects are to be learned: so many, drawn by their covariates' hashes, or all.
        lengthscale: of the squared exponential kernel, in median distances between units of the pool.
        noise: variance of a label's noise, where that of a surface is 1.

    Raises:
        ValueError: a parameter out of range.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    multi_arm: ClassVar[bool] = True
    reason: ClassVar[str] = (
        "It asks the person whose answer lowers the uncertainty about the effects of all most, by a Gaussian process"
        " whose settings no answer moves."
    )
    max_candidates: ClassVar[float] = MAX_CANDIDATES

    lengthscale: float = 1.0
    noise: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        Prior((1.0, 1.0), (self.lengthscale,) * 2, (self.noise,) * 2)

    @override
    def prior(self, state: PoolState) -> Prior:
        return self.prior_among(state.x[state.drawn(SAMPLE)], arms_of(state.t))

    def prior_among(self, some: Covariates, arms: int) -> Prior:
        """The same of a number of arms, by some people, (k, d)."""
        unit = typical(pdist(some))
        return Prior((1.0,) * arms, (self.lengthscale * unit,) * arms, (self.noise,) * arms)

    @staticmethod
    def contrasts(arm: int, arms: int) -> int:
        """Contrasts with the reference arm, of so many arms, that a label of an arm is about."""
        return 1 if arm else arms - 1

    @override
    def gain(self, posterior: GPPosterior, arm: int) -> Outcomes:
        return super().gain(posterior, arm) * self.contrasts(arm, len(posterior.units))


@dataclass(frozen=True)
class ABC3(_Design):
    """Sum over the whole pool of c^2 / Var f_t(x), the noise left out of the denominator, as the public code has it.

    Label-free: one process per arm on standardised covariates, hyperparameters fixed.

    Attributes:
        targets: units whose effects are to be learned; the whole pool by default.
        lengthscale: of the squared exponential kernel, in standard deviations of a covariate.
        noise: variance of a label's noise, where that of a surface is 1.

    Raises:
        ValueError: a parameter out of range.
    """

    targets: int = 2**62
    lengthscale: float = 1.0
    noise: float = 1.0

    @override
    def covariates(self, state: PoolState) -> Covariates:
        population = state.restriction.population
        return standardised(state.x, state.x if population is None else state.x[population])

    @override
    def prior(self, state: PoolState) -> Prior:
        return Prior((1.0, 1.0), (self.lengthscale,) * 2, (self.noise,) * 2)

    @override
    def gain(self, posterior: GPPosterior, arm: int) -> Outcomes:
        return posterior.squares(arm) / posterior.variance[arm]


class DesignScores(Scores):
    """Gains under a design's posterior; what a label leaves as it was is kept, arm by arm."""

    rounding: ClassVar[float] = ROUNDING

    def __init__(self, criterion: _Design, state: PoolState) -> None:
        super().__init__(state.free)
        self._criterion, self._posterior, self._gain = criterion, criterion.posterior(state), np.zeros(len(state.t))
        self._stale = {*range(len(self._posterior.units))}

    @override
    def now(self) -> Outcomes:
        for arm in self._stale:
            if len(units := self._posterior.units[arm]):
                self._gain[units] = self._criterion.gain(self._posterior, arm)
        self._stale.clear()
        return self._gain

    @override
    def add(self, units: Indices) -> None:
        super().add(units)
        for unit in units.tolist():
            arms = self._posterior.correlated_arms(self._posterior.label(unit))
            self._stale |= {*(arms if self._criterion.own else range(len(self._posterior.units)))}


def _by_rows(value: Callable[[slice], Outcomes], posterior: GPPosterior, arm: int) -> Outcomes:
    """A value of each candidate of an arm, (n,)."""
    return np.concatenate([np.empty(0), *by_rows(posterior.cross[arm][arm].shape, value)])


def _information(explained: np.ndarray, known: np.ndarray, v: Outcomes) -> Outcomes:
    """Mean over targets of -1/2 log(1 - explained / (known v)); 0 where nothing is left to be known, (n,)."""
    left = explained * (-1 / np.where(known > 0, known, np.inf))
    left *= 1 / v[:, None]
    left += 1
    # not log1p, which takes ten times as long: what it adds is below the rounding of the mean
    return -0.5 * np.log(np.maximum(left, _MIN_REMAINING_SHARE, out=left), out=left).mean(axis=1)
