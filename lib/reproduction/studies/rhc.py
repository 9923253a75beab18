"""What a tenth of the people of a real table would have told, some of them refusing, against what everybody tells.

Table "rhc"; the average effect of right heart catheterisation on days survived of 30. Designs: "everybody"; "a tenth",
573 drawn by worth for the average effect, a fifth uniformly; "a tenth, refusals", who answer with log odds 1 - z -
t / 2, z the first covariate. Draw k of ``DRAWS`` is from the seed (300, k). End points: the share of intervals that
hold the estimate from everybody, which is itself uncertain, the root mean square of the distance to it, and the median
width.
"""

from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit

from macal.campaigns.evaluation import Row
from macal.datasets import real
from macal.inference import Estimate, Survey, crossed_propensity, draw, inclusion, target_effect, worth_for
from macal.inference.weighted import standardised
from macal.shapes import Arms, Covariates, Outcomes
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

DRAWS, BLOCK, SEEDS, UNIFORM, NAME = 200, 20, 300, 0.2, "rhc"


@cache
def _people() -> tuple[Covariates, Arms, Outcomes, Outcomes]:
    """Covariates (n, d), arms, outcomes and chances of treatment, (n,) each."""
    rows = real.people(NAME)
    x = rows.covariates(np.arange(len(rows.t)))
    x = x[:, np.ptp(x, axis=0) > 0].astype(np.float64)
    return x, rows.t, rows.y.astype(np.float64), crossed_propensity(x, rows.t)


def everybody() -> Estimate:
    """The effect from everybody's answers."""
    x, t, y, e = _people()
    return target_effect(Survey(x, t, y, np.ones(len(t)), propensity=e))


def drawn(seed: int) -> dict[str, Estimate]:
    """What one draw tells, by design."""
    x, t, y, e = _people()
    rng, chances = np.random.default_rng([SEEDS, seed]), inclusion(worth_for("all", e, t), len(t) // 10, UNIFORM)
    asked = np.isin(np.arange(len(t)), draw(chances, rng))
    tells = rng.uniform(size=len(t)) < expit(1 - standardised(x)[:, 0] - t / 2)
    told = {"a tenth": asked, "a tenth, refusals": asked & tells}
    return {
        name: target_effect(Survey(x, t, np.where(who, y, np.nan), chances, asked, propensity=e, seed=seed))
        for name, who in told.items()
    }


def _row(design: str, one: Estimate, whole: Estimate) -> Row:
    held = one.low <= whole.value <= one.high
    return {"design": design, "value": one.value, "low": one.low, "high": one.high, "held": bool(held)}


def _block(first: int, count: int) -> Job:
    shared = {"dataset": "tables", "protocol": "paper", "study": "rhc", "table": NAME, "first": first}

    def work() -> list[Answer]:
        whole = everybody()
        rows = [_row("everybody", whole, whole) | {"draw": 0}] if first == 0 else []
        for k in range(first, first + count):
            rows += [_row(name, one, whole) | {"draw": k} for name, one in drawn(k).items()]
        return [Answer(rows)]

    return Job([shared], work, sources=lambda: real.people(NAME).sources)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_rhc``, of so many draws."""
    draws = replications or DRAWS
    return [_block(first, min(BLOCK, draws - first)) for first in range(0, draws, BLOCK)]
