"""Greedy choice against the best choice: posterior variance, the paper's two-term bound, and the anchored bound.

A set function takes a tuple of elements, units or pairs of units, and returns its value: the reduction of something,
0 for the empty tuple. Sets are small enough here to be tried one and all.

Reference: G. L. Nemhauser, L. A. Wolsey and M. L. Fisher, "An Analysis of Approximations for Maximizing Submodular Set
Functions--I", Mathematical Programming 14, 1978.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from macal.kernels import posterior_variance, rbf
from macal.shapes import Distances, Indices
from reproduction.theory.shapes import Places, PoolGram

SetValue = Callable[[tuple], float]


def apart(have: tuple, new: Any) -> bool:
    """Whether an element can be added: a unit that is new, or a pair none of whose units is taken in its arm."""
    if isinstance(new, tuple):
        return all(new[0] != one and new[1] != zero for one, zero in have)
    return new not in have


def greedy(value: SetValue, elements: Sequence[Any], size: int) -> tuple:
    """Add the element that raises the value most, ``size`` times or until none can be added.

    Values that agree to 12 decimals are tied, and ties go to the first, so that rounding decides nothing.
    """
    have: tuple = ()
    for _ in range(size):
        free = [e for e in elements if apart(have, e)]
        if not free:
            break
        have = (*have, max(free, key=lambda e: round(value((*have, e)), 12)))
    return have


def exhaustive(value: SetValue, elements: Sequence[Any], size: int) -> tuple:
    """The best set of at most ``size`` elements, by trying all that can stand together; the value must not decrease.

    Raises:
        ValueError: no set of this size can stand together.
    """
    sets = [s for s in combinations(elements, size) if all(apart(s[:k], s[k]) for k in range(size))]
    if not sets:
        raise ValueError(f"no {size} of {len(elements)} elements can stand together; ask for fewer")
    return max(sets, key=lambda s: round(value(s), 12))


def rising_gain(value: SetValue, units: int) -> float:
    """By how much diminishing returns fail at worst: the largest rise of a unit's gain when another joins first.

    max over S, a, b of [F(S + a + b) - F(S + a)] - [F(S + b) - F(S)]: at most 0 if and only if F is submodular.
    """
    f = {s: value(s) for k in range(units + 1) for s in combinations(range(units), k)}

    def of(*units_: int) -> float:
        return f[tuple(sorted(units_))]

    return max(
        of(*s, a, b) - of(*s, a) - of(*s, b) + f[s]
        for s in f
        for a, b in combinations([u for u in range(units) if u not in s], 2)
    )


def variance_reduction(kernel: PoolGram, targets: Indices | None = None, noise: float = 0.0) -> SetValue:
    """Drop of the mean posterior variance at ``targets`` (by default all units) by labels of the units of a set."""
    at = np.arange(len(kernel)) if targets is None else targets
    prior = kernel.diagonal()[at].copy()

    def value(chosen: tuple) -> float:
        done = np.array(chosen, int)
        left = posterior_variance(kernel[np.ix_(at, done)], kernel[np.ix_(done, done)], prior, noise)
        return float((prior - left).mean())

    return value


def coverage(cost: Float[np.ndarray, "n m"], start: Distances) -> SetValue:
    """Drop of the mean cost to the nearest label, E_p m^q, when units join the start (facility location).

    Args:
        cost: from every target to every unit, d or d squared, (n, m).
        start: from every target to the nearest label of the start, (n,).
    """
    return lambda chosen: float((start - np.minimum(start, cost[:, list(chosen)].min(axis=1, initial=np.inf))).mean())


def pair_coverage(one: SetValue, zero: SetValue, bonus: Float[np.ndarray, "n m"] | None = None) -> SetValue:
    """Value of a set of pairs: what their units are worth in either arm, and what each pair is worth besides (>= 0).

    Raises:
        ValueError: a negative bonus.
    """
    if bonus is not None and bonus.min() < 0:
        raise ValueError(f"a pair's bonus must not be negative, got {bonus.min():g}; shift it, as in r - d(a, b)")
    one, zero = cache(one), cache(zero)

    def value(pairs: tuple) -> float:
        worth = one(tuple(sorted(a for a, _ in pairs))) + zero(tuple(sorted(b for _, b in pairs)))
        return worth + (0.0 if bonus is None else float(sum(bonus[p] for p in pairs)))

    return value


def farthest_first(between: Float[np.ndarray, "n n"], start: Distances, size: int) -> tuple[int, ...]:
    """MACAL with alpha = 0 in one arm: always the unit farthest from all labels."""
    m, chosen = start.copy(), ()
    for _ in range(size):
        chosen = (*chosen, int(m.argmax()))
        m = np.minimum(m, between[:, chosen[-1]])
    return chosen


class BoundTask(NamedTuple):
    """The paper's two-term bound on a line: places of both arms' units, the last of each labelled, and the constant."""

    treated: Places
    control: Places
    c: float


def random_task(rng: np.random.Generator) -> BoundTask:
    """Five free and one labelled unit per arm, uniform on [0, 4], and a constant C among 0.1, 0.5 and 2."""
    free1, free0, start1, start0 = (rng.uniform(0, 4, k) for k in (5, 5, 1, 1))
    return BoundTask(np.append(free1, start1), np.append(free0, start0), float(rng.choice([0.1, 0.5, 2.0])))


def bound_reduction(task: BoundTask) -> SetValue:
    """Drop of V_1 + V_0 + C W_1 when pairs are labelled: Theorem 1's objective, without noise, RBF of length 1.

    V_t is the mean posterior variance over all units of arm t, W_1 the exact distance between the labelled arms.
    """
    from scipy.stats import wasserstein_distance

    arms = (task.treated, task.control)
    kernels = [rbf(x[:, None], x[:, None]) for x in arms]

    @cache
    def variance(arm: int, chosen: tuple) -> float:
        return kernels[arm].diagonal().mean() - variance_reduction(kernels[arm])((len(arms[arm]) - 1, *chosen))

    def bound(pairs: tuple) -> float:
        sets = [tuple(sorted(pair[arm] for pair in pairs)) for arm in (0, 1)]
        labelled = (x[[-1, *s]] for x, s in zip(arms, sets, strict=True))
        return variance(0, sets[0]) + variance(1, sets[1]) + task.c * float(wasserstein_distance(*labelled))

    before = bound(())
    return lambda pairs: before - bound(pairs)


def share_of_best(value: SetValue, elements: Sequence[Any], size: int) -> float:
    """Value of the greedy set as a share of the value of the best set of as many elements."""
    return value(greedy(value, elements, size)) / value(exhaustive(value, elements, size))
