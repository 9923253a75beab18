"""Rounds: what it is worth that later rounds of a plan learn from the answers of earlier ones.

Fixed before the first run. A trial on replications 0 to 9 of IHDP and its exchanged surfaces, of one setting alone and
without refusals, had been looked at.

**Settings** (``SETTINGS``). 120 people are asked in 3 or 5 rounds, under :class:`macal.Planner`. In "refusals" each
person refuses with the chance 0.3, which nobody expects; in "late" the answers of a round come after the next one has
been planned.

**Rules** (``RULES``). "learned": the planner's default, fixed settings until the answers say more, then ALC by the
process fitted to them. "at once": ALC by that process whatever the evidence. "never": fixed settings, "alc-fixed".
MACAL and Random. All know the start's outcomes.

**Data.** "toy", "ihdp", "ihdp-exchanged", "ihdp-a" and "acic" (two splits of each of ten responses); replications 0 to
19. IBM, CMNIST and other estimators are left out for their time.

**End point.** log PEHE, mean over the last two rounds, of exact processes and of the T-learner; paired by replication.
A row is a data set under an estimator in a setting: 40 rows. ``learns`` is the share of plans after the first that went
by the answers.

**Expected** (from the plan of this part): over data sets and estimators the mean of "learned" lies at least half of the
way from "never" to "at once" in every setting, and on no row is "learned" worse than "never" by more than 4 %: no
interval, adjusted for all rows, lies above log 1.04.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from macal import Planner, datasets, models
from macal.campaigns.evaluation import Row
from macal.problem import Problem
from macal.shapes import Indices
from reproduction.studies.bench import ESTIMATORS, errors
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

REPLICATIONS, ASKED, JUDGED = 20, 120, 2
MODELS = ("exact GP", "T-learner")


class Setting(NamedTuple):
    """How a campaign goes.

    Attributes:
        rounds: in which people are asked.
        refusing: chance to refuse.
        late: whether answers come a round late.
    """

    rounds: int
    refusing: float = 0.0
    late: bool = False


SETTINGS = {
    "3 rounds": Setting(3),
    "5 rounds": Setting(5),
    "5 rounds, refusals": Setting(5, refusing=0.3),
    "5 rounds, late": Setting(5, late=True),
}
RULES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "learned": ("alc-learned", {}),
    "at once": ("alc-learned", {"threshold": -1e9}),
    "never": ("alc-fixed", {}),
    "macal": ("macal", {}),
    "random": ("random", {}),
}


def people(problem: Problem) -> pd.DataFrame:
    """The table of a pool's covariates, treatments and outcomes, only those of the start known; rows count from 1."""
    pool = problem.pool
    table = pd.DataFrame(pool.x.astype(np.float64), columns=[f"x{k}" for k in range(pool.x.shape[1])])
    table = table.assign(t=pool.t, y=np.nan)
    table.loc[problem.start, "y"] = pool.y[problem.start]
    return table


def planner(table: pd.DataFrame, rule: str, budget: int, batch: int, seed: int) -> Planner:
    """A planner of ``budget`` labels in rounds of ``batch``, by a rule of ``RULES``."""
    criterion, parameters = RULES[rule]
    names = table.columns[:-2].tolist()
    options = {"covariates": names, "outcome": "y", "batch_size": batch, "seed": seed}
    options["kinds"] = dict.fromkeys(names, "number")  # what is constant in a pool, or a copy, stays a covariate
    return Planner("t", budget, criterion=criterion, parameters=parameters, **options)


def played(problem: Problem, setting: Setting, rule: str, seed: int) -> tuple[list[Indices], int]:
    """Play a campaign; return who is labelled after each round, and how many later plans went by the answers."""
    pool, table = problem.pool, people(problem)
    refuses = np.random.default_rng([seed, 1]).random(len(pool)) < setting.refusing
    plans = planner(table, rule, ASKED, ASKED // setting.rounds, seed)
    plans.plan(table)
    labelled, waiting, learns = [], dict[int, float | None](), 0
    for number in range(1, setting.rounds + 1):
        asked = plans.planned.index[plans.planned["round"] == number]
        new = {name: None if refuses[name - 1] else float(pool.y[name - 1]) for name in asked.tolist()}  # rows from 1
        plans.observe(waiting if setting.late else new, through=number)
        waiting = new
        told = [name - 1 for name, outcome in {**plans.answers, **new}.items() if outcome is not None]
        labelled.append(np.concatenate([problem.start, np.array(told, np.int64)]))
        if number < setting.rounds:
            plans.replan()
            learns += plans.campaign.learns
    return labelled, learns


def campaign(dataset: str, replication: int, name: str, rule: str) -> Job:
    """One campaign, and what the estimators make of its labels."""
    setting = SETTINGS[name]

    def work() -> list[Answer]:
        problem = datasets.load(dataset, replication)
        labelled, learns = played(problem, setting, rule, replication)
        judged = labelled[-JUDGED:]
        rows: list[Row] = errors(problem, judged, {model: ESTIMATORS[model] for model in MODELS})
        share = learns / (setting.rounds - 1)
        about = {"setting": name, "learns": share}
        whom = np.setdiff1d(judged[-1], problem.start, assume_unique=True)
        return [Answer([about | row for row in rows], [whom])]

    criterion, parameters = RULES[rule]
    config = {
        "dataset": dataset,
        "protocol": "paper",
        "study": "rounds",
        "replication": replication,
        "method": rule,
        "criterion": {"name": criterion, **parameters},
        "setting": name,
        **setting._asdict(),
        "asked": ASKED,
        "judged": JUDGED,
        "estimators": {model: models.base.settings_of(ESTIMATORS[model]) for model in MODELS},
    }
    return Job([config], work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table, replication by replication; see :meth:`.tables.Table.jobs`."""
    seeds = range(replications or REPLICATIONS)
    return [campaign(table.dataset, seed, name, rule) for seed in seeds for name in SETTINGS for rule in RULES]
