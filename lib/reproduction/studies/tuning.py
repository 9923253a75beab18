"""Table 2's search for hyperparameters: its space as data, an Optuna study that resumes, and a fresh judgement.

``python -m reproduction record tuning`` searches, trains the best points found and the published ones again on
replications that the search has not seen, and publishes the table; interrupted, the same command goes on.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal import datasets, models
from macal.arguments import Count, as_count, as_hinted
from macal.campaigns.evaluation import Row
from macal.models.due import Due
from macal.optional import needed
from macal.problem import Problem
from reproduction.studies import backbones as backbone_study
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

with needed("optuna", "searches for hyperparameters"):
    import optuna
    from optuna.distributions import CategoricalDistribution
    from optuna.trial import FrozenTrial, TrialState

Point = dict[str, Any]

SPACE: dict[str, tuple[Any, ...]] = {  # Table 2; its "Matern" is the public code's, of smoothness 3/2
    "kernel": ("rbf", "matern-3/2", "rq"),
    "inducing": (50, 100, 200),
    "width": (100, 200, 500),
    "depth": (2, 3, 5),
    "dropout": (0.05, 0.1, 0.25),
    "bound": (0.95, 1.5, 3.0),
    "batch": (64, 100, 200),
    "lr": (1e-3, 1e-4),
}
PAPER: Point = {  # Table 2's choice for tables
    "kernel": "rbf", "inducing": 100, "width": 200, "depth": 3, "dropout": 0.1, "bound": 0.95, "batch": 100, "lr": 1e-3,
}  # fmt: skip
CODE: Point = PAPER | {"kernel": "matern-3/2"}  # the public code's configuration
PUBLISHED = {"paper": PAPER, "code": CODE}
NAME = "due-dnn"
HELD_OUT = range(10, 20)  # replications of the judgement
TRIALS, BEST = 16, 2  # points tried in all, and judged again


def build(point: Point, **settings: Any) -> Due:
    """Return the model at a point of the space; GP and noise learn at twice the encoder's rate, as in Table 2's choice.

    Raises:
        ValueError: a value that is not in the space.
    """
    for name, value in point.items():
        if value not in SPACE.get(name, ()):
            raise ValueError(f"{name}={value!r} is not in the search space; choose from {SPACE.get(name, 'no value')}")
    return models.get("due", **point, lr_gp=2 * point["lr"], **settings)


@dataclass(frozen=True)
class Search:
    """What one trial trains, and what it is judged by: the validation loss, averaged over these trainings.

    The paper selects by validation loss, and does not say on how many labels, replications or initialisations.

    Attributes:
        replications: of IHDP, by the paper's protocol.
        inits: initialisations of each.
        labelled: units drawn at random.
        seed: of the sampler.
        settings: of the model besides the point, for a quick profile.
    """

    replications: tuple[int, ...] = (0, 1, 2)
    inits: int = 1
    labelled: int = 100
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        as_hinted(vars(self), {"inits": Count, "labelled": Count})
        if not self.replications:
            raise ValueError("a search needs at least one replication, got none")

    @cached_property
    def problems(self) -> list[Problem]:
        """The replications, loaded once."""
        return [datasets.load("ihdp", seed) for seed in self.replications]

    def rows(self, point: Point) -> list[Row]:
        """Train one point on every replication and initialisation, as one batch; see :func:`.backbones.train`."""
        requests = itertools.product(self.problems, [self.labelled], range(self.inits))
        return backbone_study.train(build(point, **self.settings), requests)


def _requeue(study: optuna.Study) -> None:
    """Take up again what a killed process left running; queued first, so that a second kill loses nothing."""
    for trial in study.get_trials(states=[TrialState.RUNNING]):
        point = trial.params or trial.system_attrs.get("fixed_params")
        if point:
            study.enqueue_trial(point)
        study.tell(trial.number, state=TrialState.FAIL)


def _name(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


def settled(study: optuna.Study) -> list[FrozenTrial]:
    """Trials that are never run again: finished ones, and those whose training itself failed."""
    ended = study.get_trials(states=[TrialState.COMPLETE, TrialState.FAIL])
    return [t for t in ended if t.state == TrialState.COMPLETE or "error" in t.user_attrs]


def open_study(path: Path, search: Search) -> optuna.Study:
    """Open or begin the study in an SQLite file, the published points first in its queue.

    Raises:
        ValueError: the file holds a study of another search.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(storage=f"sqlite:///{path}", study_name=NAME, load_if_exists=True)
    asked = json.loads(json.dumps(asdict(search)))
    if study.user_attrs.setdefault("search", asked) != asked:
        raise ValueError(f"{path} holds another search, {study.user_attrs['search']}; use another file")
    study.set_user_attr("search", asked)
    for point in PUBLISHED.values():
        study.enqueue_trial(point, skip_if_exists=True)
    return study


def optimise(
    path: Path, n_trials: int, search: Search, report: Callable[[FrozenTrial], Any] = lambda trial: None
) -> optuna.Study:
    """Run trials until ``n_trials`` points are settled; call again to go on. One process at a time.

    The sampler (TPE) is seeded anew for each trial by how many came before, so that an interruption changes nothing. A
    point that comes up again is not trained again, and not counted.

    Args:
        path: SQLite file of the study.
        n_trials: points wanted in all, the published ones among them; the whole space at most.
        search: what a trial trains.
        report: is told each trial.

    Raises:
        ValueError: ``n_trials`` below 1; the file holds another search.
    """
    as_count(n_trials, "n_trials")
    space = {name: CategoricalDistribution(values) for name, values in SPACE.items()}
    study = open_study(path, search)
    _requeue(study)
    wanted = min(n_trials, math.prod(map(len, SPACE.values())))
    while len({_name(t.params) for t in settled(study)}) < wanted:
        done = settled(study)
        study.sampler = optuna.samplers.TPESampler(seed=search.seed + len(done))
        trial = study.ask(space)
        known = [t.user_attrs["rows"] for t in done if t.params == trial.params and "rows" in t.user_attrs]
        try:
            rows = known[0] if known else search.rows(trial.params)
        except ValueError as error:  # a training that cannot be done, which says why
            trial.set_user_attr("error", str(error))
            study.tell(trial, state=TrialState.FAIL)
        else:
            trial.set_user_attr("rows", rows)
            study.tell(trial, float(np.mean([row["valid_loss"] for row in rows])))
        report(study.trials[trial.number])
    return study


def ranking(study: optuna.Study) -> list[FrozenTrial]:
    """Finished trials, best first, each point once."""
    first = {_name(t.params): t for t in reversed(settled(study)) if t.value is not None}
    return sorted(first.values(), key=lambda t: (t.value, t.number))


def trials(study: optuna.Study) -> pd.DataFrame:
    """One row per finished point, best first: ``trial``, its values, ``loss``, and mean ``pehe`` and ``epochs``."""
    return pd.DataFrame(
        {"trial": t.number, **t.params, "loss": t.value}
        | pd.DataFrame(t.user_attrs["rows"])[["pehe", "epochs"]].mean().to_dict()
        for t in ranking(study)
    )


def confirmations(study: optuna.Study, best: int, search: Search) -> list[Job]:
    """Make the jobs that train the published points and the ``best`` others of a study on other replications."""
    found = [t.params for t in ranking(study) if t.params not in PUBLISHED.values()][:best]
    points = PUBLISHED | {f"found {rank}": point for rank, point in enumerate(found, 1)}
    config = {"dataset": "ihdp", "protocol": "paper", "stage": "held out", "search": asdict(search)}
    work = lambda point: [Answer(search.rows(point))]  # noqa: E731
    return [
        Job([config | {"point": name} | point], partial(work, point), build(point, **search.settings))
        for name, point in points.items()
    ]


def finished(study: optuna.Study, search: Search) -> list[Job]:
    """Make a job of each finished point of a search, whose work is done already."""
    names = {_name(point): name for name, point in PUBLISHED.items()}
    config = {"dataset": "ihdp", "protocol": "paper", "stage": "search", "search": study.user_attrs["search"]}

    def job(t: FrozenTrial) -> Job:
        name = names.get(_name(t.params), f"trial {t.number}")
        answer = Answer(t.user_attrs["rows"], seconds=(t.datetime_complete - t.datetime_start).total_seconds())
        model = build(t.params, **search.settings)
        return Job([config | {"point": name, "trial": t.number} | t.params], lambda: [answer], model)

    return [job(t) for t in ranking(study)]


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> Iterator[Job]:
    """Search, and yield the jobs of the search and of the judgement on fresh replications.

    Args:
        table: that is made.
        replications: of the search, and of the judgement; those of the book by default.
        store: folder of the records, where ``study.db`` keeps the search.

    Raises:
        ValueError: no store, or one with another search.
    """
    if store is None:
        raise ValueError("a search needs a store to be kept in, got none")
    seen = Search.replications if replications is None else tuple(range(replications))
    search, judgement = Search(seen), Search(tuple(HELD_OUT)[:replications])
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optimise(store / "study.db", TRIALS, search, lambda t: print(t.number, t.value, t.params, flush=True))
    yield from finished(study, search)
    yield from confirmations(study, BEST, judgement)
