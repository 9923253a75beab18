"""The average effect and its interval from labels that were drawn with known chances.

Augmented inverse-probability weighting with two chances: e(x) of treatment and p of being asked. With outcome models
m_0, m_1 and R = 1 for whoever was asked,

    score_i = m_1(x_i) - m_0(x_i) + R_i / p_i [t_i / e(x_i) - (1 - t_i) / (1 - e(x_i))] (y_i - m_t(x_i)),

and likewise for any arm against the reference arm where there are several, e being the chance of each arm;
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

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import stdtrit

from macal.arguments import arms_of, as_arms, as_covariates, as_outcomes
from macal.inference.ridge import Ridge
from macal.logistic import PerArmChance, arm_chances
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


def crossed_propensity(
    x: Covariates, t: Arms, seed: int = 0, weights: Outcomes | None = None, clusters: Arms | None = None
) -> Outcomes | PerArmChance:
    """Chance of treatment of each unit by logistic regression on the others' folds, (n,); of each of several arms.

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        seed: of the folds.
        weights: people whom each unit stands for, (n,), 1 by default.
        clusters: number of each unit's cluster, (n,), which is in one fold; each is alone by default.

    Raises:
        ValueError: an arm has fewer units, or is in fewer clusters, than there are folds.
    """
    if (least := np.bincount(t, minlength=2).min()) < FOLDS:
        raise ValueError(f"each arm needs at least {FOLDS} units to estimate the chance of treatment, got {least}")
    _check_clusters(t, clusters, "people")
    z, chance = standardised(x), np.empty((len(t), arms_of(t)))
    for rest, fold in folds(t, seed, clusters):
        weight = None if weights is None else weights[rest] / weights.mean()
        chance[fold] = arm_chances(z[rest], t[rest], z[fold], weight)
    return chance.clip(TRIMMED, 1 - TRIMMED) if arms_of(t) > 2 else chance[:, 1].clip(TRIMMED, 1 - TRIMMED)


def of_each_arm(propensity: Outcomes | PerArmChance) -> PerArmChance:
    """Chances of all arms, (n, arms), of the chance of treatment, (n,), where there are two."""
    return propensity if propensity.ndim == 2 else np.stack([1 - propensity, propensity], axis=1)


def worth_for_ate(propensity: Outcomes | PerArmChance, t: Arms, spread: Sequence[float | int] = (1.0, 1.0)) -> Outcomes:
    """What a label of each unit is worth for the average effect, s / e; see :mod:`macal.inference.sampling`, (n,).

    Of several arms, for the sum of all contrasts: a label of the reference arm is in each of these, which makes it
    worth more by the root of their number.

    Args:
        propensity: chance of treatment, (n,), or of each arm, (n, arms).
        t: treatment, (n,).
        spread: s.d. of the outcomes that covariates leave open, of control and treated; their ratio is what counts. Of
            more arms than are given, 1.

    >>> worth_for_ate(np.array([0.2, 0.2]), np.array([0, 1])).tolist()
    [1.25, 5.0]
    """
    e = of_each_arm(propensity)
    s = np.concatenate([spread, np.ones(max(e.shape[1] - len(spread), 0))])
    return s[t] * np.where(t == 0, np.sqrt(e.shape[1] - 1), 1.0) / e[np.arange(len(t)), t]


def average_effect(
    x: Covariates,
    t: Arms,
    y: Outcomes,
    chances: Outcomes,
    propensity: Outcomes | PerArmChance | None = None,
    regressor: Regressor | None = None,
    level: float = 0.95,
    seed: int = 0,
    arm: int = 1,
    weights: Outcomes | None = None,
    strata: Arms | None = None,
) -> Estimate:
    """Estimate the average effect over the population that the units are a sample of.

    Units that were themselves drawn from a table, by chances of their own, are weighted by 1 over these; the interval
    counts that draw, too:

        variance = sum over strata h of W_h^2 s_h^2 / n_h + sum of W_h (mean_h - mean)^2 / N,

    where W_h is the stratum's share of the N people in the table, n_h its units, s_h^2 the variance of their scores.

    Args:
        x: covariates of all units, (n, d).
        t: treatment, (n,).
        y: outcomes, (n,), NaN for whoever was not asked.
        chances: of each unit to have been asked, (n,), 1 for whoever was asked in any case.
        propensity: chance of treatment, (n,), or of each arm, (n, arms), where a trial's design says it; estimated
            otherwise.
        regressor: outcome model of each arm, copied for each fold; :class:`~macal.inference.ridge.Ridge` by default.
        level: chance of the interval to hold the true effect.
        seed: of the folds.
        arm: which is compared with the reference arm, 0, over everybody.
        weights: people whom each unit stands for, (n,), 1 by default.
        strata: stratum within which each unit was drawn with a chance in common, (n,); one by default.

    Raises:
        ValueError: arrays that do not fit together, chances out of range, or an arm with too few answers.
    """
    x, t, y, chances, weights, strata = checked(x, t, y, chances, weights, strata)
    e = crossed_propensity(x, t, seed, weights) if propensity is None else as_propensity(propensity, t)
    score = scores(t, y, chances, e, crossed_outcomes(x, t, y, regressor, seed), arm)
    value, error = stratified(score, weights, strata)
    reach = error * stdtrit(np.isfinite(y).sum() - 1, (1 + level) / 2)
    return Estimate(value, float(value - reach), float(value + reach), error)


def checked(
    x: Covariates, t: Arms, y: Outcomes, chances: Outcomes, weights: Outcomes | None, strata: Arms | None
) -> tuple[Covariates, Arms, Outcomes, Outcomes, Outcomes, Arms]:
    """Return what an estimate by weights is made of, see :func:`average_effect`, with what is not given filled in.

    Raises:
        ValueError: arrays that do not fit together, or chances out of range.
    """
    x, t = as_covariates(x).astype(np.float64), as_arms(t, len(x), multi_arm=True)
    y, chances = as_outcomes(y, len(x), missing=True), as_outcomes(chances, len(x), "chances")
    if not ((chances > 0) & (chances <= 1 + 1e-9)).all():
        raise ValueError(
            f"chances must be above 0 and at most 1, got {chances.min():g} to {chances.max():g}; leave out whoever"
            " could not be asked: the effect is then that of the others"
        )
    weights = np.ones(len(x)) if weights is None else as_outcomes(weights, len(x), "weights")
    return x, t, y, chances, weights, np.zeros(len(x), np.int64) if strata is None else strata


def as_propensity(given: Outcomes | PerArmChance, t: Arms) -> Outcomes | PerArmChance:
    """Return chances of treatment, (n,), or of each arm, (n, arms), that are known.

    Raises:
        ValueError: another shape, or a chance that is not between 0 and 1.
    """
    e = np.asarray(given, np.float64)
    if e.shape not in [(len(t),)] * (arms_of(t) == 2) + [(len(t), arms_of(t))]:
        raise ValueError(f"propensity must be the chance of treatment of each unit, or of each arm, got {e.shape}")
    if not ((e > 0) & (e < 1)).all():
        raise ValueError(f"propensity must lie between 0 and 1, got {e.min():g} to {e.max():g}")
    return e


def stratified(score: Outcomes, weights: Outcomes, strata: Arms, clusters: Arms | None = None) -> tuple[float, float]:
    """Weighted mean of scores and its standard error; see :func:`average_effect`.

    Of C clusters, which are then one stratum, each counts as one unit: with T_c the sum over a cluster of weights times
    what scores differ from their mean, the variance is C / (C - 1) sum_c (T_c - mean T)^2 over the squared sum of
    weights.
    """
    if clusters is not None:
        value = float(np.average(score, weights=weights))
        total = np.bincount(np.unique(clusters, return_inverse=True)[1], weights * (score - value))
        one = np.ones(len(total))
        return value, stratified(total * (len(total) / weights.sum()), one, np.zeros(len(total), np.int64))[1]
    number = np.unique(strata, return_inverse=True)[1]
    n, total, whole = np.bincount(number), np.bincount(number, weights), weights.sum()
    mean = np.bincount(number, weights * score) / total
    value = float(total @ mean / whole)
    left = np.bincount(number, np.square(score - mean[number])) / np.maximum(n - 1, 1)
    left[n == 1] = score.var(ddof=1)  # of one unit nothing is known
    share = total / whole
    variance = np.sum(share**2 * left / n) + share @ np.square(mean - value) / whole
    return value, float(np.sqrt(variance))


def scores(
    t: Arms, y: Outcomes, chances: Outcomes, propensity: Outcomes | PerArmChance, m: PerArmChance, arm: int = 1
) -> Outcomes:
    """Score of each unit, (n,); see the module; ``m`` are predictions of the outcome in each arm, (n, arms)."""
    own, e = m[np.arange(len(t)), t], of_each_arm(propensity)
    residual = np.where(np.isfinite(y), y - own, 0.0)
    sign = (t == arm) / e[:, arm] - (t == 0) / e[:, 0]
    return m[:, arm] - m[:, 0] + residual * sign / chances


def crossed_outcomes(
    x: Covariates, t: Arms, y: Outcomes, regressor: Regressor | None, seed: int, clusters: Arms | None = None
) -> PerArmChance:
    """Cross-fitted predictions of the outcome in each arm, (n, arms); a cluster is in one fold."""
    asked, arms = np.isfinite(y), arms_of(t)
    told = np.bincount(t[asked], minlength=arms)
    if told.min() < LEAST:
        got = f"{told[0]} control and {told[1]} treated" if arms == 2 else f"{told.tolist()}, the reference first"
        raise ValueError(f"each arm needs at least {LEAST} answers, got {got}")
    _check_clusters(t[asked], None if clusters is None else clusters[asked], "answers")
    model = Ridge() if regressor is None else regressor
    z, m = standardised(x), np.empty((len(t), arms))
    for rest, fold in folds(t + arms * asked, seed, clusters):
        for arm in range(arms):
            own = rest[asked[rest] & (t[rest] == arm)]
            m[fold, arm] = deepcopy(model).fit(z[own], y[own]).predict(z[fold])
    return m


def standardised(x: Covariates) -> Covariates:
    """Covariates of mean 0 and s.d. 1, constants of 0, (n, d)."""
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _check_clusters(t: Arms, clusters: Arms | None, what: str) -> None:
    """Refuse arms that a fold of whole clusters could leave without anybody to learn from."""
    if clusters is None:
        return
    each = [len(np.unique(clusters[t == arm])) for arm in range(arms_of(t))]
    if min(each) < FOLDS:
        raise ValueError(f"each arm needs {what} from at least {FOLDS} clusters, got {each}, the reference first")


def folds(group: Arms, seed: int, clusters: Arms | None = None) -> Iterator[tuple[Indices, Indices]]:
    """Rows to learn from and rows to score, each row scored once; groups are spread evenly over the folds.

    A cluster is in one fold, for its people are alike; clusters with people of the same groups are spread evenly.
    """
    if clusters is not None:
        number = np.unique(clusters, return_inverse=True)[1]
        seen = np.zeros((number.max() + 1, group.max() + 1), bool)
        seen[number, group] = True
        alike = np.unique(seen[:, ::-1], axis=0, return_inverse=True)[1].ravel()
        for _, fold in folds(alike, seed):
            inside = np.isin(number, fold)
            yield np.flatnonzero(~inside), np.flatnonzero(inside)
        return
    order = np.random.default_rng(seed).permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    for k in range(FOLDS):
        fold = np.zeros(len(group), bool)
        fold[order[k::FOLDS]] = True
        yield np.flatnonzero(~fold), np.flatnonzero(fold)
