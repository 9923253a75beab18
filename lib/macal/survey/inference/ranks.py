"""How good the picks of a finished plan are among everybody, by a few people who were drawn independently of it.

Let the plan be fixed, and m people be drawn independently of it, each equally likely to be any of those who could have
been bought. A share p_j of these is ahead of pick j at its moment, so the number x_j of the m who are is binomial. With

    u(x) the p at which P(Binomial(m, p) <= x) = level / k,  1 if x = m,

P(p_j > u(x_j)) is at most level / k for each of k picks (Clopper and Pearson), and so P(some p_j > u(x_j)) is at most
level, however the numbers of different picks depend on each other (Bonferroni).

Without replacement x_j is hypergeometric, and the bounds hold again (Vatutin and Mikhailov; Hoeffding).

References:
    C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
    Biometrika 26(4), 1934.
    W. Hoeffding, "On the Distribution of the Number of Successes in Independent Trials", Annals of Mathematical
    Statistics 27(3), 1956.
    V. A. Vatutin and V. G. Mikhailov, "Limit Theorems for the Number of Empty Cells in an Equiprobable Scheme for Group
    Allocation of Particles", Theory of Probability and Its Applications 27(4), 1982.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import betainccinv

from macal.arguments import Count, Level, as_array, hinted

Shares = Float[np.ndarray, "k"]


@hinted
def rank_bounds(ahead: Any, m: Count, level: Level = 0.05) -> Shares:
    """Upper bounds of the share of people who are ahead of each pick, (k,), all true at once with chance 1 - level.

    Args:
        ahead: how many of the m are ahead of each pick at its moment, (k,), whole numbers.
        m: people who were drawn independently of the plan.
        level: chance that any of the bounds is too low, above 0 and below 1.

    Raises:
        ValueError: no whole numbers from 0 to m, nobody drawn, or a level out of range.

    >>> rank_bounds([0, 3, 1000], 1000).round(4).tolist()
    [0.0041, 0.0093, 1.0]
    """
    x = as_array(ahead, "ahead")
    if x.ndim != 1 or (x.size and x.dtype.kind not in "iu"):
        raise ValueError(f"ahead must be a list of whole numbers, got shape {x.shape} and dtype {x.dtype}")
    if x.size and not 0 <= x.min() <= x.max() <= m:
        raise ValueError(f"ahead must lie in 0..{m}, the people who were drawn; got {x.min()}..{x.max()}")
    # P(Binomial(m, p) <= x) = P(Beta(x + 1, m - x) > p), and level / k is too small to be taken from 1
    bounds = betainccinv(x + 1.0, np.maximum(m - x, 1.0), level / max(len(x), 1))
    return np.where(x < m, bounds, 1.0)
