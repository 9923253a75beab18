"""Rank bounds of a fixed plan's selections in the population, from an independent audit sample.

Of m audit units, x_j have a larger gain than selection j: binomial with the population's share p_j, so p_j <= u(x_j)
for all k selections with probability 1 - level, where P(Binomial(m, u) <= x) = level / k (Clopper and Pearson 1934,
Bonferroni). Without replacement x_j is hypergeometric, and the bounds are conservative (Hoeffding 1956; Vatutin and
Mikhailov 1982).
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import betainccinv

from macal.arguments import Count, Level, as_array, hinted


@hinted
def rank_bounds(ahead: Any, m: Count, level: Level = 0.05) -> Float[np.ndarray, " k"]:
    """Return simultaneous upper bounds of the population's share ahead of each selection, (k,).

    Args:
        ahead: audit units ahead of each selection, (k,), whole numbers.
        m: number of audit units.
        level: probability that any bound is too low, in (0, 1).

    Raises:
        ValueError: counts outside 0 to m, no audit units, or a level out of range.

    >>> rank_bounds([0, 3, 1000], 1000).round(4).tolist()
    [0.0041, 0.0093, 1.0]
    """
    x = as_array(ahead, "ahead")
    if x.ndim != 1 or (x.size and x.dtype.kind not in "iu"):
        raise ValueError(f"ahead must be a list of whole numbers, got shape {x.shape} and dtype {x.dtype}")
    if x.size and not 0 <= x.min() <= x.max() <= m:
        raise ValueError(f"ahead must lie in 0..{m}, the number of audit units; got {x.min()}..{x.max()}")
    # P(Binomial(m, p) <= x) = P(Beta(x + 1, m - x) > p); level / k is too small to subtract from 1
    bounds = betainccinv(x + 1.0, np.maximum(m - x, 1.0), level / max(len(x), 1))
    return np.where(x < m, bounds, 1.0)
