"""One reading of a table: by CSV, Parquet, pandas, polars, Arrow, whole or by a pass, the same roles, people, names."""

import gzip
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import part_and_whole

import macal
from macal.storage.workers import executor
from macal.survey import Planner, record
from macal.survey.tables import csv, frames, sample, summary
from macal.survey.tables.roles import ColumnHints, read_as
from macal.survey.tables.summary import summarised

WORDS = ["north", "south", "west", "east", "hill", "dale", "fen", "moor", "wold", "vale", "isle", "ness"]
NAMES = ["id", "person", "name", "case key", "code", "unit.uuid", "row", "number"]


def identifiers(rng, n):
    """Names of n units, of a kind that tables have."""
    numbers = rng.permutation(10 * n)[:n]
    kinds = [
        numbers,
        [f"{k:05d}" for k in numbers],
        [f"{k}E5" for k in numbers],
        [f"{10**22 + int(k)}" for k in numbers],
        [f"p{k}" for k in numbers],
        [f"Ann {k}" for k in numbers],
        numbers.astype(float),
        [*numbers[:-1], numbers[0]],
    ]
    return kinds[rng.integers(len(kinds))]


def column(rng, n):
    """One column of a kind that tables have."""
    kinds = [
        lambda: rng.normal(size=n).round(rng.integers(0, 17)),
        lambda: rng.lognormal(10, 3, n),
        lambda: rng.integers(0, 50, n),
        lambda: rng.integers(0, 50, n).astype(float),
        lambda: rng.random(n) < 0.5,
        lambda: rng.choice(WORDS[: rng.integers(1, 13)], n),
        lambda: [f"{word} {k}" for k, word in enumerate(rng.choice(WORDS, n))],
        lambda: [f"{word}{k}" for k, word in enumerate(rng.choice(WORDS, n))],
        lambda: pd.date_range("2020-01-01", periods=n)[rng.permutation(n)].strftime("%Y-%m-%d"),
        lambda: np.where(rng.random(n) < 0.05, np.nan, rng.normal(size=n)),
        lambda: np.full(n, rng.integers(3)),
        lambda: rng.permutation(n),
        lambda: np.where(rng.random(n) < 0.7, "1.50", "1.5"),
        lambda: as_people_write(rng, n),
        lambda: np.where(rng.random(n) < 2 / n, rng.choice([-9999.0, 1e6]), rng.integers(11, 23, n)),
    ]
    return kinds[rng.integers(len(kinds))]()


def as_people_write(rng, n):
    """Numbers or dates as people write them; one kind is a number with one other text."""
    values, days = rng.random(n) * 10 ** rng.integers(1, 6), rng.integers(1, [[29], [13]], (2, n))
    kinds = [
        [f"{v:.{rng.integers(1, 4)}f}".replace(".", ",") for v in values],
        [f"{int(v):,}" for v in values],
        [f"{int(v):,}".replace(",", ".") for v in values],
        [f"{int(v):05d}" for v in values],
        [f"{v:,.1f}" for v in values],
        [f"{v:.1f}%" for v in values],
        [f"{day}.{month}.{1950 + day}" for day, month in days.T],
        [f"{day}/{month}/2020" for day, month in days.T],
        [*map(str, values[1:]), "x"],
    ]
    return kinds[rng.integers(len(kinds))]


def random_table(seed):
    """A table, and what is said of it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 150))
    columns = {"free": rng.permutation(np.arange(n) % 2)}
    for k in range(rng.integers(1, 6)):
        columns[f"c{k}"] = column(rng, n)
    if rng.random() < 0.2:
        columns["again"] = columns["c0"]
    for _ in range(rng.integers(0, 3)):
        columns[str(rng.choice(NAMES))] = identifiers(rng, n)
    table = pd.DataFrame({c: columns[c] for c in rng.permutation(list(columns))})
    said = {"criterion": str(rng.choice(["macal", "alc-fixed", "qhte"]))}
    kinds = {c: str(rng.choice(["category", "ignore"])) for c in table if c != "free" and rng.random() < 0.08}
    said |= {"kinds": kinds} if kinds else {}
    if rng.random() < 0.2:
        said["identifier"] = str(rng.choice([c for c in table if c not in kinds and c != "free"] or ["free"]))
    return table, said


def passed(planner, path):
    """A table by a pass that keeps everybody, in the order of the rows."""
    with executor(None, 1, 1e9) as calls:
        campaign = planner.campaign
        campaign.columns.check()
        return sample.sampled(
            frames.opened(path), campaign.columns.hints(), campaign.sample_request(10**6, 0), calls, 3
        )


def plan_by(make, treatment="free", budget=8, **said):
    """A planner and its plan of a table that ``make`` reads, given the planner."""
    planner = Planner(treatment, budget, **said)
    return planner, planner.plan(make(planner))


def read_and_passed(table, folder):
    """Two ways to plan by a table's file, which is written first: read whole, and by a pass."""
    path = folder / "t.csv"
    table.to_csv(path, index=False)
    return [partial(plan_by, make) for make in (lambda _: frames.read(path), lambda planner: passed(planner, path))]


def planned(make, said):
    """What becomes of a table: its roles, names and plan, or what is wrong with it."""
    planner = Planner("free", 8, batch_size=4, sample="all", **said)
    try:
        table = make(planner)
        plan = frames.as_pandas(planner.plan(table))
    except ValueError as error:
        return str(error), None
    people = planner.people
    roles = people.roles.shown(planner.campaign.columns.named()).to_dict()
    name = people.table.index.name
    names = (plan[name] if name in plan else plan.index.to_series()).map(str).tolist()
    whole = sorted(people.table.index.map(str))
    x = pd.DataFrame(people.problem.pool.x.round(9), people.table.index.map(str)).sort_index()
    return roles, (name, whole, names, x)


def agree(seed, folder):
    table, said = random_table(seed)
    csv, parquet = folder / "t.csv", folder / "t.parquet"
    table.to_csv(csv, index=False)
    table.to_parquet(parquet, index=False, row_group_size=29)
    ways = {
        "pandas": lambda _: table,
        "csv": lambda _: frames.read(csv),
        "parquet": lambda _: frames.read(parquet),
        "arrow": lambda _: pa.Table.from_pandas(table, preserve_index=False),
        "csv, a pass": lambda planner: passed(planner, csv),
        "parquet, a pass": lambda planner: passed(planner, parquet),
    }
    if find_spec("polars"):
        ways["polars"] = lambda _: import_module("polars").from_pandas(table)
    found = {way: planned(make, said) for way, make in ways.items()}
    roles, people = found["pandas"]
    for way, (theirs, others) in found.items():
        # of two faults another one may be told first: texts of a file decide how its numbers are read
        assert theirs == roles or isinstance(theirs, str) and isinstance(roles, str), (seed, way)
        if people is not None:
            assert others[:2] == people[:2], (seed, way)
            pd.testing.assert_frame_equal(others[3], people[3])
            if "pass" not in way:  # there people come by their hashes, and ties with them
                assert others[2] == people[2], (seed, way)
    if people is not None and not said.get("kinds") and not said.get("identifier"):
        scheduled(table, said["criterion"], *found["pandas"])
    return people is not None


def scheduled(table, criterion, roles, people):
    """A schedule takes the same people by the same names, of covariates that it is told."""
    what = {c: roles["what"][c] for c, role in roles["role"].items() if role == "covariate"}
    texts = [c for c, kind in what.items() if kind != "category" and not pd.api.types.is_numeric_dtype(table[c])]
    if texts:
        return  # these a schedule refuses
    named = table if people[0] not in table else table.set_index(people[0])
    if not isinstance(named.index, pd.RangeIndex):  # a planner's people are ordered by their names
        numbers = pd.api.types.is_integer_dtype(named.index)
        named = named.sort_index() if numbers else named.iloc[named.index.astype(str).argsort()]
    problem = macal.datasets.from_table(named, list(what), "free", start=[])
    plan = macal.schedule(problem, criterion, n_queries=2, batch_size=4)
    assert plan.index.name == people[0] and plan.index.map(str).tolist() == people[2]


@part_and_whole("seeds", range(2), range(40))
def test_every_way_to_read_a_table_agrees(seeds, tmp_path, monkeypatch):
    from macal.survey.tables import csv

    monkeypatch.setattr(csv, "ROWS", 37)
    assert np.mean([agree(seed, tmp_path) for seed in seeds]) > 0.3


def lakhs(value):
    """1,23,456 as in India."""
    head, tail = str(value)[:-3], str(value)[-3:]
    pairs = [head[max(k - 2, 0) : k] for k in range(len(head), 0, -2)][::-1]
    return ",".join([*pairs, tail])


AMOUNTS = {  # the way, how a value is written, and what one of its units is
    "decimal commas": ("decimal commas", lambda v: f"{v},25", 1),
    "thousands": ("thousands with commas", lambda v: f"{v:,}.2", 1),
    "per cent": ("per cent", lambda v: f"{v}.3 %", 0.01),
    "lakhs": ("thousands with commas", lakhs, 1),
    "swiss": ("blanks, apostrophes or other minus signs", lambda v: f"{v:,}.50".replace(",", "'"), 1),
    "typeset": ("blanks, apostrophes or other minus signs", lambda v: f"{v:,}".replace(",", "\u2019"), 1),
    "french": ("blanks, apostrophes or other minus signs", lambda v: f"{v:,},5".replace(",", "\u202f", 2), 1),
    "minus": ("blanks, apostrophes or other minus signs", lambda v: f"\u2212{v}", -1),
}


@pytest.mark.parametrize("case", AMOUNTS)
def test_amounts_of_the_world_are_read(case, tmp_path):
    way, written, unit = AMOUNTS[case]
    values = np.random.default_rng(0).integers(1_000_000, 9_999_999, 60)
    table = pd.DataFrame(
        {"free": np.arange(60) % 2, "age": np.arange(60) % 7, "sum": [written(int(v)) for v in values]}
    )
    table["person"] = [f"p{k}" for k in range(60)]
    for plan in read_and_passed(table, tmp_path):
        planner, _ = plan()
        assert planner.people.roles.shown({}).what["sum"] == f"number ({way})"
        found = planner.people.table["sum"].loc[table.person]
        assert (np.abs(found / unit - values) <= 0.51).all()


ASKED = ["{} kr", "Rs {}", "Rs. {}/-", "USD {}", "{}k", "\u20b9{}", "({})", "-${}", "{}CFA"]


@pytest.mark.parametrize("form", ASKED)
def test_amounts_of_money_are_asked_about_and_name_nobody(form, tmp_path):
    texts = [form.format(1000 + 7 * k) for k in range(60)]
    table = pd.DataFrame({"person": [f"p{k}" for k in range(60)], "free": np.arange(60) % 2, "sum": texts})
    for plan in read_and_passed(table, tmp_path):
        for said in ({}, {"cost": "sum"}):
            with pytest.raises(ValueError, match="column 'sum' .*--kind sum="):
                plan(budget=8000, **said)


def test_codes_are_no_amounts():
    codes = ["p0001", "E11.9", "A1", "5a", "18-30", "R5", "v00", "10-20", "a (5)"]
    assert summarised(pd.Series(codes, dtype="str")).question == ""


def test_dates_as_people_write_them_are_dates():
    days = pd.date_range("1990-12-01", periods=60, freq="5D")
    for form, way in (("%d.%m.%Y", "the day first"), ("%d/%m/%Y", "the day first"), ("%m/%d/%Y", "the month first")):
        table = pd.DataFrame({"free": np.arange(60) % 2, "born": days.strftime(form)})
        planner = Planner("free", 8)
        planner.plan(table)
        assert planner.people.roles.shown({}).what["born"] == f"date ({way})"
        assert (planner.people.table["born"].to_numpy() == days.to_numpy()).all()


QUESTIONS = {
    "two ways": (["1,000", "2,500"], "'1,000'.*decimal-comma, thousands-comma"),
    "two dates": (["1/2/2020", "2/1/2020"], "day-first, month-first"),
    "one x": ([*map(str, range(40)), "x"], "'x'"),
    "euros": (["€5", "€7", "€9"], "'€5'"),
    "no day": (["1.1.2020", "30.02.2020"], "30.02.2020"),
    "no month": (["2020-01-01", "2020-13-01"], "2020-13-01"),
    "no day at noon": (["2020-01-01 12:00", "2019-02-29 12:00"], "2019-02-29 12:00"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_numbers_that_are_not_read_for_certain_are_asked_about(case, tmp_path):
    texts, said = QUESTIONS[case]
    table = pd.DataFrame({"free": np.arange(120) % 2, "age": np.arange(120) % 7, "sum": (texts * 120)[:120]})
    for plan in read_and_passed(table, tmp_path):
        with pytest.raises(ValueError, match=f"'sum' .*{said}.* --kind sum="):
            plan()
        for kind in ("ignore", "category"):
            plan(kinds={"sum": kind})


def test_what_is_said_of_a_way_decides_it():
    table = pd.DataFrame({"free": np.arange(60) % 2, "sum": [f"{k},{k:03d}" for k in range(1, 61)]})
    found = {}
    for kind in ("decimal-comma", "thousands-comma"):
        planner = Planner("free", 8, kinds={"sum": kind})
        planner.plan(table)
        found[kind] = planner.people.table["sum"].iloc[6]
    assert found == {"decimal-comma": 7.007, "thousands-comma": 7007}
    for texts, text in ((table["sum"], "1,001"), (["1.12.2020", "31.11.2020"] * 30, "31.11.2020")):
        with pytest.raises(ValueError, match=f"'sum' .*day-first.*'{text}'"):
            Planner("free", 8, kinds={"sum": "day-first"}).plan(table.assign(sum=texts))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_truth_is_read_alike_with_and_without_a_gap(tmp_path, form):
    table = pd.DataFrame({"free": np.arange(60) % 2, "age": np.arange(60) % 7, "won": [True, False, None] * 20})
    path = tmp_path / f"t.{form}"
    table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)
    planner = Planner("free", 8, outcome="won")
    planner.plan(frames.read(path))
    np.testing.assert_array_equal(planner.campaign.outcomes, [1, 0, np.nan] * 20)
    again = record.campaign_of(record.content_of(planner.campaign), frames.read(path))
    assert again.planned.equals(planner.planned)
    assert len(Planner("free", 8, exclude="won").plan(frames.read(path))) == 8


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["None", "primary", "secondary"], {"None", "primary", "secondary"}),
        (["None", "1-2 drinks", "daily"], {"None", "1-2 drinks", "daily"}),
        (["NA", "ZA", "BW"], {"NA", "ZA", "BW"}),
        (["NA", "north", "south"], {None, "north", "south"}),  # as R writes a gap
        (["None", "True", "False"], {None, "True", "False"}),
        (["None", "1.5", "2"], {None, "1.5", "2"}),
        (["NA", "None", "3"], {None, "3"}),
        (["NA", "", "NA"], {None}),
    ],
)
def test_none_and_na_beside_words_are_values_and_gaps_else(texts, values, tmp_path, monkeypatch):
    table = pd.DataFrame({"free": np.arange(120) % 2, "age": np.arange(120) % 7, "what": texts * 40})
    monkeypatch.setattr(csv, "ROWS", 37)
    ways = read_and_passed(table, tmp_path)
    read = frames.read(tmp_path / "t.csv")
    assert set(read.what.astype(object).where(read.what.notna(), None)) == values
    for plan in ways:
        planner, _ = plan(kinds={"what": "ignore"} if None in values else None)
        word = values & {"None", "NA"}
        assert not word or f"{word.pop()} is a value" in planner.people.roles.shown({}).what["what"]


def test_gaps_beside_truth_values_are_not_called_values(tmp_path):
    table = pd.DataFrame({"free": np.arange(120) % 2, "owner": ["True", "False", None] * 40})
    table.to_csv(tmp_path / "t.csv", index=False)
    _, roles = read_as(frames.read(tmp_path / "t.csv"), ColumnHints())
    assert roles.shown({}).what["owner"] == "category"


def test_the_untreated_may_be_called_none(tmp_path):
    table = pd.DataFrame({"drug": ["A", "None"] * 30, "age": np.arange(60) % 7, "land": ["NA", "ZA", "BW"] * 20})
    table.to_csv(tmp_path / "t.csv", index=False)
    planner = Planner("drug", 20, reference="None", quotas=["land=NA>=5"])
    plan = planner.plan(frames.read(tmp_path / "t.csv"))
    assert planner.people.arms == ["None", "A"] and len(planner.people) == 60
    assert (planner.people.table.land[plan.index] == "NA").sum() >= 5


DIALECTS = [(",", "utf-8-sig"), (",", "utf-16"), (",", "latin-1"), (";", "utf-8"), ("\t", "cp1252"), (";", "utf-16-le")]


def test_text_that_ends_within_a_letter_is_not_utf_8(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_bytes("id,name\n1,é".encode()[:-1])
    assert csv.encoding_of(path) == "cp1252"


@pytest.mark.parametrize(("separator", "encoding"), DIALECTS)
def test_files_of_other_separators_and_encodings_are_the_same_table(tmp_path, separator, encoding):
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"person": [f"Jürgen {k}" for k in range(40)], "free": np.arange(40) % 2})
    people["age"], people["town; or place"] = rng.random(40), rng.choice(["Zürich", "Genève"], 40)
    plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
    people.to_csv(plain, index=False)
    text = people.to_csv(index=False, sep=separator)
    other.write_bytes((("\ufeff" if encoding == "utf-16-le" else "") + text).encode(encoding))
    _, expected = plan_by(lambda _: frames.read(plain), criterion="alc-fixed")
    for make in (lambda _: frames.read(other), lambda planner: passed(planner, other)):
        planner, found = plan_by(make, criterion="alc-fixed")
        assert set(found.index) == set(expected.index) and "town; or place" in planner.people.roles.kinds
    assert (frames.opened(other).reading_note != "") == (encoding != "utf-8-sig")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\x81\xff\n")
    with pytest.raises(ValueError, match="UTF-8"):
        frames.read(tmp_path / "t.csv")


@part_and_whole("times", 30, 300)
def test_summaries_do_not_depend_on_the_parts(times):
    rng = np.random.default_rng(0)
    for _ in range(times):
        n = int(rng.integers(2, 90))
        texts = pd.Series([str(t) for t in as_people_write(rng, n)], dtype="str")
        cut = int(rng.integers(1, n))
        parts, whole = (
            found.read() for found in (summarised(texts[:cut]) + summarised(texts[cut:]), summarised(texts))
        )
        if whole.family == "text":
            parts = replace(parts, low=whole.low, high=whole.high)  # of what is no number
        assert parts == whole and parts.question == whole.question


MORE = "person,age,fee\n" + "".join(f"p{k},{20 + k},{k}\n" for k in range(30))
PLAIN = "person;age;y\np1;3;1\np2;4;2\np3;5;3\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "sep=;\n" + PLAIN),
        ("t.csv", '"sep=|"\r\n' + PLAIN.replace(";", "|")),
        ("t.csv.gz", PLAIN),
        ("T.CSV.GZ", "sep=;\n" + PLAIN),
        ("t.csv", "\n  \n;;\n" + PLAIN),
        ("t.csv", PLAIN.replace("3;1", "3;1;").replace("5;3", "5;3;;") + ";;;;\n\n"),
    ],
)
def test_what_spreadsheets_write_around_a_table_is_passed_over(tmp_path, name, text):
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.lower().endswith("gz") else text.encode())
    found = frames.read(tmp_path / name)
    assert found.to_csv(index=False, sep=";") == PLAIN and frames.opened(tmp_path / name).size > len(text)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("t.csv", "a,b\n1,2\n3,4,5\n", "row 2"),
        ("t.csv", "a,b\n1,2,9\n3,4,5\n", "row 1"),
        ("t.csv", "Survey, 2026\n" + PLAIN, "line 1 .*'Survey, 2026'.*line 2"),
        ("t.csv", "Survey 2026\n\n" + PLAIN, "line 1 .*'Survey 2026'.*line 3"),
        ("t.csv", "sep=;\nSurvey 2026;;\n" + PLAIN, "line 2 .*'Survey 2026'.*line 3"),
        ("t.csv", "# by Ann, twice\n#\n" + PLAIN, "line 1 .*# by Ann.*line 3"),
        ("t.csv", PLAIN.replace("y", "age", 1), "unique.*age"),
        ("t.csv", MORE.replace("\n", "\nResponse ID,Your age?,Paid\n", 1), "'Response ID'.*remove line 2"),
        ("t.csv", MORE.replace("\n", "\nCode,years,EUR\nx,Q1,Q2\n", 1), "remove line 2 and line 3"),
        (
            "t.csv",
            "\n" + PLAIN.replace("\n", '\nWho?;How old?;\n{"ImportId":"a"};{"ImportId":"b"};\n', 1),
            "remove line 3 and line 4",
        ),
        ("t.csv", "\n\n", "no header"),
        ("t.csv.gz", PLAIN, "t.csv.gz cannot be unpacked"),
        ("t.csv.gz", gzip.compress(bytes(range(256)))[:-9], "t.csv.gz cannot be unpacked"),
        *((name, "x", f"{name}.*save it as CSV") for name in ("t.xlsx", "t.sav", "t.json", "t.txt")),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_way_out(tmp_path, name, content, named):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=named):
        frames.read(tmp_path / name)


@pytest.mark.parametrize("first", ["p,NA,None", "p,refused,refused", "p,x,5", "p,.,.", "p,1,2", "person,age,fee"])
def test_a_first_person_who_lacks_numbers_is_no_line_of_names(first, tmp_path):
    (tmp_path / "t.csv").write_text(MORE.replace("\n", f"\n{first}\n", 1))
    assert len(frames.read(tmp_path / "t.csv")) == 30 + (first != "person,age,fee")


@pytest.mark.parametrize("name", ["ptid", "caseid", "seqn", "obs", "file_no", "paid", "age"])
def test_numbers_that_are_called_id_name_people(name):
    table = pd.DataFrame({name: np.arange(40) * 3 + 1, "free": np.arange(40) % 2, "size": np.arange(40) % 7})
    planner = Planner("free", 4)
    planner.plan(table)
    assert (planner.people.table.index.name == name) is (name not in ("paid", "age"))


@pytest.mark.parametrize(
    ("said", "numbers", "identifier", "left_out"),
    [
        ({}, range(1, 61), "ptid", {"Unnamed: 0": "has no name"}),
        ({"identifier": "ptid"}, range(1, 61), "ptid", {"Unnamed: 0": "has no name"}),
        ({"identifier": "Unnamed: 0"}, range(1, 61), "Unnamed: 0", {"ptid": "names the units too"}),
        ({"kinds": {"ptid": "ignore"}}, range(1, 61), "Unnamed: 0", {"ptid": "as given"}),
        ({}, [*range(1, 31)] * 2, "ptid", {"Unnamed: 0": "has no name"}),  # two tables, one below the other
    ],
)
def test_numbers_of_rows_name_people_where_nothing_else_does(said, numbers, identifier, left_out, tmp_path):
    rng = np.random.default_rng(0)
    people = {"ptid": rng.permutation(60) + 100, "age": rng.integers(18, 80, 60), "free": np.arange(60) % 2}
    for plan in read_and_passed(pd.DataFrame({"": numbers} | people), tmp_path):
        roles = plan(budget=4, **said)[0].people.roles
        assert (roles.identifier, list(roles.kinds), roles.left_out) == (identifier, ["age"], left_out)


def test_what_only_pandas_takes_for_a_number_is_text():
    assert summarised(pd.Series(["+1.5E 3", "2"])).family == "text"


def test_two_columns_of_one_name_are_refused():
    table = pd.DataFrame(np.arange(12.0).reshape(3, 4) % 5, columns=["age", "age", "size", "free"])
    with pytest.raises(ValueError, match="unique.*age"):
        Planner("free", 2).plan(table)


def test_people_are_not_named_by_a_column_of_the_plan():
    table = pd.DataFrame({"round": [f"p{k}" for k in range(9)], "age": np.arange(9.0), "free": np.arange(9) % 2})
    with pytest.raises(ValueError, match="'round'"):
        Planner("free", 4).plan(table)


def decimal_commas(**columns):
    """A file of 60 people with decimal commas, in which one column says so."""
    table = pd.DataFrame({"free": np.arange(60) % 2, "age": np.arange(60) % 7})
    return table.assign(wage=[f"{k},{k % 9}" for k in range(60)], **{c: texts * 20 for c, texts in columns.items()})


def test_one_column_decides_what_a_dot_is_in_all(tmp_path):
    table = decimal_commas(fee=["1.200", "950", "1.450"], rent=["2.000", "700", "9"])
    for plan in read_and_passed(table, tmp_path):
        ways = {}, {"wage": "ignore"}, {"wage": "ignore", "fee": "decimal-comma"}
        one, none, other = (plan(budget=1e6, cost="fee", kinds=kinds or None)[0].people for kinds in ways)
        assert set(none.cost) == {1.2, 950, 1.45}  # nothing says otherwise
        for people in (one, other):
            assert set(people.cost) == {950, 1200, 1450} and set(people.table.rent) == {2000, 700, 9}


@pytest.mark.parametrize(
    ("columns", "said", "named"),
    [
        ({"fee": ["1.200", "950", "1.450"], "height": ["1.5", "1.75", "2"]}, {}, "fee"),  # the file has both
        ({"fee": ["1,5", "x", "2,5"]}, {"cost": "fee"}, "'fee'.*'x'.*--kind fee"),
        ({"fee": ["3 EUR", "5 EUR", "7 EUR"]}, {"cost": "fee"}, "'fee'.*--kind fee"),
        ({"fee": [1, 2, 3]}, {"kinds": {"fee": "percent"}}, "'fee'.*percent"),
        *(
            ({"fee": texts}, {}, "'fee'.*--kind fee")
            for texts in (["1.422,00 €"], ["1\u00a0422", "5"], ["5 kg"], ["1/2"])
        ),
    ],
)
def test_numbers_are_never_text_without_a_word(columns, said, named, tmp_path):
    columns = {c: ([*texts, "8 kg", "9 kg"] * 3)[:3] if len(texts) < 3 else texts for c, texts in columns.items()}
    for plan in read_and_passed(decimal_commas(**columns), tmp_path):
        with pytest.raises(ValueError, match=named):
            plan(**said)


def test_the_table_decides_between_two_ways(tmp_path):
    table = pd.DataFrame({"free": np.arange(60) % 2, "age": np.arange(60) / 8, "fee": ["1,200", "950", "2,450"] * 20})
    for plan in read_and_passed(table, tmp_path):  # 0.125 is a number with a decimal point
        planner, _ = plan(budget=1e5, cost="fee")
        assert set(planner.people.cost) == {1200, 950, 2450}


def test_digits_that_begin_with_a_zero_are_no_number(tmp_path):
    codes = ["00017", "10450", "01045"]
    table = pd.DataFrame({"free": np.arange(60) % 2, "age": np.arange(60) % 7, "post": codes * 20})
    for plan in read_and_passed(table, tmp_path):
        planner, found = plan(quotas=["post=00017<=1"], criterion="qhte")
        assert planner.people.roles.kinds["post"] == "category"
        assert (planner.people.table.post[found.index] == "00017").sum() <= 1
        assert set(plan(kinds={"post": "number"})[0].people.table.post) == {17, 10450, 1045}


@pytest.mark.parametrize("fault", ["twice", "gap"])
@pytest.mark.parametrize("form", ["{}", "p{}", "{:04d}"])
def test_names_that_do_not_name_everybody_are_asked_about(form, fault, tmp_path):
    names = [form.format(k + 7) for k in range(150)]
    names[40] = names[90] if fault == "twice" else ""
    table = pd.DataFrame({"id": names, "free": np.arange(150) % 2, "age": np.arange(150) % 7})
    for plan in read_and_passed(table, tmp_path):
        with pytest.raises(ValueError, match=f"'id'.*({names[90]} more than once|row 41).*--kind id="):
            plan()
        assert plan(kinds={"id": "ignore"})[1].index.name == "row"


def test_rows_of_separators_and_repeated_names_are_nobody(tmp_path):
    table = pd.DataFrame({"person": [f"p{k}" for k in range(40)], "free": np.arange(40) % 2, "age": np.arange(40) % 7})
    head, *rows = table.to_csv(index=False, sep=";").splitlines()
    for end in (";;", ""):
        lines = [head, *rows[:20], head, ";;", *rows[20:], ";;", ";;"]
        (tmp_path / "t.csv").write_text("\n".join(line + end for line in lines))
        found = frames.read(tmp_path / "t.csv")
        assert found.person.tolist() == table.person.tolist() and found.age.astype(int).tolist() == table.age.tolist()
    planner = Planner("free", 8)
    planner.plan(passed(planner, tmp_path / "t.csv"))
    assert len(planner.people) == 40


def test_columns_that_hold_the_same_are_found_by_their_first(monkeypatch):
    n, compared = 400, []
    equal = summary._equal
    monkeypatch.setattr(summary, "_equal", lambda *a: (compared.append(1), equal(*a))[1])
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (150, n)), columns=[f"c{k}" for k in range(n)])
    table.iloc[:120] = 0  # they differ late
    table["again"], table["as float"] = table["c7"], table["c9"].astype(float)
    table["text"] = ["a", None] * 75
    table["same text"] = ["a", np.nan] * 75
    found = summary.alike(table)
    assert [found[table.columns.get_loc(c)] for c in ("again", "as float", "same text")] == [7, 9, n + 2]
    assert len(set(found)) == n + 1 and len(compared) < 10
