"""What do chances that learn from earlier waves save, and does the interval hold the truth?

Fixed before the first run. Populations as in :mod:`reproduction.studies.weighted`: six standard normal covariates,
1,000 people, an average effect of 1. The noise's s.d. may depend on a person's covariates, arm and wave. Five worlds:

- "observed", "trial": as there; spreads are equal, or differ between arms alone. What learning could save is nothing in
  the first, and what knowing the arms' noise saves in the second.
- "fan": treatment and surfaces of "observed"; noise of s.d. exp(0.8 x2) in both arms.
- "treated fan": half are treated by lot, and the estimate knows it; surfaces of "observed"; noise of s.d. exp(0.8 x3)
  among the treated and 0.5 among controls.
- "bent": half are treated by lot, and the estimate knows it; mu0 = exp(x1 / 2 + x3 / 4), effect 1 + (x1^2 - 1) / 2,
  noise of s.d. 0.5. Spreads differ only by what the outcome models, ridge regressions, cannot fit.

The worlds of the dial (:mod:`reproduction.studies.worlds`) are not taken: their noise has one s.d. for everybody, and
their true average effect is known for a draw alone. Two more:

- "permuted": "fan" with the noise of its people permuted among them, so that residuals have the same law and no
  covariate says anything of their size.
- "turned", against what is learnt: "fan" in the first wave, and in later ones noise of s.d. exp(-0.8 x2).

2,000 simulations of each, in 20 blocks of 100; simulation s of a world draws everything from the seed (200 + place of
the world, s). All samples of a simulation come from the same people. Designs, each with 200 labels:

- "srs": a simple random sample; with 400 labels besides, to say how many labels a width needs.
- "ate": chances by worth for the average effect, equal spreads, a fifth of the labels uniform; fixed beforehand.
- "waves": four waves of 50 labels by :func:`macal.inference.wave_chances`, u at least a fifth; the first has chances as
  "ate" has. ``uniform`` is the mean u of waves 2 to 4, ``learnt`` the share of them that go by the answers.
- "known": chances by the true s.d. of the noise, a fifth of the labels uniform; in "bent" that is "ate", and it is left
  out. In "turned" it knows the waves.

The interval is :func:`macal.inference.average_effect` at 95 %, with its defaults. What is judged:

- Saving: in a world, "waves" saves if its mean width is below that of "srs", and learning saves if it is below that of
  "ate", each by the exact sign of the 99 % interval of the mean difference over blocks. The squared mean width of "srs"
  is taken as a + b / labels through its two sizes; the labels that a simple random sample needs follow.
- "permuted": the mean width of "waves" is at most 2 % above that of "srs", and at most 2 % above that of "ate".
- "turned": the mean width is at most 1 / sqrt(0.2) = 2.24 times that of "srs"; that is what the share allows.
- Coverage of every world and design: within a point of 95 %, by the rule of :mod:`reproduction.studies.weighted`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from macal.campaigns.evaluation import Row
from macal.inference import (
    average_effect,
    crossed_propensity,
    draw,
    inclusion,
    split_waves,
    wave_chances,
    worth_for_ate,
)
from macal.inference.weighted import LEAST
from macal.shapes import Arms, Covariates, Outcomes
from reproduction.studies import weighted
from reproduction.studies.jobs import Job
from reproduction.studies.tables import Table
from reproduction.studies.weighted import BLOCK, COVARIATES, EFFECT, LABELS, PEOPLE, SIMULATIONS, Population

SIZES = (LABELS, 2 * LABELS)  # of simple random samples
WAVES, SHARE = 4, 0.2
SEEDS = 200
STEEP = 0.8  # slope of the log s.d. of the noise
OBSERVED, TRIAL = weighted.WORLDS["observed"], weighted.WORLDS["trial"]
BY_LOT = Population(lambda x: np.zeros(len(x)), OBSERVED.mu0, OBSERVED.tau, by_lot=True)
BENT = BY_LOT._replace(mu0=weighted.WORLDS["curved"].mu0, tau=weighted.WORLDS["curved"].tau)


def _fan(x: Covariates, t: Arms, wave: Arms) -> Outcomes:
    return np.exp(STEEP * x[:, 1])


def _by_arm(low: float, high: float) -> Callable[[Covariates, Arms, Arms], Outcomes]:
    return lambda x, t, wave: np.where(t == 1, high, low)


class NoisyWorld(NamedTuple):
    """A population, and the s.d. of its noise.

    Attributes:
        people: what covariates, treatments and surfaces are drawn from.
        spread: s.d. of the noise, (n,), by covariates (n, d), treatment and wave, (n,).
        permuted: whether the noise is permuted among the people.
        known: whether "known" is drawn.
    """

    people: Population
    spread: Callable[[Covariates, Arms, Arms], Outcomes]
    permuted: bool = False
    known: bool = True


WORLDS = {
    "observed": NoisyWorld(OBSERVED, _by_arm(1.0, 1.0), known=False),
    "trial": NoisyWorld(TRIAL, _by_arm(*TRIAL.noise)),
    "fan": NoisyWorld(OBSERVED, _fan),
    "treated fan": NoisyWorld(BY_LOT, lambda x, t, wave: np.where(t == 1, np.exp(STEEP * x[:, 2]), 0.5)),
    "bent": NoisyWorld(BENT, _by_arm(0.5, 0.5), known=False),
    "permuted": NoisyWorld(OBSERVED, _fan, permuted=True, known=False),
    "turned": NoisyWorld(OBSERVED, lambda x, t, wave: np.exp(np.where(wave == 0, STEEP, -STEEP) * x[:, 1])),
}
FIVE = tuple(WORLDS)[:5]


class Drawn(NamedTuple):
    """A draw of a world: covariates (n, d); the others (n,), ``spread`` being the s.d. of the noise."""

    x: Covariates
    t: Arms
    y: Outcomes
    e: Outcomes
    wave: Arms
    spread: Outcomes


def people(world: NoisyWorld, rng: np.random.Generator) -> Drawn:
    """Draw people, their waves, and their outcomes."""
    x = rng.normal(size=(PEOPLE, COVARIATES))
    e = expit(world.people.log_odds(x))
    t = (rng.uniform(size=PEOPLE) < e).astype(np.int64)
    wave = split_waves(PEOPLE, [LABELS // WAVES] * WAVES, rng)
    spread = world.spread(x, t, wave)
    noise = spread * rng.normal(size=PEOPLE)
    noise = rng.permutation(noise) if world.permuted else noise
    return Drawn(x, t, world.people.mu0(x) + t * world.people.tau(x) + noise, e, wave, spread)


def learnt(found: Drawn, e: Outcomes, rng: np.random.Generator, seed: int) -> tuple[Outcomes, Outcomes, Row]:
    """Draw wave after wave: outcomes of whoever was asked and chances, (n,); shares of waves 2 and later."""
    told, chances, shares = np.full(PEOPLE, np.nan), np.ones(PEOPLE), []
    for k in range(WAVES):
        units = np.flatnonzero(found.wave == k)
        of_wave = wave_chances(found.x, found.t, told, chances, units, LABELS // WAVES, e, SHARE, seed)
        asked = units[draw(of_wave.chances, rng)]
        chances[units], told[asked] = of_wave.chances, found.y[asked]
        shares.append((of_wave.uniform, of_wave.learnt))
    uniform, follows = np.mean(shares[1:], axis=0).tolist()
    return told, chances, {"uniform": uniform, "learnt": follows}


def simulate(name: str, seed: int) -> list[Row]:
    """One simulation: a row per design and number of labels."""
    world, rng = WORLDS[name], np.random.default_rng([SEEDS + list(WORLDS).index(name), seed])
    found = people(world, rng)
    x, t, y, e = found[:4]
    if not world.people.by_lot:
        e = crossed_propensity(x, t, seed)
    worth = worth_for_ate(e, t)
    fixed = {("srs", size): inclusion(np.ones(PEOPLE), size, 1.0) for size in SIZES}
    fixed["ate", LABELS] = inclusion(worth, LABELS, SHARE)
    if world.known:
        fixed["known", LABELS] = inclusion(worth * found.spread, LABELS, SHARE)
    drawn = {}
    for design, chances in fixed.items():
        asked = np.isin(np.arange(PEOPLE), draw(chances, rng))
        drawn[design] = np.where(asked, y, np.nan), chances, {"uniform": np.nan, "learnt": np.nan}
    drawn["waves", LABELS] = learnt(found, e, rng, seed)
    rows: list[Row] = []
    for (design, size), (answers, chances, shares) in drawn.items():
        asked = np.isfinite(answers)
        told = {"held": False, "width": np.nan, "error": np.nan}
        if np.bincount(t[asked], minlength=2).min() >= LEAST:
            one = average_effect(x, t, answers, chances, e, seed=seed)
            told = {"held": one.low <= EFFECT <= one.high, "width": one.width, "error": one.value - EFFECT}
        rows.append({"design": design, "labelled": size, "treated": int(t[asked].sum())} | told | shares)
    return rows


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_waves``, of so many simulations of each world."""
    firsts = range(0, replications or SIMULATIONS, BLOCK)
    return [weighted.block(world, first, "waves", simulate) for world in WORLDS for first in firsts]
