"""The report of a plan: what it says is true of the plan, and it is one file that a browser shows without help."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from test_planner import COVARIATES, make, make_people
from test_site import DEVICES

from macal import Planner, metrics
from macal.__main__ import main
from macal.survey import Doubt, record
from macal.survey.inference import StoppingRule
from macal.survey.plan_words import unseen_causes
from macal.survey.report import data_warnings, document, overlap, page
from macal.survey.report.document import Report
from macal.survey.report.protocol import settings
from macal.survey.tables.sample import FirstPhase

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


def text_of(path):
    """What a reader sees."""
    return unescape(re.sub(r"<svg.*?</svg>|<[^>]*>", " ", path.read_text(), flags=re.DOTALL))


def test_it_says_what_the_plan_is(planner, report):
    said, plan = text_of(report), planner.planned
    for number in (len(plan), len(planner.rounds()), plan.free.sum(), (1 - plan.free).sum(), f"{plan.cost.sum():g}"):
        assert f" {number} " in said
    assert all(words in said for words in [*plan.index[:12], *settings(planner.campaign).values()])
    assert record.checksum(record.content_of(planner.campaign)["table"]) in said.replace(" ", "")


@pytest.mark.parametrize(
    ("key", "option", "value", "shown"),
    [
        ("batch size", "batch_size", 7, "7"),
        ("propensity", "propensity", 0.5, "0.5"),
        ("cost", "cost", 2.5, "2.5"),
        ("pay", "pay", "answered", "answered"),
        ("kind", "kinds", {"age": "category"}, "age=category"),
    ],
)
def test_the_protocol_states_what_differs_from_the_defaults(key, option, value, shown):
    plain, planner = (Planner("free", budget=100, **given) for given in ({}, {option: value}))
    for one in (plain, planner):
        one.plan(make_people(80))
    assert settings(planner.campaign)[key] == shown and key not in settings(plain.campaign)


def test_it_is_one_small_file_of_a_table_s_words_escaped(planner, report):
    text = report.read_text()
    assert "<script" not in text and "&lt;script&gt;" in text and "b &amp; c" in text
    addresses = set(re.findall(r"https?://[^\"' )]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of kinds, not fetched
    assert len(text) < 250_000 and document(planner.campaign) == document(planner.campaign)


def test_large_numbers_are_written_out():
    said = [page.number(value) for value in (1916.4, -1999.5, 999.4, 0.01234, float("nan"), 1e16)]
    assert said == ["1,916", "-2,000", "999", "0.0123", "–", "1e+16"]


@pytest.fixture(scope="module")
def answered():
    own, people = make(budget=60, batch_size=20)[0], make_people()
    own.observe((people.age / 10 + people.free).set_axis(people.person)[own.planned.index[:40]])
    return own


class TestEstimate:
    def test_it_says_what_the_answers_say(self, answered, tmp_path):
        found = answered.estimate(rule=StoppingRule(width=9), individual=True)
        answered.report(tmp_path / "plan.html", [found])
        text, said = (tmp_path / "plan.html").read_text(), text_of(tmp_path / "plan.html")
        cells = [page.number(v) for v in (found.average.value, found.average.low, *found.projection.width)]
        assert all(f"<td class=n>{cell}</td>" in text for cell in cells)
        assert "40 answers" in said and "(weighted)" not in said and found.verdict[1:] in said
        named = re.findall(r"(p\d{4})\s+(?:treated|control)", said[said.index("The next ") :])
        assert named == answered.planned.index[answered.planned["round"] > 2][:12].tolist()

    def test_by_itself_once_both_arms_have_answered(self, planner, answered):
        own = make(budget=60)[0]
        own.observe(dict.fromkeys(own.planned.index[own.planned.free == 1][:5], 1.0))
        has = ["<h2>Estimates" in document(one.campaign) for one in (answered, planner, own)]
        assert has == [True, False, False] and not own.campaign.estimable_arms


class TestOverlap:
    def test_poor_overlap_is_said_by_its_number(self):
        score = np.full(200, 0.5)
        score[:10] = 0.01
        assert overlap.warning(score) is None
        score[10] = 0.99
        assert "6%" in overlap.warning(score)

    def test_both_scales_and_only_those_who_may_be_asked_count(self):
        """Of 300 people 45 lie so far, all treated, that winsorised they are as near as others; others are apart."""
        rng = np.random.default_rng(0)
        people = make_people(300).assign(income=rng.normal(size=300), far=np.arange(300) < 45)
        people.loc[people.far, ["income", "free"]] = np.stack([rng.uniform(5.5, 11, 45), np.ones(45)], axis=1)
        few = {"covariates": ["income"], "draw": "effect", "budget": 20}
        planner, _ = make(people, **few)
        assert overlap.warning(overlap.propensity(planner.people)) is None
        assert len(data_warnings.warnings(planner.campaign)) == 1
        assert data_warnings.warnings(make(people, **few | {"exclude": "far"})[0].campaign) == []
        # of a cluster that is asked whole, nobody may be asked where one of them may not
        homes = people.assign(home=np.where(people.far, -1, people.index), one=np.arange(300) == 0)
        some = few | {"exclude": "one", "cluster": "home"}
        assert data_warnings.warnings(make(homes, **some)[0].campaign) == []
        poor = people[~people.far].assign(free=lambda d: (d.income > 0).astype(int))  # on the model's scale, too
        assert len(data_warnings.warnings(make(poor, **few)[0].campaign)) == 1

    def test_an_arm_that_may_not_be_asked_at_all_is_no_error(self):
        people = make_people(120).assign(free=np.arange(120) % 3)
        everybody = make(people, reference=0, budget=20, criterion="qhte")[0].people
        (told,) = overlap.warnings(everybody.restricted_to(np.flatnonzero(everybody.problem.pool.t == 1)))
        assert told.startswith("1 against 0: ") and "100%" in told

    def test_a_sample_speaks_for_its_table(self):
        """A hundredth of the people, of one arm alone, are as many in the sample as all others."""
        table = make_people(400).assign(rare=np.arange(400) < 200, free=lambda d: np.where(d.rare, 1, d.free))
        people = make(table, covariates=["rare", "age"], budget=4, criterion="qhte")[0].people
        rare = people.table.rare.to_numpy()
        sample = replace(people, first_phase=FirstPhase(np.where(rare, 0.5, 0.5 / 99), np.zeros(400, np.int64), 40_000))
        assert overlap.warnings(people) and not overlap.warnings(sample)
        some = overlap.some_of(sample)
        assert len(some) == overlap.SAMPLE and rare[some].mean() == pytest.approx(0.01, abs=0.001)
        np.testing.assert_array_equal(overlap.some_of(people), overlap.sample(400))
        # as of a table in which each stands as often as she counts
        whole = people.restricted_to(np.repeat(np.arange(400), np.where(rare, 1, 99)))
        names, nobody = ["age", "rare"], np.empty(0, np.int64)
        gaps = [overlap.differences(one, nobody, names)["all"] for one in (sample, whole)]
        np.testing.assert_allclose(*gaps)
        x, t, labels = people.problem.pool.x.astype(float), people.problem.pool.t, np.arange(190, 240)
        own = [metrics.nearest_distance(x[t == arm], x[labels[t[labels] == arm]]) for arm in (0, 1)]
        far = [np.average(near, weights=sample.weights[t == arm]) for arm, near in enumerate(own)]
        typical = np.sqrt(2 * whole.problem.pool.x.var(axis=0).sum())
        np.testing.assert_allclose(overlap.coverage(sample, [labels]).iloc[0], np.array(far) / typical, rtol=0.01)
        score = overlap.propensity(sample)
        np.testing.assert_allclose(score[~rare], overlap.propensity(whole)[200::99], atol=0.02)

    def test_the_report_and_the_command_warn(self, here, capsys):
        people = make_people()
        people["free"] = (people.age + np.random.default_rng(0).normal(size=200) > 50).astype(int)
        people.to_csv("people.csv", index=False)
        ask = "plan people.csv --treatment free --budget 20 -o plan.csv --report plan.html".split()
        assert main(ask) == 0 and "overlap" in capsys.readouterr().err
        with pytest.warns(Doubt, match="overlap") as told:
            planner = Planner("free", 20)
            planner.plan(people)
        with pytest.warns(Doubt, match="overlap") as again:
            planner.replan()
        assert len(told) == len(again) == len(data_warnings.warnings(planner.campaign))
        assert '<p class="warning">Overlap' in (here / "plan.html").read_text()
        (here / "plan.csv").unlink()  # both are written, or none
        assert main(ask) == 1 and not (here / "plan.csv").exists()


def test_what_was_asked_is_told_as_what_was():
    planner, plan = make(make_people(200), budget=40, batch_size=20)
    told = []
    for rounds in (0, 1, 2):
        planner.observe({name: 1.0 + k for k, name in enumerate(plan.index[plan["round"] <= rounds])})
        told.append(" ".join(Report(planner.campaign).answer()))
    assert ["will be surveyed" in words for words in told] == [True, False, False]
    assert ["were surveyed" in words for words in told] == [False, False, True]


def test_what_no_data_show_is_said_in_the_same_words(here, capsys):
    make_people().to_csv("people.csv", index=False)
    files = "--campaign c.json --report plan.html -o plan.csv"
    assert main(f"plan people.csv --treatment free --draw effect --budget 60 {files}".split()) == 0
    assert capsys.readouterr().out.count(unseen_causes()) == 1
    assert (here / "plan.html").read_text().count(unseen_causes()) == 1
    pd.read_csv("plan.csv")[["person"]].assign(y=np.arange(60.0)).to_csv("answers.csv", index=False)
    assert main("observe c.json people.csv answers.csv".split()) == 0
    assert main("estimate c.json people.csv -o effects.csv --report found.html".split()) == 0
    assert capsys.readouterr().out.count(unseen_causes()) == 1
    assert (here / "found.html").read_text().count(unseen_causes()) == 1


@pytest.fixture(scope="module")
def asked():
    """Of 20 people asked 10 refused, and their reserves answered; one of the next round answered ahead."""
    planner, plan = make(budget=60, batch_size=20, response=0.5, criterion="qhte")
    first, refused = plan.index[:20], plan.index[:20:2]
    answers = dict.fromkeys(first, 1.0) | dict.fromkeys(refused) | dict.fromkeys(plan.reserve[refused], 2.0)
    planner.observe(answers | {plan.index[25]: 3.0}, through=1)
    return planner, planner.planned, Report(planner.campaign)


class TestLabels:
    def test_labels_are_all_outcomes_and_whoever_is_still_to_answer(self, asked):
        planner, plan, looked = asked
        names = set(plan.index[1:20:2]) | set(plan.reserve[:20:2]) | set(plan.index[20:])
        assert set(looked.labelled) == set(planner.people.positions(names, "the plan"))
        assert len(looked.labelled) == len(names) == 10 + 10 + 40 and "10" in planner.campaign.extra_contacts
        rounds = overlap.coverage(planner.people, [looked.labelled]).iloc[-1]
        text = " ".join(looked.coverage())
        assert all(f"{page.number(far)} for {arm}" in text for arm, far in rounds.items())
        shares = overlap.shared_rows(planner.people, planner.people.positions([*plan.index, *plan.reserve[:20:2]], ""))
        assert page.number(shares["in quarters", "surveyed"]["10 or more"], "{:.1%}") in looked.privacy()[-1]

    def test_the_next_people_are_new_against_answers_not_refusals(self, asked):
        planner, plan, looked = asked
        people, names = planner.people, plan.index[20:].drop(plan.index[25])
        text = " ".join(looked.selection())
        assert [name for name in re.findall(r"p\d{4}", text) if f">{name}</td><td>" in text][:1] == [names[0]]
        t, x = people.problem.pool.t, people.problem.pool.x.astype(float)
        unit = people.positions(names[:1], "")[0]
        told = people.positions([*plan.index[1:20:2], *plan.reserve[:20:2], plan.index[25]], "")
        near = metrics.nearest_distance(x[[unit]], x[told[t[told] == t[unit]]])[0]
        near /= np.sqrt(2 * x.var(axis=0, ddof=1).sum())
        assert f"<td class=n>{near:.2f}</td>" in text
        assert plan.index[25] not in re.findall(r"<tr><td>(p\d{4})", text)


class TestNumbers:
    def test_differences(self, planner):
        people, table = planner.people, planner.people.table
        units = people.positions(planner.planned.index, "the plan")
        gaps = overlap.differences(people, units, overlap.column_names(people))
        arms = [table.income[table.free == arm] for arm in (0, 1)]
        spread = np.sqrt((arms[0].var(ddof=0) + arms[1].var(ddof=0)) / 2)
        assert gaps["all"]["income"] == pytest.approx((arms[1].mean() - arms[0].mean()) / spread)
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
        labels = people.positions(planner.planned.index, "the plan")
        table = overlap.coverage(people, [labels[:0], labels[:6], labels[6:]])
        assert table.iloc[0].isna().all() and (table.iloc[2] <= table.iloc[1]).all()
        own = metrics.nearest_distance(x[t == 1], x[labels[t[labels] == 1]]).mean() / typical
        assert table.treated[2] == pytest.approx(own)

    def test_how_many_share_a_row(self):
        people = pd.DataFrame({"a": [0, 0, 0, 1, 1, 2], "b": ["x"] * 5 + ["y"], "t": [0, 1, 0, 1, 0, 1]})
        planner = Planner("t", 2, covariates=["a", "b"], kinds={"b": "category"}, criterion="alc-fixed")
        planner.plan(people)
        table = overlap.shared_rows(planner.people, np.array([5]))["exactly"]
        assert table["all"].tolist() == pytest.approx([1 / 6, 2 / 6, 3 / 6, 0, 0])
        assert table["surveyed"].tolist() == [1, 0, 0, 0, 0]
        people["a"] = [0, 1, 2, 3, 100, 200]  # the last two are winsorised to one value
        planner = Planner("t", 2, covariates=["a"], criterion="alc-fixed")
        planner.plan(people)
        assert len(np.unique(planner.people.problem.pool.x)) < 6
        assert overlap.shared_rows(planner.people, np.array([5]))["exactly"]["all"].tolist() == [1, 0, 0, 0, 0]

    def test_tables_align_numbers_and_mark_what_is_missing(self):
        html = page.table(pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]}, pd.Index(["u", "v"], name="k")), "c")
        assert "<td class=n>1.5</td><td>x</td>" in html and "<td class=n>–</td><td>–</td>" in html


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


def test_on_paper_nothing_is_cut(report, browser):
    tab = browser.new_page(viewport={"width": 680, "height": 1000})  # A4 within margins of 15 mm
    tab.emulate_media(media="print")
    tab.goto(report.as_uri())
    wide = "[...document.querySelectorAll('table, svg, p')].map(e => e.getBoundingClientRect().right)"
    assert max(tab.evaluate(wide)) <= 680
    tab.close()
