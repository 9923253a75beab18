"""A rule that ends a campaign."""

from dataclasses import dataclass

import numpy as np

from macal.arguments import Positive, as_hinted


@dataclass(frozen=True)
class StoppingRule:
    """A rule for stopping.

    Attributes:
        width: target width of the average effect's interval, in the outcome's unit; of the weighted interval if people
            are a probability sample.

    Raises:
        ValueError: a width that is not above 0.

    >>> StoppingRule(0.5).decide(0.4)
    "stop: the average effect's interval is 0.4 wide; target 0.5"
    """

    width: Positive

    def __post_init__(self) -> None:
        as_hinted(vars(self), {"width": Positive})

    def decide(self, width: float, more: bool = True) -> str:
        """Return whether to stop, and why.

        Args:
            width: width of the average effect's interval; infinite without one.
            more: whether the plan has more people to survey.
        """
        enough = width <= self.width
        head = "stop" if enough else "continue" if more else "continue with a new plan"
        if not np.isfinite(width):
            return f"{head}: the average effect has no interval to stop by"
        return f"{head}: the average effect's interval is {width:.3g} wide; target {self.width:g}"
