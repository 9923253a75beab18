"""What a paired design does to the error of an estimated effect; see label ``sec-pairing`` of the book.

One linear smoother serves both arms. A design is two arrays of places: ``one`` (n, d) for the treated, ``zero`` (m, d)
for the controls; errors are judged at ``targets`` (g, d). Priors are Gaussian processes with one kernel for both
surfaces, of variance 1 unless said otherwise, which are correlated: Cov(f1(x), f0(y)) = rho k(x, y).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from macal import kernels
from macal.shapes import Centres, Covariates, Distances
from reproduction.theory.risk import ridge_weights
from reproduction.theory.shapes import PerTarget, Targets

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
Smoother = Callable[[np.ndarray, np.ndarray], np.ndarray]
Surface = Callable[[np.ndarray], np.ndarray]


def rbf(length: float = 1.0) -> Kernel:
    """:func:`macal.kernels.rbf` of this length scale."""
    return partial(kernels.rbf, lengthscale=length)


def matern32(length: float = 1.0) -> Kernel:
    """:func:`macal.kernels.matern32` of this length scale."""
    return partial(kernels.matern32, lengthscale=length)


def ridge(kernel: Kernel, penalty: float) -> Smoother:
    """:func:`reproduction.theory.risk.ridge_weights` of a kernel."""
    return lambda targets, x: ridge_weights(kernel(targets, x), kernel(x, x), penalty)


def nearest_mean(k: int) -> Smoother:
    """Mean of the k nearest outcomes."""

    def weights(targets: np.ndarray, x: np.ndarray) -> np.ndarray:
        order = cdist(targets, x).argsort(axis=1, kind="stable")
        w = np.zeros((len(targets), len(x)))
        np.put_along_axis(w, order[:, :k], 1 / min(k, len(x)), axis=1)
        return w

    return weights


def effect_error(
    smoother: Smoother, targets: Targets, one: Covariates, zero: Centres, f1: Surface, f0: Surface
) -> PerTarget:
    """Error of the estimated effect without noise, S_X f1 - S_X' f0 - (f1 - f0), (g,)."""
    return smoother(targets, one) @ f1(one) - smoother(targets, zero) @ f0(zero) - (f1(targets) - f0(targets))


def leakage(smoother: Smoother, targets: Targets, one: Covariates, zero: Centres, f0: Surface) -> PerTarget:
    """Share of the baseline in that error, (S_X - S_X') f0, (g,)."""
    return smoother(targets, one) @ f0(one) - smoother(targets, zero) @ f0(zero)


def worst_leakage(smoother: Smoother, kernel: Kernel, targets: Targets, one: Covariates, zero: Centres) -> PerTarget:
    """Largest leakage of any baseline of norm 1 in the kernel's space, which is also the r.m.s. over its process, (g,).

    The leakage at a target is the product of the baseline with sum_i s_i k(x_i, .) - sum_j s'_j k(x'_j, .); this is the
    norm of that function.
    """
    w = np.concatenate([smoother(targets, one), -smoother(targets, zero)], axis=1)
    both = np.concatenate([one, zero])
    return np.sqrt(np.einsum("gi,ij,gj->g", w, kernel(both, both), w, optimize=True).clip(min=0))


@dataclass(frozen=True)
class Residuals:
    """What a design leaves of two surfaces, on average over the prior.

    Attributes:
        one: E (S_X f1 - f1)^2 at each target, (g,).
        zero: E (S_X' f0 - f0)^2, (g,).
        cross: E (S_X f - f)(S_X' f - f), both for one surface, (g,).
        noise: sum of the squared weights of both arms, (g,): what the noise's variance is multiplied by.
    """

    one: PerTarget
    zero: PerTarget
    cross: PerTarget
    noise: PerTarget

    def error(self, rho: float, noise: float = 0.0, scales: tuple[float, float] = (1.0, 1.0)) -> float:
        """Expected squared error of the effect, mean over the targets."""
        own = scales[0] ** 2 * self.one + scales[1] ** 2 * self.zero + noise * self.noise
        return float(own.mean()) - self.value(rho, scales)

    def value(self, rho: float, scales: tuple[float, float] = (1.0, 1.0)) -> float:
        """What the agreement of the residuals takes off the error, 2 rho Cross; negative where it adds to it."""
        return float(2 * rho * scales[0] * scales[1] * self.cross.mean())


def value_share(rho: float, r: float = 1.0) -> float:
    """Share of a paired design's error that the correlation takes off, without noise: s = 2 rho / (r + 1/r).

    Args:
        rho: correlation of the surfaces.
        r: s.d. of the treated surface over that of the control surface.
    """
    return 2 * rho / (r + 1 / r)


def largest_saving(share: float) -> float:
    """Most of an unpaired design's error that a paired one with the same residuals can save: 2 s / (1 + s), s >= 0."""
    return 2 * share / (1 + share)


def residuals(smoother: Smoother, kernel: Kernel, targets: Targets, one: Covariates, zero: Centres) -> Residuals:
    """Residuals of a design in closed form, from the kernel alone: no outcome occurs in them."""
    w1, w0 = smoother(targets, one), smoother(targets, zero)

    def product(a: np.ndarray, x: np.ndarray, b: np.ndarray, y: np.ndarray) -> np.ndarray:
        single = (a * kernel(targets, x)).sum(axis=1) + (b * kernel(targets, y)).sum(axis=1)
        return 1 - single + np.einsum("gi,ij,gj->g", a, kernel(x, y), b, optimize=True)

    r1, r0, cross = (product(*p) for p in ((w1, one, w1, one), (w0, zero, w0, zero), (w1, one, w0, zero)))
    return Residuals(r1, r0, cross, (w1**2).sum(axis=1) + (w0**2).sum(axis=1))


def simulated_error(
    smoother: Smoother,
    kernel: Kernel,
    targets: Targets,
    one: Covariates,
    zero: Centres,
    rho: float,
    noise: float,
    rng: np.random.Generator,
    draws: int = 4000,
) -> tuple[float, float]:
    """Estimate :meth:`Residuals.error` from surfaces and labels that are drawn, and its standard error."""
    g, n, m = len(targets), len(one), len(zero)
    places = np.concatenate([targets, one, zero])
    values, vectors = np.linalg.eigh(kernel(places, places))  # no jitter, which would bias the check
    root = (vectors * np.sqrt(values.clip(min=0))) @ vectors.T  # the symmetric one, whichever vectors are found
    f0, own = (root @ rng.normal(size=(len(places), draws)) for _ in range(2))
    f1 = rho * f0 + np.sqrt(1 - rho**2) * own
    y1, y0 = (f + np.sqrt(noise) * rng.normal(size=f.shape) for f in (f1[g : g + n], f0[g + n : g + n + m]))
    error = smoother(targets, one) @ y1 - smoother(targets, zero) @ y0 - (f1 - f0)[:g]
    squared = (error**2).mean(axis=0)
    return float(squared.mean()), float(squared.std(ddof=1) / np.sqrt(draws))


def joint_error(kernel: Kernel, targets: Targets, one: Covariates, zero: Centres, rho: float, noise: float) -> float:
    """Expected squared error of the effect under one process for both arms that knows rho: the smallest possible."""
    k11, k10, k00 = kernel(one, one), kernel(one, zero), kernel(zero, zero)
    gram = np.block([[k11, rho * k10], [rho * k10.T, k00]]) + noise * np.eye(len(one) + len(zero))
    across = (1 - rho) * np.concatenate([kernel(one, targets), -kernel(zero, targets)])
    explained = (across * cho_solve(cho_factor(gram), across)).sum(axis=0)
    return float((2 * (1 - rho) - explained).mean())


def partner_radius(m: Distances, delta: Distances, alpha: float, squared: bool = False) -> np.ndarray:
    """How far away a unit's best partner can be, (n,); alpha above 1.

    ``m`` and ``delta`` are the distances of the units to the nearest labelled and the nearest free control, (n,).

    With squared distances in the score the radius is positive even where a twin is free (``delta`` 0).
    """
    if not squared:
        return delta * (alpha + 1) / (alpha - 1)
    least = (m - delta).clip(min=0) ** 2 - alpha * delta**2
    return (m + np.sqrt(m**2 + (alpha - 1) * (m**2 - least))) / (alpha - 1)
