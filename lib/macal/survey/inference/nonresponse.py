"""Sensitivity to nonresponse: worst-case bounds and stated differences; see book/enough.md (sec-refusals).

Bounds (Horowitz and Manski 2000): from the lower end with the lowest outcomes of a range for treated and the highest
for control nonrespondents, to the upper end the other way round. Stated differences (Rubin 1977): if nonrespondents
differ from similar respondents by delta_t, the effect is the estimate + q_1 delta_1 - q_0 delta_0, with q_t the mean of
1 - r(x, t), 0 for outcomes known before; an end at distance z reaches 0 at delta_1 = -delta_0 = z / (q_1 + q_0).
"""

from dataclasses import dataclass, replace

import numpy as np

from macal.arguments import Level, hinted
from macal.shapes import Outcomes
from macal.survey.inference.targets import Survey, average_effect
from macal.survey.inference.weighted import Estimate


@dataclass(frozen=True)
class NonresponseSensitivity:
    """Sensitivity of the average effect to nonresponse.

    Attributes:
        asked: number of people surveyed.
        refused: number of nonrespondents.
        low: lower worst-case bound.
        high: upper worst-case bound.
        range: smallest and largest outcome assumed by the bounds.
        q_treated: modelled share of nonresponse if treated.
        q_control: modelled share as controls.
        tipping_point: difference of nonrespondents from similar respondents, in opposite directions in the two arms,
            at which the interval reaches 0; 0 if it contains 0.
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
        """Return the change of the effect if nonrespondents differ from similar respondents.

        Args:
            treated: difference if treated, in the outcome's unit.
            control: difference as controls.
        """
        return self.q_treated * treated - self.q_control * control


def outcome_range(y: Outcomes, bounds: tuple[float | int, float | int] | None = None) -> tuple[float, float]:
    """Return the smallest and largest possible outcome.

    Args:
        y: outcomes, (n,), NaN if unknown.
        bounds: stated bounds (default: of the answers).

    Raises:
        ValueError: bounds that do not increase, or exclude answers.
    """
    told = y[np.isfinite(y)]
    low, high = (float(told.min()), float(told.max())) if bounds is None else map(float, bounds)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"bounds must be the smallest and the largest possible outcome, got {low}, {high}")
    if told.size and (low > told.min() or high < told.max()):
        raise ValueError(f"bounds must include all answers, {told.min():g} to {told.max():g}, got {low:g} to {high:g}")
    return low, high


@hinted
def nonresponse_sensitivity(
    survey: Survey,
    estimate: Estimate,
    bounds: tuple[float | int, float | int] | None = None,
    arm: int = 1,
    level: Level = 0.95,
) -> NonresponseSensitivity:
    """Return the sensitivity of the average effect to nonresponse.

    Args:
        survey: design and answers.
        estimate: average effect by :func:`~macal.survey.inference.targets.average_effect`.
        bounds: smallest and largest possible outcome (default: of the answers).
        arm: the arm that is compared with the reference arm, 0.
        level: coverage probability of the bounds.

    Raises:
        ValueError: bounds that do not increase, or exclude answers.
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
