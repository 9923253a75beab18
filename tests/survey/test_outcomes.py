"""Several outcomes in one campaign: each is estimated as if it were the only one, and rounds and money go by any."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from test_planner import COVARIATES, make, make_people
from test_planner_estimate import DRAWN

from macal.__main__ import main
from macal.registry import UnknownName
from macal.survey import Planner, record

PEOPLE = make_people(400)
CAMPAIGN = ["c.json", "people.csv"]


def truth(people=PEOPLE):
    """Two outcomes of everybody, of different units."""
    rng, n = np.random.default_rng(0), len(people)
    wage = people.age / 10 + 2 * people.free + rng.normal(size=n)
    health = 50 - people.age / 5 + people.free + rng.normal(size=n) * 3
    return pd.DataFrame({"wage": wage.to_numpy(), "health": health.to_numpy()}, people.person)


def holed(plan, rounds, people=PEOPLE):
    """Answers of the first rounds: every ninth refuses, every seventh leaves the second outcome out."""
    found = truth(people).loc[plan.index[plan["round"] <= rounds]]
    k = np.arange(len(found))
    found.loc[k % 9 == 0] = np.nan
    found.loc[k % 7 == 0, "health"] = np.nan
    return found


def answered(rounds=2, people=PEOPLE, **options):
    planner, plan = make(people, **DRAWN | options)
    told = holed(plan, rounds, people)
    planner.observe(told)
    return planner, plan, told


def same(one, other):
    """Whether two findings are the same but for rounding."""
    numbers = [[vars(average) for average in found.averages.values()] for found in (one, other)]
    assert numbers[0] == [pytest.approx(average, rel=1e-6) for average in numbers[1]]
    words, others = ([re.sub(r"[\d.]+", "", said) for said in found.design_based.facts] for found in (one, other))
    assert words == others and one.level == other.level
    pd.testing.assert_frame_equal(one.people, other.people)
    pd.testing.assert_frame_equal(one.projection, other.projection)
    return True


@pytest.mark.parametrize("options", [{}, {"draw": None, "uniform": 0.2}, {"response": 0.8, "pay": "answered"}])
def test_each_outcome_is_estimated_as_if_it_were_the_only_one(options):
    planner, plan, told = answered(**options)
    for name in told:
        alone = make(PEOPLE, **DRAWN | options)[0]
        alone.observe(told[name])
        assert same(planner.estimate(outcome=name), alone.estimate())
        assert planner.estimate(outcome=name).outcome == name


def test_rounds_money_and_refusals_go_by_any_outcome():
    people = PEOPLE.assign(fee=np.arange(400) % 5 + 1)
    planner, plan, told = answered(2, people, cost="fee", pay="answered", response=0.9)
    none = told.index[told.isna().all(axis=1)]
    assert planner.asked == 2 and [name for name, y in planner.answers.items() if y is None] == none.tolist()
    fee = people.set_index("person").fee
    assert planner.spent() == fee[told.index.drop(none)].sum()
    some = told.index[told.health.isna() & told.wage.notna()]
    assert len(some) and all(planner.answers[name] == told.wage[name] for name in some)
    stood = plan.reserve[none].dropna()
    planner.observe(truth(people).loc[stood].assign(wage=np.nan))  # reserves who give the second outcome alone
    assert set(planner.campaign.reserves_used) == set(stood) == set(planner.campaign.seen("wage").reserves_used)
    assert planner.spent() == fee[[*told.index.drop(none), *stood]].sum()
    assert not set(planner.replan().index[planner.planned["round"] > 2]) & {*told.index, *stood}


def test_a_later_outcome_is_waited_for_until_something_is_said_of_it():
    planner, plan = make(PEOPLE, **DRAWN)
    midline, endline = truth().wage[plan.index[:80]].to_frame(), truth().health[plan.index[:50]].to_frame()
    planner.observe(midline)
    endline.iloc[:10] = np.nan
    planner.observe(endline)
    seen, other = (planner.campaign.seen(name) for name in ("health", "wage"))
    assert planner.asked == 2 and not [y for y in planner.answers.values() if y is None]
    assert len(seen.refused) == 10 and len(seen.answers) == 50 and len(other.answers) == 80 and not len(other.refused)
    outlook = planner.estimate(outcome="health").projection.answers
    assert (outlook["now"], outlook["asked"]) == (40, 70)
    planner.observe(endline.iloc[:10].fillna(3.0))  # they were asked again
    assert not len(planner.campaign.seen("health").refused)


def test_several_must_be_told_apart_and_one_need_not():
    planner, plan, told = answered()
    for name, error in (("wge", UnknownName), (None, ValueError)):
        with pytest.raises(error, match="wage, health"):
            planner.estimate(outcome=name)
    alone = make(PEOPLE, **DRAWN)[0]
    alone.observe(told[["wage"]])
    assert same(alone.estimate(), alone.estimate(outcome="wage")) and not alone.campaign.by_outcome
    alone.observe({plan.index[100]: 3.0})  # of the only one
    assert alone.campaign.seen("wage").answers[plan.index[100]] == 3.0
    with pytest.raises(UnknownName, match="'health'"):
        alone.estimate(outcome="health")


@pytest.mark.parametrize("options", [{}, {"draw": None, "uniform": 0.2}])
def test_simultaneous_intervals_are_wider_by_bonferroni(options):
    planner, _, told = answered(**options)
    for name in told:
        one, every = (planner.estimate(outcome=name, by="region", simultaneous=wide) for wide in (False, True))
        pairs = zip(one.averages.values(), every.averages.values(), strict=True)
        pairs = [*pairs, *((one.design_based.groups[k], every.design_based.groups[k]) for k in one.design_based.groups)]
        assert all(b.value == pytest.approx(a.value) and b.error == pytest.approx(a.error) for a, b in pairs)
        assert all(a.width < b.width for a, b in pairs) and pairs
        assert (one.level, every.level) == (0.95, 0.975) and every.at_once and not one.at_once
        facts = (found.design_based.facts for found in (one, every))
        levels = [{fact.values["level"] for fact in some if "level" in fact.values} for some in facts]
        assert levels == ([{0.95}, {0.975}] if one.design_based.groups else [set(), set()])
    looks = [planner.estimate(outcome="wage", looks="rounds", simultaneous=wide).averages for wide in (False, True)]
    assert all(list(looks[0].values())[0].width < one.width for one in looks[1].values())
    alone = make(PEOPLE, **DRAWN | options)[0]
    alone.observe(told.wage)
    assert same(alone.estimate(simultaneous=True), alone.estimate())


def test_what_was_observed_is_taken_up_from_a_file(tmp_path):
    planner, plan, told = answered()
    planner.save(tmp_path / "c.json")
    again = Planner.load(tmp_path / "c.json", PEOPLE)
    assert again.answers == planner.answers and again.campaign.by_outcome == planner.campaign.by_outcome
    assert record.packed(record.content_of(again.campaign)) == (tmp_path / "c.json").read_bytes()
    assert same(again.estimate(outcome="health"), planner.estimate(outcome="health"))
    alone = make(PEOPLE, **DRAWN)[0]
    alone.observe(told[["wage"]])
    assert not record.content_of(alone.campaign)["outcomes"]
    content = json.loads((tmp_path / "c.json").read_text())["content"]
    name = plan.index[1]
    for wrong in (
        {"outcomes": {"wage": [["p9999", 1.0]]}},
        {"outcomes": {"wage": [[name, "many"]]}},
        {"outcomes": {"wage": [[name, 1.0]], "health": []}},
        {"outcomes": {"wage": content["answers"][1:]}},
        {"outcomes": []},
        {"answers": content["answers"][1:]},
    ):
        with pytest.raises(record.Damaged, match="answers|outcomes"):
            record.campaign_of(content | wrong, PEOPLE)


def test_a_correction_says_which_outcome_it_means():
    planner, plan, told = answered(pay="answered", response=0.9)
    both = told.dropna().index[:4].tolist()
    with pytest.raises(ValueError, match="wage, health"):
        planner.correct(both[0], "outcome", "ann", 7.0)
    with pytest.raises(UnknownName, match="'wge'"):
        planner.correct(both[0], "outcome", "ann", 7.0, of="wge")
    with pytest.raises(ValueError, match="'wage'"):
        planner.correct(both[0], "never asked", "ann", of="wage")
    assert not planner.campaign.journal
    spent = planner.spent()
    planner.correct(both[0], "outcome", "ann", 7.0, of="health")
    planner.correct(both[1], "withdrawn", "ann", of="wage")
    planner.correct(both[2], "withdrawn", "bo")
    wage, health = (planner.campaign.by_outcome[name] for name in ("wage", "health"))
    assert health[both[0]] == 7.0 and wage[both[0]] == told.wage[both[0]] == planner.answers[both[0]]
    assert wage[both[1]] is None and planner.answers[both[1]] == told.health[both[1]]
    assert wage[both[2]] is health[both[2]] is planner.answers[both[2]] is None
    assert planner.spent() == spent  # what was withdrawn stays paid
    planner.correct(both[3], "never asked", "bo")
    assert not any(both[3] in told for told in planner.campaign.by_outcome.values())
    assert both[3] not in planner.answers and planner.spent() == spent - 1
    one, some, every, _ = planner.campaign.journal
    assert "(health)" in one.was and "(wage)" in some.was and "(wage)" in every.was and "(health)" in every.was


def test_what_cannot_be_observed_is_refused_and_changes_nothing():
    planner, plan, told = answered(1)
    name, late = told.dropna().index[0], truth().loc[plan.index[40:42]]
    other = next(one for one in PEOPLE.person if one not in plan.index)
    before = planner.campaign
    for wrong, said in (
        (told.loc[[name]] + 1, f"{name} .wage"),
        (late.assign(health=[1.0, np.inf]), f"{plan.index[41]} .health"),
        (late.assign(health="good"), f"{plan.index[40]} .health"),
        (truth().loc[[other]], other),
        (late.rename(columns={"wage": "free"}), "'free'"),
        (late.rename(columns={"wage": "person"}), "'person'"),
        (late.rename(columns={"wage": 3}), "3"),
        (late.rename(columns={"wage": "health"}), "health"),
        (late[[]], "column"),
        (late.wage.rename(None), "'wage' and 'health'"),
    ):
        with pytest.raises(ValueError, match=said):
            planner.observe(wrong)
        assert planner.campaign is before
    unnamed = make(PEOPLE, **DRAWN)[0]
    unnamed.observe(told.wage)
    with pytest.raises(ValueError, match="'wage' and 'health'"):
        unnamed.observe(late)
    unnamed.observe(late[["wage"]])  # names the one there is
    assert unnamed.campaign.outcome_column == "wage" and len(unnamed.answers) == len(told) + 2


def test_a_table_with_outcomes_of_its_own_takes_one():
    """Nobody whose outcome is in the table is asked, so a second one would be known of nobody there."""
    known = PEOPLE.assign(wage=truth().wage.where(np.arange(400) < 50).to_numpy())
    planner, plan = make(known, **DRAWN, outcome="wage")
    before, new = planner.campaign, truth().loc[plan.index[:40]]
    with pytest.raises(ValueError, match="'wage'.*'health'"):
        planner.observe(new)
    assert planner.campaign is before
    planner.observe(new[["wage"]])
    with pytest.raises(ValueError, match="'wage'.*'health'"):
        planner.observe(new[["health"]])
    assert planner.estimate(outcome="wage").projection.answers["now"] == 90
    empty, plan = make(PEOPLE.assign(wage=np.nan), **DRAWN, outcome="wage")
    empty.observe(truth().loc[plan.index[:40]])
    assert [*empty.campaign.by_outcome] == ["wage", "health"]


def test_far_values_of_any_outcome_are_told():
    planner, plan = make(PEOPLE, **DRAWN)
    told = truth().loc[plan.index[:80]]
    told.loc[plan.index[3], "health"] = 1e6
    planner.observe(told)
    with pytest.warns(UserWarning, match="'health'"):
        planner.replan()


# ---------------------------------------------------------------- the command line


@pytest.fixture
def folder(here):
    PEOPLE[["person", "free", *COVARIATES]].to_csv("people.csv", index=False)
    given = ["--treatment", "free", "--budget", "120", "--batch-size", "40", "-o", "plan.csv", "--campaign", "c.json"]
    assert main(["plan", "people.csv", *given]) == 0
    holed(pd.read_csv("plan.csv", index_col="person"), 2).to_csv("answers.csv")
    return here


def observed():
    return main(["observe", *CAMPAIGN, "answers.csv", "--outcome", "wage,health"])


def test_from_a_file_of_two_outcomes_to_both_effects(folder, capsys):
    plan = pd.read_csv("plan.csv", index_col="person")
    assert main(["observe", *CAMPAIGN, "answers.csv"]) == 1 and "wage,health" in capsys.readouterr().err
    assert observed() == 0
    told = holed(plan, 2)
    came, out = told.notna().sum(), int(told.isna().all(axis=1).sum())
    said = capsys.readouterr().out
    assert f"wage {came.wage}" in said and f"health {came.health}" in said and f"{out} refusals" in said
    assert observed() == main(["observe", *CAMPAIGN, "answers.csv"]) == 0  # once more, both known by now
    capsys.readouterr()
    ask = ["estimate", *CAMPAIGN]
    assert main([*ask, "-o", "e.csv", "--individual", "--report", "r.html"]) == 0
    said, report = capsys.readouterr().out, (folder / "r.html").read_text()
    planner = Planner.load("c.json", pd.read_csv("people.csv"))
    for name in ("wage", "health"):
        value = planner.estimate(outcome=name).weighted.value
        assert f"{value:.4g}, 95%" in said and f"'{name}'" in said and f": {name}</h2>" in report
    effects = pd.read_csv("e.csv")
    assert effects.columns.tolist() == ["person", "effect", "low", "high", "outcome"] and len(effects) == 800
    assert effects.outcome.value_counts().to_dict() == {"wage": 400, "health": 400}
    assert main([*ask, "--outcome", "health", "--simultaneous"]) == 0
    said = capsys.readouterr().out
    assert "97.5%" in said and "'wage'" not in said
    assert main([*ask, "--outcome", "helth"]) == 1 and "'health'" in capsys.readouterr().err


def test_an_endline_comes_after_a_midline(folder, capsys):
    whole = pd.read_csv("answers.csv")
    whole[["person", "wage"]].to_csv("answers.csv", index=False)
    assert main(["observe", *CAMPAIGN, "answers.csv"]) == 0
    whole[["person", "health"]].dropna().head(3).to_csv("answers.csv", index=False)
    before = (folder / "c.json").read_bytes()
    assert main(["observe", *CAMPAIGN, "answers.csv"]) == 1 and "--outcome health" in capsys.readouterr().err
    assert (folder / "c.json").read_bytes() == before
    some = whole[["person", "health"]].dropna()
    free = PEOPLE.set_index("person").free[some.person].to_numpy()
    some[free == 1].to_csv("answers.csv", index=False)
    assert main(["observe", *CAMPAIGN, "answers.csv", "--outcome", "health"]) == 0
    assert "'health'" in capsys.readouterr().out
    assert main(["estimate", *CAMPAIGN]) == 0  # one arm alone has the endline
    said = capsys.readouterr().out
    assert said.count("average effect (weighted)") == 1 and "No effect on 'health'" in said
    assert main(["estimate", *CAMPAIGN, "--outcome", "health"]) == 1
    some[free == 0].to_csv("answers.csv", index=False)
    assert main(["observe", *CAMPAIGN, "answers.csv"]) == main(["estimate", *CAMPAIGN]) == 0
    assert capsys.readouterr().out.count("average effect (weighted)") == 2


def test_a_command_that_fails_leaves_the_file(folder, capsys):
    assert observed() == 0
    before, lines = (folder / "c.json").read_bytes(), (folder / "answers.csv").read_text().splitlines()
    name = next(line.split(",")[0] for line in lines[1:] if "" not in line.split(","))
    correct = ["correct", *CAMPAIGN, name, "--by", "ann"]
    for words, said in (
        (["observe", *CAMPAIGN, "answers.csv", "--outcome", "wage,helth"], "'health'"),
        (["observe", *CAMPAIGN, "answers.csv", "--outcome", "person,wage"], "'person'"),
        ([*correct, "--outcome", "3"], "--of"),
        ([*correct, "--outcome", "3", "--of", "wag"], "'wage'"),
        ([*correct, "--never-asked", "--of", "wage"], "'wage'"),
    ):
        capsys.readouterr()
        assert main(words) == 1 and said in capsys.readouterr().err
        assert (folder / "c.json").read_bytes() == before
    assert main([*correct, "--outcome", "3", "--of", "health"]) == 0 and "(health)" in capsys.readouterr().out
    assert Planner.load("c.json", PEOPLE).campaign.by_outcome["health"][name] == 3


def test_a_response_column_of_ones_says_what_the_number_does():
    plans = [make(PEOPLE.assign(sure=1.0), **DRAWN | {"response": one})[1] for one in ("sure", 1.0)]
    pd.testing.assert_frame_equal(*plans)


def test_a_series_by_the_name_of_an_outcome_is_of_that():
    planner, plan, told = answered()
    name = plan.index[-1]
    planner.observe(pd.Series({name: 3.25}, name="wage"))
    assert planner.campaign.by_outcome["wage"][name] == 3.25 and name not in planner.campaign.by_outcome["health"]
