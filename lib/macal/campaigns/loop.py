"""Campaigns played through: choose, reveal, fit, judge; many in lock-step, so that their models train as one batch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from tqdm import tqdm

from macal import models
from macal.acquisition import Criterion
from macal.arguments import as_count, hinted
from macal.campaigns.campaign import Campaign, begin
from macal.campaigns.evaluation import Measures, Row, judge, require_effects, train
from macal.models import Fitted, Model
from macal.problem import Problem


def check_needs(criterion: Criterion, model: Model) -> None:
    """Refuse a criterion that needs of a fitted model what this model does not provide: ValueError."""
    if missing := [need for need in criterion.needs if need not in model.provides]:
        enough = [name for name, known in models.MODELS.items() if {*criterion.needs} <= {*known.provides}]
        raise ValueError(
            f"{type(criterion).__name__} needs the {' and '.join(missing)} of a fitted model, which"
            f" {type(model).__name__} does not provide; use the model {' or '.join(enough)}, or another criterion"
        )


def training_steps(n_queries: int, every: int | Sequence[int]) -> list[int]:
    """Numbers of queries after which a label-free campaign is trained: each so many, start and end, or just these."""
    if isinstance(every, int):
        return sorted({*range(0, n_queries + 1, every), n_queries})
    return [step for step in every if step <= n_queries]


def stages(
    campaigns: Sequence[Campaign],
    model: Model,
    every: int | Sequence[int] = 1,
    size: int = 32,
    done: int = 0,
    measures: Measures | None = None,
    acquisition_model: Model | None = None,
) -> Iterator[list[Row]]:
    """Play campaigns through, and yield the rows of one stage after the other: what is trained as one batch.

    Label-free campaigns, and all where there is an acquisition model, are played first; a stage is ``size`` of their
    trainings. Of the others a stage is one step, all campaigns in lock-step.

    Args:
        campaigns: all label-free or none; at their beginning, or as ``done`` stages have left them.
        model: the model.
        every: see :func:`trained`.
        size: trainings per stage of label-free campaigns.
        done: stages that are not to be repeated.
        measures: more columns of the rows, see :func:`run_all`.
        acquisition_model: chooses in place of the model; see :func:`run`.

    Raises:
        ValueError: label-free and model-based campaigns together; see also :func:`check_needs`.
    """
    for campaign in campaigns:
        check_needs(campaign.criterion, acquisition_model or model)
    kinds = {c.criterion.is_adaptive and acquisition_model is None for c in campaigns}
    if len(kinds) > 1:
        raise ValueError("label-free and model-based campaigns are played apart: one kind is planned, the other not")
    if kinds == {True}:
        yield from _lock_step(campaigns, model, done, measures)
        return
    for campaign in campaigns:
        campaign.choose_remaining(acquisition_model or model)
    jobs = [(c, k) for c in campaigns for k in training_steps(len(c.batches), every)]
    jobs.sort(key=lambda job: job[1])  # stable: sizes together, which a batched model likes
    for k in range(done * size, len(jobs), size):
        yield _rows(jobs[k : k + size], model, measures)[0]


def _lock_step(
    campaigns: Sequence[Campaign], model: Model, step: int, measures: Measures | None
) -> Iterator[list[Row]]:
    while jobs := [(c, step) for c in campaigns if len(c.batches) == step]:
        rows, fitted = _rows(jobs, model, measures)
        for (campaign, _), f in zip(jobs, fitted, strict=True):
            if not campaign.is_finished:
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


def acquisition_model_of(criterion: Criterion, model: Model, acquisition_model: Model | None) -> Model | None:
    """The model that a criterion goes by where it is not the one that judges, else None; see :func:`run`."""
    own = criterion.acquisition_model if criterion.is_adaptive else None
    if acquisition_model is not None or own is None or isinstance(model, models.MODELS[own].factory):
        return acquisition_model
    return models.get(own)


def run(
    problem: Problem,
    criterion: Any = "macal",
    model: Model | str = "exact-gp",
    every: int = 1,
    acquisition_model: Model | str | None = None,
    n_queries: int | None = None,
    batch_size: int | None = None,
    seed: int | None = None,
    measures: Measures | None = None,
) -> pd.DataFrame:
    """Run one campaign and return its history.

    Args:
        problem: the problem.
        criterion: a name of :func:`macal.acquisition.names`, or a criterion.
        model: a name of :func:`macal.models.names`, or a model.
        every: train at every so many queries, start and end always, where ``model`` does not choose.
        acquisition_model: name or model that the criterion goes by; ``model`` by default, for ALC and EPIG the joint
            process.
        n_queries: batches to acquire; the problem's own number by default.
        batch_size: labels per batch; the problem's own number by default.
        seed: of the criterion's own draws; the problem's by default.
        measures: more columns, see :func:`run_all`.

    Returns:
        The columns of :func:`evaluate` preceded by ``dataset``, ``protocol``, ``replication``, ``method`` and ``step``;
        one row per training. ``.attrs["picks"]`` lists the batches.

    Raises:
        UnknownName: no such criterion or model.
        ValueError: an argument out of range, or no test set whose true effects are known.
    """
    method = criterion if isinstance(criterion, str) else type(criterion).__name__.lower()
    table = run_all(
        [problem], {method: criterion}, model, every, measures, acquisition_model, n_queries, batch_size, seed
    )
    table.attrs["picks"] = table.attrs["picks"][0]
    return table


@hinted
def run_all(
    problems: Iterable[Problem],
    criteria: Mapping[str, Any],
    model: Model | str = "exact-gp",
    every: int = 1,
    measures: Measures | None = None,
    acquisition_model: Model | str | None = None,
    n_queries: int | None = None,
    batch_size: int | None = None,
    seed: int | None = None,
) -> pd.DataFrame:
    """Run every criterion on every problem, in lock-step, and return one table of all histories, as :func:`run` does.

    ``.attrs["picks"]`` has one list of batches per campaign, problems outermost. For other arguments see :func:`run`.

    Args:
        problems: replications, say ``[macal.load("ihdp", seed) for seed in range(10)]``.
        criteria: name in column ``method`` -> name or criterion, say ``{"macal": macal.get("macal", alpha=1.0)}``.
        model: see :func:`run`.
        every: see :func:`run`.
        measures: more columns: name -> function of (problem, labelled indices, fitted model).
        acquisition_model: see :func:`run`.
        n_queries: see :func:`run`.
        batch_size: see :func:`run`.
        seed: see :func:`run`.
    """
    as_count(every, "every")
    model = models.as_model(model)
    acquisition_model = None if acquisition_model is None else models.as_model(acquisition_model)
    problems = list(problems)
    if not (problems and criteria):
        raise ValueError(f"{'criteria' if problems else 'problems'} must hold at least one, got none")
    campaigns = [begin(p, c, name, n_queries, batch_size, seed) for p in problems for name, c in criteria.items()]
    for problem in problems:
        require_effects(problem)
    rows, kin = [], dict[tuple[bool, str], tuple[Model | None, list[Campaign]]]()
    for campaign in campaigns:
        own = acquisition_model_of(campaign.criterion, model, acquisition_model)
        key = (
            campaign.criterion.is_adaptive and own is None,
            "" if own is acquisition_model else str(campaign.criterion.acquisition_model),
        )
        kin.setdefault(key, (own, []))[1].append(campaign)
    with tqdm(desc="trainings", unit="", disable=None) as bar:
        for own, alike in (kin[key] for key in sorted(kin)):  # those in lock-step last
            for stage in stages(alike, model, every, measures=measures, acquisition_model=own):
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
