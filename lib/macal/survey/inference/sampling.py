"""Labels drawn with known chances: a sample that favours the units that are worth most, and that one may test with.

A criterion that always takes its best units leaves all others without a chance to be asked, and no weight can speak for
them. Here every unit has one: with the share u of the labels spread uniformly,

    inclusion_i = u k / n + (1 - u) min(1, c worth_i),    the sum of inclusion being k.

Where the worth is 1 for the k units that a criterion would take and 0 for all others, that is the criterion mixed with
a uniform sample. No weight 1 / inclusion exceeds 1 / u times that of a simple random sample.

Which worth, and why: *Labels one may test with*, on the page *Is it enough?*. The draw is systematic, in random order:
exactly k labels, and exactly these chances. Units compete for places, so a variance that takes the draws as independent
errs on the safe side.

References:
    J. Neyman, "On the Two Different Aspects of the Representative Method", Journal of the Royal Statistical Society
    97(4), 1934.
    H. O. Hartley and J. N. K. Rao, "Sampling with Unequal Probabilities and without Replacement", Annals of
    Mathematical Statistics 33(2), 1962 (systematic in random order, and its variance).
    E. Nwankwo, L. Goldkind and A. Zhou, "Batch-Adaptive Causal Annotations", arXiv:2502.10605, 2025 (asking for the
    average effect).
"""

import numpy as np

from macal.arguments import Count, Share, hinted
from macal.shapes import Indices, Outcomes


@hinted
def inclusion_probabilities(size_measure: Outcomes, size: Count, uniform: Share = 0.5) -> Outcomes:
    """Chance of each unit to be among ``size`` that are drawn, (n,); their sum is ``size``.

    Args:
        size_measure: of a label of each unit, (n,), at least 0, in any unit of measure.
        size: labels to be drawn.
        uniform: share of them that is spread uniformly, in (0, 1].

    Raises:
        ValueError: more labels than units, a share out of range, worths that are negative or not finite, or fewer
            units that are worth something than labels.

    >>> inclusion_probabilities(np.array([1.0, 1.0, 2.0, 4.0]), 2).tolist()
    [0.375, 0.375, 0.5, 0.75]
    """
    if size > (n := len(size_measure)):
        raise ValueError(f"size must be at most the {n} units that may be drawn, got {size}")
    if not (np.isfinite(size_measure).all() and (size_measure >= 0).all()):
        raise ValueError("worth must be finite and at least 0")
    flat = np.full(n, size / n)
    if uniform == 1:
        return flat
    if (some := int((size_measure > 0).sum())) < size:
        raise ValueError(f"only {some} units are worth something, and {size} are to be drawn; take uniform=1, or fewer")
    return uniform * flat + (1 - uniform) * proportional(size_measure, size)


def proportional(worth: Outcomes, size: int) -> Outcomes:
    """min(1, c worth), with c such that the sum is ``size``, (n,); so many must be worth something."""
    falling = np.sort(worth)[::-1]
    rest = falling[::-1].cumsum()[::-1][:size]
    # where the k largest are certain, c = (size - k) / sum of the others
    c = (size - np.arange(size)) / rest
    certain = int(np.argmax(c * falling[:size] <= 1 + 1e-12))
    return np.minimum(1.0, c[certain] * worth)


@hinted
def draw_sample(chances: Outcomes, rng: np.random.Generator) -> Indices:
    """Draw units with these chances, as many as their sum, in random order.

    Args:
        chances: of each unit, (n,), as :func:`inclusion_probabilities` gives them.
        rng: source of randomness.

    Raises:
        ValueError: chances that are not in (0, 1], or whose sum is no whole number.

    >>> len(draw_sample(np.full(10, 0.3), np.random.default_rng(0)))
    3
    """
    size = as_chances(chances)
    order = rng.permutation(len(chances))
    ends = chances[order].cumsum() + rng.uniform()
    # the first grid point is 1: the sum of all, and less than 1, holds exactly size points
    ends[-1] = size + 0.5
    return rng.permutation(order[np.diff(np.floor(ends), prepend=0.0) > 0])


def as_chances(chances: Outcomes) -> int:
    """Return how many units are drawn by these chances, (n,): their sum.

    Raises:
        ValueError: chances that are not in (0, 1], or whose sum is no whole number.
    """
    if not ((chances > 0) & (chances <= 1 + 1e-9)).all():
        raise ValueError(f"chances must be above 0 and at most 1, got {chances.min():g} to {chances.max():g}")
    size = round(chances.sum())
    if abs(chances.sum() - size) > 1e-6:
        raise ValueError(f"the sum of the chances is the number of labels, a whole number; got {chances.sum():g}")
    return size
