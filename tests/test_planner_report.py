"""The report of a plan: what it says is true of the plan, and it is one file that a browser shows without help."""

import re
from html import unescape
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from test_planner import COVARIATES, make_people
from test_site import DEVICES

from macal import Planner, metrics
from macal.__main__ import main
from macal.acquisition.bald import logistic_propensity
from macal.inference import StoppingRule
from macal.planner import record
from macal.planner.report import document, overlap, page
from macal.planner.report.protocol import protocol
from reproduction.studies import weighted

EVIL = "</td><script>alert(1)</script>"


@pytest.fixture(scope="module")
def planner():
    people = make_people().assign(note=lambda d: np.select([d.age > 60, d.age > 40], [EVIL, "b & c"], "d"))
    people["person"] = people.person.replace("p7", EVIL)
    options = {"cost": "fee", "response": "chance", "covariates": [*COVARIATES, "note"], "identifier": "person"}
    planner = Planner("free", 300, **options)
    planner.plan(people)
    return planner


@pytest.fixture(scope="module")
def report(planner, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "plan.html"
    planner.report(path)
    return path


def test_it_says_what_the_plan_is(planner, report):
    said = unescape(re.sub(r"<svg.*?</svg>|<[^>]*>", " ", report.read_text(), flags=re.DOTALL))
    plan, rounds = planner.planned, planner.rounds()
    assert f"{len(plan)} of 200 people are to be asked in {len(rounds)} rounds" in said
    assert f"{plan.free.sum()} treated and {(1 - plan.free).sum()} controls" in said
    assert f"That costs {plan.cost.sum():g} of 300." in said
    for name in plan.index[:12]:
        assert name in said
    for heading in ("Cost by round", "Who is asked, and why", "Overlap", "Coverage", "Privacy", "Methods", "Versions"):
        assert heading in said
    assert protocol(planner.campaign) in said and record.content_of(planner.campaign)["table"] in said.replace(" ", "")


@pytest.mark.parametrize("draw", ["effect", "criterion"])
def test_of_a_draw_it_names_the_rule_only_where_it_was_followed(draw):
    planner = Planner("free", 60, draw=draw, criterion="qhte", covariates=COVARIATES)
    planner.plan(make_people())
    text = unescape(document(planner.campaign))
    assert ("QHTE" in text) == (draw == "criterion")
    assert "People were chosen by a draw with known chances" in text
    assert "as implemented in macal, by a draw with known chances" in protocol(planner.campaign)


def test_what_a_table_holds_is_escaped(report):
    text = report.read_text()
    assert "<script" not in text and "&lt;script&gt;" in text and "b &amp; c" in text


def test_the_same_plan_gives_the_same_text(planner):
    assert document(planner.campaign) == document(planner.campaign)


def test_it_is_small_and_names_no_address(report):
    text = report.read_text()
    addresses = set(re.findall(r"https?://[^\"' )]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of kinds, not fetched
    assert report.stat().st_size < 250_000


def test_answers_change_what_it_says(planner):
    people = make_people()
    own = Planner("free", 300, cost="fee", covariates=COVARIATES, identifier="person")
    own.plan(people)
    own.observe(dict.fromkeys(own.planned.index[:8], 1.0) | dict.fromkeys(own.planned.index[8:10]))
    own.replan()
    text = document(own.campaign)
    assert "1 round has been asked: 8 answers came, and 2 people will not answer." in unescape(text)


@pytest.fixture(scope="module")
def answered():
    people = make_people()
    own = Planner("free", 60, covariates=COVARIATES, identifier="person", batch_size=20)
    own.plan(people)
    own.observe((people.age / 10 + people.free).set_axis(people.person)[own.planned.index[:40]])
    return own


class TestEstimate:
    def test_it_says_what_the_answers_say(self, answered, tmp_path):
        found = answered.estimate(rule=StoppingRule(width=9))
        answered.report(tmp_path / "plan.html", [found])
        text = (tmp_path / "plan.html").read_text()
        said = unescape(re.sub(r"<svg.*?</svg>|<[^>]*>", " ", text, flags=re.DOTALL))
        assert "What the answers say" in said and "40 answers" in said and "by the weights" not in said
        cells = [page.number(v) for v in (found.average.value, found.average.low, *found.outlook.width)]
        assert all(f"<td class=n>{cell}</td>" in text for cell in cells)
        assert found.verdict[1:] in said and "Effects of all people in ascending order" in text
        named = re.findall(r"(p\d{4})\s+(?:treated|control)", said[said.index("of those who come next") :])
        assert named == answered.planned.index[answered.planned["round"] > 2][:12].tolist()

    def test_by_itself_once_both_arms_have_answered(self, planner, answered):
        assert "What the answers say" in document(answered.campaign)
        assert "What the answers say" not in document(planner.campaign)  # nobody has answered
        own = Planner("free", 60, covariates=COVARIATES, identifier="person")
        own.plan(make_people())
        own.observe(dict.fromkeys(own.planned.index[own.planned.free == 1][:5], 1.0))
        assert not own.campaign.arms_told and "What the answers say" not in document(own.campaign)


class TestOverlap:
    def test_poor_overlap_is_said_by_its_number(self):
        score = np.full(200, 0.5)
        score[:10] = 0.01
        assert overlap.warning(score) == ""
        score[10] = 0.99
        assert "overlap is poor: 6% of people could hardly have been in the other arm" in overlap.warning(score)

    def test_where_intervals_hold_nothing_is_said(self):
        said = {}
        for name, world in weighted.WORLDS.items():
            draws = [weighted.people(world, np.random.default_rng(seed)) for seed in range(3)]
            said[name] = {bool(overlap.warning(logistic_propensity(x, t))) for x, t, *_ in draws}
        assert said == {"observed": {False}, "curved": {True}, "trial": {False}}  # as *Is it enough?* measures

    def test_the_report_and_the_command_warn(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        people = make_people()
        people["free"] = (people.age + np.random.default_rng(0).normal(size=200) > 50).astype(int)
        people.to_csv("people.csv", index=False)
        ask = ["plan", "people.csv", "--treatment", "free", "--budget", "20", "-o", "plan.csv", "--report", "plan.html"]
        assert main(ask) == 0
        told = capsys.readouterr()
        assert told.err.startswith("warning: overlap is poor: ") and "warning" not in told.out
        text = (tmp_path / "plan.html").read_text()
        assert '<p class="warning">Overlap is poor: ' in text


class TestNumbers:
    def test_differences(self, planner):
        people, table = planner.people, planner.people.table
        units = people.places(planner.planned.index, "the plan")
        gaps = overlap.differences(people, units, overlap.column_names(people, {}))
        arms = [table.income[table.free == arm] for arm in (0, 1)]
        spread = np.sqrt((arms[0].var(ddof=0) + arms[1].var(ddof=0)) / 2)
        assert gaps.everybody["income"] == pytest.approx((arms[1].mean() - arms[0].mean()) / spread)
        asked = table.iloc[units]
        north = [(asked.region[asked.free == arm] == "north").mean() for arm in (0, 1)]
        all_north = [(table.region[table.free == arm] == "north").mean() for arm in (0, 1)]
        spread = np.sqrt(np.mean([p * (1 - p) for p in all_north]))
        assert gaps.labelled["region = north"] == pytest.approx((north[1] - north[0]) / spread)

    def test_counterparts_and_coverage(self, planner):
        people = planner.people
        x, t = people.problem.pool.x.astype(float), people.problem.pool.t
        every = np.arange(len(t))
        typical = np.sqrt(2 * x.var(axis=0, ddof=1).sum())
        ours = overlap.counterparts(people, every, every) * typical
        np.testing.assert_allclose(ours, metrics.counterpart_distance(x, t))
        labels = people.places(planner.planned.index, "the plan")
        table = overlap.coverage(people, [labels[:0], labels[:6], labels[6:]])
        assert table.iloc[0].isna().all() and (table.iloc[2] <= table.iloc[1]).all()
        own = metrics.nearest_distance(x[t == 1], x[labels[t[labels] == 1]]).mean() / typical
        assert table.treated[2] == pytest.approx(own)

    def test_novelty_is_the_distance_when_asked(self, planner):
        people = planner.people
        x, t = people.problem.pool.x.astype(float), people.problem.pool.t
        labels = people.places(planner.planned.index, "the plan")
        found = overlap.novelty(people, labels[:0], labels)
        assert np.isinf(found[:2]).all() and np.isfinite(found[2:]).all()
        earlier = labels[:8][t[labels[:8]] == t[labels[8]]]
        expected = np.linalg.norm(x[earlier] - x[labels[8]], axis=1).min() / np.sqrt(2 * x.var(axis=0, ddof=1).sum())
        assert found[8] == pytest.approx(expected)

    def test_how_many_share_a_row(self):
        people = pd.DataFrame({"a": [0, 0, 0, 1, 1, 2], "b": ["x"] * 5 + ["y"], "t": [0, 1, 0, 1, 0, 1]})
        planner = Planner("t", 2, covariates=["a", "b"], kinds={"b": "category"})
        planner.plan(people)
        table = overlap.alike(planner.people, np.array([5]))["exactly"]
        assert table["everybody"].tolist() == pytest.approx([1 / 6, 2 / 6, 3 / 6, 0, 0])
        assert table["asked"].tolist() == [1, 0, 0, 0, 0]
        people["a"] = [0, 1, 2, 3, 100, 200]  # the last two are winsorised to one value
        planner = Planner("t", 2, covariates=["a"])
        planner.plan(people)
        assert len(np.unique(planner.people.problem.pool.x)) < 6
        assert overlap.alike(planner.people, np.array([5]))["exactly"]["everybody"].tolist() == [1, 0, 0, 0, 0]
        ends = list(overlap.SHARED.values())
        assert ends[0] == (1, 1) and all(b[0] == a[1] + 1 for a, b in zip(ends, ends[1:], strict=False))
        assert [one for one in overlap.SHARED if overlap.SHARED[one] == (5, 10)] == ["4 to 9"]

    def test_distances_are_told_by_their_median_and_95th_percentile(self):
        told = import_module("macal.planner.report.document")._spread(np.arange(101.0), pd.Series([0.1, -0.4]))
        assert told["distance to nearest counterpart, median"] == page.number(50.0)
        assert told["distance to nearest counterpart, 95th percentile"] == page.number(95.0)

    def test_tables_align_numbers_and_mark_what_is_missing(self):
        html = page.table(pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]}, pd.Index(["u", "v"], name="k")), "c")
        assert "<td class=n>1.5</td><td>x</td>" in html and "<td class=n>–</td><td>–</td>" in html


def test_the_command_writes_it_with_the_plan_or_not_at_all(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_people().to_csv("people.csv", index=False)
    command = ["plan", "people.csv", "--treatment", "free", "--budget", "20", "-o", "plan.csv", "--report", "plan.html"]
    assert main(command) == 0 and (tmp_path / "plan.html").read_text().startswith("<!DOCTYPE html>")
    (tmp_path / "plan.csv").unlink()
    assert main(command) == 1
    assert "plan.html is there already" in capsys.readouterr().err and not (tmp_path / "plan.csv").exists()


@pytest.mark.parametrize("device", DEVICES)
def test_a_browser_shows_it_without_a_word_or_a_request(report, browser, device):
    context = browser.new_context(viewport=DEVICES[device])
    tab, troubles = context.new_page(), []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("request", lambda request: troubles.append(request.url) if not request.url.startswith("file:") else None)
    tab.goto(report.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    size = "[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height)"
    assert min(tab.evaluate(size)) >= 8 and tab.locator("svg").count() == 6
    context.close()
    assert not [trouble for trouble in troubles if not trouble.startswith("data:")]


def test_on_paper_nothing_is_cut_and_marks_keep_their_colour(report, browser):
    tab = browser.new_page(viewport={"width": 680, "height": 1000})  # A4 within margins of 15 mm
    tab.emulate_media(media="print")
    tab.goto(report.as_uri())
    wide = "[...document.querySelectorAll('table, svg, p, blockquote')].map(e => e.getBoundingClientRect().right)"
    assert max(tab.evaluate(wide)) <= 680
    assert tab.evaluate("getComputedStyle(document.querySelector('.answer')).printColorAdjust") == "exact"
    tab.close()
