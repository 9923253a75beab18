"""Plans of tables that are larger than memory: one pass, one sample, the ordinary planner, and an audit."""

import os
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from cases import exhaustive, part_and_whole
from processes import deadly
from scipy.stats import binom

from macal.__main__ import main
from macal.storage.workers import executor
from macal.survey import Planner, steps
from macal.survey.command import bytes_of
from macal.survey.inference import rank_bounds
from macal.survey.tables import csv, frames
from macal.survey.tables.blocks import PartedTable
from macal.survey.tables.roles import ColumnHints
from macal.survey.tables.sample import SampleRequest, sampled
from macal.survey.weighted_estimates import _survey, weighted_estimates

WANTED = SampleRequest(400, 100, 0, ("free", "region"))
SAID = ColumnHints(frozenset({"free"}))


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"person": rng.permutation(n) + 7, "age": rng.integers(18, 90, n).astype(float)})
    table["income"], table["bmi"] = rng.lognormal(10, 1, n), rng.normal(25, 4, n).round(1)
    table["region"] = rng.choice(["north", "south", "west"], n, p=[0.05, 0.45, 0.5])
    table["free"] = (rng.random(n) < 0.3).astype(int)
    table["home"] = rng.integers(0, n // 3, n)
    table["fee"] = rng.integers(5, 30, n).astype(float)
    return table


@dataclass(frozen=True)
class FrameTable(PartedTable):
    """A table in memory as parts of so many rows."""

    frame: pd.DataFrame = None
    step: int = 500

    @property
    def rows(self):
        return len(self.frame)

    size = 0

    def divided(self, count):
        cuts = np.linspace(0, len(self.frame), count + 1).astype(int)
        return [replace(self, frame=self.frame[a:b]) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]

    def parts(self, columns):
        for k in range(0, len(self.frame), self.step):
            part = self.frame[list(columns)][k : k + self.step]
            yield int(part.index[0]), part.reset_index(drop=True)

    def check_memory(self, memory):
        pass


def in_parts(table, step=500):
    return FrameTable("frame", tuple(table), table, step)


def drawn(table, wanted=WANTED, said=SAID, jobs=1):
    with executor(None, 1, 1e9) as calls:
        return sampled(table, said, wanted, calls, jobs)


def same(one, other):
    pd.testing.assert_frame_equal(one.table, other.table, check_dtype=False)
    pd.testing.assert_frame_equal(one.rivals, other.rivals, check_dtype=False)
    assert one.roles == other.roles and one.phase.rows == other.phase.rows
    assert one.phase.chances.tolist() == other.phase.chances.tolist()


def written(table, path, rows=200):
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, engine="pyarrow", index=False, row_group_size=rows, write_page_checksum=True)
    return path


class TestPass:
    @pytest.mark.parametrize("wanted", [exhaustive(WANTED), SampleRequest(400, 100, 3, ("free",), cluster="home")])
    def test_neither_parts_nor_order_nor_format_change_a_sample(self, tmp_path, monkeypatch, wanted):
        monkeypatch.setattr(csv, "ROWS", 333)
        table = people()
        said = ColumnHints(frozenset({"free", "home"} if wanted.cluster else {"free"}))
        first = drawn(in_parts(table), wanted, said)
        for jobs, step in ((2, 500), (7, 100), (1, 3000)):
            same(drawn(in_parts(table, step), wanted, said, jobs), first)
        shuffled = table.sample(frac=1, random_state=1, ignore_index=True)
        same(drawn(in_parts(shuffled), wanted, said, 3), first)
        table.to_csv(tmp_path / "a.csv", index=False)
        for path in (tmp_path / "a.csv", written(shuffled, tmp_path / "a.parquet", 170)):
            same(drawn(frames.opened(path), wanted, said, 5), first)
        for k in range(3):
            written(table[1000 * k : 1000 * (k + 1)], tmp_path / "parts" / f"{k}.parquet", 210)
        same(drawn(frames.opened(tmp_path / "parts"), wanted, said, 2), first)

    @part_and_whole("times", 2, 60)
    def test_in_each_cell_everybody_has_the_same_chance(self, times):
        table = people().assign(key=lambda t: t.free.astype(str) + t.region)
        counts = table.key.value_counts()
        hits = pd.Series(0.0, table.person)
        for seed in range(times):
            found = drawn(in_parts(table), replace(WANTED, seed=seed))
            hits[found.table.index] += 1
            assert found.phase.weights.sum() == pytest.approx(len(table))
            of_cell = pd.Series(found.phase.chances, found.table.index).groupby(found.table.key)
            taken = found.table.key.value_counts()
            assert (taken >= np.minimum(counts, 40)[taken.index]).all() and (of_cell.min() == of_cell.max()).all()
        for key, own in table.groupby("key"):
            expected = of_cell.min()[key] * times
            z = (hits[own.person].to_numpy() - expected) / np.sqrt(max(expected * (1 - of_cell.min()[key]), 1e-12))
            assert expected == times or abs(np.mean(z**2) - 1) < 6 * np.sqrt(2 / len(own))
            assert hits[own.person].mean() == pytest.approx(expected)

    def test_rivals_are_drawn_apart_and_who_may_not_be_asked_is_none(self):
        table = people().assign(no=lambda t: t.age > 80, y=lambda t: np.where(t.age < 25, 1.0, np.nan))
        said = ColumnHints(frozenset({"free", "no", "y"}))
        found = drawn(in_parts(table), replace(WANTED, known="y", excluded="no"), said)
        assert len(found.rivals) == 100 and not found.rivals.no.any() and found.rivals.y.isna().all()
        assert found.table.no.any() and found.table.y.notna().any()
        assert len(found.rivals.index.intersection(found.table.index)) < 40

    def test_whole_clusters_come_whole_and_with_who_must_be_asked(self):
        table = people().assign(must=lambda t: t.person.isin([9, 500]))
        wanted = SampleRequest(400, 50, cluster="home", included="must", by=("free",))
        found = drawn(in_parts(table), wanted, ColumnHints(frozenset({"free", "home", "must"})), 4)
        sizes = table.home.value_counts()
        assert {9, 500} <= set(found.table.index)
        for part in (found.table, found.rivals):
            own = part.home.value_counts()
            assert (own == sizes[own.index]).all()
        mates = found.table.home.isin(table.home[table.must])
        assert (found.phase.chances[mates] == 1).all() and found.rivals.home.nunique() == 50

    @pytest.mark.parametrize(
        ("change", "said", "wrong"),
        [
            ({"person": lambda t: t.person.replace(9, 8)}, {"identifier": "person"}, "8 more than once"),
            ({"person": lambda t: t.person.replace(9, 8)}, {}, "'person' .*--kind person"),
            ({"person": lambda t: t.person.where(t.person > 7)}, {"identifier": "person"}, "1 have no name"),
            ({"code": lambda t: [f"c{k}" for k in range(len(t))]}, {}, "'person' and 'code'"),
            ({}, {"identifier": "gone"}, "gone"),
        ],
    )
    def test_names_are_checked(self, change, said, wrong):
        with pytest.raises(ValueError, match=wrong):
            drawn(in_parts(people().assign(**change)), said=ColumnHints(frozenset({"free"}), **said), jobs=3)

    @pytest.mark.parametrize(("column", "value"), [("age", np.nan), ("bmi", np.inf), ("fee", 0.0)])
    def test_cells_of_people_outside_of_the_sample_are_checked_too(self, tmp_path, column, value):
        table = people()
        path = written(table.assign(**{column: table[column].where(table.person != 8, value)}), tmp_path / "a.parquet")
        with pytest.raises(ValueError, match=f"'{column}'"):
            Planner("free", 40, cost="fee", sample=100).sample(path, workers=1)

    def test_a_damaged_row_group_is_named_and_a_large_one_refused(self, tmp_path):
        path = written(people(), tmp_path / "people.parquet")
        with pytest.raises(ValueError, match="row group"):
            frames.opened(path).check_memory(1e3)
        chunk = pq.ParquetFile(path).metadata.row_group(3).column(2)
        content = bytearray(path.read_bytes())
        middle = chunk.data_page_offset + chunk.total_compressed_size // 3
        content[middle : middle + 40] = bytes(byte ^ 255 for byte in content[middle : middle + 40])
        path.write_bytes(content)
        with pytest.raises(ValueError, match="rows 601 to 800"):
            drawn(frames.opened(path))


PLANS = {
    "money": {"cost": "fee", "budget": 400},
    "quotas": {"budget": 40, "quotas": ["region>=10", "region=south<=40%", "age=75..|25>=12"]},
    "clusters": {"budget": 40, "cluster": "home"},
    "arms": {"budget": 40, "reference": "none", "treatment": "arm"},
    "marks": {"budget": 40, "exclude": "no", "include": "yes", "response": "chance"},
    "macal": {"budget": 40, "criterion": "macal"},
    "macal, money": {"cost": "fee", "budget": 400, "criterion": "macal"},
}


def everything():
    table = people()
    rng = np.random.default_rng(1)
    table["arm"] = rng.choice(["none", "call", "sms"], len(table))
    table["no"], table["yes"] = table.age > 80, table.person.isin([9, 11])
    return table.assign(chance=rng.uniform(0.5, 1, len(table)).round(2))


@pytest.mark.parametrize("name", [name if name in ("quotas", "macal, money") else exhaustive(name) for name in PLANS])
def test_every_demand_is_kept_at_any_size(tmp_path, unchecked, monkeypatch, name):
    monkeypatch.setattr(steps, "AUDIT_SIZE", 300)
    options = {"treatment": "free", "sample": 600, "criterion": "alc-fixed"} | PLANS[name]
    ignored = {c: "ignore" for c in ("arm", "free", "no", "yes", "chance", "home") if c not in options.values()}
    made = Planner(**options, kinds=ignored)
    path = written(everything(), tmp_path / "people.parquet", 500)
    whole = made.sample(path, workers=1)
    plan = made.plan(whole)
    table = everything().set_index("person")
    asked = table.loc[plan.index]
    cost = asked.fee if "cost" in options else pd.Series(1.0, asked.index)
    assert plan.cost.tolist() == cost.tolist() and plan.cost.sum() <= options["budget"] < plan.cost.sum() + 60
    if name == "quotas":
        assert asked.region.value_counts().min() >= 10 and (asked.region == "south").mean() <= 0.4
        assert ((asked.age >= 75) | (asked.age == 25)).sum() >= 12
    if name == "clusters":
        assert (asked.home.value_counts() == table.home.value_counts()[asked.home.value_counts().index]).all()
    if name == "marks":
        assert not (asked.no & ~asked.yes).any() and asked.yes.sum() == 2 and plan.reserve.notna().any()
    found = made.audit()
    assert len(found.ahead) == len(found.bounds) > 0 and len(found.halves) == 2 and 0 < found.open < 1
    assert found.clusters == (name == "clusters") and found.pairs == ("macal" in name)
    assert np.median(found.ahead) <= 0.05 * found.rivals, found.ahead
    # taken up without the table
    made.save(tmp_path / "c.json")
    again = Planner.load(tmp_path / "c.json", None)
    assert again.campaign.audit == found and again.campaign.audit.facts() == found.facts()
    answers = {unit: float(k % 7) for k, unit in enumerate(plan.index[plan["round"] <= 2])}
    for one in (made, again):
        one.observe(answers)
        pd.testing.assert_frame_equal(one.replan(), made.replan())
        assert one.campaign.audit is None  # it was of another plan
    with pytest.raises(ValueError, match="audit sample"):
        again.audit()


def test_rivals_ahead_are_those_whose_gain_is_larger(unchecked):
    table = people(800)
    made = Planner("free", 12, sample=200, kinds={"home": "ignore"}, criterion="qhte")
    with executor(None, 1, 1e9) as calls:
        plan = made.plan(
            sampled(in_parts(table), made.campaign.columns.hints(), made.campaign.sample_request(200, 300), calls)
        )
    found = made.audit()
    n = len(made.people)
    both = made.people.extended_by(made.campaign.table.rivals, made.campaign.columns).problem.pool
    units, told = made.people.positions(plan.index, "the plan"), []
    for k, unit in enumerate(units):
        near = np.full(len(both.t), np.inf)
        for label in units[:k]:
            own = both.t == both.t[label]
            near[own] = np.minimum(near[own], np.linalg.norm(both.x[own] - both.x[label], axis=1))
        told.append(int((near[n:] > near[unit] * (1 + 1e-9)).sum()) if np.isfinite(near[unit]) else 0)
    assert found.ahead == told and found.rivals == len(both.t) - n
    assert found.bounds == rank_bounds(found.ahead, found.rivals).tolist()


def test_candidates_in_memory_are_a_sample_and_the_plan_is_of_everybody(unchecked):
    def planned(table, sample=500):
        made = Planner("free", 40, sample=sample, kinds={"home": "ignore"}, criterion="alc-fixed")
        return made, made.plan(table)

    (made, plan), (_, other) = planned(people()), planned(people().sample(frac=1, random_state=2))
    assert len(made.people) == 3000 and len(made.campaign.plan_trace.people) < 700
    assert set(other.index) == set(plan.index)  # any order of the rows, the same people
    assert made.audit().rivals > 2000
    with pytest.raises(ValueError, match="audit"):
        planned(people(), "all")[0].audit()


def two_phases(seed, size=1000):
    """The weighted estimate of a plan that is drawn from a sample of 10,000 people, and the true effect."""
    rng = np.random.default_rng(seed)
    n = 10_000
    x = rng.normal(size=(n, 3))
    group = rng.choice(["a", "b"], n, p=[0.1, 0.9])
    t = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    tau = 1 + x[:, 1] + 2 * (group == "a")
    y = x.sum(axis=1) + tau * t + rng.normal(size=n)
    table = pd.DataFrame({"person": np.arange(n), "free": t, "group": group, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})
    made = Planner("free", 200, draw="effect", quotas=["group>=40"], seed=seed, batch_size=200)
    wanted = made.campaign.sample_request(size, 0)
    made.plan(drawn(in_parts(table, n), wanted, made.campaign.columns.hints()))
    made.observe({unit: float(y[unit]) for unit in made.planned.index})
    return weighted_estimates(made.campaign, made.campaign.outcomes, 1).estimate


def test_reserves_of_a_sample_stand_for_as_many_as_others(unchecked):
    table = people(2000)
    made = Planner("free", 80, draw="effect", response=0.5, kinds={"home": "ignore"}, batch_size=80)
    made.plan(drawn(in_parts(table), made.campaign.sample_request(400, 0), made.campaign.columns.hints()))
    plan = made.planned
    answers = dict.fromkeys(plan.index[::2]) | dict.fromkeys(plan["reserve"][::2].dropna(), 1.0)
    made.observe(answers | dict.fromkeys(plan.index[1::2], 1.0))
    survey = _survey(made.campaign, made.campaign.outcomes, np.arange(len(made.people)))
    assert survey.asked.sum() > 110
    assert (survey.asked / survey.inclusion_probability).sum() == pytest.approx(len(made.people), rel=0.2)


@part_and_whole("times", 3, 120)
def test_the_interval_of_two_phases_covers(unchecked, times):
    truth = 1 + 2 * 0.1
    hits = sum(found.low <= truth <= found.high for found in map(two_phases, range(times)))
    low, high = binom.interval(0.99, times, 0.95)
    assert low <= hits <= high, hits / times


def test_amounts_of_memory():
    assert [bytes_of(text) for text in ("8GB", "500 mb", "1.5g", "2kib")] == [8e9, 5e8, 1.5e9, 2e3]


def test_the_command(here, capsys, unchecked, monkeypatch):
    monkeypatch.setattr(steps, "AUDIT_SIZE", 200)
    written(people(), here / "people.parquet", 500)
    given = "plan people.parquet --treatment free --budget 30 --kind home=ignore --sample 500 --workers 1".split()
    given += ["--criterion", "alc-fixed"]
    assert main([*given, "-o", "plan.csv", "--campaign", "c.json", "--report", "r.html"]) == 0
    plan, text = pd.read_csv("plan.csv"), (here / "r.html").read_text()
    assert "95%" in capsys.readouterr().out and len(plan) == 30
    assert "3,000 people" in text and "others alike" not in text
    plan.head(10).assign(y=1.0)[["person", "y"]].to_csv("answers.csv", index=False)
    (here / "people.parquet").unlink()  # the campaign holds the sample
    assert main(["observe", "c.json", "people.parquet", "answers.csv"]) == 0
    assert main(["replan", "c.json", "people.parquet", "-o", "next.csv"]) == 0
    assert pd.read_csv("next.csv").person.tolist()[:10] == plan.person.tolist()[:10]
    written(people(), here / "people.parquet", 500)
    for wrong in (["--memory", "much"], ["--sample", "some"]):
        with pytest.raises(SystemExit):
            main([*given, "-o", "x.csv", *wrong])
    assert main([*given, "-o", "x.csv", "--memory", "100MB"]) == 1 and not (here / "x.csv").exists()


def test_roles_are_shown(tmp_path, capsys):
    table = people(50)
    table.assign(age=table.age.where(table.index > 2)).to_csv(tmp_path / "people.csv", index=False)
    assert main(["roles", str(tmp_path / "people.csv"), "--kind", "home=ignore"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["person", "identifier", "guessed"] in lines and ["region", "covariate", "category"] in lines
    assert ["home", "left", "out", "as", "given"] in lines
    assert {"3", "gaps,"} <= {*next(line for line in lines if line[:1] == ["age"])}


@pytest.mark.exhaustive
def test_processes_that_die_are_replaced(tmp_path):
    path = written(people(), tmp_path / "people.parquet", 100)
    marks = [str(tmp_path / f"mark{k}") for k in range(3)]
    jobs = [(len, "abc"[: k % 4], marks[k] if k < 3 else None) for k in range(12)]
    with executor(None, 2, 1e9) as calls:
        assert calls(deadly, jobs, "counting") == [k % 4 for k in range(12)]
        same(sampled(frames.opened(path), SAID, WANTED, calls, 5), drawn(frames.opened(path)))
    assert all(map(os.path.exists, marks))
