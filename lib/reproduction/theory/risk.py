"""Error of a linear smoother in its parts, and the bounds on the error of an effect, with all integrals exact.

A linear smoother predicts ``weights @ y``, with ``weights`` (targets, labels) that do not depend on the outcomes y.
Laws of the covariate live on a grid of a line, so that integrals are sums, and so are 1-Wasserstein distances.

Reference: U. Shalit, F. D. Johansson and D. Sontag, "Estimating Individual Treatment Effect: Generalization Bounds and
Algorithms", International Conference on Machine Learning, 2017 (the bound on the error of an effect).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve

from macal.kernels import rbf, rbf_of
from macal.shapes import Cross, Gram
from reproduction.theory.shapes import AtTarget, Draws, Labelled, LabelledIndices, Steps, Weights

Curve = Callable[[np.ndarray], np.ndarray]


class Parts(NamedTuple):
    """Expected squared error of a prediction at every target, without the noise of the outcome to be predicted."""

    bias2: AtTarget
    variance: AtTarget


def ridge_weights(cross: Cross, gram: Gram, noise: float) -> Weights:
    """Weights k' (K + noise I)^-1 of kernel ridge regression, which is a Gaussian process's posterior mean.

    Raises:
        ValueError: a noise of 0 or less.
    """
    if noise <= 0:
        raise ValueError(f"noise must be above 0, got {noise!r}; 1e-8 is practically noiseless")
    return cho_solve(cho_factor(gram + noise * np.eye(len(gram))), cross.T).T


def bias_variance(weights: Weights, f_targets: AtTarget, f_labelled: Labelled, noise: float) -> Parts:
    """Squared bias and variance over the noise of the labels, for one true curve f (Appendix A.5)."""
    return Parts((f_targets - weights @ f_labelled) ** 2, noise * (weights**2).sum(axis=1))


def average_bias_variance(weights: Weights, cross: Cross, gram: Gram, prior: AtTarget, noise: float) -> Parts:
    """Squared bias averaged over curves f drawn from a Gaussian process, k - 2 w'k + w'K w, and variance."""
    spread = np.einsum("nm,mk,nk->n", weights, gram, weights)
    bias2 = prior - 2 * np.einsum("nm,nm->n", weights, cross) + spread
    return Parts(bias2, noise * (weights**2).sum(axis=1))


def error_on_own_labels(weights: Float[np.ndarray, "m m"], f: Labelled, noise: float) -> Labelled:
    """Expected squared residual at each labelled unit when the label that it is compared with is the one fitted.

    The cross term of the decomposition does not vanish there: what is missing is 2 noise w_jj.
    """
    bias2, variance = bias_variance(weights, f, f, noise)
    return bias2 + variance + noise - 2 * noise * np.diag(weights)


def simulate_losses(
    weights: Weights,
    f_targets: AtTarget,
    f_labelled: Labelled,
    law: AtTarget,
    noise: float,
    draws: int,
    rng: np.random.Generator,
) -> Draws:
    """Squared errors at targets drawn from ``law``, labels and outcome drawn anew each time, (draws,)."""
    labels = f_labelled + np.sqrt(noise) * rng.normal(size=(draws, len(f_labelled)))
    at = rng.choice(len(law), size=draws, p=law)
    outcome = f_targets[at] + np.sqrt(noise) * rng.normal(size=draws)
    return (outcome - np.einsum("rm,rm->r", weights[at], labels)) ** 2


def simulate_random_designs(
    f: Curve, at: float, labels: int, noise: float, draws: int, rng: np.random.Generator
) -> tuple[Draws, Draws]:
    """Losses and predictions at one place when the labelled places are random too, uniform on [-5, 5], (draws,) each.

    The smoother is kernel ridge regression with a unit RBF kernel and the true noise.
    """
    x = rng.uniform(-5, 5, (draws, labels))
    y = f(x) + np.sqrt(noise) * rng.normal(size=x.shape)
    # (draws, labels, labels)
    gram = rbf_of((x[:, :, None] - x[:, None, :]) ** 2) + noise * np.eye(labels)
    cross = rbf_of((at - x) ** 2)
    prediction = np.einsum("rm,rm->r", cross, np.linalg.solve(gram, y[..., None])[..., 0])
    outcome = f(np.array(at)) + np.sqrt(noise) * rng.normal(size=draws)
    return (outcome - prediction) ** 2, prediction


class State(NamedTuple):
    """A step of a campaign: what is labelled, the mean prediction, the parts of the error, the posterior variance."""

    labelled: LabelledIndices
    mean: AtTarget
    parts: Parts
    posterior: AtTarget


def uncertainty_campaign(
    f: Curve, pool: AtTarget, start: list[int], noise: float, steps: int, batch: int = 2
) -> list[State]:
    """Label where the posterior variance is largest, one unit after the other; report every ``batch`` labels."""
    kernel, labelled, states = rbf(pool[:, None], pool[:, None], 0.6), list(start), []
    for _ in range(steps):
        states.append(_state(f(pool), kernel, labelled, noise))
        for _ in range(batch):
            # ties, to 12 decimals, go to the first, so that rounding decides nothing
            labelled.append(int(_state(f(pool), kernel, labelled, noise).posterior.round(12).argmax()))
    return states


def _state(f: AtTarget, kernel: Gram, labelled: list[int], noise: float) -> State:
    done = np.array(labelled)
    weights = ridge_weights(kernel[:, done], kernel[np.ix_(done, done)], noise)
    posterior = kernel.diagonal() - np.einsum("nm,nm->n", weights, kernel[:, done])
    return State(done, weights @ f[done], bias_variance(weights, f, f[done], noise), posterior)


def total_variation(values: Steps) -> float:
    """How much a sequence moves in all, sum |v_i - v_(i-1)|."""
    return float(np.abs(np.diff(values)).sum())


def normal_law(grid: AtTarget, centre: float, sd: float = 1.0) -> AtTarget:
    """Weights on a grid that are proportional to a normal density, (n,)."""
    density = np.exp(-0.5 * ((grid - centre) / sd) ** 2)
    return density / density.sum()


def wasserstein_line(p: AtTarget, q: AtTarget, grid: AtTarget) -> float:
    """1-Wasserstein distance of two laws on the same grid: the area between their distribution functions."""
    from scipy.stats import wasserstein_distance

    return float(wasserstein_distance(grid, grid, p, q))


def lipschitz(values: AtTarget, grid: AtTarget) -> float:
    """Lipschitz constant of a function on an increasing grid: its steepest step."""
    return float(np.abs(np.diff(values) / np.diff(grid)).max())


def nearest_places(grid: AtTarget, at: Labelled) -> LabelledIndices:
    """Indices of the points of an evenly spaced grid that are nearest to the given places, (m,)."""
    return np.rint((at - grid[0]) / (grid[1] - grid[0])).astype(int)


def fit_error(f: Curve, grid: AtTarget, labelled: LabelledIndices) -> AtTarget:
    """Error of kernel ridge regression on noiseless labels at the given points of the grid, (n,)."""
    x = grid[:, None]
    done = x[labelled]
    return ridge_weights(rbf(x, done, 0.6), rbf(done, done, 0.6), 1e-6) @ f(grid[labelled]) - f(grid)


class EffectBound(NamedTuple):
    """PEHE (a mean square here, as in the bound), and the two versions of its bound with the constant of both."""

    pehe: float
    tight: float
    loose: float
    constant: float


def shalit_bound(
    e1: AtTarget, e0: AtTarget, p1: AtTarget, p0: AtTarget, grid: AtTarget, noise: float, constant: float | None = None
) -> EffectBound:
    """Shalit, Johansson and Sontag's bound in x itself, and the paper's version, which drops the noise.

    ``tight`` is 2 (F1 + F0 + C W1(p1, p0) - 2 noise) with the factual risks F_t = E_(p_t) e_t^2 + noise; ``loose`` is
    the same without the last term. Both arms are equally frequent.

    Args:
        e1: error of the treated arm's model on the grid, (n,).
        e0: error of the control arm's model.
        p1: law of the treated.
        p0: law of the controls.
        grid: increasing places, (n,).
        noise: variance of an outcome's noise, the same in both arms.
        constant: C; by default the smallest that the proof allows, the larger Lipschitz constant of the two losses.
    """
    needed = max(lipschitz(e1**2, grid), lipschitz(e0**2, grid))
    c = needed if constant is None else constant
    factual = e1**2 @ p1 + e0**2 @ p0 + 2 * noise
    loose = 2 * (factual + c * wasserstein_line(p1, p0, grid))
    return EffectBound(float((e1 - e0) ** 2 @ (p1 + p0) / 2), float(loose - 4 * noise), float(loose), c)


def nearest_label(p: AtTarget, grid: AtTarget, labelled: LabelledIndices) -> tuple[AtTarget, AtTarget]:
    """Law p moved to the nearest labelled place, and every place's distance to it, (n,) each."""
    distance = np.abs(grid[:, None] - grid[labelled])
    moved = np.bincount(labelled[distance.argmin(axis=1)], weights=p, minlength=len(grid))
    return moved, distance.min(axis=1)


class AnchoredBound(NamedTuple):
    """One arm's share of the target-anchored bound: with the distance, and with its square (labels interpolated)."""

    plain: float
    squared: float
    moved: float


def anchored_bound(e: AtTarget, p: AtTarget, grid: AtTarget, labelled: LabelledIndices) -> AnchoredBound:
    """2 [sum_j w_j e(x_j)^2 + Lip(e^2) E_p m] and 2 Lip(e)^2 E_p m^2, w the mass of p nearest to each label.

    Returns:
        Both bounds, and ``moved``, the mean distance to the nearest label E_p m = W1(p, w).
    """
    w, m = nearest_label(p, grid, labelled)
    plain = 2 * (w @ e**2 + lipschitz(e**2, grid) * (p @ m))
    return AnchoredBound(float(plain), float(2 * lipschitz(e, grid) ** 2 * (p @ m**2)), float(p @ m))


def shrinkage(bound: Steps) -> Steps:
    """A_i = (B_(i-1) - B_i) / B_(i-1), the relative drop of every step (Appendix A.1)."""
    return 1 - bound[1:] / bound[:-1]


def pair_shrinkage(i: Steps, gamma0: float) -> Steps:
    """S_i = 1 / (gamma0 + i): relative drop of W1 by a step of identical pairs, arms of equal size (Lemma 3)."""
    return 1 / (gamma0 + i)


def neglected(i: Steps, gamma0: float, c: float, w0: float, signal: float = 1.0) -> Steps:
    """What the paper leaves out of its bound A_i <= S_i + signal / (C W_(i-1)), with W_i = W_0 gamma0 / (gamma0 + i).

    Args:
        i: steps, from 1.
        gamma0: labels per arm at the start, in units of a step's pairs.
        c: the constant C.
        w0: distance between the arms at the start.
        signal: the largest possible drop of the variance: sigma_f^2 as printed, 2 sigma_f^2 for two arms.
    """
    return signal * (gamma0 + i - 1) / (c * gamma0 * w0)
