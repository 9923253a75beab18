"""The dial: worlds are what their knobs say, rules find what was put in."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from reproduction.figures import dial as figures
from reproduction.studies import dial, forecast
from reproduction.studies.worlds import World, draw
from reproduction.theory import allocation, placement
from reproduction.theory.allocation import LearningCurve

PLAIN = World(r=3.0, rho=0.9, share=0.2, slope=0.0)


# ---------------------------------------------------------------- worlds


@pytest.mark.parametrize("world", [PLAIN, World(r=1 / 8, rho=-0.5, share=0.5, slope=2.5)])
def test_a_world_is_what_its_knobs_say(world):
    pools = [draw(world, seed).pool for seed in range(40)]
    # E mu_1^2 / E mu_0^2 = r^2, E mu_0 mu_1 / (s_0 s_1) = rho; 40 smooth draws know them to a fifth or so
    squares = np.mean([[(p.mu1**2).mean(), (p.mu0**2).mean(), (p.mu0 * p.mu1).mean()] for p in pools], axis=0)
    assert np.sqrt(squares[0] / squares[1]) == pytest.approx(world.r, rel=0.3)
    assert squares[2] / np.sqrt(squares[0] * squares[1]) == pytest.approx(world.rho, abs=0.3)
    assert squares[:2].sum() == pytest.approx(2, rel=0.3)
    assert np.mean([p.t.mean() for p in pools]) == pytest.approx(world.share, abs=0.02)
    spread = np.std([p.y - np.where(p.t == 1, p.mu1, p.mu0) for p in pools])
    assert spread == pytest.approx(world.noise, rel=0.05)
    gap = np.mean([p.x[p.t == 1].mean(axis=0) - p.x[p.t == 0].mean(axis=0) for p in pools], axis=0)
    assert np.abs(gap[1:]).max() < 0.1 and (gap[0] > 1) == (world.slope > 1)


@pytest.mark.parametrize("knob", [{"rho": 1.1}, {"share": 1.0}, {"r": 0.0}, {"length": -1.0}])
def test_a_knob_out_of_range_is_refused(knob):
    with pytest.raises(ValueError, match=next(iter(knob))):
        World(**{"r": 1.0, "rho": 0.0, "share": 0.5, "slope": 0.0} | knob)


def test_draws_repeat_and_differ_by_seed():
    one, again, other = draw(PLAIN, 3), draw(PLAIN, 3), draw(PLAIN, 4)
    assert (one.pool.y == again.pool.y).all() and (one.start == again.start).all()
    assert not np.isclose(one.pool.y, other.pool.y).any()


# ---------------------------------------------------------------- formulas


def test_gain_of_curves_is_gain_where_powers_are_equal():
    curves = LearningCurve(3.0, 0.8), LearningCurve(1.5, 0.8)
    assert allocation.gain_of(0.5, 0.2, *curves, 70.0) == pytest.approx(allocation.gain(0.5, 0.2, 2.0, 0.8))
    best = allocation.best_share_of(*curves, 70.0)
    assert allocation.gain_of(best, 0.2, *curves, 70.0) < allocation.gain_of(best + 0.05, 0.2, *curves, 70.0) < 0


def test_a_rule_is_found_again():
    s, u = np.random.default_rng(0).uniform(-1, 1, (2, 30))
    rule = np.array([0.1, -0.2, 0.05, 0.3])
    log_ratio = 0.1 - 0.2 * s + 0.05 * u + 0.3 * s * u
    assert placement.fit_rule(s, u, log_ratio) == pytest.approx(rule)
    assert placement.predicted(rule, s, u) == pytest.approx(log_ratio)


# ---------------------------------------------------------------- the study


def test_a_curve_falls_and_leaves_its_labels_out():
    problem = draw(PLAIN, 0)
    for model in dial.ESTIMATORS.values():
        rows = pd.DataFrame(dial.curve(problem, model, (10, 80)))
        assert (rows.control.diff()[1:] < 0).all() and (rows.treated.diff()[1:] < 0).all()
        assert (rows.treated > rows.control).all()


def test_what_is_known_of_a_randomised_and_of_a_biased_world():
    fair, biased = (dial.pool_features(draw(World(3.0, 0.9, 0.2, slope), 0), (9,)) for slope in (0.0, 2.5))
    assert abs(fair["separation"]) < 0.2 < 0.6 < biased["separation"]
    for found in (fair, biased):
        assert found["reached"] > 0.4 > found["natural"] and 1.5 < found["spread"] < 6


def curves(dataset, treated, control, **case):
    n = np.array([15, 40, 80])
    rows = {"treated": treated**2 / n, "control": control**2 / n, "n": n, "dataset": dataset, "estimator": "one"}
    return pd.DataFrame(rows | dict.fromkeys(forecast.TRAITS, 0.25) | {"reached": 0.5, "spread": 1.0} | case)


def test_a_forecast_adds_both_parts():
    about = forecast.known(curves("dial", 2.0, 1.0, r=2.0, rho=0.0, share=0.2, slope=0.0))
    said = forecast.forecast(about, {"one": np.array([0.1, 0.4, 0.0, 0.0])}).iloc[0]
    assert said["ratio"] == pytest.approx(2)
    assert said["allocation"] == pytest.approx(allocation.gain(0.5, 0.25, 2.0))
    assert said["placement"] == 0.1 + 0.4 * 0.25 == said["gain"] - said["allocation"]


def test_rules_are_made_of_one_half_alone():
    about = [curves("dial", r, 1.0, r=r, rho=rho, share=0.2, slope=0.0) for r in (0.5, 2.0) for rho in (0.0, 0.9)]
    about = pd.concat([rows.assign(correlation=rows["rho"], separation=0.1 * rows["r"]) for rows in about])
    keys = about[["estimator", "r", "rho", "share", "slope"]].drop_duplicates().reset_index(drop=True)
    rows = [
        {**key, "replication": 100 * place + k, "method": method, "labelled": 100, "pehe": np.exp(lost)}
        for place, key in keys.iterrows()
        for k in range(10)
        for method, lost in (("random", 0.0), ("random-balanced", 0.0), ("macal", 0.2 if k < 5 else -9.0))
    ]
    made = forecast.rules(about, pd.DataFrame(rows))
    assert made["one"] == pytest.approx([0.2, 0, 0, 0], abs=1e-9)
    assert {len(half) for half in forecast.halves(pd.DataFrame(rows))} == {60}


def test_a_benchmark_is_told_and_measured_at_its_own_sizes():
    rows = [
        (method, k, n, np.exp((method == "macal") * (k / 100 + (0.3 if 50 <= n <= 130 else 9)) + k / 10))
        for method in ("macal", "random", "random-balanced")
        for k in range(4)
        for n in (10, 50, 90, 130, 170)
    ]
    table = pd.DataFrame(rows, columns=["method", "replication", "labelled", "pehe"])
    about = curves("ihdp", 0.5, 1.0).assign(estimator="exact GP per arm")
    found = forecast.benchmark(about, table, {"exact GP per arm": np.array([0.1, 0.0, 0.0, 0.0])})
    assert found["gain"] == pytest.approx(0.315) and 0.29 < found["low"] < 0.315 < found["high"] < 0.34
    assert found["predicted"] == pytest.approx(0.1 + allocation.gain(0.5, 0.25, 0.5))


# ---------------------------------------------------------------- figures


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


def test_the_plane_is_coloured_by_the_gain_of_equal_arms():
    _, ax = plt.subplots()
    figures.phase(0.8, ax)
    (mesh,) = ax.collections
    values = mesh.get_array().reshape(121, 161)
    assert values[0, 0] == pytest.approx(allocation.gain(0.5, 0.05, 0.05, 0.8))
    assert values[0, 0] > 0 > values[0, -1] and abs(values[90]).max() < 0.01
    ties = ax.lines[0].get_xydata()
    assert all(abs(allocation.gain(0.5, s, r, 0.8)) < 1e-9 for r, s in ties)
