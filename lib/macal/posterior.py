"""What a fitted model believes about the two potential outcomes: all that acquisition and evaluation see of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from macal.kernels import squared_distances
from macal.shapes import Arms, CentreArms, Centres, Covariates, Cross, Outcomes, Pair, PairCov, PerCentre

PerArm = Sequence[float | int] | Float[np.ndarray, "2"]


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


class Prior:
    """Gaussian process prior of (f_0, f_1) with a squared exponential kernel, and the noise of their labels.

    Cov(f_r(x), f_s(z)) = sigma_r sigma_s exp(-|x - z|^2 / (2 lengthscale^2)), times rho where r and s differ.

    Args:
        variance: sigma_r^2, control first, in the outcome's unit squared.
        lengthscale: of each surface, in the covariates' unit.
        noise: variance of a label's noise in each arm.
        rho: correlation of the surfaces, from -1 to 1.

    Raises:
        ValueError: a parameter out of range; surfaces that are correlated and of different length scales.
    """

    def __init__(self, variance: PerArm, lengthscale: PerArm, noise: PerArm, rho: float = 0.0) -> None:
        self.variance, self.lengthscale, self.noise = (np.array(v, float) for v in (variance, lengthscale, noise))
        self.rho = rho
        if not all((0 < v).all() and np.isfinite(v).all() for v in (self.variance, self.lengthscale, self.noise)):
            raise ValueError("variances and length scales of a prior must be finite numbers above 0")
        if not -1 <= rho <= 1:
            raise ValueError(f"rho is a correlation, from -1 to 1; got {rho!r}")
        if rho and self.lengthscale[0] != self.lengthscale[1]:
            raise ValueError(f"correlated surfaces have one length scale here, got {lengthscale}")

    def between(
        self, r: int | Int[np.ndarray, "..."], s: int | Int[np.ndarray, "..."]
    ) -> Float[np.ndarray, "..."] | float:
        """Covariance of f_r and f_s at one place, of the arms' broadcast shape."""
        return np.sqrt(self.variance[r] * self.variance[s]) * np.where(np.equal(r, s), 1.0, self.rho)

    def covariance(
        self, x: Covariates, r: int | Arms, z: Centres, s: int | CentreArms, norms: PerCentre | None = None
    ) -> Cross:
        """Cov(f_r(x), f_s(z)), (n, m), of an arm or one for each place; ``norms`` are |z|^2 where they are known."""
        # one table from beginning to end: of large pools each is gigabytes
        k = squared_distances(x, z, norms)
        k /= self.lengthscale[np.ravel(s)[:1]] ** 2 if np.size(s) else 1.0
        k *= -0.5
        np.exp(k, out=k)
        k *= self.between(np.reshape(r, (-1, 1)), np.ravel(s))
        return k
