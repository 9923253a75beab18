"""Verdict H1, and words against code: on the recorded tables, and on made-up ones that would change them."""

import numpy as np
import pandas as pd
import pytest

from macal import comparison, results
from reproduction.claims import backbones
from reproduction.claims.rules import Rules


def tuning_table(loss, log_ratio, noise=0.05):
    """A search of three trials, and ten replications where the point found is so much off Table 2's."""
    rng = np.random.default_rng(0)
    search = [{"stage": "search", "point": p, "trial": k, "replication": 0, "valid_loss": 2.0 + k, "pehe": 1.0}
              for k, p in enumerate(("paper", "code", "trial 2"))]  # fmt: skip
    fresh = []
    for r in range(10, 20):
        base, scale = rng.normal(), np.exp(rng.normal())
        for point, a, b in (("paper", 0, 0), ("code", 0, 0), ("found 1", loss, log_ratio)):
            a, b = (v + noise * rng.normal() if point != "paper" else v for v in (a, b))
            fresh.append({"stage": "held out", "point": point, "replication": r, "valid_loss": base + a,
                          "pehe": scale * np.exp(b)})  # fmt: skip
    return pd.DataFrame(search + fresh)


@pytest.mark.parametrize(
    ("loss", "log_ratio", "noise", "verdict"),
    [
        (0.0, 0.0, 0.05, "holds"),
        (0.5, 0.5, 0.05, "holds"),
        (-0.5, 0.0, 0.05, "holds in part"),
        (0.0, -0.5, 0.05, "holds in part"),
        (-0.5, -0.5, 0.05, "fails"),
        (-0.05, -0.05, 1.0, "open"),
    ],
)
def test_h1_can_go_any_way(monkeypatch, loss, log_ratio, noise, verdict):
    monkeypatch.setattr(results, "load", lambda name: tuning_table(loss, log_ratio, noise))
    assert backbones.judge_tuning().verdict == verdict


def test_more_points_found_widen_the_intervals():
    one = tuning_table(-0.1, 0.0, noise=0.2)
    more = pd.concat([one, *(one[one.point == "found 1"].assign(point=f"found {k}") for k in (2, 3, 4))])
    a, b = (backbones.tuned(t).loc["found 1"] for t in (one, more))
    assert a.loss == b.loss and b.loss_low < a.loss_low and b.loss_high > a.loss_high
    assert a.pairs == 10


def test_without_a_point_found_nothing_is_judged(monkeypatch):
    table = tuning_table(0, 0)
    monkeypatch.setattr(results, "load", lambda name: table[table.point != "found 1"])
    assert backbones.judge_tuning().verdict == "open"


def test_code_on_the_recorded_variants():
    found = backbones.differences(results.load("backbones"))
    assert set(found.index) == {"treatment", "kernel", "validation", "code"}
    assert (found.low <= found.log_ratio).all() and (found.log_ratio <= found.high).all()
    table = backbones.complete(results.load("backbones"))
    assert (table.groupby(["variant", "replication", "labelled"]).size() == 1).all()
    ratios = comparison.log_ratio(table.rename(columns={"variant": "method"}), "paper")
    by_replication = ratios.groupby(["replication", "method"]).log_ratio.mean().unstack()[found.index]
    np.testing.assert_allclose(found.log_ratio, by_replication.mean())


def variants_table(shifts, noise=0.001, replications=8):
    rng = np.random.default_rng(0)
    rows = []
    for r in range(replications):
        scale = np.exp(rng.normal())
        for n in (50, 200):
            for name, shift in {"paper": 0.0, **shifts}.items():
                pehe = scale * np.exp(shift + noise * rng.normal())
                rows.append({"replication": r, "labelled": n, "variant": name, "init": 0, "pehe": pehe})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("shifts", "noise", "verdict"),
    [
        ({"treatment": 0.0, "kernel": 0.0}, 0.01, "holds"),
        ({"treatment": 0.5, "kernel": -0.5}, 0.01, "fails"),
        ({"treatment": 0.5, "kernel": 0.0}, 0.01, "holds in part"),
        ({"treatment": 0.0, "kernel": 0.0}, 1.0, "open"),
    ],
)
def test_code_can_go_any_way(monkeypatch, shifts, noise, verdict):
    monkeypatch.setattr(results, "load", lambda name: variants_table(shifts, noise))
    assert backbones.judge_code().verdict == verdict


def test_few_replications_show_nothing():
    found = backbones.differences(variants_table({"treatment": 0.5, "kernel": 0.0}, replications=4), Rules(minimum=5))
    assert set(found["does it matter?"]) == {"not shown"}


def test_replications_that_lack_a_variant_do_not_count():
    table = variants_table({"treatment": 0.3, "kernel": 0.0})
    part = table[(table.replication < 6) | (table.variant == "paper")]
    assert backbones.differences(part).equals(backbones.differences(table[table.replication < 6]))


def test_whole_trainings_alone_or_in_another_order():
    rng = np.random.default_rng(0)
    base = [{"replication": 0, "init": k, "variant": "batch", "pehe": 1 + rng.random(), "epochs": 9} for k in range(16)]
    other = [row | {"variant": "alone", "pehe": row["pehe"] * np.exp(0.01 * rng.normal())} for row in base]
    worse = [row | {"variant": "permuted", "pehe": row["pehe"] * 1.1, "epochs": 10} for row in base]
    found = backbones.shifts(pd.DataFrame(base + other + worse))
    assert found.low["alone"] < 0 < found.high["alone"] and 0 < found.largest["alone"] < 0.05
    assert found.low["permuted"] > 0 and found["same epochs"].to_dict() == {"alone": 1, "permuted": 0}
