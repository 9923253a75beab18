"""Whether ``macal plan --width`` keeps its word: widths of intervals against those that were asked for.

Real tables of which the planner forecasts a width, their outcomes withheld. ``--residual-sd`` is what cross-fitted
models of all outcomes leave, its root mean square over both arms. Asked is what ``SIZES`` answers are expected to give,
rounded up to two digits; then ``--width`` finds the budget, and each of ``DRAWS`` seeds draws, observes and estimates.

End points, by table and size: the median of realised over asked; the share of campaigns that reach the width, and that
are within 5% of it. Right: half reach it, nine of ten come within 5%, and the median is at least 0.93.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from macal.datasets import real
from macal.survey.inference.weighted import crossfit_outcomes
from macal.survey.planner import Planner
from macal.survey.weighted_estimates import weighted_estimates
from reproduction.studies.jobs import Job, on_table
from reproduction.studies.tables import Table

DRAWS, SIZES = 20, (150, 300)
NEAR, LEAST = 1.05, 0.93  # of realised over asked: within 5%; of its median
LARGE = ("lalonde", "k401ksubs", "catholic", "hi", "smokeban")  # over 6,000 people: left out


def table(about: str | real.Layout) -> tuple[pd.DataFrame, pd.Series, dict[str, str]]:
    """The people of a real table whose outcomes are known, these, and the kinds of columns."""
    found = real.people(about)
    names = [f"p{k:05d}" for k in range(len(found.t))]
    every = found.columns | found.proxies
    columns = {name: pd.Series(np.asarray(column), names) for name, column in every.items()}
    people, y = pd.DataFrame(columns | {"treated": pd.Series(found.t, names)}), pd.Series(found.y, names).dropna()
    people = people.loc[y.index]
    people = people.loc[:, people.nunique() > 1]
    kinds = {c: "number" if isinstance(every[c], np.ndarray) else "category" for c in people if c in every}
    return people, y, kinds


def sd_of(planner: Planner, y: pd.Series) -> float:
    """What models of all outcomes leave, root mean square over both arms."""
    t = planner.people.problem.pool.t
    told = y[planner.people.table.index].to_numpy(np.float64)
    left = told - crossfit_outcomes(planner.people.confounders, t, told, None, 0)[np.arange(len(t)), t]
    return float(np.sqrt(np.square(left).mean()))


def rows(name: str, size: int, draws: int = DRAWS) -> list[dict[str, object]]:
    """A row of each campaign; one without a campaign, where no width can be told."""
    people, y, kinds = table(name)
    first = Planner("treated", size, kinds=kinds)
    first.plan(people)
    sd, ahead = sd_of(first, y), first.forecast()
    about = {"table": name, "people": len(people), "size": size}
    if ahead is None:
        return [about | {"sd": sd}]
    step = 10.0 ** np.floor(np.log10(ahead.width * sd) - 1)
    asked, found = float(np.ceil(ahead.width * sd / step) * step), []
    for seed in range(draws):
        planner = Planner("treated", width=asked, sd=sd, seed=seed, kinds=kinds)
        plan = planner.plan(people)
        planner.observe(y[plan.index])
        one = weighted_estimates(planner.campaign, planner.campaign.outcomes, 1).estimate
        realised = np.nan if one is None else one.width
        found.append(about | {"sd": sd, "seed": seed, "asked": asked, "planned": len(plan), "realised": realised})
    return found


def judged(found: pd.DataFrame) -> pd.DataFrame:
    """End points, by table and size, of rows of :func:`rows` with campaigns, and whether all are ``right``."""
    ratio = (found.realised / found.asked).groupby([found.table, found["size"]])
    reached, near = (ratio.agg(lambda of, most=most: (of <= most).mean()) for most in (1.0, NEAR))
    judged = pd.DataFrame({"median": ratio.median(), "reached": reached, "near": near})
    return judged.assign(right=(judged["median"] >= LEAST) & (reached >= 0.5) & (near >= 0.9))


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``widths``, on so many tables."""
    names = [name for name in real.TABLES if name not in LARGE][:replications]
    return [on_table("widths", name, partial(rows, name, size), size=size) for name in names for size in SIZES]
