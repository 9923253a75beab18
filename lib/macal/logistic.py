"""Logistic regression: the chance of each arm by covariates, penalised so that it is never without a solution.

With scores F = X W + b, one column for each arm (for two arms the treated one's alone, control's being 0), and weights
w_i, what is minimised is

    (sum_i w_i (log sum_k exp F_ik - F_i,t_i) + strength |W|^2 / 2) / sum_i w_i,

by L-BFGS-B from zero until no entry of the gradient is above 1e-4; the intercepts b are not penalised.

Reference: T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*, 2nd edition, Springer,
2009, Section 4.4.
"""

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from macal.shapes import Arms, Centres, Covariates, Outcomes

PerArmChance = Float[np.ndarray, "n arms"]
There = Float[np.ndarray, "m arms"]
FreeParameters = Float[np.ndarray, "p"]
_STOP = {"maxiter": 1000, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps}


def arm_chances(
    x: Covariates, t: Arms, new: Centres, weights: Outcomes | None = None, strength: float | int = 1.0
) -> There:
    """Chance of each arm at other places, (m, arms), by a regression on units whose arms are known.

    Args:
        x: covariates of these units, (n, d), standardised.
        t: their arms, (n,), 0, 1 and so on, each with somebody in it.
        new: covariates at which chances are wanted, (m, d).
        weights: of the units, (n,); 1 by default.
        strength: of the penalty.

    >>> x = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    >>> arm_chances(x, np.array([0, 0, 1, 1]), x[:1]).round(2)
    array([[0.72, 0.28]])
    """
    arms, (n, d) = int(t.max()) + 1, x.shape
    scored = slice(1, 2) if arms == 2 else slice(None)  # arms that have a score
    is_in = (t[:, None] == np.arange(arms)).astype(np.float64)  # (n, arms)
    share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    penalty = strength / (n if weights is None else weights.sum())

    def scores(at: FreeParameters, places: Centres) -> There:
        parts = at.reshape(d + 1, -1)  # a row for each covariate, then the intercepts
        raw = places @ parts[:-1] + parts[-1]
        return np.hstack([np.zeros((len(places), 1)), raw]) if arms == 2 else raw

    def loss(at: FreeParameters) -> tuple[float, FreeParameters]:
        raw, slopes = scores(at, x), at.reshape(d + 1, -1)[:-1]
        value = share @ (logsumexp(raw, axis=1) - (raw * is_in).sum(axis=1)) + penalty / 2 * np.square(slopes).sum()
        pull = (share[:, None] * (softmax(raw, axis=1) - is_in))[:, scored]  # (n, scored)
        return float(value), np.vstack([x.T @ pull + penalty * slopes, pull.sum(axis=0)]).ravel()

    start = np.zeros((d + 1) * (1 if arms == 2 else arms))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=_STOP)
    return softmax(scores(found.x, new), axis=1)
