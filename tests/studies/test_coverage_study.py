"""The study of coverage and its judge, and that of villages: worlds as declared, rows as a plain loop gives them."""

import numpy as np
import pandas as pd
import pytest
from needs import needs_data
from scipy.special import expit
from scipy.stats import binomtest

from reproduction.claims import weighted
from reproduction.studies import coverage, tables, villages


def test_a_row_is_what_a_plain_loop_gives():
    (answer,) = coverage.block("confounding, 30", 40, 8).work()
    rows = pd.DataFrame([coverage.simulate("confounding, 30", seed) for seed in range(40, 48)])
    (row,) = answer.rows
    assert row["simulations"] == 8 > rows.given.sum() == rows.width.notna().sum() > 0  # in some an arm has too few
    assert [row["given"], row["held"], row["withheld"]] == rows[["given", "held", "withheld"]].sum().tolist()
    widths = np.sort(rows.width.dropna())
    expected = widths.mean(), np.median(widths), widths[-1]
    assert (row["mean"], row["median"], row["max"]) == pytest.approx(expected)


def test_every_case_is_simulated_by_seeds_of_its_own():
    jobs = tables.get("coverage").jobs()
    blocks = sum(case.simulations for case in coverage.CASES.values()) / coverage.BLOCK
    assert len(jobs) == blocks and jobs[1].configs[0]["first"] == coverage.BLOCK
    assert len(tables.get("coverage").jobs(3)) == len(coverage.CASES)
    for name in coverage.CASES:
        one, again = (coverage.simulate(name, 1) for _ in range(2))
        assert one["given"] or np.isnan(one["width"]), name
        assert [*one.values()] == pytest.approx([*again.values()], nan_ok=True), name


def test_truths_are_those_of_large_worlds():
    x = np.random.default_rng(0).normal(size=1_000_000)
    e = expit(x)
    for name, h in {"treated": e, "overlap": e * (1 - e)}.items():
        assert coverage.CASES[name].effect == pytest.approx(h @ (1 + x) / h.sum(), abs=0.005)
    people = coverage.CASES["refusals"].world(np.random.default_rng(1))
    assert coverage.CASES["refusals"].nonresponse(people).mean() == pytest.approx(1 / 3, abs=0.02)
    for name, share in {"1% treated, all": 0.01, "confounding, 30": 0.5, "20 clusters": 0.5}.items():
        assert coverage.CASES[name].world(np.random.default_rng(2)).t.mean() == pytest.approx(share, rel=0.2), name


@pytest.mark.parametrize(
    ("held", "word"), [(95, "as promised"), (100, "as promised"), (93.4, "as promised"), (92, "too low")]
)
def test_coverage_is_judged_by_the_declared_rule(held, word):
    about = {"simulations": 125, "given": 100, "held": held, "withheld": 5, "median": 1.0, "max": 2.0}
    rows = [{"case": case, "mean": width} | about for case in ("looks", "curved") for width in np.linspace(1, 2, 10)]
    found = weighted.coverage(pd.DataFrame(rows))
    assert found.verdict.to_dict() == {"curved": word, "looks": word} and found.index[0] == "curved"
    assert found.coverage["looks"] == pytest.approx(held / 100)
    assert found.loc["curved", ["given", "withheld", "mean", "largest"]].tolist() == pytest.approx(
        [0.8, 0.04, 1.5, 2.0]
    )


def test_open_cases_do_not_open_what_others_refute():
    assert weighted.combined_verdict(["fails", "open"]) == "fails"
    assert weighted.combined_verdict(["fails", "open", "holds"]) == "holds in part"
    assert weighted.combined_verdict(["holds", "open"]) == "open" and weighted.combined_verdict(["holds"]) == "holds"


def test_intervals_of_shares_are_clopper_and_pearsons():
    held, of = pd.Series([0, 3, 95, 100]), pd.Series([100] * 4)
    low, high = weighted.exact_interval(held, of, 0.02)
    found = [binomtest(k, 100).proportion_ci(0.98, method="exact") for k in held]
    np.testing.assert_allclose([low, high], [[one.low for one in found], [one.high for one in found]], atol=1e-12)


@needs_data("tables")
def test_villages_are_drawn_by_the_command_line():
    people, y = villages.table()
    assert len(people) == len(y) == 1410 and people.village.nunique() == villages.VILLAGES
    assert people.groupby("village").visit.sum().to_numpy() == pytest.approx(np.ones(villages.VILLAGES))
    one, asked = villages.drawn(20, 0)
    assert villages.everybody().width < one.width and 20 * 5 < asked < 20 * 17
    blocks = villages.jobs(tables.TABLES["weighted_villages"], 20)
    begun = [(job.configs[0]["villages"], job.configs[0]["first"]) for job in blocks]
    assert begun == [(20, 0), (60, 0), (20, 10), (60, 10)]
