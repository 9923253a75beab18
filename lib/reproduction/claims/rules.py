"""What every comparison of methods is judged by."""

from dataclasses import dataclass

import numpy as np

from macal.comparison import Mean


@dataclass(frozen=True)
class Rules:
    """The book's rules of evidence; a page may judge by others and hands them down.

    Attributes:
        level: chance of a false finding among the comparisons of a claim, in (0, 1).
        minimum: replications below which nothing is judged, at least 2.
        margin: methods whose errors differ by less than this share are about as good.
        immaterial: log-ratio of PEHE by which two correct implementations may differ.
        mean: of errors over numbers of labels; "arithmetic" is the paper's scale, beside which verdicts are judged.
    """

    level: float = 0.05
    minimum: int = 3
    margin: float = 0.1
    immaterial: float = 0.05
    mean: Mean = "geometric"

    @property
    def alike(self) -> float:
        """The margin as a log ratio."""
        return float(np.log1p(self.margin))


RULES = Rules()
