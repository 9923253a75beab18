"""Outcome functions on the people of a real table, none of which a criterion's kernel drew, and the table's own noise.

"learnt": boosted trees of the table's own outcomes, one regression per arm, the same in every replication. Drawn anew
in each: "linear"; "wave", a sine along one random direction for the baseline, and along another for the effect;
"sparse", two covariates and their product, and a step in one for the effect, of covariates that single out nobody.

The baseline has mean 0 and s.d. 1, the effect mean ``EFFECT`` and s.d. ``SPREAD``: over the whole table where it is
learnt, else over the people of the replication. Noise is drawn from the trees' residuals on people whom they were not
fitted to, of the person's own arm; it stays as large beside the learnt function, else its s.d. is ``NOISE``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float

from macal.datasets import real
from macal.shapes import Arms, Covariates, Outcomes, Rows

EFFECT, SPREAD, NOISE = 0.5, 0.5, 0.5  # mean and s.d. of the effect, s.d. of the noise; the baseline has s.d. 1
WAVES = 2.0  # radians of the sine per s.d. of the direction
TENTH = 0.1  # share of the people on either side of a step, at least
FOLDS = 5
TREES = {"max_iter": 100, "learning_rate": 0.05, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
DRAWN = ("linear", "wave", "sparse")
SURFACES = ("learnt", *DRAWN)

OfArm = Float[np.ndarray, "_"]  # of the people of an arm
FunctionDraw = Callable[[Covariates, np.random.Generator], tuple[Outcomes, Outcomes]]


@dataclass(frozen=True, eq=False)
class Learnt:
    """What trees make of a table's own outcomes.

    Attributes:
        baseline: of the n people without treatment, (n,), mean 0 and s.d. 1.
        effect: of the treatment, (n,), mean ``EFFECT`` and s.d. ``SPREAD``.
        residuals: control, treated: what is left of each person's outcome with one, in the baseline's s.d.s; centred.
    """

    baseline: Outcomes
    effect: Outcomes
    residuals: tuple[OfArm, OfArm]


def scaled(values: Outcomes, mean: float, sd: float) -> Outcomes:
    """Values, (n,), with another mean and s.d."""
    return mean + sd * (values - values.mean()) / values.std()


@cache
def learnt(name: str) -> Learnt:
    """Learn a table's outcome functions."""
    table = real.people(name)
    x = table.covariates(np.arange(len(table.t)))
    fits, left = zip(*(_arm(x, table, arm) for arm in (0, 1)), strict=True)
    return Learnt(
        scaled(fits[0], 0.0, 1.0),
        scaled(fits[1] - fits[0], EFFECT, SPREAD),
        tuple((own - own.mean()) / fits[0].std() for own in left),
    )


def _arm(x: Covariates, table: real.RealTable, arm: int) -> tuple[Outcomes, OfArm]:
    """Everybody's fitted outcome in an arm, (n,), and the residuals of its people by fits that leave them out."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    own = (table.t == arm) & np.isfinite(table.y)
    trees, folds = HistGradientBoostingRegressor(**TREES), KFold(FOLDS, shuffle=True, random_state=0)
    left = table.y[own] - cross_val_predict(trees, x[own], table.y[own], cv=folds)
    return trees.fit(x[own], table.y[own]).predict(x), left


def linear(x: Covariates, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Draw baseline and effect, (n,) each, unscaled: all of x, (n, d), with standard normal coefficients."""
    baseline, effect = (x @ rng.normal(size=(x.shape[1], 2))).T
    return baseline, effect


def wave(x: Covariates, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Draw baseline and effect, (n,) each, unscaled: sines along two directions of x, (n, d)."""
    along = x @ rng.normal(size=(x.shape[1], 2))  # (n, 2)
    along = (along - along.mean(axis=0)) / along.std(axis=0)
    baseline, effect = np.sin(WAVES * along + rng.uniform(0, 2 * np.pi, 2)).T
    return baseline, effect


def sparse(x: Covariates, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Draw baseline and effect, (n,) each, unscaled: few columns of x, (n, d), that do not single out a few people."""
    above = (x > x.mean(axis=0)).mean(axis=0)
    columns = np.flatnonzero((above >= TENTH) & (above <= 1 - TENTH))
    one, two = x[:, rng.choice(columns, 2, replace=False)].T
    step = x[:, rng.choice(columns)]
    a, b, c = rng.normal(size=3)
    return a * one + b * two + c * one * two, (step > step.mean()).astype(float)


DRAWINGS: dict[str, FunctionDraw] = {"linear": linear, "wave": wave, "sparse": sparse}


def drawn(surface: str, x: Covariates, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Draw (mu_0, mu_1), each (n,), of "linear", "wave" or "sparse", at the places ``x``, (n, d)."""
    baseline, effect = DRAWINGS[surface](x, rng)
    mu0 = scaled(baseline, 0.0, 1.0)
    return mu0, mu0 + scaled(effect, EFFECT, SPREAD)


def noise(surface: str, found: Learnt, t: Arms, rng: np.random.Generator) -> Outcomes:
    """Draw the noise of people in the arms ``t``, (n,): residuals of their own arm, with replacement."""
    size = 1.0 if surface == "learnt" else NOISE / np.concatenate(found.residuals).std()
    own = np.stack([rng.choice(left, len(t)) for left in found.residuals], axis=1)  # (n, 2)
    return size * np.where(t == 1, own[:, 1], own[:, 0])


def outcomes(
    surface: str, name: str, rows: Rows, x: Covariates, t: Arms, rng: np.random.Generator
) -> tuple[Outcomes, Outcomes, Outcomes]:
    """Outcome with noise, mu_0 and mu_1 of some people of a table, (k,) each."""
    found = learnt(name)
    if surface == "learnt":
        mu0, mu1 = found.baseline[rows], (found.baseline + found.effect)[rows]
    else:
        mu0, mu1 = drawn(surface, x, rng)
    return np.where(t == 1, mu1, mu0) + noise(surface, found, t, rng), mu0, mu1
