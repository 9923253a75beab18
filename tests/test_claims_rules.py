"""The rules of evidence: what they let be spent, and that a page's parameters reach every judge."""

import numpy as np
import pandas as pd
import pytest
from cases import each
from scipy import stats

from macal import results
from reproduction import claims
from reproduction.claims import comparison, readings
from reproduction.claims.readings import CODE, WRITTEN
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.verdict import together
from reproduction.studies import tables

OUTRIGHT = {"T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "D1", "D2"}  # no comparison of methods
COMPARED = [claim for claim in claims.CLAIMS if claim.key not in OUTRIGHT]


@each("claim", COMPARED)
def test_the_minimum_reaches_every_judge(claim):
    assert {v.verdict for v in claim.verdicts(Rules(minimum=101))} == {"not tested"}


def test_spending_by_hand():
    z = stats.norm.isf(0.025)
    np.testing.assert_allclose(RULES.spent(1.0), 0.05)
    np.testing.assert_allclose(RULES.spent(0.3), 2 - 2 * stats.norm.cdf(z / np.sqrt(0.3)))
    assert RULES.spent(0.0) == 0.0 and Rules(level=0.2).spent(1.0) == pytest.approx(0.2)
    assert RULES.alike == pytest.approx(np.log(1.1))


def test_looks_together_spend_the_level(monkeypatch):
    made_up = tables.Table("ihdp_due", "ihdp", "made up", planned={"free": tables.Plan(20, (6, 12))})
    monkeypatch.setitem(tables.TABLES, "ihdp_due", made_up)
    share = WRITTEN.share("ihdp", RULES)
    spent = [share("random", n) for n in (6, 12, 20)]
    np.testing.assert_allclose(sum(spent), 1.0)
    np.testing.assert_allclose(0.05 * spent[0], RULES.spent(0.3))
    assert share("random", 25) == spent[2] and share("badge", 5) == 1.0  # nothing planned: complete


def test_a_table_is_judged_with_what_waits_to_be_merged(monkeypatch):
    row = {"method": "random", "replication": 0, "labelled": 10, "pehe": 1.0}
    made = {
        "ihdp_due": [row, row | {"replication": 20}, row | {"method": "macal-rolling", "replication": 3}],
        "ihdp_due-free": [row, row | {"labelled": 20}],
        "ihdp_due-mine": [row | {"labelled": 30}],  # not declared
        "ihdp_gp": [row | {"replication": 99}],
        "ihdp_input-1": [row | {"replication": k} for k in (20, 25, 26)],  # six are planned, from its first one on
    }

    def load(name):
        if name not in made:
            raise FileNotFoundError(name)
        return pd.DataFrame(made[name])

    monkeypatch.setattr(results, "load", load)
    recorded = property(lambda table: [part for part in table.parts if part in made])
    monkeypatch.setattr(tables.Table, "recorded", recorded)
    found = WRITTEN.load("ihdp")
    assert sorted(found[["method", "replication", "labelled"]].itertuples(index=False, name=None)) == [
        ("macal-rolling", 3, 10), ("random", 0, 10), ("random", 0, 20)]  # fmt: skip
    assert readings.load("ihdp_input-1")["replication"].tolist() == [20, 25]
    assert len(readings.load("ihdp_gp")) == 1 and CODE.load("ibm") is None


def test_the_plan_is_that_of_the_sweeps():
    complete = {("ihdp_due", "weight"), ("ibm_due", "weight"), ("ibm_due", "free"), ("ibm_gp", "free")}
    planned = {}
    for table in tables.TABLES.values():
        sweeps = table.specs()
        first = min((min(spec.replications) for spec in sweeps.values()), default=0)
        for spec in (sweeps[name] for name in table.sweeps):
            for method in spec.methods:
                key = table.name, readings.key_of(table.name, method)
                planned[key] = max(planned.get(key, 0), max(spec.replications) + 1 - first)
    assert planned == {
        (table.name, kind): plan.replications
        for table in tables.TABLES.values()
        for kind, plan in table.planned.items()
        if (table.name, kind) not in complete
    }


@pytest.mark.parametrize(
    ("words", "of", "verdict"),
    [
        (["holds", "holds"], None, "holds"),
        (["holds", "does not hold"], None, "holds in part"),
        (["holds", "does not hold", "undecided"], None, "holds in part"),
        (["holds", "undecided"], None, "undecided"),
        (["does not hold", "undecided"], None, "undecided"),
        (["holds in part", "holds"], None, "holds in part"),
        (["not tested", "holds"], None, "holds"),
        (["not tested", "tested in part"], None, "tested in part"),
        (["tested in part", "does not hold"], None, "does not hold"),
        ([], None, "not tested"),
        (["holds", "not tested"], 3, "holds in part"),
        (["holds"] * 3, 3, "holds"),
        (["does not hold"], 3, "does not hold"),
        (["undecided"], 3, "undecided"),
    ],
)
def test_several_cases_together(words, of, verdict):
    assert together(words, *[of] * bool(of)) == verdict


def frame(**columns):
    return pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})


def test_comparison_by_hand():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 10)
    noise -= noise.mean()
    found = comparison.against(frame(a=noise - 0.2, b=noise + 0.2, c=noise, d=30 * noise, e=noise[:2]), RULES)
    assert found.comparison.to_dict() == {"a": "ahead", "b": "behind", "c": "no lead", "d": "undecided"}
    low = stats.ttest_1samp(noise - 0.2, 0).confidence_interval(1 - 0.05 / 4).low
    assert found.low["a"] == pytest.approx(low) and np.isnan(found.needed["d"])


def test_no_lead_is_as_strict_as_a_lead():
    values = np.random.default_rng(1).normal(0.0, 0.1, 10)
    values -= values.mean()
    words = [comparison.against(frame(a=values), RULES, family=k).comparison["a"] for k in (1, 100)]
    assert words == ["no lead", "undecided"]


def test_an_early_look_is_stricter():
    values = [-0.1, -0.3, -0.2, -0.35, -0.05, -0.2]
    late, early = (comparison.against(frame(a=values), RULES, lambda m, n, s=s: s).loc["a"] for s in (1.0, 0.1))
    assert late.comparison == "ahead" and early.comparison == "undecided"
    assert early.p == pytest.approx(10 * late.p) and early.low < late.low


def test_an_open_question_says_what_it_would_take():
    values = np.array([-0.5, -0.4, 0.2, -0.1, 0.1, -0.3, 0.2, -0.2])
    found = comparison.against(frame(qhte=values), RULES)
    said = comparison.told(found, RULES)
    assert f"{found.needed['qhte']:.0f} replications" in said and "median" not in said
    assert "median" in comparison.told(comparison.against(frame(qhte=[*values, -0.1]), RULES), RULES)
    assert "1,000" in comparison.told(comparison.against(frame(qhte=values - values.mean()), RULES), RULES)
