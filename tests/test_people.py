"""What a table says of its people: what is missing, unknown or doubtful is named, whole and by a pass."""

import numpy as np
import pandas as pd
import pytest
from test_tables import passed

from macal.planner import Planner
from macal.tables import frames


def people(n=120, **more):
    rng = np.random.default_rng(7)
    table = {"person": [f"p{k:04d}" for k in range(n)], "free": np.arange(n) % 2, "age": rng.integers(18, 90, n)}
    table |= {"income": rng.normal(30, 8, n).round(1), "region": rng.choice(["north", "south", "east"], n)}
    return pd.DataFrame(table | more)


def refused(table, tmp_path, *named, budget=20, treatment="free", by_pass=True, **said):
    """Whoever reads the table refuses it, and names what is wrong."""
    table.to_csv(tmp_path / "t.csv", index=False)
    ways = [lambda _: table, lambda _: frames.read(tmp_path / "t.csv")]
    for make in ways + [lambda planner: passed(planner, tmp_path / "t.csv")] * by_pass:
        planner = Planner(treatment, budget, **said)
        with pytest.raises(ValueError) as error:
            planner.plan(make(planner))
        assert all(word in str(error.value) for word in named), str(error.value)


def test_all_gaps_are_named_at_once(tmp_path):
    table = people(cost=2.0)
    table["free"] = table["free"].astype(float)
    table.loc[3, "free"] = table.loc[[5, 6], "age"] = table.loc[[8], "region"] = table.loc[9, "cost"] = np.nan
    named = "'free'", "1 of 120", "p0003", "'age' (2", "'region' (1", "'cost'"
    refused(table, tmp_path, *named, by_pass=False, cost="cost")


@pytest.mark.parametrize("arm", [0, 1])
def test_what_one_arm_alone_lacks_is_named_and_not_to_be_imputed(arm, tmp_path):
    days = pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d").to_series(index=range(120))
    table = people()
    table["enrolled"] = days.where(table["free"] != arm)
    refused(table, tmp_path, "one arm alone lacks", "'enrolled' (60", "do not impute")
    Planner("free", 20, kinds={"enrolled": "ignore"}).plan(table)
    table.loc[:3, "age"] = np.nan
    refused(table, tmp_path, "one arm alone lacks", "'enrolled'", "missing or infinite values in covariate 'age'")


@pytest.mark.parametrize("word", ["don't know", "Unknown", "refused", "9", "-9", "99"])
def test_people_whose_treatment_is_not_known_are_no_arm(word, tmp_path):
    treatment = np.where(np.arange(120) % 12 == 5, word, np.arange(120) % 2)
    refused(people(free=treatment), tmp_path, repr(word), "10 of 120", reference="0")
    refused(people(free=treatment), tmp_path, repr(word))


@pytest.mark.parametrize(
    "arms", [range(10), [1, 2, 3], ["+", "-", "none"], ["none", "letter", "no letter"], [0, 10, 99]]
)
def test_arms_are_whatever_else_they_are_called(arms):
    table = people(free=[str(arms[k % len(arms)]) for k in range(120)])
    planner = Planner("free", 100, reference=str(arms[0]))
    planner.plan(table)
    assert len(planner.people.arms) == len(arms)


def visits(name, n=60, times=2, **more):
    """People who have a row a visit, in no order."""
    table = people(n).rename(columns={"person": name})
    table[name] = np.arange(1, n + 1)
    table = pd.concat([table.assign(visit=f"visit {k}") for k in range(times)]).assign(**more)
    return table.sample(frac=1, random_state=1).reset_index(drop=True)


@pytest.mark.parametrize("name", ["record_id", "ID", "patient", "participant_no"])
@pytest.mark.parametrize(("n", "times"), [(60, 2), (60, 3), (8, 6), (300, 4)])
def test_people_with_a_row_a_visit_are_counted_and_refused(name, n, times, tmp_path):
    table = visits(name, n, times).drop(columns=["visit"]).assign(pulse=np.arange(n * times) % 37)
    refused(table, tmp_path, f"'{name}'", f"{n * times:,} rows are of {n}", "one row")
    refused(table, tmp_path, f"'{name}'", f"{n * times:,} rows are of {n}", "one row", identifier=name)
    Planner("free", 20, kinds={name: "ignore"}).plan(table)
    Planner("free", n // 2 * times, cluster=name).plan(table)


def test_visits_are_seen_by_what_a_column_tells(tmp_path):
    table = visits("pt", times=3)
    refused(table, tmp_path, "'pt'", "60 in 180 rows", by_pass=False)
    Planner("free", 20).plan(table.assign(score=np.random.default_rng(0).normal(size=180)))  # a class, say


@pytest.mark.parametrize(
    ("name", "each"), [("subject", 30), ("wealth index", 3), ("children_number", 40), ("school_id", 40)]
)
def test_columns_that_are_called_like_names_may_be_others(name, each):
    table = people().drop(columns="person").assign(**{name: np.arange(120) // each})
    Planner("free", 20).plan(table)
