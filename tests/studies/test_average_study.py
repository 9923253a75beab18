"""What draws save on real tables: the end points of made-up widths."""

import numpy as np
import pandas as pd
import pytest
from needs import needs_data

from macal.datasets import real
from reproduction.studies import average as study
from reproduction.studies import proxied, tables, widths


def made(widths, given=1.0, table="rhc", sd=0.1):
    rows = [{"design": name, "width": width, "width_sd": sd, "given": 1.0} for name, width in widths.items()]
    rows[0]["given"] = given
    return pd.DataFrame(rows).assign(table=table, labelled=200)


WIDTHS = {"simple": 2.0, "equal": 1.8, "draw": 1.0, "regression": 1.1, "bound": 0.9}


def test_an_interval_half_as_wide_saves_three_quarters_of_the_answers():
    few = made(WIDTHS, given=0.4, table="letters")
    found = study.responses_saved(pd.concat([made(WIDTHS), few]))
    assert found.index.tolist() == [("rhc", 200)] and found.loc[("rhc", 200), "draw"] == pytest.approx(0.75)


def test_gaps_are_in_standard_errors_of_both_means():
    found = study.gaps(made(WIDTHS, given=0.5), "draw", "simple")
    assert found["rhc", 200] == pytest.approx(-1 / np.sqrt(0.01 / study.DRAWS + 0.01 / (study.DRAWS / 2)))


def test_widths_are_judged_cell_by_cell():
    ratios = {"good": [0.9, 0.94, 0.96, 1.04], "wide": [0.94, 1.01, 1.02, 1.04], "far": [0.94] * 3 + [1.06]}
    ratios["idle"] = [0.9, 0.92, 0.93, 0.94]
    rows = [{"table": k, "size": 150, "asked": 2.0, "realised": 2 * r} for k, own in ratios.items() for r in own]
    found = widths.judged(pd.DataFrame(rows))
    assert found.right.xs(150, level="size").to_dict() == {"far": False, "good": True, "idle": False, "wide": False}
    cells = widths.judged(tables.load("widths").dropna(subset="asked"))
    assert set(cells.index.get_level_values("size")) == set(widths.SIZES) and 0 < cells.right.sum() < len(cells)


def cell(table, width, gap, error=0.01, held=(0.95, 0.95, 0.95), z=5.0, forecast=1.0):
    """Three rows as of one table whose intervals are 1 wide without proxies, and ``width`` with them."""
    rows = pd.DataFrame({"way": proxied.WAYS, "width": [1.0, width, 1.0], "held": held})
    about = {"table": table, "labelled": 200, "draws": 200, "given": 1.0, "misfits": False, "moved": z, "proxies": 4}
    return rows.assign(gap=gap, gap_error=error, forecast=forecast * rows.width, **about)


def test_proxies_are_judged_cell_by_cell():
    cells = [
        cell("helps", 0.5, -0.5),
        cell("may help", 0.985, -0.015),
        cell("hurts", 1.05, 0.05, forecast=1.2),
        cell("costs little", 1.005, 0.005, error=0.001),
        cell("misleads", 0.8, -0.2, held=(0.905, 0.9, 0.3)),  # 180 of 200 are too few, 181 are not
        cell("stands", 0.8, -0.2, z=2.0),  # the largest of four
    ]
    found = proxied.judged(pd.concat(cells)).xs(200, level="labelled")
    assert found.saved["helps"] == pytest.approx(0.75)

    def those(column):
        return {*found.index[found[column]]}

    assert those("help") == {"helps", "misleads", "stands"} and those("harm") == {"hurts"}
    assert those("low proxy") == those("low covariate") == {"misleads"} and not those("low without")
    assert {*found.index} - those("moved") == {"stands"}
    assert {*found.index} - those("right proxy") == {"hurts"} and found["ahead proxy"]["hurts"] == pytest.approx(1.2)


@needs_data("tables")
def test_no_proxy_is_a_covariate_a_treatment_or_an_outcome():
    for name, about in proxied.LAYOUTS.items():
        named = {*about.proxies.split(), *about.proxy_categories.split()}
        assert named and not named & {*about.numbers.split(), *about.categories.split()}, name
        assert not any(one in f"{about.treated} {about.outcome} {about.clusters}" for one in named), name
    colon = real.people(proxied.LAYOUTS["colon"])
    relapse = colon.proxies["relapse"]
    assert np.isin(relapse, [0, 1]).all() and colon.y[relapse == 1].mean() > 0.8 > 0.2 > colon.y[relapse == 0].mean()


@needs_data("tables")
def test_a_row_of_proxies_is_that_of_the_same_draws():
    draws, size = 3, 200
    found = pd.DataFrame(proxied.rows("colon", size, draws)).set_index("way")
    plain = [study.estimate_from_sample("colon", "draw", size, k) for k in range(draws)]
    x, t, y, e, relapse = study.population(proxied.LAYOUTS["colon"])
    assert found.loc["without", ["width", "held"]].tolist() == pytest.approx(
        [study.ends(plain, study.full_population_estimate("colon"))[end] for end in ("width", "held")]
    )
    assert found.loc["proxy", "gap"] == pytest.approx(found.width["proxy"] - found.width["without"])
    assert found.width["proxy"] < 0.9 * found.width["without"]
    assert (found.forecast[["without", "proxy"]] / found.width).dropna().between(0.7, 1.4).all()
    effect = study.regression(x, t, relapse[:, 0])
    assert found.moved["proxy"] == pytest.approx(abs(effect.value) / effect.error) and found.proxies["proxy"] == 1
    assert np.allclose(study.population(proxied.layout("colon", "covariate"))[0].sum(), x.sum() + relapse.sum())


def test_what_is_recorded_without_proxies_is_the_draw_of_the_other_study():
    by = ["table", "labelled"]
    alone = tables.load("proxied").query("way == 'without' and table != 'star'").set_index(by)
    other = tables.load("average_tables").query("design == 'draw'").set_index(by).loc[alone.index]
    assert len(alone) == 22 and np.allclose(alone[["width", "held"]], other[["width", "held"]], rtol=1e-4)
