"""Weighted effects in target populations under nonresponse: one estimating equation, in book/enough.md (sec-drawn).

With h = 1, e or e (1 - e) for all, treated or the overlap population, A = 1 if surveyed (with probability p), R = 1 if
answered (with probability r(x, t)), and b = 1, t or (t - e)^2, the estimate is sum num / sum b for

    num = b (m_1 - m_0) + h [t / e - (1 - t) / (1 - e)] {m~_t - m_t + A R / (p r) (y - m~_t)},

m~ predicting outcomes by covariates and proxies, and m regressing m~ on covariates; without proxies m~ = m. A group
multiplies h and b by its indicator. Units with known outcomes have p = r = 1, and r is learnt from those surveyed.

*Variance*: that of phi = (num - theta b) / mean b + sum over models of D' H^-1 g over n, g being a model's estimating
equation, D the mean gradient of the first term and H the mean of -dg (Stefanski and Boos 2002), for models fitted once
to all units: crossed ones give units nearly alone in a column a steep D and a small H at once. An arm adds
(q a / sum b)^2 for one more rare large residual: q the 98th percentile of its residuals' sizes, a the mean of A R h /
(p r e). Clusters: phi is summed by cluster, each in one fold. The quantile is Student's, with one degree of freedom
less than there are answers, or clusters with answers.

*Missed curves*: with u = 1[arm] / e - 1 and q a centred product of two covariates, an arm is curved if mean(u q) and
mean((y - m) q) both exceed normal noise at 5% among all q (Bonferroni), covariates clipped at three s.d.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri, stdtrit

from macal.arguments import Level, Whole, arms_of, as_covariates, as_hinted, hinted
from macal.logistic import propensity_scores
from macal.registry import check_known
from macal.shapes import Arms, Covariates, Indices, Mask, Outcomes, Pair, PerArmChance, Proxies, Rows
from macal.survey.inference.ridge import Ridge
from macal.survey.inference.weighted import (
    MIN_ANSWERS,
    Estimate,
    Regressor,
    arm_name,
    as_propensity,
    ate_size_measure,
    checked,
    clip_propensity,
    crossed_with_proxies,
    fitted_propensity,
    folds,
    of_each_arm,
    propensity_floor,
    standardised,
    stratified,
    too_few,
)

TARGETS = ("all", "treated", "overlap")
NO_RESPONSES = "no one answered"  # why a group has no interval
MIN_RESPONSE_PROBABILITY = 0.1  # smallest estimated response probability
_RARE = 98  # percentile of residuals' sizes for one more answer
_PEOPLE, _ANSWERS = 10, 1.5  # per covariate in an arm; either suffices
_CURVED, _WINSORISED = 0.05, 3.0  # level of the search for curves; s.d. at which covariates are clipped
_SUM_TOLERANCE, _ERRORS = 0.3, 3  # tolerance of weight totals, relative and in standard errors


class Models(NamedTuple):
    """Predictions for all units, (n, arms) each.

    Attributes:
        e: propensity scores.
        m: outcomes by covariates.
        responses: response probabilities.
        seen: outcomes by covariates and proxies; m without proxies.
    """

    e: PerArmChance
    m: PerArmChance
    responses: PerArmChance
    seen: PerArmChance


@dataclass(frozen=True, eq=False)
class Survey:
    """A survey's design and answers, and models of them.

    Attributes:
        x: covariates of all units, (n, d).
        t: treatment, (n,).
        y: outcomes, (n,), NaN without an answer.
        inclusion_probability: inclusion probability of each unit, (n,), 1 for mandatory units and ``known_outcome``.
        asked: whether a unit was surveyed, (n,) (default: if it has an outcome); never in ``known_outcome``.
        propensity: probability of treatment, (n,), or of each arm, (n, arms), by design; else estimated.
        regressor: outcome model of each arm (default: :class:`~macal.survey.inference.ridge.Ridge`).
        seed: seed of the folds.
        weights: people that each unit represents, (n,) (default: 1).
        strata: first-phase stratum of each unit, (n,) (default: one).
        clusters: cluster number of each unit, (n,) (default: none).
        known_outcome: whether a unit's outcome was known before the survey, (n,) (default: no).
        names: names of the arms (default: their numbers).
        proxies: further predictors of the outcome, measured before or after treatment, (n, k).

    Raises:
        ValueError: inconsistent arrays, probabilities out of range, clusters in several strata, or units in
            ``known_outcome`` without an outcome or with a probability below 1.
    """

    x: Covariates
    t: Arms
    y: Outcomes
    inclusion_probability: Outcomes
    asked: Any = None
    propensity: Outcomes | PerArmChance | None = None
    regressor: Regressor | None = None
    seed: Whole = 0
    weights: Outcomes | None = None
    strata: Arms | None = None
    clusters: Arms | None = None
    known_outcome: Any = None
    names: Sequence[Any] | None = None
    proxies: Proxies | None = None

    def __post_init__(self) -> None:
        arrays = checked(self.x, self.t, self.y, self.inclusion_probability, self.weights, self.strata)
        for name, array in zip(("x", "t", "y", "inclusion_probability", "weights", "strata"), arrays, strict=True):
            object.__setattr__(self, name, array)
        is_given = self.proxies is not None and np.size(self.proxies)
        proxies = as_covariates(self.proxies, "proxies") if is_given else np.empty((len(self.t), 0))
        object.__setattr__(self, "proxies", proxies.astype(np.float64))
        if self.clusters is not None:
            object.__setattr__(self, "clusters", np.asarray(self.clusters))
            if self.clusters.shape != self.t.shape or len(np.unique(self.strata)) > 1:
                raise ValueError("clusters must be a number for each unit, (n,), all in one stratum")
        told = np.isfinite(self.y)
        asked = told if self.asked is None else np.asarray(self.asked)
        sure = np.zeros_like(told) if self.known_outcome is None else np.asarray(self.known_outcome)
        for name, given in (("asked", asked), ("known_outcome", sure)):
            if given.shape != self.t.shape or given.dtype != bool:
                raise ValueError(
                    f"{name} must be true or false for each of the {len(self.t)} units, got shape {given.shape}"
                )
        if (sure & ~told).any() or (self.inclusion_probability[sure] < 1).any():
            raise ValueError("known_outcome: those units must have an outcome, and an inclusion_probability of 1")
        object.__setattr__(self, "asked", (asked | told) & ~sure)
        object.__setattr__(self, "known_outcome", sure)
        as_hinted(vars(self), get_type_hints(Survey, include_extras=True))

    @property
    def refused(self) -> Mask:
        """Units surveyed without an outcome, (n,)."""
        return self.asked & np.isnan(self.y)

    @property
    def clipped(self) -> Sequence[int]:
        """Number of truncated propensity scores per arm, (arms,)."""
        if self.propensity is not None:
            return [0] * arms_of(self.t)
        return (self.propensities <= propensity_floor(self.t, self.weights)).sum(axis=0).tolist()

    def uncalibrated_arms(self, arm: int) -> Mapping[int, float]:
        """Return arms of a contrast whose inverse propensity weights miss the population total -> relative total.

        It misses if it differs from 1 by more than 0.3 and three standard errors.
        """
        return uncalibrated_arms(self.t, self.propensities, self.weights, self.strata, self.clusters, (0, arm))

    def crowded(self, arm: int) -> Sequence[int]:
        """Return arms of a contrast with too few people and answers for the covariates."""
        if self.propensity is not None:
            return []
        people, answers = (np.bincount(self.t, some)[[0, arm]] for some in (np.ones(len(self.t)), np.isfinite(self.y)))
        return crowded(self.x, people, answers, (0, arm))

    def curved(self, arm: int) -> Sequence[int]:
        """Return arms of a contrast in which both models miss a curve; see the module."""
        z, told = standardised(self.x).clip(-_WINSORISED, _WINSORISED), np.isfinite(self.y)
        limit = -ndtri(_CURVED / (z.shape[1] * (z.shape[1] + 1)))
        found = []
        for one in (0, arm):
            own = self.t == one
            seen = own & told & np.isfinite(self.outcome_predictions[:, one])
            if seen.any():
                far = np.abs(_moments(z, self.weights * (own / self.propensities[:, one] - 1))) > limit
                far &= np.abs(_moments(z[seen], (self.y - self.outcome_predictions[:, one])[seen])) > limit
                found += [one] * bool(far.any())
        return found

    def answers(self, inside: Mask | None = None) -> int:
        """Return the number of independent answers inside a mask, (n,): people, or clusters."""
        told = np.isfinite(self.y) if inside is None else np.isfinite(self.y) & inside
        return int(told.sum()) if self.clusters is None else len(np.unique(self.clusters[told]))

    @cached_property
    def propensities(self) -> PerArmChance:
        """Propensity scores, (n, arms), cross-fitted if unknown."""
        if self.propensity is not None:
            return of_each_arm(as_propensity(self.propensity, self.t))
        return self._propensity[0]

    @cached_property
    def _propensity(self) -> tuple[PerArmChance, float]:
        return fitted_propensity(self.x, self.t, self.seed, self.weights, self.clusters, self.names)

    @cached_property
    def outcome_predictions(self) -> PerArmChance:
        """Cross-fitted outcome predictions, (n, arms), NaN in an arm with too few answers."""
        return self._outcomes[0]

    @cached_property
    def _outcomes(self) -> tuple[PerArmChance, PerArmChance]:
        """Predictions by covariates, and by these and proxies, (n, arms) each."""
        return crossed_with_proxies(self.x, self.proxies, self.t, self.y, self.regressor, self.seed, self.clusters)

    @cached_property
    def responses(self) -> PerArmChance:
        """Cross-fitted response probabilities, (n, arms); 1 without refusals and for known outcomes."""
        return self._sure(crossfit_responses(self.x, self.t, self.asked, self.refused, self.seed, self.clusters))

    def _sure(self, responses: PerArmChance) -> PerArmChance:
        return np.where(self.known_outcome[:, None], 1.0, responses)

    @cached_property
    def full_sample_fits(self) -> Models:
        """The models fitted once to all available units, if unknown and linear."""
        t, z, told = self.t, standardised(self.x), np.isfinite(self.y)
        e, (m, seen), responses = self.propensities, self._outcomes, self.responses
        both = standardised(np.hstack([self.x, self.proxies]))
        if self.propensity is None:
            e = propensity_scores(z, t, z, self.weights / self.weights.mean(), self._propensity[1])
            e = clip_propensity(e, t, self.weights)
        if self.regressor is None:
            m, seen = m.copy(), seen.copy()
            for arm in np.flatnonzero(np.isfinite(m).all(axis=0)):
                own = told & (t == arm)
                m[:, arm] = seen[:, arm] = Ridge().fit(both[own], self.y[own]).predict(both)
                if self.proxies.shape[1]:
                    m[:, arm] = Ridge().fit(z[t == arm], seen[t == arm, arm]).predict(z)
        if self.refused.any():
            every = np.arange(len(t))
            found = _responses(z, t, told, every[self.asked], every)
            responses = self._sure(found.clip(MIN_RESPONSE_PROBABILITY, 1.0))
        return Models(e, m, responses, seen)


def crowded(
    x: Covariates, people: Float[np.ndarray, " k"], answers: Float[np.ndarray, " k"], arms: Sequence[int]
) -> list[int]:
    """Return arms with too few people and answers, (k,) each, for covariates, (n, d)."""
    columns = int((np.ptp(x, axis=0) > 0).sum())
    few = (people < _PEOPLE * columns) & (answers < _ANSWERS * columns)
    return [arm for arm, is_few in zip(arms, few, strict=True) if is_few]


def _moments(z: Covariates, u: Outcomes) -> Float[np.ndarray, "d d"]:
    """Return the mean of u (z_j z_k - mean z_j z_k) over its standard error, (d, d)."""
    n, mean = len(z), z.T @ z / len(z)
    value = (z.T * u) @ z / n - mean * u.mean()
    square = (np.square(z.T) * u**2) @ np.square(z) / n - 2 * mean * ((z.T * u**2) @ z) / n + mean**2 * np.mean(u**2)
    error = np.sqrt(np.maximum(square - value**2, 0) / n)
    return np.divide(value, error, out=np.zeros_like(value), where=error > 0)


def uncalibrated_arms(
    t: Arms, e: PerArmChance, weights: Outcomes, strata: Arms, clusters: Arms | None, arms: Sequence[int]
) -> Mapping[int, float]:
    """Return arms whose weights 1 / e miss the population total; see :meth:`Survey.uncalibrated_arms`."""
    found = {}
    for arm in arms:
        value, error = stratified((t == arm) / e[:, arm], weights, strata, clusters)
        if abs(value - 1) > max(_SUM_TOLERANCE, _ERRORS * error):
            found[arm] = value
    return found


def crossfit_responses(
    x: Covariates, t: Arms, asked: Mask, refused: Mask, seed: int = 0, clusters: Arms | None = None
) -> PerArmChance:
    """Return response probabilities in each arm, (n, arms), by cross-fitted logistic regression among those surveyed.

    Slopes are common to all arms, intercepts are not; the penalty equals the number of terms. Probabilities are at
    least :data:`MIN_RESPONSE_PROBABILITY`.

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        asked: whether a unit was surveyed, (n,).
        refused: whether a unit surveyed did not answer, (n,).
        seed: seed of the folds.
        clusters: cluster numbers, (n,), each in one fold (default: none).

    Raises:
        ValueError: all of those surveyed refused.
    """
    arms, z = arms_of(t), standardised(x)
    told, chance = (asked & ~refused).astype(np.int64), np.ones((len(t), arms))
    if not refused.any():
        return chance
    if not told.any():
        raise ValueError("no one surveyed has answered, so response probabilities cannot be estimated")
    for rest, fold in folds(t + arms * (asked.astype(np.int64) + told), seed, clusters):
        own = rest[asked[rest]]
        if told[own].all():
            continue  # all refusals are in this fold
        chance[fold] = _responses(z, t, told, own, fold) if told[own].any() else 0.0
    return chance.clip(MIN_RESPONSE_PROBABILITY, 1.0)


def _responses(z: Covariates, t: Arms, told: Arms | Mask, own: Indices, at: Rows) -> Float[np.ndarray, "p arms"]:
    """Return response probabilities, (p, arms), of the p units ``at``, fitted to ``own``."""
    arms = arms_of(t)
    known = _with_arm(z[own], t[own], arms)
    places = np.concatenate([_with_arm(z[at], np.full(len(at), arm), arms) for arm in range(arms)])
    found = propensity_scores(known, told[own].astype(np.int64), places, strength=known.shape[1])[:, 1]
    return found.reshape(arms, len(at)).T


def _with_arm(z: Covariates, t: Arms, arms: int) -> Float[np.ndarray, "n p"]:
    """Return covariates and indicators of all arms but the reference, (n, d + arms - 1)."""
    return np.hstack([z, (t[:, None] == np.arange(1, arms)).astype(np.float64)])


@hinted
def average_effect(survey: Survey, target: str = "all", arm: int = 1, level: Level = 0.95) -> Estimate:
    """Return the estimated effect of an arm against the reference arm in a target population.

    Args:
        survey: design and answers.
        target: "all", "treated", or "overlap": the overlap population (people who could have been in either arm).
        arm: the arm that is compared with the reference arm, 0.
        level: coverage probability of the interval.

    Raises:
        UnknownName: no such target.
        ValueError: an arm with too small an effective sample size or equal answers, or several arms and another target
            than "all".
    """
    every, terms = np.ones(len(survey.t), bool), _both(survey, target, arm)
    if why := _lacking(survey, terms[0], every):
        raise ValueError(why)
    return _estimate(survey, terms, every, level)


@hinted
def group_effects(
    survey: Survey, groups: Any, target: str = "all", arm: int = 1, level: Level = 0.95
) -> Mapping[Any, Estimate | str]:
    """Return the estimated effect in each group, with simultaneous intervals (Bonferroni).

    Args:
        survey: design and answers.
        groups: group of each unit, (n,).
        target: see :func:`average_effect`, within each group.
        arm: the arm that is compared with the reference arm, 0.
        level: simultaneous coverage probability.

    Returns:
        Group -> estimate, or why there is none, sorted.

    Raises:
        UnknownName: no such target.
        ValueError: an arm with too few answers among all.
    """
    labels = _labels(groups, len(survey.t))
    every = sorted(dict.fromkeys(labels.tolist()), key=lambda value: (str(type(value)), value))
    terms = _both(survey, target, arm)
    why = {value: _lacking(survey, terms[0], labels == value) for value in every}
    each = 1 - (1 - level) / max(list(why.values()).count(""), 1)
    return {value: why[value] or _estimate(survey, terms, labels == value, each) for value in every}


def _labels(groups: Any, n: int) -> np.ndarray:
    """Return groups as an array, (n,)."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one value for each of the {n} units, got shape {labels.shape}")
    return labels


@hinted
def size_measure(
    target: str,
    propensity: Outcomes | PerArmChance,
    t: Arms,
    spread: Sequence[float | int] = (1.0, 1.0),
    groups: Any = None,
) -> Outcomes:
    """Return the optimal size measure for a target, s h / e, (n,), by Cauchy and Schwarz.

    Args:
        target: "all", "treated" or "overlap".
        propensity: probability of treatment, (n,), or of each arm, (n, arms).
        t: treatment, (n,).
        spread: residual s.d. of control and treated; only their ratio counts.
        groups: group of each unit, (n,), for the sum of the groups' variances.

    Raises:
        UnknownName: no such target.
        ValueError: several arms and another target than "all".

    >>> size_measure("treated", np.array([0.2, 0.2]), np.array([0, 1])).tolist()
    [0.25, 1.0]
    """
    e = of_each_arm(propensity)
    _check_arms(e, target)
    if target == "all":
        worth = ate_size_measure(propensity, t, spread)
    else:
        factors = _target(target, e[:, 1], t)[2]
        worth = np.asarray(spread, np.float64)[t] * factors[np.arange(len(t)), t]
    if groups is None:
        return worth
    _, number, size = np.unique(_labels(groups, len(t)), return_inverse=True, return_counts=True)
    return worth * (len(t) / size[number])


@dataclass(frozen=True, eq=False)
class _Terms:
    """Terms of the estimating equation, (n,) each, and derivatives.

    Attributes:
        num: see the module.
        effect: m_1 - m_0.
        left: y - m~_t for outcomes in the two arms, else 0.
        b: see the module.
        b_slope: db / de, e of the treated.
        factor: sign and factor of the residual, h / e.
        weight: A R / (p r) times that.
        slopes: dnum / d chance of each arm, (n, arms).
        arm: the arm that is compared.
        models: the models used.
    """

    num: Outcomes
    effect: Outcomes
    left: Outcomes
    b: Outcomes
    b_slope: Outcomes
    factor: Outcomes
    weight: Outcomes
    slopes: PerArmChance
    arm: int
    models: Models


def _target(target: str, e: Outcomes, t: Arms) -> tuple[Outcomes, Outcomes, Pair, Pair]:
    """Return b and db/de, (n,), and h / (probability of the arm) by arm, with derivatives in e, (n, 2)."""
    one, none = np.ones(len(e)), np.zeros(len(e))
    found = {
        "all": (one, none, (1 / (1 - e), 1 / e), (1 / (1 - e) ** 2, -1 / e**2)),
        "treated": ((t == 1).astype(float), none, (e / (1 - e), one), (1 / (1 - e) ** 2, none)),
        "overlap": (((t == 1) - e) ** 2, -2 * ((t == 1) - e), (e, 1 - e), (one, -one)),
    }
    check_known("target", TARGETS, target)
    b, slope, factors, slopes = found[target]
    return b, slope, np.stack(factors, axis=1), np.stack(slopes, axis=1)


def _check_arms(e: PerArmChance, target: str) -> None:
    if e.shape[1] > 2 and target in TARGETS[1:]:
        raise ValueError(f"the target {target!r} is for two arms, got {e.shape[1]}; use 'all', or two arms at a time")


def _both(survey: Survey, target: str, arm: int) -> tuple[_Terms, _Terms]:
    """Return the terms by cross-fitted models, for the estimate, and by models fitted once, for its error."""
    if why := too_few(survey.t, survey.y, (0, arm), survey.clusters, survey.names):
        raise ValueError(why)
    _check_arms(survey.propensities, target)
    if not 0 < arm < survey.propensities.shape[1]:
        raise ValueError(f"arm must be from 1 to {survey.propensities.shape[1] - 1}, got {arm}")
    m, seen = survey._outcomes
    crossed = _terms(survey, Models(survey.propensities, m, survey.responses, seen), target, arm)
    return crossed, _terms(survey, survey.full_sample_fits, target, arm)


def _terms(survey: Survey, models: Models, target: str, arm: int) -> _Terms:
    t, (e, m, responses, seen) = survey.t, models
    told, rows, compared = np.isfinite(survey.y), np.arange(len(t)), np.isin(survey.t, (0, arm))
    left = np.where(told & compared, survey.y - seen[rows, t], 0.0)
    drawn = told / (survey.inclusion_probability * responses[rows, t])
    # correction of m_t by proxies and answers
    more = np.where(compared, seen[rows, t] - m[rows, t], 0.0) + drawn * left
    slopes, sign = np.zeros_like(e), (t == arm) * 1.0 - (t == 0)
    effect = m[:, arm] - m[:, 0]
    if e.shape[1] > 2:  # each arm by its own propensity
        b, b_slope = np.ones(len(t)), np.zeros(len(t))
        factor = 1 / e[rows, t]
        slopes[rows, t] = -more * sign * factor**2
    else:
        b, b_slope, factors, changes = _target(target, e[:, 1], t)
        factor = factors[rows, t]
        slopes[:, 1] = b_slope * effect + more * sign * changes[rows, t]
    factor = sign * factor
    return _Terms(b * effect + factor * more, effect, left, b, b_slope, factor, drawn * factor, slopes, arm, models)


def _lacking(survey: Survey, terms: _Terms, inside: Mask) -> str:
    """Return why answers inside a mask, (n,), give no interval; else empty.

    The effective sample size of an arm is (sum w)^2 / sum w^2 (Kish 1965, 11.7).
    """
    answered = np.isfinite(survey.y) & inside
    if not answered.any():
        return NO_RESPONSES
    for one in (0, terms.arm):
        own, which = answered & (survey.t == one), arm_name(one, survey.names)
        told, weight = survey.y[own], np.abs(survey.weights * terms.weight)[own]
        count = len(told) and weight.sum() ** 2 / np.square(weight).sum()
        if count < MIN_ANSWERS:
            good = f" (effective sample size {count:.3g})" * (len(told) >= MIN_ANSWERS)
            return f"{which} has {len(told)} answers{good}, and an interval needs {MIN_ANSWERS} in each arm"
        if why := all_equal(told, which):
            return why
    return "" if survey.answers(inside) > 1 else "an interval needs answers from at least two clusters"


def all_equal(told: Outcomes, which: str) -> str:
    """Return a sentence if answers of an arm, (k,), are all equal; else empty."""
    if np.ptp(told):
        return ""
    some = f"answer of {which} is" if len(told) == 1 else f"{len(told)} answers of {which} are all"
    return f"the {some} {told[0]:g}, so their variance cannot be estimated"


def _estimate(survey: Survey, both: tuple[_Terms, _Terms], inside: Mask, level: float) -> Estimate:
    """Return the estimate inside a mask, (n,), from the terms of all units."""
    terms, at_once = both
    whole = survey.weights
    at = whole * inside
    scale, value = inside * (whole.sum() / (at @ terms.b)), float(at @ terms.num / (at @ terms.b))
    people, asked, answered = _estimated(survey, at_once, scale, value)
    phi = people + asked + answered + scale * (terms.num - value * terms.b)
    error = float(np.hypot(stratified(phi, whole, survey.strata, survey.clusters)[1], _guard(survey, terms, inside)))
    reach = float(stdtrit(survey.answers(inside) - 1, (1 + level) / 2))
    return Estimate(value, value - reach * error, value + reach * error, error)


def _guard(survey: Survey, terms: _Terms, inside: Mask) -> float:
    """Return what one more rare large residual per arm adds to the error; see the module."""
    total, at = 0.0, survey.weights * inside
    for arm in (0, terms.arm):
        own = inside & (survey.t == arm) & np.isfinite(survey.y)
        size = np.percentile(np.abs(terms.left[own]), _RARE)
        total += float(size * np.mean(np.abs(at * terms.weight)[own]) / (at @ terms.b)) ** 2
    return float(np.sqrt(total))


def _estimated(survey: Survey, terms: _Terms, scale: Outcomes, value: float) -> tuple[Outcomes, Outcomes, Outcomes]:
    """Return D' H^-1 g_i of the models of arms, responses and outcomes, (n,) each, on the estimate's scale."""
    t, z, (e, m, responses, seen) = survey.t, standardised(survey.x), terms.models
    told, share = np.isfinite(survey.y), survey.weights / survey.weights.mean()
    people, asked, answered = np.zeros((3, len(t)))
    if survey.propensity is None:
        slopes = terms.slopes.copy()
        slopes[:, 1] -= value * terms.b_slope
        inner = e > propensity_floor(t, survey.weights)
        slopes *= (scale * share)[:, None] * (inner.all(axis=1, keepdims=True) if e.shape[1] == 2 else inner)
        people += _logistic_part(z, e, t, slopes, share, survey._propensity[1]) / share
    if survey.refused.any():
        r = responses[np.arange(len(t)), t]
        slope = scale * share * -terms.weight * terms.left / r * (r > MIN_RESPONSE_PROBABILITY)
        chance, slopes = np.stack([1 - r, r], axis=1), np.stack([np.zeros(len(t)), slope], axis=1)
        design = _with_arm(z, t, e.shape[1])
        part = _logistic_part(design, chance, told.astype(int), slopes, survey.asked * 1.0, design.shape[1])
        asked += part / share
    if survey.regressor is None:
        both = standardised(np.hstack([survey.x, survey.proxies]))
        for arm, sign in ((terms.arm, 1.0), (0, -1.0)):
            own, through = t == arm, np.zeros(len(t))
            if survey.proxies.shape[1]:
                slope = scale * share * (sign * terms.b - terms.factor * own)
                through = _ridge_slope(z, seen[:, arm], own, slope)
                answered += np.where(own, seen[:, arm] - m[:, arm], 0.0) * through / share
                slope = np.where(own, scale * share * (terms.factor - terms.weight * told) + through, 0.0)
            else:
                slope = scale * share * (sign * terms.b - terms.weight * (told & own))
            own &= told
            through = _ridge_slope(both, survey.y, own, slope)
            answered += np.where(own, survey.y - seen[:, arm], 0.0) * through / share
    return people, asked, answered


def _with_intercept(z: Covariates) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "p p"]]:
    """Return covariates with an intercept, and the matrix of a penalty that spares it."""
    design = np.hstack([np.ones((len(z), 1)), z])
    return design, np.diag(np.arange(design.shape[1]) > 0).astype(float)


def _logistic_part(
    z: Covariates, chance: PerArmChance, label: Arms, slopes: PerArmChance, share: Outcomes, strength: float | int = 1
) -> Outcomes:
    """Return D' H^-1 g_i of a logistic regression, (n,), from the estimate's slopes in its probabilities, (n, arms)."""
    design, penalty = _with_intercept(z)
    n, p = design.shape
    free = range(1, 2) if chance.shape[1] == 2 else range(chance.shape[1])  # arms with a score
    # d chance_a / d score_b = chance_a (1[a = b] - chance_b)
    mean = (slopes * chance).sum(axis=1)
    gradient = np.concatenate([design.T @ (chance[:, b] * (slopes[:, b] - mean)) for b in free]) / n
    hessian = np.block(
        [[(design.T * (share * chance[:, b] * ((b == c) - chance[:, c]))) @ design for c in free] for b in free]
    )
    hessian = (hessian + strength * np.kron(np.eye(len(free)), penalty)) / n
    solved = np.linalg.lstsq(hessian, gradient, rcond=None)[0].reshape(len(free), p)
    return share * sum(((label == b) - chance[:, b]) * (design @ solved[k]) for k, b in enumerate(free))


def _ridge_slope(z: Covariates, y: Outcomes, own: Mask, slope: Outcomes) -> Outcomes:
    """Return D' H^-1 g_i of an arm's ridge regression over the residual, (n,), from the slope in its predictions."""
    design, penalty = _with_intercept(z)
    penalty *= Ridge().fit(z[own], y[own]).penalty
    hessian = ((design.T * own) @ design + penalty) / len(z)
    return design @ np.linalg.lstsq(hessian, design.T @ slope / len(z), rcond=None)[0]
