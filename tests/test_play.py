"""What the book's things to play with compute, in a real browser, against the package."""

import json
import re
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import exhaustive, part_and_whole
from playwright.sync_api import expect

import macal
from macal import comparison, results
from macal.acquisition import PoolState, get, plan_batches
from macal.planner.demands import at_most
from macal.planner.greedy import GreedyPlan
from macal.plots import style
from macal.tables import frames
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
        tab.goto(f"/page.html{fragment}", wait_until="networkidle")
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


@part_and_whole("n", 8, 200)
@pytest.mark.parametrize("name", ["alc-fixed", "macal", "qhte", "random"])
def test_plans_in_the_browser_are_the_packages(tab, unchecked, name, n):
    asked, expected = [], []
    for seed in range(n):
        x, t, labelled, n_queries, batch_size, alpha = pool(seed)
        if name == "macal":
            plan = macal.plan(x, t, labelled, n_queries, batch_size, "macal", alpha=alpha)
        else:
            plan = plan_batches(get(name), x, t, labelled, n_queries, batch_size, seed)
        expected.append([batch.tolist() for batch in plan])
        case = {"x": x.tolist(), "t": t.tolist(), "labelled": list(map(int, labelled))}
        asked.append(case | {"sizes": [batch_size] * n_queries, "name": name, "alpha": alpha, "seed": seed})
    found = tab.evaluate(PLAN, asked)
    wrong = [seed for seed in range(n) if found[seed] != expected[seed]]
    assert not wrong, f"pools {wrong[:5]}: {found[wrong[0]]}, not {expected[wrong[0]]}"
    assert sum(map(len, expected)) > 2 * n


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


@part_and_whole("n", 10, 300)
@pytest.mark.parametrize("name", ["alc-fixed", "macal", "qhte", "random"])
def test_plans_for_money_in_the_browser_are_the_packages(tab, unchecked, name, n):
    asked, expected = [], []
    for seed in range(n):
        x, t, labelled, _, size, alpha = pool(seed)
        cost, budget = prices(seed, len(t))
        state = PoolState(x, t, np.array(labelled, np.int64), np.random.default_rng(seed))
        free = np.setdiff1d(np.arange(len(t)), labelled)
        demand = at_most("money", np.where(np.isin(np.arange(len(t)), free), cost, 0.0), budget)
        alone, nobody = np.full(len(t), -1), np.empty(0, np.int64)
        rule = get(name, **({"alpha": alpha} if name == "macal" else {}))
        task = GreedyPlan(rule, state, [demand], cost, cost / cost.min(), alone, nobody, size, None)
        expected.append([batch.tolist() for batch in task.rounds().filled])
        case = {"x": x.tolist(), "t": t.tolist(), "labelled": list(map(int, labelled)), "cost": cost.tolist()}
        asked.append(case | {"budget": budget, "size": size, "name": name, "alpha": alpha, "seed": seed})
    found = tab.evaluate(MONEY, asked)
    wrong = [seed for seed in range(n) if found[seed] != expected[seed]]
    assert not wrong, f"pools {wrong}: {found[wrong[0]]}, not {expected[wrong[0]]}"
    assert sum(map(len, expected)) > 2 * n


def test_a_design_of_many_people_has_the_packages_targets(tab):
    """Beyond 1,000 people targets are drawn by hashes; some are alike, and some values are whole."""
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=(1500, 3)), 1) * [1, 1, -1]
    t, labelled = rng.integers(0, 2, 1500), list(range(20))
    case = {"x": x.tolist(), "t": t.tolist(), "labelled": labelled, "sizes": [10, 10], "name": "alc-fixed"}
    expected = macal.plan(x, t, labelled, 2, 10, "alc-fixed")
    assert tab.evaluate(PLAN, [case]) == [[batch.tolist() for batch in expected]]


@pytest.mark.parametrize("n, size", [(10_001, 201), (10_001, 200), (40_000, 30)])
def test_draws_without_replacement_are_numpys(tab, n, size):
    draw = """async ([n, size]) => {
        const generator = new (await import("/play/pcg64.js")).Generator(7);
        return [generator.choice(n, size), generator.choice(n, 3)];
    }"""
    rng = np.random.default_rng(7)
    assert tab.evaluate(draw, [n, size]) == [rng.choice(n, k, replace=False).tolist() for k in (size, 3)]


# ---------------------------------------------------------------- plan my survey


@pytest.fixture
def people():
    """A table with numbers, categories, truth values, a constant, and some known outcomes."""
    rng = np.random.default_rng(3)
    n = 211
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(8, 1, n),
            "region": rng.choice(["north", "south", "Éire", "west, far"], n),
            "insured": rng.random(n) < 0.3,
            "wave": 7,
            "free": rng.integers(0, 2, n),
            "y": np.where(np.arange(n) % 20, np.nan, rng.normal(size=n)),
        },
        index=pd.Index([f"p-{k}" for k in range(n)], name="person"),
    )
    return table


COVARIATES = ["age", "income", "region", "insured"]


def test_encoding_is_the_packages_to_the_bit(tab, people):
    encode = """async ([csv, roles]) => {
        const {read} = await import("/play/csv.js"), {encode} = await import("/play/table.js");
        const {x, t, labelled} = encode(read(csv), roles);
        return {x: [...x], t: [...t], labelled};
    }"""
    problem = macal.datasets.from_table(people.sort_index(), COVARIATES, "free", "y")
    roles = ["identifier", *["covariate"] * 4, "left out", "treatment", "outcome"]
    found = tab.evaluate(encode, [people.to_csv(), roles])
    assert np.array_equal(np.reshape(found["x"], (len(people), -1)), problem.pool.x)
    assert found["t"] == problem.pool.t.tolist() and found["labelled"] == problem.start.tolist()


def choose(tab, csv, name="people.csv"):
    tab.get_by_label("choose a file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": csv.encode()})
    tab.locator(".problem:not(:empty), [data-at=settings]:not([hidden])").first.wait_for()


def test_a_file_becomes_the_plan_of_the_command(visit, people, tmp_path):
    tab = visit("plan_my_survey")
    choose(tab, people.to_csv())
    roles = ["identifier", *["covariate"] * 4, "left out", "treatment", "outcome"]
    for column, role in zip(["person", *people], roles, strict=True):
        assert tab.get_by_label(f"role of {column}").input_value() == role
    tab.get_by_label("people to ask").fill("52")
    tab.get_by_label("per round").fill("9")
    tab.get_by_label("weight of similarity").fill("0.75")
    tab.get_by_label("seed").fill("11")
    tab.get_by_role("button", name="Plan", exact=True).click()
    tab.get_by_role("button", name="Download").wait_for()
    people.to_csv(tmp_path / "people.csv")
    for name, parameters in (("alc-fixed", {}), ("macal", {"alpha": 0.75}), ("qhte", {}), ("random", {})):
        tab.locator(f"input[value={name}]").check()
        with tab.expect_download() as download:
            tab.get_by_role("button", name="Download").click()
        download.value.save_as(tmp_path / "plan.csv")
        planner = macal.Planner("free", 52, outcome="y", criterion=name, parameters=parameters, batch_size=9, seed=11)
        expected = planner.plan(frames.read(tmp_path / "people.csv"))
        assert (tmp_path / "plan.csv").read_bytes() == frames.written(expected, tmp_path / "plan.csv")
        treated = int(expected.free.sum())
        assert f"asks 52 people in 6 rounds: {treated} treated and {52 - treated} controls" in tab.inner_text(".answer")
    assert tab.locator(".chart svg[role=img]").count() == 3


@pytest.mark.exhaustive
def test_money_and_a_column_of_costs_become_the_plan_of_the_command(visit, people, tmp_path):
    tab = visit("plan_my_survey")
    fees = np.random.default_rng(0).integers(4, 30, len(people)) / 4
    people = people.assign(fee=fees).drop(columns="wave")
    choose(tab, people.to_csv())
    tab.get_by_label("role of fee").select_option("cost")
    plan = tab.get_by_role("button", name="Plan", exact=True)
    plan.click()
    tab.get_by_role("alert").get_by_text("needs a budget").wait_for(timeout=5000)
    tab.get_by_label("budget").fill("0.5")
    plan.click()
    tab.get_by_role("alert").get_by_text("buys nobody: the cheapest person costs 1").wait_for(timeout=5000)
    people.to_csv(tmp_path / "people.csv")
    known = people["y"].notna().to_numpy()

    def holds(cost):
        for name in ("alc-fixed", "macal", "qhte", "random"):
            tab.locator(f"input[value={name}]").check()
            with tab.expect_download() as download:
                tab.get_by_role("button", name="Download").click()
            parameters = {"alpha": 1.0} if name == "macal" else {}
            planner = macal.Planner(
                "free", 101.5, outcome="y", cost=cost, criterion=name, parameters=parameters, covariates=covariates
            )
            expected = planner.plan(frames.read(tmp_path / "people.csv"))
            assert download.value.path().read_bytes() == frames.written(expected, tmp_path / "plan.csv")
            assert 0 < expected["cost"].sum() <= 101.5 and not known[people.index.get_indexer(expected.index)].any()
            assert "of the budget of" in tab.inner_text(".answer")

    covariates = COVARIATES
    tab.get_by_label("budget").fill("101.5")
    plan.click()
    tab.get_by_role("button", name="Download").wait_for()
    holds("fee")
    tab.get_by_label("role of fee").select_option("left out")
    tab.get_by_label("cost per person").fill("2.5")
    plan.click()
    tab.get_by_role("button", name="Download").wait_for()
    holds(2.5)


TWO = "id,code,age,free\n" + "".join(f"{k},{k:05d},{20 + k * k},{k % 2}\n" for k in range(1, 13))


@pytest.mark.exhaustive
@pytest.mark.parametrize("column, role", [("code", "identifier"), exhaustive("id", "left out"), ("id", "covariate")])
def test_two_columns_that_may_name_people_are_asked_about(visit, column, role, tmp_path):
    tab = visit("plan_my_survey")
    choose(tab, TWO)
    question = tab.get_by_role("alert").get_by_text('"id" and "code" both may name people')
    question.wait_for()
    tab.get_by_role("button", name="Plan", exact=True).click()
    question.wait_for()
    assert not tab.get_by_role("button", name="Download").is_visible()
    tab.get_by_label(f"role of {column}").select_option(role)
    expect(tab.get_by_role("alert")).to_be_empty()
    roles = {"id": role if column == "id" else "left out", "code": "identifier", "age": "covariate"}
    assert {name: tab.get_by_label(f"role of {name}").input_value() for name in roles} == roles
    tab.get_by_label("people to ask").fill("5")
    tab.get_by_role("button", name="Plan", exact=True).click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download").click()
    table = frames.read(_kept(tmp_path / "people.csv", TWO))
    covariates = [name for name in roles if roles[name] == "covariate"]
    planner = macal.Planner("free", 5, identifier="code", covariates=covariates)
    assert download.value.path().read_bytes() == frames.written(planner.plan(table), tmp_path / "plan.csv")


def _kept(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "content, said",
    [
        (json.dumps({"format": "macal campaign", "version": 9}, indent=1).encode(), "The page knows no campaigns"),
        exhaustive(b"PAR1\x15\x04\x15\x90\xff", "not text in UTF-8"),
        exhaustive("id,name\n1,Zoë\n".encode("latin1"), "not text in UTF-8"),
    ],
)
def test_a_file_that_is_no_table_is_refused(visit, content, said):
    tab = visit("plan_my_survey")
    file = {"name": "campaign.json", "mimeType": "application/json", "buffer": content}
    tab.get_by_label("choose a file").set_input_files(file)
    tab.get_by_role("alert").get_by_text(said).wait_for(timeout=5000)
    assert not tab.get_by_role("button", name="Plan", exact=True).is_visible()


GOOD = "id,age,bmi,free\n1,30,20,0\n2,40,22,1\n3,50,25,0\n4,61,31,1\n"


@pytest.mark.parametrize(
    "csv, said",
    [
        exhaustive("", "no rows"),
        exhaustive("id,age,free\n", "no rows"),
        exhaustive("id,age,age\n1,2,3\n", 'Two columns are called "age"'),
        exhaustive("id,age,free\n1,30,0\n2,40\n", "Line 3 has 2 fields"),
        exhaustive('id,age,free\n1,"30,0\n', "quotation mark"),
        (GOOD.replace("40", ""), '"age" is missing in 1 of 4 rows, first in row 2'),
        exhaustive(GOOD.replace("40", "NA"), '"age" is missing in 1 of 4 rows'),
        exhaustive(GOOD.replace("40", "forty"), '"age" holds numbers or dates, but also "forty"'),
        exhaustive(GOOD.replace("1\n", "0\n"), "No columns are the treatment"),
        exhaustive(GOOD.replace("40", "1e999"), "too large"),
        exhaustive("age,free\n30,0\n30,1\n", "No column is left to compare"),
        exhaustive(GOOD.replace("age", "round"), '"round" is what a column of the plan is called'),
        (re.sub(r"\d\d,(\d)\n", r"25,\1\n", GOOD), '"bmi" cannot be a covariate: constant'),
        exhaustive("age,free,y\n30,0,1\n31,1,2\n", "nobody is left to ask"),
    ],
)
def test_a_bad_table_ends_in_a_sentence(visit, csv, said):
    tab = visit("plan_my_survey")
    choose(tab, csv)
    plan = tab.get_by_role("button", name="Plan", exact=True)
    if plan.is_visible():
        if said.startswith('"age" holds'):
            tab.get_by_label("role of age").select_option("covariate")
        if said.startswith('"bmi"'):
            tab.get_by_label("role of bmi").select_option("covariate")
        if said.startswith('"round"'):
            tab.get_by_label("role of round").select_option("identifier")
            tab.get_by_label("role of id").select_option("left out")
        plan.click()
    tab.get_by_role("alert").get_by_text(said).wait_for(timeout=5000)
    assert not tab.get_by_role("button", name="Download").is_visible()
    choose(tab, GOOD)
    expect(tab.get_by_role("alert")).to_be_empty()


@pytest.mark.parametrize(
    "field, value, said",
    [
        exhaustive("role of free", "covariate", "No columns are the treatment"),
        exhaustive("role of age", "treatment", "2 columns are the treatment"),
        exhaustive("role of id", "treatment", "2 columns are the treatment"),
        exhaustive("role of age", "identifier", "2 columns are the identifier"),
        ("people to ask", "5", "from 1 to 4"),
        exhaustive("people to ask", "", "from 1 to 4"),
        exhaustive("per round", "0", "The number per round"),
        exhaustive("weight", "-1", "weight must be a number from 0"),
        exhaustive("seed", "1.5", "The seed must be a whole number"),
        exhaustive("budget", "-2", "The budget must be a number above 0"),
        exhaustive("role of age", "cost", "needs a budget"),
    ],
)
def test_bad_settings_end_in_a_sentence(visit, field, value, said):
    tab = visit("plan_my_survey")
    choose(tab, GOOD)
    tab.get_by_label("people to ask").fill("2")
    control = tab.get_by_label(field)
    control.select_option(value) if field.startswith("role") else control.fill(value)
    tab.get_by_role("button", name="Plan", exact=True).click()
    tab.get_by_role("alert").get_by_text(said).wait_for(timeout=5000)


@pytest.mark.parametrize(
    "csv, said",
    [
        exhaustive(GOOD.replace(",1\n", ",2\n"), 'must be 0 or 1, and row 2 holds "2"'),
        ("id,age,free\n1,3,0\n2,4,0\n", "are controls"),
    ],
)
def test_one_arm_and_a_wrong_treatment_are_named(visit, csv, said):
    tab = visit("plan_my_survey")
    choose(tab, csv)
    tab.get_by_label("role of free").select_option("treatment")
    tab.get_by_role("button", name="Plan", exact=True).click()
    tab.get_by_role("alert").get_by_text(said).wait_for(timeout=5000)


@pytest.mark.exhaustive
def test_a_long_plan_lives_and_can_be_stopped(visit):
    tab = visit("plan_my_survey")
    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.normal(size=(3000, 20)).round(3), columns=[f"x{k}" for k in range(20)])
    choose(tab, many.assign(treated=np.arange(3000) % 2).to_csv(index=False))
    tab.get_by_label("people to ask").fill("1000")
    tab.get_by_role("button", name="Plan", exact=True).click()
    tab.get_by_role("button", name="stop").click(timeout=10_000)
    assert not tab.get_by_role("progressbar").is_visible()
    assert not tab.get_by_role("button", name="Download").is_visible()


# ---------------------------------------------------------------- the results, to explore


def test_errors_are_those_of_the_summary():
    table = results.load("ihdp_t")
    found = explorer.errors(table)
    for size in table["labelled"].unique().tolist():
        expected = comparison.summary(table, size)
        there = found.xs(size, level="labelled").loc[expected.index]
        assert np.array_equal(there["n"], expected["replications"])
        columns = {"pehe": there["pehe"], "log_ratio": there["log_ratio"]}
        columns["low"] = there["log_ratio"] - there["log_ratio_half"]
        columns["high"] = there["log_ratio"] + there["log_ratio_half"]
        mean = expected.rename(columns={"mean": "pehe"})[list(columns)]
        pd.testing.assert_frame_equal(pd.DataFrame(columns), mean, rtol=1e-9, check_names=False)


def test_replications_without_random_and_single_ones_are_told_apart():
    rows = [("random", 0, 2.0), ("macal", 0, 1.0), ("macal", 1, 9.0)]
    table = pd.DataFrame(rows, columns=["method", "replication", "pehe"]).assign(labelled=50)
    found = explorer.errors(table)
    assert found.loc[("macal", 50), "n"] == 1 and found.loc[("macal", 50), "log_ratio"] == np.log(0.5)
    assert found[["pehe_half", "log_ratio_half"]].isna().all(axis=None)


@pytest.mark.exhaustive
def test_what_is_explored_is_the_same_twice():
    assert explorer.page() == recorded()


@pytest.mark.exhaustive
def test_what_is_explored_is_small():
    assert len(recorded()) < 300_000
    shown = json.loads(recorded())
    names = {panel["table"] for panel in shown["panels"]}
    assert {"ihdp_due", "ibm_due", "cmnist_due", "ihdp_gp", "toy", "bench_ihdp"} <= names
    assert not [label for *_, label in shown["styles"].values() if re.search(r"[a-z]-[0-9a-z]", label)]


def per_cent(log_ratio):
    value = 100 * np.expm1(log_ratio)
    return f"{value:+.{0 if abs(value) >= 9.95 else 1}f} %".replace("-", "−")


@pytest.mark.exhaustive
def test_explored_numbers_are_the_recorded_ones(visit):
    tab = visit("explorer")
    tab.get_by_label("data").select_option("IHDP")
    tab.get_by_label("estimator").select_option("T-learner")
    tab.locator("select[name=size]").select_option("130")
    found = explorer.errors(results.load("ihdp_t")).xs(130, level="labelled")
    for method, row in found.drop("random").iterrows():
        cells = tab.get_by_role("row", name=re.compile(f"^{style(method).label} ")).inner_text().split("\t")
        assert cells[1:3] == [f"{row['n']:.0f}", per_cent(row["log_ratio"])]
    assert tab.locator(".chart .line").count() == 2 * 2 and tab.locator(".chart .band").count() == 2
    tab.get_by_role("radio", name="PEHE").check()
    cells = tab.get_by_role("row", name=re.compile("^MACAL ")).inner_text().split("\t")
    assert float(cells[2]) == float(f"{found.loc['macal', 'pehe']:.3g}")
    for box in tab.get_by_role("checkbox").all():
        box.check()
    assert tab.locator(".chart .band").count() == 0


@pytest.mark.exhaustive
def test_criteria_are_ranked_among_those_of_as_many_replications(visit):
    tab = visit("explorer")
    tab.get_by_label("data").select_option("IBM")
    tab.get_by_label("estimator").select_option("deep kernel, as written")
    tab.locator("select[name=size]").select_option("850")
    tab.get_by_role("radio", name="PEHE").check()
    rows = [row.inner_text().split("\t") for row in tab.locator("tbody tr").all()]
    ranked = [(-int(n), float(pehe)) for _, n, pehe, _ in rows]
    counts = [n for n, _ in ranked]
    assert ranked == sorted(ranked) and len({*counts}) == 1 + tab.locator("tr.apart").count() > 1
    assert all(re.search(r", n \d", name) for name in tab.locator(".key li").all_inner_texts())


@pytest.mark.exhaustive
def test_what_is_explored_has_an_address(visit):
    tab = visit("explorer")
    assert tab.get_by_role("checkbox", name=style("alc-fixed").label).is_checked()
    tab.get_by_label("data").select_option("toy")
    tab.get_by_label("estimator").select_option("exact GP per arm, Figure 1")
    tab.get_by_role("radio", name="PEHE").check()
    tab.get_by_role("checkbox", name="Symmetry").check()
    fragment = tab.evaluate("location.hash")
    again = visit("explorer", fragment)
    assert again.get_by_label("data").input_value() == "toy" and again.get_by_role("radio", name="PEHE").is_checked()
    assert again.get_by_role("checkbox", name="Symmetry").is_checked()
    assert again.locator(".chart").inner_html() == tab.locator(".chart").inner_html()
    nonsense = visit("explorer", "#data=moon&by=guess&show=nobody")
    assert (
        nonsense.get_by_label("data").input_value() == "IHDP" and nonsense.locator(".chart svg[role=img]").count() == 1
    )


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


def test_error_of_a_design_is_the_theorys(tab):
    cases = list(product((3, 9, 25), (0.0, 0.2, 0.5), (-1.0, 0.6), (0.125, 4.0), (0.0, 0.01, 1.0)))
    compute = "async cases => (m => cases.map(c => m.error(...c)))(await import('/play/pairs.js'))"
    found, expected = tab.evaluate(compute, cases), [closed_form(*case) for case in cases]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_pairs_of_surfaces_that_share_nothing_are_worth_nothing(tab):
    compute = "async cases => (m => cases.map(c => m.error(...c)))(await import('/play/pairs.js'))"
    cases = [(n, shift, 0, r, v) for n, r, v in product((3, 10, 25), (0.125, 1, 4), (0, 0.01, 1)) for shift in (0, 0.5)]
    paired, apart = np.reshape(tab.evaluate(compute, cases), (-1, 2)).T
    np.testing.assert_allclose(paired, apart, rtol=1e-9)


@pytest.mark.exhaustive
def test_sliders_change_the_answer(visit):
    tab = visit("pairing")
    said = set()
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
        change = 100 * (paired / apart - 1)
        words = f"Pairs {'save' if change < 0 else 'cost'} {abs(change):.0f} %"
        assert tab.locator(".answer").inner_text().startswith(words)
        said.add(words)
    assert len(said) > 3 and tab.locator(".chart svg[role=img]").count() == 2
    tab.locator("input[name=rho]").fill("0")
    even = "less than half a per cent here; they pay where the correlation is above 0.00."
    expect(tab.locator(".answer")).to_have_text(f"Pairs change the squared error by {even}")


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
    assert found["macal"] == macal.plan(x, t, [], n_queries=1, batch_size=20, alpha=1.0, criterion="macal")[0].tolist()
    assert found["qhte"] == plan_batches(get("qhte"), x, t, [], n_queries=1, batch_size=20)[0].tolist()
    assert np.sign(np.corrcoef(mu.T)[0, 1]) == np.sign(rho) or rho == 0


def test_labels_are_bought_by_click_and_by_key(visit):
    tab = visit("algorithm")
    answer = tab.locator(".answer")
    units = tab.locator("[data-unit]")
    expect(units).to_have_count(80)
    assert answer.inner_text().startswith("0 of 20 labels")
    for k in range(3):
        tab.locator(f"[data-unit='{k}']").click()
    expect(answer).to_contain_text("3 of 20 labels")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Enter")
    pressed = tab.locator("[aria-pressed=true]")
    assert pressed.count() in (2, 4)  # another unit, or one that had a label
    expect(answer).to_contain_text(f"{pressed.count()} of 20 labels")
    tab.get_by_role("button", name="undo").click()
    before = answer.inner_text()
    tab.get_by_label("ring the picks of").select_option("macal")
    assert tab.locator(".ring").count() == 20 and answer.inner_text() == before
    for k in range(80):
        tab.locator(f"[data-unit='{k}']").dispatch_event("click")
    assert pressed.count() == 20
    tab.get_by_role("button", name="another world").click()
    assert answer.inner_text().startswith("0 of 20 labels")
