"""Pools and a model small enough to look at: what the chapters on the algorithm try their statements on."""

import numpy as np

from macal.kernels import rbf
from macal.posterior import Posterior, Prior
from macal.shapes import Arms, Covariates, Indices, Outcomes


def two_clouds(
    seed: int = 0, treated: int = 30, control: int = 50, shift: float = 1.5, start: int = 2
) -> tuple[Covariates, Arms, Indices]:
    """Draw a pool in the plane: two Gaussian clouds whose centres are ``shift`` apart; treated units are on the left.

    In each arm the ``start`` units nearest to its centre are labelled.

    Returns:
        Covariates (n, 2), treatment (n,), labelled (2 start,).
    """
    rng = np.random.default_rng(seed)
    t = np.repeat([1, 0], [treated, control])
    centre = np.where(t[:, None] == 1, -shift / 2, shift / 2) * np.array([1.0, 0.0])
    x = centre + rng.normal(size=(len(t), 2))
    near = np.linalg.norm(x - centre, axis=1)
    first = [np.flatnonzero(t == arm)[near[t == arm].argsort(kind="stable")[:start]] for arm in (1, 0)]
    return x, t, np.concatenate(first)


def twins(seed: int = 0, pairs: int = 40, spare: int = 20) -> tuple[Covariates, Arms, Indices]:
    """Draw a pool in which every treated unit has an exact twin among the controls; one labelled unit in each arm.

    Returns:
        Covariates (n, 2), treatment (n,), labelled (2,): the first of each arm, no twins of each other.
    """
    rng = np.random.default_rng(seed)
    shared, rest = rng.normal(size=(pairs, 2)), rng.normal(size=(spare, 2))
    start = rng.normal(size=(2, 2))
    x = np.concatenate([start[:1], shared, start[1:], shared, rest])
    return x, np.repeat([1, 0], [1 + pairs, 1 + pairs + spare]), np.array([0, 1 + pairs])


def twin_share(x: Covariates, t: Arms, picks: Indices, pairs: int) -> float:
    """Share of the first ``pairs`` picked pairs (treated, control, treated, ...) whose units agree exactly."""
    picks = picks[: 2 * pairs]
    return float((x[picks[::2]] == x[picks[1::2]]).all(axis=1).mean())


def outcomes(x: Covariates, t: Arms, seed: int = 0) -> Outcomes:
    """Outcomes of a pool in the plane: two smooth surfaces, a little noise, (n,)."""
    rng = np.random.default_rng(seed)
    mean = np.sin(1.5 * x[:, 0]) + np.where(t == 1, x[:, 1], 0.0)
    return mean + 0.1 * rng.normal(size=len(t))


def small_gp(x: Covariates, t: Arms, labelled: Indices, y: Outcomes) -> tuple[Posterior, np.ndarray, Prior]:
    """Fit one Gaussian process to both arms; return its belief about the pool, features of the pool, hyperparameters.

    The kernel is an RBF times 1 within an arm and one half across the arms. Its length scale is chosen on a grid by
    marginal likelihood, so that belief and features depend on the outcomes.

    Returns:
        The posterior over both potential outcomes, features (n, n) whose products are the prior kernel, and the prior.
    """
    shared, noise = 0.5, 0.05

    def kernel(a: np.ndarray, ta: np.ndarray, b: np.ndarray, tb: np.ndarray, length: float) -> np.ndarray:
        across = np.where(ta[:, None] == tb[None, :], 1.0, shared)
        return across * rbf(a, b, length)

    xl, tl, yl = x[labelled], t[labelled], y[labelled]
    eye = np.eye(len(labelled))

    def evidence(length: float) -> float:
        gram = kernel(xl, tl, xl, tl, length) + noise * eye
        return float(-yl @ np.linalg.solve(gram, yl) - np.linalg.slogdet(gram)[1])

    length = max(np.geomspace(0.3, 3, 12).tolist(), key=evidence)
    gram = kernel(xl, tl, xl, tl, length) + noise * eye
    both = [kernel(x, np.full(len(x), arm), xl, tl, length) for arm in (0, 1)]  # each (n, m)
    mean = np.stack([k @ np.linalg.solve(gram, yl) for k in both], axis=1)
    prior = np.array([[1.0, shared], [shared, 1.0]])
    cov = np.stack([[prior[a, b] - np.einsum("ij,ji->i", both[a], np.linalg.solve(gram, both[b].T))
                     for b in (0, 1)] for a in (0, 1)])  # fmt: skip
    features = np.linalg.cholesky(kernel(x, t, x, t, length) + 1e-8 * np.eye(len(x)))
    fitted = Prior((1.0, 1.0), (length, length), (noise, noise), shared)
    return Posterior(mean, np.moveaxis(cov, 2, 0)), features, fitted
