"""Pilots: how many labels to buy before the plan follows the answers, and by which rule.

Fixed before the first run.

**Campaigns.** ``ASKED`` labels, all answered. The first ``SIZES`` of them are a pilot; the rest is planned once, by the
planner's default, from the pilot's answers and the start's. A pilot is bought by fixed settings ("fixed", as the
default buys its first round) or at random ("drawn"). Two more: "never", all labels by fixed settings, planned at once;
"rounds", the default in ten rounds.

**Data.** "toy", "ihdp", "ihdp-exchanged", "ihdp-a" and "acic", as :mod:`.rounds` has them; replications 20 to 39, which
that study did not use.

**End point.** log PEHE after all labels, of exact processes and of the T-learner, minus that of "never"; paired by
replication. A row is a data set under an estimator: 10 rows. ``learns`` is the share of later plans that went by the
answers.

**What is judged.**

- Each of the 7 campaigns against "never": the mean over rows, an interval over replications adjusted for all 7.
- A drawn pilot against a fixed one of its size: 3 intervals, adjusted for these.
- Price: the mean over the rows on which learning at once from five rounds had no lower mean error than "never" in the
  tables of :mod:`.rounds`, which choose the rows, from other replications; and the worst row's mean.

**Decision.** The pilot to recommend is the "fixed" one of the smallest mean, if its interval lies below 0; a drawn one
of its size takes its place if the interval between them lies below 0. If no interval lies below 0, no pilot is shown
to pay, and the size is left to the user.
"""

from pathlib import Path

import numpy as np

from macal import datasets, models
from macal.problem import Problem
from macal.shapes import Indices
from reproduction.studies import rounds
from reproduction.studies.bench import ESTIMATORS, errors
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.rounds import ASKED, MODELS, RULES
from reproduction.studies.tables import Table

FIRST, REPLICATIONS, STEP = 20, 20, 12
SIZES = (12, 24, 48)
CAMPAIGNS: dict[str, tuple[str, tuple[int, ...]]] = {  # rule of the pilot; the sizes at which the rest is planned anew
    "never": ("never", ()),
    "rounds": ("learned", tuple(range(STEP, ASKED, STEP))),
    **{f"fixed, {size}": ("learned", (size,)) for size in SIZES},
    **{f"drawn, {size}": ("random", (size,)) for size in SIZES},
}


def played(problem: Problem, name: str, seed: int) -> tuple[Indices, float]:
    """Play a campaign; return who is labelled in the end, and the share of later plans that went by the answers."""
    rule, anew = CAMPAIGNS[name]
    people = rounds.people(problem)
    if rule == "random":
        drawn = rounds.planner(people, "random", anew[0], STEP, seed)
        pilot = drawn.plan(people).index.to_numpy() - 1  # rows from 1
        people.loc[pilot, "y"] = problem.pool.y[pilot]
        planner = rounds.planner(people, "learned", ASKED - anew[0], STEP, seed)
        rest = planner.plan(people).index.to_numpy() - 1
        return np.concatenate([problem.start, pilot, rest]), float(planner.campaign.learns)
    planner, learns = rounds.planner(people, rule, ASKED, STEP, seed), 0
    planner.plan(people)
    for size in anew:
        asked = planner.planned.index[planner.planned["round"] <= size // STEP].difference([*planner.answers])
        planner.observe({row: float(problem.pool.y[row - 1]) for row in asked}, through=size // STEP)
        planner.replan()
        learns += planner.campaign.learns
    asked = {*planner.answers, *planner.planned.index}
    return np.concatenate([problem.start, np.array(sorted(asked)) - 1]), learns / max(len(anew), 1)


def campaign(dataset: str, replication: int, name: str) -> Job:
    """One campaign, and what the estimators make of its labels."""

    def work() -> list[Answer]:
        problem = datasets.load(dataset, replication)
        labelled, learns = played(problem, name, replication)
        rows = errors(problem, [labelled], {model: ESTIMATORS[model] for model in MODELS})
        whom = np.setdiff1d(labelled, problem.start, assume_unique=True)
        return [Answer([{"learns": learns} | row for row in rows], [whom])]

    rule, anew = CAMPAIGNS[name]
    criterion, parameters = RULES[rule]
    config = {
        "dataset": dataset,
        "protocol": "paper",
        "study": "pilots",
        "replication": replication,
        "method": name,
        "criterion": {"name": criterion, **parameters},
        "anew": list(anew),
        "step": STEP,
        "asked": ASKED,
        "estimators": {model: models.base.settings_of(ESTIMATORS[model]) for model in MODELS},
    }
    return Job([config], work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table, replication by replication; see :meth:`.tables.Table.jobs`."""
    seeds = range(FIRST, FIRST + (replications or REPLICATIONS))
    return [campaign(table.dataset, seed, name) for seed in seeds for name in CAMPAIGNS]
