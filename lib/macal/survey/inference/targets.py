"""Effects of those whom one asks about, by weights, where some of those asked refuse: one estimating equation for all.

Whose effect: with e the chance of treatment and tau(x) the effect at x, E[h tau] / E[h] is that of everybody for h = 1,
of the treated for h = e, of the overlap population for h = e (1 - e); times 1[group] it is that of a group. With
outcome models m_0, m_1, A = 1 for whoever was asked (with the known chance p), R = 1 for whoever of these answered
(with the chance r(x, t) to), and b = h + h'(e) (t - e),

    num_i = b_i (m_1 - m_0) + A_i R_i / (p_i r_i) h_i [t_i / e_i - (1 - t_i) / (1 - e_i)] (y_i - m_t),

the estimate is sum num / sum b. b is 1, t and (t - e)^2 for the three. Of several arms, each against the reference,
the first alone is offered.

*Proxies* are known of everybody and predict outcomes, whenever they were measured. With m~_t a model of covariates and
proxies, and m_t a regression of it on covariates among all people of the arm, num_i has m~_t in the place of m_t in its
last factor, and in addition

    h_i [t_i / e_i - (1 - t_i) / (1 - e_i)] (m~_t - m_t),

which needs no answers. Without proxies m~ = m.

*Which models must be right.* Outcomes are missing at random: whether somebody answers depends on covariates and arm,
not on what the answer would be. E[num] - theta E[b] is then 0 for everybody and for groups if m_0 and m_1 are right,
whatever e and r are, for the second term has mean 0 given x and t; or if e and r are right, whatever m is, for the mean
of the weight is then h in either arm. For the treated b = t needs no model, and the same holds. For the overlap
population e says who they are, so e must be right in any case, and besides m or r.

*Outcomes known beforehand.* Whoever has one was not asked and cannot refuse: p = r = 1, and r learns from those asked
alone. Those asked stand for each other and for whoever else could be, not for her: so the effect is still that of all
units, whosever outcomes were known, if e and r are right; by m alone, if these are like others given x and t.

*Variance.* e, r and m are estimated, cross-fitted: nobody is scored by a model that has seen their answer, arm or
refusal. Each solves an estimating equation sum g_i = 0, logistic regressions and ridge regressions; stacked with the
one above, the estimate is the mean over i of

    phi_i = (num_i - theta b_i) / mean b + sum over models of D' H^-1 g_i,

D the mean gradient of the first term in the model's coefficients and H the mean of -dg: the terms vanish where all
models are right, and count what estimating a right one adds where another is wrong. Another regressor than ridge
regression has no such terms: it must then learn fast enough (n^-1/4), or r and e be right. The terms are those of
models that are fitted once, to everybody, so that D, H and g belong to one solution of sum g_i = 0. Cross-fitted models
estimate the same terms; but of somebody who is nearly alone in a column they give a residual near 1, a steep D and a
small H at once, which can make the error many times too large. Interval: theta +-
t-quantile of the number of answers less one times the root of the variance of phi over n.

*A rare large residual* is in few samples of answers, and its absence makes the error too small. So each arm adds
to the variance (q a / sum b)^2, with q the 98th percentile of the sizes of its residuals and a the mean of A R h / (p r
e) over its answers: what one more answer with such a residual would.

*Curves that both models miss.* With u = 1[arm] / e - 1 and q a product of two covariates, or a square, centred, an
arm's mean is off by mean(u q) times the slope of its residuals on q, where neither model has q. So an arm is curved if
some q has both mean(u q) over everybody and mean((y - m) q) over its answers farther from 0 than normal noise would be
at 5 % among all q (Bonferroni). Covariates count to three s.d.

*Clusters.* Where whole clusters were drawn, or people of one are alike for another reason, phi is summed over each, and
the variance is that of the sums (:func:`~macal.survey.inference.weighted.stratified`); the quantile has the number of
clusters with answers less one degrees of freedom, and a cluster is in one fold, so that nobody is scored by a model
that has seen her neighbours. With few clusters that variance is itself uncertain, which makes the interval rough.

*Groups* are told at once by Bonferroni's bound: with k intervals each has the level 1 - (1 - level) / k.

*Which draw.* A label's part of the variance is (s_t h / e_t)^2 / p with e_t the chance of its own arm; so, by Cauchy
and Schwarz, chances are best where proportional to s_t h / e_t: s / e for everybody, s_1 and s_0 e / (1 - e) for the
treated, s_1 (1 - e) and s_0 e for the overlap population; for the sum of the variances of groups over that times 1 /
(size of the group).

References:
    J. Robins, A. Rotnitzky and L. P. Zhao, "Estimation of Regression Coefficients When Some Regressors Are Not Always
    Observed", Journal of the American Statistical Association 89(427), 1994 (the second term).
    L. Kish, *Survey Sampling*, Wiley, 1965, Section 11.7 (how many answers unequal weights leave).
    H. Bang and J. Robins, "Doubly Robust Estimation in Missing Data and Causal Inference Models", Biometrics 61(4),
    2005.
    F. Li, K. L. Morgan and A. M. Zaslavsky, "Balancing Covariates via Propensity Score Weighting", Journal of the
    American Statistical Association 113(521), 2018 (the family h, and the overlap population).
    K. Hirano, G. Imbens and G. Ridder, "Efficient Estimation of Average Treatment Effects Using the Estimated
    Propensity Score", Econometrica 71(4), 2003 (b for an estimated e).
    L. A. Stefanski and D. D. Boos, "The Calculus of M-Estimation", The American Statistician 56(1), 2002 (stacking).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri, stdtrit

from macal.arguments import Level, Whole, arms_of, as_covariates, as_hinted, hinted
from macal.logistic import PerArmChance, propensity_scores
from macal.registry import check_known
from macal.shapes import Arms, Covariates, Indices, Outcomes, Rows
from macal.survey.inference.ridge import Ridge
from macal.survey.inference.weighted import (
    MIN_ANSWERS,
    Estimate,
    Proxies,
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
NO_RESPONSES = "nobody answered"  # why a group has no interval
MIN_RESPONSE_PROBABILITY = 0.1  # chance to answer, as estimated, at least
Mask = Bool[np.ndarray, "n"]
PerSide = Float[np.ndarray, "n 2"]
PerArm = Float[np.ndarray, "k"]
Design = Float[np.ndarray, "n p"]
Answering = Float[np.ndarray, "p arms"]
_RARE = 98  # percentile of the residuals' sizes that one answer more is thought to have
_PEOPLE, _ANSWERS = 10, 1.5  # of an arm for each covariate, of which either is enough
_CURVED, _WINSORISED = 0.05, 3.0  # level of the search for curves; s.d. to which covariates count there
_SUM_TOLERANCE, _ERRORS = (
    0.3,
    3,
)  # how far weights may be from adding up to everybody, in shares of them and in standard errors


class Models(NamedTuple):
    """What is modelled of everybody, (n, arms) each.

    Attributes:
        e: chance of each arm.
        m: prediction of the outcome in each arm.
        responses: chance to answer if asked, in each arm.
        seen: prediction of the outcome in each arm by covariates and proxies; m where there are no proxies.
    """

    e: PerArmChance
    m: PerArmChance
    responses: PerArmChance
    seen: PerArmChance


@dataclass(frozen=True, eq=False)
class Survey:
    """What was drawn, asked and answered, and what is modelled of it.

    Attributes:
        x: covariates of all units, (n, d).
        t: treatment, (n,).
        y: outcomes, (n,), NaN for whoever was not asked, or refused.
        inclusion_probability: of each unit to have been asked, (n,), 1 for whoever was asked in any case, or is in
            ``known_outcome``.
        asked: who was, (n,); who has an outcome, by default, that is, nobody refused. Nobody in ``known_outcome`` was.
        propensity: chance of treatment, (n,), or of each arm, (n, arms), where a trial's design says it; estimated
            otherwise.
        regressor: outcome model of each arm; :class:`~macal.survey.inference.ridge.Ridge` by default.
        seed: of the folds.
        weights: people whom each unit stands for, (n,), 1 by default.
        strata: stratum within which each unit came into the sample, (n,); one by default.
        clusters: number of the cluster of each unit, (n,), whose people are alike; each is alone by default.
        known_outcome: whose outcome was known before anybody was asked, (n,); nobody's by default.
        names: of the arms, for what is said of them; their numbers by default.
        proxies: what else is known of everybody and predicts outcomes, measured before treatment or after it, (n, k).

    Raises:
        ValueError: arrays that do not fit together, chances out of range, clusters in several strata, or somebody in
            ``sure`` without an outcome or with a chance below 1.
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
        """Who was asked and has no outcome, (n,)."""
        return self.asked & np.isnan(self.y)

    @property
    def clipped(self) -> Sequence[int]:
        """Of each arm, how many people's estimated chance to be in it was raised to the least one, (arms,)."""
        if self.propensity is not None:
            return [0] * arms_of(self.t)
        return (self.propensities <= propensity_floor(self.t, self.weights)).sum(axis=0).tolist()

    def uncalibrated_arms(self, arm: int) -> Mapping[int, float]:
        """Arms, of the reference and another, whose people weighted by 1 / e do not add up to everybody -> the sum.

        The sum is over that of everybody; it is off where it differs from 1 by more than 0.3 and three standard errors.
        """
        return uncalibrated_arms(self.t, self.propensities, self.weights, self.strata, self.clusters, (0, arm))

    def crowded(self, arm: int) -> Sequence[int]:
        """Arms, of the reference and another, with too few people and answers for this number of covariates."""
        if self.propensity is not None:
            return []
        people, answers = (np.bincount(self.t, some)[[0, arm]] for some in (np.ones(len(self.t)), np.isfinite(self.y)))
        return crowded(self.x, people, answers, (0, arm))

    def curved(self, arm: int) -> Sequence[int]:
        """Arms, of the reference and another, in which both models miss a curve; see the module."""
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
        """How many answers there are that are not alike, of those inside, (n,): people, or clusters."""
        told = np.isfinite(self.y) if inside is None else np.isfinite(self.y) & inside
        return int(told.sum()) if self.clusters is None else len(np.unique(self.clusters[told]))

    @cached_property
    def propensities(self) -> PerArmChance:
        """Chance of each arm, (n, arms), cross-fitted where it is not known."""
        if self.propensity is not None:
            return of_each_arm(as_propensity(self.propensity, self.t))
        return self._propensity[0]

    @cached_property
    def _propensity(self) -> tuple[PerArmChance, float]:
        return fitted_propensity(self.x, self.t, self.seed, self.weights, self.clusters, self.names)

    @cached_property
    def outcome_predictions(self) -> PerArmChance:
        """Cross-fitted prediction of the outcome in each arm, (n, arms), NaN in one with too few answers."""
        return self._outcomes[0]

    @cached_property
    def _outcomes(self) -> tuple[PerArmChance, PerArmChance]:
        """Predictions by covariates, and by these and proxies, (n, arms) each."""
        return crossed_with_proxies(self.x, self.proxies, self.t, self.y, self.regressor, self.seed, self.clusters)

    @cached_property
    def responses(self) -> PerArmChance:
        """Cross-fitted chance to answer if asked, of each unit in each arm, (n, arms).

        It is 1 where nobody has refused, and of whoever was not to be asked, for her outcome was known.
        """
        return self._sure(crossfit_responses(self.x, self.t, self.asked, self.refused, self.seed, self.clusters))

    def _sure(self, responses: PerArmChance) -> PerArmChance:
        return np.where(self.known_outcome[:, None], 1.0, responses)

    @cached_property
    def full_sample_fits(self) -> Models:
        """The same models, each fitted once to everybody it may learn from, but for what is known or not linear."""
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
            everybody = np.arange(len(t))
            found = _responses(z, t, told, everybody[self.asked], everybody)
            responses = self._sure(found.clip(MIN_RESPONSE_PROBABILITY, 1.0))
        return Models(e, m, responses, seen)


def crowded(x: Covariates, people: PerArm, answers: PerArm, arms: Sequence[int]) -> list[int]:
    """Those of some arms that have too few people and answers, (k,) each, for covariates, (n, d)."""
    columns = int((np.ptp(x, axis=0) > 0).sum())
    few = (people < _PEOPLE * columns) & (answers < _ANSWERS * columns)
    return [arm for arm, is_few in zip(arms, few, strict=True) if is_few]


def _moments(z: Covariates, u: Outcomes) -> Float[np.ndarray, "d d"]:
    """Mean of u (z_j z_k - mean z_j z_k) over its standard error, (d, d)."""
    n, mean = len(z), z.T @ z / len(z)
    value = (z.T * u) @ z / n - mean * u.mean()
    square = (np.square(z.T) * u**2) @ np.square(z) / n - 2 * mean * ((z.T * u**2) @ z) / n + mean**2 * np.mean(u**2)
    error = np.sqrt(np.maximum(square - value**2, 0) / n)
    return np.divide(value, error, out=np.zeros_like(value), where=error > 0)


def uncalibrated_arms(
    t: Arms, e: PerArmChance, weights: Outcomes, strata: Arms, clusters: Arms | None, arms: Sequence[int]
) -> Mapping[int, float]:
    """Arms whose people weighted by 1 / e do not add up to everybody; see :meth:`Survey.uncalibrated_arms`."""
    found = {}
    for arm in arms:
        value, error = stratified((t == arm) / e[:, arm], weights, strata, clusters)
        if abs(value - 1) > max(_SUM_TOLERANCE, _ERRORS * error):
            found[arm] = value
    return found


def crossfit_responses(
    x: Covariates, t: Arms, asked: Mask, refused: Mask, seed: int = 0, clusters: Arms | None = None
) -> PerArmChance:
    """Chance to answer if asked, in each arm, (n, arms), by logistic regression on the other folds of those asked.

    Covariates count alike in all arms, each of which has its own level. Few are asked, and covariates may be many: the
    penalty is as strong as there are terms, which are then expected to move the log odds by about 1 together. Chances
    are at least :data:`MIN_RESPONSE_PROBABILITY`: nobody who answers speaks for more than ten people who were asked.

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        asked: who was, (n,).
        refused: who of these did not answer, (n,).
        seed: of the folds.
        clusters: number of each unit's cluster, (n,), which is in one fold; each is alone by default.

    Raises:
        ValueError: all of those asked refused.
    """
    arms, z = arms_of(t), standardised(x)
    told, chance = (asked & ~refused).astype(np.int64), np.ones((len(t), arms))
    if not refused.any():
        return chance
    if not told.any():
        raise ValueError("nobody of those who were asked has answered, so the chance to answer cannot be estimated")
    for rest, fold in folds(t + arms * (asked.astype(np.int64) + told), seed, clusters):
        own = rest[asked[rest]]
        if told[own].all():
            continue  # who refused is all in this fold
        chance[fold] = _responses(z, t, told, own, fold) if told[own].any() else 0.0
    return chance.clip(MIN_RESPONSE_PROBABILITY, 1.0)


def _responses(z: Covariates, t: Arms, told: Arms | Mask, own: Indices, at: Rows) -> Answering:
    """Chance to answer in each arm, (p, arms), of the p units ``at``, by those of ``own``, who were asked."""
    arms = arms_of(t)
    known = _with_arm(z[own], t[own], arms)
    places = np.concatenate([_with_arm(z[at], np.full(len(at), arm), arms) for arm in range(arms)])
    found = propensity_scores(known, told[own].astype(np.int64), places, strength=known.shape[1])[:, 1]
    return found.reshape(arms, len(at)).T


def _with_arm(z: Covariates, t: Arms, arms: int) -> Design:
    """Covariates, and an indicator of each arm but the reference, (n, d + arms - 1)."""
    return np.hstack([z, (t[:, None] == np.arange(1, arms)).astype(np.float64)])


@hinted
def average_effect(survey: Survey, target: str = "all", arm: int = 1, level: Level = 0.95) -> Estimate:
    """Estimate the effect of an arm against the reference arm on those whom one asks about.

    Args:
        survey: what was asked and answered.
        target: "all", "treated", or "overlap": those who could well have been in either arm.
        arm: which is compared with the reference arm, 0.
        level: chance of the interval to hold the true effect.

    Raises:
        UnknownName: no such target.
        ValueError: an arm with too few answers, as their weights count, or whose answers are all equal; of several
            arms another target than "all".
    """
    everybody, terms = np.ones(len(survey.t), bool), _both(survey, target, arm)
    if why := _lacking(survey, terms[0], everybody):
        raise ValueError(why)
    return _estimate(survey, terms, everybody, level)


@hinted
def group_effects(
    survey: Survey, groups: Any, target: str = "all", arm: int = 1, level: Level = 0.95
) -> Mapping[Any, Estimate | str]:
    """Estimate the effect in each group, with intervals that hold all at once (Bonferroni).

    Args:
        survey: what was asked and answered.
        groups: value of a column for each unit, (n,).
        target: see :func:`average_effect`, within each group.
        arm: which is compared with the reference arm, 0.
        level: chance of all intervals to hold.

    Returns:
        Value of the group -> its estimate, or why it has none, in sorted order.

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
    """A value for each unit, (n,)."""
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
    """What a label of each unit is worth for a target, s h / e, (n,); see the module.

    Args:
        target: "all", "treated" or "overlap".
        propensity: chance of treatment, (n,), or of each arm, (n, arms).
        t: treatment, (n,).
        spread: s.d. of the outcomes that covariates leave open, of control and treated; their ratio is what counts.
        groups: value of a column for each unit, (n,), where each group's effect is asked for.

    Raises:
        UnknownName: no such target.
        ValueError: of several arms another target than "all".

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
    """Terms of the estimating equation, (n,) each, and their derivatives.

    Attributes:
        num: see the module.
        effect: m_1 - m_0.
        left: y - m~_t of whoever has an outcome and is in one of the two arms, else 0.
        b: who counts.
        b_slope: db / de, e of the treated.
        factor: sign and factor of the residual, h / e.
        weight: A R / (p r) times that.
        slopes: dnum / d chance of each arm, (n, arms).
        arm: that is compared.
        models: by which all of these are.
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


def _target(target: str, e: Outcomes, t: Arms) -> tuple[Outcomes, Outcomes, PerSide, PerSide]:
    """Return b and db/de, (n,), and h / (chance of the arm) by arm, with derivatives in e, (n, 2)."""
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
        raise ValueError(f"the target {target!r} is for two arms, got {e.shape[1]}; take 'all', or two arms at a time")


def _both(survey: Survey, target: str, arm: int) -> tuple[_Terms, _Terms]:
    """The terms by cross-fitted models, of which the estimate is made, and by those fitted at once, for its error."""
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
    # what proxies and answers correct of m_t
    more = np.where(compared, seen[rows, t] - m[rows, t], 0.0) + drawn * left
    slopes, sign = np.zeros_like(e), (t == arm) * 1.0 - (t == 0)
    effect = m[:, arm] - m[:, 0]
    if e.shape[1] > 2:  # each arm by its own chance
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
    """Why the answers of those inside, (n,), give no interval; empty where they do.

    By their weights w, answers of an arm count as (sum w)^2 / sum w^2 of equal weight (Kish).
    """
    everybody = np.isfinite(survey.y) & inside
    if not everybody.any():
        return NO_RESPONSES
    for one in (0, terms.arm):
        own, which = everybody & (survey.t == one), arm_name(one, survey.names)
        told, weight = survey.y[own], np.abs(survey.weights * terms.weight)[own]
        count = len(told) and weight.sum() ** 2 / np.square(weight).sum()
        if count < MIN_ANSWERS:
            good = f", by their weights as good as {count:.3g}" * (len(told) >= MIN_ANSWERS)
            return f"{which} has {len(told)} answers{good}, and an interval needs {MIN_ANSWERS} of each arm"
        if why := all_equal(told, which):
            return why
    return "" if survey.answers(inside) > 1 else "an interval needs answers from two clusters at least"


def all_equal(told: Outcomes, which: str) -> str:
    """What to say of an arm whose answers, (k,), are all equal; empty where they are not."""
    if np.ptp(told):
        return ""
    some = f"answer of {which} is" if len(told) == 1 else f"{len(told)} answers of {which} are all"
    return f"the {some} {told[0]:g}, which shows nothing of how answers differ"


def _estimate(survey: Survey, both: tuple[_Terms, _Terms], inside: Mask, level: float) -> Estimate:
    """The effect of those inside, (n,), by the terms of all."""
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
    """What one more answer of each arm with a rare large residual would add to the error; see the module."""
    total, at = 0.0, survey.weights * inside
    for arm in (0, terms.arm):
        own = inside & (survey.t == arm) & np.isfinite(survey.y)
        size = np.percentile(np.abs(terms.left[own]), _RARE)
        total += float(size * np.mean(np.abs(at * terms.weight)[own]) / (at @ terms.b)) ** 2
    return float(np.sqrt(total))


def _estimated(survey: Survey, terms: _Terms, scale: Outcomes, value: float) -> tuple[Outcomes, Outcomes, Outcomes]:
    """D' H^-1 g_i of the models of arms, of who answers, and of outcomes, (n,) each, in the scale of the estimate."""
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


def _with_intercept(z: Covariates) -> tuple[Design, Float[np.ndarray, "p p"]]:
    """Covariates and a column of ones, and the matrix of a penalty that spares the intercept."""
    design = np.hstack([np.ones((len(z), 1)), z])
    return design, np.diag(np.arange(design.shape[1]) > 0).astype(float)


def _logistic_part(
    z: Covariates, chance: PerArmChance, label: Arms, slopes: PerArmChance, share: Outcomes, strength: float | int = 1
) -> Outcomes:
    """D' H^-1 g_i of a logistic regression, (n,): ``slopes`` are those of the estimate in the chances, (n, arms)."""
    design, penalty = _with_intercept(z)
    n, p = design.shape
    free = range(1, 2) if chance.shape[1] == 2 else range(chance.shape[1])  # arms that have a score
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
    """Slope of the estimate in the outcomes, (n,), that an arm's ridge regression has learnt from.

    It is D' H^-1 g_i over the residual; ``slope`` is that of the estimate in the regression's predictions.
    """
    design, penalty = _with_intercept(z)
    penalty *= Ridge().fit(z[own], y[own]).penalty
    hessian = ((design.T * own) @ design + penalty) / len(z)
    return design @ np.linalg.lstsq(hessian, design.T @ slope / len(z), rcond=None)[0]
