"""A rule that ends a campaign."""

from dataclasses import dataclass

from macal.arguments import Positive, as_hinted
from macal.survey import words
from macal.survey.facts import Fact


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

    def decide(self, width: float, more: bool = True) -> Fact:
        """Return whether to stop, and why.

        Args:
            width: width of the average effect's interval; infinite without one.
            more: whether the plan has more people to survey.
        """
        return Fact(words.verdict, width=width, target=float(self.width), more=more)
