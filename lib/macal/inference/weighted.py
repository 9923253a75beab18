"""The average effect and its interval from labels that were drawn with known chances.

Augmented inverse-probability weighting with two chances: e(x) of treatment and p of being asked. With outcome models
m_0, m_1 and R = 1 for whoever was asked,

    score_i = m_1(x_i) - m_0(x_i) + R_i / p_i [t_i / e(x_i) - (1 - t_i) / (1 - e(x_i))] (y_i - m_t(x_i)),

the estimate is the mean score, its variance that of the scores over n. p is known, so in large samples a wrong outcome
model costs width and no coverage as long as e is right; where e is estimated, its error enters multiplied by that of
the outcome models. Where e comes near 0 or 1, a few people carry the estimate, and intervals are too narrow; see the
page *Is it enough?*. Both are cross-fitted: no unit is scored by a model that has seen her outcome or her treatment.

References:
    J. Robins, A. Rotnitzky and L. P. Zhao, "Estimation of Regression Coefficients When Some Regressors Are Not Always
    Observed", Journal of the American Statistical Association 89(427), 1994 (the score).
    V. Chernozhukov, D. Chetverikov, M. Demirer, E. Duflo, C. Hansen, W. Newey and J. Robins, "Double/Debiased Machine
    Learning for Treatment and Structural Parameters", Econometrics Journal 21(1), 2018 (cross-fitting).
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import stdtrit

from macal.arguments import as_arms, as_covariates, as_outcomes
from macal.inference.ridge import Ridge
from macal.shapes import Arms, Covariates, Indices, Outcomes

FOLDS = 5
LEAST = 2 * FOLDS  # answers of each arm
TRIMMED = 0.02  # estimated chances of treatment are at least this far from 0 and 1


@runtime_checkable
class Regressor(Protocol):
    """What scikit-learn calls a regressor."""

    def fit(self, x: Covariates, y: Outcomes, /) -> "Regressor":
        """Learn from units, (n, d), and their outcomes; return itself."""
        ...

    def predict(self, x: Covariates, /) -> Outcomes:
        """Predict outcomes."""
        ...


@dataclass(frozen=True)
class Estimate:
    """A number and its interval, in the outcome's unit.

    Attributes:
        value: the estimate.
        low: lower end of the interval.
        high: upper end.
        error: standard error, or posterior s.d.
    """

    value: float
    low: float
    high: float
    error: float

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


def crossed_propensity(x: Covariates, t: Arms, seed: int = 0) -> Outcomes:
    """Chance of treatment of each unit by logistic regression on the others' folds, (n,).

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        seed: of the folds.

    Raises:
        ValueError: an arm has fewer units than there are folds.
    """
    from sklearn.linear_model import LogisticRegression

    if (least := np.bincount(t, minlength=2).min()) < FOLDS:
        raise ValueError(f"each arm needs at least {FOLDS} units to estimate the chance of treatment, got {least}")
    z, chance = _standardised(x), np.empty(len(t))
    for rest, fold in _folds(t, seed):
        chance[fold] = LogisticRegression(max_iter=1000).fit(z[rest], t[rest]).predict_proba(z[fold])[:, 1]
    return chance.clip(TRIMMED, 1 - TRIMMED)


def worth_for_ate(propensity: Outcomes, t: Arms, spread: tuple[float, float] = (1.0, 1.0)) -> Outcomes:
    """What a label of each unit is worth for the average effect, s / e; see :mod:`macal.inference.sampling`, (n,).

    Args:
        propensity: chance of treatment, (n,).
        t: treatment, (n,).
        spread: s.d. of the outcomes that covariates leave open, of control and treated; their ratio is what counts.

    >>> worth_for_ate(np.array([0.2, 0.2]), np.array([0, 1])).tolist()
    [1.25, 5.0]
    """
    return np.where(t == 1, spread[1] / propensity, spread[0] / (1 - propensity))


def average_effect(
    x: Covariates,
    t: Arms,
    y: Outcomes,
    chances: Outcomes,
    propensity: Outcomes | None = None,
    regressor: Regressor | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Estimate the average effect over the population that the units are a sample of.

    Args:
        x: covariates of all units, (n, d).
        t: treatment, (n,).
        y: outcomes, (n,), NaN for whoever was not asked.
        chances: of each unit to have been asked, (n,), 1 for whoever was asked in any case.
        propensity: chance of treatment, (n,), where a trial's design says it; estimated otherwise.
        regressor: outcome model of each arm, copied for each fold; :class:`~macal.inference.ridge.Ridge` by default.
        level: chance of the interval to hold the true effect.
        seed: of the folds.

    Raises:
        ValueError: arrays that do not fit together, chances out of range, or an arm with too few answers.
    """
    x, t = as_covariates(x).astype(np.float64), as_arms(t, len(x))
    y, chances = as_outcomes(y, len(x), missing=True), as_outcomes(chances, len(x), "chances")
    if not ((chances > 0) & (chances <= 1 + 1e-9)).all():
        raise ValueError(
            f"chances must be above 0 and at most 1, got {chances.min():g} to {chances.max():g}; leave out whoever"
            " could not be asked: the effect is then that of the others"
        )
    e = crossed_propensity(x, t, seed) if propensity is None else as_outcomes(propensity, len(x), "propensity")
    if not ((e > 0) & (e < 1)).all():
        raise ValueError(f"propensity must lie between 0 and 1, got {e.min():g} to {e.max():g}")
    score = scores(t, y, chances, e, _outcomes(x, t, y, regressor, seed))
    error = float(score.std(ddof=1) / np.sqrt(len(t)))
    reach = error * stdtrit(np.isfinite(y).sum() - 1, (1 + level) / 2)
    value = float(score.mean())
    return Estimate(value, float(value - reach), float(value + reach), error)


def scores(t: Arms, y: Outcomes, chances: Outcomes, propensity: Outcomes, m: np.ndarray) -> Outcomes:
    """Score of each unit, (n,); see the module; ``m`` are predictions of both outcomes, (n, 2)."""
    own = m[np.arange(len(t)), t]
    residual = np.where(np.isfinite(y), y - own, 0.0)
    sign = t / propensity - (1 - t) / (1 - propensity)
    return m[:, 1] - m[:, 0] + residual * sign / chances


def _outcomes(x: Covariates, t: Arms, y: Outcomes, regressor: Regressor | None, seed: int) -> np.ndarray:
    """Cross-fitted predictions of both outcomes, (n, 2)."""
    asked = np.isfinite(y)
    told = np.bincount(t[asked], minlength=2)
    if told.min() < LEAST:
        raise ValueError(f"each arm needs at least {LEAST} answers, got {told[0]} control and {told[1]} treated")
    model = Ridge() if regressor is None else regressor
    z, m = _standardised(x), np.empty((len(t), 2))
    for rest, fold in _folds(t + 2 * asked, seed):
        for arm in (0, 1):
            own = rest[asked[rest] & (t[rest] == arm)]
            m[fold, arm] = deepcopy(model).fit(z[own], y[own]).predict(z[fold])
    return m


def _standardised(x: Covariates) -> Covariates:
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _folds(group: Arms, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Rows to learn from and rows to score, each row scored once; groups are spread evenly over the folds."""
    order = np.random.default_rng(seed).permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    for k in range(FOLDS):
        fold = np.zeros(len(group), bool)
        fold[order[k::FOLDS]] = True
        yield np.flatnonzero(~fold), np.flatnonzero(fold)
