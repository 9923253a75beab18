"""Does the interval of the weighted average effect hold the truth where the draw keeps to quotas and costs?

The worlds "observed" and "trial" of :mod:`reproduction.studies.weighted`; 1,000 people, 2,000 simulations in 20 blocks.
Each person has a region by her third covariate, one in ten in the smallest, and a fee of 5 + 20 expit(x1 + a standard
normal). Quotas: at least 50 labels of each region, at least 60 % treated. Designs, by :class:`macal.Planner`: "quotas",
200 labels of one cost; "costs", the money of 200 labels of mean fee. Coverage is as promised from 94 to 96 %;
``broken``, the share of plans that break a quota or the budget, must be 0.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from macal import Planner
from macal.campaigns.evaluation import Row
from macal.inference import average_effect, crossed_propensity
from macal.shapes import Outcomes
from reproduction.studies import weighted
from reproduction.studies.jobs import Job
from reproduction.studies.tables import Table
from reproduction.studies.weighted import BLOCK, EFFECT, LABELS, PEOPLE, SIMULATIONS, WORLDS, Population

NAMES = ("observed", "trial")
REGIONS = (-1.28, 0.0)  # bounds of the third covariate
LEAST, TREATED = 50, 0.6  # labels of a region; share of them that are treated
DESIGNS = {"quotas": None, "costs": "fee"}
SEEDS = 100  # added to the place of the world, so that draws are not those of the study of free draws


def table_of(world: Population, rng: np.random.Generator) -> tuple[pd.DataFrame, Outcomes, Outcomes]:
    """Draw people as a table, their outcomes and the chances of treatment, (n,) each."""
    x, t, y, e = weighted.people(world, rng)
    people = pd.DataFrame(x, columns=[f"x{k + 1}" for k in range(x.shape[1])]).assign(t=t)
    people["region"] = np.digitize(x[:, 2], REGIONS)
    people["fee"] = 5 + 20 * expit(x[:, 0] + rng.normal(size=len(x)))
    return people, y, e


def simulate(name: str, seed: int) -> list[Row]:
    """One simulation: a row per design."""
    world, rng = WORLDS[name], np.random.default_rng([SEEDS + NAMES.index(name), seed])
    people, y, e = table_of(world, rng)
    x, t = people.filter(regex="^x").to_numpy(), people.t.to_numpy()
    if not world.by_lot:
        e = crossed_propensity(x, t, seed)
    rows: list[Row] = []
    for design, cost in DESIGNS.items():
        budget = LABELS * (1.0 if cost is None else float(people.fee.mean()))
        quotas = [f"region>={LEAST}", f"t=1>={TREATED:.0%}"]
        options = {"covariates": [f"x{k + 1}" for k in range(x.shape[1])], "quotas": quotas, "seed": seed}
        planner = Planner("t", budget, draw="effect", uniform=0.2, **options | ({"cost": cost} if cost else {}))
        plan = planner.plan(people)
        asked = plan.index.to_numpy() - 1  # rows are numbered from 1
        chances, told = np.ones(PEOPLE), np.full(PEOPLE, np.nan)
        chances[asked], told[asked] = 1 / plan["weight"], y[asked]
        found = average_effect(x, t, told, chances, e, seed=seed)
        short = people.region.iloc[asked].value_counts().min() < LEAST or t[asked].mean() < TREATED
        about = {"design": design, "labelled": LABELS, "treated": int(t[asked].sum()), "asked": len(asked)}
        about["broken"] = bool(short or plan["cost"].sum() > budget * (1 + 1e-9))
        held = found.low <= EFFECT <= found.high
        rows.append(about | {"held": held, "width": found.width, "error": found.value - EFFECT})
    return rows


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_quotas``, of so many simulations of each world."""
    firsts = range(0, replications or SIMULATIONS, BLOCK)
    return [weighted.block(world, first, "quotas", simulate) for world in NAMES for first in firsts]
