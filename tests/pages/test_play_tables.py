"""A table in the browser is what it is in the package: roles, covariates, people's names, the plan and its file."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import part_and_whole
from test_people import LATER, WEIGHTS, people, visits
from test_tables import random_table

from macal.__main__ import main
from macal.datasets.encoding import outliers
from macal.survey import Planner, record
from macal.survey.tables import frames, suspects
from macal.survey.tables.roles import read_as

CRITERIA = {"macal": {"alpha": 1.0}, "qhte": {}}
BUDGET, SIZE = 8, 3
READ = """async asked => {
    const {BadTable, read, write} = await import("/play/csv.js"), {Pool, plan} = await import("/play/planner.js");
    const {encode, guess, planned} = await import("/play/table.js");
    const whole = work => { for (;;) { const {done, value} = work.next(); if (done) return value; } };
    const made = ({csv, told, names, sizes}) => {
        const found = {};
        try {
            const columns = read(csv), guessed = guess(columns, columns.map(({name}) => told[name]));
            found.roles = columns.map(({name}, k) => [name, guessed[k].role, guessed[k].what]);
            const table = encode(columns, guessed.map(({role}) => role)), {ids, idName, x, t, labelled} = table;
            const planOf = name => plan(new Pool(x, t, labelled), {name, alpha: 1}, sizes);
            const files = names.map(name => write(planned(table, whole(planOf(name)))));
            return {...found, ids, idName, x: [...x], files, far: table.far};
        } catch (error) {
            if (!(error instanceof BadTable)) throw error;
            return {...found, refused: error.message};
        }
    };
    return JSON.stringify(JSON.parse(asked).map(made));
}"""


def told(treatment, said):
    """What is said of a table, as the menus of the page say it."""
    roles = {treatment: "treatment"} | dict.fromkeys(said.get("kinds", ()), "left out")
    return roles | ({said["identifier"]: "identifier"} if "identifier" in said else {})


def asked(text, treatment, said):
    sizes = [min(SIZE, BUDGET - k) for k in range(0, BUDGET, SIZE)]
    return {"csv": text, "told": told(treatment, said), "names": list(CRITERIA), "sizes": sizes}


def made(path, treatment, said):
    """The same by the package."""
    found = {}
    given = {"batch_size": SIZE} | said
    planners = [Planner(treatment, BUDGET, criterion=name, parameters=p, **given) for name, p in CRITERIA.items()]
    try:
        table = frames.read(path)
        columns = planners[0].campaign.columns
        roles = read_as(table, columns.hints())[1].shown(columns.named())
        found["roles"] = [[column, *roles.loc[column]] for column in table]
        plans = [planner.plan(table) for planner in planners]
    except ValueError as error:
        return found | {"refused": str(error)}
    people = planners[0].people
    numbers = {c: pd.to_numeric(people.table[c]) for c, kind in people.roles.kinds.items() if kind == "number"}
    far = {c: np.flatnonzero(outliers(column.to_numpy(float))).tolist() for c, column in numbers.items()}
    return found | {
        "ids": people.table.index.map(str).tolist(),
        "idName": people.table.index.name,
        "x": people.problem.pool.x.ravel().tolist(),
        "files": [frames.written(plan, path).decode() for plan in plans],
        "far": {c: units for c, units in far.items() if units},
    }


def differences(theirs, ours, said):
    """In what two answers differ."""
    if "roles" in ours:  # what is told has no reason that could be compared
        silent = [c for c, role, _ in ours["roles"] if role in ("treatment", "identifier") or c in said]
        shown = [[[c, role, what if c not in silent else ""] for c, role, what in x["roles"]] for x in (theirs, ours)]
        if shown[0] != shown[1]:
            return ["roles"]
    if "refused" in theirs or "refused" in ours:
        return [] if "refused" in theirs and "refused" in ours else ["refusal"]
    wrong = [part for part in ("ids", "idName", "files", "far") if theirs[part] != ours[part]]
    same = len(theirs["x"]) == len(ours["x"]) and np.allclose(theirs["x"], ours["x"], rtol=0, atol=1e-9)
    return wrong if same else [*wrong, "x"]


def compare(tab, tables, path):
    """Share of some tables that are planned; all of them as the package has them."""
    questions, answers = [], []
    for text, treatment, said in tables:
        path.write_bytes(text.encode())
        questions.append(asked(text, treatment, said))
        answers.append(made(path, treatment, said))
    found = json.loads(tab.evaluate(READ, json.dumps(questions)))
    for k, (theirs, ours) in enumerate(zip(found, answers, strict=True)):
        wrong = differences(theirs, ours, questions[k]["told"])
        assert not wrong, f"table {k}: {wrong}\n{theirs}\n{ours}\n{questions[k]}"
    return np.mean(["refused" not in ours for ours in answers])


@part_and_whole("seeds", range(4), range(75))
def test_a_file_of_the_package_is_read_alike(tab, unchecked, tmp_path, seeds):
    tables = []
    for seed in seeds:
        table, said = random_table(seed)
        kinds = {column: kind for column, kind in said.get("kinds", {}).items() if kind == "ignore"}
        named = {name: said[name] for name in ("identifier",) if said.get(name, "free") != "free"}
        tables.append((table.to_csv(index=False), "free", named | ({"kinds": kinds} if kinds else {})))
    assert compare(tab, tables, tmp_path / "people.csv") > 0.3


# ---------------------------------------------------------------- what people write into files

NUMBERS = ["1", "2.5", "-3", "1e3", " 7", "8 ", "+4", ".5", "6.", "1E-3", "-0", "00012", "1.0", "12345678901234567890"]
DATES = ["2020-01-01", "2020-02-29", "2019-12-31 12:30", "2021-05-06T07:08:09", "2020-01-01T12:30Z", "2020-01-01T1230"]
DATES += ["2020-01-01 12:30:15.5+05:30", "0001-01-01", "9999-12-31", "2020-01-01T00:30+02", "2020-01-01T23:30-0230"]
NO_DATES = ["2020-02-30", "2020-1-1", "2020-01-01T25", "20200101", "01/02/2020", "2020-01-01 ", "2020-01-01T1"]
WORDS = ["north", "south", "Éire", "west, far", 'a "b"', "x\ny", " lead", "NA ", "None!", "\u00a0", "ẞ", "𝔘", "ﬀ", "Z"]
LIKE = "5 kg|1 000|1/2|5 €|1.422,00 €|$5|5%|1,000|10-20|<5|5+|1/2/2020|3 May 2020|12:30|a1|18-30".split("|")
LIKE += "€ 7|1e5x|4434475 kr|Rs 500|1,23,456|12,34,567|1'234.50|1\u2019234|1\u202f234,5".split("|")
LIKE += "\u22125|(1,234)|+49 151 2345678".split("|")
GONE = ["", "NA", "nan", "N/A", "null", "None", "<NA>", "#N/A", "-nan", "n/a"]
TRUTH = ["True", "False", "TRUE", "false"]
FORMS = ["u{}", "a b {}", "{}", "{}.0", "-{}", "+{}", "{:06d}", "{:023d}"]
ARMS = [("0", "1")] * 8 + [("False", "True"), ("FALSE", "true"), ("0.0", "1.0"), ("00", "01"), ("0", "1e0")]
ARMS += [("0", "True"), (" 0", "1"), ("tRUE", "False"), ("no", "yes"), ("0", "2")]
HEADS = ["age", "id", "row", "row number", "a_person", "unit-name", "", "x,y", "KEYS", "a\nb", "naïve", "row.id"]


def cells(rng, n):
    """A column of n texts."""

    def some(texts):
        return [texts[k] for k in rng.integers(len(texts), size=n)]

    def with_one(texts, other):
        return [*some(texts)[1:], other[rng.integers(len(other))]]

    form = FORMS[rng.integers(len(FORMS))]
    kinds = [
        lambda: some(NUMBERS[: rng.integers(1, 15)]),
        lambda: some(DATES[: rng.integers(1, 12)]),
        lambda: with_one(DATES, NO_DATES),
        lambda: some(WORDS[: rng.integers(1, 15)]),
        lambda: some(LIKE[rng.integers(14) :]),
        lambda: some([LIKE[k] for k in rng.permutation(len(LIKE))[:4]]),
        lambda: some(TRUTH[: rng.integers(1, 5)]),
        lambda: [repr(v) for v in (rng.normal(size=n) * 10.0 ** rng.integers(-320, 308)).tolist()],
        lambda: [str(2**53 - 4 + k) for k in rng.integers(1 + 7 * rng.integers(2), size=n)],
        lambda: [form.format(k) for k in rng.permutation(n).tolist()],
        lambda: with_one(["2"], ["inf", "-Infinity", "1e999", "3"]),
        lambda: with_one(NUMBERS, GONE),
        lambda: with_one(WORDS, GONE),
        lambda: some([f"w{k}" for k in range(rng.integers(1, 130))]),
        lambda: rng.integers(0, 50, n).astype(str).tolist(),
        lambda: [f"{k:05d}" for k in rng.integers(0, 30000, n).tolist()],
        lambda: some(["1.200", "950", "12.000"]),
        lambda: some(["1,200", "950", "12,000"]),
        lambda: some(["2,5", "10,25", "1.200"]),
        lambda: some(["1'234.50", "12", "1'234'567", "\u22125"][: rng.integers(2, 5)]),
        lambda: some(["1,23,456", "12,345", "950"]),
        lambda: [f"+49151{k:07d}" for k in rng.integers(0, 10**7, n).tolist()],
        lambda: some(["None", "primary", "1-2 years", "NA"]),
        lambda: some(["NA", "ZA", "BW", "None"][: rng.integers(2, 5)]),
    ]
    return kinds[rng.integers(len(kinds))]()


def field(rng, text):
    quoted = any(c in text for c in ',"\r\n') or rng.random() < 0.05
    return '"{}"'.format(text.replace('"', '""')) if quoted else text


def written(seed):
    """A file as somebody may have written it, the treatment, and what is said of it."""
    rng = np.random.default_rng(seed)
    n, heads = int(rng.integers(8, 140)), list(rng.permutation(HEADS))
    arms = ARMS[rng.integers(len(ARMS))]
    columns = [("free", [arms[k] for k in rng.permutation(np.arange(n) % 2)])]
    columns += [(str(heads.pop()), cells(rng, n)) for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.3:
        columns.append(("again", columns[rng.integers(len(columns))][1]))
    columns = [columns[k] for k in rng.permutation(len(columns))]
    rows = [[name for name, _ in columns], *([texts[k] for _, texts in columns] for k in range(n))]
    lines = [",".join(field(rng, text) for text in row) for row in rows]
    lines[1:1] = [["", "  ", "\t"][rng.integers(3)]] * int(rng.random() < 0.2)
    lines[:0] = ["sep=,"] * int(seed % 7 == 3)
    text = "\ufeff" * int(rng.random() < 0.1) + ["\n", "\r\n"][rng.integers(2)].join([*lines, ""])
    names = [name or f"Unnamed: {k}" for k, (name, _) in enumerate(columns)]
    others = [name for name in names if name != "free"]
    said = {"identifier": others[0]} if rng.random() < 0.1 else {}
    kinds = {name: "ignore" for name in others[1:] if rng.random() < 0.1}
    return text, "free", said | ({"kinds": kinds} if kinds else {})


@part_and_whole("seeds", range(14), range(75))
def test_whatever_is_written_is_read_alike(tab, unchecked, tmp_path, seeds):
    assert compare(tab, [written(seed) for seed in seeds], tmp_path / "people.csv") > 0.2


def doubtful():
    """Files that are refused, by what is wrong with them, and what words of the page say it."""
    table, pt = people(), visits("pt", times=3)
    body = table.to_csv(index=False)
    late = table.assign(enrolled=np.where(table["free"] == 1, "2024-01-05", ""))
    ids = ",".join(f'"{{""ImportId"":""Q{k}""}}"' for k in range(5))
    return {
        "two heads": (body.replace("\n", f"\nWho?,In?,Age?,Income?,Region\n{ids}\n", 1), "two lines"),
        "units": (body.replace("\n", "\ncode,0/1,years,EUR,name\n", 1).replace("0/1", "yes or no"), "line below"),
        "visits": (visits("record_id").to_csv(index=False), "one row of each"),
        "pt": (pt.to_csv(index=False), "one row of each"),
        "one arm": (late.to_csv(index=False), "One arm alone lacks"),
        "money": (table.assign(income=[f"{k} kr" for k in range(1000, 1120)]).to_csv(index=False), "kr"),
    }


@pytest.mark.parametrize("case", doubtful())
def test_what_is_doubtful_in_a_file_is_refused_by_both(tab, tmp_path, case):
    text, words = doubtful()[case]
    assert compare(tab, [(text, "free", {})], tmp_path / "people.csv") == 0
    (found,) = json.loads(tab.evaluate(READ, json.dumps([asked(text, "free", {})])))
    assert words in found["refused"]


def test_spellings_of_one_value_are_seen(tab):
    values = [*(["north", "North ", "NORTH", "south"] * 9), "", "South"]
    found = tab.evaluate(
        """async values => {
            const {spelt} = await import("/play/table.js"), numbers = values.map((_, k) => String(k));
            return spelt([{name: "region", values}, {name: "age", values: numbers}], ["covariate", "covariate"]);
        }""",
        values,
    )
    assert found == [["region", ["NORTH", "North ", "north"]]]


def test_names_give_away_the_same(tab):
    heads = [*LATER, *WEIGHTS, "weight", "Weight"]
    columns = [{"name": name, "values": ["1", "2", "3"]} for name in heads]
    later, weights = tab.evaluate(
        """async columns => {
            const {mayBeLater, mayBeWeights} = await import("/play/table.js"), roles = columns.map(() => "covariate");
            return [mayBeLater(columns, roles), mayBeWeights(columns, roles)];
        }""",
        columns,
    )
    assert later == suspects.later(heads)
    assert weights == suspects.weights(pd.DataFrame(dict.fromkeys(heads, [1.0, 2, 3])), heads)


# ---------------------------------------------------------------- the plan's file


@pytest.mark.parametrize("form", ["{:05d}", "{}", None])
def test_answers_to_a_plan_are_taken_into_a_campaign(tab, here, form):
    names = {"id": [form.format(10**22 * (k % 3) + k) for k in range(60)]} if form else {}
    people = pd.DataFrame(names | {"free": np.arange(60) % 2, "age": np.random.default_rng(5).normal(size=60)})
    people.to_csv("people.csv", index=False)
    plan = f"plan people.csv --treatment free --budget {BUDGET} --batch-size {SIZE} --criterion macal"
    assert main([*plan.split(), *"--parameter alpha=1.0 --campaign campaign.json -o plan.csv".split()]) == 0
    question = asked(people.to_csv(index=False), "free", {}) | {"names": ["macal"]}
    [found] = json.loads(tab.evaluate(READ, json.dumps([question])))
    column = [line.split(",")[0] for line in found["files"][0].splitlines()]
    answers = [f"{column[0]},y", *(f"{name},{k}" for k, name in enumerate(column[1:4]))]
    (here / "answers.csv").write_text("\n".join(answers))
    assert main(["observe", "campaign.json", "people.csv", "answers.csv"]) == 0
    assert len(record.read(here / "campaign.json")["answers"]) == 3


# ---------------------------------------------------------------- a draw for the average effect

DRAW = """async asked => {
    const {drawn, forecast} = await import("/play/draw.js"), {BadTable, read} = await import("/play/csv.js");
    const {encode, guess, planned} = await import("/play/table.js");
    return asked.map(({csv, told, ...plan}) => {
        const columns = read(csv), roles = guess(columns, columns.map(({name}) => told[name])).map(({role}) => role);
        try {
            const table = encode(columns, roles), work = drawn(table, plan);
            for (;;) {
                const {done, value} = work.next();
                if (!done) continue;
                const rows = planned(table, value.batches, value.chances);
                return {chances: [...value.chances], rows, ...forecast(table, value)};
            }
        } catch (error) {
            if (!(error instanceof BadTable)) throw error;
            return {refused: error.message};
        }
    });
}"""


def confounded(seed):
    """A table whose arms differ, with numbers far off, categories, costs, known outcomes; and a budget."""
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(30, 500))
    table = pd.DataFrame({"id": rng.permutation(n), "age": rng.integers(18, 90, n), "income": rng.lognormal(8, 2, n)})
    table["region"], table["rare"] = rng.choice(["north", "south", "west"], n), (rng.random(n) < 0.03).astype(int)
    score = rng.normal(0, 3, 2) @ [table["age"] / 90, table["region"] == "north"] + rng.normal(-1, 1)
    table["free"] = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    table["fee"] = [np.ones(n), rng.integers(2, 9, n), rng.uniform(1, 5, n).round(2)][seed % 3]
    if seed % 4 == 1:
        table["y"] = np.where(rng.random(n) < 0.2, rng.normal(size=n), np.nan)
    return table, float(np.round(rng.uniform(0.05, 0.9) * table["fee"].sum(), 1))


@part_and_whole("seeds", range(8), range(50))
def test_a_draw_has_the_packages_chances_and_people(tab, unchecked, tmp_path, seeds):
    questions, answers = [], []
    for seed in seeds:
        table, budget = confounded(seed)
        roles = {"fee": "cost", "free": "treatment", "id": "identifier"} | ({"y": "outcome"} if "y" in table else {})
        table.to_csv(tmp_path / "people.csv", index=False)
        given = {"outcome": "y"} if "y" in table else {}
        if seed % 4 == 2:
            given, roles = given | {"proxies": ["region"]}, roles | {"region": "proxy"}
        planner = Planner("free", budget, cost="fee", identifier="id", seed=seed, batch_size=7, **given)
        try:
            plan = planner.plan(frames.read(tmp_path / "people.csv"))
            expected = None if "y" in table else planner.forecast()  # of known outcomes s.d. are taken, not 1
            answers.append((planner.campaign.design.chances, plan.reset_index(), expected))
        except ValueError as error:
            answers.append(str(error))
        question = {"csv": (tmp_path / "people.csv").read_text(), "told": roles, "budget": budget}
        questions.append(question | {"size": 7, "seed": seed})
    found, drawn = tab.evaluate(DRAW, questions), 0
    for theirs, ours in zip(found, answers, strict=True):
        assert ("refused" in theirs) == isinstance(ours, str), (theirs, ours)
        if isinstance(ours, str):
            continue
        chances, plan, expected = ours
        np.testing.assert_allclose(theirs["chances"], chances, rtol=0, atol=1e-7)
        heads, *rows = theirs["rows"]
        pd.testing.assert_frame_equal(pd.DataFrame(rows, columns=heads).astype(float), plan.astype(float), rtol=1e-6)
        if expected is not None:
            assert theirs["width"] == pytest.approx(expected.width, rel=1e-3)
            drawn += 1
    assert drawn >= len(seeds) / 3
