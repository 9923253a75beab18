"""Campaigns: choose, reveal, fit, judge; many of them in lock-step, so that their models train as one batch."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from macal import acquisition, metrics, models
from macal.acquisition import Criterion, State
from macal.acquisition.base import as_batch_size
from macal.arguments import as_count, as_indices
from macal.models import Fitted, Model
from macal.problem import Problem
from macal.shapes import Indices

Row = dict[str, Any]
# column -> what it holds of (problem, labelled units, fitted model)
Measures = Mapping[str, Callable[[Problem, Indices, Fitted], float]]


def _surface_error(problem: Problem, fitted: Fitted, arm: int) -> float:
    truth = (problem.test.mu0, problem.test.mu1)[arm]
    return metrics.pehe(fitted.predict(problem.test.x).mean[:, arm], truth)


# root mean squared error of each potential outcome's surface, on the test set
SURFACES: Measures = {
    "control surface": lambda problem, _, fitted: _surface_error(problem, fitted, 0),
    "treated surface": lambda problem, _, fitted: _surface_error(problem, fitted, 1),
}


@dataclass(eq=False)
class Campaign:
    """One campaign under way.

    Attributes:
        problem: the problem.
        method: what its rows are called.
        criterion: chooses the batches.
        n_queries: batches to acquire.
        batch_size: labels per batch.
        seed: of the criterion's own draws.
        batches: what was bought so far, a list of indices per query.
    """

    problem: Problem
    method: str
    criterion: Criterion
    n_queries: int
    batch_size: int
    seed: int
    batches: list[Indices] = field(default_factory=list)

    def labelled(self, step: int | None = None) -> Indices:
        """Indices labelled after ``step`` queries; after all so far by default."""
        return self.problem.labelled(self.batches[:step])

    @property
    def over(self) -> bool:
        """Whether the budget is spent or the pool exhausted."""
        left = len(self.problem.pool) - len(self.problem.start) - sum(map(len, self.batches))
        return len(self.batches) >= self.n_queries or left == 0

    def plan(self) -> None:
        """Choose all batches of a label-free criterion."""
        pool = self.problem.pool
        self.batches = acquisition.campaign(
            self.criterion, pool.x, pool.t, self.problem.start, self.n_queries, self.batch_size, self.seed
        )

    def advance(self, fitted: Fitted) -> None:
        """Choose the next batch by the model that was fitted to the labels so far."""
        pool, needs = self.problem.pool, self.criterion.needs
        x = pool.x
        posterior = fitted.predict(x) if "posterior" in needs else None
        features = fitted.gradients(x, pool.t) if "features" in needs else None
        rng = np.random.default_rng([self.seed, len(self.batches)])
        state = State(x.astype(np.float64), pool.t, self.labelled(), rng, posterior, features)
        self.batches.append(self.criterion.select(state, self.batch_size))


def begin(
    problem: Problem,
    criterion: Any,
    method: str | None = None,
    n_queries: int | None = None,
    batch_size: int | None = None,
    seed: int | None = None,
) -> Campaign:
    """Set up a campaign; what is None is the problem's own.

    Args:
        problem: the problem.
        criterion: a name of :func:`macal.acquisition.names`, or a criterion.
        method: what its rows are called; the criterion's name by default.
        n_queries: batches to acquire.
        batch_size: labels per batch.
        seed: of the criterion's own draws.

    Raises:
        UnknownName: no such criterion.
        ValueError: a number out of range.
    """
    if not isinstance(criterion, (str, Criterion)):
        raise ValueError(f"criterion must be a name, or one of macal.get(name), got {criterion!r}")
    method = method or (criterion if isinstance(criterion, str) else type(criterion).__name__.lower())
    criterion = acquisition.get(criterion) if isinstance(criterion, str) else criterion
    n_queries = as_count(problem.n_queries if n_queries is None else n_queries, "n_queries")
    batch_size = as_batch_size(problem.batch_size if batch_size is None else batch_size, criterion)
    return Campaign(problem, method, criterion, n_queries, batch_size, problem.seed if seed is None else seed)


def schedule(problem: Problem, criterion: Any = "macal", **options: Any) -> pd.DataFrame:
    """Plan a campaign before any outcome is known, in the caller's own names for the units.

    Args:
        problem: say of :func:`macal.datasets.from_table`, whose units go by the index of the table.
        criterion: a name of :func:`macal.acquisition.names`, or a criterion; one that needs no model.
        options: ``n_queries``, ``batch_size``, ``seed``: see :func:`begin`.

    Returns:
        One row per unit, in the order in which they are to be asked. The index names the unit; ``round`` is 0 for the
        problem's start and then the number of the query; ``treated`` is 0 or 1.

    Raises:
        UnknownName: no such criterion.
        ValueError: a criterion that needs a model, or a number out of range.
    """
    campaign = begin(problem, criterion, **options)
    if campaign.criterion.needs:
        raise ValueError(
            f"{campaign.method!r} needs a model of the answers so far, so its plan cannot be made in advance;"
            " take a criterion that needs none, such as 'macal', 'qhte' or 'random-balanced'"
        )
    campaign.plan()
    asked, pool = campaign.labelled(), problem.pool
    sizes = [len(problem.start), *map(len, campaign.batches)]
    names = pd.RangeIndex(len(pool), name="unit") if pool.index is None else pool.index
    if {"round", "treated"} & set(names.names):
        raise ValueError(f"the units' index is called {names.name!r}, as a column of the plan is; rename it")
    rounds = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame({"round": rounds, "treated": pool.t[asked]}, index=names[asked])


def training_seed(replication: int, n_labelled: int) -> int:
    """Seed of a model's own draws: by replication and size, not by method, which makes comparisons paired."""
    return int(np.random.SeedSequence([replication, n_labelled]).generate_state(1)[0])


def train(model: Model, requests: Sequence[tuple[Problem, np.ndarray]]) -> list[Fitted]:
    """Fit the model to each (problem, labelled set), as one batch; equal sets of one problem are fitted once.

    A set is a set: its order does not matter to the fit.

    Raises:
        NotFitted: a training failed; ``place`` is that of its first request.
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


def judge(problem: Problem, labelled: Indices, fitted: Fitted, measures: Measures | None = None) -> Row:
    """Measure one fitted model and its labelled set; the columns of :func:`evaluate`, then those of ``measures``."""
    bought = problem.pool[labelled]
    x, t = bought.x, bought.t
    both = 0 < t.sum() < len(t)
    radius = [metrics.covering_radius(problem.pool[problem.pool.t == arm].x, x[t == arm]) for arm in (0, 1)]
    splits = {"pehe": problem.test, "pehe_valid": problem.valid}
    return {
        "labelled": len(labelled),
        "treated": int(t.sum()),
        **{k: metrics.pehe(fitted.predict(s.x).tau, s.tau) if s is not None else np.nan for k, s in splits.items()},
        "w1": metrics.wasserstein(x, t) if both and metrics.HAS_POT else np.nan,
        "counterpart": float(metrics.counterpart_distance(x, t).mean()) if both else np.nan,
        "radius": max(radius),
        **fitted.info,
        **{name: measure(problem, labelled, fitted) for name, measure in (measures or {}).items()},
    }


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
        pool), and what the training reports, for "due" ``epochs`` and ``valid_loss``. ``w1`` and ``counterpart`` are
        NaN while an arm is empty, ``radius`` infinite; ``w1`` also where POT is not installed (see
        :mod:`macal.campaigns.bundle`).

    Raises:
        UnknownName: no such model.
        ValueError: indices out of range or repeated, or no test set whose true effects are known.
    """
    _require_effects(problem)
    model = models.as_model(model)
    sets = [as_indices(labelled, len(problem.pool)) for labelled in labelled_sets]
    fitted = train(model, [(problem, labelled) for labelled in sets])
    return pd.DataFrame([judge(problem, s, f) for s, f in zip(sets, fitted, strict=True)])


def check_needs(criterion: Criterion, model: Model) -> None:
    """Refuse a criterion that needs of a fitted model what this model does not provide.

    Raises:
        ValueError: names both, what is missing, and the models that would do.
    """
    if missing := [need for need in criterion.needs if need not in model.provides]:
        enough = [name for name, known in models.MODELS.items() if {*criterion.needs} <= {*known.factory.provides}]
        raise ValueError(
            f"{type(criterion).__name__} needs the {' and '.join(missing)} of a fitted model, which"
            f" {type(model).__name__} does not provide; use the model {' or '.join(enough)}, or another criterion"
        )


def trained(n_queries: int, every: int | Sequence[int]) -> list[int]:
    """Numbers of queries after which a label-free campaign is trained.

    Args:
        n_queries: batches of the campaign.
        every: at every so many (the start and the end always), or exactly these, as far as the campaign goes.
    """
    if isinstance(every, int):
        return sorted({*range(0, n_queries + 1, every), n_queries})
    return [step for step in every if step <= n_queries]


def _require_effects(problem: Problem) -> None:
    if problem.test is None or problem.test.mu0 is None or problem.test.mu1 is None:
        raise ValueError(
            f"campaigns on {problem.name!r} cannot be judged: that takes a test set whose true effects are known, as"
            " simulated data have; to plan, use macal.schedule, and to estimate, fit a model of macal.models"
        )


def stages(
    campaigns: Sequence[Campaign],
    model: Model,
    every: int | Sequence[int] = 1,
    size: int = 32,
    done: int = 0,
    measures: Measures | None = None,
) -> Iterator[list[Row]]:
    """Play campaigns through, and yield the rows of one stage after the other: what is trained as one batch.

    Label-free campaigns are planned first; a stage is ``size`` of their trainings. Of the others a stage is one step,
    all campaigns in lock-step.

    Args:
        campaigns: all label-free or none; at their beginning, or as ``done`` stages have left them.
        model: the model.
        every: see :func:`trained`.
        size: trainings per stage of label-free campaigns.
        done: stages that are not to be repeated.
        measures: more columns of the rows, see :func:`run_all`.

    Raises:
        ValueError: label-free and model-based campaigns together; see also :func:`check_needs`.
    """
    kinds = {bool(c.criterion.needs) for c in campaigns}
    if len(kinds) > 1:
        raise ValueError("label-free and model-based campaigns are played apart: one kind is planned, the other not")
    if kinds == {True}:
        for campaign in campaigns:
            check_needs(campaign.criterion, model)
        yield from _lock_step(campaigns, model, done, measures)
        return
    for campaign in campaigns:
        campaign.plan()
    jobs = [(c, k) for c in campaigns for k in trained(len(c.batches), every)]
    jobs.sort(key=lambda job: job[1])  # stable: sizes together, which a batched model likes
    for k in range(done * size, len(jobs), size):
        yield _rows(jobs[k : k + size], model, measures)[0]


def _lock_step(
    campaigns: Sequence[Campaign], model: Model, step: int, measures: Measures | None
) -> Iterator[list[Row]]:
    while jobs := [(c, step) for c in campaigns if len(c.batches) == step]:
        rows, fitted = _rows(jobs, model, measures)
        for (campaign, _), f in zip(jobs, fitted, strict=True):
            if not campaign.over:
                campaign.advance(f)
        yield rows
        step += 1


def _rows(
    jobs: Sequence[tuple[Campaign, int]], model: Model, measures: Measures | None
) -> tuple[list[Row], list[Fitted]]:
    requests = [(c.problem, c.labelled(step)) for c, step in jobs]
    try:
        fitted = train(model, requests)
    except models.NotFitted as error:
        c, step = jobs[error.place]
        where = f"{c.problem.name} replication {c.problem.seed}, {c.method}, step {step}"
        raise models.NotFitted(error.place, f"{where}, {error.reason}") from error
    names = [{"replication": c.problem.seed, "method": c.method, "step": step} for c, step in jobs]
    return [name | judge(*r, f, measures) for name, r, f in zip(names, requests, fitted, strict=True)], fitted


def run(
    problem: Problem, criterion: Any = "macal", model: Model | str = "exact-gp", every: int = 1, **options: Any
) -> pd.DataFrame:
    """Run one campaign and return its history.

    Args:
        problem: the problem.
        criterion: a name of :func:`macal.acquisition.names`, or a criterion.
        model: a name of :func:`macal.models.names`, or a model.
        every: train at every so many queries (the start and the end always), where the criterion needs no model.
        options: ``n_queries``, ``batch_size``, ``seed``: see :func:`begin`.

    Returns:
        The columns of :func:`evaluate` preceded by ``dataset``, ``protocol``, ``replication``, ``method`` and ``step``;
        one row per training. ``.attrs["picks"]`` lists the batches, so that any labelled set can be rebuilt.

    Raises:
        UnknownName: no such criterion or model.
        ValueError: an argument out of range, or no test set whose true effects are known.
    """
    method = criterion if isinstance(criterion, str) else type(criterion).__name__.lower()
    table = run_all([problem], {method: criterion}, model, every, **options)
    table.attrs["picks"] = table.attrs["picks"][0]
    return table


def run_all(
    problems: Iterable[Problem],
    criteria: Mapping[str, Any],
    model: Model | str = "exact-gp",
    every: int = 1,
    measures: Measures | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Run every criterion on every problem, in lock-step, and return one table of all histories.

    Args:
        problems: replications, say ``[macal.load("ihdp", seed) for seed in range(10)]``.
        criteria: name in column ``method`` -> name or criterion, say ``{"macal": macal.get("macal", alpha=1.0)}``.
        model: see :func:`run`.
        every: see :func:`run`.
        measures: more columns: name -> function of (problem, labelled indices, fitted model).
        options: see :func:`run`.

    Returns:
        See :func:`run`; ``.attrs["picks"]`` has one list of batches per campaign, problems outermost.
    """
    as_count(every, "every")
    model = models.as_model(model)
    problems = list(problems)
    campaigns = [begin(p, c, name, **options) for p in problems for name, c in criteria.items()]
    for problem in problems:
        _require_effects(problem)
    rows = []
    with tqdm(desc="trainings", unit="", disable=None) as bar:
        for kind in (False, True):
            kin = [c for c in campaigns if bool(c.criterion.needs) is kind]
            for stage in stages(kin, model, every, measures=measures):
                rows += stage
                bar.update(len(stage))
    order = {(c.problem.seed, c.method): k for k, c in enumerate(campaigns)}
    rows.sort(key=lambda row: (order[row["replication"], row["method"]], row["step"]))
    table = pd.DataFrame(rows)
    table.insert(0, "protocol", problems[0].protocol)
    table.insert(0, "dataset", problems[0].name)
    # lists, since pandas compares attrs
    table.attrs["picks"] = [[batch.tolist() for batch in c.batches] for c in campaigns]
    return table
