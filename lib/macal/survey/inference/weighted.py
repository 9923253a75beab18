"""Components of weighted estimates: propensity scores, outcome models, means with standard errors.

Propensities and outcomes are cross-fitted (Chernozhukov et al. 2018); the estimate is in
:mod:`macal.survey.inference.targets`. The penalty of the propensity model is the weakest with held-out loss within
a standard error of the smallest, as dropping a confounder does more harm than keeping noise, or with 100,000 people or
more the weakest. Scores are at least the smaller of :data:`MAX_PROPENSITY_FLOOR` and a fifth of the arm's share.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from macal.arguments import MIN_POSITIVE, Whole, arms_of, as_arms, as_covariates, as_outcomes, hinted
from macal.logistic import propensity_scores
from macal.shapes import Arms, Covariates, Indices, Outcomes, PerArmChance, Proxies
from macal.survey.facts import count_phrase
from macal.survey.inference.ridge import Ridge

FOLDS = 5
MIN_ANSWERS = 2 * FOLDS  # in each arm
MAX_PROPENSITY_FLOOR = 0.02  # smallest estimated propensity of an arm that is not rare
PENALTIES = (1.0, 10.0, 100.0, 1000.0, 1e9)  # of the propensity model; the last one leaves the arms' shares
_MANY_PEOPLE = 100_000  # number of people above which noise in covariates costs little
_GAIN = 2  # standard errors of a real gain in held-out loss
_SPARSE = 0.3  # smallest divisor of a mostly constant column, as a share of its range


@runtime_checkable
class Regressor(Protocol):
    """A regressor, as in scikit-learn."""

    def fit(self, x: Covariates, y: Outcomes, /) -> "Regressor":
        """Fit to covariates, (n, d), and outcomes; return itself."""
        ...

    def predict(self, x: Covariates, /) -> Outcomes:
        """Return predicted outcomes."""
        ...


@dataclass(frozen=True)
class Estimate:
    """An estimate and its interval, in the outcome's unit.

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
        """Width of the interval."""
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
    """Return cross-fitted propensity scores by logistic regression, (n,), or (n, arms) for several arms.

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        seed: seed of the folds.
        weights: people that each unit represents, (n,) (default: 1).
        clusters: cluster numbers, (n,), each in one fold (default: none).
        names: names of the arms for messages (default: their numbers).
        strength: strength of the penalty (default: from :data:`PENALTIES` by held-out loss).

    Raises:
        ValueError: an arm has fewer units or clusters than there are folds.
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
    """Return the scores of :func:`crossfit_propensity`, (n, arms), and the penalty's strength."""
    if few := arm_below_minimum(t, range(arms_of(t)), ("person", "people"), FOLDS, clusters, names):
        raise ValueError(f"{few}, and propensity scores need {FOLDS} in each arm")
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
    """Return covariates, (n, d), rotated into at most n columns; a penalised regression is unchanged."""
    return z if z.shape[1] <= len(z) else np.linalg.qr(z.T, mode="r").T


def unpredicted(e: PerArmChance, t: Arms) -> bool:
    """Return whether cross-fitted scores, (n, arms), predict arms hardly better than their shares do."""
    gain = np.log(e[np.arange(len(t)), t] * len(t) / np.bincount(t)[t])
    return bool(gain.mean() <= _GAIN * gain.std() / np.sqrt(len(t)))


def propensity_floor(t: Arms, weights: Outcomes | None = None) -> Float[np.ndarray, " arms"]:
    """Return the smallest estimated propensity of each arm, (arms,), from its share."""
    share = np.bincount(t, weights, minlength=2)
    return np.minimum(MAX_PROPENSITY_FLOOR, share / share.sum() / 5)


def clip_propensity(chance: PerArmChance, t: Arms, weights: Outcomes | None = None) -> PerArmChance:
    """Return scores, (n, arms), truncated at :func:`propensity_floor`; those of two arms add up to 1."""
    least = propensity_floor(t, weights)
    return chance.clip(least, 1 - least[::-1] if len(least) == 2 else 1.0)


def of_each_arm(propensity: Outcomes | PerArmChance) -> PerArmChance:
    """Return scores of all arms, (n, arms), also from those of treatment alone, (n,)."""
    return propensity if propensity.ndim == 2 else np.stack([1 - propensity, propensity], axis=1)


@hinted
def ate_size_measure(
    propensity: Outcomes | PerArmChance, t: Arms, spread: Sequence[float | int] = (1.0, 1.0)
) -> Outcomes:
    """Return the optimal size measure for the average effect, s / e, (n,); see :mod:`.sampling`.

    For several arms it minimises the sum over contrasts: that of the reference arm, in all of them, is larger by the
    root of their number.

    Args:
        propensity: probability of treatment, (n,), or of each arm, (n, arms).
        t: treatment, (n,).
        spread: residual s.d. of control and treated; only ratios count; 1 for further arms.

    >>> ate_size_measure(np.array([0.2, 0.2]), np.array([0, 1])).tolist()
    [1.25, 5.0]
    """
    e = of_each_arm(propensity)
    s = np.concatenate([spread, np.ones(max(e.shape[1] - len(spread), 0))])
    return s[t] * np.where(t == 0, np.sqrt(e.shape[1] - 1), 1.0) / e[np.arange(len(t)), t]


def checked(
    x: Covariates, t: Arms, y: Outcomes, chances: Outcomes, weights: Outcomes | None, strata: Arms | None
) -> tuple[Covariates, Arms, Outcomes, Outcomes, Outcomes, Arms]:
    """Return the arrays of a :class:`~macal.survey.inference.targets.Survey`, with defaults filled in.

    Raises:
        ValueError: inconsistent arrays, or probabilities out of range.
    """
    x, t = as_covariates(x).astype(np.float64), as_arms(t, len(x), multi_arm=True)
    y, chances = as_outcomes(y, len(x), missing=True), as_outcomes(chances, len(x), "inclusion_probability")
    if not ((chances >= MIN_POSITIVE) & (chances <= 1 + 1e-9)).all():
        raise ValueError(
            f"inclusion_probability must be above 0 ({MIN_POSITIVE:g} to 1), got {chances.min():g} to {chances.max():g}"
            "; leave out ineligible units: the effect is then that of the others"
        )
    weights = np.ones(len(x)) if weights is None else as_outcomes(weights, len(x), "weights")
    return x, t, y, chances, weights, np.zeros(len(x), np.int64) if strata is None else strata


def as_propensity(given: Outcomes | PerArmChance, t: Arms) -> Outcomes | PerArmChance:
    """Return known probabilities of treatment, (n,), or of each arm, (n, arms).

    Raises:
        ValueError: another shape, or a value not between 0 and 1.
    """
    e = np.asarray(given, np.float64)
    if e.shape not in [(len(t),)] * (arms_of(t) == 2) + [(len(t), arms_of(t))]:
        raise ValueError(
            f"propensity must be a probability of treatment, or of each arm, for each unit, got shape {e.shape}"
        )
    if not ((e >= MIN_POSITIVE) & (e < 1)).all():
        raise ValueError(f"propensity must lie between 0 and 1 (from {MIN_POSITIVE:g}), got {e.min():g} to {e.max():g}")
    return e


def stratified(score: Outcomes, weights: Outcomes, strata: Arms, clusters: Arms | None = None) -> tuple[float, float]:
    """Return the weighted mean of scores and its standard error.

        variance = sum over strata h of W_h^2 s_h^2 / n_h + sum of W_h (mean_h - mean)^2 / W,

    with W people in the first phase, the stratum's share W_h, units n_h and variance of scores s_h^2. With C clusters,
    in one stratum, and weighted sums of deviations T_c, it is C / (C - 1) sum_c (T_c - mean T)^2 over the squared sum
    of weights.
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
    left[n == 1] = score.var(ddof=1)  # a single unit has no variance of its own
    share = total / whole
    variance = np.sum(share**2 * left / n) + share @ np.square(mean - value) / whole
    return value, float(np.sqrt(variance))


def crossfit_outcomes(
    x: Covariates, t: Arms, y: Outcomes, regressor: Regressor | None, seed: int, clusters: Arms | None = None
) -> PerArmChance:
    """Return cross-fitted outcome predictions, (n, arms), each cluster in one fold.

    They are NaN in an arm with fewer than :data:`MIN_ANSWERS` answers or :data:`FOLDS` clusters.
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
    """Return cross-fitted outcome predictions by covariates, and by covariates and proxies, (n, arms) each.

    The first are regressions of the second among all people of the arm.
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
    """Return covariates with mean 0 and s.d. 1, constants as 0, (n, d).

    A mostly constant column is divided by at least a share of its range, so that the penalty holds its coefficient.
    """
    spread, middle = x.std(axis=0), np.median(x, axis=0)
    sparse = (x == middle).mean(axis=0) > 0.5
    spread = np.where(sparse, np.maximum(spread, _SPARSE * np.ptp(x, axis=0)), spread)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def too_few(
    t: Arms, y: Outcomes, arms: Iterable[int], clusters: Arms | None = None, names: Sequence[Any] | None = None
) -> str:
    """Return which arm has too few answers, or clusters, for an interval; else empty."""
    told, homes = np.isfinite(y), {MIN_ANSWERS: None} if clusters is None else {MIN_ANSWERS: None, FOLDS: clusters}
    for least, own in homes.items():
        if few := arm_below_minimum(
            t[told], arms, ("answer", "answers"), least, None if own is None else own[told], names
        ):
            return f"{few}, and an interval needs {least} in each arm"
    return ""


def arm_below_minimum(
    t: Arms,
    arms: Iterable[int],
    what: tuple[str, str],
    least: int,
    clusters: Arms | None = None,
    names: Sequence[Any] | None = None,
) -> str:
    """Return which arm has too few units, or clusters, to be in every training fold; else empty."""
    for arm in arms:
        own = t == arm
        count = int(own.sum()) if clusters is None else len(np.unique(clusters[own]))
        if count < least:
            clustered = f"{what[1]} from {count_phrase(count, 'cluster')}"
            has = count_phrase(count, *what) if clusters is None else clustered
            return f"{arm_name(arm, names)} has {has}"
    return ""


def arm_name(arm: int, names: Sequence[Any] | None = None) -> str:
    """Return an arm's name in sentences."""
    return f"arm {arm if names is None else names[arm]}"


def folds(group: Arms, seed: int, clusters: Arms | None = None) -> Iterator[tuple[Indices, Indices]]:
    """Yield training and held-out rows, groups spread evenly over folds; a cluster is in one fold."""
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
