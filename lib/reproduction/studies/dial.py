"""The dial: campaigns where the gain can be turned, with what a prediction of the gain is made of.

``dial`` holds errors, ``dial_curves``, and ``ihdp_curves`` and the like for other data sets, what is known of a problem
without any campaign: the pool's truth and each estimator's learning curves. The end point is log PEHE of MACAL over
Random's, averaged over sizes and replications.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from macal import acquisition, datasets, metrics
from macal.acquisition import Criterion
from macal.campaigns import begin, evaluation
from macal.models import Fitted, Model, Task
from macal.models.base import settings_of
from macal.models.meta import FittedMetaLearner
from macal.problem import Problem
from macal.shapes import Covariates
from reproduction.studies import tables
from reproduction.studies.jobs import Answer, Estimators, Job
from reproduction.studies.worlds import World, draw
from reproduction.theory import allocation

ESTIMATORS = Estimators(
    {
        "exact GP per arm": {"name": "exact-gp", "optimiser": "lbfgs"},
        "T-learner": {"name": "meta-learner", "learner": "t"},
    }
)
METHODS: dict[str, Criterion] = {
    "random": acquisition.get("random"),
    "random-balanced": acquisition.get("random-balanced"),
    "macal": acquisition.get("macal", alpha=2.5),
}
WEIGHTS: dict[str, Criterion] = {  # under Gaussian processes alone, which are the faster ones
    "macal-1": acquisition.get("macal", alpha=1.0),
    "macal-0": acquisition.get("macal", alpha=0.0),
}
RATIOS, CORRELATIONS, SHARES, SLOPES = (1 / 8, 1 / 3, 1.0, 3.0, 8.0), (-0.5, 0.0, 0.9), (0.2, 0.5), (0.0, 2.5)
SCENARIOS = [World(*knobs) for knobs in product(RATIOS, CORRELATIONS, SHARES, SLOPES)]
# replications of a world, in the order in which they are run: the first five make the rules, the others judge them
BLOCKS = (range(5), range(5, 8), range(8, 10))
CURVES = 4  # replications of a world whose curves are measured

BENCHMARKS = {  # data set -> replications, numbers of queries, labels per arm
    "ihdp": (5, (4, 8, 12), (15, 30, 60)),
    "ihdp-exchanged": (5, (4, 8, 12), (15, 30, 60)),
    "ibm": (2, (4, 8), (50, 150)),
    "cmnist": (1, (13,), (100, 300)),
}
_TOLD_APART = 3000  # units of the pool that a logistic regression is fitted to


@dataclass(frozen=True)
class Case:
    """Problems of one kind, which are judged together.

    Attributes:
        about: what is drawn: data set, protocol and the knobs, JSON values.
        seeds: of its problems.
        load: seed -> problem.
        steps: numbers of queries after which errors are measured.
        sizes: labels per arm at which learning curves are measured.
    """

    about: Mapping[str, Any]
    seeds: Sequence[int]
    load: Callable[[int], Problem]
    steps: tuple[int, ...]
    sizes: tuple[int, ...]


def world_case(place: int, replications: Sequence[int]) -> Case:
    """Return replications of a world of ``SCENARIOS``: errors at 100 labels."""
    about = {"dataset": "dial", "protocol": "paper", **asdict(SCENARIOS[place])}
    seeds = [100 * place + k for k in replications]
    return Case(about, seeds, partial(draw, SCENARIOS[place]), (9,), (15, 40, 80))


def methods(estimator: str, share: float) -> dict[str, Criterion]:
    """Criteria under an estimator, randomly selected labels at a given share of treated among them."""
    more = WEIGHTS if estimator == "exact GP per arm" else {}
    return METHODS | more | {"random-share": acquisition.get("random-share", share=share)}


def _config(case: Case, study: str, name: str, **more: Any) -> dict[str, Any]:
    settings = {"estimator": name, "settings": settings_of(ESTIMATORS[name])}
    return {**case.about, "study": study, **settings, "replications": list(case.seeds), **more}


def plan(problem: Problem, method: str, criterion: Criterion, steps: Sequence[int]) -> list[np.ndarray]:
    """Labelled sets of a label-free campaign after these numbers of queries."""
    campaign = begin(problem, criterion, method, n_queries=max(steps))
    campaign.plan()
    return [campaign.labelled(step) for step in steps]


def campaigns(case: Case, share: float) -> Job:
    """Errors of every method and estimator at every size: one row per training."""
    chosen = {name: methods(name, share) for name in ESTIMATORS}

    def work() -> list[Answer]:
        problems = [case.load(seed) for seed in case.seeds]
        return [
            Answer(errors(ESTIMATORS[k], select_sets(problems, criteria, case.steps))) for k, criteria in chosen.items()
        ]

    named = lambda c: {"name": type(c).__name__.lower(), **settings_of(c)}  # noqa: E731
    told = {name: {m: named(c) for m, c in own.items()} for name, own in chosen.items()}
    return Job([_config(case, "campaigns", k, methods=told[k], steps=list(case.steps)) for k in ESTIMATORS], work)


def select_sets(
    problems: Sequence[Problem], criteria: Mapping[str, Criterion], steps: Sequence[int]
) -> list[tuple[str, Problem, np.ndarray]]:
    """Labelled sets of every method on every problem: (method, problem, indices)."""
    return [
        (name, problem, labelled)
        for problem in problems
        for name, criterion in criteria.items()
        for labelled in plan(problem, name, criterion, steps)
    ]


def errors(model: Model, sets: Sequence[tuple[str, Problem, np.ndarray]]) -> list[evaluation.Row]:
    """Train on each (method, problem, labelled set); a row of its PEHE each."""
    fits = evaluation.train(model, [(problem, labelled) for _, problem, labelled in sets])
    return [
        {
            "replication": problem.seed,
            "method": name,
            "labelled": len(labelled),
            "treated": int(problem.pool.t[labelled].sum()),
            "pehe": metrics.pehe(fitted.predict(problem.test.x).tau, problem.test.tau),
        }
        for (name, problem, labelled), fitted in zip(sets, fits, strict=True)
    ]


def predicted_surfaces(fitted: Fitted, x: Covariates) -> Float[np.ndarray, "n 2"]:
    """What an estimator with one model per arm makes of mu_0 and mu_1."""
    if isinstance(fitted, FittedMetaLearner):
        return np.column_stack([arm.predict(x) for arm in fitted.learner.models])
    return fitted.predict(x).mean


def curve(problem: Problem, model: Model, sizes: Sequence[int]) -> list[evaluation.Row]:
    """Squared errors of both surfaces on the pool's other units, after n randomly selected labels in each arm.

    This uses the truth: no campaign can know it.

    Args:
        problem: whose pool has at least so many units in each arm.
        model: an estimator with one model per arm.
        sizes: labels per arm; the larger sets hold the smaller ones.
    """
    pool, order = problem.pool, np.random.default_rng(problem.seed).permutation(len(problem.pool))
    arms = [order[pool.t[order] == arm] for arm in (0, 1)]
    sets = [np.concatenate([own[:n] for own in arms]) for n in sizes]
    rows = []
    fits = model.fit([Task(pool[labelled], seed=problem.seed) for labelled in sets])
    for n, labelled, fitted in zip(sizes, sets, fits, strict=True):
        rest = pool[np.setdiff1d(order, labelled)]
        # (n, 2): control, treated
        gaps = predicted_surfaces(fitted, rest.x) - np.column_stack([rest.mu0, rest.mu1])
        control, treated = (gaps**2).mean(axis=0).tolist()
        rows.append({"replication": problem.seed, "n": n, "control": control, "treated": treated})
    return rows


def pool_features(problem: Problem, steps: Sequence[int]) -> dict[str, float]:
    """What a prediction knows of a problem before any outcome is bought, from the pool's truth where it must.

    Returns:
        ``natural``, share of treated in the pool; ``reached``, MACAL's share, on average over the steps; ``spread``,
        s.d. of mu_1 over that of mu_0; ``correlation`` of the two (the last two use the truth); ``separation``,
        2 AUC - 1 of a logistic regression of the treatment on the covariates, out of fold: 0 where the arms
        cannot be told apart, 1 where they are separate.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    pool = problem.pool
    some = pool[:_TOLD_APART]
    told = cross_val_predict(LogisticRegression(max_iter=2000), some.x, some.t, method="predict_proba", cv=5)[:, 1]
    sets = plan(problem, "macal", METHODS["macal"], steps)
    return {
        "natural": float(pool.t.mean()),
        "reached": float(np.mean([pool.t[labelled].mean() for labelled in sets])),
        "spread": float(pool.mu1.std() / pool.mu0.std()),
        "correlation": float(np.corrcoef(pool.mu0, pool.mu1)[0, 1]),
        "separation": float(2 * roc_auc_score(some.t, told) - 1),
    }


def curves(case: Case) -> Job:
    """Learning curves of every estimator, with the traits of the problem in every row."""

    def work() -> list[Answer]:
        problems = [case.load(seed) for seed in case.seeds]
        known = [pool_features(problem, case.steps) for problem in problems]
        rows = lambda model: [  # noqa: E731
            row | about for p, about in zip(problems, known, strict=True) for row in curve(p, model, case.sizes)
        ]
        return [Answer(rows(model)) for model in ESTIMATORS.values()]

    configs = [_config(case, "curves", name, sizes=list(case.sizes), steps=list(case.steps)) for name in ESTIMATORS]
    return Job(configs, work)


def jobs(table: tables.Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table, for so many replications each; see :meth:`.tables.Table.jobs`."""
    if table.name == "dial_curves":
        return [curves(world_case(place, range(replications or CURVES))) for place in range(len(SCENARIOS))]
    if table.line == tables.CURVES:
        default, steps, sizes = BENCHMARKS[table.dataset]
        about, load = {"dataset": table.dataset, "protocol": "paper"}, partial(datasets.load, table.dataset)
        return [curves(Case(about, range(replications or default), load, steps, sizes))]
    blocks = BLOCKS if replications is None else [range(replications)]
    shares = [allocation.best_share(world.r) for world in SCENARIOS]
    return [campaigns(world_case(k, block), share) for block in blocks for k, share in enumerate(shares)]
