"""What a problem may be made of, and what is said when it is not."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array

from macal.arguments import as_arms, as_count, as_covariates, as_indices, as_outcomes
from macal.problem import Problem, Split


def make_split(n=6, d=2):
    x = np.arange(n * d, dtype=float).reshape(n, d)
    return Split(x, np.arange(n) % 2, np.ones(n), np.zeros(n), np.full(n, 2.0))


FRAME = pd.DataFrame(np.eye(3))
FORMS = [np.eye(3), np.eye(3).tolist(), *(np.eye(3, dtype=kind) for kind in (int, bool, np.float16))]
FORMS += [torch.eye(3), torch.eye(3, dtype=torch.bfloat16), torch.eye(3, requires_grad=True)]
FORMS += [FRAME, FRAME.astype(int).astype("Int64"), FRAME.astype("double[pyarrow]")]


@pytest.mark.parametrize("x", [*FORMS, np.ma.masked_array(np.eye(3), mask=False)])
def test_covariates_come_in_every_usual_form(x):
    found = as_covariates(x)
    assert np.array_equal(found, np.eye(3)) and found.dtype in (np.float32, np.float64)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: as_covariates(np.ones(3)), r"x .*\(3,\)"),
        (lambda: as_covariates([["a"], ["b"]]), "x .*<U1"),
        (lambda: as_covariates(pd.DataFrame({"a": ["u", "v"], "b": [1, 2]})), "'a'"),
        (lambda: as_covariates(pd.DataFrame({"a": [1, None]}, dtype="Int64")), "1 rows"),
        (lambda: as_covariates([[1.0], [np.nan], [np.inf]]), "2 rows, the first being row 1"),
        (lambda: as_covariates(np.empty((3, 0))), r"\(3, 0\)"),
        (lambda: as_covariates(np.ma.masked_greater([[1.0], [9.0]], 5)), "masked"),
        (lambda: as_covariates(torch.eye(3).to_sparse()), "sparse tensor"),
        (lambda: as_covariates(csr_array(np.eye(3))), "sparse matrix"),
        (lambda: as_covariates([[2**53 + 1], [0]]), r"2\*\*53"),
        (lambda: as_covariates(pd.DataFrame({"id": [2**60], "a": [1.0]})), "'id'"),
        (lambda: as_arms([0, "1", None], 3), r"\['1', None\]"),
        (lambda: as_arms(pd.array([True, None], dtype="boolean"), 2), "binary"),
        (lambda: as_arms([0, 1], 3), r"t .*3 units, got shape \(2,\)"),
        (lambda: as_arms([0, 1, 2], 3), r"\[2\]"),
        (lambda: as_arms([0, 1, np.nan], 3), r"\[nan\]"),
        (lambda: as_outcomes([1.0, np.nan], 2), "y must be finite"),
        (lambda: as_outcomes([1.0], 2), "y .*2 units"),
        (lambda: as_indices([0, 5], 5), "0..5"),
        (lambda: as_indices([-1], 5), "-1"),
        (lambda: as_indices([1, 3, 1], 5), r"\[1\]"),
        (lambda: as_indices([0.0, 1.0], 5), "float64"),
        (lambda: as_indices([True, False], 2), "mask"),
        (lambda: as_count(0, "batch_size"), "batch_size .*0"),
        (lambda: as_count(2.0, "n_queries"), "n_queries .*2.0"),
        (lambda: as_count(True, "n_queries"), "True"),
    ],
)
def test_bad_arrays_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_split_is_frozen_and_does_not_touch_what_it_was_given():
    x = np.ones((4, 2))
    split = Split(x, np.array([0, 1, 0, 1]), np.arange(4.0))
    x[0, 0] = 9
    assert split.x[0, 0] == 1 and split.x.dtype == np.float64 and split.t.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        split.y[0] = 0
    with pytest.raises(AttributeError):
        split.y = split.y


def test_split_rows_and_effects():
    split = make_split()
    assert len(split[[4, 1]]) == 2 and split[[4, 1]].t.tolist() == [0, 1]
    assert np.array_equal(split.tau, np.full(6, 2.0))
    with pytest.raises(ValueError, match="tau needs both mu0 and mu1"):
        _ = Split(split.x, split.t, split.y)[:3].tau


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": np.array([0, 9])}, "start .*0..9"),
        ({"start": np.array([2, 2])}, "start"),
        ({"test": make_split(d=3)}, r"\[2, 3\]"),
        ({"batch_size": 0}, "batch_size"),
        ({"n_queries": -1}, "n_queries"),
        ({"y_scale": (1.0, 0.0)}, "y_scale"),
        ({"y_scale": (np.nan, 1.0)}, "y_scale"),
    ],
)
def test_bad_problems_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Problem(**{"name": "own", "pool": make_split(), "test": make_split(), "start": np.array([0, 1])} | changes)


def test_labelled_are_the_start_and_what_was_bought():
    problem = Problem("own", make_split(), make_split(4), np.array([3]))
    assert problem.labelled([]).tolist() == [3]
    assert problem.labelled([[0, 4], np.array([1])]).tolist() == [3, 0, 4, 1]
