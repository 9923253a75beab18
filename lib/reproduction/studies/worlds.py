"""Worlds whose gain can be dialled: two surfaces drawn from one Gaussian process prior, and who is treated.

The surfaces have the squared-exponential kernel, s.d.s s_0 and s_1 = r s_0, correlation rho, and s_0^2 + s_1^2 = 2. The
treatment depends on the first covariate alone, e(x) = expit(a + slope x_1), with a such that its mean is the share.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from macal import kernels
from macal.problem import Problem, Split
from macal.shapes import Covariates, Outcomes

COVARIATES, POOL, TEST = 8, 600, 300
START, BATCH, QUERIES = 10, 10, 11
_JITTER = 1e-8


@dataclass(frozen=True)
class World:
    """What a problem is drawn from.

    Attributes:
        r: s.d. of the treated surface over that of the control surface; positive.
        rho: correlation of the two surfaces, from -1 to 1.
        share: of treated units, in (0, 1).
        slope: of the log odds of treatment in the first covariate; 0 is a randomised trial.
        noise: s.d. of a label's noise, where the mean variance of a surface is 1.
        length: length scale of the surfaces, in the covariates' s.d.s.

    Raises:
        ValueError: a number out of range.
    """

    r: float
    rho: float
    share: float
    slope: float
    noise: float = 0.25
    length: float = 3.0

    def __post_init__(self) -> None:
        if not -1 <= self.rho <= 1:
            raise ValueError(f"rho must be a correlation, from -1 to 1, got {self.rho!r}")
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share!r}")
        for name in ("r", "length"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)!r}")


def surfaces(world: World, x: Covariates, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Draw (mu_0, mu_1), each (n,), at the places ``x``, (n, 8)."""
    gram = kernels.rbf(x, x, world.length) + _JITTER * np.eye(len(x))
    # (n, 2): two independent draws of variance 1
    draws = np.linalg.cholesky(gram) @ rng.normal(size=(len(x), 2))
    # Corr(mu_1, mu_0) = rho
    other = world.rho * draws[:, 0] + np.sqrt(1 - world.rho**2) * draws[:, 1]
    s0 = np.sqrt(2 / (1 + world.r**2))
    return s0 * draws[:, 0], world.r * s0 * other


def propensity(world: World, x: Covariates) -> Outcomes:
    """Chance of treatment at each place, (n,); its mean is the world's share."""
    log_odds = world.slope * x[:, 0]
    a = brentq(lambda a: expit(a + log_odds).mean() - world.share, -50, 50)
    return expit(a + log_odds)


def draw(world: World, seed: int) -> Problem:
    """Draw a problem: 600 units in the pool, 300 for test, 10 labelled at the start, uniformly."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(POOL + TEST, COVARIATES))
    mu0, mu1 = surfaces(world, x, rng)
    t = (rng.uniform(size=len(x)) < propensity(world, x)).astype(np.int64)
    y = np.where(t == 1, mu1, mu0) + world.noise * rng.normal(size=len(x))
    units = Split(x, t, y, mu0, mu1)
    start = rng.choice(POOL, START, replace=False)
    return Problem("dial", units[:POOL], units[POOL:], start, None, BATCH, QUERIES, seed)
