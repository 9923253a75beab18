"""One campaign: choose, reveal, fit, judge."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from macal import acquisition, metrics, models
from macal.problem import Problem, as_count, as_indices
from macal.shapes import Indices


def _row(problem: Problem, labelled: Indices, model: Any) -> dict[str, int | float]:
    bought = problem.pool[labelled]
    x, t = bought.x, bought.t
    both = 0 < t.sum() < len(t)
    radius = [metrics.covering_radius(problem.pool[problem.pool.t == arm].x, x[t == arm]) for arm in (0, 1)]
    posterior = model.fit_predict(bought, problem.test.x)
    return {
        "labelled": len(labelled),
        "treated": int(t.sum()),
        "pehe": metrics.pehe(posterior.tau, problem.test.tau),
        "w1": metrics.wasserstein(x, t) if both else np.nan,
        "counterpart": float(metrics.counterpart_distance(x, t).mean()) if both else np.nan,
        "radius": max(radius),
    }


def evaluate(problem: Problem, labelled_sets: Iterable[Any], model: Any = "exact-gp") -> pd.DataFrame:
    """Fit the model on given labelled sets and judge each on the test set.

    Args:
        problem: the problem.
        labelled_sets: lists of pool indices.
        model: a name of :func:`macal.models.names`, or a model.

    Returns:
        One row per set: ``labelled`` and ``treated`` units, ``pehe`` on the test set, ``w1`` (exact 1-Wasserstein
        distance between the labelled arms), ``counterpart`` (mean distance of a labelled unit to the nearest of the
        other arm), ``radius`` (covering radius of the worse-covered arm of the pool). ``w1`` and ``counterpart`` are
        NaN while an arm is empty, ``radius`` infinite.

    Raises:
        UnknownName: no such model.
        ValueError: indices out of range or repeated, or true effects that are not known.
    """
    _ = problem.test.tau  # fails before anything is fitted
    model = models.get(model) if isinstance(model, str) else model
    return pd.DataFrame([_row(problem, as_indices(labelled, len(problem.pool)), model) for labelled in labelled_sets])


def run(
    problem: Problem,
    criterion: Any = "macal",
    model: Any = "exact-gp",
    n_queries: int | None = None,
    batch_size: int | None = None,
    every: int = 1,
    seed: int | None = None,
) -> pd.DataFrame:
    """Run one campaign and return its history.

    Args:
        problem: the problem.
        criterion: a name of :func:`macal.acquisition.names`, or a criterion.
        model: a name of :func:`macal.models.names`, or a model.
        n_queries: batches to acquire; the problem's own by default.
        batch_size: labels per batch; the problem's own by default.
        every: train at every so many queries (the start and the end always).
        seed: of the criterion's own draws; the problem's by default.

    Returns:
        The columns of :func:`evaluate` preceded by ``dataset``, ``protocol``, ``replication``, ``method`` and ``step``;
        one row per training. ``.attrs["picks"]`` lists the batches, so that any labelled set can be rebuilt.

    Raises:
        UnknownName: no such criterion or model.
        ValueError: an argument out of range.
    """
    method = criterion if isinstance(criterion, str) else type(criterion).__name__.lower()
    criterion = acquisition.get(criterion) if isinstance(criterion, str) else criterion
    pool = problem.pool
    n_queries = problem.n_queries if n_queries is None else n_queries
    batch_size = problem.batch_size if batch_size is None else batch_size
    seed = problem.seed if seed is None else seed
    as_count(every, "every")
    batches = acquisition.campaign(criterion, pool.x, pool.t, problem.start, n_queries, batch_size, seed)
    steps = sorted({*range(0, len(batches) + 1, every), len(batches)})
    sets = [np.concatenate([problem.start, *batches[:k]]) for k in steps]
    table = evaluate(problem, sets, model)
    for column, value in (
        ("step", steps),
        ("method", method),
        ("replication", problem.seed),
        ("protocol", problem.protocol),
        ("dataset", problem.name),
    ):
        table.insert(0, column, value)
    table.attrs["picks"] = [batch.tolist() for batch in batches]  # lists, since pandas compares attrs
    return table


def run_all(problems: Iterable[Problem], criteria: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Run every criterion on every problem and return one table of all histories.

    Args:
        problems: replications, say ``[macal.load("ihdp", seed) for seed in range(10)]``.
        criteria: name in column ``method`` -> name or criterion, say ``{"macal": macal.get("macal", alpha=1.0)}``.
        options: passed to :func:`run`.
    """
    histories = [
        run(p, c, **options).assign(method=name)
        for p in tqdm(list(problems), disable=None)
        for name, c in criteria.items()
    ]
    return pd.concat(histories, ignore_index=True)
