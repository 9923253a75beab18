"""What refusals could do to an estimate: bounds that assume nothing about who refuses, and how far one may be off.

*Bounds.* The effect is largest where all treated who refused had had the highest outcome of a range and all controls
the lowest, and smallest the other way round. The interval goes from the lower end at the smallest to the upper end at
the largest, each at the level of the estimate (Horowitz and Manski).

*A stated difference.* Let outcomes of those who would refuse differ from those of people of the same covariates and arm
who answer by delta_1 if treated, by delta_0 if not. With q_t the share of the population who would refuse in arm t, the
mean of 1 - r(x, t), 0 for whoever's outcome was known beforehand, the effect is

    the estimate + q_1 delta_1 - q_0 delta_0,

for E[y | x, t] = m_t + (1 - r) delta_t. The smallest difference d, delta_1 = -delta_0 = +-d, that takes an interval's
nearer end to 0 is that end's distance over q_1 + q_0.

References:
    C. F. Manski, "Nonparametric Bounds on Treatment Effects", American Economic Review 80(2), 1990.
    J. L. Horowitz and C. F. Manski, "Nonparametric Analysis of Randomized Experiments with Missing Covariate and
    Outcome Data", Journal of the American Statistical Association 95(449), 2000.
    D. B. Rubin, "Formalizing Subjective Notions About the Effect of Nonrespondents in Sample Surveys", Journal of the
    American Statistical Association 72(359), 1977 (the stated difference).
"""

from dataclasses import dataclass, replace

import numpy as np

from macal.arguments import Level, hinted
from macal.shapes import Outcomes
from macal.survey.inference.targets import Survey, average_effect
from macal.survey.inference.weighted import Estimate


@dataclass(frozen=True)
class NonresponseSensitivity:
    """What refusals could do to the average effect.

    Attributes:
        asked: people who were; nobody whose outcome was known beforehand.
        refused: of these.
        low: lower end of an interval that assumes nothing about who refuses.
        high: its upper end.
        range: the smallest and the largest outcome that it counts with.
        q_treated: share of the population who would refuse if treated, as modelled.
        q_control: share who would as controls.
        tipping_point: difference, in the outcome's unit, between those who refuse and similar people who answer, in
            opposite directions in the two arms, at which the interval's nearer end is at 0; 0 where the interval holds
            0.
    """

    asked: int
    refused: int
    low: float
    high: float
    range: tuple[float, float]
    q_treated: float
    q_control: float
    tipping_point: float

    def effect_shift(self, treated: float | int, control: float | int) -> float:
        """By how much the effect differs from the estimate where refusals do, in the outcome's unit.

        Args:
            treated: outcome of those who refuse less that of similar people who answer, if treated.
            control: the same of controls.
        """
        return self.q_treated * treated - self.q_control * control


def outcome_range(y: Outcomes, bounds: tuple[float | int, float | int] | None = None) -> tuple[float, float]:
    """Smallest and largest outcome that there can be.

    Args:
        y: outcomes, (n,), NaN where one is not known.
        bounds: as stated; those of the answers by default.

    Raises:
        ValueError: bounds that are not two rising numbers, or that an answer is outside of.
    """
    told = y[np.isfinite(y)]
    low, high = (float(told.min()), float(told.max())) if bounds is None else map(float, bounds)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"bounds must be the smallest and the largest outcome, two rising numbers, got {low}, {high}")
    if told.size and (low > told.min() or high < told.max()):
        raise ValueError(
            f"bounds must hold all answers, which lie from {told.min():g} to {told.max():g}, got {low:g} to {high:g}"
        )
    return low, high


@hinted
def nonresponse_sensitivity(
    survey: Survey,
    estimate: Estimate,
    bounds: tuple[float | int, float | int] | None = None,
    arm: int = 1,
    level: Level = 0.95,
) -> NonresponseSensitivity:
    """Say what refusals could do to the average effect.

    Args:
        survey: what was asked and answered.
        estimate: of the average effect, by :func:`~macal.survey.inference.targets.average_effect`.
        bounds: smallest and largest outcome that there can be; those of the answers by default.
        arm: which is compared with the reference arm, 0.
        level: of the interval that assumes nothing.

    Raises:
        ValueError: bounds that are not two rising numbers, or that an answer is outside of.
    """
    refused, (low, high) = survey.refused, outcome_range(survey.y, bounds)
    ends = []
    for treated, control in ((low, high), (high, low)):
        y = np.where(refused, np.where(survey.t == arm, treated, control), survey.y)
        ends.append(average_effect(replace(survey, y=y), "all", arm, level))
    sides, share = [0, arm], survey.weights[:, None]
    if survey.known_outcome.any():  # outcomes of one arm may have been known more often
        share = share * (survey.t[:, None] == sides) / survey.propensities[:, sides]
    q = 1 - (share * survey.responses[:, sides]).sum(axis=0) / share.sum(axis=0)
    nearer = max(estimate.low, -estimate.high, 0.0)
    tipping = nearer / q.sum() if refused.any() else (np.inf if nearer else 0.0)
    counts = int(survey.asked.sum()), int(refused.sum())
    return NonresponseSensitivity(
        *counts, ends[0].low, ends[1].high, (low, high), float(q[1]), float(q[0]), float(tipping)
    )
