"""The bench: what a campaign records, and what the verdicts S1 to S3 say of made-up errors."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import macal
from macal.campaigns import begin
from macal.registry import UnknownName
from reproduction.claims import RULES, Rules, bench
from reproduction.methods import Method, label
from reproduction.studies import bench as study


def made(lead, rows=6, replications=20, noise=0.02):
    """Log errors on so many rows of three estimators each: criterion -> its log ratio to the others, per estimator."""
    rng = np.random.default_rng(0)
    models = ["exact GP", "joint GP", "T-learner"]
    places = [(f"data{k // 3}", models[k % 3], r) for k in range(rows) for r in range(replications)]
    index = pd.MultiIndex.from_tuples(places, names=["dataset", "model", "replication"])
    errors = rng.normal(size=(len(index), 1)) + noise * rng.normal(size=(len(index), 19))
    logs = pd.DataFrame(errors, index, bench.METHODS)
    for method, by_model in lead.items():
        shift = dict(zip(models, np.broadcast_to(by_model, 3), strict=True))
        logs[method] += np.array([shift[model] for _, model, _ in index])
    return logs


@pytest.fixture
def given(monkeypatch):
    return lambda logs: monkeypatch.setattr(bench, "load", lambda rules: logs)


@pytest.mark.exhaustive
def test_a_campaign_is_chosen_by_one_model_and_judged_by_all():
    (answer,) = study.campaign("ihdp", 1, "alc").work()
    problem = macal.load("ihdp", 1)
    played = begin(problem, "alc", n_queries=12)
    played.choose_remaining(study.CHOOSER)
    assert [list(b) for b in answer.picks] == [b.tolist() for b in played.batches]
    rows = pd.DataFrame(answer.rows)
    assert rows.groupby("model", sort=False).labelled.agg(list).tolist() == [[50, 90, 130]] * len(study.ESTIMATORS)
    sets = [played.labelled(k) for k in (4, 8, 12)]
    for name in ("joint GP", "S-learner"):
        expected = macal.evaluate(problem, sets, study.ESTIMATORS[name]).pehe.tolist()
        assert rows[rows.model == name].pehe.tolist() == expected
    assert rows.treated[:3].tolist() == [problem.pool.t[s].sum() for s in sets]


@pytest.mark.parametrize(
    ("name", "method", "called"),
    [
        ("random-balanced", Method("random-balanced"), "Random, equal allocation"),
        ("macal-rolling", Method("macal-rolling"), "MACAL, rolling"),
        ("macal-0", Method("macal", 0.0), "MACAL, α = 0"),
        ("macal-squared", Method("macal", is_squared=True), "MACAL, squared"),
        ("macal-squared-10", Method("macal", 10.0, True), "MACAL, squared, α = 10"),
        ("epig-tau-ahead", Method("epig-tau", lookahead=4), "EPIG-τ, 4 queries ahead"),
    ],
)
def test_a_name_stands_for_a_criterion_with_its_settings(name, method, called):
    assert Method.parse(name) == method and label(name) == called
    settings = {"alpha": method.alpha, "metric": "sqeuclidean" if method.is_squared else None}
    made, given = method.make(), {key: value for key, value in settings.items() if value is not None}
    assert made == macal.acquisition.get(method.criterion, **given)


def test_what_is_no_method_keeps_its_name():
    for name in ("share-0.05", "log_ratio", "exact GP", ""):
        assert label(name) == name
    with pytest.raises(UnknownName, match="nobody"):
        Method.parse("nobody-5").make()


def test_advice_is_what_loses_least_of_what_a_situation_allows():
    logs = made({"alc": -0.3, "macal": -0.2, "alc-fixed": (-0.1, -0.25, -0.3), "epig-mu": (-0.9, 0.2, 0.2)})
    told = bench.advice(logs)
    means = logs.groupby(["dataset", "model"]).mean()
    lost = means.sub(means.min(axis=1), axis=0)
    free = lost[study.PLANNED].mean()
    assert told.method.tolist() == [free.idxmin(), lost.mean().idxmin()] == ["alc-fixed", "alc"]
    for name, row in told.iterrows():
        assert row.average == pytest.approx(lost[row.method].mean()), name
        assert row.regret == pytest.approx(lost[row.method].max()) and row.rival == "epig-mu"


def test_errors_are_averaged_over_sizes_as_logarithms():
    rows = [("d", "m", 0, "macal", size, pehe) for size, pehe in ((50, 1.0), (90, np.exp(2)))]
    table = pd.DataFrame(rows, columns=["dataset", "model", "replication", "method", "labelled", "pehe"])
    wide = bench.by_method(table)
    assert wide.loc[("d", "m", 0), "macal"] == pytest.approx(1.0) and np.isnan(wide.loc[("d", "m", 0), "qhte"])


def test_tables_below_the_minimum_are_not_judged(monkeypatch):
    monkeypatch.setattr(bench.tables, "load", lambda name: pytest.fail(f"{name} is read"))
    for judge in (bench.judge_fccm, bench.judge_targets, bench.judge_regret):
        assert judge(Rules(minimum=21)).verdict == "open"


@pytest.mark.parametrize(
    ("lead", "word"),
    [(-0.2, "holds"), (0.2, "fails"), ((-0.2, 0.2, 0.2), "holds in part"), (0.0, "fails")],
)
def test_fccm_against_macal(given, lead, word):
    given(made({"fccm": lead}))
    assert bench.judge_fccm(RULES).verdict == word


def test_rows_that_are_not_decided_do_not_count(given):
    logs = made({"fccm": 0.2})
    rows = logs.index.get_level_values("model") == "T-learner"
    logs.loc[rows, "fccm"] += 3 * np.random.default_rng(1).normal(size=rows.sum())
    given(logs)
    found = bench.judge_fccm(RULES)
    assert found.verdict == "fails" and "4 behind, 0 no lead, 2 open" in found.evidence


def test_fccm_against_macal_may_stay_open(given):
    given(made({"fccm": -0.1}, rows=3, replications=4, noise=0.3))
    assert bench.judge_fccm(RULES).verdict == "open"


@pytest.mark.parametrize(
    ("lead", "word"),
    [((-0.2, 0.2, 0.0), "holds"), (0.2, "fails"), ((0.2, 0.2, 0.0), "open"), (0.0, "open")],
)
def test_the_estimator_decides_between_the_targets(given, lead, word):
    given(made({"epig-mu": lead}))
    assert bench.judge_targets(RULES).verdict == word


def test_one_criterion_within_the_goal_everywhere(given):
    worse = dict.fromkeys(bench.METHODS[:-1], 0.3)
    given(made(worse, rows=bench.ROWS))
    found = bench.judge_regret(RULES)
    assert found.verdict == "holds" and bench.METHODS[-1] in found.evidence
    given(made(worse, rows=bench.ROWS - 1))  # a row is still to come
    assert bench.judge_regret(RULES).verdict == "open"
    given(made(worse | {bench.METHODS[-1]: (0, 0, 0.5)}))  # on six rows already
    assert bench.judge_regret(RULES).verdict == "fails"


def test_intervals_hold_together_over_all_rows_and_rivals():
    logs = made({}, rows=1, replications=5, noise=0.1)
    gaps = logs[["macal"]].to_numpy() - logs.drop(columns="macal").to_numpy()
    reach = stats.t.ppf(1 - 0.05 / (2 * bench.ROWS * 18), 4) * gaps.std(axis=0, ddof=1) / np.sqrt(5)
    worst = (gaps.mean(axis=0) + reach).max()
    for part, word in ((1.001, "within"), (0.999, "open")):
        assert bench.beyond(logs, RULES, np.expm1(part * worst))["macal"].tolist() == [word]


def test_halves_take_off_what_chance_gives_the_best():
    logs = made({}, rows=2, replications=6, noise=1.0)
    kept, seen = bench.halved(logs), bench.average(bench.regret(logs))
    assert (seen > 0).sum() > 15 and kept.mean() < seen.mean() / 2  # no criterion is better: all regret is chance
    clear = made({"alc": -0.3}, rows=2, replications=6, noise=1e-6)
    assert bench.halved(clear).to_numpy() == pytest.approx(bench.average(bench.regret(clear)).to_numpy(), abs=1e-4)
    assert bench.halved(logs).equals(kept)


def test_regret_is_the_log_ratio_to_the_best_of_the_row():
    logs = made({"alc": -0.1, "macal": (0, 0, 0.4)}, noise=1e-6)
    found = bench.regret(logs)
    assert found.loc[("data0", "T-learner"), "macal"] == pytest.approx(0.5, abs=1e-4)
    assert (found["alc"] == 0).all()
    assert found.drop(columns=["alc", "macal"]).to_numpy() == pytest.approx(0.1, abs=1e-4)
    most = bench.largest(logs)
    assert most.index[0] == "alc" and most.rows["alc"] == 6
    assert most.regret["macal"] == pytest.approx(0.5, abs=1e-4) and most.rival["macal"] == "alc"
    assert most.row["macal"] in (("data0", "T-learner"), ("data1", "T-learner"))
