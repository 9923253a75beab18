"""Test whether effects vary: the model's effects against a constant effect.

On held-out answers, the R-loss (y - m(x) - (t - e(x)) tau(x))^2 of cross-fitted effects tau is compared with that of
their mean over the training answers. No significant gain is no proof that effects are equal: book/enough.md (sec-seen).

References:
    X. Nie and S. Wager, "Quasi-Oracle Estimation of Heterogeneous Treatment Effects", Biometrika 108(2), 2021.
    A. Schuler, M. Baiocchi, R. Tibshirani and N. Shah, "A Comparison of Methods for Model Selection When Estimating
    Individual Treatment Effects", arXiv:1804.05146, 2018.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from macal.arguments import Whole, hinted
from macal.models import Model, Task
from macal.problem import Split
from macal.shapes import Outcomes
from macal.survey import words
from macal.survey.facts import Fact
from macal.survey.inference.weighted import MIN_ANSWERS, crossfit_propensity, folds

ALPHA = 0.05  # probability of showing effects that are no better than a constant


@dataclass(frozen=True)
class HeterogeneityTest:
    """The gain of the model's effects over a constant effect.

    Attributes:
        gain: relative reduction of the mean error on held-out answers; negative if it rises.
        z: mean difference of the errors over its standard error.
        answers: number of held-out answers.
    """

    gain: float
    z: float
    answers: int

    @property
    def shown(self) -> bool:
        """Whether individual effects are shown: their error is significantly lower (one-sided)."""
        return bool(self.z > ndtri(1 - ALPHA))

    def describe(self) -> Fact:
        """Return the result as a sentence with its values."""
        return Fact(words.varying_effects, gain=self.gain, answers=self.answers, shown=self.shown)


@hinted
def heterogeneity_test(model: Model, units: Split, seed: Whole = 0) -> HeterogeneityTest | None:
    """Compare a model's effects with a constant effect on held-out answers.

    Args:
        model: provides a posterior.
        units: units with answers, of two arms.
        seed: seed of folds and model.

    Returns:
        None if an arm has fewer than ten answers, or all are predicted exactly.

    Raises:
        NotFitted: a training failed.
    """
    x, t, y = units.x, units.t, units.y
    if np.bincount(t, minlength=2).min() < MIN_ANSWERS:
        return None
    parts = list(folds(t, seed))
    fits = model.fit([Task(units[rest], seed=seed) for rest, _ in parts])
    chance = crossfit_propensity(x, t, seed)
    constant, single, outcome = np.empty(len(t)), np.empty(len(t)), np.empty(len(t))
    for (rest, out), fitted in zip(parts, fits, strict=True):
        found = fitted.predict(x[out])
        constant[out], single[out] = fitted.predict(x[rest]).tau.mean(), found.tau
        # E[y | x] = (1 - e) mu_0 + e mu_1
        outcome[out] = found.mean[:, 0] + chance[out] * found.tau
    return _compared(y - outcome, t - chance, constant, single)


def r_losses(left: Outcomes, arm: Outcomes, effects: Outcomes | float) -> Outcomes:
    """Return R-losses (l - a tau)^2, (n,), from l = y - m(x) and a = t - e(x)."""
    return np.square(left - arm * effects)


def _compared(left: Outcomes, arm: Outcomes, constant: Outcomes, single: Outcomes) -> HeterogeneityTest | None:
    """Return the test from y - m(x) and t - e(x), (n,) each."""
    before, after = r_losses(left, arm, constant), r_losses(left, arm, single)
    if not before.mean():
        return None
    gains = before - after
    mean, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
    return HeterogeneityTest(mean / float(before.mean()), mean / error if error else 0.0, len(left))
