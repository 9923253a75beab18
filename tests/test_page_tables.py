"""Tables of pages call things by their names in words."""

import numpy as np
import pandas as pd

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
    found = pd.DataFrame({"log_ratio": [-0.1], "change": [-9.6], "low": [-0.25], "high": [0.054]}, ["qhte"])
    assert tables.bracketed(found)["qhte"] == "-0.10 [-0.25, +0.05]"
    assert tables.changes(found.assign(low=-22.1, high=5.5))["qhte"] == "-10 [-22, +6]"


def test_evidence_names_methods_by_their_labels():
    said = "without lcmd, bait; log ratio of macal-squared to ahead: random -0.305 [-1, 1], random-balanced +0.1"
    plain = "without LCMD, BAIT; log ratio of MACAL, squared to ahead: Random -0.305 [-1, 1], Random, balanced +0.1"
    assert tables.plain(said) == plain
    assert tables.plain("a random draw, macal's PEHE") == "a random draw, MACAL's PEHE"
    other = tables.plain("that of abc3: 0.6 to qhte (ihdp-a); ibm: no")
    assert other == "that of ABC3: 0.6 to QHTE (IHDP, surface A); IBM: no"


def test_claims_and_cards_keep_their_words():
    found = pd.DataFrame(
        [("Figure 1", "A < B", *("fails", "macal -0.1", "open", ""), *("open", "", "open", ""), "toy")],
        ["E1"],
        ["source", "claim", *(f"{part}{end}" for end in ("", "_text") for part in
                              ("verdict", "evidence", "on_means", "scale")), "chapter"],
    )  # fmt: skip
    assert 'href="ledger.html#claim-E1"' in tables.strip(found) and 'class="fails"' in tables.strip(found)
    html = tables.claims(found)
    assert 'id="claim-E1"' in html and "A &lt; B" in html and "MACAL -0.1" in html
    assert "numbers, by arithmetic means open<" in html and "By arithmetic means: open." in html
    text = tables.claims(found, "text")
    assert 'id="claim-E1"' not in text and "numbers<" in text
    assert '<td data-name="x">1 &lt; 2</td>' in tables.cards(pd.DataFrame({"x": ["1 < 2"]}, ["row"]), "name")
    assert "E4" in tables.box("E4")
