"""Measures of labelled sets, and verdict V1 on made-up ones that would change it."""

import numpy as np
import pandas as pd
import pytest

import macal
from macal import results
from reproduction.claims import labelled_sets as judge
from reproduction.claims import versions
from reproduction.claims.rules import RULES
from reproduction.studies import jobs, labelled_sets, tables


def table(best, methods=("macal", *judge.OTHERS), replications=6):
    def value(method, measure):
        return 1.0 + ((method == "macal") != (measure in best))

    return pd.DataFrame(
        [
            {"replication": r, "method": m, "step": s, "treated": 1.0, "close": 1.0}
            | {k: value(m, k) for k in judge.MEASURES}
            for r in range(replications)
            for m in methods
            for s in (5, 15)
        ]
    )


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (table(judge.MEASURES), "holds"),
        (table(("counterpart", "w1")), "holds in part"),
        (table(("w1",)), "fails"),
        (table(judge.MEASURES, replications=2), "open"),
        (table(judge.MEASURES, methods=("macal", "random")), "holds"),
    ],
)
def test_v1(monkeypatch, made, verdict):
    monkeypatch.setattr(versions, "load", lambda name, keys: made if name == "acquired_ihdp" else None)
    found = judge.judge_labelled_sets(RULES, versions.TEXT)
    assert found.verdict == verdict
    assert ("without lcmd, qhte, mu-rho-bald" in found.evidence) == (set(made.method) == {"macal", "random"})


def test_pairing_up_and_spreading_out_are_judged_apart(monkeypatch):
    made = table(("counterpart",))
    made["radius"] *= np.exp(np.random.default_rng(0).normal(0, 2.0, len(made)))
    monkeypatch.setattr(versions, "load", lambda name, keys: made if name == "acquired_ihdp" else None)
    found = judge.judge_labelled_sets(RULES, versions.TEXT)
    assert found.verdict == "open" and "pair up: holds; spread out: open" in found.evidence


def test_a_labelled_set_is_measured():
    problem = macal.load("ihdp", 0)
    indices = problem.labelled(labelled_sets.plan(problem, "random", 5)[:4])
    assert len(indices) == 50 and len(set(indices.tolist())) == 50
    found = labelled_sets.measure(problem, indices, 2.0)
    x, t = problem.pool.x[indices], problem.pool.t[indices]
    d = np.linalg.norm(x[:, None] - x[None], axis=2) + np.where(t[:, None] == t[None], np.inf, 0)
    np.testing.assert_allclose(found["counterpart"], d.min(axis=1).mean())
    assert found["close"] == (d.min(axis=1) <= 2).mean() and found["treated"] == t.sum()
    far = [np.linalg.norm(u - x[t == a], axis=1).min() for a in (0, 1) for u in problem.pool.x[problem.pool.t == a]]
    np.testing.assert_allclose(found["radius"], max(far))


def test_planned_and_swept_campaigns_are_recorded(monkeypatch, tmp_path):
    picks = labelled_sets.plan(macal.load("ihdp", 0), "random", 46)
    swept = pd.DataFrame()
    swept.attrs["records"] = [{"config": {"method": "lcmd", "replication": 0}, "picks": picks}]
    monkeypatch.setattr(labelled_sets.tables, "load", lambda name: swept)
    jobs.run(tables.get("acquired_ihdp").jobs(1), tmp_path, lambda line: None)
    results.publish(tmp_path, "acquired_ihdp", tmp_path / "out")
    found = results.load("acquired_ihdp", tmp_path / "out")
    assert set(found.method) == {*labelled_sets.PLANNED, "macal", "lcmd"} and set(found.step) == {5, 15}
    wide = found.set_index(["step", "method"])
    assert wide.loc[(15, "lcmd"), "w1"] == wide.loc[(15, "random"), "w1"] > wide.loc[(15, "macal"), "w1"]
    assert all(len(r["picks"]) == 15 for r in found.attrs["records"])
    assert labelled_sets.swept("ihdp", tables.TEXT) == {(0, "lcmd"): picks}
