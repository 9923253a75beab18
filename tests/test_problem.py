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


@pytest.mark.parametrize(
    "x",
    [
        np.eye(3),
        torch.eye(3),
        torch.eye(3, dtype=torch.bfloat16),
        torch.eye(3, requires_grad=True),
        pd.DataFrame(np.eye(3)),
        pd.DataFrame(np.eye(3, dtype=int)).astype("Int64"),
        pd.DataFrame(np.eye(3)).astype("double[pyarrow]"),
        np.eye(3, dtype=int),
        np.eye(3, dtype=bool),
        np.eye(3, dtype=np.float16),
        np.ma.masked_array(np.eye(3), mask=False),
        np.eye(3).tolist(),
    ],
)
def test_covariates_come_in_every_usual_form(x):
    found = as_covariates(x)
    assert np.array_equal(found, np.eye(3)) and found.dtype in (np.float32, np.float64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_covariates(np.ones(3)), r"x must have two axes .* got shape \(3,\); reshape"),
        (lambda: as_covariates([["a"], ["b"]]), "x must be numeric, got dtype <U1; encode"),
        (lambda: as_covariates(pd.DataFrame({"a": ["u", "v"], "b": [1, 2]})), "x must be numeric, got column 'a' of"),
        (lambda: as_covariates(pd.DataFrame({"a": [1, None]}, dtype="Int64")), "NaN or infinity in 1 rows"),
        (lambda: as_covariates(np.empty((3, 0))), r"x must have at least one covariate, got shape \(3, 0\)"),
        (lambda: as_covariates(np.ma.masked_greater([[1.0], [9.0]], 5)), "x must have no masked entries, got 1"),
        (lambda: as_covariates(torch.eye(3).to_sparse()), "x must be dense, got a sparse tensor"),
        (lambda: as_covariates(csr_array(np.eye(3))), "x must be dense, got a sparse matrix; use .toarray"),
        (lambda: as_covariates([[2**53 + 1], [0]]), r"x holds integers beyond 2\*\*53"),
        (lambda: as_covariates(pd.DataFrame({"id": [2**60], "a": [1.0]})), "column 'id' of x holds integers beyond"),
        (lambda: as_arms([0, "1", None], 3), r"t must be binary .* got also \['1', None\]"),
        (lambda: as_arms(pd.array([True, None], dtype="boolean"), 2), "t must be binary .* got also"),
        (lambda: as_arms(pd.Series([True, None], dtype="boolean"), 2), r"t must be binary .* got also \[nan\]"),
        (lambda: as_covariates([[1.0], [np.nan], [np.inf]]), "NaN or infinity in 2 rows, the first being row 1"),
        (lambda: as_arms([0, 1], 3), r"t must have one entry for each of the 3 units, got shape \(2,\)"),
        (lambda: as_arms([0, 1, 2], 3), r"t must be binary .* got also \[2\]"),
        (lambda: as_arms([0, 1, np.nan], 3), r"t must be binary .* got also \[nan\]"),
        (lambda: as_arms(["0", "1", "b"], 3), r"t must be binary .* got also \['0', '1', 'b'\]"),
        (lambda: as_outcomes([1.0, np.nan], 2), "y must be finite"),
        (lambda: as_outcomes([1.0], 2), "y must have one entry for each of the 2 units"),
        (lambda: as_indices([0, 5], 5), r"labelled must lie in 0..4, got 0..5"),
        (lambda: as_indices([-1], 5), r"labelled must lie in 0..4, got -1"),
        (lambda: as_indices([1, 3, 1], 5), r"must not repeat an index, got \[1\]"),
        (lambda: as_indices([0.0, 1.0], 5), "integer indices, .* dtype float64"),
        (lambda: as_indices([True, False], 2), "for a mask use np.flatnonzero"),
        (lambda: as_count(0, "batch_size"), "batch_size must be an integer of at least 1, got 0"),
        (lambda: as_count(2.0, "n_queries"), "n_queries must be an integer of at least 1, got 2.0"),
        (lambda: as_count(True, "n_queries"), "got True"),
    ],
)
def test_bad_arrays_are_named(call, message):
    with pytest.raises(ValueError, match=message):
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
        ({"start": np.array([0, 9])}, r"start must lie in 0..5, got 0..9"),
        ({"start": np.array([2, 2])}, "start must not repeat"),
        ({"test": make_split(d=3)}, r"must have the same covariates, got \[2, 3\]"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1"),
        ({"n_queries": -1}, "n_queries must be an integer of at least 1"),
        ({"y_scale": (1.0, 0.0)}, r"y_scale must be a finite mean and an s.d. above 0, got \(1.0, 0.0\)"),
        ({"y_scale": (np.nan, 1.0)}, "y_scale must be a finite mean"),
    ],
)
def test_bad_problems_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Problem(**{"name": "own", "pool": make_split(), "test": make_split(), "start": np.array([0, 1])} | changes)


def test_labelled_are_the_start_and_what_was_bought():
    problem = Problem("own", make_split(), make_split(4), np.array([3]))
    assert problem.labelled([]).tolist() == [3]
    assert problem.labelled([[0, 4], np.array([1])]).tolist() == [3, 0, 4, 1]


def test_problem_shows_its_sizes():
    assert repr(Problem("own", make_split(), make_split(4), np.array([0, 1]))) == (
        "Problem('own', seed=0, protocol='paper': pool 6, test 4; "
        "2 covariates; 3 treated in the pool, 1 of 2 at the start; "
        "arms' means at most 0.61 s.d. apart)"
    )
