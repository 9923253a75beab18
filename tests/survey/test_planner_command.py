"""The planner's commands and its campaign file: tables in and out, answers, stops, and files that are wrong."""

import io
import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import exhaustive, part_and_whole
from test_planner import make_people

from macal import Planner
from macal.__main__ import main
from macal.survey import record
from reproduction.book import ROOT

PAGE = (ROOT / "book" / "plan_my_survey.md").read_text(encoding="utf-8")
SITUATIONS = re.search(r"\(sec-situations\)=.*?\n```{table}.*?\n```\n", PAGE, re.DOTALL)[0]


@pytest.fixture
def folder(here):
    make_people().to_csv("people.csv", index=False)
    return here


def plan(*more, table="people.csv", output="plan.csv"):
    return main(["plan", table, "--treatment", "free", "--budget", "300", "-o", output, *more])


def test_from_a_csv_to_a_plan(folder, capsys):
    assert plan("--cost", "fee", "--quota", "region>=5", "--batch-size", "6") == 0
    table, said = pd.read_csv("plan.csv"), capsys.readouterr().out
    assert table.columns.tolist() == ["person", "round", "free", "cost", "weight"]
    assert table.cost.sum() <= 300 and table["round"].value_counts().max() == 6
    assert re.search(r"person +identifier +guessed", said)
    assert f"{len(table)} people, cost {table.cost.sum():g} of 300" in said
    people = make_people().set_index("person")
    expected = Planner("free", 300, cost="fee", quotas=["region>=5"], batch_size=6).plan(people)
    assert table.person.tolist() == expected.index.tolist()
    make_people().to_parquet("people.parquet")
    more = ("--cost", "fee", "--quota", "region>=5", "--batch-size", "6")
    assert plan(*more, table="people.parquet", output="plan.parquet") == 0
    pd.testing.assert_frame_equal(table, pd.read_parquet("plan.parquet"), check_dtype=False)


@pytest.mark.parametrize("options", re.findall(r"`(--[^`]+)`", SITUATIONS))
def test_options_that_the_book_names_for_a_situation_plan(here, options):
    people, rng = make_people(600), np.random.default_rng(0)
    people = people.rename(columns={"free": "treated", "fee": "tracking", "household": "clinic"}).drop(columns="chance")
    known = dict.fromkeys(("score", "judge"), rng.normal(size=600)) | {"code": rng.integers(0, 2, 600)}
    own = known | {"followed": people.treated, "prompt": people.clinic}  # columns that the options name
    people.assign(**{name: own[name] for name in own if name in options.split()}).to_csv("people.csv", index=False)
    command = re.search(r"`macal (plan [^`]+)`", SITUATIONS)[1]
    if "--width" in options:
        command = re.sub(r"--budget \S+", "", command)
    assert main(shlex.split(f"{command} {options}")) == 0
    plan = pd.read_csv("plan.csv")
    assert len(plan) and plan.person.isin(people.person).all() and (plan.weight >= 1).all()  # drawn, with known chances


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_tables_come_back_in_their_kind(library):
    other = pytest.importorskip(library)
    people = make_people()
    table = other.from_pandas(people) if library == "polars" else other.Table.from_pandas(people)
    ours, theirs = (Planner("free", 300, cost="fee").plan(t) for t in (people, table))
    assert type(theirs) is type(table)
    back = theirs.to_pandas() if library == "pyarrow" else pd.DataFrame(theirs.to_dict(as_series=False))
    assert back.person.tolist() == ours.index.tolist() and back.cost.tolist() == ours.cost.tolist()


def test_the_columns_are_guessed_and_every_guess_can_be_undone():
    note, joined = [f"she said {k}" for k in range(200)], pd.date_range("2020-01-01", periods=200).astype(str)
    people = make_people().assign(joined=joined, note=note, one=1, again=lambda d: d.age, zip=lambda d: d.age % 7)
    planner = Planner("free", 300, cost="fee", kinds={"zip": "category", "household": "ignore"})
    planner.plan(people)
    kinds = {"age": "number", "chance": "number", "income": "number", "region": "category", "joined": "date"}
    assert planner.people.roles.identifier == "person" and planner.people.roles.kinds == kinds | {"zip": "category"}
    assert planner.people.problem.pool.x.shape[1] == 4 + 3 + 7  # age, income, chance, joined; region; zip


@pytest.mark.parametrize(
    ("change", "more", "name"),
    [
        ({"age": lambda d: d.age.where(d.index != 3)}, [], "covariate 'age' (1, first of p0003)"),
        ({}, ["--workers", "-1"], "workers"),
        ({}, ["--propensity", "70"], "propensity"),
        ({"age": 77}, ["--kind", "age=date"], "77 for p0000"),
        ({"age": lambda d: d.age.where(d.index != 3, "old")}, ["--kind", "age=number"], "'old'"),
        ({"free": 1}, [], "free"),
        ({"person": "ann"}, ["--id", "person"], "ann more than once, in rows 1 and 2"),
        ({"one": 1}, ["--covariates", "age,one"], "'one'"),
        ({"two": lambda d: d.age}, ["--covariates", "age,two"], "a copy of age"),
        ({"fee": 0}, ["--cost", "fee"], "p0000 and 199 more"),
        ({}, ["--covariates", "agee"], "'agee' (did you mean 'age'?)"),
        ({}, ["--kind", "age=nominal"], "'nominal'"),
        ({}, ["--quota", "region>=300"], "Conflict"),
        ({"visits": 1.0}, ["--outcome", "visits"], "'visits'"),
    ],
)
def test_a_wrong_table_ends_in_one_line_and_no_file(folder, capsys, change, more, name):
    make_people().assign(**change).to_csv("people.csv", index=False)
    assert plan("--campaign", "campaign.json", *more) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert name in line and [path.name for path in folder.iterdir()] == ["people.csv"]


@pytest.mark.parametrize(("started", "usage"), [("/usr/bin/macal", "macal plan"), ("-m", "python -m macal plan")])
def test_usage_says_how_it_was_started(monkeypatch, capsys, started, usage):
    monkeypatch.setattr("sys.argv", [started])
    with pytest.raises(SystemExit):
        main(["plan"])
    assert capsys.readouterr().err.startswith(f"usage: {usage} ")


def test_files_that_are_no_tables(folder, capsys):
    (folder / "empty.csv").write_text("person,free\n")
    (folder / "no.parquet").write_bytes(b"PAR2")
    for name in ("absent.csv", "people.xls", "empty.csv", "no.parquet", "absent.zarr", "absent.parquet"):
        assert plan(table=name) == 1
        said = capsys.readouterr().err
        assert name in said and "Errno" not in said


def test_a_plan_that_is_broken_off_leaves_no_half_file(folder, monkeypatch):
    def full(path, flags=None):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert plan("--campaign", "campaign.json") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv"]


def test_a_word_among_numbers_is_refused_by_the_name_of_its_row(folder, capsys):
    assert plan("--campaign", "campaign.json") == 0
    names = pd.read_csv("plan.csv").person[:4]
    pd.DataFrame({"person": names, "visits": ["1", "2.5", "refused", ""]}).to_csv("answers.csv", index=False)
    assert main(["observe", "campaign.json", "people.csv", "answers.csv"]) == 1
    said = capsys.readouterr().err
    assert names[2] in said and "'refused'" in said


def put(content, *path):
    """A copy of JSON with another value, the last of the path, in a place."""
    content = json.loads(json.dumps(content))
    node = content
    for key in path[:-2]:
        node = node[key]
    node[path[-2]] = path[-1]
    return content


def edited_one(kind):
    """A campaign with answers, corrections and, of a sample, an audit."""
    people = make_people(60)
    given = {"plan": {"response": "chance", "criterion": "qhte", "quotas": ["region>=1"], "budget": 120, "cost": "fee"}}
    given["draw"] = {"response": 0.6, "by": "region", "budget": 30}
    given["sample"] = {"sample": 30, "criterion": "macal", "budget": 20, "identifier": "person"}
    planner = Planner("free", batch_size=5, **given[kind])
    people.to_csv("people.csv", index=False)
    plan = planner.plan(planner.sample("people.csv", workers=1) if kind == "sample" else people)
    if kind == "sample":
        planner.audit()
    names = plan.index
    planner.observe({names[0]: 1.0, names[1]: None, names[2]: 2.5, names[7]: 3.0})
    planner.correct(names[2], "never asked", "ann")
    planner.recount(1, "bo")
    return planner.campaign


ODD = [None, True, -1, 0, 99, 10**30, 1e308, 0.5, "x", "", "p0001", "free", [], {}, [1], {"a": 1}, [[1, 2]]]


def mutated(content, rng):
    """A copy of a file's content with one place deleted, doubled, or of another value; and in which field."""
    content = json.loads(json.dumps(content))
    field = list(content)[rng.integers(len(content))]
    node, key = content, field
    while isinstance(node[key], (dict, list)) and node[key] and rng.random() < 0.8:
        node = node[key]
        key = list(node)[rng.integers(len(node))] if isinstance(node, dict) else int(rng.integers(len(node)))
    kind = rng.integers(5)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, dict):
        node["new"] = node[key]
    elif kind == 1:
        node.append(node[key])
    else:
        node[key] = ODD[rng.integers(len(ODD))]
    return field, content


class TestCampaignFile:
    @pytest.fixture
    def planner(self, folder):
        planner = Planner("free", 300, cost="fee", response="chance", criterion="alc-fixed")
        planner.plan(make_people())
        return planner

    def test_a_file_that_was_changed_is_refused(self, planner, folder):
        planner.save("campaign.json")
        text = (folder / "campaign.json").read_text()
        changed = [json.loads(text) for _ in range(6)]
        changed[0]["content"]["asked"], changed[1]["version"], changed[2]["format"] = 3, 3, "other"
        changed[3]["content"], changed[4]["version"], changed[5]["content"]["revision"] = [], True, 1e400
        deep = "[" * 200_000 + "]" * 200_000
        deeper = text.replace("[", deep, 1)
        changed.append(changed[1] | {"version": 0})
        for wrong in (*map(json.dumps, changed), "{", "[]", "\x00", "1" * 5000, deep, deeper):
            (folder / "campaign.json").write_text(wrong)
            with pytest.raises(record.Damaged):
                Planner.load("campaign.json", make_people())

    @pytest.mark.parametrize(
        ("field", "change"),
        [
            ("asked", lambda content: content | {"asked": 99}),
            ("asked", lambda content: content | {"asked": True}),
            ("p9999", lambda content: put(content, "plan", "unit", 0, "p9999")),
            ("p9999", lambda content: put(content, "plan", "reserve", 0, "p9999")),
            ("round", lambda content: put(content, "plan", "round", 0, 1.0)),
            ("cost", lambda content: put(content, "plan", "cost", 0, 0.5)),
            ("cost", lambda content: put(content, "plan", "cost", [1.0])),
            ("weight", lambda content: put(content, "plan", "weight", content["plan"]["cost"])),
            ("round", lambda content: content | {"plan": {"unit": []}}),
            ("p9999", lambda content: content | {"answers": [["p9999", 1.0]]}),
            ("answers", lambda content: content | {"answers": [[content["plan"]["unit"][0], "many"]]}),
            ("answers", lambda content: content | {"answers": [[content["plan"]["unit"][0], 1.0]] * 2}),
            ("seed", lambda content: put(content, "policy", "seed", "one")),
            ("policy", lambda content: put(content, "policy", "budget", -1)),
            ("covariates", lambda content: put(content, "columns", "covariates", "age")),
            ("who", lambda content: content | {"journal": [{"who": "ann"}]}),
            ("revision", lambda content: content | {"revision": "2"}),
            ("told since", lambda content: content | {"told since": 1}),
            ("notes", lambda content: content | {"notes": "mine"}),
        ],
    )
    def test_a_field_that_cannot_be_is_named(self, planner, folder, field, change):
        content = json.loads(record.packed(record.content_of(planner.campaign)))["content"]
        (folder / "campaign.json").write_bytes(record.packed(change(content)))
        with pytest.raises(record.Damaged, match=field):
            Planner.load("campaign.json", make_people())

    @part_and_whole("n", 60, 200)
    @pytest.mark.parametrize("kind", ["plan", "draw", "sample"])
    def test_a_file_that_anybody_has_edited_is_read_or_damaged(self, folder, unchecked, kind, n):
        """What is read can be written and read again; of a table that is not the file's, either may be wrong."""
        campaign, table, edited, read = edited_one(kind), make_people(60), 0, 0
        whole = json.loads(record.packed(record.content_of(campaign)))["content"]
        for seed in range(n):
            field, content = mutated(whole, np.random.default_rng(seed))
            edited += content != whole
            (folder / "c.json").write_bytes(record.packed(content))
            try:
                planner = Planner.load("c.json", None if kind == "sample" else table)
            except ValueError as error:
                of_the_table = field in ("columns", "table", "sample")
                assert isinstance(error, record.Damaged) or of_the_table, (seed, field, error)
                continue
            planner.rounds(), planner.spent(), planner.campaign.stages()
            before, read = record.packed(record.content_of(planner.campaign) | {"revision": 0}), read + 1
            planner.save("c.json")
            again = Planner.load("c.json", None if kind == "sample" else table)
            assert record.packed(record.content_of(again.campaign) | {"revision": 0}) == before, seed
        assert edited > 0.8 * n and 0.05 * n < read < 0.5 * n

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (lambda t: t.assign(age=t.age + (t.index == 3)), "column 'age' differs for p0003;"),
            (lambda t: t.assign(age=t.age + (t.index < 9)), "'age' differs for p0000, p0001, p0002 and 6 others;"),
            (lambda t: t.assign(age=t.age + 1, fee=t.fee.to_numpy()[::-1]), "'age' and 'fee' differ for"),
            (lambda t: t.assign(region="north"), "'region' differs;"),
            (lambda t: t.drop(columns=["age", "fee"]), "'age' and 'fee' are missing"),
            (lambda t: t.drop(5), "199 rows, and had 200"),
            (
                lambda t: t.assign(person=t.person.replace("p0003", "new")),
                "200 rows, and had 200.* new is new or changed",
            ),
            (lambda t: t[t.person != "p0141"], "199 rows, and had 200; p0141 of the plan is missing"),
        ],
    )
    def test_in_what_a_table_has_changed_is_named(self, planner, folder, change, named):
        assert "p0141" in planner.planned.index and "p0005" not in planner.planned.index
        planner.save("campaign.json")
        with pytest.raises(ValueError, match=named):
            Planner.load("campaign.json", change(make_people()))

    @pytest.mark.parametrize(
        "change",
        [
            lambda t: t[t.columns[::-1]],
            lambda t: t.assign(status="asked", score=np.arange(200.0)),
            lambda t: t.assign(one=[f"a note on {name}" for name in t.person]),
            lambda t: t.drop(columns="one"),
            lambda t: t.assign(age=t.age.astype(float), one="x"),
            lambda t: pd.read_csv(io.StringIO(t.to_csv(index=False)), dtype=str),
            lambda t: pytest.importorskip("polars").from_pandas(t),
        ],
    )
    def test_columns_that_a_plan_does_not_use_may_change(self, folder, change):
        table = make_people().assign(one=1)
        planner = Planner("free", 300, cost="fee", response="chance", criterion="alc-fixed")
        planner.plan(table)
        planner.save("campaign.json")
        again = Planner.load("campaign.json", change(table))
        again.replan(), planner.replan()
        pd.testing.assert_frame_equal(again.planned, planner.planned)
        with pytest.raises(ValueError, match="'one' differs"):  # it would be a covariate
            Planner.load("campaign.json", table.assign(one=table.age % 3))
        again.save("campaign.json")
        Planner.load("campaign.json", table)

    def test_a_name_that_json_cannot_hold(self, folder):
        people = make_people().assign(person=pd.date_range("2020-01-01", periods=200))
        planner = Planner("free", 300, identifier="person")
        planner.plan(people)
        with pytest.raises(ValueError, match="name"):
            planner.save("campaign.json")


def test_what_cannot_be_an_answer(unchecked):
    planner = Planner("free", 300, cost="fee")
    plan, people = planner.plan(make_people()), make_people().person
    name, other = plan.index[0], people[~people.isin(plan.index)].iloc[0]
    planner.observe({name: 1.0})
    for answer, said in [
        ({other: 1.0}, other),
        ({"nobody": 1.0}, "nobody"),
        ({name: 2.0}, f"{name} answered 1 before and 2 now"),
        ({name: None}, name),
        ({name: "yes"}, "'yes'"),
        ({name: np.inf}, name),
        (pd.Series([1.0, 2.0], [name, name]), name),
    ]:
        with pytest.raises(ValueError, match=said):
            planner.observe(answer)
    for rounds in (-1, int(plan["round"].max()) + 1):
        for count in (lambda k: planner.observe({}, through=k), lambda k: planner.recount(k, "ann")):
            with pytest.raises(ValueError):
                count(rounds)
    planner.observe({}, through=np.int64(1))
    assert type(planner.asked) is int
    assert planner.answers == {name: 1.0}


def test_names_that_a_terminal_cannot_show_do_not_end_a_step(folder):
    make_people().rename(columns={"region": "région"}).to_csv("people.csv", index=False)
    words = ["people.csv", "--treatment", "free", "--budget", "40", "-o", "plän.csv", "--campaign", "c.json"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "macal", "plan", *words]
    process = subprocess.run(command, capture_output=True, env=environment, timeout=120)
    assert process.returncode == 0 and rb"r\xe9gion" in process.stdout and (folder / "plän.csv").exists()


@pytest.mark.parametrize("which", ["stdout", exhaustive("both"), exhaustive("unbuffered")])
def test_who_does_not_read_on_loses_no_file(folder, which):
    """As ``macal plan ... | head -1`` does, or ``2>&1 | head -1``."""
    words = ["-u"] * (which == "unbuffered") + ["-m", "macal", "plan", "people.csv", "--treatment", "free"]
    words += ["--budget", "300", "-o", "plan.csv", "--campaign", "campaign.json", "--cost", "fee", "--report", "r.html"]
    make_people().assign(income=lambda d: d.income.where(d.index != 3, -1e9)).to_csv("people.csv", index=False)
    reads, writes = os.pipe()
    os.close(reads)
    stderr = writes if which == "both" else subprocess.PIPE
    process = subprocess.run([sys.executable, *words], stdout=writes, stderr=stderr, timeout=120)
    os.close(writes)
    assert process.returncode == 0 and {"plan.csv", "campaign.json", "r.html"} <= {p.name for p in folder.iterdir()}
    assert not process.stderr or b"Broken" not in process.stderr
