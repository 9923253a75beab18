"""Individual effects on real tables: the judge against effects that are known, the splits, the end points."""

import numpy as np
import pandas as pd
import pytest
from needs import needs_data

from macal.datasets import real
from reproduction.studies import individual as study
from reproduction.studies import tables


def people(n, seed, *, trial, slope):
    """People whose effect is 0.5 + slope * x_0, with that effect, (n,)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    t = (rng.uniform(size=n) < (0.5 if trial else 1 / (1 + np.exp(-x[:, 0] - 0.5 * x[:, 1])))).astype(np.int64)
    tau = 0.5 + slope * x[:, 0]
    y = x[:, 0] + x[:, 2] + t * tau + rng.normal(size=n)
    return study.Labelled(x, t, y, np.ones(n), None), tau


@pytest.mark.parametrize("trial", [True, False])
@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_the_judge_tells_the_true_difference_of_errors(trial, slope):
    """Mean over samples within two standard errors of mean(a^2 ((tau^ - tau)^2 - (c - tau)^2)) / mean(a^2)."""
    told = []
    for seed in range(8):
        some, tau = people(1000, seed, trial=trial, slope=slope)
        guess, one = 0.3 + 0.4 * some.x[:, 1], 0.7
        left, arm = study.nuisances(some, seed)["linear"]
        scale = np.mean(left**2) / 100
        found = (
            study.relative_r_loss(left, arm, guess) - study.relative_r_loss(left, arm, np.full(len(tau), one))
        ) * scale
        true = np.average((guess - tau) ** 2 - (one - tau) ** 2, weights=arm**2)
        told.append(found - true)
    assert abs(np.mean(told)) < 2 * np.std(told, ddof=1) / np.sqrt(len(told)) + 0.01


@needs_data("tables")
def test_people_of_a_cluster_are_on_one_side_of_a_split():
    pool, out = study.split("star", 0)
    assert not {*pool.clusters} & {*out.clusters} and abs(len(pool.t) - len(out.t)) < 300
    assert all(not {*pool[a].clusters} & {*pool[b].clusters} for a, b in pool.folds(0))
    again, _ = study.split("star", 0)
    other, _ = study.split("star", 1)
    assert np.array_equal(pool.x, again.x) and not np.array_equal(pool.y[:50], other.y[:50])


@needs_data("tables")
def test_sets_are_of_the_stated_sizes_and_arms():
    pool, _ = study.split("insurance", 0)
    sets = {(rule, size): some for rule, size, some in study.labels(pool, 0)}
    assert {*sets} == {("random", n) for n in (75, 150, 300, 600, len(pool.t))} | {
        (rule, n) for rule in study.DESIGNS[1:] for n in study.COMPARED
    }
    assert all(len(some.t) == size for (_, size), some in sets.items())
    assert sets["equal", 150].t.sum() == 75 and not np.ptp(sets["macal", 150].w) and np.ptp(sets["draw", 150].w)
    inside = (sets["random", 75].y == sets["random", 150].y[:75]).all()
    assert inside


def test_effects_that_vary_are_chosen_and_equal_ones_seldom():
    often = []
    for slope in (0.0, 1.5):
        some, tau = people(600, 3, trial=True, slope=slope)
        effects, held_out = study.scored(some, 0)
        best = min(held_out, key=lambda name: held_out[name]["held_out"])
        often.append(best)
        errors = {name: np.mean((found(some.x) - tau) ** 2) for name, found in effects.items()}
        assert held_out["average"]["held_out"] == 0 and {*effects} == {*study.ESTIMATORS}
        assert errors["average"] == pytest.approx(slope**2, rel=0.3, abs=0.05)
    assert often[1] != "average" and errors[often[1]] < errors["average"] / 4


def rows(levels, held_out, *, splits=20, design="random", labelled=150, table="rhc", half=False):
    about = {"table": table, "design": design, "labelled": labelled, "half": half, "treated": 9}
    noise = np.random.default_rng(0).normal(0, 0.1, splits)
    return [
        about
        | {"replication": k, "model": name, "held_out": held_out[name], "z": held_out[name]}
        | dict.fromkeys(study.EVALUATORS, one + noise[k] * (name != "average"))
        for k in range(splits)
        for name, one in levels.items()
    ]


def test_end_points_follow_from_the_rows():
    good, bad = {"average": 2.0, "R": 1.0, "process": 3.0}, {"average": 0.0, "R": -1.0, "process": 1.0}
    found = pd.DataFrame(
        rows(good, bad)
        + rows({"average": 2.0, "process": 1.0}, {"average": 0.0, "process": -1.0}, labelled=600, table="hiv")
        + rows({"average": 1.0, "R": 5.0}, bad, table="hiv")
        + rows(good, bad, splits=5, table="college")
        + [row | {"half": True} for row in rows(good, bad, labelled=2867)]
    )
    told = study.by_table(study.chosen(found))
    assert told["said"].to_dict() == {
        ("rhc", "150"): "useful",
        ("hiv", "150"): "harmful",
        ("hiv", "600"): "useful",
        ("rhc", "half"): "useful",
    }
    assert told.loc[("rhc", "150"), "excess"] == pytest.approx(-1.0, abs=0.1)
    assert study.best_on_half(found).loc["rhc", "model"] == "R"
    seen = study.shown(found)
    assert seen["shown"].unstack()["smaller"].to_dict() == {150: 0.0, 600: 1.0}
    assert not seen["shown"][600, "significant"]
    assert seen.loc[(600, "smaller"), "nearer"] == 1.0 and seen.loc[(600, "smaller"), "excess"] == pytest.approx(
        -1, abs=0.1
    )


def test_rules_are_compared_with_random_labels_with_tables_as_units():
    held = {"average": 0.0}
    found = pd.DataFrame(
        [
            row
            for place, table in enumerate(list(real.TABLES)[:6])
            for design in study.DESIGNS
            for row in rows({"average": place + 2.0 * (design == "macal")}, held, design=design, table=table)
        ]
    )
    told = study.by_rule(study.chosen(found))
    assert told.loc[(150, "macal"), "difference"] == pytest.approx(2) and told.loc[(150, "qhte"), "tables"] == 6
    assert told.loc[(150, "qhte"), "difference"] == pytest.approx(0)


def test_individual_effects_are_hardly_ever_nearer_as_plans_without_draw_say():
    told = study.by_table(study.chosen(tables.load("individual"))).said
    assert (told == "useful").mean() < 0.05
