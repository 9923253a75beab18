"""A plan from a sample among all units: which are ahead of its picks, and what an audit says of that."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

import macal
from macal.acquisition.gaussian import GPPosterior
from macal.shapes import Arms, Covariates, Outcomes, Rows
from macal.survey.inference.ranks import rank_bounds

Choice = Callable[[Outcomes, np.ndarray], int]


class Race(NamedTuple):
    """A plan among all units.

    Attributes:
        picks: people of the plan, in its order, (k,).
        ahead: whether a person's gain is above that of the pick at its moment, (k, n); never of a unit in the plan.
    """

    picks: Rows
    ahead: Bool[np.ndarray, "k n"]


def registry(n: int, numbers: int, factors: int, seed: int) -> tuple[Covariates, Arms]:
    """Standardised numbers that some factors drive, with noise, (n, d), or that are unrelated where factors are 0."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, numbers)) * (0.1 if factors else 1.0)
    x += rng.standard_normal((n, factors)) @ rng.standard_normal((factors, numbers))
    return (x - x.mean(0)) / x.std(0), (rng.random(n) < 0.5 / (1 + np.exp(-x[:, 0]))).astype(np.int64)


def race(x: Covariates, t: Arms, targets: Rows, choose: Choice, picks: int) -> Race:
    """Carry out a plan of ``alc-fixed``, with all gains before each pick.

    Args:
        x: covariates, (n, d).
        t: treatment, (n,).
        targets: people whose effects are to be learned; their distances are the unit of the length scale.
        choose: the next pick, by all gains, (n,), and the free units, (n,).
        picks: of the plan.
    """
    criterion = macal.get("alc-fixed")
    posterior = GPPosterior(x, t, np.empty(0, np.int64), targets, criterion.prior_among(x[targets], 2))
    gains, done, ahead = np.empty(len(t)), np.zeros(len(t), bool), []
    for _ in range(picks):
        for arm, units in enumerate(posterior.units):
            gains[units] = criterion.gain(posterior, arm)
        pick = choose(gains, ~done)
        ahead.append(gains > gains[pick])
        posterior.label(pick)
        done[pick] = True
    return Race(np.flatnonzero(done), np.array(ahead) & ~done)


def best_of(sample: Rows) -> Choice:
    """The rule that takes the free person of a sample whose gain is the largest."""
    return lambda gains, free: int(sample[np.where(free[sample], gains[sample], -np.inf).argmax()])


def in_order(people: Rows) -> Choice:
    """The rule that takes these people one after the other, whatever their gains."""
    order = iter(people.tolist())
    return lambda gains, free: next(order)


class Audits(NamedTuple):
    """Audits of one plan.

    Attributes:
        shares: of the people outside of the plan, who are ahead of each pick, (k,).
        bounds: of each, median over the audits, (k,).
        held: share of the audits in which every bound was at least its share.
    """

    shares: Float[np.ndarray, " k"]
    bounds: Float[np.ndarray, " k"]
    held: float


def audits(plan: Race, m: int, times: int, seed: int) -> Audits:
    """Audit a plan by m people outside of it, drawn without replacement, many times over."""
    others = np.setdiff1d(np.arange(plan.ahead.shape[1]), plan.picks)
    ahead, rng = plan.ahead[:, others], np.random.default_rng(seed)
    drawn = (rng.choice(len(others), m, replace=False) for _ in range(times))
    bounds = np.array([rank_bounds(ahead[:, rows].sum(axis=1), m) for rows in drawn])
    shares = ahead.mean(axis=1)
    return Audits(shares, np.median(bounds, axis=0), float((bounds >= shares).all(axis=1).mean()))
