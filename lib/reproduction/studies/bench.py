"""The bench: every criterion on every data set, each labelled set judged by every estimator.

Criteria that need a model go by the joint Gaussian process, whichever model judges: the labels of a campaign are the
same for all estimators. BADGE, BAIT and LCMD need the gradients of a network and are not on the bench. End point: log
PEHE of a criterion over that of another, mean over sizes, then over replications. "bench_toy-starts" is the toy with
processes that are fitted from several starts; no verdict counts it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from macal import datasets, metrics, models
from macal.campaigns import begin, evaluation
from macal.models.base import settings_of
from macal.problem import Problem
from reproduction.methods import Method
from reproduction.studies.jobs import Answer, Estimators, Job
from reproduction.studies.tables import Table

ESTIMATORS = Estimators(
    {
        "exact GP": {"name": "exact-gp", "optimiser": "lbfgs"},
        "joint GP": {"name": "joint-gp"},
        **{f"{name.upper()}-learner": {"name": "meta-learner", "learner": name} for name in ("s", "t", "x", "dr")},
        "causal forest": {"name": "meta-learner", "learner": "forest"},
    }
)
CHOOSER = models.get("joint-gp")
PLANNED = "random random-balanced qhte macal macal-0 macal-1 macal-rolling fccm abc3 alc-fixed".split()
CHOSEN = "mu-bald rho-bald mu-rho-bald neyman macal-neyman alc epig-mu epig-tau epig-tau-ahead".split()
METHODS = {name: Method.parse(name) for name in (*PLANNED, *CHOSEN)}


class BenchSettings(NamedTuple):
    """On what terms a data set is on the bench.

    Attributes:
        replications: how many, from 0.
        steps: numbers of queries after which the labelled set is judged.
        estimators: that judge it.
        starts: of every process' fit, the choosing one's too.
    """

    replications: int
    steps: tuple[int, ...]
    estimators: tuple[str, ...] = tuple(ESTIMATORS)
    starts: int = 1

    def model(self, model: models.Model) -> models.Model:
        """A process with that many starts."""
        return replace(model, starts=self.starts) if self.starts > 1 else model


DATA = {
    "ihdp": BenchSettings(20, (4, 8, 12)),
    "ihdp-exchanged": BenchSettings(20, (4, 8, 12)),
    "ihdp-a": BenchSettings(20, (4, 8, 12)),
    "toy": BenchSettings(20, (4, 8, 12)),
    "acic": BenchSettings(20, (5, 15)),  # two splits of each of ten responses
    "ibm": BenchSettings(10, (4, 8, 20), ("exact GP", "joint GP", "T-learner")),
    "cmnist": BenchSettings(5, (4, 13), ("exact GP", "joint GP")),
}
ADDED = {"bench_toy-starts": DATA["toy"]._replace(estimators=("exact GP", "joint GP"), starts=3)}


def errors(problem: Problem, sets: Sequence[Any], estimators: Mapping[str, models.Model]) -> list[evaluation.Row]:
    """PEHE of each estimator on each labelled set, one row each."""
    return [
        {
            "model": name,
            "labelled": len(labelled),
            "treated": int(problem.pool.t[labelled].sum()),
            "pehe": metrics.pehe(fitted.predict(problem.test.x).tau, problem.test.tau),
        }
        for name, model in estimators.items()
        for labelled, fitted in zip(sets, evaluation.train(model, [(problem, s) for s in sets]), strict=True)
    ]


def campaign(dataset: str, replication: int, method: str, terms: BenchSettings | None = None) -> Job:
    """One campaign, and what every estimator on its terms, those of its data set by default, makes of its labels."""
    terms = terms or DATA[dataset]
    estimators = {name: terms.model(ESTIMATORS[name]) for name in terms.estimators}
    chooser, lookahead, criterion = terms.model(CHOOSER), METHODS[method].lookahead, METHODS[method].make()

    def work() -> list[Answer]:
        problem = datasets.load(dataset, replication)
        played = begin(problem, criterion, method, n_queries=max(terms.steps))
        played.choose_remaining(chooser, lookahead)
        sets = [played.labelled(step) for step in terms.steps]
        return [Answer(errors(problem, sets, estimators), played.batches)]

    config = {
        "dataset": dataset,
        "protocol": "paper",
        "study": "bench",
        "replication": replication,
        "method": method,
        "criterion": settings_of(criterion),
        "ahead": lookahead,
        "chooser": settings_of(chooser) if criterion.is_adaptive else None,
        "steps": list(terms.steps),
        "estimators": {name: settings_of(model) for name, model in estimators.items()},
    }
    return Job([config], work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table, for so many replications; see :meth:`.tables.Table.jobs`."""
    terms = ADDED.get(table.name) or DATA[table.dataset]
    seeds = range(replications or terms.replications)
    return [campaign(table.dataset, seed, method, terms) for seed in seeds for method in METHODS]
