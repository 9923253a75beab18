"""A problem from one's own table: what is encoded and scaled, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import macal
from macal.datasets import from_table


def make_table(n=200):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.normal(30_000, 9_000, n),
            "smoker": rng.random(n) < 0.3,
            "region": rng.choice(["north", "south", "west"], n),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "high"]),
            "constant": 7.0,
            "treated": rng.integers(0, 2, n),
            "cost": rng.normal(100, 5, n),
        },
        index=[f"unit {k}" for k in range(n)],
    )


COVARIATES = ["age", "income", "smoker", "region", "grade", "constant"]


def make(table=None, **changes):
    table = make_table() if table is None else table
    return from_table(**{"table": table, "covariates": COVARIATES, "treatment": "treated", "outcome": "cost"} | changes)


def test_sizes_and_provenance():
    problem = make(seed=3)
    assert (len(problem.pool), len(problem.test), problem.valid) == (150, 50, None)
    assert (problem.name, problem.seed, problem.sources, len(problem.start), problem.n_queries) == (
        "own",
        3,
        {},
        10,
        14,
    )
    assert problem.pool.mu0 is None and set(problem.pool.y) | set(problem.test.y) == set(make_table()["cost"])


def test_numbers_are_scaled_by_the_pool_and_categories_become_columns():
    table = make_table()
    problem = make(table)
    rows = table.set_index("cost").loc[problem.pool.y].reset_index()
    x = problem.pool.x
    assert x.shape == (150, 3 + 1 + 3 + 1)
    for column, name in enumerate(["age", "income"]):
        np.testing.assert_allclose(x[:, column], (rows[name] - rows[name].mean()) / rows[name].std(ddof=0), atol=1e-5)
        assert abs(problem.test.x[:, column].mean()) > 1e-4
    assert np.array_equal(x[:, 2], np.zeros(150))  # does not vary: centred, not divided by zero
    expected = [rows["smoker"], *(rows["region"] == r for r in ("north", "south", "west")), rows["grade"] == "low"]
    assert np.array_equal(x[:, 3:], np.column_stack(expected).astype(float))


def test_a_category_that_the_pool_lacks_keeps_its_column():
    table = make_table()
    table["region"] = ["rare"] + ["usual", "other"] * 99 + ["usual"]
    widths = {make(table, seed=seed).pool.x[:, 5].sum() for seed in range(12)}
    assert widths == {0.0, 1.0}  # 'rare' is in the test set of some divisions


def test_the_same_seed_gives_the_same_problem():
    first, again, other = make(seed=1), make(seed=1), make(seed=2)
    assert first.pool.x.tobytes() == again.pool.x.tobytes() and np.array_equal(first.start, again.start)
    assert not np.array_equal(first.pool.y, other.pool.y)


@pytest.mark.parametrize("treated", [[True, False] * 100, [1.0, 0.0] * 100])
def test_treatment_may_be_truth_values_or_floats(treated):
    problem = make(make_table().assign(treated=treated))
    assert problem.pool.t.sum() + problem.test.t.sum() == 100


def test_without_an_outcome_a_campaign_can_be_planned():
    problem = make(outcome=None)
    assert problem.pool.y is None and problem.pool[[1, 2]].y is None
    batches = macal.plan(problem.pool.x, problem.pool.t, problem.start, n_queries=2)
    assert [len(b) for b in batches] == [10, 10]


def gaps():
    table = make_table()
    table.loc[table.index[:3], "income"] = np.nan
    table.loc[table.index[5], "income"] = np.inf
    table.loc[table.index[:7], "region"] = None
    table.loc[table.index[:2], "cost"] = np.nan
    return table


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": np.ones((3, 3))}, "table must be a pandas DataFrame, got ndarray"),
        ({"covariates": ["age", "incme"]}, r"unknown column 'incme' \(did you mean 'income'\?\)"),
        ({"treatment": "treatd"}, r"unknown column 'treatd' \(did you mean 'treated'\?\)"),
        ({"outcome": "costs"}, r"unknown column 'costs' \(did you mean 'cost'\?\)"),
        ({"covariates": ["age", "treated"]}, "more than once: treated"),
        ({"covariates": ["age", "age"]}, "more than once: age"),
        ({"table": pd.concat([make_table(), make_table()[["age"]]], axis=1)}, "more than once: age"),
        ({"covariates": []}, "at least one column name"),
        ({"covariates": "age"}, "must be a list of at least one column name, got 'age'"),
        ({"table": gaps()}, r"missing or infinite values in income \(4\), region \(7\), cost \(2\) of 200 rows"),
        ({"table": make_table().assign(treated=2)}, r"treated must be binary .* got also \[2\]"),
        ({"table": make_table().assign(treated=["yes", "no"] * 100)}, "treated must be binary"),
        ({"table": make_table().assign(treated=1)}, "treated must hold both 0 and 1, got 200 rows of one arm"),
        ({"table": make_table().assign(cost="a lot")}, "cost must be finite numbers"),
        (
            {"table": make_table().assign(age=pd.Timestamp("2020-01-01"))},
            "covariate 'age' is a time .* turn it into a number",
        ),
        (
            {"table": make_table().assign(region=[f"person {k}" for k in range(200)])},
            "'region' has 200 categories, more than 100",
        ),
        ({"test_size": 0.0}, "test_size must lie between 0 and 1"),
        ({"test_size": 1.5}, "test_size must lie between 0 and 1"),
        ({"test_size": 0.001}, "leave units on both sides, got 0.001 of 200 rows"),
        ({"start": 151}, "start must be at most the pool's 150 units, got 151"),
        ({"start": 0}, "start must be an integer of at least 1"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1"),
        ({"n_queries": 0}, "n_queries must be an integer of at least 1"),
    ],
)
def test_bad_tables_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_the_table_is_left_as_it_was():
    table = make_table()
    make(table)
    pd.testing.assert_frame_equal(table, make_table())
