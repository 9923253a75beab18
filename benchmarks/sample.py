"""What planning from a sample of a table costs, in variance and in time.

    python benchmarks/sample.py                                        # a small part, printed; about a minute
    python benchmarks/sample.py --append results/sample_plans.csv      # the whole design, resumed; about 55 minutes

*Populations.* Rows are independent draws from one law of covariates and treatment (``ALL``): four simulated ones, the
pools of ACIC 2016 and IBM, and the table of ``benchmarks/planner.py``. From a pool every row, of small populations too,
is drawn with replacement; each of its columns with more than ten values is moved by a normal draw of 0.3 standard
deviations and scaled back to its variance, and the treatment stays. The first s rows of a replication are
its sample of s people, and its population of N people are the first N: so one plan of s people is the plan from a
sample of every population of more people, and the plan of all people of the population of s.

*Plans.* ``alc-fixed`` and ``macal`` with their defaults, nobody labelled, every label at one price. A plan of 1,000
labels begins with the plans of 100, 200 and 500. Seconds are processor time of the plan alone, on one thread.

*End point.* The posterior variance of the effect that the labels leave, mean over 10,000 people of the same law who are
in no population, under the prior of ``alc-fixed`` (``FixedALC.prior_among``, by the first 1,000 of these people). The
variance of both effects' surfaces without a label is 2. Random labels are the first people of five other streams.

*Loss.* Of a sample of s people and a number of labels: V(s), less V of the largest population that was planned with so
many labels, over the lead of that population's plan over random labels. It is averaged over replications first, then
over the kinds of covariates in which more people than s were planned with so many labels. The table of
``benchmarks/planner.py`` stays out, and so does a kind in which that lead is below 2 % of what random labels leave; the
page names it.

*Rule for the default size*, fixed before the study was run: for each criterion and number of labels the smallest size
from which on the mean loss is at most 5 % at every recorded size. As a function of the labels it is max(A, B labels),
A and B out of 1, 2 and 5 times powers of ten: A the smallest that is at least the smallest of these sizes, then B the
smallest with which it is nowhere below them. Where no recorded size below the largest population will do, none is
recommended, and the loss is told.

*Rule for tables in memory*: the same for ``alc-fixed`` with 1 % in the place of 5 %. What 5,000 labels of 100,000
people take, and lose, is measured apart.

*Grid.* ``GRID`` lists it: sizes from 2,000 to 200,000, three replications up to 10,000, two of 20,000, and one plan of
a million people for each criterion. It was chosen to fit into 45 minutes, and took 47 for the plans alone. Left out for
their time: more than one kind of covariates at a million, more than 200 labels of ``alc-fixed`` there, and more than
500 of it on ACIC and IBM.

*Balls.* Tables that did not fit into memory were planned by balls in the place of people before (revision 1802258,
``macal.survey.large``). Their plans of 200 labels on 200,000 people were run by revision e707991 of this file, which
still knew them, and stay recorded beside the others; ``bound`` is what the best person of the moment may have removed
more than the pick, over what the pick removed, median over picks.

*Revision.* All recorded plans were made by the criteria of revision 1802258. Since then the targets of ``alc-fixed``
are drawn by a hash, which is another draw from the same law.
"""

import argparse
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import cholesky, solve_triangular

import macal
from macal.acquisition import PoolState

BLOCK = 10_000  # rows that one generator draws
ENDS = (100, 200, 500, 1000, 2000, 5000)  # labels at which a plan is looked at
EVALUATED = 10_000  # people
RANDOM = 5  # draws of random labels
SCALE, OTHERS, BY_CHANCE = 1000, 1001, 1002  # streams beside the replications': moments, evaluation, random labels
JITTER = 0.3
PLANNER = "48, as benchmarks/planner.py"
FACTORS, MIXED, TEN, TWENTY = "10, three factors", "10, mixed", "10, independent", "20, independent"
ACIC, IBM = "82, ACIC 2016", "177, IBM"


def factors(rng):
    loadings = np.random.default_rng(0).standard_normal((3, 10))
    return rng.standard_normal((BLOCK, 3)) @ loadings + 0.1 * rng.standard_normal((BLOCK, 10))


def mixed(rng):
    """Four numbers of two factors, two skewed and two unrelated ones, two flags."""
    loadings = np.random.default_rng(0).standard_normal((2, 4))
    driven = rng.standard_normal((BLOCK, 2)) @ loadings + 0.3 * rng.standard_normal((BLOCK, 4))
    rest = rng.standard_normal((BLOCK, 4))
    return np.hstack([driven, np.exp(rest[:, :2]), rest[:, 2:], rng.random((BLOCK, 2)) < (0.1, 0.4)])


def independent(rng, d):
    return rng.standard_normal((BLOCK, d))


def planner(rng):
    numbers = np.where(np.arange(44) % 3, rng.standard_normal((BLOCK, 44)), rng.integers(0, 60, (BLOCK, 44)))
    return np.hstack([numbers, np.eye(4)[rng.integers(0, 4, BLOCK)]])


SIMULATED = {
    FACTORS: factors,
    MIXED: mixed,
    TEN: lambda rng: independent(rng, 10),
    TWENTY: lambda rng: independent(rng, 20),
    PLANNER: planner,
}


@cache
def pool(name):
    """Covariates and treatment of a data set's pool, and which columns are moved."""
    split = macal.load(name, 0).pool
    x = split.x.astype(float)
    return x, split.t, np.array([len(np.unique(column)) > 10 for column in x.T])


def resampled(name, rng):
    x, t, moved = pool(name)
    rows = rng.integers(0, len(x), BLOCK)
    noise = JITTER * rng.standard_normal((BLOCK, x.shape[1]))
    return np.where(moved, (x[rows] + noise) / np.sqrt(1 + JITTER**2), x[rows]), t[rows]


@cache
def moments(kind):
    x = np.vstack([SIMULATED[kind](np.random.default_rng([SCALE, block])) for block in range(10)])
    return x.mean(axis=0), x.std(axis=0)


def block_of(kind, stream, block):
    rng = np.random.default_rng([stream, block])
    if kind in (ACIC, IBM):
        return resampled({ACIC: "acic", IBM: "ibm"}[kind], rng)
    mean, sd = moments(kind)
    x = (SIMULATED[kind](rng) - mean) / sd
    chance = 0.4 if kind == PLANNER else 0.5 / (1 + np.exp(-x[:, 0]))
    return x, (rng.random(BLOCK) < chance).astype(np.int64)


def people(kind, n, stream):
    """The first n rows of a stream: covariates, (n, d), and treatment, (n,)."""
    blocks = [block_of(kind, stream, block) for block in range(-(-n // BLOCK))]
    x, t = (np.concatenate(parts)[:n] for parts in zip(*blocks, strict=True))
    return x, t


class Evaluation:
    """What labels leave open about people who are in no population."""

    def __init__(self, kind):
        self.z, _ = people(kind, EVALUATED, OTHERS)
        self.prior = macal.get("alc-fixed").prior_among(self.z[:1000], 2)

    def left(self, x, t, ends):
        """Mean variance of the effect after the first so many labels, for each end."""
        left = np.full(len(ends), float(self.prior.variance.sum()))
        for arm in (0, 1):
            places = np.flatnonzero(t == arm)
            own = x[places]
            gram = self.prior.covariance(own, arm, own, arm) + self.prior.noise[arm] * np.eye(len(own))
            cross = self.prior.covariance(own, arm, self.z, arm)
            # L^-1 k(labels, z): its first rows are those of the first labels alone
            told = solve_triangular(cholesky(gram, lower=True), cross, lower=True, check_finite=False, overwrite_b=True)
            known = np.append(0, np.einsum("lm,lm->l", told, told).cumsum() / len(self.z))
            left -= known[np.searchsorted(places, ends)]
        return left


class Job(NamedTuple):
    """One plan."""

    covariates: str
    criterion: str
    among: str  # "people" or "chance"
    candidates: int
    labels: int
    replication: int


ALL = (FACTORS, MIXED, TEN, TWENTY, ACIC, IBM)
SMALL = {2_000: 3, 5_000: 3, 10_000: 3, 20_000: 2, 50_000: 1}  # size -> replications
GRID = (  # kinds, criterion, among, sizes and replications, labels: what the page cannot do without first
    (ALL, "random", "chance", {1000: RANDOM}, 1000),
    ((PLANNER,), "random", "chance", {5000: RANDOM}, 5000),
    (ALL, "macal", "people", SMALL, 1000),
    (ALL[:4], "alc-fixed", "people", SMALL, 1000),
    ((ACIC, IBM), "alc-fixed", "people", SMALL, 500),
    ((MIXED, TEN), "alc-fixed", "people", {200_000: 1}, 1000),
    ((FACTORS, TWENTY), "alc-fixed", "people", {200_000: 1}, 200),
    ((FACTORS, TWENTY), "alc-fixed", "people", {100_000: 1}, 1000),
    (ALL, "macal", "people", {100_000: 1}, 1000),
    (ALL[:4], "macal", "people", {200_000: 1}, 1000),
    ((MIXED,), "alc-fixed", "people", {1_000_000: 1}, 200),
    ((PLANNER,), "alc-fixed", "people", {25_000: 1, 50_000: 1, 100_000: 1}, 5000),
    ((MIXED,), "macal", "people", {1_000_000: 1}, 1000),
    ((ACIC, IBM), "alc-fixed", "people", {100_000: 1}, 500),
    ((MIXED, TEN), "alc-fixed", "people", {100_000: 1}, 200),
)


def jobs() -> Iterator[Job]:
    """The design, in the order in which it is run."""
    for kinds, criterion, among, sizes, labels in GRID:
        for kind, (size, replications) in product(kinds, sizes.items()):
            yield from (Job(kind, criterion, among, size, labels, k) for k in range(replications))


def by_people(job, x, t, ends):
    """Picks, and the processor time until each end."""
    state, picks, seconds = PoolState(x, t, np.empty(0, np.int64)), [], []
    start = time.process_time()
    for batch in macal.get(job.criterion).plan(state, np.diff(ends, prepend=0).tolist()):
        picks.append(batch)
        seconds.append(time.process_time() - start)
    return np.concatenate(picks), seconds


def run(job, evaluation):
    """One row per number of labels."""
    ends = [end for end in ENDS if end <= job.labels]
    if job.among == "chance":
        x, t = people(job.covariates, job.labels, BY_CHANCE + job.replication)
        picks, seconds = np.arange(job.labels), [0.0] * len(ends)
    else:
        x, t = people(job.covariates, job.candidates, job.replication)
        picks, seconds = by_people(job, x, t, ends)
    told = zip(ends, seconds, evaluation.left(x[picks], t[picks], ends[: len(seconds)]), strict=False)
    rows = [job._asdict() | {"labels": n, "seconds": round(s, 2), "variance": round(v, 6)} for n, s, v in told]
    return pd.DataFrame(rows).assign(plan=job.labels, bound=np.nan)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--append", type=Path, help="CSV file to add the plans to that it does not hold yet")
    parser.add_argument("--most", type=int, default=10**9, help="plan among at most so many people")
    given = parser.parse_args()
    todo = [job for job in jobs() if job.candidates <= given.most]
    if given.append is None:
        todo = [job._replace(labels=200) for job in todo if job.candidates <= 10_000 and job.covariates == MIXED]
    done, evaluations = set(), {}
    if given.append and given.append.exists():
        old = pd.read_csv(given.append).assign(labels=lambda rows: rows["plan"])
        done = {Job(*row) for row in old[list(Job._fields)].itertuples(index=False)}
    for job in todo:
        if job in done:
            continue
        kind = job.covariates
        evaluations[kind] = evaluations.get(kind) or Evaluation(kind)
        rows = run(job, evaluations[kind])
        print(rows.to_string(index=False, header=False), flush=True)
        if given.append:
            rows.to_csv(given.append, mode="a", index=False, header=not given.append.exists())


if __name__ == "__main__":
    main()
