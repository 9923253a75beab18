"""The toy study of the paper's Figure 1 and its controls: which campaigns, what is measured, how it is recorded.

``python -m reproduction record toy toy_lbfgs toy_far toy_code toy_macal`` runs all of it and writes the chapter's
tables.
"""

import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from macal import acquisition, metrics, models
from macal.acquisition import Criterion
from macal.arguments import as_count
from macal.campaigns import evaluation, loop, results
from macal.campaigns.results import Record
from macal.datasets import toy
from macal.models.exact_gp import FittedGP
from macal.problem import Problem
from macal.shapes import Indices

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
    """Run the campaigns of a part; the rows and picks of :func:`macal.run_all`, with the columns of ``MEASURES``.

    Args:
        part: the campaigns.
        seeds: replications.
        options: see :func:`macal.campaigns.begin`.
    """
    problems = [toy.load(seed, part.protocol, part.centre) for seed in seeds]
    return loop.run_all(problems, part.criteria, model(part.optimiser), part.every, MEASURES, **options)


def without_overlap(problem: Problem) -> np.ndarray:
    """Which test units lie outside the range of the pool's treated or of its controls, (n,) bool."""
    x, t = problem.pool.x[:, 0], problem.pool.t
    low, high = (edge([pick(x[t == arm]) for arm in (0, 1)]) for edge, pick in ((max, np.min), (min, np.max)))
    return (problem.test.x[:, 0] < low) | (problem.test.x[:, 0] > high)


def final_errors(table: pd.DataFrame, method: str = "macal", optimiser: str = "adam") -> pd.DataFrame:
    """Fit each campaign's last labelled set again, and say where its error lies.

    Args:
        table: a recorded table of the paper's data.
        method: whose campaigns.
        optimiser: of the fits.

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


def records(part: Part, seeds: Iterable[int]) -> list[Record]:
    """Run a part and make one record of each campaign; its seconds are its share of the part's."""
    seeds, start = list(seeds), time.perf_counter()
    table = run(part, seeds)
    places = [(seed, name) for seed in seeds for name in part.criteria]
    seconds = (time.perf_counter() - start) / len(places)
    about = results.manifest({}, seconds, "cpu", torch.get_num_threads())
    names = ["dataset", "protocol", "replication", "method"]
    groups = {key: rows.drop(columns=names) for key, rows in table.groupby(["replication", "method"], sort=False)}
    made = []
    for (seed, name), picks in zip(places, table.attrs["picks"], strict=True):
        criterion = part.criteria[name]
        config = {"dataset": "toy", "protocol": part.protocol, "centre": part.centre, "replication": seed}
        config["method"] = name
        config["criterion"] = {"name": type(criterion).__name__.lower(), **asdict(criterion)}
        config["model"] = {"name": "exact-gp", **asdict(model(part.optimiser))}
        made.append(Record(config, groups[seed, name].to_dict("records"), picks, about))
    return made


def record(
    name: str, seeds: int = SEEDS, folder: Path = results.FOLDER, replace: bool = False
) -> pd.DataFrame:  # fmt: skip
    """Run everything that is recorded under ``name`` and publish it.

    Args:
        name: of ``RECORDED``.
        seeds: how many replications.
        folder: where the table goes.
        replace: replace a table that is there.

    Raises:
        FileExistsError: there is a table, and ``replace`` is not set; nothing is run.
        ValueError: ``seeds`` below 1.
    """
    as_count(seeds, "seeds")
    results.targets(name, folder, replace)
    with tempfile.TemporaryDirectory() as store:
        for part in RECORDED[name]:
            for one in records(part, range(seeds)):
                results.write(one, Path(store))
        return results.publish(Path(store), name, folder, replace=replace)
