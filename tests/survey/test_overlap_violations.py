"""Where nearly nobody is of an arm: it is found and named where it is, and nowhere else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import each, part_and_whole

from macal.logistic import logistic_propensity
from macal.survey.columns import Columns
from macal.survey.report import overlap
from macal.survey.report.overlap_violations import ViolationSearch
from macal.survey.sampling_frame import SamplingFrame
from macal.survey.tables.sample import FirstPhase


def values_of(rng, n, d=3):
    """Ages, d numbers, some of two to the other, and a category of five values, one with a fifth of the people."""
    values = {"age": rng.integers(18, 90, n).astype(float)} | {f"x{k}": rng.normal(size=n) for k in range(d)}
    return values | {"group": rng.choice(5, n, p=[0.4, 0.3, 0.2, 0.07, 0.03]).astype(float)}


def search(seed, chance, n=1000, d=3, **more):
    """A table whose people are treated by a chance, which is a function of the values."""
    rng = np.random.default_rng(seed)
    values = values_of(rng, n, d)
    t = (rng.uniform(size=n) < chance(values)).astype(np.int64)
    return ViolationSearch(values, frozenset({"group"}), t, np.ones(n), **more)


EXACT = {
    "a split": (lambda v: (v["x0"] > 0) * 1.0, {("x0", 0): (0, np.inf), ("x0", 1): (-np.inf, 0)}),
    "both ends": (
        lambda v: np.select([v["age"] > 75, v["age"] < 24], [1, 0], 0.5),
        {("age", 0): (76, 89), ("age", 1): (18, 23)},
    ),
    "a stretch": (lambda v: np.where((v["age"] >= 40) & (v["age"] < 55), 0, 0.5), {("age", 1): (40, 54)}),
    "a category": (lambda v: np.where(v["group"] == 2, 1, 0.5), {("group", 0): (2, 2)}),
    "a rare arm": (lambda v: np.where(v["age"] > 60, 0, 0.1), {("age", 1): (61, 89)}),
}


@each("name", EXACT)
def test_a_hole_of_one_column_is_found_to_the_person(name):
    chance, expected = EXACT[name]
    looked = search(0, chance)
    found = looked.found()
    assert {(c, hole.missing_arm) for hole in found for c in hole.bounds} == set(expected) and len(found) == len(
        expected
    )
    for hole in found:
        ((column, bounds),) = hole.bounds.items()
        low, high = expected[column, hole.missing_arm]
        inside = looked.inside(hole)
        truth = (looked.values[column] >= low) & (looked.values[column] <= high)
        lacking = (looked.t[inside] == hole.missing_arm).sum()
        assert lacking <= 0.01 * inside.sum() and (truth & ~inside).sum() <= 10, (column, bounds)
    sizes = [looked.size(hole) for hole in found]
    assert sizes == sorted(sizes, reverse=True)


def test_two_columns_are_named_where_neither_says_it_alone():
    quadrant = search(0, lambda v: np.where((v["x0"] > 0) & (v["x1"] > 0), 1, 0.5))
    (hole,), corner = quadrant.found(), ((quadrant.values["x0"] > 0) & (quadrant.values["x1"] > 0)).sum()
    assert set(hole.bounds) == {"x0", "x1"} and quadrant.size(hole) == pytest.approx(corner, abs=10)
    # the old are treated everywhere, and of a group those of 60, too
    part = search(0, lambda v: np.where((v["age"] > 75) | ((v["age"] > 55) & (v["group"] == 0)), 1, 0.5), 4000)
    first, second = sorted(part.found(), key=lambda hole: len(hole.bounds))
    assert list(first.bounds) == ["age"] and set(second.bounds) == {"age", "group"}
    # one column twice over is one hole
    ends = search(0, EXACT["both ends"][0])
    twice = replace(ends, values=ends.values | {"born": -ends.values["age"] + 0.0})
    assert len(twice.found()) == 2


def test_nearly_nobody_is_nobody_and_few_are_not():
    """Of the old 1 in 300 is a control, or 1 in 12."""
    nearly, some = (search(0, lambda v, e=e: np.where(v["age"] > 60, 1 - e, 0.5), 3000) for e in (1 / 300, 1 / 12))
    (hole,) = nearly.found()
    assert hole.bounds["age"] == (61, 89) and not some.found()
    assert 0 < (nearly.t[nearly.inside(hole)] == 0).sum() < 10


def expit(z):
    return 1 / (1 + np.exp(-z))


SOUND = {
    "a trial": (lambda v: 0.5, {}),
    "a trial of a rare arm": (lambda v: 0.01, {"n": 2000}),
    "many columns": (lambda v: 0.5, {"d": 80, "n": 400}),
    "many columns, a rare arm": (lambda v: 0.03, {"d": 40, "n": 2000}),
    "ten arms": (lambda v: 0.5, {"looks": 9, "n": 200}),
    "mild": (lambda v: expit(0.5 * v["x0"] - 0.5 * v["x1"]), {}),
    "mild, no line": (lambda v: expit(0.4 * v["x0"] ** 2 - 0.4 + 0.3 * (v["group"] == 3)), {}),
    "steep": (lambda v: 0.05 + 0.9 * v["x0"].argsort().argsort() / len(v["x0"]), {}),
    "steep in two": (lambda v: np.clip(expit(1.5 * v["x0"] + 1.5 * v["x1"]), 0.05, 0.95), {}),
}


@part_and_whole("tables", 8, 40)
@each("name", SOUND)
def test_a_table_without_holes_has_none(tables, name):
    chance, options = SOUND[name]
    wrong = sum(bool(search(seed, chance, **options).found()) for seed in range(tables))
    assert wrong <= max(1, 0.05 * tables), f"{wrong} of {tables}"


def test_whole_clusters_are_drawn_once():
    """20 villages, half of them treated: an order of villages has long runs of one arm."""
    rng = np.random.default_rng(0)
    runs = 0
    for _ in range(20):
        village = np.repeat(np.arange(20), 50)
        t = rng.permutation(np.repeat([0, 1], 10))[village]
        table = pd.DataFrame({"t": t, "village": village, "height": rng.normal(size=20)[village]})
        table["x"] = rng.normal(size=1000)
        people = [
            SamplingFrame.of(table, Columns("t", covariates=["height", "x"], cluster=c)) for c in ("village", None)
        ]
        told = [bool(overlap.overlap_violations(one)) for one in people]
        assert not told[0]
        runs += told[1]
    assert runs > 10  # as if each person had been drawn


@part_and_whole("tables", 5, 50)
@each("share, n, d", [(0.5, 400, 80), (0.01, 2000, 10), (0.1, 400, 10)])
def test_a_model_of_nothing_is_no_poor_overlap(tables, share, n, d):
    warned = 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        x, t = rng.normal(size=(n, d)), (rng.permutation(n) < share * n).astype(np.int64)
        score = overlap.shrunk_scores(logistic_propensity(x, t), t, d, np.ones(n))
        assert score.mean() == pytest.approx(share, rel=0.3)
        warned += bool(overlap.warning(score))
    assert warned <= max(1, 0.05 * tables)


def test_a_model_of_much_stays_as_it_is():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 5))
    t = (x[:, 0] + x[:, 1] + 0.3 * rng.normal(size=2000) > 0).astype(np.int64)
    score = logistic_propensity(x, t)
    np.testing.assert_allclose(overlap.shrunk_scores(score, t, 5, np.ones(2000)), score, atol=0.01)
    assert overlap.warning(overlap.shrunk_scores(score, t, 5, np.ones(2000)))
    same = np.ones(5)
    np.testing.assert_array_equal(overlap.shrunk_scores(same, np.ones(5, np.int64), 2, np.ones(5)), same)


def people_of(n=600, **columns):
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    table = pd.DataFrame({"arm": rng.integers(0, 2, n), "joined": day, "fee": rng.normal(30_000, 9000, n)})
    table["region"] = rng.choice(["north", "south"], n)
    return table.assign(**columns)


def test_holes_are_named_by_column_values_and_number_of_people():
    late = people_of(arm=lambda d: np.where(d.joined >= "2020-08-01", 1, d.arm))
    (told,) = overlap.overlap_violations(SamplingFrame.of(late, Columns("arm")))
    assert told == f"joined from 2020-08-01 on: all {(late.joined >= '2020-08-01').sum()} are treated"
    north = people_of(arm=lambda d: np.where(d.region == "north", "none", np.where(d.arm, "call", "none")))
    people = SamplingFrame.of(north, Columns("arm", reference="none"))
    (told,) = overlap.overlap_violations(people)
    assert told == f"region = north: all {(north.region == 'north').sum()} are in arm none"
    of_many = replace(people, first_phase=FirstPhase(np.full(600, 0.1), np.zeros(600, np.int64), 6000))
    assert f"about {10 * (north.region == 'north').sum():,} " in overlap.overlap_violations(of_many)[0]
    rich = people_of(arm=lambda d: np.where(d.fee > 40_000, 0, np.where(d.fee < 20_000, 1, d.arm)))
    for words in overlap.overlap_violations(SamplingFrame.of(rich, Columns("arm"))):
        (bound,) = (float(word) for word in words.split(":")[0].split() if word[0].isdigit())
        assert bound == pytest.approx(20_000 if "up to" in words else 40_000, abs=400)
        inside = rich.fee <= bound if "up to" in words else rich.fee >= bound
        assert f"all {inside.sum()} are" in words


def test_the_three_largest_are_named_and_what_helps():
    stripes = SamplingFrame.of(people_of(2000, arm=lambda d: (d.fee // 8000) % 2), Columns("arm"))
    named = overlap.overlap_violations(stripes)
    (words,) = overlap.warnings(stripes)
    assert len(named) > overlap.MAX_SHOWN and all(hole in words for hole in named[: overlap.MAX_SHOWN])
    assert named[overlap.MAX_SHOWN] not in words and f"{len(named) - overlap.MAX_SHOWN} more" in words
    assert "exclude" in words and "--target overlap" in words
    assert overlap.warnings(SamplingFrame.of(people_of(), Columns("arm"))) == []


def test_an_order_of_rows_or_columns_changes_nothing():
    table = people_of(arm=lambda d: np.where((d.fee > 35_000) | (d.region == "north"), 1, d.arm))
    mixed = table.sample(frac=1, random_state=0).reset_index(drop=True)
    told = [
        overlap.overlap_violations(SamplingFrame.of(one, Columns("arm")))
        for one in (table, mixed, table[table.columns[::-1]])
    ]
    assert told[0] and told[0] == told[1] and set(told[0]) == set(told[2])


def test_a_table_too_small_or_too_plain_has_none():
    for table in (
        people_of(4, arm=[0, 1, 0, 1]),
        pd.DataFrame({"arm": [0, 1] * 40, "x": [1.0, 2, 2, 1] * 20}),
        pd.DataFrame({"arm": [0, 1] * 40, "x": [1.0, *[2.0] * 79]}),
    ):
        people = SamplingFrame.of(table, Columns("arm"))
        treated = people.restricted_to(np.flatnonzero(people.problem.pool.t))
        assert overlap.overlap_violations(people) == overlap.overlap_violations(treated) == []
