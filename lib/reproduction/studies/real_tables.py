"""Six real tables that nothing was tuned to: does the default keep its lead over MACAL?

**Tables.** Those of :mod:`macal.datasets.real`. In each of 20 replications people are drawn without replacement into a
pool and a test set (``PEOPLE``), and 10 of the pool, at random, are labelled at the start.

**Outcomes.** Four surfaces on each, see :mod:`.surfaces`.

**Criteria.** ``PLANNED`` are planned once for each table and replication, the same labels for all surfaces and
estimators. With answers: ALC by the joint process. The table has rows of a rule since removed, which nothing reads.

**Estimators.** T-learners with exact processes, ridge regressions and random forests, and the DR-learner. A training
that fails counts as an effect of 0 for everybody.

**End point.** log PEHE of alc-fixed minus that of MACAL at weight 2.5, mean over surfaces, estimators, sizes (70 and
150 labels) and replications: one number per table. The mean of the six has Student's 95 % interval with 5 degrees of
freedom. It is the only comparison that is tested; leaving out one table at a time gives six intervals with 4.

**Verdict** (S4). It holds where the interval lies below 0 and the six of one table less do, too; holds in part where
the former does alone; does not hold where the interval lies above 0 or rules out a lead of 10 %; else it is undecided.
Nothing is judged before all 20 replications of all six tables are recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from macal import metrics, models
from macal.campaigns import begin, evaluation
from macal.datasets import real
from macal.models.base import settings_of
from macal.problem import Problem, Split
from macal.shapes import Indices
from reproduction.studies import surfaces
from reproduction.studies.bench import CHOOSER, criterion
from reproduction.studies.jobs import Answer, Estimators, Job
from reproduction.studies.tables import Table

REPLICATIONS, START, BATCH, STEPS = 20, 10, 10, (6, 14)  # 70 and 150 labels
PEOPLE = {  # in the pool, in the test set
    "rhc": (1500, 1000),
    "college": (1500, 1000),
    "letters": (1500, 1000),
    "hiv": (1500, 1000),
    "lalonde": (6000, 2000),
    "insurance": (1000, 410),
}
PLANNED = ("alc-fixed", "macal", "macal-0", "macal-1", "macal-rolling", "qhte", "random-balanced", "random")
CHOSEN = ("alc",)
METHODS = (*PLANNED, *CHOSEN)
ONE, OTHER = "alc-fixed", "macal"  # of the one comparison that is tested
ESTIMATORS = Estimators(
    {
        "exact GP": {"name": "exact-gp", "optimiser": "lbfgs"},
        "ridge": {"name": "meta-learner", "base": "ridge"},
        "forest": {"name": "meta-learner", "base": "forest"},
        "DR-learner": {"name": "meta-learner", "learner": "dr"},
    }
)


def draw(name: str, replication: int) -> dict[str, Problem]:
    """Draw the problems of a table: the same people and start, another outcome function for each surface.

    Args:
        name: of the table.
        replication: everything that is drawn goes by it, and by the table's name.
    """
    rng = np.random.default_rng([replication, *name.encode()])
    table, (pool, test) = real.people(name), PEOPLE[name]
    rows = rng.permutation(len(table.t))[: pool + test]
    start = rng.choice(pool, START, replace=False)
    x, t = table.covariates(rows[:pool])[rows], table.t[rows]
    found = {}
    for surface in surfaces.SURFACES:
        own = np.random.default_rng([replication, *name.encode(), *surface.encode()])
        units = Split(x, t, *surfaces.outcomes(surface, name, rows, x, t, own))
        found[surface] = Problem(name, units[:pool], units[pool:], start, None, BATCH, max(STEPS), replication)
    return found


def bought(problems: Mapping[str, Problem], method: str) -> dict[str, list[Indices]]:
    """Batches of a criterion on each surface's problem; of one that needs no answers, the same on all."""
    found: dict[str, list[Indices]] = {}
    for surface, problem in problems.items():
        played = begin(problem, criterion(method), method)
        if found and not played.criterion.is_adaptive:
            found[surface] = next(iter(found.values()))
            continue
        played.play(CHOOSER)
        found[surface] = played.batches
    return found


def errors(problem: Problem, labelled: Indices) -> list[evaluation.Row]:
    """PEHE of each estimator after these labels, one row each, and that of the best constant effect, ``constant``."""
    rows: list[evaluation.Row] = []
    tau = problem.test.tau
    for name, model in ESTIMATORS.items():
        try:
            (fitted,) = evaluation.train(model, [(problem, labelled)])
            found, failed = fitted.predict(problem.test.x).tau, False
        except models.NotFitted:
            found, failed = np.zeros(len(tau)), True
        about = {"labelled": len(labelled), "treated": int(problem.pool.t[labelled].sum())}
        pehe = metrics.pehe(found, tau)
        rows.append({"model": name, **about, "pehe": pehe, "constant": float(tau.std()), "failed": failed})
    return rows


def play(problems: Mapping[str, Problem], methods: Sequence[str]) -> list[Answer]:
    """What some criteria buy, and what every estimator makes of it on each surface: an answer for each criterion.

    Picks are the batches; where answers decide them, those of all surfaces, one after the other.
    """
    found = []
    for method in methods:
        batches = bought(problems, method)
        rows = [
            {"surface": surface, **row}
            for surface, problem in problems.items()
            for step in STEPS
            for row in errors(problem, problem.labelled(batches[surface][:step]))
        ]
        own = list(batches.values()) if criterion(method).is_adaptive else list(batches.values())[:1]
        found.append(Answer(rows, [batch for one in own for batch in one]))
    return found


def campaigns(name: str, replication: int, methods: Sequence[str]) -> Job:
    """Some criteria's campaigns on a replication of a table."""
    shared = {
        "dataset": "tables",
        "protocol": "paper",
        "study": "real_tables",
        "table": name,
        "replication": replication,
        "people": {"pool": PEOPLE[name][0], "test": PEOPLE[name][1], "start": START, "batch": BATCH},
        "steps": list(STEPS),
        "surfaces": list(surfaces.SURFACES),
        "drawn": {"effect": surfaces.EFFECT, "spread": surfaces.SPREAD, "noise": surfaces.NOISE},
        "estimators": {name: settings_of(model) for name, model in ESTIMATORS.items()},
    }
    configs = [{**shared, **_named(method)} for method in methods]
    return Job(configs, lambda: play(draw(name, replication), methods), sources=lambda: real.people(name).sources)


def _named(method: str) -> dict[str, Any]:
    rule = criterion(method)
    chooser = settings_of(CHOOSER) if rule.is_adaptive else None
    return {"method": method, "criterion": asdict(rule), "chooser": chooser}


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``bench_tables``, one replication of all tables after the other; see :meth:`.Table.jobs`."""
    return [
        campaigns(name, replication, methods)
        for replication in range(replications or REPLICATIONS)
        for name in PEOPLE
        for methods in (PLANNED, CHOSEN)
    ]
