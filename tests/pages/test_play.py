"""What the book's things to play with compute, in a real browser, against the package."""

import json
import re
from functools import cache
from io import StringIO
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy
from cases import part_and_whole
from playwright.sync_api import expect

import macal
from macal import comparison, results
from macal.acquisition import PoolState, get
from macal.plots import style
from macal.survey.constraints import at_most
from macal.survey.greedy import GreedyPlan
from macal.survey.tables import frames
from reproduction.book import ROOT
from reproduction.figures import explorer
from reproduction.theory import pairing

PLAN = """async pools => {
    const {Pool, plan, inSlices} = await import("/play/planner.js"), plans = [];
    for (const {x, t, labelled, sizes, ...criterion} of pools) {
        const pool = new Pool(Float64Array.from(x.flat()), Uint8Array.from(t), labelled);
        plans.push(await inSlices(plan(pool, criterion, sizes)));
    }
    return plans;
}"""


@pytest.fixture
def visit(browser, address):
    """Opens what can be played with on a page of the book; no request is allowed after that, nor an error."""
    tabs, troubles = [], []

    def open_page(name, fragment=""):
        text = (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
        html = "".join(re.findall(r"```\{raw\} html\n(.*?)```", text, flags=re.DOTALL)).replace("../_static/", "/")
        tab = browser.new_page(base_url=address)
        tabs.append(tab)
        tab.route("**/page.html", lambda route: route.fulfill(body=f"<!doctype html>{html}", content_type="text/html"))
        tab.route("**/results.json", lambda route: route.fulfill(body=recorded(), content_type="application/json"))
        tab.goto(f"/page.html{fragment}", wait_until="load")  # on a busy machine the network rests before modules come
        tab.wait_for_load_state("networkidle")
        tab.on("request", lambda request: troubles.append(request.url))
        tab.on("console", lambda m: troubles.append(m.text))
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        return tab

    yield open_page
    for page in tabs:
        page.close()
    assert not [trouble for trouble in troubles if not trouble.startswith("blob:")], troubles


@cache
def recorded():
    return explorer.page()


def pool(seed):
    """A pool of a random size: spread, on a grid, or with twins, so that there are ties; with or without labels."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 13))
    x = rng.normal(size=(n, d))
    if seed % 3 == 1:
        x = np.round(x)
    elif seed % 3 == 2:
        x = x[rng.integers(0, max(1, n // 3), n)]
    t = (rng.random(n) < rng.uniform(0.1, 0.9)).astype(int)
    t[:2] = 0, 1
    labelled = rng.choice(n, int(rng.integers(0, n // 2 + 1)), replace=False) if seed % 2 else []
    return x, t, labelled, int(rng.integers(1, 8)), int(rng.integers(2, 12)), float(rng.choice([0, 0.5, 1, 2.5, 10]))


def check(tab, script, asked, expected):
    """Some plans of the browser are those that are expected, as places in the pool."""
    expected = [[batch.tolist() for batch in plan] for plan in expected]
    found = tab.evaluate(script, asked)
    wrong = [seed for seed in range(len(asked)) if found[seed] != expected[seed]]
    assert not wrong, f"pools {wrong[:5]}: {found[wrong[0]]}, not {expected[wrong[0]]}"
    assert sum(map(len, expected)) >= 2 * len(asked)


@part_and_whole("n", 3, 60)
@pytest.mark.parametrize("name", ["alc-fixed", "macal", "qhte"])
def test_plans_in_the_browser_are_the_packages(tab, unchecked, name, n):
    asked, expected = [], []
    for seed in range(n):
        x, t, labelled, n_queries, batch_size, alpha = pool(seed)
        parameters = {"alpha": alpha} if name == "macal" else {}
        expected.append(macal.plan(x, t, labelled, n_queries, batch_size, name, **parameters))
        case = {"x": x.tolist(), "t": t.tolist(), "labelled": list(map(int, labelled))}
        asked.append(case | {"sizes": [batch_size] * n_queries, "name": name, "alpha": alpha})
    check(tab, PLAN, asked, expected)


MONEY = """async pools => {
    const {Pool, inSlices} = await import("/play/planner.js"), {planMoney} = await import("/play/money.js"), plans = [];
    for (const {x, t, labelled, cost, budget, size, ...criterion} of pools) {
        const begin = () => new Pool(Float64Array.from(x.flat()), Uint8Array.from(t), labelled);
        plans.push(await inSlices(planMoney(begin, criterion, {cost: Float64Array.from(cost), budget, size})));
    }
    return plans;
}"""


def prices(seed, n):
    """Costs of people, whole and equal ones among them, one of them far dearer; and a budget for some of them."""
    rng = np.random.default_rng([seed, 1])
    cost = [rng.integers(1, 5, n).astype(float), rng.uniform(0.5, 20, n).round(2), np.full(n, 2.5)][seed % 3]
    if seed % 5 == 4:
        cost[int(rng.integers(n))] = 0.4 * cost.sum()
    return cost, float(np.round(rng.uniform(0.1, 1.1) * cost.sum(), 2))


@part_and_whole("n", 4, 100)
@pytest.mark.parametrize("name", ["alc-fixed", "macal", "qhte"])
def test_plans_for_money_in_the_browser_are_the_packages(tab, unchecked, name, n):
    asked, expected = [], []
    for seed in range(n):
        x, t, labelled, _, size, alpha = pool(seed)
        cost, budget = prices(seed, len(t))
        state = PoolState(x, t, np.array(labelled, np.int64))
        free = np.setdiff1d(np.arange(len(t)), labelled)
        demand = at_most("money", np.where(np.isin(np.arange(len(t)), free), cost, 0.0), budget)
        alone, nobody = np.full(len(t), -1), np.empty(0, np.int64)
        rule = get(name, **({"alpha": alpha} if name == "macal" else {}))
        task = GreedyPlan(rule, state, [demand], cost, cost / cost.min(), alone, nobody, size, None)
        expected.append(task.rounds().filled)
        case = {"x": x.tolist(), "t": t.tolist(), "labelled": list(map(int, labelled)), "cost": cost.tolist()}
        asked.append(case | {"budget": budget, "size": size, "name": name, "alpha": alpha})
    check(tab, MONEY, asked, expected)


def test_a_design_of_many_people_has_the_packages_targets(tab):
    """Beyond 1,000 people targets are drawn by hashes; some are alike, and some values are whole."""
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=(1500, 3)), 1) * [1, 1, -1]
    t, labelled = rng.integers(0, 2, 1500), list(range(20))
    case = {"x": x.tolist(), "t": t.tolist(), "labelled": labelled, "sizes": [10, 10], "name": "alc-fixed"}
    check(tab, PLAN, [case], [macal.plan(x, t, labelled, 2, 10, "alc-fixed")])


def test_random_plans_are_uniform_over_who_is_free_and_follow_the_seed(tab):
    case = {"x": [[k] for k in range(12)], "t": [0, 1] * 6, "labelled": [2, 5], "sizes": [2, 2], "name": "random"}
    plans = tab.evaluate(PLAN, [case | {"seed": seed} for seed in (*range(3000), 7)])
    assert plans[7] == plans[-1] != plans[8]
    assert all(len({*first, *then} - {2, 5}) == 4 for first, then in plans)
    first = np.bincount([batch[0] for batch, _ in plans[:-1]], minlength=12)
    assert not first[[2, 5]].any() and scipy.stats.chisquare(np.delete(first, [2, 5])).pvalue > 1e-4
    money = case | {"cost": [1.0] * 6 + [2.0] * 6, "budget": 7.0, "size": 3, "seed": 1}
    (batches,) = tab.evaluate(MONEY, [money])
    bought = sum(batches, [])
    assert len({*bought} - {2, 5}) == len(bought) and 5 < sum(1 + (unit > 5) for unit in bought) <= 7


# ---------------------------------------------------------------- plan my survey


@pytest.fixture
def people():
    """A table with numbers, categories, truth values, a constant, and some known outcomes."""
    rng, n = np.random.default_rng(3), 211
    table = pd.DataFrame(index=pd.Index([f"p-{k}" for k in range(n)], name="person"))
    table["age"], table["income"] = rng.integers(18, 90, n), rng.lognormal(8, 1, n)
    table["region"], table["insured"] = rng.choice(["north", "south", "Éire", "west, far"], n), rng.random(n) < 0.3
    table["wave"], table["free"] = 7, rng.integers(0, 2, n)
    return table.assign(y=np.where(np.arange(n) % 20, np.nan, rng.normal(size=n)))


COVARIATES = ["age", "income", "region", "insured"]


ROLES = ["identifier", *["covariate"] * 4, "left out", "treatment", "outcome"]


def choose(tab, content, name="people.csv"):
    content = content if isinstance(content, bytes) else content.encode()
    tab.get_by_label("choose a file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    tab.locator(".problem:not(:empty), [data-at=settings]:not([hidden])").first.wait_for()


def downloaded(tab, planner, people, path):
    """The plan that is made once settings are filled in; it is that of the package, which is returned."""
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download").click()
    people.to_csv(path / "people.csv")
    expected = planner.plan(frames.read(path / "people.csv"))
    name = expected.index.name
    found = pd.read_csv(download.value.path(), index_col=name, dtype={name: expected.index.dtype})
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_index_type=False)
    return expected


def fill(tab, **settings):
    for label, value in settings.items():
        tab.get_by_label(label.replace("_", " ")).fill(value)


def individually(tab):
    tab.get_by_label("individual effects: a criterion").check()


def ask(tab):
    tab.get_by_role("button", name="Plan", exact=True).click()


def test_a_file_becomes_the_plan_of_the_command(visit, people, tmp_path):
    tab = visit("plan_my_survey")
    choose(tab, people.to_csv())
    assert [tab.get_by_label(f"role of {column}").input_value() for column in ["person", *people]] == ROLES
    fill(tab, people_to_survey="52", per_round="9", seed="11")
    ask(tab)
    tab.get_by_role("button", name="Download").wait_for()
    downloaded(tab, macal.Planner("free", 52, outcome="y", batch_size=9, seed=11), people, tmp_path)
    individually(tab)
    fill(tab, similarity_weight="0.75")
    ask(tab)
    tab.get_by_role("button", name="Download").wait_for()
    for name, parameters in (("alc-fixed", {}), ("macal", {"alpha": 0.75}), ("qhte", {})):
        tab.locator(f"input[value={name}]").check()
        planner = macal.Planner("free", 52, outcome="y", criterion=name, parameters=parameters, batch_size=9, seed=11)
        treated = int(downloaded(tab, planner, people, tmp_path).free.sum())
        answer = tab.inner_text(".answer")
        assert all(f"{number} " in answer for number in (52, 6, treated, 52 - treated))
    assert tab.locator(".chart svg[role=img]").count() == 3


def test_missing_values_are_one_question_and_what_is_doubtful_is_named(visit, tmp_path):
    tab, rng, n = visit("plan_my_survey"), np.random.default_rng(0), 1629
    people = pd.DataFrame({"seqn": np.arange(n) + 40, "free": np.arange(n) % 2, "age": rng.normal(size=n)})
    people["price"] = 9 * people["free"] + rng.normal(size=n)
    people["wt71"], people["wt82"], people["died"] = rng.normal(size=(3, n))
    for name in ("sbp", "dbp"):
        people[name] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    choose(tab, people.to_csv(index=False))
    assert "1,629 people" in tab.inner_text("[data-at=file]")
    question = tab.get_by_role("alert")
    expect(question).to_contain_text('"sbp"')
    expect(question).to_contain_text('"dbp"')
    tab.get_by_role("button", name="leave all out").click()
    expect(question).to_be_empty()
    ask(tab)
    warned = tab.locator("[data-at=warned] li")
    expect(warned).to_have_count(3)  # of later columns, of one that tells the arms apart, of the chances
    assert [name for name in people if f'"{name}"' in "".join(warned.all_inner_texts())] == ["price", "wt82", "died"]
    used = people.drop(columns=["sbp", "dbp"]).set_index("seqn")
    downloaded(tab, macal.Planner("free", 50), used, tmp_path)


def test_a_draw_is_set_against_a_simple_random_sample(visit, tmp_path):
    tab, rng, n = visit("plan_my_survey"), np.random.default_rng(0), 900
    people = pd.DataFrame({"age": rng.uniform(size=n)}, pd.RangeIndex(n, name="id"))
    people["free"] = (rng.random(n) < 0.1 + 0.7 * people["age"]).astype(int)
    choose(tab, people.to_csv())
    fill(tab, people_to_survey="150", cost_per_person="7")
    ask(tab)
    price = tab.locator("[data-at=price]")
    expect(price).to_contain_text("simple random sample")
    draw = macal.Planner("free", 150)
    draw.plan(people)
    simple = macal.Planner("free", width=draw.forecast().width, sd=1.0, uniform=1.0)
    answers, more, money = (int(word) for word in re.findall(r"(\d+) (?:answers|more)", price.inner_text()))
    assert answers == pytest.approx(len(simple.plan(people)), abs=1) and (more, money) == (answers - 150, 7 * more)


@pytest.mark.exhaustive
def test_money_and_a_column_of_costs_become_the_plan_of_the_command(visit, people, tmp_path):
    tab = visit("plan_my_survey")
    fees = np.random.default_rng(0).integers(4, 30, len(people)) / 4
    people = people.assign(fee=fees).drop(columns="wave")
    choose(tab, people.to_csv())
    individually(tab)
    tab.get_by_label("role of fee").select_option("cost")
    ask(tab)
    tab.get_by_role("alert").get_by_text("budget").wait_for(timeout=5000)
    fill(tab, budget="0.5")
    ask(tab)
    tab.get_by_role("alert").get_by_text("costs 1").wait_for(timeout=5000)
    known = people["y"].notna().to_numpy()
    for cost, settings in (("fee", {"budget": "101.5"}), (2.5, {"cost_per_person": "2.5"})):
        if cost != "fee":
            tab.get_by_label("role of fee").select_option("left out")
        fill(tab, **settings)
        ask(tab)
        tab.get_by_role("button", name="Download").wait_for()
        for name, parameters in (("alc-fixed", {}), ("macal", {"alpha": 1.0}), ("qhte", {})):
            tab.locator(f"input[value={name}]").check()
            given = {"outcome": "y", "cost": cost, "criterion": name, "covariates": COVARIATES}
            planner = macal.Planner("free", 101.5, parameters=parameters, **given)
            plan = downloaded(tab, planner, people, tmp_path)
            assert 0 < plan["cost"].sum() <= 101.5 and not known[people.index.get_indexer(plan.index)].any()


TWO = "id,code,age,free\n" + "".join(f"{k},{k:05d},{20 + k * k},{k % 2}\n" for k in range(1, 13))


@pytest.mark.exhaustive
@pytest.mark.parametrize("column, role", [("code", "identifier"), ("id", "left out"), ("id", "covariate")])
def test_two_columns_that_may_name_people_are_asked_about(visit, column, role, tmp_path):
    tab, table = visit("plan_my_survey"), pd.read_csv(StringIO(TWO), dtype={"code": str}, index_col="id")
    choose(tab, TWO)
    question = tab.get_by_role("alert").get_by_text('"id" and "code"')
    question.wait_for()
    ask(tab)
    question.wait_for()
    assert not tab.get_by_role("button", name="Download").is_visible()
    tab.get_by_label(f"role of {column}").select_option(role)
    expect(tab.get_by_role("alert")).to_be_empty()
    roles = {"id": role if column == "id" else "left out", "code": "identifier", "age": "covariate"}
    assert {name: tab.get_by_label(f"role of {name}").input_value() for name in roles} == roles
    fill(tab, people_to_survey="5")
    individually(tab)
    ask(tab)
    covariates = [name for name in roles if roles[name] == "covariate"]
    downloaded(
        tab, macal.Planner("free", 5, identifier="code", covariates=covariates, criterion="alc-fixed"), table, tmp_path
    )


GOOD = "id,age,bmi,free\n1,30,20,0\n2,40,22,1\n3,50,25,0\n4,61,31,1\n"
NO_TABLES = [
    (json.dumps({"format": "macal campaign", "version": 9}, indent=1), "JSON"),
    (b"PAR1\x15\x04\x15\x90\xff", "UTF-8"),
    ("", "no rows"),
    ("id,age,free\n", "no rows"),
    ("id,age,age\n1,2,3\n", '"age"'),
    ("id,age,free\n1,30,0\n2,40\n", "Line 3"),
    ('id,age,free\n1,"30,0\n', "quotation mark"),
]
BAD_TABLES = [  # with the role of a column, and the name of what is wrong
    (GOOD.replace("40", ""), {}, '"age" (1) of 4 rows'),
    (GOOD.replace("40", "forty"), {"age": "covariate"}, '"forty"'),
    (GOOD.replace("1\n", "0\n"), {}, "treatment"),
    (GOOD.replace("40", "1e999"), {}, "too large"),
    ("age,free\n30,0\n30,1\n", {}, "No covariate"),
    (GOOD.replace("age", "round"), {"round": "identifier", "id": "left out"}, '"round"'),
    (re.sub(r"\d\d,(\d)\n", r"25,\1\n", GOOD), {"bmi": "covariate"}, '"bmi"'),
    ("age,free,y\n30,0,1\n31,1,2\n", {}, "no one"),
    (GOOD.replace(",1\n", ",2\n"), {"free": "treatment"}, 'row 2 holds "2"'),
    ("id,age,free\n1,3,0\n2,4,0\n", {"free": "treatment"}, "controls"),
    (GOOD, {"free": "covariate"}, "treatment"),
    (GOOD, {"age": "treatment"}, "2 columns"),
    (GOOD, {"age": "identifier"}, "2 columns"),
    (GOOD, {"age": "cost"}, "budget"),
]
BAD_SETTINGS = [
    ("people to survey", "5", "from 1 to 4"),
    ("people to survey", "", "from 1 to 4"),
    ("per round", "0", "per round"),
    ("weight", "-1", "weight"),
    ("seed", "1.5", "seed"),
    ("budget", "-2", "budget"),
]


def test_what_is_wrong_is_named_and_nothing_is_planned(visit):
    tab = visit("plan_my_survey")

    def refused(said):
        tab.get_by_role("alert").get_by_text(said).first.wait_for(timeout=5000)
        assert not tab.get_by_role("button", name="Download").is_visible()

    for content, said in NO_TABLES:
        choose(tab, content)
        refused(said)
        assert not tab.get_by_role("button", name="Plan", exact=True).is_visible()
    for content, roles, said in BAD_TABLES:
        choose(tab, content)
        for column, role in roles.items():
            tab.get_by_label(f"role of {column}").select_option(role)
        ask(tab)
        refused(said)
        choose(tab, GOOD)
        expect(tab.get_by_role("alert")).to_be_empty()
    individually(tab)
    for label, value, said in BAD_SETTINGS:
        fill(tab, people_to_survey="2")
        usual = tab.get_by_label(label).input_value()
        fill(tab, **{label: value})
        ask(tab)
        refused(said)
        fill(tab, **{label: usual})


@pytest.mark.exhaustive
def test_a_long_plan_lives_and_can_be_stopped(visit):
    tab = visit("plan_my_survey")
    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.normal(size=(3000, 20)).round(3), columns=[f"x{k}" for k in range(20)])
    choose(tab, many.assign(treated=np.arange(3000) % 2).to_csv(index=False))
    individually(tab)
    fill(tab, people_to_survey="1000")
    ask(tab)
    tab.get_by_role("button", name="stop").click(timeout=10_000)
    assert not tab.get_by_role("progressbar").is_visible()
    assert not tab.get_by_role("button", name="Download").is_visible()


# ---------------------------------------------------------------- the results, to explore


def test_errors_are_those_of_the_summary():
    table = results.load("ihdp_t")
    found = explorer.errors(table)
    for size in table["labelled"].unique().tolist():
        expected = comparison.summary(table, size).rename(columns={"mean": "pehe"})
        there = found.xs(size, level="labelled").loc[expected.index]
        assert np.array_equal(there["n"], expected["replications"])
        there["low"], there["high"] = (there["log_ratio"] + k * there["log_ratio_half"] for k in (-1, 1))
        columns = ["pehe", "log_ratio", "low", "high"]
        pd.testing.assert_frame_equal(there[columns], expected[columns], rtol=1e-9, check_names=False)


def test_replications_without_random_and_single_ones_are_told_apart():
    rows = [("random", 0, 2.0), ("macal", 0, 1.0), ("macal", 1, 9.0)]
    table = pd.DataFrame(rows, columns=["method", "replication", "pehe"]).assign(labelled=50)
    found = explorer.errors(table)
    assert found.loc[("macal", 50), "n"] == 1 and found.loc[("macal", 50), "log_ratio"] == np.log(0.5)
    assert found[["pehe_half", "log_ratio_half"]].isna().all(axis=None)


def per_cent(log_ratio):
    value = 100 * np.expm1(log_ratio)
    return f"{value:+.{0 if abs(value) >= 9.95 else 1}f} %".replace("-", "−")


@pytest.mark.exhaustive
def test_explored_numbers_are_the_recorded_ones(visit):
    assert explorer.page() == recorded() and len(recorded()) < 300_000
    tab = visit("explorer")

    def show(data, estimator, size):
        tab.get_by_label("data").select_option(data)
        tab.get_by_label("estimator").select_option(estimator)
        tab.locator("select[name=size]").select_option(size)

    show("IHDP", "T-learner", "130")
    found = explorer.errors(results.load("ihdp_t")).xs(130, level="labelled")
    for method, row in found.drop("random").iterrows():
        cells = tab.get_by_role("row", name=re.compile(f"^{style(method).label} ")).inner_text().split("\t")
        assert cells[1:3] == [f"{row['n']:.0f}", per_cent(row["log_ratio"])]
    assert tab.locator(".chart .line").count() == 2 * 2 and tab.locator(".chart .band").count() == 2
    tab.get_by_role("radio", name="PEHE").check()
    cells = tab.get_by_role("row", name=re.compile("^MACAL ")).inner_text().split("\t")
    assert float(cells[2]) == float(f"{found.loc['macal', 'pehe']:.3g}")
    show("IBM", "text version", "850")  # criteria are ranked among those of as many replications
    rows = [row.inner_text().split("\t") for row in tab.locator("tbody tr").all()]
    ranked = [(-int(n), float(pehe)) for _, n, pehe, _ in rows]
    assert ranked == sorted(ranked) and len({n for n, _ in ranked}) == 1 + tab.locator("tr.apart").count() > 1


@pytest.mark.exhaustive
def test_what_is_explored_has_an_address(visit):
    tab = visit("explorer")
    tab.get_by_label("data").select_option("toy")
    tab.get_by_label("estimator").select_option("exact GP per arm, Figure 1")
    tab.get_by_role("radio", name="PEHE").check()
    tab.get_by_role("checkbox", name="Symmetry").check()
    again = visit("explorer", tab.evaluate("location.hash"))
    assert again.get_by_label("data").input_value() == "toy" and again.get_by_role("radio", name="PEHE").is_checked()
    assert again.locator(".chart").inner_html() == tab.locator(".chart").inner_html()
    assert visit("explorer", "#data=moon&by=guess&show=nobody").get_by_label("data").input_value() == "IHDP"


# ---------------------------------------------------------------- when do pairs pay


def closed_form(labels, shift, rho, r, noise):
    """The same by the package's theory."""

    def at(steps):
        return 4 / np.pi * np.exp(2j * np.pi / labels * steps).view(float).reshape(-1, 2)

    gap, one = 2 * int(np.ceil(80 / (2 * labels))), np.arange(labels)
    kernel = pairing.matern32(1.0)
    smoother = pairing.ridge(kernel, max(noise, 1e-6))
    left = pairing.residuals(smoother, kernel, at(np.arange(gap * labels) / gap), at(one), at(one + shift))
    zero = np.sqrt(2 / (1 + r**2))
    return left.error(rho, noise, (r * zero, zero))


ERRORS = "async cases => (m => cases.map(c => m.error(...c)))(await import('/play/pairs.js'))"


def test_error_of_a_design_is_the_theorys(tab):
    cases = list(product((3, 9, 25), (0.0, 0.2, 0.5), (-1.0, 0.0, 0.6), (0.125, 4.0), (0.0, 0.01, 1.0)))
    np.testing.assert_allclose(tab.evaluate(ERRORS, cases), [closed_form(*c) for c in cases], rtol=1e-7, atol=1e-9)


@pytest.mark.exhaustive
def test_sliders_change_the_answer(visit):
    tab, said = visit("pairing"), set()
    for rho, r, noise, labels in (
        (0.5, 0, 0.1, 9),
        (-0.5, 0, 0.1, 9),
        (0.5, 3, 0.1, 9),
        (0.5, 0, 1.0, 9),
        (0.5, 0, 0.1, 25),
    ):
        for name, value in (("rho", rho), ("r", r), ("noise", noise), ("labels", labels)):
            tab.locator(f"input[name={name}]").fill(str(value))
        paired, apart = (closed_form(labels, shift, rho, 2.0**r, noise**2) for shift in (0, 0.5))
        words = f"{'save' if paired < apart else 'cost'} {100 * abs(paired / apart - 1):.0f}%"
        assert words in tab.locator(".answer").inner_text()
        said.add(words)
    assert len(said) > 3 and tab.locator(".chart svg[role=img]").count() == 2


# ---------------------------------------------------------------- you against the criteria

WORLD = """async ([seed, rho, labelled]) => {
    const {world, pehe, picks} = await import("/play/label.js"), about = world(seed, rho);
    const macal = picks(about, {name: "macal", alpha: 1}), qhte = picks(about, {name: "qhte"});
    return {...about, macal, qhte, errors: labelled.map(some => pehe(about, some))};
}"""


@pytest.mark.parametrize("seed, rho", [(1, 0.9), (2, 0.0), (3, -0.9)])
def test_errors_and_picks_of_a_world_are_the_packages(tab, seed, rho):
    chosen = [[], [3], list(range(0, 40, 2)), list(range(20))]
    found = tab.evaluate(WORLD, [seed, rho, chosen])
    x, t, mu = (np.array(found[name]) for name in ("x", "t", "mu"))
    for labelled, error in zip(chosen, found["errors"], strict=True):
        surfaces = np.zeros((2, len(x)))
        for arm in (0, 1):
            own = [i for i in labelled if t[i] == arm]
            if own:
                surfaces[arm] = pairing.ridge(pairing.matern32(0.35), 1e-3)(x, x[own]) @ mu[own, arm]
        assert error == pytest.approx(macal.metrics.pehe(surfaces[1] - surfaces[0], mu[:, 1] - mu[:, 0]), rel=1e-7)
    for name, parameters in (("macal", {"alpha": 1.0}), ("qhte", {})):
        assert found[name] == macal.plan(x, t, [], 1, 20, name, **parameters)[0].tolist()
    assert np.sign(np.corrcoef(mu.T)[0, 1]) == np.sign(rho) or rho == 0


@pytest.mark.exhaustive
def test_labels_are_bought_by_click_and_by_key(visit):
    tab = visit("algorithm")
    answer, units, pressed = (tab.locator(name) for name in (".play .answer", "[data-unit]", "[aria-pressed=true]"))
    expect(units).to_have_count(80)
    for k in range(3):
        tab.locator(f"[data-unit='{k}']").click(force=True)
    expect(answer).to_contain_text("3 of 20 labels")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Enter")
    assert pressed.count() in (2, 4)  # another unit, or one that had a label
    expect(answer).to_contain_text(f"{pressed.count()} of 20 labels")
    tab.get_by_role("button", name="undo").click()
    assert pressed.count() == 3
    tab.get_by_label("mark the selections of").select_option("macal")
    assert tab.locator(".ring").count() == 20
    for k in range(80):
        tab.locator(f"[data-unit='{k}']").dispatch_event("click")
    assert pressed.count() == 20
    tab.get_by_role("button", name="another scenario").click()
    assert pressed.count() == 0
