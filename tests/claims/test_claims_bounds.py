"""Verdicts T2 to T4: on their own numbers, and on made-up ones that would change them."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims import bounds
from reproduction.theory import risk


@pytest.mark.parametrize(
    ("fixed", "random", "verdict"),
    [(1.0, -1.0, "holds"), (5.0, 1.0, "holds in part"), (1.0, -5.0, "holds in part"), (5.0, -5.0, "fails")],
)
def test_t2_can_go_any_way(monkeypatch, fixed, random, verdict):
    made_up = {"fixed design": fixed, "random designs": random, "own labels": 0.5}
    monkeypatch.setattr(bounds, "decomposition", lambda: made_up)
    assert bounds.judge_decomposition().verdict == verdict


def test_z_score():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 1, 10_000), rng.normal(1, 2, 10_000)
    assert abs(bounds.z_score(a, 1.0)) < 4 < abs(bounds.z_score(a, 1.1))
    assert abs(bounds.z_score(a, b)) < 4 < abs(bounds.z_score(a, b + 0.2))


def test_ladder():
    ladder = bounds.bound_ladder()
    assert (ladder["pehe"] <= ladder["tight"]).all()
    np.testing.assert_allclose(ladder["loose"] - ladder["tight"], 0.36, atol=1e-12)
    between = risk.wasserstein_line(*(risk.normal_law(bounds.GRID, c) for c in (-1.0, 1.0)), bounds.GRID)
    assert (2 * ladder["constant"] * between > 0.6 * ladder["loose"]).all()  # most of the bound is the distance
    assert ladder["constant"][4] == pytest.approx(2.15, abs=5e-3)
    assert ladder["constant"].max() / ladder["constant"][20] == pytest.approx(14.0, abs=0.05)


def test_frozen_constant():
    frozen = bounds.frozen_constant()
    assert (frozen["pehe"] <= frozen["tight"]).all()
    assert frozen["pehe"][0] == pytest.approx(0.501, abs=1e-3) and frozen["frozen"][0] < 0.45
    assert frozen["frozen"].iloc[-1] == frozen["tight"].iloc[-1]


def test_acquired_arms():
    cluster, spread = (bounds.acquired_arms(np.linspace(*ends, 12)) for ends in ((-1.5, -0.5), (-4.0, 4.0)))
    assert cluster["bound on the acquired arms"] < 1e-6
    assert cluster["PEHE on the target"] == pytest.approx(0.480, abs=1e-3) and spread["PEHE on the target"] < 4e-4
    assert cluster["distance to a label"] == pytest.approx(0.9684, abs=5e-5)
    assert cluster["anchored"] == pytest.approx(7.80, abs=5e-3)
    assert spread["anchored, squared"] == pytest.approx(0.234, abs=5e-4)


@pytest.mark.parametrize(
    ("gap", "bias2", "verdict"),
    [(0.0, 0.01, "holds"), (0.36, 0.01, "holds in part"), (0.0, 5.0, "holds in part"), (0.36, 5.0, "fails")],
)
def test_t3_can_go_any_way(monkeypatch, gap, bias2, verdict):
    ladder = pd.DataFrame({"tight": [1.0], "loose": [1.0 + gap], "constant": [2.0]})
    monkeypatch.setattr(bounds, "bound_ladder", lambda: ladder)
    monkeypatch.setattr(bounds, "moves", lambda noise, seed: {"bias2": bias2, "variance": 1.0})
    assert bounds.judge_bound().verdict == verdict


@pytest.mark.parametrize(
    ("variance", "bound", "cover", "verdict", "guarantee"),
    [
        (1.0, 1.0, 0.9, "holds", "kept"),
        (0.9, 1.0, 0.9, "fails", "kept"),
        (1.0, 0.9, 0.9, "fails", "kept"),
        (0.9, 0.9, 0.5, "fails", "broken"),
    ],
)
def test_t4_can_go_any_way(monkeypatch, variance, bound, cover, verdict, guarantee):
    monkeypatch.setattr(bounds, "variance_shares", lambda: {"rbf": variance})
    monkeypatch.setattr(bounds, "bound_shares", lambda: np.array([1.0, bound]))
    columns = ["greedy, distance", "greedy, square"]
    monkeypatch.setattr(bounds, "coverage_shares", lambda: pd.DataFrame([[cover, 1.0]], columns=columns))
    found = bounds.judge_greedy()
    assert found.verdict == verdict and f"is {guarantee}" in found.evidence
