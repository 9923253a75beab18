"""The rules of evidence: that a page's parameters reach every judge, and what several cases make."""

import numpy as np
import pandas as pd
import pytest
from cases import each
from scipy import stats

from macal import results
from reproduction import claims
from reproduction.claims import comparison, versions
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.verdict import together
from reproduction.claims.versions import CODE, TEXT
from reproduction.studies import tables

OUTRIGHT = {"T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "D1", "D2"}  # no comparison of methods
COMPARED = [claim for claim in claims.CLAIMS if claim.key not in OUTRIGHT]


@each("claim", COMPARED)
def test_the_minimum_reaches_every_judge(claim):
    assert {v.verdict for v in claim.verdicts(Rules(minimum=101))} == {"open"}


def test_a_table_is_judged_with_what_waits_to_be_merged(monkeypatch):
    row = {"method": "random", "replication": 0, "labelled": 10, "pehe": 1.0}
    made = {
        "ihdp_due": [row, row | {"replication": 20}, row | {"method": "macal-rolling", "replication": 3}],
        "ihdp_due-balance": [row, row | {"labelled": 20}],
        "ihdp_due-mine": [row | {"labelled": 30}],  # not declared
        "ihdp_gp": [row | {"replication": 99}],
    }

    def load(name):
        if name not in made:
            raise FileNotFoundError(name)
        return pd.DataFrame(made[name])

    monkeypatch.setattr(results, "load", load)
    recorded = property(lambda table: [part for part in table.parts if part in made])
    monkeypatch.setattr(tables.Table, "recorded", recorded)
    found = TEXT.load("ihdp")
    assert sorted(found[["method", "replication", "labelled"]].itertuples(index=False, name=None)) == [
        ("macal-rolling", 3, 10), ("random", 0, 10), ("random", 0, 20), ("random", 20, 10)]  # fmt: skip
    assert len(versions.load("ihdp_gp")) == 1 and CODE.load("ibm") is None


@pytest.mark.parametrize(
    ("words", "of", "verdict"),
    [
        (["holds", "holds"], None, "holds"),
        (["holds", "fails"], None, "holds in part"),
        (["holds", "fails", "open"], None, "holds in part"),
        (["holds", "open"], None, "open"),
        (["fails", "open"], None, "open"),
        (["holds in part", "holds"], None, "holds in part"),
        ([], None, "open"),
        (["holds"], 3, "holds in part"),
        (["holds"] * 3, 3, "holds"),
        (["fails"], 3, "fails"),
        (["open"], 3, "open"),
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
    assert found.comparison.to_dict() == {"a": "ahead", "b": "behind", "c": "no lead", "d": "open"}
    low = stats.ttest_1samp(noise - 0.2, 0).confidence_interval(1 - 0.05 / 4).low
    assert found.low["a"] == pytest.approx(low)


def test_no_lead_is_as_strict_as_a_lead():
    values = np.random.default_rng(1).normal(0.0, 0.1, 10)
    values -= values.mean()
    words = [comparison.against(frame(a=values), RULES, family=k).comparison["a"] for k in (1, 100)]
    assert words == ["no lead", "open"]
