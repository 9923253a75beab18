"""Verdict T8: what a query costs, and what is optimal about it."""

import numpy as np
import pandas as pd

import macal
from reproduction.claims.verdict import Verdict
from reproduction.theory import examples, pair_search

PAIRS = 5  # of a query whose pair scores are counted


def query_costs(sizes: tuple[int, ...] = (150, 300, 600), pairs: int = PAIRS) -> pd.DataFrame:
    """Pair scores that one query computes, counted, in pools of growing size of which a third is treated.

    Returns:
        One row per pool size: ``literal`` and ``lazy`` for a query of ``pairs`` pairs, ``literal, growing batch`` for
        one of a twentieth as many pairs as the pool has units, and ``same picks``, whether both searches agree.
    """
    rows = []
    for n in sizes:
        x, t, start = examples.two_clouds(0, n // 3, n - n // 3)
        plain, lazy = pair_search.literal(x, t, start, pairs, 2.5), pair_search.lazy(x, t, start, pairs, 2.5)
        growing = pair_search.literal(x, t, start, round(0.05 * n), 2.5)
        rows.append((n, sum(plain.evaluated), sum(lazy.evaluated), sum(growing.evaluated), plain.pairs == lazy.pairs))
    return pd.DataFrame(rows, columns=["pool", "literal", "lazy", "literal, growing batch", "same picks"]).set_index(
        "pool"
    )


def greedy_shortfalls(n_pools: int = 20) -> np.ndarray:
    """By how much MACAL's sum of scores over three pairs falls short of the largest one, in pools of six per arm."""
    pools = [examples.two_clouds(seed, 6, 6, start=1) for seed in range(n_pools)]
    best = [pair_search.best_sum(*pool, 3, 2.5) for pool in pools]
    return np.array(best) - [sum(pair_search.literal(*pool, 3, 2.5).scores) for pool in pools]


def worst_pick(seed: int, alpha: float, metric: str) -> float:
    """By how much a score of MACAL's twelve pairs falls short of the best of its moment, at most, in a small pool.

    The pool is full of ties: units are copied, or their covariates are whole numbers.
    """
    rng = np.random.default_rng(seed)
    x, t, start = examples.two_clouds(seed, treated=14, control=20, start=1)
    x = np.round(x) if seed % 2 else x[rng.integers(0, len(x), len(x))]
    plan = macal.plan(x, t, start, 4, 6, "macal", alpha=alpha, metric=metric)
    done, short = start.tolist(), 0.0
    for i, j in np.concatenate(plan).reshape(-1, 2).tolist():
        scores, one, zero = pair_search.pair_scores(x, t, done, alpha, metric)
        own = scores[one.tolist().index(i), zero.tolist().index(j)]
        short = max(short, float(scores.max() - own))
        done += [i, j]
    return short


def judge_cost(n_pools: int = 20) -> Verdict:
    """T8: 'a query costs O(N^2)' by counting pair scores, 'the optimal batch' against all sequences of pairs."""
    costs, missed = query_costs(), int((greedy_shortfalls(n_pools) > 1e-9).sum())
    grows = {name: np.log(costs[name].iloc[-1] / costs[name].iloc[0]) / np.log(costs.index[-1] / costs.index[0])
             for name in ("literal", "literal, growing batch")}  # fmt: skip
    quadratic = grows["literal"] <= 2.1
    verdict = "holds in part" if quadratic != (missed == 0) else "holds" if quadratic else "fails"
    lazy = costs["lazy"].iloc[-1] / costs["literal"].iloc[-1]
    return Verdict(
        verdict,
        f"pair scores of a query grow like N^{grows['literal']:.2f} for a batch of fixed size, like "
        f"N^{grows['literal, growing batch']:.2f} for a fixed share of the pool; a lazy search needs {lazy:.0%} of "
        f"them for {PAIRS} pairs in a pool of {costs.index[-1]}; but the batch is optimal step by step only: {missed} "
        f"of {n_pools} small pools hold one of larger sum",
    )
