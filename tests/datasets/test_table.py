"""A problem from one's own table: what is encoded and scaled, and what is refused."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from cases import each

import macal
from macal.datasets import from_table
from macal.problem import Problem, Split


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
    given = {"table": table, "covariates": COVARIATES, "treatment": "treated", "outcome": "cost", "test_size": 0.25}
    return from_table(**given | changes)


def test_sizes_and_provenance():
    problem = make(seed=3)
    assert (len(problem.pool), len(problem.test), problem.valid) == (150, 50, None)
    found = problem.name, problem.seed, problem.sources, len(problem.start), problem.n_queries
    assert found == ("own", 3, {}, 10, 14)
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
    batches = macal.plan(problem.pool.x, problem.pool.t, problem.start, n_queries=2, criterion="macal")
    assert [len(b) for b in batches] == [10, 10]


def some_bought():
    table = make_table()
    table.loc[table.index[np.arange(200) % 4 > 0], "cost"] = np.nan
    return table


def test_units_keep_the_callers_names():
    table = make_table()
    problem = make(seed=3)
    for split in (problem.pool, problem.test):
        assert np.array_equal(table.cost[split.index], split.y) and np.array_equal(table.treated[split.index], split.t)
    assert problem.pool[[5, 2]].index.tolist() == problem.pool.index[[5, 2]].tolist()


def test_by_default_everybody_can_be_asked():
    problem = make(test_size=0.0)
    assert problem.test is None and problem.pool.index.tolist() == make_table().index.tolist()
    plan = macal.schedule(problem)
    assert sorted(plan.index) == sorted(make_table().index) and len(plan) == 200


@pytest.mark.parametrize("criterion", ["macal", "qhte", "random-balanced", macal.get("macal", alpha=1.0)])
def test_a_schedule_names_the_right_people(criterion):
    table = make_table()
    problem = make(outcome=None, test_size=0.0, seed=4)
    plan = macal.schedule(problem, criterion, n_queries=3, batch_size=6)
    assert (table.treated[plan.index] == plan.treated).all() and plan.index.is_unique
    assert plan["round"].tolist() == np.repeat([0, 1, 2, 3], [10, 6, 6, 6]).tolist()
    assert plan.index[:10].tolist() == problem.pool.index[problem.start].tolist()


def test_a_schedule_without_names_counts_positions():
    toy = macal.load("toy")
    plan = macal.schedule(toy, "macal", n_queries=2)
    assert plan.index.name == "unit" and np.array_equal(plan.index[:25], toy.start)


def test_a_schedule_needs_no_model():
    with pytest.raises(ValueError, match="'mu-bald'.*'macal'"):
        macal.schedule(macal.load("toy"), "mu-bald")


def test_missing_outcomes_have_not_been_bought_yet():
    table = some_bought()
    problem = make(table, test_size=0.0)
    assert problem.pool.index[problem.start].tolist() == table.index[table.cost.notna()].tolist()
    plan = macal.schedule(problem, n_queries=4)
    assert table.cost[plan.index[plan["round"] > 0]].isna().all() and (plan["round"] > 0).sum() == 40
    answers = macal.models.Task(problem.pool[problem.start])
    assert np.isfinite(answers.labelled.y).all()
    with pytest.raises(ValueError, match="150 of 200"):
        macal.models.Task(problem.pool)


@pytest.mark.parametrize("kind", ["names", "mask", "series", "objects", "nullable"])
def test_a_start_may_be_named(kind):
    table = make_table()
    mask = pd.Series(np.arange(200) % 40 == 7, table.index)
    starts = {"names": table.index[mask], "mask": mask.to_numpy(), "series": mask[::-1]}
    start = (starts | {"objects": mask.astype(object), "nullable": pd.array(mask)})[kind]
    problem = make(start=start, outcome=None, test_size=0.0)
    assert problem.pool.index[problem.start].tolist() == table.index[mask].tolist()


def test_without_any_outcome_bought_the_start_is_drawn():
    drawn = make(make_table().assign(cost=np.nan), test_size=0.0)
    assert len(drawn.start) == 10 and np.isnan(drawn.pool.y).all()


def test_column_names_may_come_one_by_one():
    assert np.array_equal(make(covariates=(c for c in COVARIATES)).pool.x, make().pool.x)
    assert np.array_equal(make(covariates=pd.Index(COVARIATES)).pool.x, make().pool.x)


def test_nullable_and_arrow_columns_are_numbers_too():
    table = make_table()
    for frame in (table.convert_dtypes(), table.convert_dtypes(dtype_backend="pyarrow")):
        problem = make(frame)
        np.testing.assert_allclose(problem.pool.x, make().pool.x)
        assert np.array_equal(problem.pool.y, make().pool.y)


def test_columns_may_have_any_names():
    table, named = make_table(), [*COVARIATES, "treated", "cost"]
    plain = make(table).pool.x
    for names in (range(8), [False, True, *range(2, 8)], [("a", k) for k in range(8)], list(np.array(named))):
        other = table[named].set_axis(pd.Index(list(names), tupleize_cols=False), axis=1)
        own = list(names)
        found = make(other, covariates=own[:6], treatment=own[6], outcome=own[7])
        assert np.array_equal(found.pool.x, plain)


def test_numbers_among_objects_are_numbers():
    table = make_table()
    for objects in (table.age.astype(object), table.age.map(lambda v: decimal.Decimal(int(v)))):
        assert np.array_equal(make(table.assign(age=objects)).pool.x, make().pool.x)
    treated = pd.Series([np.bool_(v) for v in table.treated], table.index, dtype=object)
    assert np.array_equal(make(table.assign(treated=treated)).pool.t, make().pool.t)
    some = some_bought()
    answers = some.cost.astype(object).where(some.cost.notna(), None)
    problems = [make(some.assign(cost=cost), test_size=0.0) for cost in (answers, some.cost)]
    assert problems[0].start.tolist() == problems[1].start.tolist()


def test_an_outcome_may_be_a_truth_value():
    answers = pd.Series([True, False] * 100, make_table().index)
    assert make(make_table().assign(cost=answers), test_size=0.0).pool.y.tolist() == [1.0, 0.0] * 100
    some = make(make_table().assign(cost=answers.astype("boolean").where(np.arange(200) < 3)), test_size=0.0)
    assert some.start.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="cost .*True"):
        make(make_table().assign(cost=answers.astype(object)))


def test_sparse_columns_are_numbers_too():
    table = make_table()
    sparse = table.assign(age=pd.arrays.SparseArray(table.age), treated=pd.arrays.SparseArray(table.treated))
    assert np.array_equal(make(sparse).pool.x, make().pool.x)
    assert np.array_equal(macal.arguments.as_covariates(sparse[["age"]]), table[["age"]])


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e160, 1e300])
def test_numbers_of_any_size_are_standardised(scale):
    table = make_table()
    x = make(table.assign(income=table.income / 1e5 * scale)).pool.x
    np.testing.assert_allclose(x, make(table).pool.x, atol=1e-9)
    micro = make(table.assign(income=1.7e15 + 1000 * np.arange(200.0))).pool.x[:, 1]
    assert abs(micro.std() - 1) < 1e-9


def test_a_plan_of_huge_numbers_ends():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    huge = np.sign(x) * 1.7e308
    assert [len(batch) for batch in macal.plan(huge, t, [0, 1], 3, 4, "macal")] == [4, 4, 4]


def test_a_plan_of_frames_wants_one_order():
    table = make_table()
    with pytest.raises(ValueError, match="index"):
        macal.plan(table[["age", "income"]], table.treated[::-1], [0], 2, 4, "macal")


def test_a_schedule_says_what_cannot_be_scheduled():
    with pytest.raises(ValueError, match="criterion"):
        macal.schedule(make(), None)
    with pytest.raises(ValueError, match="'round'"):
        macal.schedule(make(make_table().rename_axis("round")))


def test_large_numbers_keep_what_tells_them_apart():
    seconds = 1.7e9 + np.arange(200.0)
    raw = np.column_stack([seconds, make_table().income])
    t = make_table().treated.to_numpy()
    kept = Split(raw, t).x
    assert np.array_equal(kept, raw)
    problem = Problem("own", Split(raw, t), None, np.arange(10))
    plans = macal.plan(raw, t, np.arange(10), 4, criterion="macal"), macal.schedule(problem, "macal", n_queries=4)
    assert np.concatenate(plans[0]).tolist() == plans[1].index[10:].tolist()
    assert np.isfinite(Split(np.full((2, 1), 1e39), np.array([0, 1])).x).all()


def test_a_campaign_on_ones_own_table_cannot_be_judged():
    for call in (lambda: macal.run(make(), "random"), lambda: macal.evaluate(make(test_size=0.0), [[0, 1]])):
        with pytest.raises(ValueError, match="'own'"):
            call()


def gaps():
    table = make_table()
    table.loc[table.index[:3], "income"] = np.nan
    table.loc[table.index[5], "income"] = np.inf
    table.loc[table.index[:7], "region"] = None
    table.loc[table.index[:2], "cost"] = np.nan
    return table


def aged(age):
    return {"table": make_table().assign(age=age)}


@each(
    "changes, named",
    [
        ({"table": make_table().rename(index={"unit 3": np.nan})}, "1 have no name"),
        ({"table": make_table().set_axis([0, 0, *range(1, 199)])}, "once, got 0"),
        ({"table": np.ones((3, 3))}, "ndarray"),
        ({"start": pd.Series([True, False] * 100)}, "mask"),
        ({"start": "unit 3"}, "start .*str"),
        ({"table": make_table().set_axis(range(200)), "start": ["3"]}, "'3', a str, .*int64"),
        ({"table": some_bought(), "start": 10, "test_size": 0.0}, "50 of 200"),
        ({"table": some_bought()}, "150 of 200"),
        ({"start": ["unit 3", "unit 999"]}, "'unit 999'"),
        ({"start": ["unit 3", "unit 3"], "test_size": 0.0}, "once, got unit 3"),
        ({"start": [True, False]}, "200 units, got 2"),
        ({"start": make_table().index}, "50 units"),
        ({"start": 151}, "start .*150 .*151"),
        ({"start": 0}, "start"),
        (aged(["refused", *map(str, range(199))]), "'refused'"),
        (aged(["$12", "1,234,567", "99+", "12"] * 50), "numbers as text"),
        (aged("34"), "'34'"),
        (aged(["1,5", "2.0"] * 100), "numbers as text"),
        *((aged(date), "dates as text") for date in ("12:30", "2020-01-31", "3 May 2020")),
        *((aged(t), "'age' is a time") for t in (datetime.date(2020, 1, 1), pd.Period("2020-01"), pd.Timestamp(0))),
        (aged(1j), "complex"),
        (aged([[1]] * 200), "'age'"),
        (aged([1, "one"] * 100), "int, str"),
        (aged(2**53 + np.arange(200)), "'age' .*2.*53"),
        ({"table": make_table().assign(region=[f"person {k}" for k in range(200)])}, "'region' has 200"),
        (
            {"table": make_table().assign(treated=pd.array([True, None] * 100))},
            r"'treated' .*100 of 200 .*unit 1, unit 3",
        ),
        *(
            ({"table": make_table().assign(treated=wrong)}, "treated")
            for wrong in ([0, "1"] * 100, 2, ["yes", "no"] * 100)
        ),
        ({"table": make_table().assign(treated=1)}, "treated .*200"),
        ({"table": make_table().assign(cost="a lot")}, "cost"),
        *(({"covariates": wrong}, "covariates") for wrong in (None, (c for c in []), [], "age")),
        ({"covariates": ["age", "incme"]}, "'incme' .*'income'"),
        ({"treatment": "treatd"}, "'treatd' .*'treated'"),
        ({"treatment": ["treated"]}, "treatment"),
        ({"outcome": "costs"}, "'costs' .*'cost'"),
        ({"covariates": ["age", "treated"]}, "once: treated"),
        ({"covariates": ["age", "age"]}, "once: age"),
        ({"table": pd.concat([make_table(), make_table()[["age"]]], axis=1)}, "once: age"),
        ({"table": gaps()}, r"'income' \(4, first of unit 0\), covariate 'region' \(7, first of unit 0\)"),
        ({"seed": -1}, "seed"),
        *(({"test_size": wrong}, "test_size") for wrong in ("0.2", -0.1, 1.5)),
        ({"test_size": 0.001}, "0.001"),
        ({"batch_size": 0}, "batch_size"),
        ({"n_queries": 0}, "n_queries"),
    ],
)
def test_bad_tables_are_refused(changes, named, unchecked):
    with pytest.raises(ValueError, match=named):
        make(**changes)


def test_the_table_is_left_as_it_was():
    table = make_table()
    make(table)
    pd.testing.assert_frame_equal(table, make_table())
