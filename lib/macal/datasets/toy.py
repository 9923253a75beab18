"""The paper's toy data: one covariate, two arms that overlap in part, no noise (appendix 'Toy Dataset')."""

import numpy as np

from macal.datasets.rounding import rounded
from macal.datasets.splits import split
from macal.problem import Problem, Split
from macal.shapes import Outcomes

START, BATCH, QUERIES = 25, 10, 24  # read off the published figure: 25 to 265 labels


def surfaces(x: Outcomes) -> tuple[Outcomes, Outcomes]:
    """Noiseless outcomes (mu0, mu1) = (cos 2x, sin 2x) at positions ``x``, (n,)."""
    return rounded(np.cos, 2 * x), rounded(np.sin, 2 * x)


def load(seed: int, protocol: str, centre: float = 2.5) -> Problem:
    """Return the toy problem: 500 treated and 2,500 control units, pool and test 3:1 ("paper") or 4:1 ("code").

    Each arm is an equally spaced grid and a normal cloud four times as large, of the treated around ``-centre``, of
    the controls around ``centre``; positions are in the covariate's own unit.
    """
    rng = np.random.default_rng(seed)
    treated = np.concatenate([np.linspace(-12, 10, 100), rng.normal(-centre, 1, 400)])
    control = np.concatenate([np.linspace(-10, 11, 500), rng.normal(centre, 1, 2000)])
    x = np.concatenate([treated, control])
    t = np.repeat([1, 0], [treated.size, control.size])
    mu0, mu1 = surfaces(x)
    units = Split(x[:, None].astype(np.float32), t, np.where(t == 1, mu1, mu0), mu0, mu1)
    pool, test = split(np.arange(x.size), 0.25 if protocol == "paper" else 0.2, seed)
    start = rng.choice(pool.size, START, replace=False)
    return Problem(
        "toy", units[pool], units[test], start, batch_size=BATCH, n_queries=QUERIES, seed=seed, protocol=protocol
    )
