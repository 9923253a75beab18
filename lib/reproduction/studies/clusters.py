"""Do weighted intervals hold where whole clusters are drawn, and some of their people refuse?

200 clusters of 5 to 40 people, six standard normal covariates; a quarter of the variance of covariates and outcomes
lies between clusters. Log odds of treatment 0.8 x1; the effect is 1 + x1 / 2 + u / 2, u the cluster's own. Worlds:
"linear", mu0 = x1 + x2 / 2, where the outcome models are right, and "bent", mu0 = x1 + 2 |x3|, where they are wrong.

2,000 simulations of each, in 20 blocks of 100, by the seed (400 + place of the world, s). Clusters are drawn as
:mod:`macal.planner.drawn` does, a fifth of them uniform; everybody of a drawn cluster is asked. Designs: 20 and 60
clusters, where everybody answers, and where a fifth refuse with log odds to answer of a + x2 - t / 2. Coverage of
:func:`macal.inference.target_effect` by clusters is as promised where the exact 99 % interval of the share that holds
contains 95 %; "60 clusters, as people" leaves clusters out of account.
"""

from functools import cache
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from macal.campaigns.evaluation import Row
from macal.inference import Survey, crossed_propensity, draw_balanced, inclusion, target_effect, worth_for
from macal.inference.weighted import LEAST, of_each_arm
from macal.shapes import Arms, Covariates, Outcomes
from reproduction.studies import weighted
from reproduction.studies.jobs import Job
from reproduction.studies.tables import Table
from reproduction.studies.weighted import BLOCK, COVARIATES, EFFECT, SIMULATIONS

WORLDS = {"linear": lambda x: x[:, 0] + x[:, 1] / 2, "bent": lambda x: x[:, 0] + 2 * np.abs(x[:, 2])}
CLUSTERS, SIZES, BETWEEN = 200, (5, 40), 0.25
DRAWN, REFUSING, UNIFORM, SEEDS = (20, 60), 0.2, 0.2, 400


def people(world: str, rng: np.random.Generator, clusters: int = CLUSTERS) -> tuple[Covariates, Arms, Outcomes, Arms]:
    """Draw covariates (n, d), treatment, outcome and the number of the cluster, (n,) each."""
    cluster = np.repeat(np.arange(clusters), rng.integers(SIZES[0], SIZES[1] + 1, clusters))
    n = len(cluster)

    def parted(*shape: int) -> np.ndarray:
        """Standard normal, a part of its variance between clusters."""
        apart, own = rng.normal(size=(clusters, *shape))[cluster], rng.normal(size=(n, *shape))
        return np.sqrt(BETWEEN) * apart + np.sqrt(1 - BETWEEN) * own

    x = parted(COVARIATES)
    t = (rng.uniform(size=n) < expit(0.8 * x[:, 0])).astype(np.int64)
    effect = EFFECT + x[:, 0] / 2 + rng.normal(size=clusters)[cluster] / 2
    return x, t, WORLDS[world](x) + t * effect + parted(), cluster


def _odds(x: Covariates, t: Arms) -> Outcomes:
    """Log odds to answer, (n,), but for a constant."""
    return x[:, 1] - t / 2


@cache
def intercept() -> float:
    """Such that the share that is meant to refuses, in 5,000 clusters."""
    x, t, *_ = people("linear", np.random.default_rng(SEEDS), 5000)
    return float(brentq(lambda a: expit(a + _odds(x, t)).mean() - (1 - REFUSING), -10, 20))


def simulate(name: str, seed: int) -> list[Row]:
    """One simulation: a row per design."""
    rng = np.random.default_rng([SEEDS + list(WORLDS).index(name), seed])
    x, t, y, cluster = people(name, rng)
    size = np.bincount(cluster).astype(np.float64)
    e = of_each_arm(crossed_propensity(x, t, seed, clusters=cluster))
    worth = np.bincount(cluster, worth_for("all", e, t)) / np.sqrt(size)
    answers = rng.uniform(size=len(t)) < expit(intercept() + _odds(x, t))
    rows: list[Row] = []
    for drawn in DRAWN:
        chances = inclusion(worth, drawn, UNIFORM)
        asked = np.isin(cluster, draw_balanced(chances, np.zeros(CLUSTERS, np.int64), size, rng))
        ways = {"": (asked, cluster), ", refusals": (asked & answers, cluster)}
        ways |= {", as people": (asked, None)} if drawn == max(DRAWN) else {}
        for way, (told, alike) in ways.items():
            about = {"design": f"{drawn} clusters{way}", "labelled": drawn, "treated": int(t[told].sum())}
            about |= {"asked": int(asked.sum()), "held": False, "width": np.nan, "error": np.nan}
            if np.bincount(t[told], minlength=2).min() >= LEAST:
                survey = Survey(x, t, np.where(told, y, np.nan), chances[cluster], asked, seed=seed, clusters=alike)
                survey.__dict__["e"] = e  # as it would estimate it, once for all designs
                found = target_effect(survey)
                about |= {"held": found.low <= EFFECT <= found.high, "width": found.width}
                about |= {"error": found.value - EFFECT}
            rows.append(about)
    return rows


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``weighted_clusters``, of so many simulations of each world."""
    firsts = range(0, replications or SIMULATIONS, BLOCK)
    return [weighted.block(world, first, "clusters", simulate) for first in firsts for world in WORLDS]
