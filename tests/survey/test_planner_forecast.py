"""What is expected of a draw before money is spent: widths, budgets for a width, answers, what has no interval."""

import json
from html import unescape

import numpy as np
import pandas as pd
import pytest

from macal import Planner
from macal.__main__ import main
from macal.survey import forecast, plan_words, words
from macal.survey.forecast import expected_responses, missing_interval_notes
from macal.survey.inference import crossfit_propensity
from macal.survey.notes import notes
from macal.survey.report import document
from macal.survey.weighted_estimates import weighted_estimates

GIVEN = {"treatment": "t", "identifier": "person", "covariates": ["a", "b", "c"], "batch_size": None}


def world(n=1000, seed=0, level=0.0):
    """People and outcomes that a line leaves 1.5 of."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    t = (rng.uniform(size=n) < 1 / (1 + np.exp(-0.8 * x[:, 0] - level))).astype(int)
    people = pd.DataFrame(x, columns=["a", "b", "c"]).assign(
        person=[f"p{k:04d}" for k in range(n)],
        t=t,
        arm=np.where(t == 0, "A", rng.choice(["B", "C"], n, p=[0.7, 0.3])),
        group=rng.choice(["x", "y"], n),
        home=rng.integers(0, n // 4, n),
        fee=rng.uniform(1, 3, n).round(1),
        chance=rng.uniform(0.4, 1.0, n).round(2),
        rate=0.6 + 0.1 * x[:, 1].clip(-3, 3),
    )
    return people, pd.Series(x @ [1, 1, 0.5] + t + 1.5 * rng.normal(size=n), people.person)


def planned(people=None, **options):
    planner = Planner(**GIVEN | {"budget": 200, "sd": 1.5} | options)
    planner.plan(world()[0] if people is None else people)
    return planner


def widths(people, y, draws, **options):
    """Width that is expected, and those of the estimates, of some draws."""
    found = []
    for seed in range(draws):
        planner = planned(people, seed=seed, **options)
        plan, rng = planner.planned, np.random.default_rng([1, seed])
        answers = rng.uniform(size=len(plan)) < plan.get("response", 1.0)
        planner.observe(y[plan.index].where(answers))
        arms = range(1, len(planner.people.arms))
        told = [
            weighted_estimates(planner.campaign, planner.campaign.outcomes, k, planner.campaign.policy.target)
            for k in arms
        ]
        found.append((planner.forecast().width, max(one.estimate.width for one in told)))
    return np.mean(found, axis=0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cost": "fee", "response": "chance", "by": "group"},
        {"cluster": "home", "cluster_rule": "one"},
        {"draw": "criterion", "criterion": "qhte", "sd": None},
    ],
)
def test_what_is_expected_is_known_of_a_campaign_from_a_file(tmp_path, options):
    people, _ = world(400)
    planner = planned(people, **{"budget": 120} | options)
    planner.save(tmp_path / "c.json")
    again = Planner.load(tmp_path / "c.json", people.sample(frac=1, random_state=1))
    assert again.forecast() == planner.forecast() is not None
    again.replan()
    assert again.forecast() == planner.forecast() and notes(again.campaign) == notes(planner.campaign)


def test_chances_that_are_not_the_plan_s_are_not_taken_for_them(tmp_path):
    people, _ = world(400)
    planner = planned(people)
    planner.campaign = planner.campaign.evolve(plan=planner.planned.assign(weight=2.0), design=None)
    assert planner.forecast() is None


def test_refusals_make_the_interval_that_is_expected_wider():
    """As if so many fewer of the arm had been asked; and no interval is expected where too few are left."""
    people, y = world(2000)
    planner = planned(people, budget=400)
    plan, before = planner.planned, planner.forecast().width
    planner.observe(y[plan.index[:10]])
    assert planner.forecast().width == pytest.approx(before)
    arms = [plan.index[10:][plan.t[10:] == arm] for arm in (0, 1)]
    planner.observe({name: None for arm in arms for name in arm[: len(arm) // 2]})
    half = planned(people, budget=400, response=0.5)
    half.campaign = half.campaign.evolve(plan=planner.planned.assign(response=0.5), design=planner.campaign.design)
    assert 1.3 * before < planner.forecast().width == pytest.approx(half.forecast().width, rel=0.05)
    planner.observe({name: None for name in arms[1][len(arms[1]) // 2 :]})
    assert planner.forecast() is None and missing_interval_notes(planner.campaign)


def test_an_interval_is_expected_where_reserves_stand_in_for_refusals(tmp_path):
    people, _ = world(600)
    planner = planned(people, budget=60, response=0.9, seed=1)
    plan, before = planner.planned, planner.forecast()
    few = plan.index[plan.t == plan.t.value_counts().idxmin()]
    planner.observe({name: None for name in few[:-8]} | {name: 1.0 for name in few[-8:]}, through=1)
    assert before is not None and planner.forecast() is None
    planner.observe({name: 1.0 for name in plan.reserve[few[:-8]]})
    planner.save(tmp_path / "c.json")
    again = Planner.load(tmp_path / "c.json", people)
    assert planner.forecast() == again.forecast() and again.forecast() is not None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cost": "fee", "budget": 400},
        {"response": "chance", "budget": 300},
        {"response": "rate", "budget": 300, "pay": "answered"},
        {"target": "treated"},
        {"target": "overlap"},
        {"quotas": ["group=x>=140"]},
        {"cluster": "home"},
        {"cluster": "home", "cluster_rule": "one"},
        {"treatment": "arm", "reference": "A", "budget": 300, "covariates": ["a", "b", "c"]},
    ],
)
def test_intervals_are_about_as_wide_as_expected(options):
    ahead, found = widths(*world(), 4, **options)
    assert found == pytest.approx(ahead, rel=0.15)


@pytest.mark.parametrize(("pay", "power"), [("asked", 0.5), ("answered", 1.0)])
def test_chances_follow_guesses_costs_and_what_covariates_tell_of_refusals(pay, power):
    people, _ = world()
    people = people.assign(guess=np.where(people.group == "x", 3.0, 1.0))
    planner = planned(people, sd="guess", response="rate", cost="fee", pay=pay, uniform=1e-9, budget=150)
    chosen = planner.campaign.design
    e = chosen.units.propensity[np.arange(len(people)), planner.people.problem.pool.t]
    best = people.guess / (e * people.rate**power * np.sqrt(people.fee))
    assert chosen.chances.max() < 1
    np.testing.assert_allclose(chosen.chances / chosen.chances.mean(), best / best.mean(), rtol=0.02)
    blind = planned(people, response="chance", budget=150).campaign.design  # covariates tell nothing of that chance
    flat = planned(people, response=0.7, budget=150).campaign.design
    np.testing.assert_allclose(blind.chances, flat.chances, rtol=0.25)


def test_a_right_guess_of_each_s_d_makes_intervals_narrower_as_expected():
    people, _ = world(2000)
    people = people.assign(guess=np.where(people.group == "x", 3.0, 0.5))
    noise = np.random.default_rng(1).normal(size=len(people))
    y = pd.Series((people.a + people.t + people.guess * noise).to_numpy(), people.person)
    (ahead, told), (_, same) = (widths(people, y, 4, sd=sd) for sd in ("guess", 2.15))
    assert told < 0.95 * same and told == pytest.approx(ahead, rel=0.25)


@pytest.mark.parametrize("guess", [0.0, -1.0, np.nan])
def test_a_guess_that_is_no_s_d_is_refused(guess):
    people, _ = world(200)
    with pytest.raises(ValueError, match="guess.*p0003"):
        planned(people.assign(guess=np.where(people.person == "p0003", guess, 1.0)), sd="guess", budget=60)


def test_a_rare_arm_is_where_a_draw_saves_most():
    people, y = world(3000, level=-3.0)
    ahead, found = widths(people, y, 4)
    assert found == pytest.approx(ahead, rel=0.15)
    one = planned(people, budget=400).forecast()
    assert max(one.width, one.equal) < one.simple / 1.5
    assert planned(people, budget=100).forecast().simple is None  # too few of the arm would be drawn


def test_the_width_is_that_of_the_formula():
    people, _ = world()
    planner = planned(people, uniform=1.0, response=0.8)
    pool, n = planner.people.problem.pool, 1000
    e = crossfit_propensity(planner.people.confounders, pool.t)
    worth = 1.5 / np.where(pool.t == 1, e, 1 - e) / n
    answers = 0.8 * 200 / n
    # one more answer with a residual of 2.33 s.d., of the mean weight of its arm
    rare = [2.33 * worth[pool.t == arm].sum() / (answers * (pool.t == arm).sum()) for arm in (0, 1)]
    left = [(worth**2 / answers)[pool.t == arm].sum() + rare[arm] ** 2 for arm in (0, 1)]
    d = planner.people.confounders.shape[1]
    lost = [1.06 + 0.2 * d / (d + answers * (pool.t == arm).sum()) for arm in (0, 1)]
    width = 2 * 1.9749 * np.sqrt(np.square(lost) @ left)  # t of 159 degrees of freedom
    found = planner.forecast()
    assert found.width == pytest.approx(width, rel=1e-4) and found.simple == pytest.approx(width, rel=1e-4)
    assert not found.in_sd
    unknown = planned(people, uniform=1.0, response=0.8, sd=None).forecast()
    assert unknown.in_sd and 1.5 * unknown.width == pytest.approx(found.width)


def test_known_outcomes_say_what_covariates_leave_open():
    people, y = world()
    people["y"] = y.to_numpy()
    people.loc[300:, "y"] = np.nan
    known, guessed = (planned(people, outcome="y", sd=sd).forecast() for sd in (None, 1.5))
    assert not known.in_sd and known.width == pytest.approx(guessed.width, rel=0.1)
    people.loc[9:, "y"] = np.nan
    assert planned(people, outcome="y", sd=None).forecast().in_sd  # fewer than 10 of each arm


def test_a_sample_expects_what_its_table_does(tmp_path):
    people, _ = world(3000)
    people.to_csv(tmp_path / "people.csv", index=False)
    part = Planner(**GIVEN | {"budget": 200, "sd": 1.5, "sample": 1500})
    part.plan(part.sample(tmp_path / "people.csv", workers=1))
    assert 1000 < len(part.people) < 2000
    whole, part = planned(people).forecast(), part.forecast()
    found = [part.width, part.simple, part.equal]
    assert found == pytest.approx([whole.width, whole.simple, whole.equal], rel=0.05)


@pytest.mark.parametrize("options", [{}, {"cost": "fee"}, {"response": "chance"}, {"cluster": "home", "cost": "fee"}])
def test_a_budget_for_a_width_is_the_least(options):
    people, _ = world()
    planner = planned(people, budget=None, width=1.0, **options)
    budget = planner.campaign.policy.budget
    assert planner.forecast().width <= 1.0 and planner.planned.cost.sum() <= budget
    prices = people.groupby("home").fee.sum() if "cluster" in options else people.fee if "cost" in options else 1.0
    less = planned(people, budget=budget - np.min(prices), **options)
    assert less.forecast().width > 1.0


def test_a_budget_for_a_width_keeps_quotas_and_an_interval():
    people, _ = world(level=-3.0)
    wide = planned(people, budget=None, width=50.0)  # so wide that numbers of answers decide
    assert not missing_interval_notes(wide.campaign)
    planner = planned(people, budget=None, width=50.0, quotas=["group=x>=300"])
    assert (people.set_index("person").group[planner.planned.index] == "x").sum() >= 300


def test_a_width_that_cannot_be():
    people, _ = world()
    with pytest.raises(ValueError, match=r"sd, --residual-sd.*outcome, --outcome"):
        planned(people, budget=None, width=1.0, sd=None)
    with pytest.raises(ValueError, match=r"width 0\.4\d*"):
        planned(people, budget=None, width=0.1)
    with pytest.raises(ValueError, match=r"constraints.* width [\d.]+"):
        planned(people, budget=None, width=0.5, quotas=["group=x<=50"])
    with pytest.raises(ValueError, match="10 answers"):
        planned(people[(people.t == 0) | (people.index < 14)], budget=None, width=1.0)
    for wrong, name in (
        ({"width": 1.0}, "both"),
        ({"budget": None}, "neither"),
        ({"budget": None, "width": -1.0}, "width"),
        ({"sd": 0}, "sd"),
        ({"criterion": "alc-fixed", "sd": None, "budget": None, "width": 1.0}, "width"),
        ({"criterion": "alc-fixed"}, "sd"),
    ):
        with pytest.raises(ValueError, match=name):
            planned(people, **wrong)


def test_answers_are_expected_by_arm_group_and_cluster():
    people, _ = world()
    planner = planned(people, response="chance", by="group")
    plan, table = planner.planned, expected_responses(planner.campaign)
    by = people.set_index("person").loc[plan.index]
    assert table.loc["all"].tolist() == pytest.approx(plan.response.groupby(by.t).sum().tolist())
    assert table.loc["group = x"].tolist() == pytest.approx(plan.response[by.group == "x"].groupby(by.t).sum().tolist())
    planner.observe({plan.index[0]: None, plan.index[1]: 3.0})
    now = plan.response.to_numpy().copy()
    now[:2] = 0, 1
    after = expected_responses(planner.campaign).loc["all"]
    assert after.tolist() == pytest.approx(np.bincount(by.t, now).tolist())
    planner = planned(people, cluster="home")
    homes = people.set_index("person").loc[planner.planned.index].groupby("t").home.nunique()
    assert expected_responses(planner.campaign).loc["clusters"].tolist() == pytest.approx(homes.tolist())


def test_what_will_have_no_interval_is_named():
    people, _ = world()
    assert missing_interval_notes(planned(people, by="group").campaign) == []
    rare = people.assign(t=(people.index < 9).astype(int))
    planner = planned(rare)
    (said,) = missing_interval_notes(planner.campaign)
    assert "of t = 1" in said and "of t = 0" not in said
    assert said in notes(planner.campaign) and planner.forecast() is None
    few = people.assign(arm=np.where(people.index < 9, "D", people.arm))
    (said,) = missing_interval_notes(planned(few, treatment="arm", reference="A", covariates=["a", "b", "c"]).campaign)
    assert "for arm = D" in said and "arm = A" not in said and "arm = B" not in said
    planner = planned(people.assign(group=np.where(people.index < 5, "tiny", "x")), by="group")
    (said,) = missing_interval_notes(planner.campaign)
    assert "group = tiny" in said and "group = x" not in said and planner.forecast().width < 2
    assert planned(people, criterion="alc-fixed", sd=None).forecast() is None


def test_an_interval_is_promised_where_it_is_given():
    people, y = world(300)
    promised, given = [], []
    for seed in range(16):
        planner = planned(people, seed=seed, budget=22, sd=None)
        promised.append(not missing_interval_notes(planner.campaign))
        assert promised[-1] == (planner.forecast() is not None)
        planner.observe(y[planner.planned.index])
        given.append(weighted_estimates(planner.campaign, planner.campaign.outcomes, 1).estimate is not None)
    assert promised == given and 2 < sum(given) < 15


def test_few_clusters_of_an_arm_are_said():
    people, _ = world(400)
    home = people.index // 40  # ten of forty
    by_home = people.assign(home=home, t=home % 2)
    planner = planned(by_home, cluster="home", budget=240)
    (said,) = missing_interval_notes(planner.campaign)
    assert "clusters" in said and "4 of t = 0" in said and "2 of t = 1" in said
    planner.observe({name: float(k % 7) for k, name in enumerate(planner.planned.index)})
    assert "arm 0 has answers from 4 clusters" in planner.estimate().design_based.facts[0]
    assert any("each of one arm" in note for note in notes(planner.campaign))
    planner = planned(people.assign(home=home), cluster="home", budget=320)
    assert missing_interval_notes(planner.campaign) == [] and planner.forecast().equal is None
    with pytest.raises(ValueError, match="5 clusters"):
        planned(people.assign(home=home // 3), cluster="home", budget=None, width=3.0)


def test_as_many_of_each_arm_as_there_are():
    people, _ = world(level=-3.0)
    campaign = planned(people, budget=500).campaign
    crowd, _ = forecast._crowd(campaign.people, campaign.policy, campaign.design.units)
    chances, few = crowd.equal(500.0), (crowd.t == 1).sum()
    assert (chances[crowd.t == 1] == 1).all() and chances[crowd.t == 0].sum() == pytest.approx(500 - few)
    assert crowd.equal(50.0)[crowd.t == 1].sum() == pytest.approx(25) and crowd.simple(50.0).sum() == pytest.approx(50)


def test_the_command_finds_a_budget_and_says_what_is_expected(here, capsys):
    world()[0].to_csv("people.csv", index=False)
    command = ["plan", "people.csv", "--treatment", "t", "--id", "person", "--covariates", "a,b,c", "-o", "plan.csv"]
    more = ["--sd", "1.5", "--by", "group", "--campaign", "campaign.json", "--report", "report.html"]
    assert main([*command, "--width", "1.2", *more]) == 0
    said, planner = capsys.readouterr().out, Planner.load("campaign.json", pd.read_csv("people.csv"))
    budget = planned(budget=None, width=1.2, by="group").campaign.policy.budget
    policy = json.loads((here / "campaign.json").read_text())["content"]["policy"]
    assert planner.campaign.policy.budget == policy["budget"] == budget and policy["width"] == 1.2
    assert f"{budget:g} is the smallest" in said and "group = x" in said and "group = x" in document(planner.campaign)
    told = planned(budget=budget, by="group").forecast().describe()
    assert told in said and told in unescape((here / "report.html").read_text())
    assert main([*command, "--width", "1.2", "--replace"]) == 1 and "--residual-sd" in capsys.readouterr().err
    for wrong in ([], ["--width", "1", "--budget", "200"]):
        with pytest.raises(SystemExit):
            main([*command, *wrong])


def test_where_chances_do_not_fit_no_width_is_told():
    people, _ = world()
    apart = people.assign(t=(people.a > 0).astype(int))
    for table, options in ((apart, {}), (people, {"propensity": 0.1})):
        planner = planned(table, **options)
        assert planner.forecast() is None and any("add up" in words for words in notes(planner.campaign))
        with pytest.raises(ValueError, match="add up"):
            planned(table, budget=None, width=1.0, **options)
    assert planned(apart, target="overlap").forecast() is not None


def test_facts_are_sentences_that_say_their_kind_and_values(tmp_path):
    people, y = world(400)
    planner = planned(people, budget=30, response=0.9, treatment="arm", reference="A")
    facts = {fact.kind: fact for fact in planner.facts()}
    assert facts["too_few_answers"].values["least"] == 10 and "unseen_causes" in facts
    said = vars(words) | vars(plan_words)
    assert [str(fact) for fact in planner.facts()] == [said[fact.kind](**fact.values) for fact in planner.facts()]
    planner.save(tmp_path / "c.json")
    assert Planner.load(tmp_path / "c.json", people).facts() == planner.facts()
    rich = planned(people, budget=200, response=0.9)
    rich.observe(y[rich.planned.index].where(np.arange(len(rich.planned)) % 10 > 0))
    told = {fact.kind: fact.values for fact in rich.estimate().design_based.facts}
    assert told["modelled_refusals"] == {"silent": 20, "asked": 200, "waited": 0}
    assert told["refusals_at_worst"]["low"] < rich.estimate().weighted.value < told["refusals_at_worst"]["high"]
