"""Unequal-probability sampling without replacement; which size measure, and why: book/enough.md (sec-drawn).

inclusion_i = u k / n + (1 - u) min(1, c size_i), summing to k, with the uniform share u; so no weight exceeds 1 / u
times that of a simple random sample. With size 1 for a criterion's k units and else 0, it mixes the criterion with a
uniform sample. The draw is systematic in random order (Hartley and Rao 1962): exactly k units and these probabilities.
"""

import numpy as np

from macal.arguments import MIN_POSITIVE, Count, Share, hinted
from macal.shapes import Indices, Outcomes


@hinted
def inclusion_probabilities(size_measure: Outcomes, size: Count, uniform: Share = 0.5) -> Outcomes:
    """Return each unit's inclusion probability, (n,); they sum to ``size``.

    Args:
        size_measure: size measure of each unit, (n,), at least 0.
        size: number of units to draw.
        uniform: share allocated uniformly, in (0, 1].

    Raises:
        ValueError: ``size`` above the number of units, a share out of range, negative or infinite size measures, or
            fewer positive ones than ``size``.

    >>> inclusion_probabilities(np.array([1.0, 1.0, 2.0, 4.0]), 2).tolist()
    [0.375, 0.375, 0.5, 0.75]
    """
    if size > (n := len(size_measure)):
        raise ValueError(f"size must be at most {n}, the number of units, got {size}")
    if not (np.isfinite(size_measure).all() and (size_measure >= 0).all()):
        raise ValueError("size_measure must be finite and at least 0")
    flat = np.full(n, size / n)
    if uniform == 1:
        return flat
    if (some := int((size_measure > 0).sum())) < size:
        raise ValueError(
            f"only {some} units have a positive size_measure, fewer than {size}; use uniform=1, or a smaller size"
        )
    return uniform * flat + (1 - uniform) * proportional(size_measure, size)


def proportional(worth: Outcomes, size: int) -> Outcomes:
    """Return min(1, c worth), with c such that the sum is ``size``, (n,)."""
    falling = np.sort(worth)[::-1]
    rest = falling[::-1].cumsum()[::-1][:size]
    # if the k largest are certain, c = (size - k) / sum of the others
    c = (size - np.arange(size)) / rest
    certain = int(np.argmax(c * falling[:size] <= 1 + 1e-12))
    return np.minimum(1.0, c[certain] * worth)


@hinted
def draw_sample(chances: Outcomes, rng: np.random.Generator) -> Indices:
    """Draw units with these inclusion probabilities, as many as their sum, in random order.

    Args:
        chances: inclusion probability of each unit, (n,).
        rng: source of randomness.

    Raises:
        ValueError: probabilities outside (0, 1], or with a sum that is not a whole number.

    >>> len(draw_sample(np.full(10, 0.3), np.random.default_rng(0)))
    3
    """
    size = as_chances(chances)
    order = rng.permutation(len(chances))
    ends = chances[order].cumsum() + rng.uniform()
    # the first grid point is 1: the sum plus less than 1 covers exactly size points
    ends[-1] = size + 0.5
    return rng.permutation(order[np.diff(np.floor(ends), prepend=0.0) > 0])


def as_chances(chances: Outcomes) -> int:
    """Return the sample size of inclusion probabilities, (n,): their sum.

    Raises:
        ValueError: probabilities outside (0, 1], or with a sum that is not a whole number.
    """
    if not ((chances >= MIN_POSITIVE) & (chances <= 1 + 1e-9)).all():
        raise ValueError(f"chances must be above 0 ({MIN_POSITIVE:g} to 1), got {chances.min():g} to {chances.max():g}")
    size = round(chances.sum())
    if abs(chances.sum() - size) > 1e-6:
        raise ValueError(f"chances must add up to a whole number of labels, got {chances.sum():g}")
    return size
