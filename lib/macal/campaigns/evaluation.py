"""Labelled sets: fit a model to each, all as one batch, and judge it on the test set."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from macal import metrics, models
from macal.arguments import as_indices, hinted
from macal.campaigns import provenance
from macal.models import Fitted, Model
from macal.problem import Problem
from macal.shapes import Indices

Row = dict[str, Any]
# column -> what it holds of (problem, labelled units, fitted model)
Measures = Mapping[str, Callable[[Problem, Indices, Fitted], float]]


def _surface_error(problem: Problem, fitted: Fitted, arm: int) -> float:
    truth = (problem.test.mu0, problem.test.mu1)[arm]
    return metrics.pehe(fitted.predict(problem.test.x).mean[:, arm], truth)


UNMEASURED = dict.fromkeys(("w1", "counterpart", "radius"), np.nan)  # on a lent machine; see macal.campaigns.bundle

# root mean squared error of each potential outcome's surface, on the test set
SURFACES: Measures = {
    "control surface": lambda problem, _, fitted: _surface_error(problem, fitted, 0),
    "treated surface": lambda problem, _, fitted: _surface_error(problem, fitted, 1),
}


def require_effects(problem: Problem) -> None:
    """Refuse a problem without a test set whose true effects are known: ValueError."""
    if problem.test is None or problem.test.mu0 is None or problem.test.mu1 is None:
        raise ValueError(
            f"campaigns on {problem.name!r} cannot be judged: that takes a test set whose true effects are known, as"
            " simulated data have; to plan, use macal.schedule, and to estimate, fit a model of macal.models"
        )


def training_seed(replication: int, n_labelled: int) -> int:
    """Seed of a model's own draws: by replication and size, not by method, which makes comparisons paired."""
    return int(np.random.SeedSequence([replication, n_labelled]).generate_state(1)[0])


def train(model: Model, requests: Sequence[tuple[Problem, np.ndarray]]) -> list[Fitted]:
    """Fit the model to each (problem, labelled set), as one batch; equal sets of one problem are fitted once.

    The order of a set does not matter. NotFitted where a training failed; ``place`` is that of its first request.
    """
    keys = [(id(problem), *np.sort(labelled).tolist()) for problem, labelled in requests]
    first = {key: k for k, key in reversed(list(enumerate(keys)))}
    tasks = []
    for k in sorted(first.values()):
        problem, labelled = requests[k]
        seed = training_seed(problem.seed, len(labelled))
        tasks.append(models.Task(problem.pool[np.sort(labelled)], problem.valid, seed, problem.y_scale))
    try:
        fitted = dict(zip(sorted(first.values()), model.fit(tasks), strict=True))
    except models.NotFitted as error:
        raise models.NotFitted(sorted(first.values())[error.place], error.reason) from error
    return [fitted[first[key]] for key in keys]


def distances(problem: Problem, sets: Sequence[np.ndarray]) -> list[Row]:
    """Measure sets, each the first of the next one's: ``w1``, ``counterpart``, ``radius`` of :func:`evaluate`."""
    pool, rows, known = problem.pool, list[Row](), 0
    units = [pool[pool.t == arm].x for arm in (0, 1)]
    nearest = [np.full(len(x), np.inf) for x in units]
    for labelled in sets:
        bought, new = pool[labelled], pool[labelled[known:]]
        known, both = len(labelled), 0 < bought.t.sum() < len(labelled)
        for arm in (0, 1):
            nearest[arm] = np.minimum(nearest[arm], metrics.nearest_distance(units[arm], new.x[new.t == arm]))
        w1 = metrics.wasserstein(bought.x, bought.t) if both and metrics.HAS_POT else np.nan
        counterpart = float(metrics.counterpart_distance(bought.x, bought.t).mean()) if both else np.nan
        radius = max(float(d.max(initial=0.0)) for d in nearest)
        rows.append({"w1": w1, "counterpart": counterpart, "radius": radius})
    return rows


def judge(problem: Problem, labelled: Indices, fitted: Fitted, measures: Measures | None = None) -> Row:
    """Measure one fitted model and its labelled set; the columns of :func:`evaluate`, then those of ``measures``."""
    splits = {"pehe": problem.test, "pehe_valid": problem.valid}
    return {
        "labelled": len(labelled),
        "treated": int(problem.pool.t[labelled].sum()),
        **{k: metrics.pehe(fitted.predict(s.x).tau, s.tau) if s is not None else np.nan for k, s in splits.items()},
        **(UNMEASURED if provenance.packed() else distances(problem, [labelled])[0]),
        **fitted.info,
        **{name: measure(problem, labelled, fitted) for name, measure in (measures or {}).items()},
    }


@hinted
def evaluate(problem: Problem, labelled_sets: Iterable[Any], model: Model | str = "exact-gp") -> pd.DataFrame:
    """Fit the model on given labelled sets, as one batch, and judge each on the test set.

    Args:
        problem: the problem.
        labelled_sets: lists of pool indices.
        model: a name of :func:`macal.models.names`, or a model.

    Returns:
        One row per set: ``labelled`` and ``treated`` units, ``pehe`` on the test set, ``pehe_valid`` on the validation
        set, ``w1`` (exact 1-Wasserstein distance between the labelled arms), ``counterpart`` (mean distance of a
        labelled unit to the nearest of the other arm), ``radius`` (covering radius of the worse-covered arm of the
        pool), and what the training reports. ``w1`` and ``counterpart`` are NaN while an arm is empty, ``radius``
        infinite; ``w1`` also without POT.

    Raises:
        UnknownName: no such model.
        ValueError: indices out of range or repeated, or no test set whose true effects are known.
    """
    require_effects(problem)
    model = models.as_model(model)
    sets = [as_indices(labelled, len(problem.pool)) for labelled in labelled_sets]
    fitted = train(model, [(problem, labelled) for labelled in sets])
    return pd.DataFrame([judge(problem, s, f) for s, f in zip(sets, fitted, strict=True)])
