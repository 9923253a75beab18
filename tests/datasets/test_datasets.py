"""The data sets against the paper's description, the public code's check sums and themselves."""

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import each
from needs import each_dataset

import macal
from macal.datasets import ihdp, toy

# check sums of the public code's own splits, replications 0 to 4
REFERENCE = pd.read_csv(Path(__file__).parents[1] / "golden" / "ihdp_public_code.csv").set_index("seed")


def digest(problem):
    hasher = hashlib.sha256(problem.start.tobytes())
    for split in (problem.pool, problem.valid, problem.test):
        for array in () if split is None else (split.x, split.t, split.y, split.mu0, split.mu1):
            hasher.update(array.tobytes())
    return hasher.hexdigest()


@pytest.mark.parametrize("seed", REFERENCE.index)
@each("column", REFERENCE.columns)
def test_ihdp_equals_the_public_code(seed, column):
    problem = macal.load("ihdp", seed, protocol="code")
    pool, valid, test = problem.pool, problem.valid, problem.test
    found = {
        "n_pool": len(pool), "n_treated_pool": pool.t.sum(), "sum_x_pool": pool.x.sum(dtype=float), "first_x0_pool":
        pool.x[0, 0], "mean_y_pool": pool.y.mean(), "sd_y_pool": pool.y.std(), "mean_tau_pool": pool.tau.mean(),
        "n_code_valid": len(valid), "mean_tau_code_valid": valid.tau.mean(), "n_code_test": len(test),
        "mean_tau_code_test": test.tau.mean(), "sd_tau_code_test": test.tau.std(),
    }  # fmt: skip
    assert found[column] == pytest.approx(REFERENCE.loc[seed, column], abs=1.1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_ihdp_sizes_and_disjoint_splits(seed):
    problem = macal.load("ihdp", seed)
    splits = (problem.pool, problem.valid, problem.test)
    assert [len(s) for s in splits] == [470, 75, 202]
    assert (problem.batch_size, problem.n_queries, len(problem.start)) == (10, 46, 10)
    assert len({(*row, y) for s in splits for row, y in zip(s.x.tolist(), s.y.tolist(), strict=True)}) == 747
    code = macal.load("ihdp", seed, protocol="code")
    assert np.array_equal(code.test.y, problem.valid.y) and np.array_equal(code.valid.y, problem.test.y)


def test_ihdp_without_its_file(monkeypatch):
    monkeypatch.setattr(ihdp, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install econml"):
        ihdp.covariates.__wrapped__()


@pytest.mark.parametrize(("protocol", "sizes"), [("paper", (2250, 750)), ("code", (2400, 600))])
def test_toy_is_as_described(protocol, sizes):
    problem = macal.load("toy", 3, protocol)
    assert (len(problem.pool), len(problem.test)) == sizes and problem.valid is None
    x = np.r_[problem.pool.x, problem.test.x][:, 0].astype(float)
    t = np.r_[problem.pool.t, problem.test.t]
    assert np.bincount(t).tolist() == [2500, 500]
    for arm, grid in ((1, np.linspace(-12, 10, 100)), (0, np.linspace(-10, 11, 500))):
        assert np.abs(x[t == arm][:, None] - grid).min(axis=0).max() < 1e-6
    mu0, mu1 = toy.surfaces(problem.pool.x[:, 0].astype(float))
    np.testing.assert_allclose(np.where(problem.pool.t == 1, mu1, mu0), problem.pool.y, atol=1e-5)
    assert len(problem.start) == 25


@pytest.mark.parametrize("name", each_dataset())
def test_the_line_of_a_data_set_has_its_number_of_queries(name):
    assert macal.load(name).n_queries == macal.datasets.DATASETS[name].queries


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ihpd",), "'ihpd' .*'ihdp'"),
        (("toy", 0, "papers"), "'papers' .*'paper'"),
        (("toy", -1), "seed .*-1"),
        (("toy", True), "seed .*True"),
    ],
)
def test_load_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        macal.load(*arguments)


@pytest.mark.parametrize("protocol", macal.datasets.PROTOCOLS)
def test_exchanged_arms_carry_each_others_surface_and_nothing_else_changes(protocol):
    problem, other = macal.load("ihdp", 3, protocol), macal.load("ihdp-exchanged", 3, protocol)
    assert np.array_equal(problem.start, other.start)
    for own, exchanged in zip(
        (problem.pool, problem.valid, problem.test), (other.pool, other.valid, other.test), strict=True
    ):
        assert np.array_equal(own.x, exchanged.x) and np.array_equal(own.t, exchanged.t)
        assert np.array_equal(own.mu0, exchanged.mu1) and np.array_equal(own.mu1, exchanged.mu0)
        noise = [s.y - np.where(s.t == 1, s.mu1, s.mu0) for s in (own, exchanged)]
        np.testing.assert_allclose(*noise, atol=1e-9)


def test_surface_a_is_linear_with_one_effect_for_everybody():
    problem, other = macal.load("ihdp-a", 3), macal.load("ihdp", 3)
    assert np.array_equal(problem.pool.x, other.pool.x) and np.array_equal(problem.pool.t, other.pool.t)
    np.testing.assert_allclose(problem.test.tau, 4)
    design = np.column_stack([problem.pool.x, np.ones(len(problem.pool))]).astype(float)
    beta, *_ = np.linalg.lstsq(design, problem.pool.mu0, rcond=None)
    np.testing.assert_allclose(design @ beta, problem.pool.mu0, atol=1e-4)  # covariates are in single precision
    noise = problem.pool.y - np.where(problem.pool.t == 1, problem.pool.mu1, problem.pool.mu0)
    assert abs(noise.std() - 1) < 0.1
    drawn = [ihdp.surface_a(np.eye(25), np.zeros(25, int), np.random.default_rng(k))[0] for k in range(400)]
    counts = np.bincount(np.concatenate(drawn).astype(int), minlength=5) / 10_000
    np.testing.assert_allclose(counts, [0.5, 0.2, 0.15, 0.1, 0.05], atol=0.02)


def test_an_unknown_surface_is_refused():
    with pytest.raises(ValueError, match="'c'"):
        macal.load("ihdp", 0, surface="c")
