"""Draws with known chances whose cost is known too, or nearly: exact numbers per stratum, hardly any play in the money.

Independent draws, and systematic ones, have the right chances and a total cost that chance decides. Here chances p_i
walk to 0 or 1 by steps of mean zero, so that each unit ends at 1 with the chance that she began with. A step moves few
units at once, in a direction in which neither their sum nor their cost changes; it ends where one of them is at 0 or 1.

- Three units of one stratum with costs a, b, c move along (b - c, c - a, a - b).
- So at most two units of a stratum are left, whose chances sum to 1. Two such pairs, with differences of cost g and h,
  move along h (1, -1) and -g (1, -1), which settles one of them.
- So at most one pair is left. It is settled by lot, and the total cost is off its mean by less than the pair's
  difference.

Reference: J.-C. Deville and Y. Tille, "Efficient Balanced Sampling: The Cube Method", Biometrika 91(4), 2004 (the
walk, for any balance; few units at a time as in G. Chauvet and Y. Tille, "A Fast Algorithm for Balanced Sampling",
Computational Statistics 21(1), 2006).
"""

import numpy as np

from macal.arguments import as_outcomes, hinted
from macal.shapes import Arms, Indices, Outcomes
from macal.survey.inference.sampling import as_chances

_SETTLED = 1e-9  # a chance so near 0 or 1 is 0 or 1


@hinted
def draw_balanced(chances: Outcomes, strata: Arms, cost: Outcomes, rng: np.random.Generator) -> Indices:
    """Draw units with these chances, in random order: of each stratum as many as its chances sum to.

    Their total cost is off its mean by less than the largest difference of costs within a stratum.

    Args:
        chances: of each unit, (n,), above 0; their sum over a stratum is a whole number.
        strata: number of each unit's stratum, (n,).
        cost: of each unit, (n,).
        rng: source of randomness.

    Raises:
        ValueError: chances that are not in (0, 1], or whose sum over a stratum is no whole number.

    >>> cost = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> rng = np.random.default_rng(0)
    >>> draws = [draw_balanced(np.full(6, 0.5), np.zeros(6, int), cost, rng) for _ in range(4)]
    >>> [(len(units), cost[units].sum().item()) for units in draws]
    [(3, 11.0), (3, 11.0), (3, 10.0), (3, 10.0)]
    """
    # lists, for a step moves a few units, and there are as many steps as units
    price, p, last = as_outcomes(cost, len(chances), "cost").tolist(), chances.astype(float).tolist(), list[int]()
    for stratum in np.unique(strata):
        units = np.flatnonzero(strata == stratum)
        as_chances(chances[units])
        last = _settle_pairs(p, last, _settle_all(p, rng.permutation(units).tolist(), price, rng), price, rng)
    _walk(p, last, [1.0, -1.0][: len(last)], rng)
    return rng.permutation(np.flatnonzero(np.array(p) > 0.5))


def _settle_all(p: list[float], units: list[int], cost: list[float], rng: np.random.Generator) -> list[int]:
    """Let the chances of a stratum walk until at most two are open, and return these."""
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
    """Let one of two open pairs be settled, and return the other; either may be empty."""
    if len(one) < 2 or len(other) < 2:
        return [*one, *other][:2]
    g, h = (cost[a] - cost[b] for a, b in (one, other))
    _walk(p, both := [*one, *other], [h, -h, -g, g] if g or h else [1.0, -1.0, 0.0, 0.0], rng)
    return _open(p, both)


def _open(p: list[float], units: list[int]) -> list[int]:
    return [k for k in units if _SETTLED < p[k] < 1 - _SETTLED]


def _walk(p: list[float], units: list[int], direction: list[float], rng: np.random.Generator) -> None:
    """Move chances forth or back along a direction, with mean 0, until one of them is 0 or 1."""
    steps = [(k, d) for k, d in zip(units, direction, strict=True) if d]
    if not steps:
        return
    # how far each unit may go: to 1 where d > 0 and to 0 where d < 0; back the other way
    forth = [(1 - p[k] if d > 0 else p[k]) / abs(d) for k, d in steps]
    back = [(p[k] if d > 0 else 1 - p[k]) / abs(d) for k, d in steps]
    goes_forth = rng.uniform() < min(back) / (min(forth) + min(back))
    room = forth if goes_forth else back
    for k, d in steps:
        p[k] += d * (min(room) if goes_forth else -min(room))
    # the unit that ends the step is at its end exactly, whatever rounding says
    end, d = steps[room.index(min(room))]
    p[end] = float((d > 0) == goes_forth)
