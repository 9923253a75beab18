"""Balanced sampling: fixed sizes per stratum and a nearly fixed total cost.

The cube method (Deville and Tille 2004) with few units at a time (Chauvet and Tille 2006): inclusion probabilities walk
to 0 or 1 by steps of mean zero that keep sum and cost. Three units of a stratum with costs a, b, c move along
(b - c, c - a, a - b); two pairs left in two strata, with cost differences g and h, along h (1, -1) and -g (1, -1). The
last pair is settled at random, so the total cost is off its mean by less than that pair's difference.
"""

import numpy as np

from macal.arguments import as_outcomes, hinted
from macal.shapes import Arms, Indices, Outcomes
from macal.survey.inference.sampling import as_chances

_SETTLED = 1e-9  # tolerance of 0 and 1


@hinted
def draw_balanced(chances: Outcomes, strata: Arms, cost: Outcomes, rng: np.random.Generator) -> Indices:
    """Draw units with these inclusion probabilities, in random order, with fixed sizes per stratum.

    Their total cost is off its mean by less than the largest difference of costs within a stratum.

    Args:
        chances: inclusion probability of each unit, (n,), above 0; whole sums per stratum.
        strata: stratum of each unit, (n,).
        cost: cost of each unit, (n,).
        rng: source of randomness.

    Raises:
        ValueError: probabilities outside (0, 1], or with a stratum sum that is not a whole number.

    >>> cost = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> rng = np.random.default_rng(0)
    >>> draws = [draw_balanced(np.full(6, 0.5), np.zeros(6, int), cost, rng) for _ in range(4)]
    >>> [(len(units), cost[units].sum().item()) for units in draws]
    [(3, 11.0), (3, 11.0), (3, 10.0), (3, 10.0)]
    """
    # lists, as each of n steps moves few units
    price, p, last = as_outcomes(cost, len(chances), "cost").tolist(), chances.astype(float).tolist(), list[int]()
    for stratum in np.unique(strata):
        units = np.flatnonzero(strata == stratum)
        as_chances(chances[units])
        last = _settle_pairs(p, last, _settle_all(p, rng.permutation(units).tolist(), price, rng), price, rng)
    _walk(p, last, [1.0, -1.0][: len(last)], rng)
    return rng.permutation(np.flatnonzero(np.array(p) > 0.5))


def _settle_all(p: list[float], units: list[int], cost: list[float], rng: np.random.Generator) -> list[int]:
    """Walk in a stratum until at most two units are open, and return these."""
    some = list[int]()
    for unit in units:
        some = _open(p, [*some, unit])
        while len(some) > 2:
            a, b, c = (cost[k] for k in some)
            _walk(p, some, [b - c, c - a, a - b] if a != b or b != c else [1.0, -1.0, 0.0], rng)
            some = _open(p, some)
    return some


def _settle_pairs(
    p: list[float], one: list[int], other: list[int], cost: list[float], rng: np.random.Generator
) -> list[int]:
    """Settle one of two open pairs, and return the other; either may be empty."""
    if len(one) < 2 or len(other) < 2:
        return [*one, *other][:2]
    g, h = (cost[a] - cost[b] for a, b in (one, other))
    _walk(p, both := [*one, *other], [h, -h, -g, g] if g or h else [1.0, -1.0, 0.0, 0.0], rng)
    return _open(p, both)


def _open(p: list[float], units: list[int]) -> list[int]:
    return [k for k in units if _SETTLED < p[k] < 1 - _SETTLED]


def _walk(p: list[float], units: list[int], direction: list[float], rng: np.random.Generator) -> None:
    """Move probabilities along a direction, with mean 0, until one of them is 0 or 1."""
    steps = [(k, d) for k, d in zip(units, direction, strict=True) if d]
    if not steps:
        return
    # distance of each unit to 1 if d > 0, to 0 if d < 0; back the other way
    forth = [(1 - p[k] if d > 0 else p[k]) / abs(d) for k, d in steps]
    back = [(p[k] if d > 0 else 1 - p[k]) / abs(d) for k, d in steps]
    goes_forth = rng.uniform() < min(back) / (min(forth) + min(back))
    room = forth if goes_forth else back
    for k, d in steps:
        p[k] += d * (min(room) if goes_forth else -min(room))
    # the unit that ends the step is exactly at its end, despite rounding
    end, d = steps[room.index(min(room))]
    p[end] = float((d > 0) == goes_forth)
