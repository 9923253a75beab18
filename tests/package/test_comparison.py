"""Comparisons between methods: pairing and intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from macal.comparison import (
    beside,
    gaps,
    holm,
    interval,
    judge,
    labels_to_reach,
    levels,
    log_ratio,
    paired,
    shared,
    sign_flips,
    summary,
)

TABLE = pd.DataFrame(
    {
        "method": ["random"] * 3 + ["macal"] * 3,
        "replication": [0, 1, 2, 2, 0, 1],
        "labelled": 10,
        "pehe": [1.0, 2, 4, 2, 3, 2],
    }
)


def test_log_ratio_is_paired_by_replication():
    found = log_ratio(TABLE).set_index("replication").log_ratio
    np.testing.assert_allclose(found[[0, 1, 2]], np.log([3, 1, 0.5]))


@pytest.mark.parametrize(
    ("table", "baseline", "message"),
    [
        (TABLE, "qhte", "no rows of method 'qhte'; the table has: macal, random"),
        (TABLE.iloc[1:], "random", "lacks replications or sizes"),
    ],
)
def test_log_ratio_refuses(table, baseline, message):
    with pytest.raises(ValueError, match=message):
        log_ratio(table, baseline)


def test_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = [low <= 0 <= high for low, high in (interval(rng.normal(size=40), n_resamples=200) for _ in range(150))]
    assert 0.90 < np.mean(hits) < 0.98


def test_interval_needs_two():
    with pytest.raises(ValueError, match="at least two replications"):
        interval([1.0])


def campaigns(effect, replications=12):
    rng = np.random.default_rng(0)
    rows = [
        {
            "method": m,
            "replication": r,
            "labelled": n,
            "pehe": np.exp(rng.normal(0, 0.01) + r + (effect if m == "macal" else 0) - n / 50),
        }
        for m in ("random", "qhte", "macal")
        for r in range(replications)
        for n in (10, 20, 30)
    ]
    return pd.DataFrame(rows)


def test_a_method_is_set_against_all_others():
    found = paired(campaigns(-0.3))
    assert found.index.tolist() == ["random", "qhte"]
    np.testing.assert_allclose(found.log_ratio, -0.3, atol=0.02)
    assert (found.low < found.log_ratio).all() and (found.high < 0).all() and (found.difference < 0).all()
    assert (found.p < 1e-9).all()
    one = np.log(campaigns(-0.3).pivot_table("pehe", ["replication", "labelled"], "method"))
    lead = (one["macal"] - one["qhte"]).groupby("replication").mean()
    half = stats.t.ppf(1 - 0.025 / 2, 11) * lead.std(ddof=1) / np.sqrt(12)  # two comparisons
    np.testing.assert_allclose(found.loc["qhte", ["low", "high"]], [lead.mean() - half, lead.mean() + half])
    assert found.loc["qhte", "median"] == lead.median()
    low, high = sorted(
        stats.ttest_1samp((one["macal"] - one[m]).groupby("replication").mean(), 0).pvalue for m in ("random", "qhte")
    )
    np.testing.assert_allclose(sorted(found.p), sorted([2 * low, max(2 * low, high)]))  # Holm


def test_identical_methods_do_not_differ():
    table = pd.concat([TABLE[TABLE.method == "random"].assign(method=m) for m in ("macal", "random")])
    assert paired(table).loc["random", ["log_ratio", "low", "high", "p"]].tolist() == [0, 0, 0, 1]
    assert paired(table).loc["random", "p_flips"] == 1


def test_one_replication_is_no_comparison():
    with pytest.raises(ValueError, match="at least two replications, got 1"):
        paired(TABLE[TABLE.replication == 0])


def test_shared_rows():
    table = campaigns(0.0, 2)
    sparse = table[(table.method != "qhte") | (table.labelled != 20)]
    found = shared(sparse, ["macal", "qhte"])
    assert set(found.labelled) == {10, 30} and set(found.method) == {"macal", "qhte"} and len(found) == 8
    with pytest.raises(ValueError, match="no rows of bait"):
        shared(table, ["macal", "bait"])
    with pytest.raises(ValueError, match="no replication and number"):
        shared(table[(table.method == "macal") == (table.labelled == 10)], ["macal", "qhte"])


def test_methods_are_paired_on_what_both_have():
    table = pd.DataFrame(
        [(m, r, n, 2.0 ** (r * (m == "b")) * 3.0 ** (m == "macal"))
         for m, reps in (("macal", 5), ("a", 4), ("b", 2), ("c", 7)) for r in range(reps) for n in (10, 20)],
        columns=["method", "replication", "labelled", "pehe"],
    )  # fmt: skip
    found = paired(beside(table, "macal"), "macal")
    assert found.replications.to_dict() == {"a": 4, "b": 2, "c": 5}
    np.testing.assert_allclose(found.log_ratio, np.log([3, 3 / np.sqrt(2), 3]))
    with pytest.raises(ValueError, match="lacks replications or sizes"):
        paired(table, "macal")


def test_summary_by_hand():
    table = pd.DataFrame(
        {
            "method": ["random"] * 3 + ["macal"] * 2 + ["random"],
            "replication": [0, 1, 2, 0, 1, 0],
            "labelled": [50] * 5 + [90],
            "pehe": [2.0, 4.0, 9.0, 1.0, 1.0, 7.0],
        }
    )
    found = summary(table, 50)
    assert found.index.tolist() == ["macal", "random"] and found.replications.tolist() == [2, 3]
    np.testing.assert_allclose(found.loc["random", ["mean", "median"]].astype(float), [5, 4])
    np.testing.assert_allclose(found.log_ratio["macal"], np.log(1 / np.sqrt(8)))
    low, high = stats.ttest_1samp(np.log([1 / 2, 1 / 4]), 0).confidence_interval()
    np.testing.assert_allclose(found.loc["macal", ["low", "high"]].astype(float), [low, high])
    assert np.isnan(found.log_ratio["random"])
    alone = summary(table[table.replication == 0], 50)  # one replication: a ratio, and no interval
    np.testing.assert_allclose(alone.log_ratio["macal"], np.log(1 / 2))
    assert alone[["low", "high"]].isna().all(axis=None)


def test_gaps_are_over_the_sizes_that_both_have():
    table = campaigns(-0.3, 3)
    sparse = table[(table.method != "qhte") | (table.labelled == 10)]
    found = gaps(sparse)
    logs = np.log(sparse.set_index(["replication", "labelled", "method"]).pehe)
    np.testing.assert_allclose(found.loc[1, "qhte"], logs[1, 10, "macal"] - logs[1, 10, "qhte"])
    np.testing.assert_allclose(found.loc[1, "random"], (logs[1, :, "macal"] - logs[1, :, "random"]).mean())
    with pytest.raises(ValueError, match="no rows of method 'bait'"):
        gaps(table, "bait")
    with pytest.raises(ValueError, match="duplicate"):
        gaps(pd.concat([table, table]))


def test_gaps_of_arithmetic_means_by_hand():
    errors = {"macal": [1.0, 3.0, np.nan], "random": [4.0, 4.0, 9.0], "qhte": [1.0, np.nan, 5.0]}
    rows = [(m, 0, n, e) for m, own in errors.items() for n, e in zip((10, 20, 30), own, strict=True) if e == e]
    table = pd.DataFrame(rows, columns=["method", "replication", "labelled", "pehe"])
    found = gaps(table, mean="arithmetic")
    np.testing.assert_allclose(found[["random", "qhte"]], [[np.log(4 / 8), 0]])
    both = table[table["method"].isin(["macal", "random"]) & (table["labelled"] < 30)]
    np.testing.assert_allclose(gaps(both, mean="arithmetic")["random"], np.log(4 / 8))
    for mean, value in (("arithmetic", np.log(2)), ("geometric", np.log(3) / 2)):
        np.testing.assert_allclose(levels(both, mean=mean)["macal"], value)


def test_a_larger_family_widens():
    values = pd.DataFrame({"a": np.random.default_rng(0).normal(-0.2, 0.1, 8)})
    found = judge(values, family=4).loc["a"]
    test = stats.ttest_1samp(values["a"], 0)
    assert found.p == pytest.approx(4 * test.pvalue)
    assert found.low == pytest.approx(test.confidence_interval(1 - 0.05 / 4).low)


@pytest.mark.exhaustive
def test_intervals_say_what_the_test_says():
    rng, cut = np.random.default_rng(0), 0
    for _ in range(200):
        table = pd.DataFrame(rng.normal(rng.normal(0, 0.5, 4), 1, (12, 4)), columns=list("abcd"))
        found = judge(table)
        assert ((found.p < 0.05) == ((found.low >= 0) | (found.high <= 0))).all()
        half = stats.t.ppf(1 - 0.05 / 8, 11) * table.sem()
        for end, plain in (("low", found.log_ratio - half), ("high", found.log_ratio + half)):
            moved = ~np.isclose(found[end], plain)
            assert (found.loc[moved, end] == 0).all() and (found.p[moved] < 0.05).all()
            cut += moved.sum()
    assert cut > 5


@pytest.mark.exhaustive
def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(0).uniform(0, 0.1, 7)
    np.testing.assert_allclose(holm(p, 7), multitest.multipletests(p, method="holm")[1])
    np.testing.assert_allclose(holm(p, 9), multitest.multipletests([*p, 1, 1], method="holm")[1][:7])


def test_sign_flips_are_those_of_scipy():
    values = np.random.default_rng(0).normal(0.5, 1, 9)
    expected = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=2**9).pvalue
    assert sign_flips(values) == pytest.approx(expected)
    assert sign_flips(np.ones(5)) == 2 / 2**5
    many = np.random.default_rng(0).normal(0.25, 1, 60)
    assert sign_flips(many) == pytest.approx(stats.ttest_1samp(many, 0).pvalue, abs=0.02)
    assert sign_flips(many) == sign_flips(many)


def test_labels_to_reach_a_target_for_good():
    table = pd.DataFrame(
        {"method": "macal", "replication": [0, 0, 0, 1, 1, 1], "labelled": [10, 20, 30] * 2,
         "pehe": [3.0, 1, 1, 1, 3, 3]}
    )  # fmt: skip
    found = labels_to_reach(table, pd.Series({0: 2.0, 1: 2.0})).macal
    assert found.tolist() == [20, np.inf]
