"""Which weight suits which stage of a campaign: expected errors of MACAL under fixed and rolling weights.

The expected error is linear in the correlation of the surfaces, so each set of labels is judged once, for all of them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int

from macal.acquisition import PoolState, get
from macal.acquisition.rolling import Rolling, expected_error
from macal.shapes import Arms, Covariates, Indices
from reproduction.theory import examples, pairing

ALPHAS = Rolling.alphas
SIZES = (10, 10, 20, 40, 80)  # labels of a query: early stages in small steps
PRIOR = {"lengthscale": 1.0, "noise": 0.01}  # what the surfaces are drawn from
Start = Int[np.ndarray, "start"]
Pool = tuple[Covariates, Arms, Start]


def pools(n: int, shift: float) -> list[Pool]:
    """Draw pools of 200 treated units and 400 controls in the plane; 3 and 7 of them, at random, are labelled."""
    start = np.r_[:3, 200:207]  # units come in no order
    return [(*examples.two_clouds(seed, 200, 400, shift)[:2], start) for seed in range(n)]


def fixed(pool: Pool, alpha: float) -> Indices:
    """Units that MACAL labels under one weight, all queries together."""
    return np.concatenate([pool[2], *get("macal", alpha=alpha).plan(PoolState(*pool), SIZES)])


def rolling(pool: Pool, rho: float, **prior: float) -> tuple[list[float], Indices]:
    """Weights that the rolling rule takes under a prior, and the units that it labels."""
    weights, batches = zip(*Rolling(rho=rho, **(PRIOR | prior)).steps(PoolState(*pool), SIZES), strict=True)
    return list(weights), np.concatenate([pool[2], *batches])


def covering(pool: Pool, paired: bool) -> Indices:
    """Units that lower the mean squared distance of the pool to either arm's labels most, for comparison."""
    x, t, start = pool
    free = [np.setdiff1d(np.flatnonzero(t == arm), start) for arm in (1, 0)]
    first = tuple(x[start[t[start] == arm]] for arm in (1, 0))
    picks = pairing.cover_greedily(x, x[free[0]], x[free[1]], first, sum(SIZES) // 2, paired)
    return np.concatenate([start, *([free[0][i], free[1][j]] for i, j in picks)])


def judged(pool: Pool, order: Indices, rhos: Sequence[float]) -> pd.DataFrame:
    """Expected errors after each query of a campaign: a row per number of pairs, a column per correlation."""
    x, t, start = pool
    after = np.cumsum(SIZES)
    ends = [
        [expected_error(x, t, order[: len(start) + k], rho, PRIOR["lengthscale"], PRIOR["noise"]) for rho in (0.0, 1.0)]
        for k in after.tolist()
    ]
    none, full = np.array(ends).T
    return pd.DataFrame({rho: none + rho * (full - none) for rho in rhos}, index=pd.Index(after // 2, name="pairs"))


def mean_errors(plans: Mapping[object, Sequence[Indices]], over: Sequence[Pool], rhos: Sequence[float]) -> pd.DataFrame:
    """Expected errors of named plans, one per pool, averaged over the pools: (name, pairs) by correlation."""
    means = {
        name: sum(judged(pool, order, rhos) for pool, order in zip(over, orders, strict=True)) / len(over)
        for name, orders in plans.items()
    }
    return pd.concat(means, names=["rule"])
