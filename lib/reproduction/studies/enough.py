"""Do the models' intervals hold, do forecasts come true, and how often does a stopping rule stop too early, on IHDP?

Replications 0 to 99; labels by MACAL, planned in advance, and at random; rounds of 20 labels, looked at from 30 to 210.
Models: one exact process per arm, and the joint process. A forecast takes the hyperparameters of its round. A rule
stops at the first look at which it is met:

- Width w = 2, 1, 0.5: the interval of the mean effect is at most w wide. It stops too early where the estimate is
  farther than w / 2 from the mean of the true effects; at most 5% of the campaigns that it stops should be.
- Gain g = 10, 5, 2%: the next round is expected to narrow people's intervals by less than g. It stops too early where
  going on to 210 labels, r rounds more, brings the PEHE over the pool below (1 - g)^r times what it is.
"""

from pathlib import Path

import numpy as np

from macal import datasets, metrics, models
from macal.campaigns import begin, evaluation
from macal.models.base import settings_of
from macal.problem import Problem
from macal.shapes import Indices, Rows
from macal.survey.inference import EffectPosterior, posterior_sd
from reproduction.studies.jobs import Answer, Estimators, Job
from reproduction.studies.tables import Table

MODELS = Estimators(
    {
        "exact GP": {"name": "exact-gp", "optimiser": "lbfgs"},
        "joint GP": {"name": "joint-gp"},
    }
)
METHODS = ("macal", "random")
REPLICATIONS, ROUND, LOOKS = 100, 2, range(1, 11)  # of a round, queries of 10 labels; rounds that are looked at
WIDTHS = (2.0, 1.0, 0.5)  # at which rules stop


def look(problem: Problem, labelled: Indices, ahead: Rows, fitted: models.Fitted) -> evaluation.Row:
    """What a fitted process says of the pool's effects, and how far that is from the truth.

    Args:
        problem: with known effects.
        labelled: indices of the labels that it was fitted to.
        ahead: the same, and those of the next round.
        fitted: the model.

    Returns:
        ``average`` effect, its s.d. ``error``, its ``truth``; ``held``, the share of units whose interval holds their
        effect, ``held_average``; ``deviation``, the mean s.d. of an effect, ``pehe``; and as forecast for the next
        round ``ahead`` (mean s.d.), ``ahead_average`` and ``gain``.
    """
    pool = problem.pool
    now, later = (posterior_sd(fitted.prior, pool.x, pool.t, some) for some in (labelled, ahead))
    belief = EffectPosterior(fitted.predict(pool.x).tau, now)
    average, truth = belief.average, float(pool.tau.mean())
    return {
        "average": average.value,
        "error": average.error,
        "truth": truth,
        "held": float(np.mean(np.abs(belief.effects - pool.tau) <= belief.half_widths)),
        "held_average": bool(average.low <= truth <= average.high),
        "deviation": float(now.effects.mean()),
        "pehe": metrics.pehe(belief.effects, pool.tau),
        "ahead": float(later.effects.mean()),
        "ahead_average": later.average,
        "gain": 1 - float(later.effects.mean() / now.effects.mean()),
    }


def campaign(replication: int, method: str) -> Job:
    """One campaign, looked at by both models."""

    def work() -> list[Answer]:
        problem = datasets.load("ihdp", replication)
        played = begin(problem, method, n_queries=ROUND * (LOOKS[-1] + 1))
        played.plan()
        sets = {k: played.labelled(ROUND * k) for k in (*LOOKS, LOOKS[-1] + 1)}
        rows: list[evaluation.Row] = []
        for name, model in MODELS.items():
            fits = evaluation.train(model, [(problem, sets[k]) for k in LOOKS])
            for k, fitted in zip(LOOKS, fits, strict=True):
                rows.append({"model": name, "labelled": len(sets[k])} | look(problem, sets[k], sets[k + 1], fitted))
        return [Answer(rows, played.batches)]

    shared = {"dataset": "ihdp", "protocol": "paper", "study": "enough"}
    settings = {name: settings_of(model) for name, model in MODELS.items()}
    return Job([shared | {"replication": replication, "method": method, "models": settings}], work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``enough_ihdp``, for so many replications."""
    return [campaign(k, method) for k in range(replications or REPLICATIONS) for method in METHODS]
