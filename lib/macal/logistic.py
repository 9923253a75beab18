"""Penalised logistic regression of the arm on covariates.

With scores F = X W + b, one column per arm (for two arms only the treated one's; control's is 0), and weights w_i, it
minimises

    (sum_i w_i (log sum_k exp F_ik - F_i,t_i) + strength |W|^2 / 2) / sum_i w_i,

by L-BFGS-B from zero until no entry of the gradient exceeds 1e-4; intercepts b are not penalised.
"""

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from macal.shapes import Arms, Centres, Covariates, Outcomes

_STOP = {"maxiter": 1000, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps}


def propensity_scores(
    x: Covariates, t: Arms, new: Centres, weights: Outcomes | None = None, strength: float | int = 1.0
) -> Float[np.ndarray, "m arms"]:
    """Return the probability of each arm at new covariates, (m, arms).

    Args:
        x: covariates, (n, d), standardised.
        t: arms, (n,), 0, 1 and so on, none empty.
        new: covariates at which to predict, (m, d).
        weights: weights of the units, (n,) (default: 1).
        strength: strength of the penalty.

    >>> x = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    >>> propensity_scores(x, np.array([0, 0, 1, 1]), x[:1]).round(2)
    array([[0.72, 0.28]])
    """
    arms, (n, d) = int(t.max()) + 1, x.shape
    scored = slice(1, 2) if arms == 2 else slice(None)  # arms with a score
    is_in = (t == np.arange(arms)[:, None]).astype(np.float64)  # (arms, n)
    share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    penalty = strength / (n if weights is None else weights.sum())

    def log_chances(at: np.ndarray, places: Centres) -> np.ndarray:
        parts = at.reshape(d + 1, -1)  # a row for each covariate, then the intercepts
        raw = parts[:-1].T @ places.T + parts[-1][:, None]
        raw = np.vstack([np.zeros((1, len(places))), raw]) if arms == 2 else raw
        raw -= raw.max(axis=0)
        return raw - np.log(np.exp(raw).sum(axis=0))  # scipy's logsumexp takes four times as long

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        logs, slopes = log_chances(at, x), at.reshape(d + 1, -1)[:-1]
        value = penalty / 2 * np.square(slopes).sum() - share @ (logs * is_in).sum(axis=0)
        pull = (share * (np.exp(logs) - is_in))[scored]  # (scored, n)
        return float(value), np.vstack([(pull @ x).T + penalty * slopes, pull.sum(axis=1)[None]]).ravel()

    start = np.zeros((d + 1) * (1 if arms == 2 else arms))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=_STOP)
    return np.exp(log_chances(found.x, new)).T


def standardised(x: Covariates, like: Covariates) -> Covariates:
    """Covariates less the means of others and over their s.d., 1 for a constant, (n, d)."""
    spread = like.std(axis=0)
    return (x - like.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def logistic_propensity(x: Covariates, t: Arms, weights: Outcomes | None = None) -> Outcomes:
    """Probability of treatment by penalised logistic regression on standardised covariates, (n,).

    ``weights`` are the people that each unit stands for, (n,); 1 by default.
    """
    if len(np.unique(t)) < 2:
        return t.astype(np.float64)
    z = standardised(x, x)
    return propensity_scores(z, t, z, None if weights is None else weights / weights.mean())[:, 1]
