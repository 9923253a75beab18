"""What a fitted model believes about the two potential outcomes: all that acquisition and evaluation see of a model."""

from dataclasses import dataclass

from macal.shapes import Outcomes, Pair, PairCov


@dataclass(frozen=True, eq=False)
class Posterior:
    """Gaussian belief about (mu0, mu1) at n units.

    Attributes:
        mean: (n, 2), control first, in the outcome's unit.
        cov: (n, 2, 2), of the noiseless outcomes, in the outcome's unit squared.
    """

    mean: Pair
    cov: PairCov

    @property
    def tau(self) -> Outcomes:
        """Mean effect of each unit, (n,)."""
        return self.mean[:, 1] - self.mean[:, 0]

    @property
    def tau_var(self) -> Outcomes:
        """Variance of the effect of each unit, (n,)."""
        return self.cov[:, 0, 0] + self.cov[:, 1, 1] - 2 * self.cov[:, 0, 1]
