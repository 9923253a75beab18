"""The studies of refusals, targets, looks and clusters: truths by another integration, shares, rows as declared."""

import numpy as np
import pandas as pd
import pytest
from needs import needs_data
from scipy.special import expit

from macal import Planner
from macal.inference import crossed_propensity, inclusion, worth_for
from macal.planner.drawn import lottery
from reproduction.claims import weighted
from reproduction.studies import clusters, one_of_each, refusals, rhc, tables, villages


def test_truths_are_those_of_a_large_population():
    x = np.random.default_rng(0).normal(size=1_000_000)
    e = expit(0.8 * x)
    for target, h in {"all": np.ones_like(e), "treated": e, "overlap": e * (1 - e)}.items():
        assert refusals.truth(target) == pytest.approx(h @ (1 + x) / h.sum(), abs=0.005)


@pytest.mark.parametrize("kind", refusals.ANSWERS)
def test_as_many_refuse_as_the_design_says(kind):
    made = refusals._Simulation("linear", 0)
    for refusing in (0.1, 0.3):
        shares = [1 - made.answers(kind, refusing).mean() for _ in range(20)]
        assert np.mean(shares) == pytest.approx(refusing, abs=0.03)
    found = made.survey("all", kind, 0.3)
    assert found.asked.sum() == 200 and found.refused.sum() == 200 - np.isfinite(found.y).sum() > 30


def test_blocks_of_all_worlds_come_before_second_ones():
    jobs = refusals.jobs(tables.TABLES["weighted_refusals"], 200)
    begun = [(job.configs[0]["world"], job.configs[0]["first"]) for job in jobs[:4]]
    assert begun == [("linear", 0), ("bent", 0), ("rare", 0), ("linear", 100)]


def test_coverage_is_judged_by_the_declared_rule():
    held = {"all": 1900, "treated": 1870, "overlap": 1930, "groups": 1950, "looks, any": 1870}
    rows = [
        {"design": name, "world": "bent", "simulations": 1000, "held": share / 2, "width": width}
        for name, share in held.items()
        for width in (1.0, 3.0)
    ]
    found = weighted.promised(pd.DataFrame(rows)).xs("bent", level="world")
    assert found.index[found.kept].tolist() == ["all", "groups"] and (found.width == 2).all()
    assert found.coverage["all"] == 0.95 and found.low["all"] == pytest.approx(0.9362, abs=5e-4)
    assert weighted.promised(pd.DataFrame(rows).iloc[:0]).empty


@needs_data("tables")
def test_a_draw_of_a_real_table_is_a_tenth_and_the_same_again():
    x, t, y, e = rhc._people()
    assert len(x) == len(t) == len(y) == 5735 and (np.ptp(x, axis=0) > 0).all() and e.min() > 0
    whole, found = rhc.everybody(), rhc.drawn(0)
    assert whole.width < found["a tenth"].width < found["a tenth, refusals"].width
    assert rhc.drawn(0)["a tenth"].value == pytest.approx(found["a tenth"].value)
    blocks = rhc.jobs(tables.TABLES["weighted_rhc"], 50)
    assert [job.configs[0]["first"] for job in blocks] == [0, 20, 40] and {*blocks[0].sources()} == {"tables/rhc.csv"}


def test_clusters_are_drawn_as_the_planner_draws_them_and_share_a_quarter():
    x, t, _, cluster = clusters.people("linear", np.random.default_rng(0), 3000)
    size = np.bincount(cluster)
    assert size.min() == 5 and size.max() == 40 and t.mean() == pytest.approx(0.5, abs=0.02)
    # of large clusters the variance of means is that between, and a part of the one within
    means = np.bincount(cluster, x[:, 3]) / size
    between = means.var() - 0.75 * (1 / size).mean()
    assert between == pytest.approx(0.25, abs=0.03) and x[:, 3].var() == pytest.approx(1, abs=0.05)
    refusing = 1 - expit(clusters.intercept() + clusters._odds(x, t)).mean()
    assert refusing == pytest.approx(clusters.REFUSING, abs=0.01)


def test_a_simulation_of_clusters_is_the_same_again():
    rows, again = clusters.simulate("bent", 3), clusters.simulate("bent", 3)
    assert len({row["design"] for row in rows}) == len(rows) == 5
    assert [row["error"] for row in rows] == [row["error"] for row in again]
    assert rows[2]["error"] == pytest.approx(rows[4]["error"], abs=0.05) and rows[2]["width"] > rows[4]["width"]
    jobs = clusters.jobs(tables.TABLES["weighted_clusters"])
    assert len(jobs) == 40 and [job.configs[0]["world"] for job in jobs[:2]] == ["linear", "bent"]


def test_one_of_each_cluster_has_the_chance_that_the_planner_gives_her(unchecked):
    x, t, _, cluster = clusters.people("linear", np.random.default_rng(1))
    names = [f"x{k}" for k in range(x.shape[1])]
    people = pd.DataFrame(x, columns=names).assign(t=t, home=cluster)
    options = {"covariates": names, "cluster": "home", "cluster_rule": "one", "batch_size": None, "seed": 3}
    planner = Planner("t", 60, draw="effect", uniform=one_of_each.UNIFORM, **options)
    plan = planner.plan(people)
    worth = worth_for("all", crossed_propensity(x, t, 3), t)
    first, heads = one_of_each.represented(worth, cluster, np.random.default_rng(0))
    assert (cluster[heads] == np.arange(clusters.CLUSTERS)).all()
    chosen = lottery(planner.people, planner.campaign.policy, None)
    # the planner's covariates are rounded, and the regression of the treatment stops a little elsewhere
    np.testing.assert_allclose(chosen.lots.first, first, rtol=0.03)
    heads = np.flatnonzero(chosen.chances)
    given = inclusion(worth[heads] / first[heads], 60, one_of_each.UNIFORM)
    np.testing.assert_allclose(chosen.chances[heads], given, rtol=0.03)
    asked = planner.people.places(plan.index, "the plan")
    np.testing.assert_allclose(1 / plan["weight"], (chosen.chances * first)[asked], rtol=0.03)


def test_a_simulation_of_one_of_each_is_the_same_again():
    rows, again = one_of_each.simulate("bent", 3), one_of_each.simulate("bent", 3)
    assert [row["error"] for row in rows] == [row["error"] for row in again]
    assert [row["asked"] for row in rows] == [60, 60, 120, 120] and rows[0]["width"] > rows[2]["width"]
    assert len(one_of_each.jobs(tables.TABLES["weighted_one"])) == 40


@needs_data("tables")
def test_villages_are_drawn_by_the_command_line():
    people, y = villages.table()
    assert len(people) == len(y) == 1410 and people.village.nunique() == villages.VILLAGES
    assert people.groupby("village").visit.sum().to_numpy() == pytest.approx(np.ones(villages.VILLAGES))
    one, asked = villages.drawn(20, 0)
    assert villages.everybody().width < one.width and 20 * 5 < asked < 20 * 17
    blocks = villages.jobs(tables.TABLES["weighted_villages"], 20)
    begun = [(job.configs[0]["villages"], job.configs[0]["first"]) for job in blocks]
    assert begun == [(20, 0), (60, 0), (20, 10), (60, 10)]
