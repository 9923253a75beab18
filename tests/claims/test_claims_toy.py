"""Verdicts F1a to F1d: on the recorded campaigns, and on made-up ones that would change them."""

import numpy as np
import pandas as pd
import pytest

from macal import results
from reproduction.claims import toy
from reproduction.studies import toy as toy_study

SIZES = np.arange(25, 266, 10)


def made_up(levels, seeds=6, **columns):
    """Rows whose PEHE (and other columns) fall geometrically: method -> (early rate, floor)."""
    rng = np.random.default_rng(0)
    rows = []
    for method, (rate, floor) in levels.items():
        for seed in range(seeds):
            pehe = np.maximum(np.exp(-rate * (SIZES - 25) / 10), floor) * np.exp(0.01 * rng.normal(size=SIZES.size))
            values = {name: pehe * factors.get(method, 1.0) for name, factors in columns.items()}
            about = {"replication": seed, "method": method, "labelled": SIZES, "pehe": pehe}
            rows.append(pd.DataFrame(about | values))
    return pd.concat(rows, ignore_index=True)


def figure():
    """Our rows made from the published means: a perfect reproduction."""
    wide = toy.published().pivot_table("mean", ["method", "n_train"], "quantity").reset_index()
    wide = wide.rename(columns={"n_train": "labelled", "wass": "surrogate", "var": "variance"})
    return pd.concat([wide.assign(replication=k) for k in range(3)])


def test_the_recorded_study():
    table = results.load("toy")
    assert table.replication.nunique() == 20 and set(table.labelled) == set(SIZES.tolist())
    assert set(table.method) == {*toy_study.FIGURE, *toy_study.CONTROLS}
    assert toy.inside(table).loc["macal", "pehe"] >= 20


FAST, SLOW = (0.5, 0.2), (0.05, 0.05)


@pytest.mark.parametrize(
    ("symmetry", "uncertainty", "verdict"),
    [(FAST, (0.1, 0.05), "holds"), (FAST, (0.1, 0.3), "holds in part"), (SLOW, (0.1, 0.01), "holds in part"),
     ((0.01, 0.05), (0.1, 0.9), "fails")],
)  # fmt: skip
def test_f1a_can_go_any_way(symmetry, uncertainty, verdict):
    table = made_up({"symmetry": symmetry, "uncertainty": uncertainty, "random": (0.01, 0.05)})
    assert toy.judge_symmetry(table=table).verdict == verdict


@pytest.mark.parametrize(
    ("macal", "qhte", "verdict"),
    [(0.9, 0.3, "holds"), (0.5, 0.9, "holds"), (0.1, 0.3, "fails")],
)
def test_f1b_can_go_any_way(macal, qhte, verdict):
    rates = {"random": 0.02, "uncertainty": 0.2, "symmetry": 0.15, "macal": macal, "qhte": qhte}
    assert toy.judge_quickest(table=made_up({k: (v, 0.05) for k, v in rates.items()})).verdict == verdict


def test_labels_to_the_lowest_error():
    table = pd.DataFrame(
        {"replication": 0, "labelled": [25, 35, 45] * 2, "method": ["macal"] * 3 + ["random"] * 3,
         "pehe": [1.0, 0.22, 0.2, 1.0, 0.9, 0.8]}
    )  # fmt: skip
    assert toy.quickness(table, within=0.1).loc[0].to_dict() == {"macal": 35, "random": 55}
    assert toy.quickness(table, within=0.01).loc[0, "macal"] == 45
    assert toy.target(table).to_dict() == {0: pytest.approx(0.22)}


def test_a_method_that_leaves_the_lowest_error_again_still_came_first():
    levels = dict.fromkeys(toy.PAPER, (0.05, 0.3)) | {"macal": (0.9, 0.3)}
    table = made_up(levels)
    table.loc[(table.method == "macal") & (table.labelled == 265), "pehe"] = 9.0
    assert toy.judge_quickest(table=table).verdict == "holds"


@pytest.mark.parametrize(
    ("w1", "variance", "verdict"),
    [(0.5, 0.5, "holds"), (0.5, 2, "holds in part"), (2, 0.5, "holds in part"), (2, 2, "fails")],
)
def test_f1c_can_go_any_way(w1, variance, verdict):
    levels = dict.fromkeys(toy.SIMPLE, (0.1, 0.05))
    table = made_up(levels, w1={"symmetry": w1}, variance={"uncertainty": variance})
    assert toy.judge_reductions(table=table).verdict == verdict


def test_f1d_can_go_any_way():
    same = figure()
    assert toy.judge_curves(table=same).verdict == "holds" and (toy.inside(same) == 25).all().all()
    assert toy.judge_curves(table=same.assign(variance=9.0)).verdict == "holds in part"
    assert toy.judge_curves(table=same.assign(variance=9.0, surrogate=99.0, pehe=9.0)).verdict == "fails"


def test_deviations_are_in_published_sds():
    found = toy.deviations(figure().assign(pehe=lambda d: d.pehe + 0.1)).set_index(["quantity", "method", "n_train"])
    row = found.loc[("pehe", "macal", 85)]
    assert row.z == pytest.approx(0.1 / row.sd) and found.loc["var"].z.abs().max() < 1e-9
    assert toy.inside(figure(), {"macal": "random"}).loc["macal", "pehe"] < 5
