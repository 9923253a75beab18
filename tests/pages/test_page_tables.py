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


def test_evidence_is_worded_from_its_values():
    row = {"dataset": "ihdp-a", "step": 5, "method": "macal-squared", "against": "random", "replications": 5}
    row |= {"log_ratio": -0.3051, "low": -0.4, "high": -0.2, "comparison": "ahead"}
    said = tables.evidence([row, row | {"against": "qhte", "comparison": "open"}, row | {"dataset": "ibm"}], "text")
    first, second = said.split("; IBM, ")
    for part in ("IHDP, surface A", "step 5", "MACAL, squared", "ahead: Random -0.305 [-0.400, -0.200]", "open: QHTE"):
        assert part in first
    assert "ahead: Random" in second and "open" not in second
    del row["log_ratio"]
    assert "ahead: Random -157 [" in tables.evidence([row | {"labels": -157.2}], "text")
    assert tables.evidence([], "text") == tables.evidence([row] * (tables.MAX_SHOWN + 1), "text") == "text"


def test_claims_and_cards_keep_their_words():
    found = pd.DataFrame(
        [("Figure 1", "A < B", *("fails", "a < b", [], "open", []), *("open", "", [], "open", []), "toy")],
        ["E1"],
        ["source", "claim", *(f"{part}{end}" for end in ("", "_text") for part in
                              ("verdict", "evidence", "comparisons", "on_means", "scale")), "chapter"],
    )  # fmt: skip
    assert 'href="ledger.html#claim-E1"' in tables.strip(found) and 'class="fails"' in tables.strip(found)
    html = tables.claims(found)
    assert 'id="claim-E1"' in html and "A &lt; B" in html and "a &lt; b" in html
    assert "numbers, by arithmetic means open<" in html and "By arithmetic means: open." in html
    text = tables.claims(found, "text")
    assert 'id="claim-E1"' not in text and "numbers<" in text
    assert '<td data-name="x">1 &lt; 2</td>' in tables.cards(pd.DataFrame({"x": ["1 < 2"]}, ["row"]), "name")
    assert "E4" in tables.box("E4")
