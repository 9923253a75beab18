"""What every comparison of methods is judged by."""

from dataclasses import dataclass

import numpy as np

from macal.inference import spent


@dataclass(frozen=True)
class Rules:
    """The book's rules of evidence; a page may judge by others and hands them down.

    Attributes:
        level: chance of a false finding among the comparisons of a claim, in (0, 1).
        minimum: replications below which nothing is judged, at least 2.
        margin: methods whose errors differ by less than this share are about as good.
        immaterial: log-ratio of PEHE by which two correct implementations may differ.
        power: chance of a finding by which missing replications are counted.
    """

    level: float = 0.05
    minimum: int = 3
    margin: float = 0.1
    immaterial: float = 0.05
    power: float = 0.8

    @property
    def alike(self) -> float:
        """The margin as a log ratio."""
        return float(np.log1p(self.margin))

    def spent(self, share: float) -> float:
        """Of the level, what a share of the planned replications may have spent; see :mod:`macal.inference.looks`."""
        return spent(self.level, share)


RULES = Rules()
