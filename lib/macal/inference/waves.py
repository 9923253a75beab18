"""Chances that learn: people are split into waves by lot, and each wave's chances follow the answers of earlier ones.

The split is drawn before anybody answers, so everybody has a chance in one wave, her own. In wave k, of n_k people and
b_k labels, with e_i the chance of a person's own arm and s_i^2 what earlier answers say of her squared residual,

    p_i = (1 - u) min(1, c s_i / e_i) + u b_k / n_k,    the sum over the wave being b_k.

With s_i = 1 these are the chances of a draw that does not learn (Neyman's allocation for equal spreads); the first wave
has them, and so has any wave for which the answers do not say more.

*What is learnt.* Residuals r_i are from outcome models that are cross-fitted to the answers of earlier waves. Their
squares follow log s_i^2 = a_arm + b' (covariates and their squares), fitted by the gamma likelihood with a quadratic
penalty on b. Candidates are the penalties of :data:`PENALTIES`, the last of which leaves the arms' levels alone, with
shares u from ``least`` to 1 in :data:`SHARES` steps. The variance that asking adds is estimated for each, from
spreads that are cross-fitted, too:

    V(p) = mean over answers of (r_i / e_i)^2 / (p_i^asked p_i).

The candidate with the smallest V is taken, if its V is below V of the chances that do not learn by more than one
standard error of the mean difference.

*Worst case.* p_i is at least u b_k / n_k, so whatever was learnt, the part of the variance that is due to asking is at
most 1 / u times as large as by a uniform draw, and the interval 1 / sqrt(u) times as wide; u is at least ``least``.

*Why the interval holds.* Let F_k hold all covariates, and the treatments, draws and answers of waves 1 to k. The
chances of wave k, given its treatments, are fixed by F_(k-1). With outcome models m that are fixed and e right, the
score of :mod:`macal.inference.weighted` of a person in wave k has, given F_(k-1), the mean tau(x_i), whatever the
chances are, for E[A_i / p_i] = 1. So

    estimate - average effect = mean over i of (tau(x_i) - average effect) + mean over i of d_i,

where the sums of d_i over waves are martingale differences. Given F_(k-1), the d_i of a wave are uncorrelated where
draws are independent (systematic ones err on the safe side), so all cross terms have mean 0, and the mean squared
deviation of the scores over n is an unbiased estimate of the variance; as p_i is bounded away from 0, the martingale
central limit theorem applies. No more is needed than one known chance for each person, as
:func:`~macal.inference.average_effect` takes it.

Fitted outcome models take part of the answers of all waves. Where they are linear in d covariates, as
:class:`~macal.inference.ridge.Ridge` is, that changes the estimate by (b - b*)' times the mean of (1 - A_i 1[arm] /
(p_i e_i)) z_i, for each arm, with b* the limit of the coefficients. The mean is again a martingale's over n, of the
order n^-1/2, and b - b* vanishes as n grows, so the product is of smaller order than the error. This does not hold for
every regressor: one that is not smooth must learn from earlier waves alone.

References:
    J. Hahn, K. Hirano and D. Karlan, "Adaptive Experimental Design Using the Propensity Score", Journal of Business &
    Economic Statistics 29(1), 2011 (chances of a second wave by the variances of the first).
    E. Nwankwo, L. Goldkind and A. Zhou, "Batch-Adaptive Causal Annotations", arXiv:2502.10605, 2025 (the same for
    labels).
    P. Hall and C. C. Heyde, *Martingale Limit Theory and Its Application*, Academic Press, 1980.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from macal.inference.sampling import inclusion, proportional
from macal.inference.targets import Design
from macal.inference.weighted import FOLDS, LEAST, crossed_outcomes, of_each_arm, standardised, worth_for_ate
from macal.logistic import PerArmChance
from macal.shapes import Arms, Covariates, Indices, Outcomes

PENALTIES = (4.0, 16.0, 64.0, 1e9)
SHARES = 5
_STEPS, _HALVINGS = 12, 6
_REACH = 4.0  # logarithms of squared spreads differ from their arm's level by at most this
PerTerm = Float[np.ndarray, "p"]
PerAnswer = Float[np.ndarray, "answers"]
OfWave = Float[np.ndarray, "k"]
Wave = Int[np.ndarray, "wave"]
PerFold = Float[np.ndarray, "wave folds"]
Told = Int[np.ndarray, "answers"]


@dataclass(frozen=True, eq=False)
class WaveChances:
    """Chances of a wave, and what they go by.

    Attributes:
        chances: of each unit of the wave, (k,); their sum is its number of labels.
        uniform: share u of the labels that is spread uniformly.
        answers: of earlier waves.
        learnt: whether the chances go by them.
        ratio: estimated variance due to asking, over that of chances that do not learn; 1 where nothing is learnt.
            The best of several candidates, so rather too low.
    """

    chances: OfWave
    uniform: float
    answers: int
    learnt: bool = False
    ratio: float = 1.0

    @property
    def worst(self) -> float:
        """How many times as wide as by a uniform draw the interval can be at most, 1 / sqrt(u)."""
        return float(1 / np.sqrt(self.uniform))


def split_waves(units: int, sizes: Sequence[int], rng: np.random.Generator) -> Arms:
    """Split units into waves by lot: number of each unit's wave, from 0, (units,).

    Args:
        units: how many there are.
        sizes: labels of each wave, or numbers in the same proportions; units are split in these, to one unit.
        rng: source of randomness.

    Raises:
        ValueError: no wave, or a wave without labels.

    >>> np.bincount(split_waves(10, [2, 2, 1], np.random.default_rng(0))).tolist()
    [4, 4, 2]
    """
    labels = np.asarray(sizes, np.int64)
    if not labels.size or labels.min() < 1:
        raise ValueError(f"waves need at least a label each, got {list(sizes)}")
    ends = np.round(units * labels.cumsum() / labels.sum()).astype(np.int64)
    wave = np.empty(units, np.int64)
    wave[rng.permutation(units)] = np.searchsorted(ends, np.arange(units), side="right")
    return wave


def wave_chances(
    x: Covariates,
    t: Arms,
    y: Outcomes,
    chances: Outcomes,
    units: Indices,
    size: int,
    propensity: Outcomes | PerArmChance,
    least: float = 0.5,
    seed: int = 0,
) -> WaveChances:
    """Chances of the units of a wave, by the answers of earlier waves.

    Args:
        x: covariates of all units, (n, d).
        t: treatment, (n,).
        y: outcomes of earlier waves, (n,), NaN for everybody else.
        chances: with which each unit of an earlier wave could be asked there, (n,); of others they are not read.
        units: of the wave, (k,); none has an outcome.
        size: labels of the wave.
        propensity: chance of treatment, (n,), or of each arm, (n, arms).
        least: u at least; what the share is where nothing is learnt.
        seed: of the folds.

    Raises:
        ValueError: a unit of the wave has an outcome, or what :func:`~macal.inference.inclusion` refuses.
    """
    told = np.flatnonzero(np.isfinite(y))
    if np.isin(units, told).any():
        raise ValueError("the chances of a wave must not follow its own answers; leave these out")
    worth = worth_for_ate(propensity, t)
    fixed = WaveChances(inclusion(worth[units], size, least), least, len(told))
    arms = of_each_arm(propensity).shape[1]
    if np.bincount(t[told], minlength=arms).min() < LEAST:
        return fixed
    m = crossed_outcomes(x, t, y, None, seed)
    squared = np.square(y[told] - m[told, t[told]])
    if not squared.mean() > 0:
        return fixed
    design, one = _design(x, t, arms), np.zeros(len(told))
    share, pool = size / len(units), worth[units]
    part = np.square(worth[told]) * squared / chances[told]  # of the variance, but for one over the new chance
    before = part / _mixed(worth[told], pool, size, least)
    best = (float(before.mean()), one, np.inf, least)
    for penalty in PENALTIES:
        scaled = _crossed(design, squared, told, units, arms, penalty, seed)
        asked, others = worth[told] * scaled[0], pool[:, None] * scaled[1]
        by_spread = np.empty(len(told))
        for k, fold in enumerate(scaled[2]):
            by_spread[fold] = _mixed(asked[fold], others[:, k], size, 0.0)
        for uniform in np.linspace(least, 1.0, SHARES):
            after = part / ((1 - uniform) * by_spread + uniform * share)
            if after.mean() < best[0]:
                best = (float(after.mean()), after - before, penalty, float(uniform))
    mean, change, penalty, uniform = best
    if not -change.mean() > change.std(ddof=1) / np.sqrt(len(change)):
        return fixed
    slopes = _spread(design[told], squared, arms, penalty)
    found = inclusion(pool * np.exp(_log_squared(design[units], slopes, arms) / 2), size, uniform)
    return WaveChances(found, uniform, len(told), True, mean / float(before.mean()))


def _design(x: Covariates, t: Arms, arms: int) -> Design:
    """Indicators of the arms, covariates, and squares of these that are no indicators, (n, p)."""
    z = standardised(x)
    squares = standardised(np.square(z[:, [len(np.unique(column)) > 2 for column in z.T]]))
    return np.hstack([(t[:, None] == np.arange(arms)).astype(float), np.clip(np.hstack([z, squares]), -_REACH, _REACH)])


def _mixed(worth: PerAnswer, pool: OfWave, size: int, uniform: float) -> PerAnswer:
    """Chances that units of so much worth would have in a wave of the worths ``pool``."""
    free = proportional(pool, size)
    c = (free / pool).max()  # of whoever is not certain
    return (1 - uniform) * np.minimum(1.0, c * worth) + uniform * size / len(pool)


def _crossed(
    design: Design, squared: PerAnswer, told: Told, units: Wave, arms: int, penalty: float, seed: int
) -> tuple[PerAnswer, PerFold, list[np.ndarray]]:
    """Spreads of those who answered, by the others' answers, (answers,); of a wave by each fold's; the folds."""
    own, wave, parts = np.empty(len(told)), np.empty((len(units), FOLDS)), []
    for k, (rest, fold) in enumerate(_folds(len(told), seed)):
        slopes = _spread(design[told[rest]], squared[rest], arms, penalty)
        own[fold] = np.exp(_log_squared(design[told[fold]], slopes, arms) / 2)
        wave[:, k] = np.exp(_log_squared(design[units], slopes, arms) / 2)
        parts.append(fold)
    return own, wave, parts


def _folds(number: int, seed: int) -> Iterator[tuple[Indices, Indices]]:
    order = np.random.default_rng([seed, number]).permutation(number)
    for k in range(FOLDS):
        fold = np.sort(order[k::FOLDS])
        yield np.setdiff1d(order, fold), fold


def _log_squared(design: Design, slopes: PerTerm, arms: int) -> Outcomes:
    level = design[:, :arms] @ slopes[:arms]
    return level + np.clip(design[:, arms:] @ slopes[arms:], -_REACH, _REACH)


def _spread(design: Design, squared: Outcomes, arms: int, penalty: float) -> PerTerm:
    """Coefficients b of log E[squared] = design b, by the gamma likelihood and a penalty that spares the arms' levels.

    Fisher scoring; a step is halved until the loss does not grow.
    """
    mean = squared.mean()
    q, kept = squared / mean, np.r_[np.full(arms, 1e-6), np.full(design.shape[1] - arms, penalty)]
    solve = np.linalg.inv(design.T @ design + np.diag(kept))

    def loss(b: PerTerm) -> float:
        eta = design @ b
        return float(np.sum(eta + q * np.exp(np.clip(-eta, -50, 50))) + kept @ np.square(b) / 2)

    b = np.zeros(design.shape[1])
    now = loss(b)
    for _ in range(_STEPS):
        step = solve @ (design.T @ (q * np.exp(-design @ b) - 1) - kept * b)
        for _ in range(_HALVINGS):
            if (then := loss(b + step)) <= now:
                break
            step = step / 2
        else:
            break
        b, fell, now = b + step, now - then, then
        if fell < 1e-6 * len(q):
            break
    b[:arms] += np.log(mean)
    return b
