"""The toy study of the paper's Figure 1 and its controls: which campaigns, what is measured, how it is recorded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal import acquisition, metrics, models
from macal.acquisition import Criterion
from macal.campaigns import evaluation, loop
from macal.datasets import toy
from macal.models.base import settings_of
from macal.models.exact_gp import FittedGP
from macal.problem import Problem
from macal.shapes import Indices
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

SEEDS = 20  # of the paper's figure
ALPHAS = (0.0, 0.5, 1.0, 2.5, 10.0)
FIGURE: dict[str, Criterion] = {name: acquisition.get(name) for name in ("random", "uncertainty", "symmetry")}
FIGURE["macal"] = acquisition.get("macal", alpha=1.0)
CONTROLS: dict[str, Criterion] = {name: acquisition.get(name) for name in ("random-balanced", "qhte")}
# the square does not move the farthest unit, so that at alpha 0 there is but one metric
VARIANTS: dict[str, Criterion] = {
    f"macal {alpha:g} {metric}": acquisition.get("macal", alpha=alpha, metric=metric)
    for metric in ("euclidean", "sqeuclidean")
    for alpha in ALPHAS
    if (alpha, metric) not in ((1.0, "euclidean"), (0.0, "sqeuclidean"))
}


@dataclass(frozen=True)
class Part:
    """Campaigns that differ in their criteria alone.

    Attributes:
        criteria: by the name in column ``method``.
        optimiser: of the Gaussian processes, "adam" or "lbfgs".
        protocol: "paper" splits pool and test 3:1, "code" 4:1.
        centre: of the controls' cloud, and minus that of the treated's; 2.5 in the paper's text.
        every: label-free campaigns are trained at every so many queries.
    """

    criteria: Mapping[str, Criterion]
    optimiser: str = "adam"
    protocol: str = "paper"
    centre: float = 2.5
    every: int = 1


_SQUARED = "macal 1 sqeuclidean"
RECORDED: dict[str, tuple[Part, ...]] = {  # by name of the table; parts of one table share model and protocol
    "toy": (Part(FIGURE), Part(CONTROLS)),
    "toy_lbfgs": (Part(FIGURE | CONTROLS, "lbfgs"),),
    "toy_far": (Part(FIGURE | {_SQUARED: VARIANTS[_SQUARED]}, centre=5.0, every=2),),
    "toy_code": (Part(FIGURE | {_SQUARED: VARIANTS[_SQUARED]}, protocol="code", every=2),),
    "toy_macal": (Part(VARIANTS, every=3),),
}


def model(optimiser: str = "adam") -> models.exact_gp.ExactGP:
    """One exact GP per arm on the outcomes as they are, from gpytorch's initial values: the paper's toy model."""
    return models.get("exact-gp", optimiser=optimiser, standardise=False)


def variance(problem: Problem, labelled: Indices, fitted: FittedGP) -> float:
    """Figure 1c: mean over the whole pool, labelled units included, of the predictive variance of the own arm."""
    pool = problem.pool
    cov = fitted.predict(pool.x).cov
    return float(cov[np.arange(len(pool)), pool.t, pool.t].mean())


def surrogate(problem: Problem, labelled: Indices, fitted: FittedGP) -> float:
    """Figure 1b: :func:`macal.metrics.sinkhorn_surrogate` between the labelled arms; NaN while an arm is empty."""
    x, t = problem.pool.x[labelled], problem.pool.t[labelled]
    return metrics.sinkhorn_surrogate(x, t) if 0 < t.sum() < len(t) else np.nan


def evidence(problem: Problem, labelled: Indices, fitted: FittedGP) -> float:
    """Log marginal likelihood of both arms together, per labelled unit."""
    return sum(gp.evidence * len(gp.x) for gp in fitted.gps if gp is not None) / len(labelled)


def noise(problem: Problem, labelled: Indices, fitted: FittedGP) -> float:
    """The larger of the two arms' fitted noise variances; the data have none."""
    return max(gp.noise for gp in fitted.gps if gp is not None)


MEASURES = {"variance": variance, "surrogate": surrogate, "evidence": evidence, "noise": noise}


def run(part: Part, seeds: Iterable[int], **options: int) -> pd.DataFrame:
    """Run the campaigns of a part; the rows and picks of :func:`macal.run_all`, with the columns of ``MEASURES``."""
    problems = [toy.load(seed, part.protocol, part.centre) for seed in seeds]
    return loop.run_all(problems, part.criteria, model(part.optimiser), part.every, MEASURES, **options)


def without_overlap(problem: Problem) -> np.ndarray:
    """Which test units lie outside the range of the pool's treated or of its controls, (n,) bool."""
    x, t = problem.pool.x[:, 0], problem.pool.t
    low, high = (edge([pick(x[t == arm]) for arm in (0, 1)]) for edge, pick in ((max, np.min), (min, np.max)))
    return (problem.test.x[:, 0] < low) | (problem.test.x[:, 0] > high)


def final_errors(table: pd.DataFrame, method: str = "macal", optimiser: str = "adam") -> pd.DataFrame:
    """Fit each campaign's last labelled set again, and say where its error lies.

    Returns:
        By replication: ``pehe``; ``overlap``, the same over test units that are inside the range of both arms;
        ``units``, the share of test units that are not, and ``squares``, their share of the squared error.
    """
    wanted = [r for r in table.attrs["records"] if r["config"]["method"] == method]
    problems = {
        r["config"]["replication"]: toy.load(r["config"]["replication"], r["config"]["protocol"]) for r in wanted
    }
    sets = [p.labelled(r["picks"]) for p, r in zip(problems.values(), wanted, strict=True)]
    fits = evaluation.train(model(optimiser), list(zip(problems.values(), sets, strict=True)))
    rows = {}
    for (seed, problem), fitted in zip(problems.items(), fits, strict=True):
        squares, out = (fitted.predict(problem.test.x).tau - problem.test.tau) ** 2, without_overlap(problem)
        inside = np.sqrt(squares[~out].mean())
        rows[seed] = np.sqrt(squares.mean()), inside, out.mean(), squares[out].sum() / squares.sum()
    columns = ["pehe", "overlap", "units", "squares"]
    return pd.DataFrame.from_dict(rows, "index", columns=columns).rename_axis("replication").sort_index()


def configs(part: Part, seeds: Iterable[int]) -> list[dict[str, Any]]:
    """Say what the campaigns of a part answer, one configuration each, in the order of their picks."""
    shared = {"dataset": "toy", "protocol": part.protocol, "centre": part.centre}
    fitted = {"name": "exact-gp", **settings_of(model(part.optimiser))}
    criteria = {name: {"name": type(c).__name__.lower(), **settings_of(c)} for name, c in part.criteria.items()}
    return [
        {**shared, "replication": seed, "method": name, "criterion": criteria[name], "model": fitted}
        for seed in seeds
        for name in part.criteria
    ]


def job(part: Part, seeds: Sequence[int]) -> Job:
    """Make the job that runs a part, whose campaigns train as one batch."""
    asked = configs(part, seeds)

    def work() -> list[Answer]:
        table = run(part, seeds)
        own = table.drop(columns=["dataset", "protocol", "replication", "method"])
        rows = dict(list(own.groupby([table["replication"], table["method"]], sort=False)))
        keys = [(config["replication"], config["method"]) for config in asked]
        picks = table.attrs["picks"]
        return [Answer(rows[key].to_dict("records"), own) for key, own in zip(keys, picks, strict=True)]

    return Job(asked, work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of a table of ``RECORDED``, for so many replications; see :meth:`.tables.Table.jobs`."""
    seeds = range(SEEDS if replications is None else replications)
    return [job(part, seeds) for part in RECORDED[table.name]]
