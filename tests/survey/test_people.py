"""What a table says of its people: what is missing, unknown or doubtful is named, whole and by a pass."""

import numpy as np
import pandas as pd
import pytest
from test_tables import passed, plan_by, read_and_passed

from macal.survey import Planner
from macal.survey.report import data_warnings
from macal.survey.tables import frames, suspects


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
        with pytest.raises(ValueError) as error:
            plan_by(make, treatment, budget, **said)
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
    refused(table, tmp_path, "in one arm only", "'enrolled' (60", "do not impute")
    Planner("free", 20, kinds={"enrolled": "ignore"}).plan(table)
    table.loc[:3, "age"] = np.nan
    refused(table, tmp_path, "in one arm only", "'enrolled'", "missing or infinite values in covariate 'age'")


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
    refused(table, tmp_path, f"'{name}'", f"{n * times:,} rows for {n}", "one row")
    refused(table, tmp_path, f"'{name}'", f"{n * times:,} rows for {n}", "one row", identifier=name)
    Planner("free", 20, kinds={name: "ignore"}).plan(table)
    Planner("free", n // 2 * times, cluster=name).plan(table)


def test_visits_are_seen_by_what_a_column_tells(tmp_path):
    table = visits("pt", times=3)
    refused(table, tmp_path, "'pt'", "60 in 180 rows", by_pass=False)
    scored = table.assign(score=np.random.default_rng(0).normal(size=180))
    Planner("free", 20).plan(scored.drop(columns="visit"))  # a class, say


@pytest.mark.parametrize(("name", "when"), [("firm", "year"), ("gvkey", "wave")])
def test_a_panel_is_no_list_of_people(name, when, tmp_path):
    rng = np.random.default_rng(0)
    table = people(300).assign(**{name: np.repeat(np.arange(60), 5), when: np.tile(np.arange(2015, 2020), 60)})
    table = table.assign(sales=rng.lognormal(8, 1, 300), staff=rng.integers(1, 900, 300)).drop(columns="person")
    refused(table.reset_index(drop=True), tmp_path, f"'{name}'", "60 in 300 rows", f"'{when}'", by_pass=False)


@pytest.mark.parametrize(
    ("name", "each"), [("subject", 30), ("wealth index", 3), ("children_number", 40), ("school_id", 40)]
)
def test_columns_that_are_called_like_names_may_be_others(name, each):
    table = people().drop(columns="person").assign(**{name: np.arange(120) // each})
    Planner("free", 20).plan(table)


def homes(n=12, **names):
    """Households that are numbered anew in each village."""
    rng = np.random.default_rng(0)
    rows = [(f"v{v:02d}", h + 1) for v in range(n) for h in range(15) for _ in range(rng.integers(1, 5))]
    return people(len(rows), village=[v for v, _ in rows], household=[h for _, h in rows]).rename(columns=names)


@pytest.mark.parametrize(
    "names", [{}, {"household": "hh_no", "village": "psu"}, {"household": "Family", "village": "village id"}]
)
def test_household_numbers_that_begin_anew_in_each_village_are_refused(names, tmp_path):
    table = homes(**names)
    own, place = (names.get(c, c) for c in ("household", "village"))
    refused(table, tmp_path, f"'{own}'", f"'{place}'", "15 of its 15", budget=120, cluster=own)
    Planner("free", 120, cluster=own, kinds={place: "ignore"}).plan(table)
    Planner("free", 120, cluster=own).plan(table.assign(**{own: table[place] + "-" + table[own].astype(str)}))


def test_siblings_may_live_in_several_towns():
    towns = np.random.default_rng(0).choice(list("abcdef"), 120)
    Planner("free", 120, cluster="household").plan(people(household=np.repeat(np.arange(40), 3), town=towns))


def test_a_clinic_has_people_of_several_villages():
    Planner("free", 120, cluster="clinic").plan(homes(household="clinic"))


def test_telephone_numbers_are_no_numbers(tmp_path):
    calls = [f"+49151{k * 7919 % 10**7:07d}" for k in range(120)]
    for texts in (calls, [f"{text[:3]} {text[3:6]} {text[6:9]} {text[9:]}" for text in calls]):
        table = people(phone=texts).drop(columns="person")
        for plan in read_and_passed(table, tmp_path):
            assert "phone" not in plan(budget=20)[0].people.roles.kinds


LATER = {"died": True, "score_post": True, "postcode": False, "Outcome 2": True, "after": True, "rafter": False}
LATER |= {"Postleitzahl": False, "postnr": False, "post office": False, "post_code": False, "n_posts": False}
LATER |= {"postgraduate": False, "post_secondary": False, "post/trust": True, "post-test": True, "posttest": True}
LATER |= {"follow-up visits": True, "re74": False, "re78": True, "death_rate": True, "age": False}
WEIGHTS = {"pweight": True, "design_weight": True, "hhwt": True, "FNLWGT": True, "survey weights": True, "wgt": True}
WEIGHTS |= {"birth_weight": False, "weight_kg": False, "bwt": False, "lwt": False, "weighted": False}


def test_names_give_away_what_is_later_and_what_weighs():
    assert {name: name in suspects.later(LATER) for name in LATER} == LATER
    table = people(**dict.fromkeys(WEIGHTS, 70.0) | {"weight": np.arange(120) / 60})
    assert {name: name in suspects.weights(table, WEIGHTS) for name in WEIGHTS} == WEIGHTS
    assert suspects.weights(table, ["weight"]) and not suspects.weights(table.assign(weight=70.0), ["weight"])


@pytest.mark.parametrize("names", [["died"], ["died", "score_post"]])
def test_a_plan_warns_of_what_is_later_and_of_weights(names):
    rng = np.random.default_rng(0)
    planner = Planner("free", 20)
    later = {name: np.arange(120) % (3 + k) for k, name in enumerate(names)}
    planner.plan(people(**later, pweight=rng.uniform(1, 9, 120)))
    told = " ".join(data_warnings.warnings(planner.campaign))
    assert ", ".join(map(repr, names)) in told and f"--proxy {','.join(names)}" in told and "=ignore" in told
    assert "'pweight' may be" in told and "each row counts as one" in told


SPELLINGS = ["north", "North", "north ", "south"]


@pytest.mark.parametrize(
    "said", [{"quotas": ["region=north>=5"]}, {"quotas": ["region<=15"]}, {"cluster": "region"}, {"by": "region"}]
)
def test_spellings_of_one_value_are_made_one_before_anybody_counts_them(said, tmp_path):
    table = people(region=np.resize(SPELLINGS, 120))
    refused(table, tmp_path, "'region'", "'North', 'north', 'north '", budget=60, **said)
    table["region"] = np.resize(["north", "south"] + [f"v{k}" for k in range(8)], 120)
    Planner("free", 60, **{c: v for c, v in said.items() if v != ["region<=15"]}).plan(table)


def test_spellings_of_one_value_among_covariates_are_warned_of():
    planner = Planner("free", 20)
    planner.plan(people(region=np.resize(SPELLINGS, 120)))
    assert any(
        "'region' holds 'North', 'north', 'north '" in words for words in data_warnings.warnings(planner.campaign)
    )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": ["1.200", "950", "1.450"], "b": ["1.5", "1.75", "2"], "c": ["1,5", "2", "3,25"]}, {}),
        ({"a": ["5 kg", "7 kg", "9 kg"]}, {}),
        ({"room number": [*range(100), *range(20)]}, {}),
        ({"id": [*range(100), *range(20)]}, {"identifier": "person"}),
    ],
)
def test_columns_that_play_no_part_stop_nothing(columns, said, tmp_path):
    table = people(**{c: np.resize(values, 120) for c, values in columns.items()})
    table = table if said else table.drop(columns="person")
    for plan in read_and_passed(table, tmp_path):
        planner, _ = plan(budget=20, covariates=["age", "income"], **said)
        assert list(planner.people.roles.kinds) == ["age", "income"]


def test_nobody_else_is_proposed_for_an_unknown_person():
    names = [str(12345678901234567 + 10 * k) for k in range(60)]
    planner = Planner("free", 20, identifier="person")
    plan = planner.plan(people(60, person=names))
    first = str(plan.index[0])
    for name in (first[:-1] + "9", first[:15] + "00", f"{float(first):.5E}"):
        with pytest.raises(ValueError) as error:
            planner.observe({name: 1.0})
        assert name in str(error.value) and "did you mean" not in str(error.value)


def test_people_who_must_and_must_not_be_asked_are_named(tmp_path):
    marks = np.arange(120)
    table = people(must=(marks < 15).astype(int), never=((marks >= 10) & (marks < 40)).astype(int))
    named = "5 in all", "'must'", "'never'", *(f"p{k:04d}" for k in range(10, 15))
    refused(table, tmp_path, *named, include="must", exclude="never", covariates=["age"])
    many = table.assign(never=(marks < 60).astype(int))
    refused(many, tmp_path, "15 in all", "5 more", include="must", exclude="never", covariates=["age"])
    known = people(y=np.where(marks < 15, 1.0, np.nan), must=table["must"], never=table["never"])
    Planner("free", 20, include="must", exclude="never", covariates=["age"], outcome="y").plan(known)


def test_an_arm_that_is_excluded_whole_is_refused(tmp_path):
    table = people(never=np.arange(120) % 2)
    refused(table, tmp_path, "'never'", "free = 1", exclude="never", covariates=["age"])
    arms = people(free=np.resize(["none", "sms", "call"], 120), never=np.resize([0, 0, 1], 120))
    refused(arms, tmp_path, "'never'", "free = call", exclude="never", reference="none", covariates=["age"])
    known = table.assign(y=np.where(np.arange(120) < 40, 1.0, np.nan))  # the arm has outcomes already
    Planner("free", 20, exclude="never", covariates=["age"], outcome="y").plan(known)


@pytest.mark.parametrize(
    "marks",
    [["yes", "no"], ["x", None], ["x", ""], ["x", " "], [1, None], [True, None], [1, 0], ["TRUE", "False"]],
)
def test_marks_of_who_must_be_asked_are_read_alike(marks, tmp_path):
    table = people(must=np.resize(np.array([marks[0], *[marks[1]] * 9], object), 120))
    table.to_csv(tmp_path / "people.csv")
    for given in (table, frames.read(tmp_path / "people.csv")):
        plan = Planner("free", 40, include="must", covariates=["age"]).plan(given)
        assert plan.weight.iloc[plan.weight.argsort()[:12]].tolist() == [1.0] * 12
    odd = table.assign(must=table.must.replace(marks[0], "perhaps"))
    refused(odd, tmp_path, "'must'", "perhaps", include="must", covariates=["age"])
