"""What the answers of a campaign have taught the rule that plans its next rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from macal import models
from macal.acquisition import PoolState
from macal.acquisition.design import SAMPLE, LearnedALC
from macal.kernels import typical
from macal.planner.people import People
from macal.posterior import Prior
from macal.problem import Split
from macal.shapes import Outcomes


@dataclass(frozen=True)
class Learned:
    """What a process that was fitted to the answers says.

    Attributes:
        answers: that it was fitted to.
        evidence: log Bayes factor against hyperparameters that no answer has moved.
        used: whether the plan goes by this process, for the answers say more than those.
        spread: s.d. of each arm's surface, in the outcome's unit.
        noise: s.d. of an answer about the surface, likewise.
        reach: length scale of each surface, where 1 is how far two people of the table are from each other.
        correlation: of the two surfaces; 0 of several arms, which are taken as independent.
        planned: people of rounds that were planned, and not asked, before.
        kept: those of them who are still planned.
    """

    answers: int
    evidence: float
    used: bool
    spread: Sequence[float]
    noise: Sequence[float]
    reach: Sequence[float]
    correlation: float
    planned: int = 0
    kept: int = 0

    def told(self, arms: Sequence[Any]) -> list[str]:
        """What is to be said of it, sentence by sentence; ``arms`` are their names."""
        if not self.used:
            return [
                f"The {self.answers:,} answers do not say more than the settings that no answer moves (log Bayes factor"
                f" {self.evidence:.1f}), so the plan goes by these."
            ]
        each = [
            f"{name}: s.d. {spread:.3g}, noise {noise:.3g}, length scale {reach:.2g}"
            for name, spread, noise, reach in zip(arms, self.spread, self.noise, self.reach, strict=True)
        ]
        said = [
            f"The plan goes by what {self.answers:,} answers say (log Bayes factor {self.evidence:.1f} against the"
            f" settings that no answer moves). Outcomes vary with the covariates as follows, length scales in units of"
            f" a typical distance between two people: {'; '.join(each)}."
        ]
        if self.correlation:
            said.append(f"The outcomes of the two arms have the correlation {self.correlation:.2f}.")
        if self.planned:
            said.append(f"Of {self.planned:,} people who were planned and not asked yet, {self.kept:,} stay.")
        return said


@dataclass(frozen=True)
class LearnedChances:
    """What the chances of a draw's next rounds follow; see :mod:`macal.inference.waves`.

    Attributes:
        answers: of the rounds that have been asked.
        rounds: that have not been asked.
        changed: those of them whose chances follow the answers.
        low: smallest share of the labels of a round to come that is spread uniformly.
        high: the largest.
        least: that of any round is at least this.
        ratio: estimated variance due to asking over that of the first chances, mean of the rounds.
        planned: people of rounds that were planned, and not asked, before.
        kept: those of them who are still planned.
        followed: numbers of earlier rounds whose chances followed the answers before them.
    """

    answers: int
    rounds: int
    changed: int
    low: float
    high: float
    least: float
    ratio: float
    planned: int = 0
    kept: int = 0
    followed: Sequence[int] = field(default_factory=list)

    @property
    def used(self) -> bool:
        """Whether any chance follows the answers."""
        return self.changed > 0

    @property
    def worst(self) -> float:
        """How many times as wide as by a uniform draw the interval can be at most."""
        return float(1 / np.sqrt(self.least))

    def told(self, arms: Sequence[Any]) -> list[str]:
        """What is to be said of it, sentence by sentence."""
        which = ", ".join(map(str, self.followed))
        s, them = ("s", "them") if len(self.followed) > 1 else ("", "it")
        before = [f"The chances of round{s} {which} followed the answers before {them}."] * bool(self.followed)
        if not self.rounds:
            return before
        if not self.used:
            return [
                *before,
                f"The {self.answers:,} answers do not say who leaves most open, so the chances of the rounds to come"
                " stay as they were drawn at first.",
            ]
        share = f"{self.low:.0%}" if self.low == self.high else f"{self.low:.0%} to {self.high:.0%}"
        said = [
            *before,
            f"The chances of {self.changed:,} of the {self.rounds:,} rounds to come follow the squared residuals of"
            f" {self.answers:,} answers; of the labels to come, {share} are spread uniformly. The part of the variance"
            f" that is due to asking is estimated to fall to {self.ratio:.0%} of what the first chances would leave"
            " there, the best of several candidates, so it may fall less. Whatever was learnt, with the same outcome"
            f" models the interval of the average effect is at most {self.worst:.2f} times as wide as by a uniform"
            " draw.",
        ]
        if self.planned:
            said.append(f"Of {self.planned:,} people who were planned and not asked yet, {self.kept:,} stay.")
        return said


def learned(people: People, y: Outcomes, threshold: float, seed: int) -> tuple[Prior, Learned] | None:
    """Fit the process that an adaptive rule goes by to the answers; None where an arm has none.

    Of several arms, each is fitted together with the reference arm. The surfaces are then taken as independent, and the
    hyperparameters of the reference arm are the geometric means of those fits.

    Args:
        people: who may be asked, and who has answered.
        y: outcomes, (n,), NaN where there is none.
        threshold: of the log Bayes factor above which the plan goes by the process.
        seed: of the fit.

    Raises:
        NotFitted: the process cannot be fitted.
    """
    pool, has = people.problem.pool, np.isfinite(y)
    arms = range(1, len(people.arms))
    if np.bincount(pool.t[has], minlength=len(people.arms)).min() == 0:
        return None
    model, fitted = models.get(LearnedALC.chooser), []
    for arm in arms:
        own = np.flatnonzero(has & np.isin(pool.t, (0, arm)))
        task = models.Task(Split(pool.x[own], (pool.t[own] == arm).astype(np.int64), y[own]), seed=seed)
        fitted += model.fit([task])
    evidence = float(np.mean([one.evidence for one in fitted]))
    priors = [one.prior for one in fitted]
    prior = priors[0] if len(priors) == 1 else _together(priors)
    state = PoolState(pool.x.astype(np.float64), pool.t, np.flatnonzero(has))
    unit = typical(pdist(state.x[state.drawn(SAMPLE)]))
    said = (np.sqrt(prior.variance), np.sqrt(prior.noise), prior.lengthscale / unit)
    spread, noise, reach = (values.tolist() for values in said)
    used = evidence > threshold
    return prior, Learned(int(has.sum()), evidence, used, spread, noise, reach, float(prior.rho))


def _together(priors: list[Prior]) -> Prior:
    """One prior of all arms from those of each with the reference arm."""

    def joined(name: str) -> list[float]:
        values = np.array([getattr(prior, name) for prior in priors])  # (contrasts, 2)
        return [float(np.exp(np.log(values[:, 0]).mean())), *values[:, 1].tolist()]

    return Prior(joined("variance"), joined("lengthscale"), joined("noise"))
