"""FCCM against the picks of its public code, and what those do not show."""

from pathlib import Path

import numpy as np
import pytest
from cases import each

import macal
from macal.acquisition import PoolState

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "fccm.npz", allow_pickle=False)
POOLS = sorted({key.partition("_")[0] for key in GOLDEN.files})


def golden(name):
    x, t, labelled, radii, alpha, picks = (
        GOLDEN[f"{name}_{key}"] for key in ("x", "t", "labelled", "delta", "alpha", "picks")
    )
    state = PoolState(x.astype(float), t.astype(np.int64), np.flatnonzero(labelled))
    return macal.get("fccm", alpha=float(alpha), radii=tuple(radii.tolist())), state, picks.tolist()


@each("name", POOLS)
def test_golden(name):
    criterion, state, picks = golden(name)
    assert criterion.select(state, len(picks)).tolist() == picks


@pytest.mark.parametrize("name", ["f05", "f07", "f11", "f19"])
def test_batches_do_not_matter(name):
    criterion, state, picks = golden(name)
    batches = list(criterion.plan(state, [1, 3, 2, 4, 1]))
    assert np.concatenate(batches).tolist() == picks[:11]
    resumed = PoolState(state.x, state.t, np.concatenate([state.labelled, *batches]))
    assert criterion.select(resumed, 4).tolist() == picks[11:15]


def test_units_of_the_other_arm_count_for_ever():
    # treated units 0 and 1 and control 3 reach each other, 2 and 4 stand alone; 0 and 3 are labelled
    x, t = np.array([[0.0], [0.01], [1.0], [0.05], [0.5]]), np.array([1, 1, 1, 0, 1])
    state = PoolState(x, t, np.array([0, 3]))
    # 1 is covered, and so is the control that it reaches: that still counts, before the uncovered 2 and 4
    assert macal.get("fccm").select(state, 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"radii": (0.1, 0.1)}, "radii"),
        ({"radii": (0.1, 0.1, -0.1, 0.1)}, "radii"),
    ],
)
def test_bad_parameters(unchecked, parameters, message):
    with pytest.raises(ValueError, match=message):
        macal.get("fccm", **parameters)
