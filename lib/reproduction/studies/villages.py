"""What some villages of a real table would have told, drawn whole by the command line, against what all of them tell.

Table "insurance": 1,410 rice farmers in 166 villages (column ``address``); gaps take the median. A visit of a village
costs 1, so that budgets of 20.5 and 60.5 draw 20 and 60 villages: ``DRAWS`` draws of either, by ``macal plan --draw
effect --uniform 0.2 --cluster village``. End points: the median width, the share of intervals that hold the estimate
from all answers, which is itself uncertain, and the root mean square of the distance to it.
"""

from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from macal.__main__ import main
from macal.campaigns.evaluation import Row
from macal.datasets import files, real
from macal.datasets.encoding import encoded, with_excess
from macal.survey.inference import Estimate, Survey, average_effect
from macal.survey.planner import Planner
from macal.survey.tables import frames
from macal.survey.weighted_estimates import weighted_estimates
from reproduction.studies.jobs import Job, on_table
from reproduction.studies.tables import Table

DRAWS, BLOCK, VILLAGES, NUMBERS, UNIFORM, NAME, NAMED = 200, 10, 166, (20, 60), 0.2, "insurance", "farmer"


@cache
def table() -> tuple[pd.DataFrame, pd.Series]:
    """The farmers, with what a visit of their village costs each, and their outcomes, by name."""
    found = real.people(NAME)
    village = pd.read_csv(BytesIO(files.read(f"tables/{real.TABLES[NAME].files[0]}")))["address"]
    people = pd.DataFrame({name: found.columns[name] for name in real.TABLES[NAME].numbers.split()})
    people = people.assign(intensive=found.t, village=village, visit=1 / village.groupby(village).transform("size"))
    people.insert(0, NAMED, [f"f{k:04d}" for k in range(len(people))])
    return people, pd.Series(found.y).set_axis(people[NAMED])


@cache
def everybody() -> Estimate:
    """The effect from all answers, people of a village counting as alike."""
    people, y = table()
    columns = {name: people[name].to_numpy(np.float64) for name in real.TABLES[NAME].numbers.split()}
    x, t = encoded(columns, np.arange(len(y)), with_excess), people.intensive.to_numpy()
    return average_effect(Survey(x, t, y.to_numpy(), np.ones(len(y)), clusters=pd.factorize(people.village)[0]))


def drawn(villages: int, seed: int) -> tuple[Estimate, int]:
    """What one draw tells, and how many farmers were asked."""
    people, y = table()
    said = f"--treatment intensive --budget {villages + 0.5} --cost visit --cluster village --draw effect"
    said += (
        f" --uniform {UNIFORM} --seed {seed} --id {NAMED} --covariates {','.join(real.TABLES[NAME].numbers.split())}"
    )
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        at = {name: str(Path(folder, name)) for name in ("people.csv", "plan.csv", "campaign.json")}
        people.to_csv(at["people.csv"], index=False)
        if main(["plan", at["people.csv"], *said.split(), "-o", at["plan.csv"], "--campaign", at["campaign.json"]]):
            raise RuntimeError(f"macal plan {said} failed")
        planner = Planner.load(at["campaign.json"], frames.read(Path(at["people.csv"])))
    asked = planner.planned.index
    planner.observe(y[asked])
    campaign = planner.campaign
    found = weighted_estimates(campaign, campaign.outcomes, 1)
    if found.estimate is None:
        raise ValueError(" ".join(found.facts))
    return found.estimate, len(asked)


def _row(design: str, one: Estimate, asked: int) -> Row:
    told = {"design": design, "value": one.value, "low": one.low, "high": one.high, "asked": asked}
    return told | {"held": bool(one.low <= everybody().value <= one.high)}


def _block(villages: int, first: int, count: int) -> Job:
    def rows() -> list[Row]:
        asked = [(k, f"{villages} villages", *drawn(villages, k)) for k in range(first, first + count)]
        if (villages, first) == (NUMBERS[0], 0):
            asked.insert(0, (0, "everybody", everybody(), len(table()[0])))
        return [_row(*about) | {"draw": k} for k, *about in asked]

    return on_table("villages", NAME, rows, villages=villages, first=first)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_villages``, of so many draws of either number."""
    draws = replications or DRAWS
    return [_block(n, first, min(BLOCK, draws - first)) for first in range(0, draws, BLOCK) for n in NUMBERS]
