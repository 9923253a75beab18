"""What effects by weights are made of: chances of treatment, outcome models, and means with standard errors.

Chances and outcomes are cross-fitted: no unit is scored by a model that has seen their outcome or their treatment. The
estimate is that of :mod:`macal.survey.inference.targets`.

The penalty of the regression of the treatment goes by the loss on held-out folds: where covariates do not predict the
arm, as in a trial, noise would else pass for confounding. It is the weakest whose loss is within a standard error of
the least: to leave out a cause does more harm than to keep noise. The strongest one leaves the arms' shares. Of a
hundred thousand people and more noise costs next to nothing, and the weakest is taken.

Estimated chances of an arm are at least the smaller of :data:`MAX_PROPENSITY_FLOOR` and a fifth of the arm's share: of
a rare arm the true chances lie below any floor that does not depend on it.

Reference: V. Chernozhukov, D. Chetverikov, M. Demirer, E. Duflo, C. Hansen, W. Newey and J. Robins, "Double/Debiased
Machine Learning for Treatment and Structural Parameters", Econometrics Journal 21(1), 2018 (cross-fitting).
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from macal.arguments import Whole, arms_of, as_arms, as_covariates, as_outcomes, hinted
from macal.logistic import PerArmChance, propensity_scores
from macal.shapes import Arms, Covariates, Indices, Outcomes
from macal.survey.inference.ridge import Ridge

Chances = Float[np.ndarray, "arms"]
Proxies = Float[np.ndarray, "n s"]
FOLDS = 5
MIN_ANSWERS = 2 * FOLDS  # answers of each arm
MAX_PROPENSITY_FLOOR = 0.02  # least estimated chance of an arm that is not rare
PENALTIES = (1.0, 10.0, 100.0, 1000.0, 1e9)  # of the regression of the treatment; the last one leaves its shares
_MANY_PEOPLE = 100_000  # people, from which on noise in the covariates costs next to nothing
_GAIN = 2  # standard errors of the held-out loss, by which covariates predict the arms if they do
_SPARSE = 0.3  # of the range of a column most of whose values are alike: the least s.d. that it is divided by


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


@hinted
def crossfit_propensity(
    x: Covariates,
    t: Arms,
    seed: Whole = 0,
    weights: Outcomes | None = None,
    clusters: Arms | None = None,
    names: Sequence[Any] | None = None,
    strength: float | int | None = None,
) -> Outcomes | PerArmChance:
    """Chance of treatment of each unit by logistic regression on the others' folds, (n,); of each of several arms.

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        seed: of the folds.
        weights: people whom each unit stands for, (n,), 1 by default.
        clusters: number of each unit's cluster, (n,), which is in one fold; each is alone by default.
        names: of the arms, for what is said; their numbers by default.
        strength: of the penalty; of :data:`PENALTIES` by held-out loss by default.

    Raises:
        ValueError: an arm has fewer units, or is in fewer clusters, than there are folds; which.
    """
    chance = fitted_propensity(x, t, seed, weights, clusters, names, strength)[0]
    return chance if arms_of(t) > 2 else chance[:, 1]


def fitted_propensity(
    x: Covariates,
    t: Arms,
    seed: int = 0,
    weights: Outcomes | None = None,
    clusters: Arms | None = None,
    names: Sequence[Any] | None = None,
    strength: float | int | None = None,
) -> tuple[PerArmChance, float]:
    """Chance of each arm, (n, arms), as :func:`crossfit_propensity` estimates it, and the penalty's strength."""
    if few := arm_below_minimum(t, range(arms_of(t)), "people", FOLDS, clusters, names):
        raise ValueError(f"{few}, and to estimate the chance of an arm takes {FOLDS} of each")
    z, parts, weight = _turned(standardised(x)), [*folds(t, seed, clusters)], np.ones(len(t))
    if weights is not None:
        weight = weights / weights.mean()
    tried: list[tuple[PerArmChance, Outcomes, float]] = []
    for penalty in PENALTIES[: None if len(t) < _MANY_PEOPLE else 1] if strength is None else (float(strength),):
        chance = np.empty((len(t), arms_of(t)))
        for rest, fold in parts:
            chance[fold] = propensity_scores(
                z[rest], t[rest], z[fold], None if weights is None else weight[rest], penalty
            )
        chance = clip_propensity(chance, t, weights)
        tried.append((chance, -weight * np.log(chance[np.arange(len(t)), t]), penalty))
        if len(tried) > 1 and tried[-1][1].sum() > tried[-2][1].sum():
            break
    least = min((loss for _, loss, _ in tried), key=np.sum)
    near = ((loss - least).mean() <= (loss - least).std() / np.sqrt(len(t)) for _, loss, _ in tried)
    return next((chance, penalty) for (chance, _, penalty), is_near in zip(tried, near, strict=True) if is_near)


def _turned(z: Covariates) -> Covariates:
    """Covariates, (n, d), turned into n columns where these are fewer: a penalised regression is the same."""
    return z if z.shape[1] <= len(z) else np.linalg.qr(z.T, mode="r").T


def unpredicted(e: PerArmChance, t: Arms) -> bool:
    """Whether cross-fitted chances of the arms, (n, arms), predict these hardly better than their shares do."""
    gain = np.log(e[np.arange(len(t)), t] * len(t) / np.bincount(t)[t])
    return bool(gain.mean() <= _GAIN * gain.std() / np.sqrt(len(t)))


def propensity_floor(t: Arms, weights: Outcomes | None = None) -> Chances:
    """Least estimated chance of each arm, (arms,), by its share of the people."""
    share = np.bincount(t, weights, minlength=2)
    return np.minimum(MAX_PROPENSITY_FLOOR, share / share.sum() / 5)


def clip_propensity(chance: PerArmChance, t: Arms, weights: Outcomes | None = None) -> PerArmChance:
    """Chances of all arms, (n, arms), that are at least :func:`propensity_floor`; of two arms they add up to 1."""
    least = propensity_floor(t, weights)
    return chance.clip(least, 1 - least[::-1] if len(least) == 2 else 1.0)


def of_each_arm(propensity: Outcomes | PerArmChance) -> PerArmChance:
    """Chances of all arms, (n, arms), of the chance of treatment, (n,), where there are two."""
    return propensity if propensity.ndim == 2 else np.stack([1 - propensity, propensity], axis=1)


@hinted
def ate_size_measure(
    propensity: Outcomes | PerArmChance, t: Arms, spread: Sequence[float | int] = (1.0, 1.0)
) -> Outcomes:
    """What a label of each unit is worth for the average effect, s / e, (n,); see :mod:`.sampling`.

    Of several arms, for the sum of all contrasts: a label of the reference arm is in each of these, which makes it
    worth more by the root of their number.

    Args:
        propensity: chance of treatment, (n,), or of each arm, (n, arms).
        t: treatment, (n,).
        spread: s.d. of the outcomes that covariates leave open, of control and treated; their ratio is what counts. Of
            more arms than are given, 1.

    >>> ate_size_measure(np.array([0.2, 0.2]), np.array([0, 1])).tolist()
    [1.25, 5.0]
    """
    e = of_each_arm(propensity)
    s = np.concatenate([spread, np.ones(max(e.shape[1] - len(spread), 0))])
    return s[t] * np.where(t == 0, np.sqrt(e.shape[1] - 1), 1.0) / e[np.arange(len(t)), t]


def checked(
    x: Covariates, t: Arms, y: Outcomes, chances: Outcomes, weights: Outcomes | None, strata: Arms | None
) -> tuple[Covariates, Arms, Outcomes, Outcomes, Outcomes, Arms]:
    """Return what a :class:`~macal.survey.inference.targets.Survey` is made of, with what is not given filled in.

    Raises:
        ValueError: arrays that do not fit together, or chances out of range.
    """
    x, t = as_covariates(x).astype(np.float64), as_arms(t, len(x), multi_arm=True)
    y, chances = as_outcomes(y, len(x), missing=True), as_outcomes(chances, len(x), "inclusion_probability")
    if not ((chances > 0) & (chances <= 1 + 1e-9)).all():
        raise ValueError(
            f"inclusion_probability must be above 0 and at most 1, got {chances.min():g} to {chances.max():g};"
            " leave out those who could not be asked: the effect is then that of the others"
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
    """Weighted mean of scores and its standard error.

    Units that were themselves drawn from a table of W people, by chances of their own, are weighted by 1 over these,
    and the error counts that draw, too:

        variance = sum over strata h of W_h^2 s_h^2 / n_h + sum of W_h (mean_h - mean)^2 / W,

    where W_h is the stratum's share of the people, n_h its units, s_h^2 the variance of their scores.

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


def crossfit_outcomes(
    x: Covariates, t: Arms, y: Outcomes, regressor: Regressor | None, seed: int, clusters: Arms | None = None
) -> PerArmChance:
    """Cross-fitted predictions of the outcome in each arm, (n, arms); a cluster is in one fold.

    Of an arm with fewer answers than :data:`MIN_ANSWERS`, or than from :data:`FOLDS` clusters, they are NaN.
    """
    return crossed_with_proxies(x, x[:, :0], t, y, regressor, seed, clusters)[0]


def crossed_with_proxies(
    x: Covariates,
    proxies: Proxies,
    t: Arms,
    y: Outcomes,
    regressor: Regressor | None,
    seed: int,
    clusters: Arms | None = None,
) -> tuple[PerArmChance, PerArmChance]:
    """Cross-fitted predictions of the outcome in each arm by covariates, and by these and proxies, (n, arms) each.

    Those by covariates are fitted to what both predict of all people of the arm, who need no answer.
    """
    asked, arms = np.isfinite(y), arms_of(t)
    model = Ridge() if regressor is None else regressor
    z, both = standardised(x), standardised(np.hstack([x, proxies]))
    m, seen = np.full((2, len(t), arms), np.nan)
    able = [arm for arm in range(arms) if not too_few(t, y, [arm], clusters)]
    for rest, fold in folds(t + arms * asked, seed, clusters):
        for arm in able:
            people = rest[t[rest] == arm]
            own = people[asked[people]]
            by_both = deepcopy(model).fit(both[own], y[own])
            m[fold, arm] = seen[fold, arm] = by_both.predict(both[fold])
            if proxies.shape[1]:
                m[fold, arm] = deepcopy(model).fit(z[people], by_both.predict(both[people])).predict(z[fold])
    return m, seen


def standardised(x: Covariates) -> Covariates:
    """Covariates of mean 0 and s.d. 1, constants of 0, (n, d).

    A column with one value for most units, as an indicator of few people, is divided by a share of its range at least:
    at s.d. 1 these few would lie so far out that no penalty holds their coefficient.
    """
    spread, middle = x.std(axis=0), np.median(x, axis=0)
    sparse = (x == middle).mean(axis=0) > 0.5
    spread = np.where(sparse, np.maximum(spread, _SPARSE * np.ptp(x, axis=0)), spread)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def too_few(
    t: Arms, y: Outcomes, arms: Iterable[int], clusters: Arms | None = None, names: Sequence[Any] | None = None
) -> str:
    """Which of the arms has too few answers, or from too few clusters, for an interval; empty where none has."""
    told, homes = np.isfinite(y), {MIN_ANSWERS: None} if clusters is None else {MIN_ANSWERS: None, FOLDS: clusters}
    for least, own in homes.items():
        if few := arm_below_minimum(t[told], arms, "answers", least, None if own is None else own[told], names):
            return f"{few}, and an interval needs {least} of each arm"
    return ""


def arm_below_minimum(
    t: Arms,
    arms: Iterable[int],
    what: str,
    least: int,
    clusters: Arms | None = None,
    names: Sequence[Any] | None = None,
) -> str:
    """Which of the arms has fewer units, or is in fewer clusters; empty where none is.

    A fold could leave nobody of it to learn from.
    """
    for arm in arms:
        own = t == arm
        count = int(own.sum()) if clusters is None else len(np.unique(clusters[own]))
        if count < least:
            has = f"{count} {what}" if clusters is None else f"{what} from {count} clusters"
            return f"{arm_name(arm, names)} has {has}"
    return ""


def arm_name(arm: int, names: Sequence[Any] | None = None) -> str:
    """An arm as a sentence names it."""
    return f"arm {arm if names is None else names[arm]}"


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
