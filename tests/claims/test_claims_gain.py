"""Verdicts W1 to W3 on made-up tables that would change them."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims import gain, versions
from reproduction.claims.comparison import against
from reproduction.claims.rules import RULES

SIZES = (10, 60, 100, 140)


def table(logs, replications=8, noise=0.02, sizes=SIZES, seed=0):
    """A recorded table: method -> mean log PEHE after the start, its replications tenfold apart in scale."""
    rng = np.random.default_rng(seed)
    rows = [
        (m, r, n, np.exp(r / 3 + effect * (n > sizes[0]) + rng.normal(0, noise)))
        for m, effect in logs.items()
        for r in range(replications)
        for n in sizes
    ]
    return pd.DataFrame(rows, columns=["method", "replication", "labelled", "pehe"])


@pytest.fixture
def recorded(monkeypatch):
    def make(tables):
        monkeypatch.setattr(versions, "load", tables.get)

    return make


def campaign(allocation, placement, **settings):
    logs = {"random": 0.0, "random-balanced": allocation, "macal": allocation + placement}
    return table(logs, **settings)


def test_the_parts_of_the_gain_are_found_and_add_up():
    found = gain.parts(campaign(0.3, -0.1, noise=0.0, sizes=(60, 100)))
    np.testing.assert_allclose(found.iloc[1:].mean(), [0.15, -0.05, 0.1], atol=1e-12)
    noisy = gain.parts(campaign(0.3, -0.1, noise=0.5))
    np.testing.assert_allclose(noisy["allocation"] + noisy["placement"], noisy["gain"])


@pytest.mark.parametrize(
    ("here", "there", "noise", "verdict"),
    [
        ((0.2, 0.0), (-0.3, 0.0), 0.02, "holds"),
        ((0.2, 0.0), (0.3, 0.0), 0.02, "fails"),  # nothing turns
        ((0.2, -0.4), (-0.3, 0.5), 0.02, "fails"),  # placement outweighs what turns
        ((0.0, 0.0), (-0.3, 0.0), 0.02, "open"),
        ((0.2, 0.0), (-0.3, 0.0), 2.0, "open"),
    ],
)
def test_allocation_can_go_every_way(recorded, here, there, noise, verdict):
    recorded({"ihdp_gp": campaign(*here, noise=noise), "ihdp-exchanged_gp": campaign(*there, noise=noise, seed=1)})
    found = gain.judge_allocation(RULES)
    assert found.verdict == verdict


def test_allocation_under_several_estimators(recorded):
    turns = {"ihdp_gp": campaign(0.2, 0.0), "ihdp-exchanged_gp": campaign(-0.3, 0.0)}
    recorded(turns | {"ihdp-early_s": campaign(-0.2, 0.0), "ihdp-exchanged_s": campaign(-0.3, 0.0)})
    assert gain.judge_allocation(RULES).verdict == "holds in part"
    recorded(turns | {"ihdp-early_s": campaign(-0.2, 0.0)})  # one surface alone says nothing
    assert gain.judge_allocation(RULES).verdict == "holds"
    recorded({"ihdp_gp": campaign(0.2, 0.0, replications=2), "ihdp-exchanged_gp": campaign(-0.3, 0.0)})
    assert gain.judge_allocation(RULES).verdict == "open"


@pytest.mark.parametrize(
    ("effect", "noise", "verdict"), [(0.3, 0.02, "holds"), (-0.3, 0.02, "fails"), (0.3, 3.0, "open")]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_similarity_can_go_every_way(recorded, monkeypatch, effect, noise, sign, verdict):
    monkeypatch.setattr(gain, "predicted_share", lambda dataset: 0.4 * sign)
    recorded({"ihdp_gp": table({"macal": sign * effect, "macal-0": 0.0}, noise=noise)})
    found = gain.judge_similarity(RULES)
    assert found.verdict == verdict and f"{0.4 * sign:+.2f}" in found.evidence
    came = {"holds": "against the prediction", "fails": "as predicted"}.get(verdict, "open")
    assert gain.similarities(RULES)["came"].tolist() == [came]


def test_clear_signs_of_both_kinds_hold_in_part(recorded, monkeypatch):
    monkeypatch.setattr(gain, "predicted_share", lambda dataset: 0.4)
    both = {"ihdp_gp": table({"macal": -0.3, "macal-0": 0.0}), "ibm_gp": table({"macal": 0.3, "macal-0": 0.0}, 10)}
    noisy = both | {"ihdp_gp": table({"macal": -0.3, "macal-0": 0.0}, noise=3.0)}  # one not clear does not count
    for tables, word in ((both, "holds in part"), (noisy, "holds"), ({}, "open")):
        recorded(tables)
        assert gain.judge_similarity(RULES).verdict == word
    recorded(both)
    assert gain.similarities(RULES).loc[("exact GP per arm", "ibm"), "comparison"] == "behind"


def test_the_codes_line_of_evidence_counts_too(recorded, monkeypatch):
    monkeypatch.setattr(gain, "predicted_share", lambda dataset: 1.0)
    written = {"ibm_due": table({"macal": 0.3, "macal-0": 0.0})}
    recorded(written | {"ibm_code": table({"macal-squared": -0.2, "macal-squared-0": 0.0})})
    found = gain.judge_similarity(RULES)
    assert found.verdict == "holds in part"


def test_the_predicted_share_by_hand(monkeypatch):
    table = pd.DataFrame({"correlation": [0.5, 0.8], "ratio": [1.0, 2.0]})
    monkeypatch.setattr(gain.data, "recorded", {"ihdp": table}.get)
    assert gain.predicted_share("ihdp") == pytest.approx((0.5 + 0.64) / 2)


def test_controls_stand_beside_macal(recorded):
    logs = {"random": 0.0, "random-balanced": 0.0, "macal": -0.3}
    recorded({"cmnist_gp": table(logs), "cmnist_controls": table({gain.RARE: -0.2, gain.PAIRS: 0.1}, seed=1)})
    words = {"random-balanced": "no lead", gain.RARE: "ahead", gain.PAIRS: "behind", "macal": "ahead"}
    assert gain.controls(RULES)["comparison"].to_dict() == words


@pytest.mark.parametrize(
    ("before", "after", "noise", "verdict"),
    [
        (-0.5, 0.0, 0.02, "holds"),
        (-0.5, -0.2, 0.02, "holds in part"),
        (-2.0, 0.0, 0.5, "holds in part"),  # some of it may stay
        (-0.5, -0.5, 0.02, "fails"),
        (0.2, 0.0, 0.02, "fails"),
        (-0.5, 0.0, 3.0, "open"),
    ],
)
def test_escape_can_go_every_way(recorded, monkeypatch, before, after, noise, verdict):
    monkeypatch.setattr(gain, "best_constants", lambda t: pd.Series(dict.fromkeys(range(8), 1.0)))
    names = gain.SCALES.values()
    made = [table({"macal": e, "random": 0.0}, noise=noise, seed=k) for k, e in enumerate((before, after))]
    recorded(dict(zip(names, made, strict=True)))
    assert gain.judge_escape(RULES).verdict == verdict


def test_a_swap_takes_each_size_after_the_start(recorded):
    there = campaign(-0.3, 0.0, sizes=(10, 60, 140, 200))
    there.loc[(there.labelled == 60) & (there.method == "random"), "pehe"] *= np.exp(0.4)
    recorded({"ihdp_gp": campaign(0.2, 0.0), "ihdp-exchanged_gp": there[there.labelled > 10]})
    found = gain.swap(gain.ESTIMATORS["exact GP per arm"], RULES)["log_ratio"]
    assert found["ihdp", "allocation"] == pytest.approx(0.2, abs=0.02)
    assert found["ihdp-exchanged", "allocation"] == pytest.approx(-0.5, abs=0.02)  # at 60 and 140 labels


def test_a_swap_is_adjusted_for_all_its_comparisons(recorded):
    here, there = campaign(0.2, 0.0, noise=0.2), campaign(-0.3, 0.0, noise=0.2, seed=1)
    recorded({"ihdp_gp": here, "ihdp-exchanged_gp": there})
    alone = against(gain.parts(here[here.labelled > 10])[["gain"]], RULES)
    row = gain.swap(gain.ESTIMATORS["exact GP per arm"], RULES).loc[("ihdp", "gain")]
    assert row["high"] - row["low"] > 1.2 * (alone.loc["gain", "high"] - alone.loc["gain", "low"])
