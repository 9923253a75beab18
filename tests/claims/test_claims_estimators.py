"""Verdict M1 on made-up tables that would change it."""

import numpy as np
import pandas as pd
import pytest

from reproduction.benchmarks import IHDP
from reproduction.claims import estimators, leads, versions
from reproduction.claims.rules import RULES


@pytest.fixture
def tables(monkeypatch):
    def make(effects, replications=8, noise=0.02):
        rng = np.random.default_rng(0)

        def load(name):
            if name not in effects:
                return None
            return pd.DataFrame(
                [
                    (m, r, n, np.exp(r / 3 + effects[name] * (m == "macal" and n <= 160) + rng.normal(0, noise)))
                    for m in ("macal", *estimators.CONTROLS)
                    for r in range(replications)
                    for n in (10, 50, 90, 130, 290)
                ],
                columns=["method", "replication", "labelled", "pehe"],
            )

        monkeypatch.setattr(versions, "load", load)

    return make


@pytest.mark.parametrize(
    ("effects", "noise", "verdict"),
    [
        ({"ihdp_gp": -0.3, "ihdp_t": -0.2}, 0.02, "holds"),
        ({"ihdp_gp": 0.3, "ihdp_t": -0.2}, 0.02, "holds in part"),
        ({"ihdp_gp": 0.0, "ihdp_t": 0.2}, 0.02, "fails"),
        ({"ihdp_gp": 0.3, "cmnist_gp": -0.3}, 0.02, "holds in part"),
        ({"ihdp_gp": 0.0, "ihdp_t": 0.0}, 1.0, "open"),
        ({}, 0.02, "open"),
    ],
)
def test_m1_can_go_every_way(tables, effects, noise, verdict):
    tables(effects, noise=noise)
    assert estimators.judge_transfer(RULES, versions.TEXT).verdict == verdict


def test_the_codes_reading_takes_squared_distances(tables, monkeypatch):
    tables({"ihdp_gp": -0.3})
    assert estimators.judge_transfer(RULES, versions.CODE).verdict == "open"  # MACAL as written is not its MACAL
    plain = versions.load
    named = lambda name: plain(name).replace({"method": {"macal": "macal-squared"}}) if name == "ihdp_gp" else None  # noqa: E731
    monkeypatch.setattr(versions, "load", named)
    found = estimators.judge_transfer(RULES, versions.CODE)
    assert found.verdict == "holds" and "macal-squared" in found.evidence


def test_few_replications_decide_nothing(tables):
    tables({"ihdp_gp": -0.3}, replications=2)
    assert estimators.judge_transfer(RULES, versions.TEXT).verdict == "open"


def test_later_sizes_do_not_count(tables):
    tables({"ihdp_gp": -0.3})
    found = leads.lead(versions.EXACT, IHDP, RULES, estimators.CONTROLS).loc["random"]
    assert abs(found.log_ratio + 0.3) < 0.05 and found.replications == 8 and found.comparison == "ahead"
