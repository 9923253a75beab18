"""A campaign with three arms: planned, drawn, answered, estimated and reported, each arm against the reference arm."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from test_planner import COVARIATES, make_people

from macal import Planner, metrics
from macal.__main__ import main
from macal.registry import UnknownName
from macal.survey import weighted_estimates
from macal.survey.inference import Survey, ate_size_measure, average_effect, crossfit_propensity
from macal.survey.report import overlap
from macal.survey.report.document import Report

EFFECTS = {"none": 0.0, "call": 2.0, "sms": -1.0}


def trial(n=300):
    rng = np.random.default_rng(7)
    people = make_people(n).drop(columns="free")
    people["arm"] = rng.choice(list(EFFECTS), n)
    return people, (people.age / 10 + people.arm.map(EFFECTS) + rng.normal(size=n)).set_axis(people.person)


def make(people, treatment_of="arm", **options):
    given = {"budget": 90, "batch_size": 30, "covariates": COVARIATES, "identifier": "person", "reference": "none"}
    planner = Planner(treatment_of, **given | options)
    return planner, planner.plan(people)


@pytest.fixture(scope="module")
def answered():
    people, outcomes = trial()
    planner, plan = make(people, draw="effect", uniform=0.3)
    planner.observe(outcomes[plan.index])
    return planner, plan, outcomes


def test_a_plan_names_the_arms_and_asks_each():
    planner, plan = make(trial()[0], criterion="macal")
    counts = plan.arm.value_counts()
    assert planner.people.arms == ["none", "call", "sms"] and len(plan) == 90
    assert counts.to_dict() == {"none": 45, "call": 23, "sms": 22}  # pairs with the reference by turns
    assert plan.arm.tolist() == trial()[0].set_index("person").arm[plan.index].tolist()
    rounds = planner.rounds()
    assert rounds[["arm = none", "arm = call", "arm = sms"]].sum().tolist() == [45, 23, 22]


def test_two_arms_with_names_give_the_plan_of_numbers():
    people = make_people().assign(arm=lambda d: np.where(d.free == 1, "yes", "no")).drop(columns="free")
    old = Planner("free", 300, covariates=COVARIATES, identifier="person", cost="fee").plan(make_people())
    new = make(people, budget=300, cost="fee", batch_size=None, reference="no")[1]
    assert new.index.tolist() == old.index.tolist() and new["round"].tolist() == old["round"].tolist()
    assert new.arm.tolist() == old.free.map({0: "no", 1: "yes"}).tolist()
    numbers = make_people().assign(arm=lambda d: d.free.astype(float)).drop(columns="free")
    planner, plan = make(numbers, budget=300, cost="fee", batch_size=10, reference="0")
    assert plan.index.tolist() == old.index.tolist() and planner.people.arms == [0.0, 1.0]
    assert planner.campaign.arm_index("1") == planner.campaign.arm_index(1) == 1


def test_each_arm_is_estimated_against_the_reference(answered):
    planner, plan, outcomes = answered
    assert planner.campaign.estimable_arms == ["call", "sms"]
    seen = planner.people
    asked = np.isin(planner.people.table.index, plan.index)
    chances = np.ones(300)
    chances[asked] = 1 / plan.weight[planner.people.table.index[asked]]
    for arm in ("call", "sms"):
        found = planner.estimate(arm=arm)
        assert found.arm == arm and abs(found.average.value - EFFECTS[arm]) < 0.8
        k = planner.people.arms.index(arm)
        y = np.where(asked, outcomes, np.nan)
        assert found.weighted == average_effect(Survey(seen.confounders, seen.problem.pool.t, y, chances), arm=k)
        assert found.weighted.low < EFFECTS[arm] < found.weighted.high and len(found.people) == 300
        assert found.projection.answers["now"] == np.isin(plan.arm, ["none", arm]).sum()
    with pytest.raises(ValueError, match="call, sms"):
        planner.estimate()
    with pytest.raises(UnknownName, match="'smss' .*'sms'"):
        planner.estimate(arm="smss")


def test_an_arm_with_few_answers_takes_no_interval_from_others(answered):
    _, plan, outcomes = answered
    planner, _ = make(trial()[0], draw="effect", uniform=0.3)
    few = plan.index[plan.arm == "sms"][:9]
    planner.observe(dict(outcomes[plan.index[plan.arm != "sms"]]) | dict(outcomes[few]), through=3)
    survey = weighted_estimates._survey(planner.campaign, planner.campaign.outcomes, np.arange(300))
    call = planner.estimate(arm="call").weighted
    assert call.low < EFFECTS["call"] < call.high and call == average_effect(survey, arm=1)
    other = replace(survey, y=np.where(survey.t == 2, survey.y + 100, survey.y))
    assert average_effect(other, arm=1) == call
    for reference, arm in ((None, "sms"), ("call", "sms"), ("sms", "none")):
        found = planner.estimate(arm=arm, reference=reference).design_based
        assert found.estimate is None and "arm sms has 9 answers" in found.facts[0]


def test_any_arm_may_be_the_reference_of_what_is_estimated(answered):
    planner, _, _ = answered
    usual, back = planner.estimate(arm="call").weighted, planner.estimate(arm="none", reference="call").weighted
    assert back.value == pytest.approx(-usual.value, abs=0.1) and back.error == pytest.approx(usual.error, rel=0.1)
    found = planner.estimate(arm="sms", reference="call")
    assert found.arm == "sms" and abs(found.average.value + 3) < 0.8 and found.weighted.low < -3 < found.weighted.high
    assert planner.people.arms == ["none", "call", "sms"]
    with pytest.raises(UnknownName, match="'cal' .*'call'"):
        planner.estimate(arm="sms", reference="cal")
    two, plan = make(make_people(), criterion="alc-fixed", reference=1, budget=20, treatment_of="free")
    two.observe(dict.fromkeys(plan.index, 1.0))
    with pytest.raises(ValueError, match="two arms"):
        two.estimate(reference=0)


def test_an_arm_without_answers_is_named(here, capsys):
    people, outcomes = trial()
    people[["person", "arm", *COVARIATES]].to_csv("people.csv", index=False)
    planner, plan = make(pd.read_csv("people.csv"), draw="effect", batch_size=60, budget=60)
    planner.observe(outcomes[plan.index[plan.arm != "sms"]], through=1)
    planner.save("campaign.json")
    assert main(["estimate", "campaign.json", "people.csv", "-o", "effects.csv", "--individual"]) == 0
    assert "sms" in capsys.readouterr().out and "sms" in Report(planner.campaign).estimate()[-1]
    assert pd.read_csv("effects.csv").arm.unique().tolist() == ["call"]


def test_the_report_speaks_of_each_contrast(answered, tmp_path):
    planner, plan, _ = answered
    planner.report(tmp_path / "plan.html")
    text = unescape(re.sub(r"<svg.*?</svg>|<[^>]*>", " ", (tmp_path / "plan.html").read_text(), flags=re.DOTALL))
    assert all(text.count(f": {arm} against none") >= 2 for arm in ("call", "sms"))
    assert all(f"{count} {arm}" in text for arm, count in plan.arm.value_counts().items())
    view, rows = planner.people.contrast(2)
    assert set(planner.people.table.arm.iloc[rows]) == {"none", "sms"} and view.arms == ("none", "sms")
    assert view.problem.pool.t.tolist() == (planner.people.table.arm.iloc[rows] == "sms").astype(int).tolist()
    assert list(overlap.coverage(planner.people, [rows]).columns) == ["none", "call", "sms"]


def test_the_command_takes_three_arms(here, capsys):
    people, outcomes = trial()
    people[["person", "arm", *COVARIATES]].to_csv("people.csv", index=False)
    begin = "plan people.csv --treatment arm --budget 60 -o plan.csv".split()
    assert main(begin) == 1 and "call, none, sms" in capsys.readouterr().err
    assert main([*begin, "--reference", "nobody"]) == 1 and "'nobody'" in capsys.readouterr().err
    assert main([*begin, "--reference", "none", "--campaign", "campaign.json"]) == 0
    plan = pd.read_csv("plan.csv", index_col="person")
    assert set(plan.arm) == set(EFFECTS)
    outcomes[plan.index].rename("visits").rename_axis("person").to_csv("answers.csv")
    assert main(["observe", "campaign.json", "people.csv", "answers.csv"]) == 0
    assert main(["estimate", "campaign.json", "people.csv", "-o", "effects.csv", "--individual"]) == 0
    assert pd.read_csv("effects.csv").arm.value_counts().to_dict() == {"call": 300, "sms": 300}
    capsys.readouterr()
    ask = "estimate campaign.json people.csv -o effects.csv --replace --report r.html --reference sms".split()
    assert main([*ask, "--individual"]) == 0
    said, report = capsys.readouterr().out.splitlines(), (here / "r.html").read_text()
    assert pd.read_csv("effects.csv").arm.value_counts().to_dict() == {"none": 300, "call": 300}
    assert all(f"{arm} against sms" in report for arm in ("none", "call"))
    assert all(any(words.startswith(f"{arm} against sms: average") for words in said) for arm in ("none", "call"))
    assert len(said) == len(set(said)) and sum("unconfoundedness" in words for words in said) == 1


def test_a_rule_of_two_arms_is_refused():
    with pytest.raises(ValueError, match="FCCM"):
        make(trial()[0], criterion="fccm")


def test_the_worth_of_the_reference_arm_is_more_by_the_root_of_the_contrasts():
    e, t = np.full((3, 3), [0.5, 0.25, 0.25]), np.arange(3)
    assert ate_size_measure(e, t).tolist() == pytest.approx([2 * 2**0.5, 4, 4])


def test_errors_and_chances_are_told_by_contrast_and_arm():
    rng = np.random.default_rng(0)
    e = crossfit_propensity(rng.normal(size=(300, 2)), np.arange(300) % 3)
    assert e.shape == (300, 3) and abs(e.mean() - 1 / 3) < 0.01
    assert metrics.pehe(np.array([[1.0, 2.0]] * 4), np.zeros((4, 2))).tolist() == [1.0, 2.0]
