"""A campaign in the field: no answer lost, no money unaccounted for, whoever else writes and whatever goes wrong."""

import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from cases import exhaustive, part_and_whole
from test_planner import make, make_people

from macal.__main__ import _parser, main
from macal.datasets import encoding
from macal.storage import atomic
from macal.survey import Conflict, Planner, record
from macal.survey.notes import notes
from macal.survey.report import data_warnings
from macal.survey.report.protocol import settings
from macal.survey.tables import frames

PEOPLE = make_people()


@pytest.fixture
def folder(here):
    PEOPLE.to_csv("people.csv", index=False)
    return here


def further(campaign):
    """Notes, but for what holds of any plan without draw."""
    return notes(campaign)[not campaign.policy.is_drawn :]


def run(*words):
    return main([str(word) for word in words])


def plan(*more):
    given = ["--treatment", "free", "--budget", 40, "-o", "plan.csv", "--campaign", "c.json", "--criterion", "qhte"]
    return run("plan", "people.csv", *given, *([] if "--batch-cost" in more else ["--batch-size", 10]), *more)


def told(capsys):
    return capsys.readouterr().err.strip().splitlines()


def numbers(words):
    return [int(digits) for digits in re.findall(r"\d+", words)]


def simulated(seed, truth=True):
    """Whether a campaign of eight wanted answers ends in a conflict, and whether the shortfall is true."""
    rng = np.random.default_rng(seed)
    people = make_people(60, seed).assign(sms=lambda t: t.age > 45)
    planner, _ = make(people, budget=30, response=0.5, quotas=["sms=True>=8"], covariates=["age", "income"], seed=seed)
    sms = people.set_index("person").sms
    while True:
        left = planner.planned[planner.planned["round"] > planner.asked]
        if not len(left):
            return False, False
        now = left.index[left["round"] == planner.asked + 1]
        planner.observe({name: 1.0 if rng.random() < 0.5 else None for name in now})
        try:
            planner.replan()
        except Conflict:
            have = sum(v is not None and sms[k] for k, v in planner.answers.items())
            open_ = [n for n in sms.index[sms] if n not in planner.answers]
            most = min(len(open_), 30 - planner.spent())
            return True, have + 0.5 * most < 8
        except ValueError:
            return False, False  # all the money is spent


@part_and_whole("n", 3, 50)
def test_conflicts_only_where_the_shortfall_is_true(unchecked, n):
    found = [simulated(seed) for seed in range(n)]
    assert all(true for conflict, true in found if conflict)


def test_a_conflict_can_be_left(folder):
    assert plan("--quota", "region>=3", "--response", "chance") == 0
    assert run("replan", "c.json", "people.csv", "-o", "next.csv", "--quota", "region>=4", "--budget", 50) == 0
    policy = Planner.load("c.json", PEOPLE).campaign.policy
    assert policy.budget == 50 and list(policy.quotas) == ["region>=4"]
    assert run("replan", "c.json", "people.csv", "-o", "last.csv", "--no-quotas") == 0
    assert not Planner.load("c.json", PEOPLE).campaign.policy.quotas
    with pytest.raises(ValueError):
        make(draw="effect", budget=60)[0].replan(budget=70)


def answered(rows, name="answers.csv"):
    table = pd.read_csv("plan.csv").iloc[rows]
    table.assign(y=np.arange(len(table)) + 1.0)[["person", "y"]].to_csv(name, index=False)
    return table.person.tolist()


def test_who_read_an_older_campaign_reads_again(folder, monkeypatch):
    assert plan() == 0
    one, other = (Planner.load("c.json", PEOPLE) for _ in range(2))
    names = one.planned.index
    one.observe({names[0]: 1.0})
    one.save("c.json")
    other.observe({names[1]: 2.0})
    before = (folder / "c.json").read_bytes()
    with pytest.raises(record.Stale):
        other.save("c.json")
    assert (folder / "c.json").read_bytes() == before
    # the command does so by itself: somebody else's answer comes while it works
    answered(slice(2, 4)), answered(slice(1, 2), "b.csv"), answered(slice(5, 6), "c.csv")
    meanwhile(monkeypatch, lambda: run("observe", "c.json", "people.csv", "b.csv"))
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    assert set(Planner.load("c.json", PEOPLE).answers) == set(names[:4])
    meanwhile(monkeypatch, lambda: run("observe", "c.json", "people.csv", "c.csv"))
    assert run("replan", "c.json", "people.csv", "-o", "next.csv") == 0
    assert names[5] in Planner.load("c.json", PEOPLE).answers


def meanwhile(monkeypatch, *steps):
    """Take steps of somebody else, one before each time that a campaign is written."""
    plain, steps = record.saved, list(steps)

    def late(*given, **named):
        if steps:
            steps.pop(0)()
        return plain(*given, **named)

    monkeypatch.setattr(record, "saved", late)


def test_an_outcome_that_came_meanwhile_is_told_from_that_of_the_file(folder, monkeypatch, capsys):
    assert plan() == 0
    answered(slice(0, 3))
    other = pd.read_csv("answers.csv").rename(columns={"y": "z"})

    def observed():
        rival = Planner.load("c.json", PEOPLE)
        rival.observe(other.set_index("person")[["z"]])
        rival.save("c.json")

    meanwhile(monkeypatch, observed)
    capsys.readouterr()
    assert run("observe", "c.json", "people.csv", "answers.csv") == 1
    assert "'z'" in capsys.readouterr().err and Planner.load("c.json", PEOPLE).campaign.outcome == "z"


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_whether_a_file_may_be_replaced_is_asked_when_it_is_written(folder, monkeypatch, capsys):
    """An answer that comes while a plan is made, another's new campaign, and another's plan: who is late is refused."""
    assert plan() == 0
    names = answered(slice(0, 3))
    after = {}

    def observed():
        assert run("observe", "c.json", "people.csv", "answers.csv") == 0
        after.update(files(folder))

    meanwhile(monkeypatch, observed)
    assert plan("--replace") == 1 and files(folder) == after and "--discard-answers" in told(capsys)[-1]
    assert set(Planner.load("c.json", PEOPLE).answers) == set(names)

    def planned(name):
        assert plan("--campaign", f"{name}.json", "-o", f"{name}.csv", "--seed", 1) == 0
        after.update(files(folder))

    for name, campaign, output in (("one", "one.json", "other.csv"), ("two", "other.json", "two.csv")):
        meanwhile(monkeypatch, partial(planned, name))
        assert plan("--campaign", campaign, "-o", output) == 1 and files(folder) == after
    assert plan("--replace", "--discard-answers") == 0 and not record.read(folder / "c.json")["answers"]


def test_who_answers_a_plan_that_was_replaced_answers_the_new_one(folder, monkeypatch):
    assert plan() == 0
    names = answered(slice(0, 10))
    meanwhile(monkeypatch, lambda: plan("--replace", "--budget", 5))
    assert run("observe", "c.json", "people.csv", "answers.csv") == 1  # five of them are to be asked no more
    planner = Planner.load("c.json", PEOPLE)
    assert planner.campaign.policy.budget == 5 and not planner.answers and planner.campaign.revision == 2
    answered(slice(0, 5))
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    assert set(Planner.load("c.json", PEOPLE).answers) == set(names[:5])


def test_a_campaign_reached_through_a_link_is_one(folder):
    """Two people, one of them through a link, go on with one campaign; a link that is the plan's stays one, too."""
    assert plan() == 0
    (folder / "far").mkdir()
    (folder / "far" / "c.json").symlink_to("../c.json"), (folder / "next.csv").symlink_to("far/plan.csv")
    names = answered(slice(0, 4), "a.csv") + answered(slice(4, 8), "b.csv")
    with atomic.alone(folder, 0.0), pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "WAIT", 0.05)
        assert run("observe", "far/c.json", "people.csv", "a.csv") == 1
    for campaign, answers in (("far/c.json", "a.csv"), ("c.json", "b.csv")):
        assert run("observe", campaign, "people.csv", answers) == 0
    assert run("replan", "far/c.json", "people.csv", "-o", "next.csv", "--replace") == 0
    assert (folder / "far" / "c.json").is_symlink() and (folder / "next.csv").is_symlink()
    assert set(Planner.load("c.json", PEOPLE).answers) == set(names) and (folder / "far" / "plan.csv").exists()
    before = files(folder)
    assert run("replan", "c.json", "people.csv", "-o", "far/c.json", "--replace") == 1 and files(folder) == before


def test_what_is_read_is_not_written_over(folder):
    assert plan() == 0
    before = files(folder)
    for words in (
        ["replan", "c.json", "people.csv", "-o", "people.csv", "--replace"],
        ["replan", "c.json", "people.csv", "-o", "c.json", "--replace"],
        ["plan", "people.csv", "--treatment", "free", "--budget", 9, "-o", "s.csv", "--campaign", "s.csv"],
        ["plan", "people.csv", "--treatment", "free", "--budget", 9, "-o", "./people.csv", "--replace"],
    ):
        assert run(*words) == 1
    assert files(folder) == before


def test_a_step_that_fails_changes_nothing(folder, capsys):
    """Outputs and campaigns that no file can replace, into the table itself, and a name that is blank."""
    (folder / "table").mkdir(), (folder / "out").mkdir()
    PEOPLE.to_parquet("table/part.parquet")
    given = ["--treatment", "free", "--budget", 40, "--criterion", "qhte", "--campaign"]
    assert run("plan", "table", *given, "c.json", "-o", "plan.csv", "--report", "r.html") == 0
    for name in ("plan.csv", "r.html", "c.json"):
        (folder / f"of-{name}").hardlink_to(folder / shutil.copy(name, f"linked-{name}"))
    answered(slice(0, 12))
    assert run("observe", "c.json", "table", "answers.csv") == 0
    shutil.copy("c.json", "linked.json"), (folder / "link.json").hardlink_to("linked.json")
    outputs = [("out", None), ("n.csv", "out"), ("linked-plan.csv", None), ("n.csv", "linked-r.html")]
    outputs += [("table/n.parquet", None), ("n.csv", "table/deep/n.html"), ("no.csv/n.csv", None)]
    (folder / "no.csv").write_text("")
    others = ["replan", "c.json", "table"], ["estimate", "c.json", "table", "--individual"]
    steps = [
        [*words, "--replace", "-o", output, *(["--report", report] if report else [])]
        for output, report in outputs
        for words in (*others, ["plan", "table", *given[:-1]])
    ]
    steps += [["plan", "table", *given, name, "-o", "n.csv"] for name in ("out", "table/c.json", "linked-c.json")]
    steps += [["replan", "linked.json", "table", "-o", "n.csv"], ["observe", "link.json", "table", "answers.csv"]]
    steps += [["correct", "c.json", "table", answered(slice(0, 1))[0], "--withdrawn", "--by", " "]]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for words in steps:
        capsys.readouterr()
        assert run(*words) == 1 and len(said := told(capsys)) == 1 and ".tmp" not in said[0], words
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("form", ["plan and a new column", "named", "only two", "ambiguous", "none"])
def test_a_plan_that_comes_back_with_outcomes_is_read(folder, capsys, form):
    assert plan() == 0
    table = pd.read_csv("plan.csv").head(10)
    words = []
    if form == "plan and a new column":
        table["visits"] = np.arange(10.0)
    elif form == "only two":
        table = table[["person"]].assign(visits=np.arange(10.0))
    elif form != "none":
        table = table.assign(visits=np.arange(10.0), note=1.0)
        words = ["--outcome", "visits"] if form == "named" else []
    table.to_csv("back.csv", index=False)
    code = run("observe", "c.json", "people.csv", "back.csv", *words)
    if form in ("ambiguous", "none"):
        assert code == 1 and "--outcome" in told(capsys)[-1]
    else:
        assert code == 0
        assert Planner.load("c.json", PEOPLE).answers == dict(zip(table.person, np.arange(10.0), strict=True))


@pytest.mark.parametrize("column", ["weight", "cost", "income"])
def test_outcomes_in_a_column_that_the_plan_or_the_table_has_are_asked_about(folder, capsys, column):
    assert plan("--draw", "criterion") == 0
    table = pd.read_csv("plan.csv").head(10)[["person"]].assign(**{column: np.arange(10.0)})
    table.to_csv("answers.csv", index=False)
    words = ["observe", "c.json", "people.csv", "answers.csv"]
    assert run(*words) == 1 and f"'{column}'" in (said := told(capsys)[-1]) and "none" not in said
    capsys.readouterr()
    assert run("replan", "c.json", "people.csv", "-o", "next.csv") == 0
    assert "no answers yet" in capsys.readouterr().out
    assert run(*words, "--outcome", column) == 0
    assert list(Planner.load("c.json", PEOPLE).answers.values()) == list(range(10))


def test_refusals_that_the_plan_did_not_expect_are_told_by_replan(folder, capsys):
    """With the width that is expected now, and the share of answers that a new plan would count on."""
    words = ["--treatment", "free", "--budget", 100, "--batch-size", 50, "--sd", 1, "--campaign", "c.json"]
    assert run("plan", "people.csv", *words, "-o", "plan.csv") == 0
    widths = [float(re.search(r"interval: ([\d.]+\d)", capsys.readouterr().out)[1])]
    names = answered(slice(0, 50))
    pd.Series(1.0, names, name="y").where(np.arange(50) % 5 > 0).rename_axis("person").to_csv("answers.csv")
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    capsys.readouterr()
    assert run("replan", "c.json", "people.csv", "-o", "next.csv") == 0
    said = capsys.readouterr().out
    widths.append(float(re.search(r"interval: ([\d.]+\d)", said)[1]))
    assert widths[1] > widths[0] and "--response-probability 0.8 " in said
    assert not [words for words in notes(make(PEOPLE, response=0.8)[0].campaign) if "--response-probability" in words]


def test_answers_of_another_column_are_asked_about(folder):
    assert plan() == 0
    table = pd.read_csv("plan.csv")[["person"]]
    for name, rows, words, code in (
        ("visits", range(5), [], 0),
        ("wage", range(5, 10), [], 1),
        ("wage", range(5, 10), ["--outcome", "wage"], 0),
        ("visits", range(10, 15), [], 0),
    ):
        table.iloc[rows].assign(**{name: 1.0}).to_csv("back.csv", index=False)
        kept = (folder / "c.json").read_bytes()
        assert run("observe", "c.json", "people.csv", "back.csv", *words) == code
        assert not code or (folder / "c.json").read_bytes() == kept
    campaign = Planner.load("c.json", PEOPLE).campaign
    assert {name: len(told) for name, told in campaign.by_outcome.items()} == {"visits": 10, "wage": 5}


class TestEarlyAnswers:
    """Whoever answers before her round is asked counts alone: paid, not asked again, and nobody else with her."""

    def test_a_wrong_count_is_set_right_and_stays_so(self, folder, capsys):
        assert plan() == 0
        names = answered(slice(0, 30))
        assert run("observe", "c.json", "people.csv", "answers.csv", "--through", 4) == 0
        assert run("recount", "c.json", "people.csv", 2, "--by", "ann") == 0
        assert numbers(capsys.readouterr().out.splitlines()[-1]) == [4, 2]
        planner = Planner.load("c.json", PEOPLE)
        assert planner.asked == 2 and planner.spent() == 30 and len(planner.answers) == 30
        last = planner.campaign.journal[-1]
        assert (last.name, last.by) == (None, "ann") and settings(planner.campaign)["rounds recounted"] == "1"
        assert run("observe", "c.json", "people.csv", "answers.csv") == 0  # the same answers say nothing anew
        planner = Planner.load("c.json", PEOPLE)
        assert planner.asked == 2 and not set(names) & set(planner.replan().index[20:])
        before = files(folder)
        for words in ([5, "--by", "ann"], [-1, "--by", "ann"], [1, "--by", ""]):
            assert run("recount", "c.json", "people.csv", *words) == 1 and files(folder) == before

    def test_a_reserve_who_was_called_keeps_her_place(self, tmp_path):
        """She is not planned in a later round, nor somebody else's reserve, and her answer is taken when it comes."""
        people = make_people(30, 2)
        planner, plan = make(people, budget=20, response=0.6, covariates=["age"], batch_size=6, criterion="qhte")
        first = plan[(plan["round"] == 1) & plan["reserve"].notna()]
        planner.observe(dict.fromkeys(plan.index[plan["round"] == 1]))
        for _ in range(2):
            again = planner.replan(budget=planner.campaign.policy.budget + 6)
            later = again[again["round"] > 1]
            assert not set(first["reserve"]) & {*later.index, *later["reserve"].dropna()}
            assert not set(again["reserve"].dropna()) & set(again.index)
        spent = planner.spent()
        planner.observe(dict.fromkeys(first["reserve"], 1.0))
        assert planner.asked == 1 and planner.spent() == spent + len(first) and len(first) > 2

    def test_the_weights_wait_for_the_round(self):
        """Of a draw the rounds stand; an early answer, a reserve's too, counts with them once they are asked."""
        people = make_people(400)
        given = {"budget": 160, "batch_size": 40, "response": 0.6, "pay": "answered", "draw": "effect"}
        planner, plan = make(people, **given)
        y = pd.Series(np.arange(400) % 7 + 1.0, people.person)
        planner.observe(y[plan.index[plan["round"] == 1]])
        before = planner.estimate("exact-gp").weighted
        later = plan[plan["round"] == 3]
        pair = later[later["reserve"].notna()].iloc[0]
        early = [name for name in later.index if name != pair.name][:5]
        planner.observe({**y[early], pair["reserve"]: y[pair["reserve"]], pair.name: None})
        assert planner.asked == 1 and planner.estimate("exact-gp").weighted == before
        assert planner.replan().index.tolist() == plan.index.tolist()
        planner.observe(y[plan.index[plan["round"] == 2]])
        assert planner.asked == 2
        planner.observe({}, through=3)
        said = " ".join(planner.estimate("exact-gp").design_based.facts)
        assert f"({len(later) - 6} pending)" in said and "leaves out" not in said


class TestNotes:
    """What the table of rounds does not show is said, by the command and in the report."""

    homes = PEOPLE.assign(home=np.arange(200) // 20, two=np.arange(200) // 2, male=np.arange(200) % 3 > 0)

    def test_rounds_that_are_larger_than_was_said(self):
        planner, _ = make(self.homes, budget=60, cluster="home", criterion="qhte")
        (words,) = further(planner.campaign)
        assert numbers(words) == [3, 10, 20] and settings(planner.campaign)["people in the largest round"] == "20"
        planner.observe(dict.fromkeys(planner.planned.index, 1.0))
        small, _ = make(self.homes, budget=60, cluster="two", criterion="qhte")
        assert further(planner.campaign) == further(small.campaign) == []
        dear, _ = make(budget=200, cost="fee", batch_size=None, batch_cost=20.0, criterion="qhte")
        assert numbers(further(dear.campaign)[0]) == [(PEOPLE.fee > 20).sum(), 20]
        for given in ({}, {"cluster": "two"}):  # whoever was left out makes a round of a draw larger
            planner, plan = make(self.homes, budget=40, draw="effect", **given)
            planner.observe(dict.fromkeys(plan.index[plan["round"] == 1], 1.0))
            planner.correct(plan.index[0], "never asked", "ann")
            assert planner.rounds()["asked"].max() == 11
            assert settings(planner.campaign)["people in the largest round"] == "11"

    def test_money_that_is_left(self):
        for demand, left in (({"cluster": "home", "cluster_rule": "one"}, 290), ({"quotas": ["male<=30"]}, 240)):
            (words,) = further(make(self.homes, criterion="qhte", **demand)[0].campaign)
            assert numbers(words)[0] == left
        capped, _ = make(self.homes, draw="effect", quotas=["male<=30"], budget=100)
        assert numbers(*further(capped.campaign))[0] == 100 - len(capped.planned) > 5
        dear, _ = make(self.homes.assign(fee=np.where(np.arange(200) % 20, 2.0, 60.0)), draw="effect", cost="fee")
        assert numbers(further(dear.campaign)[0])[0] > 0
        everybody, _ = make(self.homes, draw="effect", budget=200)
        assert further(everybody.campaign) == [] and further(make(draw="effect", budget=60)[0].campaign) == []
        planner, plan = make(budget=11, quotas=["region=north<=3", "region=south<=4", "region=west<=3"])
        assert len(plan) == 10 and numbers(further(planner.campaign)[-1])[0] == 1

    def test_money_that_answers_leave_is_for_the_next_replan(self, tmp_path):
        planner, plan = make(budget=30, batch_size=10, criterion="qhte", pay="answered", response=0.7)
        planner.observe(dict.fromkeys(plan.index[:4], 1.0) | dict.fromkeys(plan.index[4:10]))
        (said,) = further(planner.campaign)
        planner.save(tmp_path / "c.json")
        assert numbers(said) == [6] and further(Planner.load(tmp_path / "c.json", PEOPLE).campaign) == [said]
        assert len(planner.replan()) == 36 and further(planner.campaign) == []
        planner.correct(plan.index[0], "never asked", "ann")
        assert numbers(*further(planner.campaign)) == [1] and settings(planner.campaign)["answers corrected"] == "1"

    def test_quotas_that_the_answers_do_not_meet(self):
        for draw in (None, "effect"):
            given = {"response": 0.7, "pay": "answered", "quotas": ["male=True>=40", "male=True>=30%"]}
            planner, plan = make(self.homes, draw=draw, budget=90, **given)
            men = plan.index.isin(self.homes.person[self.homes.male])
            planner.observe({name: None if man else 1.0 for name, man in zip(plan.index, men, strict=True)}, through=8)
            assert not any("not met" in words for words in further(planner.campaign))
            planner.observe({}, through=9)
            (words,) = (words for words in further(planner.campaign) if "not met" in words)
            assert numbers(words)[:3] == [40, 0, 30]
            reserves = plan.reserve[men].dropna()
            planner.observe(dict.fromkeys(reserves, 1.0))
            assert len(reserves) < 40 or not any("not met" in words for words in further(planner.campaign))

    def test_a_table_in_memory_of_which_a_sample_was_looked_at(self, tmp_path):
        planner, plan = make(criterion="macal", sample=50, budget=150)
        first, second = said = further(planner.campaign)
        assert numbers(first) == [planner.campaign.searched, 200] and numbers(second) == [150 - len(plan)]
        planner.save(tmp_path / "c.json")
        again = Planner.load(tmp_path / "c.json", PEOPLE).campaign
        assert str(again.searched) in settings(again)["first-phase sample"] and further(again) == said
        larger, _ = make(self.homes, criterion="macal", budget=20, sample=50, quotas=["region>=1", "male>=1"])
        assert numbers(further(larger.campaign)[0])[1:3] == [200, 50]
        whole, _ = make(criterion="macal", sample=200, budget=150)
        assert whole.campaign.searched is None and further(whole.campaign) == []
        drawn, _ = make(draw="effect", sample=50, budget=60)
        assert "--sample 50" in further(drawn.campaign)[-1]

    def test_reserves_that_the_money_does_not_hold(self):
        for draw, batch in ((None, 30), ("effect", 10)):
            given = {"response": 0.5, "criterion": "qhte", "batch_size": batch, "draw": draw, "budget": 60, "seed": 1}
            planner, plan = make(make_people(400), **given)
            named = plan.reserve if draw else plan.reserve[plan["round"] == 2]
            assert numbers(*further(planner.campaign)) == [round(0.5 * named.notna().sum())]
            assert further(make(make_people(400), **given, pay="answered")[0].campaign) == []
            if not draw:
                planner.observe(dict.fromkeys(plan.index, 1.0))
                assert further(planner.campaign) == []
                continue
            first = plan[(plan["round"] == 1) & plan.reserve.notna()]
            planner.observe({**dict.fromkeys(first.index), **dict.fromkeys(first.reserve, 1.0)})
            planner.replan()
            assert numbers(*further(planner.campaign))[0] == 5

    def test_a_reserve_who_was_asked_for_nothing(self):
        planner, drawn = make(make_people(400), budget=60, draw="effect", response=0.5, pay="answered")
        one = drawn[(drawn["round"] == 1) & drawn.reserve.notna()].iloc[0]
        planner.observe({one.name: None, one.reserve: 1.0})
        assert further(planner.campaign) == []
        planner.observe({one.name: 1.0})
        assert one.reserve in further(planner.campaign)[-1]


def test_reserves_who_answered_are_paid_for_everywhere(folder, capsys):
    assert plan("--response", "chance", "--cost", "fee", "--budget", 200) == 0
    table = pd.read_csv("plan.csv")
    stood = table[(table["round"] == 1) & table.reserve.notna()].head(3)
    planner = Planner.load("c.json", PEOPLE)
    planner.observe({**dict.fromkeys(stood.person), **{name: 1.0 for name in stood.reserve}})
    assert planner.rounds().answers.loc[1] >= 3 and planner.spent() == planner.rounds()["so far"].loc[1]
    assert planner.campaign.overspent == ""
    planner.observe({name: 1.0 for name in planner.planned.index if name not in planner.answers})
    planner.observe({n: 1.0 for n in planner.planned.reserve.dropna() if n not in planner.answers})
    assert planner.campaign.overspent
    planner.save("c.json")
    pd.Series(planner.answers, name="y").rename_axis("person").to_csv("answers.csv")
    capsys.readouterr()
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    assert told(capsys) == [f"warning: {planner.campaign.overspent}"]


def test_corrections_are_kept_with_who_made_them(folder):
    def correct(*words):
        return run("correct", "c.json", "people.csv", *words)

    assert plan() == 0
    names = answered(slice(0, 12))
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    assert correct(names[0], "--outcome", "-1e3", "--by", "ann") == 0
    assert correct(names[1], "--withdrawn", "--by", "bo") == correct(names[2], "--never-asked", "--by", "ann") == 0
    planner = Planner.load("c.json", PEOPLE)
    assert planner.answers[names[0]] == -1000 and planner.answers[names[1]] is None and names[2] not in planner.answers
    journal = [(one.name, one.by) for one in planner.campaign.journal]
    assert journal == [(names[0], "ann"), (names[1], "bo"), (names[2], "ann")]
    again = planner.replan()
    assert again.index.is_unique and planner.spent() == (again["round"] <= planner.asked).sum() == 19
    before = (folder / "c.json").read_bytes()
    other = PEOPLE.person[~PEOPLE.person.isin(planner.planned.index)].iloc[0]
    for words in (
        [other, "--withdrawn", "--by", "x"],
        ["nobody", "--withdrawn", "--by", "x"],
        [names[0], "--outcome", "nan", "--by", "x"],
        [names[0], "--withdrawn", "--by", ""],
    ):
        assert correct(*words) == 1 and (folder / "c.json").read_bytes() == before


def test_an_outcome_of_the_table_is_mended_in_the_table(folder, capsys):
    PEOPLE.assign(visits=np.where(PEOPLE.index < 9, 1.0, np.nan)).to_csv("people.csv", index=False)
    assert plan("--outcome", "visits") == 0
    assert run("correct", "c.json", "people.csv", PEOPLE.person[0], "--withdrawn", "--by", "x") == 1
    assert "'visits'" in told(capsys)[-1]


def test_bounds_may_be_negative():
    given = ["estimate", "c.json", "people.csv", "-o", "e.csv", "--width", "2"]
    for words in (["--bounds", "-10,20"], ["--bounds=-10,20"], ["--bounds", "-1e1,+20"]):
        assert _parser().parse_args([*given, *words]).bounds == (-10, 20)


def test_decimal_points_are_asked_for(capsys):
    with pytest.raises(SystemExit):
        _parser().parse_args(["replan", "c.json", "people.csv", "-o", "next.csv", "--budget", "40,5"])
    assert "'40,5'" in told(capsys)[-1]


def test_codes_of_quotas_are_compared_exactly():
    people = PEOPLE.assign(code=np.where(np.arange(200) % 2, 1.0000001, 1.0000002), zone=np.arange(200) % 3 * 1.0)
    _, asked = make(people, budget=40, quotas=["code=1.0000001>=30", "zone=2>=5"])
    table = people.set_index("person").loc[asked.index]
    assert (table.code == 1.0000001).sum() >= 30 and (table.zone == 2).sum() >= 5


def test_one_value_does_not_decide_the_scale_of_its_column():
    """An outlier, or a code that a tenth of people have, leaves the others most of their distances."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(30, 200))
        kinds = [rng.normal(size=n), rng.integers(11, 23, n), rng.lognormal(size=n), rng.integers(0, 2, n)]
        values = kinds[rng.integers(4)].astype(float)
        everybody = np.arange(n)
        plain = encoding.standardised(values, everybody)
        if encoding.limits(values) == (values.min(), values.max()):
            assert np.array_equal(encoding.winsorised(values, everybody), plain)
        for bad in (everybody[:1], everybody[: n // 10]):
            wrong, rest = values.copy(), everybody[len(bad) :]
            wrong[bad] = rng.choice([-9999.0, 1e6, 1e300])
            found = encoding.winsorised(wrong, everybody)
            assert found[rest].std() > 0.6 * encoding.winsorised(values, everybody)[rest].std()
            assert encoding.outliers(wrong)[bad].all() and np.ptp(found) < 20


def test_values_that_lie_far_off_are_named_with_their_people(folder, capsys):
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(PEOPLE.age * 200, "D")
    people = PEOPLE.assign(born=born.dt.strftime("%Y-%m-%d").mask(PEOPLE.index == 7, "1011-01-01"))
    least = people.born.drop(7).min()
    people.loc[[3, 5], "income"] = -1e9
    people.to_csv("people.csv", index=False)
    assert plan("--report", "r.html") == 0
    said = capsys.readouterr()
    named = ("'income'", *people.person[[3, 5]], f"person {people.person[7]}", "'born'", "1011-01-01", least)
    assert all(name in said.err for name in named) and f"1 counts as {least}" in said.out
    assert "-1000000000" in said.err and "-1000000000" in (folder / "r.html").read_text()
    PEOPLE.to_csv("people.csv", index=False)
    assert plan("--replace", "--discard-answers") == 0 and not told(capsys)


def test_outcomes_that_lie_far_off_are_named_with_their_people(folder, capsys):
    assert plan("--criterion", "random-balanced") == 0
    table = pd.read_csv("plan.csv").head(20)
    table["y"] = [float(k % 11) for k in range(20)]
    table.loc[[4, 15], "y"] = [-99, -999]
    table.to_csv("answers.csv", index=False)
    capsys.readouterr()
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    (said,) = told(capsys)
    assert run("estimate", "c.json", "people.csv", "-o", "e.csv", "--report", "r.html") == 0
    assert all(name in said for name in ("'y'", "-99 ", "-999 ", *table.person[[4, 15]], "(0 to 10)", "macal correct"))
    assert said in told(capsys) and "-999 and -99" in (folder / "r.html").read_text()
    for name in table.person[[4, 15]]:
        assert run("correct", "c.json", "people.csv", name, "--withdrawn", "--by", "ann") == 0
    assert not data_warnings.warnings(Planner.load("c.json", PEOPLE).campaign)


@pytest.mark.parametrize("sample", [(), ("--sample", 100, "--workers", 1), ("--sample", 50, "--workers", 1)])
def test_a_whole_table_may_come_back_as_answers(folder, capsys, sample):
    """Who was not to be asked has no outcome in it, reserves neither; a file of reserves says that they refuse."""
    assert plan("--response", "chance", *sample) == 0
    table = pd.read_csv("plan.csv").head(10)
    outcomes = dict(zip(table.person[1:], np.arange(9.0), strict=True))
    PEOPLE.assign(y=PEOPLE.person.map(outcomes)).to_csv("answers.csv", index=False)
    for _ in range(2):
        assert run("observe", "c.json", "people.csv", "answers.csv") == 0
        planner = Planner.load("c.json", PEOPLE)
        assert planner.asked == 1 and planner.answers == outcomes | {table.person[0]: None} and planner.spent() == 10
    assert numbers(capsys.readouterr().out.splitlines()[-3])[0] == 160
    (folder / "answers.csv").write_text(f"person,y\n{table.reserve[0]},\n")
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    assert Planner.load("c.json", PEOPLE).answers[table.reserve[0]] is None
    other = PEOPLE.person[~PEOPLE.person.isin({*planner.planned.index, *planner.planned.reserve})].iloc[0]
    PEOPLE.assign(y=PEOPLE.person.map(outcomes | {other: 1.0})).to_csv("answers.csv", index=False)
    assert run("observe", "c.json", "people.csv", "answers.csv") == 1 and other in told(capsys)[-1]


def test_outcomes_that_the_table_has_may_come_back_with_the_answers(folder, capsys):
    people = PEOPLE.assign(visits=PEOPLE.age.where(PEOPLE.index < 30))
    people.to_csv("people.csv", index=False)
    assert plan("--outcome", "visits") == 0
    names = pd.read_csv("plan.csv").person[:10]
    filled = people.assign(visits=people.visits.mask(people.person.isin(names), 5.0))
    for table, code in ((filled.assign(visits=filled.visits + (filled.index == 3)), 1), (filled, 0)):
        table.to_csv("answers.csv", index=False)
        assert run("observe", "c.json", "people.csv", "answers.csv") == code
    assert people.person[3] in told(capsys)[0]
    assert Planner.load("c.json", people).answers == dict.fromkeys(names, 5.0)


@pytest.mark.parametrize("arms", [(0, 1), ("FALSE", "TRUE"), ("none", "sms")])
def test_a_treatment_beside_the_answers_is_that_of_the_table(folder, capsys, arms):
    people = PEOPLE.assign(free=np.array(arms)[PEOPLE.free])
    people.to_csv("people.csv", index=False)
    assert plan(*(["--reference", "none"] if "none" in arms else [])) == 0
    back = pd.read_csv("plan.csv").head(10).assign(y=1.0)
    wrong = back.assign(free=[1 - v if v in (0, 1) else arms[v == arms[0]] for v in back.free])
    for table, code in ((back.assign(free=wrong.free.where(back.index == 3)), 1), (wrong, 1), (back, 0)):
        table.to_csv("answers.csv", index=False)
        assert run("observe", "c.json", "people.csv", "answers.csv") == code
        assert not code or back.person[3 * (table is not wrong)] in told(capsys)[-1]
    people.set_index("person").loc[back.person].reset_index().assign(
        y=1.0, free=lambda t: t.free.map(lambda arm: f"{arm}".upper())
    ).to_csv("answers.csv", index=False)
    assert run("observe", "c.json", "people.csv", "answers.csv") == 0


@pytest.mark.parametrize("criterion", ["qhte", "macal", "coreset", "random-balanced", "alc-fixed", "drawn"])
def test_plans_and_estimates_do_not_depend_on_the_order_of_the_rows(folder, criterion):
    """Of equals the first by name is asked, and people are drawn by their names' order."""
    people = make_people(300, 1).assign(age=lambda t: t.age // 20)
    options = {"draw": "effect"} if criterion == "drawn" else {"criterion": criterion}

    def planned(table):
        planner = Planner("free", 40, identifier="person", covariates=["age"], batch_size=8, **options)
        return planner, planner.plan(table)

    planner, first = planned(people)
    planner.observe({name: 1.0 + k % 3 for k, name in enumerate(first.index[first["round"] == 1])})
    planner.save("c.json")
    effects = planner.estimate().people.set_axis(people.person)
    found = planner.replan()
    for seed in range(3):
        other = people.sample(frac=1, random_state=seed)
        pd.testing.assert_frame_equal(planned(other)[1], first)
        again = Planner.load("c.json", other)
        pd.testing.assert_frame_equal(again.estimate().people.set_axis(other.person), effects.loc[other.person])
        pd.testing.assert_frame_equal(again.replan(), found)


@pytest.mark.parametrize("delay", [0.0, exhaustive(1.0), exhaustive(4.0)])
def test_ctrl_c_at_any_moment_is_one_sentence(folder, delay):
    """From the moment when the first library begins to be imported, which ``-X importtime`` tells."""
    make_people(20_000).to_csv("large.csv", index=False)
    words = ["large.csv", "--treatment", "free", "--budget", "4000", "-o", "plan.csv"]
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "macal", "plan", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    next(line for line in process.stderr if b"numpy" in line)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1].decode().strip()
    assert process.returncode == 130 and "ended by a signal" in said and "Traceback" not in said
    assert not (folder / "plan.csv").exists()


def test_an_import_that_swallows_the_exit_does_not_change_the_status():
    """As those of extension modules do."""
    code = """
import os, signal
from macal.storage import terminal
def command():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except SystemExit as error:
        raise ImportError("cannot import") from error
signal.signal(signal.SIGINT, signal.default_int_handler)
terminal.start(command)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130 and len(done.stderr.splitlines()) == 1


def test_how_far_a_value_lies_beyond_the_others_is_a_column_of_its_own():
    everybody, values = np.arange(400), np.exp(np.linspace(-3, 3, 400))
    inside, beyond = encoding.with_excess(values, everybody).T
    np.testing.assert_array_equal(inside, encoding.winsorised(values, everybody))
    assert ((beyond > 0) == (values > encoding.limits(values)[1])).all() and (np.diff(beyond) >= 0).all()
    np.testing.assert_allclose(encoding.with_excess(-values, everybody)[:, 1], -beyond)
    assert encoding.with_excess(everybody.astype(float), everybody).shape == (400, 1)


NAMES = {"00{:03d}": ["{}", "{}.0", " 00{:03d} ", "00{:03d}"], "{}": ["00{:03d}", "{}.0", " {} ", "{}"]}
NAMES |= {"p{:03d}": [" p{:03d}", "p{:03d}"]}


@pytest.mark.parametrize("form", NAMES)
def test_answers_come_by_names_as_spreadsheets_leave_them(here, form):
    PEOPLE.assign(person=[form.format(k) for k in range(1, 201)]).to_csv("people.csv", index=False)
    assert plan("--id", "person") == 0
    table = pd.read_csv("plan.csv", dtype={"person": str})
    given = dict(zip(table.person, np.arange(len(table)) + 0.5, strict=True))
    for k, other in enumerate(NAMES[form]):
        rows = [f"{other.format(int(re.sub('p', '', name)))},{y}" for name, y in list(given.items())[4 * k : 4 * k + 4]]
        (here / "answers.csv").write_text("\n".join(["person,y", *rows, ""]))
        assert run("observe", "c.json", "people.csv", "answers.csv") == 0
    kept = {str(name): y for name, y in record.read(here / "c.json")["answers"]}
    assert kept == dict(list(given.items())[: 4 * len(NAMES[form])])
    planner, name = Planner.load("c.json", frames.read(here / "people.csv")), table.person[20]
    planner.observe({f" {name}" if "p" in form else float(name): 9.0})
    planner.correct(f"{name} ", "withdrawn", "ann")
    assert len(planner.answers) == len(kept) + 1 and None in planner.answers.values()


@pytest.mark.parametrize(
    ("names", "line", "named"),
    [
        ("p{}", "Total,30", "'Total'"),
        ("{}", "Total,30", "'Total'"),
        ("{}", "100042,30", "100042"),
        ("1{:018d}", "1.00E+18,30", "spreadsheet"),
        ("p{}", ",30", "'person'"),
    ],
)
def test_a_line_that_is_nobodys_is_blamed_itself(here, capsys, names, line, named):
    PEOPLE.assign(person=[names.format(k) for k in range(1, 201)]).to_csv("people.csv", index=False)
    assert plan("--id", "person") == 0
    table = pd.read_csv("plan.csv", dtype=str)
    before = (here / "c.json").read_bytes()
    (here / "answers.csv").write_text("\n".join(["person,y", *(f"{name},1" for name in table.person[:3]), line]))
    assert run("observe", "c.json", "people.csv", "answers.csv") == 1
    assert named in told(capsys)[-1] and (here / "c.json").read_bytes() == before


@pytest.mark.parametrize(
    ("outcomes", "words", "found"),
    [
        (["2,5", "950", "1.200"], [], [2.5, 950, 1200]),
        (["1,200", "950", "1,450"], [], "--kind y="),
        (["1,200", "950", "1,450"], ["--kind", "y=thousands-comma"], [1200, 950, 1450]),
        (["1,200", "950", "1,450"], ["--kind", "y=decimal-comma"], [1.2, 950, 1.45]),
        (["2,5", "3,5", "refused"], [], "'refused'"),
        (["5 kg", "6 kg", "7 kg"], [], "--kind y="),
        (["0012", "0010", "3"], [], [12, 10, 3]),
        (["TRUE", "FALSE", "TRUE"], [], [1, 0, 1]),
        (["True", "", "FALSE"], [], [1, None, 0]),
    ],
)
def test_outcomes_are_read_in_one_way(folder, capsys, outcomes, words, found):
    assert plan() == 0
    names = pd.read_csv("plan.csv").person[:3]
    rows = [f"{name};{y}" for name, y in zip(names, outcomes, strict=True)]
    (folder / "answers.csv").write_text("\n".join(["person;y;;", f"{rows[0]};;", *rows[1:], rows[0], ";", ";;;;", ""]))
    code = run("observe", "c.json", "people.csv", "answers.csv", *words)
    if isinstance(found, str):
        assert code == 1 and found in told(capsys)[-1]
    else:
        assert code == 0 and Planner.load("c.json", PEOPLE).answers == dict(zip(names, found, strict=True))


@pytest.mark.parametrize(
    ("changes", "said", "named"),
    [
        ({}, {"cost": PEOPLE.fee.to_numpy()}, "cost"),
        ({}, {"response": [0.5] * 200}, "response"),
        ({"2020": 7}, {"cost": 2020}, "'2020'"),
        ({"0.5": 7}, {"response": 0.5}, "'0.5'"),
        ({"weight": PEOPLE.free}, {"treatment": "weight"}, "'weight'"),
        ({"weight": PEOPLE.income.where(PEOPLE.age > 50)}, {"outcome": "weight"}, "'weight'"),
        ({"arm": ["Yes", " yes", "No", "No"] * 50}, {"treatment": "arm", "reference": "No"}, "' yes'.*'Yes'"),
        *(
            ({"arm": [0.0, 1.0, np.nan, 1.0] * 50}, {"treatment": "arm", "reference": given}, "50 of 200 .*p0002")
            for given in (None, "0")
        ),
        ({"arm": ["no", "yes"] * 99 + ["?"] * 2}, {"treatment": "arm", "reference": "no"}, "'arm'.* 2 of 200"),
        ({"arm": ["no", "yes"] * 99 + ["late"] * 2}, {"treatment": "arm", "reference": "no"}, "late has 2 .*criterion"),
    ],
)
def test_money_and_arms_are_nobody_elses(changes, said, named, unchecked):
    given = {"treatment": "free", "budget": 40, "identifier": "person"} | said
    with pytest.raises(ValueError, match=named):
        Planner(**given).plan(PEOPLE.assign(**changes))


@pytest.mark.parametrize("how", [{"criterion": "qhte"}, {"draw": "effect"}, {"draw": "effect", "response": 0.8}])
@pytest.mark.parametrize(
    ("group", "inside"),
    [
        ("band=>50K", lambda people: people.band == ">50K"),
        ("band=<=50K", lambda people: people.band == "<=50K"),
        ("a=b=south", lambda people: people.region == "south"),
        ('wish="a=b|c"', lambda people: people.wish == "a=b|c"),
        ("region=north|west", lambda people: people.region != "south"),
        (f"town={'|'.join(map(str, range(50)))}", lambda people: people.town < 50),
        ("age=65..", lambda people: people.age >= 65),
        ("age=..21|40..60|70", lambda people: (people.age <= 21) | people.age.between(40, 60) | (people.age == 70)),
    ],
)
def test_a_quota_may_be_on_values_with_signs_several_values_and_ranges(group, inside, how):
    added = {"band": np.where(PEOPLE.age > 40, ">50K", "<=50K"), "wish": np.where(PEOPLE.age > 50, "a=b|c", "no")}
    added |= {"a=b": PEOPLE.region, "town": PEOPLE.index % 100}
    people = PEOPLE.assign(**added, age=PEOPLE.age.astype(float))
    counted = inside(people.set_index("person"))
    _, plan = make(people, quotas=[f"{group}<=8"], budget=60, **how)
    assert counted[plan.index].sum() <= 8
    if "reserve" in plan:
        both = plan["reserve"].dropna()
        assert len(both) and (counted[both.index].to_numpy() == counted[both].to_numpy()).all()
    _, plan = make(people, quotas=[f"{group}>=30"], budget=60, **how)
    assert counted[plan.index].sum() * how.get("response", 1) >= 30 - 1e-9 and len(plan) == 60


def test_a_quota_on_one_of_many_values_leaves_the_others_to_the_draw():
    people = PEOPLE.assign(town=PEOPLE.index % 100)
    for quota, met in (("town=5>=2", {2}), ("town=5<=1", {0, 1})):
        _, plan = make(people, quotas=[quota], budget=60, draw="effect")
        assert (people.set_index("person").town[plan.index] == 5).sum() in met and len(plan) == 60
