"""Tables of pages call things by their names in words."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from reproduction.claims import RULES, versions
from reproduction.claims.scale import Scale
from reproduction.claims.verdict import Verdict
from reproduction.figures import tables


def test_no_raw_name_and_no_missing_number_is_shown():
    index = pd.MultiIndex.from_tuples([("ihdp", "macal-0"), ("ibm", "random")], names=["data", "method"])
    raw = pd.DataFrame({"log_ratio": [-0.1234, np.nan], "trainings": [1200, 3]}, index)
    html = tables.shown(raw, "some", "What it is.").to_html()
    for said in ("IHDP", "MACAL, α = 0", "log ratio", "-0.12", "–", "1,200", "<caption>What it is.</caption>"):
        assert said in html
    for raw_name in ("macal-0", "log_ratio", "nan", "method"):
        assert raw_name not in html
    assert html == tables.shown(raw, "some", "What it is.").to_html()


def test_an_interval_stands_beside_its_mean():
    found = pd.DataFrame({"log_ratio": [-0.1], "low": [-0.25], "high": [0.054], "comparison": "open",
                          "replications": [5.0]}, ["qhte"])  # fmt: skip
    row = tables.intervals(found).loc["qhte"]
    assert row.to_list() == ["-0.10 [-0.25, +0.05]", "open", 5]


def test_evidence_names_methods_by_their_labels():
    said = "without lcmd, bait; log ratio of macal-squared to ahead: random -0.305 [-1, 1], random-balanced +0.1"
    plain = "without LCMD, BAIT; log ratio of MACAL, squared to ahead: Random -0.305 [-1, 1], Random, balanced +0.1"
    assert tables.plain(said) == plain
    assert tables.plain("a random draw, macal's PEHE") == "a random draw, MACAL's PEHE"
    other = tables.plain("that of abc3: 0.6 to qhte (ihdp-a); ibm: no")
    assert other == "that of ABC3: 0.6 to QHTE (IHDP, surface A); IBM: no"
    html = tables.verdicts({("E1", "text version"): Verdict("holds", said)}, "v", "Verdicts").to_html()
    assert plain in html and "holds" in html and "macal-squared" not in html


def test_what_comes_out_again_is_told_by_data_set_and_version(unchecked):
    scale = Scale("ibm", (3, 10), 10, ("random", "qhte"), ("random", "qhte", "bait"), (13, 13), 50)
    one = {"against": "random", "log_ratio": np.log(0.9), "low": np.log(0.8), "high": np.log(1.02)}
    later = one | {"log_ratio": 5.0}
    verdict = Verdict("open", "", (one, later))

    def claim(scales):
        return SimpleNamespace(versions=[versions.TEXT], verdicts=lambda rules: [verdict], scales=lambda: [scales])

    found = tables.replication([claim((scale,)), claim((scale, scale))], RULES)
    assert found.index.tolist() == [("IBM", versions.TEXT.name), ("all data sets", versions.TEXT.name)]
    row, every = found.iloc[0], found.iloc[1]
    assert row.to_list() == ["open", "-10 [-20, +2]", "–", "3 to 10 of 10", "2 of 3", "13 of 50"]
    assert every.to_list() == ["open", "–", "–", "–", "–", "–"]
