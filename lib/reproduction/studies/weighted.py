"""Does the interval of the weighted average effect hold the truth, and what do drawn labels save?

Three worlds of average effect 1; six standard normal covariates, 1,000 people per simulation:

- "observed": log odds of treatment 0.8 x1; mu0 = x1 + x2 / 2, effect 1 + x2; noise of s.d. 1 in both arms.
- "curved": log odds -2 + x1; mu0 = exp(x1 / 2 + x3 / 4), effect 1 + (x1^2 - 1) / 2; noise of s.d. 1. The outcome
  models, ridge regressions, are wrong here.
- "trial": one in five treated by lot, and the estimate knows it; mu0 = exp(x1 / 2), effect 1 + x2; noise of s.d. 0.5
  among controls and 2 among the treated.

2,000 simulations of each, in 20 blocks of 100, by the seed (place of the world, s). Designs, each with 200 labels:

- "srs": a simple random sample; with 100 and with 400 labels besides, to say how many labels a width needs.
- "macal": the plan of MACAL at its default weight, mixed with a uniform sample, half and half.
- "ate": chances by worth for the average effect, equal spreads, a fifth of the labels uniform; "half": half of them.
- "informed": the same with the world's own s.d.s of noise, where they differ.

The interval is :func:`macal.inference.average_effect` at 95 %; coverage is as promised from 94 to 96 %. The squared
mean width of "srs" is taken as a + b / labels, through 100 and 200 labels for wider intervals than at 200, else through
200 and 400; the labels that it needs for a width are b / (width^2 - a). Samples with fewer than ten of an arm are
``refused``, and count for nothing else.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from macal import acquisition
from macal.acquisition import plan_batches
from macal.campaigns.evaluation import Row
from macal.inference import average_effect, crossed_propensity, draw, inclusion, worth_for_ate
from macal.inference.weighted import LEAST
from macal.shapes import Arms, Covariates, Outcomes
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

PEOPLE, COVARIATES, LABELS, EFFECT = 1000, 6, 200, 1.0
SIZES = (100, LABELS, 400)  # of simple random samples
SIMULATIONS, BLOCK = 2000, 100


class Population(NamedTuple):
    """What people are drawn from.

    Attributes:
        log_odds: of treatment, (n,), at the covariates (n, d).
        mu0: expected outcome without treatment.
        tau: effect, of mean :data:`EFFECT`.
        noise: s.d. of an outcome, control first.
        by_lot: whether the estimate knows the chance of treatment.
    """

    log_odds: Callable[[Covariates], Outcomes]
    mu0: Callable[[Covariates], Outcomes]
    tau: Callable[[Covariates], Outcomes]
    noise: tuple[float, float] = (1.0, 1.0)
    by_lot: bool = False


WORLDS = {
    "observed": Population(lambda x: 0.8 * x[:, 0], lambda x: x[:, 0] + x[:, 1] / 2, lambda x: 1 + x[:, 1]),
    "curved": Population(
        lambda x: x[:, 0] - 2, lambda x: np.exp(x[:, 0] / 2 + x[:, 2] / 4), lambda x: 1 + (x[:, 0] ** 2 - 1) / 2
    ),
    "trial": Population(
        lambda x: np.full(len(x), np.log(0.25)),
        lambda x: np.exp(x[:, 0] / 2),
        lambda x: 1 + x[:, 1],
        (0.5, 2.0),
        True,
    ),
}


def people(world: Population, rng: np.random.Generator, n: int = PEOPLE) -> tuple[Covariates, Arms, Outcomes, Outcomes]:
    """Draw covariates (n, d), treatment, outcome and the chance of treatment, (n,) each."""
    x = rng.normal(size=(n, COVARIATES))
    e = expit(world.log_odds(x))
    t = (rng.uniform(size=n) < e).astype(np.int64)
    y = world.mu0(x) + t * world.tau(x) + np.array(world.noise)[t] * rng.normal(size=n)
    return x, t, y, e


def designs(world: Population, x: Covariates, t: Arms, e: Outcomes) -> dict[tuple[str, int], Outcomes]:
    """Chances of inclusion by design and number of labels."""
    (planned,) = plan_batches(acquisition.get("macal"), x, t, [], 1, LABELS)
    found = {("srs", size): inclusion(np.ones(PEOPLE), size, 1.0) for size in SIZES}
    found["macal", LABELS] = inclusion(np.isin(np.arange(PEOPLE), planned).astype(float), LABELS, 0.5)
    found["ate", LABELS] = inclusion(worth_for_ate(e, t), LABELS, 0.2)
    if world.noise[0] != world.noise[1]:
        found["informed", LABELS] = inclusion(worth_for_ate(e, t, world.noise), LABELS, 0.2)
    found["half", LABELS] = inclusion(worth_for_ate(e, t), LABELS, 0.5)
    return found


def simulate(name: str, seed: int) -> list[Row]:
    """One simulation: a row per design and number of labels."""
    world, rng = WORLDS[name], np.random.default_rng([list(WORLDS).index(name), seed])
    x, t, y, e = people(world, rng)
    if not world.by_lot:
        e = crossed_propensity(x, t, seed)
    rows: list[Row] = []
    for (design, size), chances in designs(world, x, t, e).items():
        asked = np.isin(np.arange(PEOPLE), draw(chances, rng))
        told = {"held": False, "width": np.nan, "error": np.nan}
        if np.bincount(t[asked], minlength=2).min() >= LEAST:
            found = average_effect(x, t, np.where(asked, y, np.nan), chances, e, seed=seed)
            told = {"held": found.low <= EFFECT <= found.high, "width": found.width, "error": found.value - EFFECT}
        rows.append({"design": design, "labelled": size, "treated": int(t[asked].sum())} | told)
    return rows


def everybody(name: str, simulations: int) -> float:
    """Coverage where everybody has answered, so that nothing was drawn: what is lost there is not the draw's doing."""
    world, held = WORLDS[name], []
    for seed in range(simulations):
        x, t, y, e = people(world, np.random.default_rng([list(WORLDS).index(name), seed]))
        e = e if world.by_lot else crossed_propensity(x, t, seed)
        found = average_effect(x, t, y, np.ones(PEOPLE), e, seed=seed)
        held.append(found.low <= EFFECT <= found.high)
    return float(np.mean(held))


def block(name: str, first: int, study: str = "weighted", each: Callable[[str, int], list[Row]] = simulate) -> Job:
    """A block of simulations of one world, by a function of world and seed.

    Its rows, one per design and number of labels, have ``simulations`` with an interval and those ``refused``, in how
    many the interval ``held`` the effect, and means of the other columns, such as ``width``, ``squared`` error,
    ``error`` and labels that were ``treated``.
    """
    shared = {"dataset": "population", "protocol": "paper", "study": study, "world": name, "first": first}

    def work() -> list[Answer]:
        every = pd.DataFrame([row for seed in range(first, first + BLOCK) for row in each(name, seed)])
        every["squared"] = every["error"] ** 2
        groups = every.groupby(["design", "labelled"], sort=False)
        found = groups[[c for c in every if c not in ("design", "labelled", "held")]].mean()
        given = groups["width"].count()
        found = found.assign(simulations=given, refused=groups.size() - given, held=groups["held"].sum())
        return [Answer(found.reset_index().to_dict("records"))]

    return Job([shared], work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_ate``, of so many simulations of each world."""
    return [block(world, first) for world in WORLDS for first in range(0, replications or SIMULATIONS, BLOCK)]
