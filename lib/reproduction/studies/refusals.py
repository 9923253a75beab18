"""Do weighted intervals hold where some refuse, on other targets, over groups and over all looks?

1,000 people, six standard normal covariates; log odds of treatment 0.8 x1; effect 1 + x1; noise of s.d. 1. Worlds:

- "linear": mu0 = x1 + x2 / 2; the outcome models, ridge regressions, are right.
- "bent": mu0 = x1 + 2 |x3|; they are wrong.
- "rare": mu0 = x1 + x2 / 2; the effect is 20 for those with x4 above its 95 % quantile, 0 for all others.

2,000 simulations of each, in 20 blocks, by the seed (200 + place of the world, s). 200 people ("rare": 75) are drawn by
worth for their target, a fifth uniform. The log odds to answer are a + x2 - t / 2 ("right"), which the model of
responses holds, or a - 1.6 |x1| - t / 2 ("wrong"), a such that 10 or 30 % refuse. Designs in "linear" and "bent":

- "all", with 0, 10 and 30 % of refusals, right and wrong: the average effect;
- "treated", "overlap": these targets with 30 % of refusals, right;
- "groups": four groups by quartiles of x5, 400 labels: whether all four intervals hold at once;
- "looks, rounds" and "looks, any": four rounds of 50: whether the intervals of all four looks hold;
- "stopped": of "looks, rounds" that at the first look at which it is at most 1.3 wide, or the last.

In "linear" besides "reserves": by :class:`macal.Planner`, at least 40 expected answers of each half of x3; who refuses
is replaced by the reserve. In "rare": "free", 75 labels; "stratum", 25 of these in the twentieth with the effect.

Coverage is as promised where the exact 99 % interval of the share that holds contains 95 %; over groups and looks where
its upper end is 95 % or more.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from macal import Planner
from macal.campaigns.evaluation import Row
from macal.inference import (
    Estimate,
    Survey,
    at_a_look,
    at_any_look,
    average_effect,
    crossed_propensity,
    draw,
    group_effects,
    inclusion,
    target_effect,
    worth_for,
)
from macal.planner.weights import weighed
from macal.shapes import Arms, Covariates, Outcomes
from reproduction.studies import weighted
from reproduction.studies.jobs import Job
from reproduction.studies.tables import Table
from reproduction.studies.weighted import BLOCK, LABELS, PEOPLE, SIMULATIONS, Population

SEEDS, UNIFORM, FEW, ROUND, SHORT = 200, 0.2, 75, 50, 1.3
RARE = float(ndtri(0.95))
GROUPS = ndtri([0.25, 0.5, 0.75])
WORLDS = {
    "linear": Population(lambda x: 0.8 * x[:, 0], lambda x: x[:, 0] + x[:, 1] / 2, lambda x: 1 + x[:, 0]),
    "bent": Population(lambda x: 0.8 * x[:, 0], lambda x: x[:, 0] + 2 * np.abs(x[:, 2]), lambda x: 1 + x[:, 0]),
    "rare": Population(lambda x: 0.8 * x[:, 0], lambda x: x[:, 0] + x[:, 1] / 2, lambda x: 20.0 * (x[:, 3] > RARE)),
}
ANSWERS: dict[str, Callable[[Covariates, Arms], Outcomes]] = {
    "right": lambda x, t: x[:, 1] - t / 2,
    "wrong": lambda x, t: -1.6 * np.abs(x[:, 0]) - t / 2,
}


def truth(target: str) -> float:
    """E[h (1 + x1)] / E[h], by Gauss and Hermite's rule."""
    at, share = np.polynomial.hermite_e.hermegauss(80)
    e = expit(0.8 * at)
    h = {"all": np.ones(80), "treated": e, "overlap": e * (1 - e)}[target] * share
    return float(h @ (1 + at) / h.sum())


@cache
def intercept(kind: str, refusing: float) -> float:
    """Such that this share refuses, in a sample of 100,000 people."""
    x, t, *_ = _people("linear", np.random.default_rng(SEEDS), 100_000)
    odds = ANSWERS[kind](x, t)
    return float(brentq(lambda a: expit(a + odds).mean() - (1 - refusing), -10, 20))


def _people(name: str, rng: np.random.Generator, n: int = PEOPLE) -> tuple[Covariates, Arms, Outcomes, Outcomes]:
    return weighted.people(WORLDS[name], rng, n)


def _asked(chances: Outcomes, rng: np.random.Generator) -> np.ndarray:
    return np.isin(np.arange(len(chances)), draw(chances, rng))


class _Simulation:
    """People of a world, and what is drawn from them."""

    def __init__(self, name: str, seed: int) -> None:
        self.seed, self.rng = seed, np.random.default_rng([SEEDS + list(WORLDS).index(name), seed])
        self.x, self.t, self.y, _ = _people(name, self.rng)
        self.e = crossed_propensity(self.x, self.t, seed)

    def chances(self, target: str, size: int) -> Outcomes:
        return inclusion(worth_for(target, self.e, self.t), size, UNIFORM)

    def answers(self, kind: str, refusing: float) -> np.ndarray:
        odds = intercept(kind, refusing) + ANSWERS[kind](self.x, self.t)
        return self.rng.uniform(size=len(self.t)) < expit(odds)

    def row(self, design: str, asked: int, found: Estimate, effect: float, held: bool | None = None) -> Row:
        held = found.low <= effect <= found.high if held is None else held
        about = {"design": design, "labelled": asked, "treated": np.nan}
        return about | {"held": bool(held), "width": found.width, "error": found.value - effect}

    def survey(self, target: str, kind: str, refusing: float, size: int = LABELS) -> Survey:
        chances = self.chances(target, size)
        asked = _asked(chances, self.rng)
        told = asked & self.answers(kind, refusing) if refusing else asked
        return Survey(self.x, self.t, np.where(told, self.y, np.nan), chances, asked, seed=self.seed)

    def refusals(self) -> list[Row]:
        rows = [self.row("all", LABELS, target_effect(self.survey("all", "right", 0.0)), 1.0)]
        for kind in ANSWERS:
            for refusing in (0.1, 0.3):
                found = target_effect(self.survey("all", kind, refusing))
                rows.append(self.row(f"all, {refusing:.0%}, {kind}", LABELS, found, 1.0))
        for target in ("treated", "overlap"):
            found = target_effect(self.survey(target, "right", 0.3), target)
            rows.append(self.row(target, LABELS, found, truth(target)))
        return rows

    def groups(self) -> list[Row]:
        survey = self.survey("all", "right", 0.0, 2 * LABELS)
        found = list(group_effects(survey, np.digitize(self.x[:, 4], GROUPS)).values())
        return [self.row("groups", 2 * LABELS, found[0], 1.0, all(one.low <= 1 <= one.high for one in found))]

    def looks(self) -> list[Row]:
        chances = self.chances("all", LABELS)
        order, found = draw(chances, self.rng), []
        sizes = range(ROUND, LABELS + 1, ROUND)
        for k in sizes:
            told = np.where(np.isin(np.arange(len(self.t)), order[:k]), self.y, np.nan)
            one = average_effect(self.x, self.t, told, chances * k / LABELS, self.e, seed=self.seed)
            shares = [size / LABELS for size in sizes if size <= k]
            found.append((at_a_look(one, k, shares), at_any_look(one, shares[-1])))
        rows = []
        for place, name in enumerate(("rounds", "any")):
            own = [pair[place] for pair in found]
            rows.append(self.row(f"looks, {name}", LABELS, own[-1], 1.0, all(one.low <= 1 <= one.high for one in own)))
        stopped = next((one for one, _ in found if one.width <= SHORT), found[-1][0])
        return [*rows, self.row("stopped", LABELS, stopped, 1.0)]

    def reserves(self) -> list[Row]:
        people = pd.DataFrame(self.x, columns=[f"x{k + 1}" for k in range(self.x.shape[1])]).assign(t=self.t)
        options = {"covariates": list(people.columns[:-1]), "quotas": ["half>=40"], "response": 0.7, "seed": self.seed}
        planner = Planner("t", LABELS, draw="effect", uniform=UNIFORM, batch_size=None, **options)
        plan = planner.plan(people.assign(half=people["x3"] > 0))
        said = pd.Series(np.where(self.answers("right", 0.3), self.y, np.nan), planner.people.table.index)
        planner.observe(said[plan.index])
        gone = plan["reserve"][said[plan.index].isna()].dropna()
        planner.observe(said[gone.to_list()])
        found = weighed(planner.campaign, planner.campaign.outcomes, 1).estimate
        return [self.row("reserves", LABELS, found, 1.0)]

    def rare(self) -> list[Row]:
        worth, rare = worth_for("all", self.e, self.t), self.x[:, 3] > RARE
        split = np.zeros(len(self.t))
        for some, size in ((rare, FEW // 3), (~rare, FEW - FEW // 3)):
            split[some] = inclusion(worth[some], min(size, int(some.sum())), UNIFORM)
        rows = []
        for design, chances in (("free", self.chances("all", FEW)), ("stratum", split)):
            told = np.full(len(self.t), False)
            for some in (rare, ~rare) if design == "stratum" else (np.full(len(self.t), True),):
                told[np.flatnonzero(some)[draw(chances[some], self.rng)]] = True
            one = average_effect(self.x, self.t, np.where(told, self.y, np.nan), chances, self.e, seed=self.seed)
            rows.append(self.row(design, FEW, one, 1.0))
        return rows


def simulate(name: str, seed: int) -> list[Row]:
    """One simulation: a row per design."""
    made = _Simulation(name, seed)
    if name == "rare":
        return made.rare()
    return [*made.refusals(), *made.groups(), *made.looks(), *(made.reserves() if name == "linear" else [])]


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_refusals``, of so many simulations of each world."""
    firsts = range(0, replications or SIMULATIONS, BLOCK)
    return [weighted.block(world, first, "refusals", simulate) for first in firsts for world in WORLDS]
