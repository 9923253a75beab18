"""What a plan of gains on balls may lose, and what it loses, on tables that do fit into memory."""

import numpy as np
import pandas as pd

import macal
from macal.acquisition import PoolState
from macal.scale.cover import Balls, cover, cover_block
from macal.scale.rules import BallRule, ball_campaign
from macal.shapes import Arms, Covariates


def registry(n: int, numbers: int, factors: int, seed: int) -> tuple[Covariates, Arms]:
    """Standardised numbers that some factors drive, with noise, (n, d), or that are unrelated where factors are 0."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, numbers)) * (0.1 if factors else 1.0)
    x += rng.standard_normal((n, factors)) @ rng.standard_normal((factors, numbers))
    return (x - x.mean(0)) / x.std(0), (rng.random(n) < 0.5 / (1 + np.exp(-x[:, 0]))).astype(np.int64)


def certificates(x: Covariates, t: Arms, picks: int, balls: int, targets: int) -> pd.DataFrame:
    """Plan on balls that are never opened; one row per pick.

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        picks: to plan, one by one.
        balls: of each arm.
        targets: of the criterion.

    Returns:
        ``gain`` of the pick, its ``certificate``, what was ``lost`` against the best gain of the whole pool, and
        ``targets``, the width of the interval in which the pick's gain for everybody would lie if so many balls stood
        for everybody as targets.
    """
    criterion = macal.get("alc-fixed", targets=targets)
    state = PoolState(x, t, np.empty(0, np.int64))
    blocks, none = [cover_block(x, t, 0, balls)], x[:0]
    found = ball_campaign(
        BallRule.of(criterion), blocks, [none, none], picks, lambda lists: [x[rows] for rows in lists], np.inf
    ).batch(picks)
    knowledge, rows = criterion.knowledge(state), []
    e = _root_mean_square_feature(x, cover(x, targets), criterion.prior(state).lengthscale[0])
    for pick in found:
        (unit,) = pick.rows
        k = int(np.searchsorted(knowledge.units[t[unit]], unit))
        v, noise = knowledge.variance[t[unit]][k], criterion.noise
        gains = [np.where(knowledge.free[arm], criterion.gain(knowledge, arm), 0.0) for arm in (0, 1)]
        # ((G + e sqrt v)^2 - max(G - e sqrt v, 0)^2) / (v + noise), G^2 = gain (v + noise)
        root, shift = np.sqrt(pick.score), e * np.sqrt(v / (v + noise))
        width = (root + shift) ** 2 - max(root - shift, 0.0) ** 2
        rows.append((pick.score, pick.within, max(map(np.max, gains)) - pick.score, width))
        knowledge.label(unit)
    return pd.DataFrame(rows, columns=["gain", "certificate", "lost", "targets"], index=range(1, len(rows) + 1))


def _root_mean_square_feature(x: Covariates, balls: Balls, lengthscale: float) -> float:
    """Root of the mean, over people, of 2 (1 - exp(-d^2 / (2 l^2))), d the distance from the centre of their ball."""
    d2 = np.square(x - x[balls.rows[balls.which]]).sum(1)
    return float(np.sqrt(np.mean(-2 * np.expm1(-0.5 * d2 / lengthscale**2))))
