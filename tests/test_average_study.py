"""What draws save on real tables: the end points of made-up widths."""

import numpy as np
import pandas as pd
import pytest

from reproduction.studies import average as study
from reproduction.studies import tables, widths


def made(widths, given=1.0, table="rhc", sd=0.1):
    rows = [{"design": name, "width": width, "width_sd": sd, "given": 1.0} for name, width in widths.items()]
    rows[0]["given"] = given
    return pd.DataFrame(rows).assign(table=table, labelled=200)


WIDTHS = {"simple": 2.0, "equal": 1.8, "draw": 1.0, "regression": 1.1, "bound": 0.9}


def test_an_interval_half_as_wide_saves_three_quarters_of_the_answers():
    few = made(WIDTHS, given=0.4, table="letters")
    found = study.saved(pd.concat([made(WIDTHS), few]))
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
