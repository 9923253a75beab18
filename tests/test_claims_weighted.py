"""Verdicts on coverage and saving, on made-up tables of simulations."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from reproduction.claims import RULES, weighted
from reproduction.studies import quotas, tables
from reproduction.studies import weighted as study

WIDTHS = {("srs", 100): 2.0**0.5, ("srs", 200): 1.0, ("srs", 400): 0.5**0.5}  # width^2 = 200 / labels


def made(held, width=0.5, blocks=20):
    """A table with so many intervals that held per block of 100, and a width of drawn labels."""
    widths = WIDTHS | {("macal", 200): 1.2, ("ate", 200): width}
    about = {"simulations": 100, "refused": 0, "held": held, "squared": 0.01}
    rows = [
        {"world": world, "design": design, "labelled": size, "width": w} | about
        for world in study.WORLDS
        for _ in range(blocks)
        for (design, size), w in widths.items()
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def given(monkeypatch):
    return lambda table: monkeypatch.setattr(tables, "load", lambda name: table)


@pytest.mark.parametrize(
    ("held", "word"), [(95, "holds"), (94, "holds"), (80, "does not hold"), (99.9, "does not hold")]
)
def test_coverage(given, held, word):
    given(made(held))
    assert weighted.judge_coverage(RULES).verdict == word


def test_coverage_a_little_off_is_open_and_one_bad_design_is_told(given):
    given(made(93.6))
    assert weighted.judge_coverage(RULES).verdict == "undecided"
    table = made(95)
    table.loc[(table.world == "curved") & (table.design == "ate"), "held"] = 85
    given(table)
    found = weighted.judge_coverage(RULES)
    assert found.verdict == "holds in part" and "'curved'" in found.evidence


@pytest.mark.parametrize(("width", "word"), [(0.45, "holds"), (0.6, "does not hold"), (1.1, "does not hold")])
def test_saving(given, width, word):
    given(made(95, width))
    assert weighted.judge_saving(RULES).verdict == word


def test_open_cases_do_not_open_what_others_refute():
    assert weighted.of_all(["does not hold", "undecided"]) == "does not hold"
    assert weighted.of_all(["does not hold", "undecided", "holds"]) == "holds in part"
    assert weighted.of_all(["holds", "undecided"]) == "undecided" and weighted.of_all(["holds"]) == "holds"


def test_saving_is_what_the_law_of_the_width_says(given):
    found = weighted.savings(weighted.coverage(made(95, 0.5), RULES))
    again = weighted.savings(weighted.coverage(made(95, WIDTHS["srs", 400]), RULES))
    assert again.needed["curved", "ate"] == pytest.approx(400)
    assert found.loc[("observed", "ate"), "needed"] == pytest.approx(800)
    assert found.saved["observed", "ate"] == pytest.approx(0.75)
    assert found.saved["trial", "macal"] == pytest.approx(1 - 1.44) and found.sound.all()


def test_a_world_whose_intervals_do_not_hold_is_left_out(given):
    table = made(95, 0.45)
    table.loc[(table.world == "curved") & (table.design == "srs"), "held"] = 80
    table.loc[(table.world == "curved") & (table.design == "ate"), "width"] = 0.9
    given(table)
    found = weighted.judge_saving(RULES)
    assert found.verdict == "holds" and "curved" in found.evidence
    given(made(80))
    assert weighted.judge_saving(RULES).verdict == "not tested"


def test_a_table_that_is_not_complete_is_not_looked_at(given):
    given(made(95, blocks=19))
    assert weighted.judge_coverage(RULES).verdict == weighted.judge_saving(RULES).verdict == "not tested"


def test_a_block_is_the_sum_of_its_simulations(monkeypatch):
    monkeypatch.setattr(study, "BLOCK", 2)
    (answer,) = study.block("trial", 4).work()
    rows = pd.DataFrame(answer.rows).set_index(["design", "labelled"])
    alone = [{(r["design"], r["labelled"]): r for r in study.simulate("trial", seed)} for seed in (4, 5)]
    assert rows.index.tolist() == list(alone[0]) and rows.simulations.eq(2).all()
    for key, row in rows.iterrows():
        assert row.held == sum(one[key]["held"] for one in alone)
        assert row.squared == pytest.approx(sum(one[key]["error"] ** 2 for one in alone) / 2)
    assert rows.treated["informed", 200] > rows.treated["ate", 200] > rows.treated["srs", 200]
    assert len(tables.get("weighted_ate").jobs(2)) == 3 and rows.refused.eq(0).all()


def test_a_sample_without_enough_of_an_arm_is_refused(monkeypatch):
    monkeypatch.setattr(study, "BLOCK", 4)
    monkeypatch.setattr(study, "LEAST", 15)
    rows = pd.DataFrame(study.block("curved", 0).work()[0].rows).set_index(["design", "labelled"])
    alone = pd.DataFrame([r for seed in range(4) for r in study.simulate("curved", seed)])
    few = alone[(alone.design == "srs") & (alone.labelled == 100)]
    assert 0 < rows.refused["srs", 100] == (few.treated < 15).sum() == few.width.isna().sum() < 4
    assert rows.simulations["srs", 100] == 4 - rows.refused["srs", 100]
    assert rows.width["srs", 100] == pytest.approx(few.width.mean()) and rows.refused["ate", 200] == 0


def test_a_simulation_under_quotas_keeps_to_them_and_comes_out_again():
    rows = quotas.simulate("trial", 3)
    assert [row["design"] for row in rows] == ["quotas", "costs"] and not any(row["broken"] for row in rows)
    assert rows[0]["asked"] == 200 and all(row["treated"] >= 0.6 * row["asked"] for row in rows)
    assert rows == quotas.simulate("trial", 3) and all(0 < row["width"] < 3 for row in rows)


def test_intervals_of_shares_are_clopper_and_pearsons():
    held, of = pd.Series([0, 3, 95, 100]), pd.Series([100] * 4)
    low, high = weighted.exact_interval(held, of, 0.02)
    found = [binomtest(k, 100).proportion_ci(0.98, method="exact") for k in held]
    np.testing.assert_allclose([low, high], [[one.low for one in found], [one.high for one in found]], atol=1e-12)
