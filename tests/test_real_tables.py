"""Six real tables: what is read of them, the outcome functions on them, the campaigns, and the verdict over tables."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from needs import needs_data
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

import macal
from macal import results
from macal.campaigns import evaluation
from macal.datasets import files, real
from macal.models import NotFitted
from macal.problem import Problem, Split
from macal.registry import UnknownName
from reproduction.claims import RULES
from reproduction.claims import real_tables as claim
from reproduction.studies import real_tables as study
from reproduction.studies import surfaces, tables

PEOPLE = {  # and how many are treated
    "rhc": (5735, 2184),
    "college": (3010, 2053),
    "letters": (5593, 364),
    "hiv": (2901, 2222),
    "lalonde": (16437, 185),
    "insurance": (1410, 693),
    "resume": (4870, 2435),
    "star": (5786, 1738),
    "jobs": (899, 600),
    "colon": (929, 614),
    "k401ksubs": (9275, 3637),
    "catholic": (7430, 452),
    "recid": (1445, 672),
    "nmes1988": (4406, 3421),
    "rotterdam": (2982, 339),
    "bwght2": (1722, 147),
    "hi": (22272, 11053),
    "smokeban": (10000, 6098),
}
# outcomes, what follows from the treatment or is it, names of people and places, dates
NEVER = {
    "rhc": {"swang1", "t3d30", "dth30", "death", "surv2md1", "ptid", "sadmdte", "dschdte", "dthdte", "lstctdte", "Unnamed: 0"},
    "college": {"nearc4", "lwage", "educ", "exper"},
    "letters": {"leg_black", "responded"},
    "hiv": {"any", "got", "tinc", "villnum"},
    "lalonde": {"treat", "re78", "data_id"},
    "insurance": {"intensive", "takeup_survey", "address", "village"},
    "resume": {"call", "ethnicity", "name"},
    "star": {"stark", "readk", "mathk", "star1", "read1", "lunch1", "schoolidk", "systemk"},
    "jobs": {"treat", "depress2", "job_seek", "work1", "comply", "control", "job_dich", "job_disc"},
    "colon": {"rx", "status", "time", "node4", "etype", "id", "study"},
    "k401ksubs": {"e401k", "nettfa", "p401k", "incsq", "agesq"},
    "catholic": {"cathhs", "math12", "read12", "hsgrad", "id"},
    "recid": {"workprg", "ldurat", "durat", "cens", "follow", "tserved", "rules", "super"},
    "nmes1988": {"insurance", "visits", "nvisits", "ovisits", "novisits", "emergency", "hospital", "medicaid"},
    "rotterdam": {"hormon", "death", "dtime", "rtime", "recur", "chemo", "pid"},
    "bwght2": {"cigs", "bwght", "lbwght", "lbw", "vlbw", "omaps", "fmaps", "npvis", "monpre", "drink"},
    "hi": {"hhi", "whrswk", "whi", "hhi2", "wght"},
    "smokeban": {"ban", "smoker"},
}


# ---------------------------------------------------------------- the tables


@needs_data("tables")
@pytest.mark.parametrize("name", real.TABLES)
def test_outcomes_and_treatments_are_no_covariates(name):
    table, about = real.people(name), real.TABLES[name]
    assert (len(table.t), table.t.sum()) == PEOPLE[name]
    own = {column.removesuffix(" missing") for column in table.columns}
    assert own == {*about.numbers, *about.categories} and not own & NEVER[name]
    x = table.covariates(np.arange(len(table.t)))
    assert len(x) == len(table.t) and np.isfinite(x).all()
    assert not any(np.array_equal(np.unique(column), [0, 1]) and (column == table.t).all() for column in x.T)
    assert {*table.sources} == {f"tables/{file}" for file in about.files} <= {*files.GROUPS["tables"]}
    assert np.isnan(table.y).sum() == (67 if name == "hiv" else 0)
    assert (table.clusters is not None) == bool(about.clusters)


@needs_data("tables")
def test_gaps_are_filled_and_told_and_nobody_without_an_arm_is_kept():
    table = real.people("rhc")
    weight = table.columns["wtkilo1"]
    gone = table.columns["wtkilo1 missing"].to_numpy()
    assert gone.sum() == 515 and weight.min() > 0 and np.unique(weight[gone]).size == 1
    assert weight[gone][0] == np.median(weight[~gone])
    assert (table.columns["cat2"] == "missing").sum() == 4535 and table.columns["urin1 missing"].sum() == 3028
    with pytest.raises(UnknownName, match="unknown table 'lalond' .*lalonde"):
        real.people("lalond")


# ---------------------------------------------------------------- outcome functions and noise


def covariates(n=3000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return np.c_[rng.normal(size=(n, d)), rng.uniform(size=n) < 0.01]  # the last singles out a few


@pytest.mark.parametrize("surface", surfaces.DRAWN)
def test_drawn_functions_have_the_spread_that_was_stated(surface):
    x = covariates()
    mu0, mu1 = surfaces.drawn(surface, x, np.random.default_rng(1))
    again, _ = surfaces.drawn(surface, x, np.random.default_rng(2))
    assert (mu0.mean(), mu0.std()) == pytest.approx((0, 1))
    assert ((mu1 - mu0).mean(), (mu1 - mu0).std()) == pytest.approx((surfaces.EFFECT, surfaces.SPREAD))
    assert np.abs(np.corrcoef(mu0, again)[0, 1]) < 0.99


def test_functions_are_of_the_kind_that_they_are_called():
    x, rng = covariates(), np.random.default_rng(3)
    design = np.c_[np.ones(len(x)), x]
    for values in surfaces.linear(x, rng):
        assert design @ np.linalg.lstsq(design, values)[0] == pytest.approx(values)
    for values in surfaces.wave(x, rng):
        assert np.abs(values).max() <= 1
        assert np.linalg.lstsq(design, values)[1][0] > 0.1 * len(x) * values.var()  # bent, not linear
    for _ in range(20):
        baseline, effect = surfaces.sparse(x, rng)
        assert set(np.unique(effect)) == {0.0, 1.0} and 0.1 <= effect.mean() <= 0.9
        by = [abs(stats.spearmanr(column, effect).statistic) for column in x.T]
        assert np.argmax(by) < 6 and np.sort(by)[-2] < 0.1  # a step in one, never in the rare one
        assert residual(design, baseline) > 1e-3 > 1e-9 > residual(np.c_[design, products(x[:, :6])], baseline)


def products(x):
    return np.stack([x[:, a] * x[:, b] for a, b in itertools.combinations(range(x.shape[1]), 2)], axis=1)


def residual(design, values):
    return float(np.abs(values - design @ np.linalg.lstsq(design, values)[0]).max())


def test_noise_is_of_the_person_s_own_arm_and_of_the_stated_size():
    left = np.array([-1.0, 1.0]), np.array([-6.0, 2.0, 4.0])
    found = surfaces.Learnt(np.zeros(5), np.zeros(5), left)
    t = np.random.default_rng(0).integers(0, 2, 20_000)
    own = surfaces.noise("learnt", found, t, np.random.default_rng(1))
    assert {*own[t == 0]} == {*left[0]} and {*own[t == 1]} == {*left[1]}
    scaled = surfaces.noise("wave", found, t, np.random.default_rng(1))
    assert scaled == pytest.approx(own * surfaces.NOISE / np.concatenate(left).std())


@needs_data("tables")
def test_learnt_functions_follow_the_outcomes_and_residuals_are_of_people_left_out():
    name = "insurance"
    table, found = real.people(name), surfaces.learnt(name)
    assert (found.baseline.mean(), found.baseline.std()) == pytest.approx((0, 1))
    assert (found.effect.mean(), found.effect.std()) == pytest.approx((surfaces.EFFECT, surfaces.SPREAD))
    control = table.t == 0
    assert np.corrcoef(found.baseline[control], table.y[control])[0, 1] > 0.3
    assert [len(left) for left in found.residuals] == [control.sum(), (~control).sum()]
    assert all(left.mean() == pytest.approx(0) for left in found.residuals)
    x, y = table.covariates(np.arange(len(table.t)))[control], table.y[control]
    trees = HistGradientBoostingRegressor(**surfaces.TREES)
    left = np.empty(len(y))
    for rest, out in KFold(surfaces.FOLDS, shuffle=True, random_state=0).split(x):
        left[out] = y[out] - trees.fit(x[rest], y[rest]).predict(x[out])
    found = found.residuals[0] * y.std()
    assert np.corrcoef(found, left)[0, 1] == pytest.approx(1)
    assert (y - trees.fit(x, y).predict(x)).std() < 0.98 * left.std()  # trees that see a person leave less


# ---------------------------------------------------------------- the campaigns


@pytest.mark.exhaustive
@needs_data("tables")
@pytest.mark.parametrize("name", ["hiv", "lalonde"])
def test_a_replication_has_one_set_of_people_and_four_outcome_functions(name):
    problems, again, other = study.draw(name, 3), study.draw(name, 3)["wave"], study.draw(name, 4)["wave"]
    one = problems["learnt"]
    assert (len(one.pool), len(one.test), len(one.start)) == (*study.PEOPLE[name], study.START)
    for problem in problems.values():
        assert (problem.pool.x == one.pool.x).all() and (problem.start == one.start).all()
    assert len({problem.pool.mu0.tobytes() for problem in problems.values()}) == 4 == len(surfaces.SURFACES)
    assert (again.pool.y == problems["wave"].pool.y).all() and not (again.pool.t == other.pool.t).all()
    plain = one.pool.x[:, : len(real.TABLES[name].numbers)]
    assert plain.mean(axis=0) == pytest.approx(0, abs=1e-9) and plain.std(axis=0) == pytest.approx(1)


def outside(seed=0):
    """A problem of nobody's table."""
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    mu0, mu1 = x[:, 0], 2 * x[:, 1]
    units = Split(x, t, np.where(t == 1, mu1, mu0) + 0.1 * rng.normal(size=400), mu0, mu1)
    return Problem("own", units[:300], units[300:], np.arange(10), None, study.BATCH, max(study.STEPS), seed)


@pytest.mark.exhaustive
def test_plans_are_shared_and_answers_decide_the_rest(monkeypatch):
    monkeypatch.setattr(study, "STEPS", (1, 2))
    one = outside()
    other = Split(one.pool.x, one.pool.t, -one.pool.y, one.pool.mu0, one.pool.mu1)
    problems = {"one": one, "other": replace(one, pool=other)}
    shared = study.bought(problems, "macal")
    own = study.bought({"one": one, "other": outside(1)}, "alc")
    assert shared["one"] is shared["other"]
    assert not np.array_equal(np.concatenate(own["one"]), np.concatenate(own["other"]))
    planned, chosen = study.play(problems, ["macal", "alc"])
    assert len(planned.picks) == len(shared["one"]) and len(chosen.picks) == 2 * len(planned.picks)
    rows = pd.DataFrame(planned.rows)
    assert len(rows) == 2 * 2 * len(study.ESTIMATORS) and sorted({*rows.labelled}) == [20, 30]
    expected = macal.evaluate(one, [one.labelled(shared["one"][:2])], study.ESTIMATORS["ridge"]).pehe[0]
    assert rows.query("surface == 'one' and model == 'ridge' and labelled == 30").pehe.item() == pytest.approx(expected)
    assert rows.constant.unique() == pytest.approx([one.test.tau.std()])


def test_a_training_that_fails_counts_as_no_effect(monkeypatch):
    def refused(model, requests):
        raise NotFitted(0, "of a test")

    monkeypatch.setattr(evaluation, "train", refused)
    problem = outside()
    rows = study.errors(problem, np.arange(20))
    assert all(row["failed"] and row["pehe"] == pytest.approx(np.sqrt(np.mean(problem.test.tau**2))) for row in rows)


# ---------------------------------------------------------------- the verdict


def made(gaps, replications=study.REPLICATIONS, noise=0.01, methods=study.METHODS):
    """A recorded table whose default is so far from MACAL, by table: a row per surface and size."""
    rng, rows = np.random.default_rng(0), []
    for (name, gap), k, method in itertools.product(zip(study.PEOPLE, gaps, strict=True), range(replications), methods):
        level = {"macal": 0.0, "alc-fixed": gap}.get(method, 0.2)
        for surface, labelled in itertools.product(surfaces.SURFACES, (70, 150)):
            pehe = np.exp(level - 0.001 * labelled + noise * rng.normal())
            rows.append((name, k, method, surface, "ridge", labelled, pehe))
    found = pd.DataFrame(rows, columns=["table", "replication", "method", "surface", "model", "labelled", "pehe"])
    keys = found[["table", "replication", "method"]].drop_duplicates().to_dict("records")
    found.attrs["records"] = [{"config": config} for config in keys]
    return found


@pytest.fixture
def given(monkeypatch):
    def put(found):
        monkeypatch.setattr(tables, "load", lambda name: found)
        return claim.judge_default(RULES)

    return put


def test_the_table_is_the_unit():
    found = made([-0.3, -0.1, -0.2, 0.1, -0.4, 0.0])
    values = claim.contrast(claim.logs(found))
    assert values.to_numpy() == pytest.approx([-0.3, -0.1, -0.2, 0.1, -0.4, 0.0], abs=0.01)
    one, other = (
        found[found.method == m].set_index(["table", "replication", "surface", "labelled"])
        for m in ("alc-fixed", "macal")
    )
    plain = np.log(one.pehe / other.pehe).groupby("table").mean()
    assert values.to_dict() == pytest.approx(plain.to_dict())
    reach = stats.t.ppf(0.975, 5) * values.std(ddof=1) / np.sqrt(6)
    row = claim.against(claim.logs(found), "macal").loc["alc-fixed"]
    assert (row.low, row.high) == pytest.approx((values.mean() - reach, values.mean() + reach))
    rest = claim.left_out(values)
    for name in values.index:
        kept = values[values.index != name]
        reach = stats.t.ppf(0.975, 4) * kept.std(ddof=1) / np.sqrt(5)
        assert rest.loc[name, ["low", "log_ratio", "high"]].tolist() == pytest.approx(
            [kept.mean() - reach, kept.mean(), kept.mean() + reach]
        )


def test_regret_and_the_share_of_trainings_that_are_of_use():
    found = made([-0.3, -0.1, -0.2, 0.1, -0.4, 0.05], noise=0)
    lost = claim.regret(claim.logs(found))
    assert lost["alc-fixed"].tolist() == pytest.approx([0, 0, 0, 0.1, 0, 0.05])
    assert lost["random"].tolist() == pytest.approx([0.5, 0.3, 0.4, 0.2, 0.6, 0.2])
    rng = np.random.default_rng(0)
    found["constant"] = found.pehe * np.where(rng.uniform(size=len(found)) < 0.3, 1.1, 0.9)
    shares = claim.beaten(found)
    own = found[(found.method == "alc-fixed") & (found.table == "hiv") & (found.surface == "wave")]
    assert shares.loc["hiv", "wave"] == pytest.approx((own.pehe < own.constant).sum() / len(own))
    assert [*shares.index] == [*study.PEOPLE] and [*shares] == [*surfaces.SURFACES]


@pytest.mark.parametrize(
    ("gaps", "word", "default"),
    [
        ([-0.2, -0.21, -0.19, -0.22, -0.18, -0.2], "holds", "kept, and ahead"),
        ([-0.3, -0.25, -0.2, -0.1, -0.02, 0.01], "holds in part", "kept, and ahead"),
        ([-0.3, 0.3, -0.2, 0.2, -0.1, 0.1], "undecided", "kept, not told apart"),
        ([0.01, -0.01, 0.0, 0.02, -0.02, 0.0], "does not hold", "kept, not told apart"),
        ([0.2, 0.21, 0.19, 0.22, 0.18, 0.2], "does not hold", "changed"),
    ],
)
def test_the_verdict_and_what_follows_for_the_default(given, gaps, word, default):
    found = given(made(gaps, noise=1e-4))
    assert found.verdict == word and default in found.evidence


def test_nothing_is_judged_before_the_end(given, monkeypatch, tmp_path):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(tables, "UNDERWAY", tmp_path / "underway")
    found = given(made([-0.2] * 6, methods=[m for m in study.METHODS if m != "random"]))
    assert found.verdict == "not tested" and "0 of 20" in found.evidence
    assert [claim.complete(made([-0.2] * 6, replications=k)) for k in (7, 20)] == [7, 20]
