"""Whether answers show that effects differ between people: the model's effects against one effect for everybody.

Answers are predicted by a model that was fitted to the other folds, without their own. With m(x) = E[y | x] and e(x)
the chance of treatment among those who answered, an effect tau(x) leaves the error

    (y - m(x) - (t - e(x)) tau(x))^2,

whose mean is smallest for the true effect (the R-learner's loss). It is compared with the error of the best constant
that the same fit offers, the mean of its effects over the answers that it was fitted to. Where the model's effects are
no better than the constant on answers that they have not seen, they should not be acted upon one by one; that is no
proof that all effects are equal.

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
from macal.survey.inference.weighted import MIN_ANSWERS, crossfit_propensity, folds

ALPHA = 0.05  # of showing effects where they are as good as a constant


@dataclass(frozen=True)
class HeterogeneityTest:
    """What answers say of the model's effects, against one effect for everybody.

    Attributes:
        gain: share by which the model's effects lower the mean error of held-out answers; below 0 they raise it.
        z: mean difference of the errors over its standard error.
        answers: that were held out, one fold after the other.
    """

    gain: float
    z: float
    answers: int

    @property
    def shown(self) -> bool:
        """Whether the model's effects are shown: their error is significantly lower (one-sided)."""
        return bool(self.z > ndtri(1 - ALPHA))

    def describe(self) -> str:
        """What held-out answers say, in a sentence."""
        by = f"{abs(self.gain):.1%} {'lower' if self.gain > 0 else 'higher'}"
        found = f"of {self.answers:,} held-out answers their error is {by} than with one effect for everybody"
        if self.shown:
            return f"people's effects differ: {found}"
        return f"people's effects are not seen to differ: {found}" + ", which chance may do" * (self.gain > 0)


@hinted
def heterogeneity_test(model: Model, units: Split, seed: Whole = 0) -> HeterogeneityTest | None:
    """Compare a model's effects with one effect for everybody, on answers that it was not fitted to.

    Args:
        model: provides a posterior.
        units: that have answered, of two arms.
        seed: of the folds, and of the model.

    Returns:
        None where an arm has fewer than ten answers, or every answer is predicted without an error.

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
    """Error (l - a tau)^2 of effects on each unit, (n,), from l = y - m(x) and a = t - e(x)."""
    return np.square(left - arm * effects)


def _compared(left: Outcomes, arm: Outcomes, constant: Outcomes, single: Outcomes) -> HeterogeneityTest | None:
    """Errors of effects against those of a constant, from y - m(x) and t - e(x), (n,) each."""
    before, after = r_losses(left, arm, constant), r_losses(left, arm, single)
    if not before.mean():
        return None
    gains = before - after
    mean, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
    return HeterogeneityTest(mean / float(before.mean()), mean / error if error else 0.0, len(left))
