"""Do the intervals of a drawn campaign hold the truth: what the planner draws, and what it says of the answers?

A case is a world whose people are drawn anew in each of 1,000 simulations, of a proxy's 300, in blocks of 100, by the
seed (place of the case, s). :class:`macal.Planner` plans by its defaults, a draw for the average effect, under the
case's budget and demands; all who are asked answer, but for refusals; the interval is that of
:func:`macal.survey.weighted_estimates.weighted_estimates`. Unless a case says otherwise there are 2,000 people with two
standard normal covariates, log odds of treatment x1 and outcomes x1 + x2 + t + noise of s.d. 1, which the models hold:

- "confounding" with 200 and with 30 answers; "80 covariates" of 1,000 people, 60 answers; "near-separation": log odds
  3 x1.
- "curved", of 1,000 people: exp(x1 / 2 + x3 / 4) + t (1 + (x1^2 - 1) / 2) + noise, log odds x1 - 2.
- "curved twice": x1^2 moves the log odds by 1.2 and the outcome by 1, which neither model has.
- "1% treated", of 10,000, at random: 400 answers, and a full survey.
- "lognormal confounder": exp(x1), scaled, moves the log odds by 0.7 and the outcome by 1; 400 of 4,000.
- "rare columns": ten 0/1 columns of five people, each of which adds 1; a fifth refuses.
- "2% binary", "counts with zeros" (60 answers), "lognormal outcome" (s.d. of its logarithm 2): no effect.
- "three arms": the effect of the second. "refusals": a third of 300 people, by covariate and arm.
- "known outcomes": those of 150 people at random, beside 150 answers.
- "treated", "overlap": the effect on these, where it is 1 + x1. "groups": three, whose intervals are all to hold.
- "looks": four rounds of 50, until the interval that holds at all four is at most 0.82 wide.
- "quotas and costs", of 1,000 people: the money of 120 answers; fees by x1, 30 answers of each of three regions, 60%
  treated. "reserves": 200 of 1,000, 40 expected answers of either half; who refuses is replaced, as in "refusals".
- "20 clusters" of 200, of 10 to 20 people alike in covariates and outcomes, asked whole; "12 clusters of one arm" each;
  "one of each" of 100 clusters.
- "rare stratum", of 1,000 people: 75 answers; a tenth has an effect of 10, all others none; "the same, quota": 25
  answers at least are theirs.

- "proxy": known of all units is the outcome plus noise of s.d. 0.75, which treatment moves, too; the same with 60
  answers, of a binary outcome (plus noise of s.d. 0.4), three arms, 20 clusters, and where a fifth refuses.
  "wrong-signed proxy": measured before treatment, minus what x1, x2 and t leave open, plus that noise. "useless proxy":
  noise, with 200 and 60 answers.

*Rule.* Of each case the coverage among the intervals given, with its exact 99% interval: "as promised" where that
holds 95% or lies above, "too low" where it lies below. Told beside it: the share of simulations with an interval,
mean, median and largest width, and the share whose interval is withheld as not to be relied on. At most a tenth may be,
but for "80 covariates" and "curved twice", whose intervals would cover too little.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

from macal import Planner
from macal.campaigns.evaluation import Row
from macal.shapes import Arms, Covariates, Outcomes
from macal.survey.weighted_estimates import WeightedEstimates, weighted_estimates
from reproduction.studies.jobs import Answer, Job
from reproduction.studies.tables import Table

SIMULATIONS, BLOCK, PEOPLE, CLUSTERS = 1000, 100, 2000, 200
ON_TREATED = 1.4132419  # 1 + E[e x] / E[e] for log odds x, standard normal
Draws = np.random.Generator
Scenario = Callable[[Draws], pd.DataFrame]  # columns t, y, covariates x1 and so on, and what options name


class Case(NamedTuple):
    """A world, its budget, options of the planner, and the effect of an arm that the intervals are to hold.

    Attributes:
        nonresponse: chance of each of the people to refuse, (n,).
        width: of an interval at which one stops to ask.
        simulations: how many.
    """

    world: Scenario
    budget: float
    options: Mapping[str, Any] = {}
    effect: float = 1.0
    arm: int = 1
    nonresponse: Callable[[pd.DataFrame], Outcomes] = lambda people: np.zeros(len(people))
    width: float = 0.0
    simulations: int = SIMULATIONS


def normal(n: int, columns: int) -> Callable[[Draws], Covariates]:
    """Standard normal covariates, (n, columns)."""
    return lambda rng: rng.normal(size=(n, columns))


def skewed(rng: Draws) -> Covariates:
    """Three covariates of 4,000 people, the first of them lognormal, of mean 0 and s.d. 1."""
    x = rng.normal(size=(4000, 3))
    first = np.exp(x[:, 0])
    x[:, 0] = (first - first.mean()) / first.std()
    return x


def rare_columns(rng: Draws) -> Covariates:
    """Two normal covariates, and ten 0/1 columns of five people each."""
    x = np.hstack([rng.normal(size=(PEOPLE, 2)), np.zeros((PEOPLE, 10))])
    for k in range(2, 12):
        x[rng.choice(PEOPLE, 5, replace=False), k] = 1
    return x


def named(x: Covariates, t: Arms, y: Outcomes, **more: Outcomes | Arms) -> pd.DataFrame:
    """People as a table."""
    return pd.DataFrame(x, columns=[f"x{k + 1}" for k in range(x.shape[1])]).assign(t=t, y=y, **more)


def make_scenario(
    mean: Callable[[Covariates, Arms], Outcomes | float] = lambda x, t: x[:, 0] + x[:, 1] + t,
    x: Callable[[Draws], Covariates] = lambda rng: rng.normal(size=(PEOPLE, 2)),
    odds: Callable[[Covariates], np.ndarray] = lambda x: x[:, 0],
    noise: Callable[[Draws, int], Outcomes] = lambda rng, n: rng.normal(size=n),
    **more: Callable[[pd.DataFrame, Draws], Any],
) -> Scenario:
    """A world by mean outcomes, covariates, log odds of the arms but the first, and noise, with further columns."""

    def world(rng: Draws) -> pd.DataFrame:
        own = x(rng)
        score = np.column_stack([np.zeros(len(own)), odds(own)])
        t = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
        people = named(own, t, mean(own, t) + noise(rng, len(t)))
        return people.assign(**{name: column(people, rng) for name, column in more.items()})

    return world


def clustered(is_of_one_arm: bool) -> Scenario:
    """A world of clusters, and what a visit of the cluster costs each."""

    def world(rng: Draws) -> pd.DataFrame:
        home = np.repeat(np.arange(CLUSTERS), rng.integers(10, 21, CLUSTERS))
        shared, lot = rng.normal(size=CLUSTERS)[home], rng.uniform(size=CLUSTERS)[home]
        x = rng.normal(size=(len(home), 2)) + shared[:, None] / 2
        t = (lot < 0.5 if is_of_one_arm else rng.uniform(size=len(home)) < expit(x[:, 0])).astype(np.int64)
        y = x[:, 0] + 0.7 * shared + t + rng.normal(size=len(home))
        return named(x, t, y, home=home, visit=1 / np.bincount(home)[home])

    return world


def _fee(people: pd.DataFrame, rng: Draws) -> pd.Series:
    raw = 5 + 20 * expit(people.x1 + rng.normal(size=len(people)))
    return raw / raw.mean()


def _third(people: pd.DataFrame) -> Outcomes:
    return expit(people.x1 + people.t / 2 - 1.1).to_numpy()


def _zeros(rng: Draws, n: int) -> Outcomes:
    return (rng.uniform(size=n) < 0.25) * rng.poisson(5 * np.exp(rng.normal(size=n))) * 1.0


def rated(world: Scenario, rating: Callable[[pd.DataFrame], Outcomes | float], noise: float = 0.75) -> Scenario:
    """A world in which a rating s, with noise, is known of all units."""

    def more(rng: Draws) -> pd.DataFrame:
        people = world(rng)
        return people.assign(s=rating(people) + noise * rng.normal(size=len(people)))

    return more


def _copied(people: pd.DataFrame) -> Outcomes:
    return people.y.to_numpy()


def _turned(people: pd.DataFrame) -> Outcomes:
    return (people.x1 + people.x2 + people.t - people.y).to_numpy()


_ONE_PERCENT = make_scenario(
    lambda x, t: x[:, 0] + t, normal(10000, 4), lambda x: np.full(len(x), -4.6), lambda rng, n: 2 * rng.normal(size=n)
)
_CURVED = make_scenario(
    lambda x, t: np.exp(x[:, 0] / 2 + x[:, 2] / 4) + t * (1 + (x[:, 0] ** 2 - 1) / 2),
    normal(1000, 6),
    lambda x: x[:, 0] - 2,
)
_VARYING = make_scenario(lambda x, t: x[:, 0] + x[:, 1] + t * (1 + x[:, 0]))
_RARE = make_scenario(
    lambda x, t: x[:, 0] + x[:, 1] / 2 + 10 * t * (x[:, 3] > ndtri(0.9)),
    normal(1000, 6),
    rare=lambda people, rng: people.x4 > ndtri(0.9),
)
_FEES = make_scenario(x=normal(1000, 3), fee=_fee, region=lambda people, rng: np.digitize(people.x3, [-1.28, 0.0]))
_HALVES = make_scenario(x=normal(1000, 3), half=lambda people, rng: people.x3 > 0)
_KNOWN = make_scenario(known=lambda people, rng: people.y.where(rng.uniform(size=len(people)) < 150 / len(people)))
_FLAGS = make_scenario(lambda x, t: x.sum(axis=1) + t, rare_columns)
_BINARY = make_scenario(lambda x, t: 0.0, noise=lambda rng, n: (rng.uniform(size=n) < 0.3) * 1.0)
_RATED, _VISITS = {"proxies": ["s"]}, {"cluster": "home", "cost": "visit"}
CASES = {
    "confounding, 200": Case(make_scenario(), 200),
    "confounding, 30": Case(make_scenario(), 30),
    "80 covariates": Case(make_scenario(x=normal(1000, 80)), 60),
    "curved": Case(_CURVED, 200),
    "1% treated, 400": Case(_ONE_PERCENT, 400),
    "1% treated, all": Case(_ONE_PERCENT, 10000),
    "near-separation": Case(make_scenario(odds=lambda x: 3 * x[:, 0]), 200),
    "lognormal confounder": Case(make_scenario(x=skewed, odds=lambda x: 0.7 * x[:, 0]), 400),
    "rare columns": Case(_FLAGS, 200, nonresponse=lambda people: np.full(len(people), 0.2)),
    "2% binary": Case(
        make_scenario(lambda x, t: 0.0, noise=lambda rng, n: (rng.uniform(size=n) < 0.02) * 1.0), 200, effect=0.0
    ),
    "counts with zeros": Case(make_scenario(lambda x, t: 0.0, noise=_zeros), 60, effect=0.0),
    "lognormal outcome": Case(
        make_scenario(lambda x, t: 0.0, noise=lambda r, n: np.exp(2 * r.normal(size=n))), 200, effect=0.0
    ),
    "three arms": Case(make_scenario(odds=lambda x: x), 200, {"reference": 0}, 2.0, 2),
    "refusals": Case(make_scenario(), 300, nonresponse=_third),
    "known outcomes": Case(_KNOWN, 150, {"outcome": "known"}),
    "treated": Case(_VARYING, 200, {"target": "treated"}, ON_TREATED),
    "overlap": Case(_VARYING, 200, {"target": "overlap"}),
    "groups": Case(make_scenario(group=lambda people, rng: rng.integers(3, size=len(people))), 300, {"by": "group"}),
    "looks": Case(make_scenario(), 200, {"batch_size": 50}, width=0.82),
    "quotas and costs": Case(_FEES, 120, {"cost": "fee", "quotas": ["region>=30", "t=1>=60%"]}),
    "reserves": Case(_HALVES, 200, {"quotas": ["half>=40"], "response": 0.7}, nonresponse=_third),
    "20 clusters": Case(clustered(False), 20.5, _VISITS),
    "12 clusters of one arm": Case(clustered(True), 12.5, _VISITS),
    "one of each": Case(clustered(False), 100, {"cluster": "home", "cluster_rule": "one"}),
    "rare stratum": Case(_RARE, 75),
    "the same, quota": Case(_RARE, 75, {"quotas": ["rare>=25"]}),
    "curved twice": Case(
        make_scenario(lambda x, t: x[:, 0] + x[:, 1] + x[:, 0] ** 2 + t, odds=lambda x: 1.2 * (x[:, 0] ** 2 - 1)), 200
    ),
}
_PROXIES = {
    "proxy": Case(rated(make_scenario(), _copied), 200, _RATED),
    "proxy, 60": Case(rated(make_scenario(), _copied), 60, _RATED),
    "proxy, binary": Case(rated(_BINARY, _copied, 0.4), 200, _RATED, effect=0.0),
    "proxy, three arms": Case(rated(make_scenario(odds=lambda x: x), _copied), 200, {"reference": 0} | _RATED, 2.0, 2),
    "proxy, 20 clusters": Case(rated(clustered(False), _copied), 20.5, _VISITS | _RATED),
    "proxy, refusals": Case(
        rated(make_scenario(), _copied), 250, _RATED, nonresponse=lambda people: np.full(len(people), 0.2)
    ),
    "wrong-signed proxy": Case(rated(make_scenario(), _turned), 200, _RATED),
    "useless proxy": Case(rated(make_scenario(), lambda people: 0.0), 200, _RATED),
    "useless proxy, 60": Case(rated(make_scenario(), lambda people: 0.0), 60, _RATED),
}
CASES |= {name: case._replace(simulations=300) for name, case in _PROXIES.items()}


def campaign(case: Case, seed: int, rng: Draws) -> WeightedEstimates:
    """What a campaign says at its end."""
    people = case.world(rng)
    options = {"covariates": list(people.filter(regex=r"^x\d")), "batch_size": None, "seed": seed}
    planner = Planner("t", case.budget, **options | case.options)
    plan, found = planner.plan(people.drop(columns="y")), WeightedEstimates()
    told = rng.uniform(size=len(people)) >= case.nonresponse(people)
    answers, policy = people.y.where(told).set_axis(planner.people.table.index), planner.campaign.policy
    for _, asked in plan.groupby("round"):
        planner.observe(answers[asked.index])
        if "reserve" in asked:
            planner.observe(answers[asked["reserve"][answers[asked.index].isna()].dropna().to_list()])
        about = {"target": policy.target, "by": policy.by, "looks": "rounds" if case.width else "once"}
        found = weighted_estimates(planner.campaign, planner.campaign.outcomes, case.arm, **about)
        if found.estimate is not None and found.estimate.width <= case.width:
            break
    return found


def simulate(name: str, seed: int) -> Row:
    """One simulation: whether an interval was ``given``, ``held`` and ``withheld`` as unreliable, and its ``width``.

    Of several intervals, all are to be given and to hold, and the mean width counts.
    """
    case = CASES[name]
    found = campaign(case, seed, np.random.default_rng([list(CASES).index(name), seed]))
    every = list(found.groups.values()) if "by" in case.options else [found.estimate]
    if found.estimate is None or len(every) < (3 if "by" in case.options else 1):
        withheld = any(said.startswith("No interval:") for said in found.facts)
        return {"given": False, "held": False, "withheld": withheld, "width": np.nan}
    held = all(one.low <= case.effect <= one.high for one in every)
    return {"given": True, "held": held, "withheld": False, "width": float(np.mean([one.width for one in every]))}


def block(name: str, first: int, count: int = BLOCK) -> Job:
    """A row of so many simulations of a case: numbers ``given``, ``held``, ``withheld``, and widths of those given."""

    def work() -> list[Answer]:
        every = pd.DataFrame([simulate(name, seed) for seed in range(first, first + count)])
        row = {"simulations": count} | {key: int(every[key].sum()) for key in ("given", "held", "withheld")}
        return [Answer([row | every["width"].agg(["mean", "median", "max"]).to_dict()])]

    about = {"dataset": "population", "protocol": "paper", "study": "coverage", "case": name, "first": first}
    return Job([about], work)


def jobs(table: Table, replications: int | None = None, store: Path | None = None) -> list[Job]:
    """Return the jobs of ``coverage``, of so many simulations of each case."""
    sizes = {name: replications or case.simulations for name, case in CASES.items()}
    return [block(name, k, min(BLOCK, whole - k)) for name, whole in sizes.items() for k in range(0, whole, BLOCK)]
