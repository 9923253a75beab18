"""Is it enough? A rule that ends a campaign."""

from dataclasses import dataclass

import numpy as np

from macal.arguments import Positive, as_hinted


@dataclass(frozen=True)
class StoppingRule:
    """When to stop asking.

    Attributes:
        width: stop once the interval of the average effect is at most so wide, in the outcome's unit: the one by the
            weights where people were drawn with known chances, since it is the one that may be published.

    Raises:
        ValueError: a width that is not above 0.

    >>> StoppingRule(0.5).decide(0.4)
    "enough: the average effect's interval is 0.4 wide, at most 0.5"
    """

    width: Positive

    def __post_init__(self) -> None:
        as_hinted(vars(self), {"width": Positive})

    def decide(self, width: float, more: bool = True) -> str:
        """Say whether to stop, and why.

        Args:
            width: of the average effect's interval, infinite where there is none that one may stop by.
            more: whether the plan has more people to ask.
        """
        enough = width <= self.width
        head = "enough" if enough else "go on" if more else "not enough, though the plan asks nobody else"
        if not np.isfinite(width):
            return f"{head}: the average effect has no interval that one may stop by"
        than = "at most" if enough else "more than"
        return f"{head}: the average effect's interval is {width:.3g} wide, {than} {self.width:g}"
