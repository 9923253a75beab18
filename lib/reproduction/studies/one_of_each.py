"""Do weighted intervals hold where one person of each drawn cluster is asked?

People, worlds and the rule of coverage are those of :mod:`reproduction.studies.clusters`; seeds (420 + place of the
world, s). As :mod:`macal.planner.drawn` does it under ``--cluster-rule one``, somebody is drawn of each cluster first,
a fifth of the chance uniform; of these, so many are drawn, a fifth uniform and the rest by worth over that first
chance. Designs: 60 and 120 clusters, one of each; everybody answers, or a fifth refuse.
"""

from pathlib import Path

import numpy as np
from scipy.special import expit

from macal.campaigns.evaluation import Row
from macal.inference import Survey, crossed_propensity, draw, inclusion, target_effect, worth_for
from macal.inference.weighted import LEAST, of_each_arm
from macal.shapes import Arms, Indices, Outcomes
from reproduction.studies import clusters, weighted
from reproduction.studies.clusters import UNIFORM, WORLDS
from reproduction.studies.jobs import Job
from reproduction.studies.tables import Table
from reproduction.studies.weighted import BLOCK, EFFECT, SIMULATIONS

DRAWN, SEEDS = (60, 120), 420


def represented(worth: Outcomes, cluster: Arms, rng: np.random.Generator) -> tuple[Outcomes, Indices]:
    """Chance of each person, (n,), to be the one of her cluster, and who is, (clusters,)."""
    first = np.empty(len(worth))
    for number in range(cluster.max() + 1):
        mates = cluster == number
        first[mates] = inclusion(worth[mates], 1, UNIFORM)
    everybody = np.arange(len(worth))
    return first, np.array(
        [rng.choice(everybody[cluster == k], p=first[cluster == k]) for k in range(cluster.max() + 1)]
    )


def simulate(name: str, seed: int) -> list[Row]:
    """One simulation: a row per design."""
    rng = np.random.default_rng([SEEDS + list(WORLDS).index(name), seed])
    x, t, y, cluster = clusters.people(name, rng)
    e = of_each_arm(crossed_propensity(x, t, seed, clusters=cluster))
    worth = worth_for("all", crossed_propensity(x, t, seed), t)
    first, heads = represented(worth, cluster, rng)
    answers = rng.uniform(size=len(t)) < expit(clusters.intercept() + clusters._odds(x, t))
    rows: list[Row] = []
    for drawn in DRAWN:
        chances, own = first.copy(), inclusion(worth[heads] / first[heads], drawn, UNIFORM)
        chances[heads] *= own
        asked = np.isin(np.arange(len(t)), heads[draw(own, rng)])
        for way, told in {"": asked, ", refusals": asked & answers}.items():
            about = {"design": f"{drawn} clusters, one of each{way}", "labelled": drawn, "treated": int(t[told].sum())}
            about |= {"asked": int(asked.sum()), "held": False, "width": np.nan, "error": np.nan}
            if np.bincount(t[told], minlength=2).min() >= LEAST:
                survey = Survey(x, t, np.where(told, y, np.nan), chances, asked, seed=seed, clusters=cluster)
                survey.__dict__["e"] = e  # as it would estimate it, once for all designs
                found = target_effect(survey)
                about |= {"held": found.low <= EFFECT <= found.high, "width": found.width}
                about |= {"error": found.value - EFFECT}
            rows.append(about)
    return rows


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_one``, of so many simulations of each world."""
    firsts = range(0, replications or SIMULATIONS, BLOCK)
    return [weighted.block(world, first, "one of each", simulate) for first in firsts for world in WORLDS]
