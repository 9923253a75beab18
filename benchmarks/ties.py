"""Tables of few kinds of people: the search by profile against the same search unit by unit, same plans.

    python benchmarks/ties.py        # about two minutes

A profile is what people of one arm with equal covariates share. The long tables are planned by profile alone.
"""

import os
import time
from unittest import mock

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait must not steal the core of those that work

import numpy as np

import macal
from macal.search import nearest

rng = np.random.default_rng(0)


def survey(n):
    """Sex, region, age band and education: 160 profiles."""
    return np.column_stack([rng.integers(0, k, n) for k in (2, 4, 5, 4)])


TABLES = {  # name -> covariates of n people, how many for the comparison, how many by profile alone
    "160 profiles": (survey, 9_000, 1_000_000),
    "3 binary columns": (lambda n: rng.integers(0, 2, (n, 3)), 2_000, 1_000_000),
    "10 binary columns": (lambda n: rng.integers(0, 2, (n, 10)), 10_000, 100_000),
    "one constant column": (lambda n: np.ones((n, 1)), 2_000, 1_000_000),
    "continuous, 20 columns": (lambda n: rng.standard_normal((n, 20)), 20_000, 100_000),
}


def seconds(x, t, start):
    begin = time.perf_counter()
    picks = np.concatenate(macal.plan(x, t, start, 46, 10, "macal"))
    return time.perf_counter() - begin, picks


def one_by_one(x):
    """Every unit a profile of its own."""
    return np.arange(len(x)), np.arange(len(x))


def main():
    for name, (draw, few, many) in TABLES.items():
        x, t, start = draw(few).astype(float), rng.integers(0, 2, few), rng.choice(few, 10, replace=False)
        ours, picks = seconds(x, t, start)
        with mock.patch.object(nearest, "profiles", one_by_one):
            theirs, same = seconds(x, t, start)
        assert np.array_equal(picks, same)
        x, t, start = draw(many).astype(float), rng.integers(0, 2, many), rng.choice(many, 10, replace=False)
        print(
            f"{name:22} {few:7} people: {ours:6.2f} s, unit by unit {theirs:7.2f} s, ratio {theirs / ours:6.1f};"
            f" {many:8} people: {seconds(x, t, start)[0]:6.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
