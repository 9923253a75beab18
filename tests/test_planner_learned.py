"""Plans that learn: the answers change whom later rounds ask, once they say more than settings that no answer moves."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import part_and_whole

import macal
from macal import Planner, models
from macal.acquisition import PoolState
from macal.acquisition.design import FixedALC, LearnedALC
from macal.models import Task
from macal.planner import learned
from macal.posterior import Prior
from macal.problem import Split


def people(n=160, arms=2, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.standard_normal((n, 3)).round(3), columns=["age", "bmi", "dose"])
    table["free"], table["fee"] = np.arange(n) % arms, rng.integers(2, 9, n)
    table["region"], table["home"] = rng.choice(["north", "south"], n), np.arange(n) // 2
    return table.assign(person=[f"p{k:04d}" for k in range(n)])


def outcomes(table, rough=1.0):
    """Outcomes whose treated surfaces vary ``rough`` times as much as the smooth control surface."""
    x = table[["age", "bmi", "dose"]].to_numpy()
    treated = rough * np.sin(3 * x[:, 0]) * table.free.to_numpy()
    noise = 0.05 * np.random.default_rng(1).standard_normal(len(table))
    return pd.Series(0.1 * x[:, 1] + treated + noise, table.person)


def campaign(table, learns=True, answers=40, **options):
    """A plan, its first rounds answered, and planned anew."""
    criterion = {} if learns else {"criterion": "alc-fixed"}
    given = {"identifier": "person", "covariates": ["age", "bmi", "dose"], "budget": 80, "reference": 0}
    planner = Planner("free", **given | criterion | options)
    first = planner.plan(table)
    asked = first.index[first["round"] <= first["round"].iloc[answers - 1]]
    planner.observe(outcomes(table, 5.0)[asked])
    return planner, first, planner.replan()


def test_without_answers_the_plan_is_the_fixed_one_and_with_them_it_is_not(unchecked):
    table = people()
    (one, first, then), (two, fixed, after) = (campaign(table, learns) for learns in (True, False))
    pd.testing.assert_frame_equal(first, fixed)
    pd.testing.assert_frame_equal(after, fixed)  # without learning nothing changes
    assert one.campaign.learned.evidence > 0 and two.campaign.learned is None
    assert then.index[:40].tolist() == first.index[:40].tolist() and set(then.index) != set(first.index)
    learned = one.campaign.learned
    assert learned.answers == 40 and learned.planned == 40
    assert learned.kept == len(set(first.index[40:]) & set(then.index[40:]))
    # the surface that varies more is asked more
    assert then.free[40:].mean() > fixed.free[40:].mean()
    assert learned.spread[1] > 2 * learned.spread[0]


def test_the_next_round_is_that_of_alc_under_the_process_fitted_to_the_answers(unchecked):
    table = people()
    planner, first, then = campaign(table)
    pool = planner.people.problem.pool
    known = planner.people.places(first.index[:40], "the plan")
    y = outcomes(table, 5.0).to_numpy()
    (fitted,) = models.get("joint-gp").fit([Task(Split(pool.x[known], pool.t[known], y[known]))])
    state = PoolState(pool.x.astype(np.float64), pool.t, known, prior=fitted.prior)
    picks = macal.get("alc").select(state, 10)
    assert then.index[40:50].tolist() == table.person[picks].tolist()


def drawn(prior, x, t, rng):
    covariance = prior.covariance(x, t, x, t) + np.diag(prior.noise[t])
    return np.linalg.cholesky(covariance) @ rng.standard_normal(len(t))


@pytest.mark.exhaustive
@part_and_whole("times", 10, 60)
def test_evidence_is_below_zero_where_the_fixed_settings_are_the_truth_and_above_where_they_are_not(times):
    rng, found = np.random.default_rng(0), {"fixed": [], "unequal": [], "noise": []}
    for _ in range(times):
        x, t = rng.standard_normal((60, 3)), np.arange(60) % 2
        truth = FixedALC().prior_among(x, 2)
        unequal = Prior((1.0, 25.0), truth.lengthscale, (0.1, 2.5))
        surfaces = {"fixed": drawn(truth, x, t, rng), "unequal": drawn(unequal, x, t, rng)}
        for name, y in (surfaces | {"noise": rng.standard_normal(60)}).items():
            (fitted,) = models.get("joint-gp").fit([Task(Split(x.astype(np.float32), t, 7 + 3 * y))])
            found[name].append(fitted.evidence)
    wrong = [np.mean(np.array(found["fixed"]) > 0), *(np.mean(np.array(found[k]) < 0) for k in ("unequal", "noise"))]
    assert max(wrong) <= 0.2, wrong


def test_the_evidence_does_not_depend_on_the_outcomes_unit():
    x, t = np.random.default_rng(0).standard_normal((40, 2)).astype(np.float32), np.arange(40) % 2
    y = np.sin(x[:, 0].astype(np.float64)) * (1 + t)
    one, other = (models.get("joint-gp").fit([Task(Split(x, t, v))])[0].evidence for v in (y, 1000 * y - 3))
    assert one == pytest.approx(other, rel=1e-4, abs=1e-3)


DEMANDS = {
    "costs": {"cost": "fee", "budget": 300},
    "quotas": {"quotas": ["region=north>=30"]},
    "whole clusters": {"cluster": "home"},
    "chances to answer": {"response": 0.8},
    "rounds of money": {"cost": "fee", "batch_size": None, "batch_cost": 40, "budget": 300},
}


@pytest.mark.parametrize("name", DEMANDS)
def test_it_learns_under_demands(name, unchecked):
    planner, first, then = campaign(people(), answers=30, **DEMANDS[name])
    assert planner.campaign.learned.evidence > 0 and set(then.index) != set(first.index)
    assert planner.spent() <= then.cost.sum() <= planner.campaign.policy.budget
    if name == "quotas":
        assert (people().set_index("person").region[then.index] == "north").sum() >= 30
    if name == "whole clusters":
        assert people().set_index("person").home[then.index].value_counts().eq(2).all()


def test_it_learns_of_several_arms(unchecked):
    planner, first, then = campaign(people(210, arms=3))
    learned = planner.campaign.learned
    assert learned.evidence > 0 and len(learned.spread) == 3 and learned.correlation == 0
    assert set(then.index) != set(first.index) and set(then.free[40:]) >= {1, 2}


def test_an_arm_without_answers_teaches_nothing(unchecked):
    table = people()
    planner = Planner("free", 40, identifier="person", covariates=["age", "bmi", "dose"])
    first = planner.plan(table)
    controls = first.index[(first.free == 0) & (first["round"] == 1)]
    planner.observe(dict.fromkeys(first.index[first["round"] == 1]) | dict.fromkeys(controls, 1.0))
    planner.replan()
    assert planner.campaign.learned is None
    drawn, first, again = campaign(table, draw="criterion")
    assert drawn.campaign.learned is None and again.index.tolist() == first.index.tolist()


def test_the_file_and_the_report_keep_what_was_learnt(tmp_path, unchecked):
    table = people()
    planner, _, then = campaign(table)
    planner.save(tmp_path / "c.json")
    again = Planner.load(tmp_path / "c.json", table)
    assert again.campaign.learned == planner.campaign.learned
    pd.testing.assert_frame_equal(again.replan(), then)
    planner.report(tmp_path / "r.html")
    said = " ".join(planner.campaign.learned.told([0, 1]))
    assert "Of 40 people who were planned and not asked yet" in said
    assert said.split(";")[0] in (tmp_path / "r.html").read_text()
    content = json.loads((tmp_path / "c.json").read_text())
    assert content["content"]["policy"]["criterion"] == "alc-learned"


def test_a_simulated_campaign_learns_and_one_without_a_model_does_not(unchecked):
    problem = macal.load("toy", seed=0)
    runs = {name: macal.run(problem, name, "joint-gp", n_queries=4) for name in ("alc-learned", "alc-fixed", "alc")}
    picks = {name: run.attrs["picks"] for name, run in runs.items()}
    assert picks["alc-learned"] != picks["alc-fixed"]
    planned = macal.plan(problem.pool.x, problem.pool.t, problem.start, 4, 10, criterion=LearnedALC())
    assert [batch.tolist() for batch in planned] == picks["alc-fixed"]


def test_the_reference_arm_has_the_geometric_mean_of_its_contrasts():
    one, other = (Prior((v, 2.0), (1.0, 1.0), (n, 0.3)) for v, n in ((1.0, 0.1), (4.0, 0.4)))
    found = learned._together([one, other])
    np.testing.assert_allclose([found.variance, found.noise], [[2, 2, 2], [0.2, 0.3, 0.3]])
