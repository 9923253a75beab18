"""The planner: from a table and a budget to a plan, in the caller's names; what it refuses, and how it says so."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import macal
from macal.acquisition import Criterion
from macal.acquisition.base import Planned
from macal.registry import Entry
from macal.search.scores import Ranked
from macal.survey import Conflict, Planner, Quota
from macal.survey.constraints import Range


def make_people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "person": [f"p{k:04d}" for k in range(n)],
            "age": rng.integers(18, 80, n),
            "income": rng.normal(30_000, 9_000, n),
            "region": rng.choice(["north", "south", "west"], n, p=[0.1, 0.5, 0.4]),
            "free": rng.integers(0, 2, n),
            "fee": rng.integers(5, 30, n),
            "household": rng.integers(0, n // 2, n),
            "chance": rng.uniform(0.4, 1.0, n),
        }
    )


COVARIATES = ["age", "income", "region"]


def make(people=None, **options):
    """A planner and its plan: greedy where no draw is given."""
    given = {"treatment": "free", "budget": 300, "covariates": COVARIATES, "identifier": "person", "batch_size": 10}
    planner = Planner(**given | {"criterion": "alc-fixed"} | options)
    return planner, planner.plan(make_people() if people is None else people)


def test_a_plan_meets_what_is_demanded_and_says_what_it_spends():
    people = make_people()
    people["no"], people["yes"] = people.age > 60, [k in (3, 5) for k in range(200)]
    demands = {"cost": "fee", "cluster": "household", "cluster_rule": "one", "exclude": "no", "include": "yes"}
    planner, plan = make(people, quotas=["region>=5", "region=south<=40%"], **demands)
    asked = people.set_index("person").loc[plan.index]
    assert plan.cost.sum() <= 300 and plan.cost.tolist() == asked.fee.tolist()
    assert asked.region.value_counts().min() >= 5 and (asked.region == "south").mean() <= 0.4
    assert asked.household.is_unique and not (asked.no & ~asked.yes).any() and asked.yes.sum() == 2
    assert plan["round"].value_counts().max() == 10 and plan["round"].is_monotonic_increasing
    rounds = planner.rounds()
    assert rounds["so far"].iloc[-1] == plan.cost.sum() and rounds.asked.sum() == len(plan)
    _, plan = make(cost="fee", batch_size=None, batch_cost=27.0)
    assert plan.groupby("round").cost.sum().max() <= 27


def test_one_dear_unit_that_is_worth_more_than_all_others_is_asked_first():
    people = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.5, 8.0], "t": [0, 1, 0, 1, 1], "y": [1.0, 2.0] + [None] * 3})
    people["cost"] = [1, 1, 1, 1, 500]  # the gain of 4 is 2.5, then that of 3 is 2, in s.d.s, that of 5 is 7
    options = {"treatment": "t", "covariates": ["x"], "outcome": "y", "cost": "cost", "criterion": "qhte"}
    assert Planner(budget=500, **options).plan(people).index.tolist() == [5]
    assert Planner(budget=502, **options).plan(people).index.tolist() == [4, 3, 5]
    assert Planner(budget=499, **options).plan(people).index.tolist() == [4, 3]


def test_reserves_are_alike_cost_no_more_and_stand_for_one():
    people = make_people()
    _, plan = make(people, cost="fee", response="chance", quotas=["region>=2"])
    named, had = people.set_index("person"), plan.dropna(subset="reserve")
    assert len(had) > 10 and had.reserve.is_unique and not had.reserve.isin(plan.index).any()
    first, second = named.loc[had.index], named.loc[had.reserve]
    assert (second.fee.to_numpy() <= first.fee.to_numpy()).all()
    for column in ("free", "region"):
        assert (second[column].to_numpy() == first[column].to_numpy()).all()


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (
            {"quotas": ["region=north>=12", "region=south>=9", "region=north<=10", "age<=150"]},
            ["at least 12 with region = north", "at most 10 with region = north"],
        ),
        (
            {"budget": 5, "cost": "fee", "quotas": ["region=north>=4", "region=south>=0"]},
            ["a budget of 5", "at least 4 with region = north"],
        ),
        ({"quotas": ["region=north>=150"], "budget": 1000}, ["at least 150 with region = north"]),
        (  # north costs nothing beside north or west
            {"quotas": ["region=north|west>=40", "region=north>=12", "region=south>=10"], "budget": 45},
            ["a budget of 45", "at least 40 with region = north or west", "at least 10 with region = south"],
        ),
        ({"quotas": ["age=70..>=150"], "budget": 1000}, ["at least 150 with age = 70.."]),
        (  # of one of a home the outcome is known, of her neighbour it is to be asked
            {"outcome": "y", "include": "both", "cluster": "home", "cluster_rule": "one", "budget": 10},
            ["at most one person per cluster, known outcomes included", "1 mandatory"],
        ),
    ],
)
def test_the_smallest_set_of_demands_in_conflict_is_named(options, names):
    place = np.arange(200)
    people = make_people().assign(both=place < 2, home=place // 2)
    with pytest.raises(Conflict) as found:
        make(people.assign(y=np.where(place, np.nan, 1.0)), **options)
    assert found.value.names == names


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"budget": 0}, "budget"),
        ({"uniform": 0}, "uniform"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 1, "criterion": "macal"}, "at least 2"),
        ({"criterion": "mcal"}, "'mcal' .*'macal'"),
        ({"criterion": "mu-bald"}, "model"),
        ({"parameters": {"niose": 1}}, "'niose' .*'noise'"),
        ({"cluster_rule": "half"}, "'half'"),
        ({"quotas": ["region"]}, "a quota"),
        ({"quotas": ["region>=140%"]}, "100%"),
        ({"quotas": ["region=nort>=1"]}, "'nort' .*'north'"),
        ({"quotas": ["regon>=1"]}, "'regon' .*'region'"),
        ({"quotas": ["age>=65"]}, "'age>=65'"),
        ({"quotas": ["age<=65"]}, "'age<=65'"),
        ({"quotas": ["region=1..2>=1"]}, "'region'"),
        ({"quotas": ["age=90..>=1"]}, "'age' .*'90..'"),
        ({"quotas": ["age=9..2>=1"]}, "9..2"),
        ({"treatment": "fre"}, "'fre' .*'free'"),
        ({"cost": -1.0}, "cost .*-1.0 for p0"),
        ({"cost": "region"}, "column 'region'"),
        ({"response": 1.5}, "got 1.5"),
        ({"exclude": "age"}, "column 'age'"),
        ({"exclude": "fee", "cost": "fee"}, "two roles: cost, exclude"),
        ({"criterion": "macal-rolling", "cost": "fee"}, "Rolling"),
        ({"budget": 2, "cost": "fee"}, "a budget of 2 .* costs 5"),
        ({"budget": 1, "cluster": "two"}, "a budget of 1 .* costs 2"),
        ({"cluster": "two", "batch_size": None, "batch_cost": 1.0}, "a round of 1 .* costs 2"),
        ({"exclude": "all"}, "'all' excludes everyone"),
        ({"outcome": "fee"}, "'fee' .*--kind fee=ignore"),
    ],
)
def test_what_is_refused_is_named(options, name, unchecked):
    with pytest.raises(ValueError, match=name):
        make(make_people().assign(two=np.arange(200) // 2, all=True), **options)


def test_a_conflict_says_how_much_of_the_budget_is_left():
    planner, plan = make(budget=60)
    planner.observe(dict.fromkeys(plan.index[:10], 1.0))
    with pytest.raises(Conflict, match="60, of which 50 is unspent; at least 70"):
        planner.replan(quotas=["region=south>=70"])


@pytest.mark.parametrize(
    ("text", "column", "values"),
    [
        ("region>=10", "region", ()),
        (" sex = f >= 10 ", "sex", ("f",)),
        ("band=<=50K>=10", "band", ("<=50K",)),
        ("plan=b=b c/d 'e'>=10", "plan=b", ("b c/d 'e'",)),
        ('band=">=50K"|"a|b=c"| "say ""no""" |d>=10', "band", (">=50K", "a|b=c", 'say "no"', "d")),
        ("age=65..>=10", "age", (Range(65.0, np.inf),)),
        (
            'age=-3..-1.5 | ..-9|".."|18..64>=10',
            "age",
            (Range(-3.0, -1.5), Range(-np.inf, -9.0), "..", Range(18.0, 64.0)),
        ),
    ],
)
def test_a_quota_is_read(text, column, values):
    assert Quota.parse(text) == Quota(column, values, True, 10.0, False)
    share = text.replace(">=10", "<=40 %").replace(">= 10", "<=40%")
    assert Quota.parse(share) == Quota(column, values, False, 0.4, True)


def test_nothing_can_be_said_before_there_is_a_plan():
    planner = Planner("free", 10)
    for ask in (planner.replan, planner.rounds, planner.estimate, lambda: planner.observe({})):
        with pytest.raises(ValueError):
            ask()
    with pytest.raises(TypeError, match="bugdet"):
        Planner("free", 10, bugdet=3)


def test_what_is_returned_can_be_changed_and_changes_nothing():
    planner, plan = make()
    for returned in (lambda: plan, lambda: planner.planned, planner.rounds):
        before = planner.planned, planner.rounds(), planner.spent()
        table = returned()
        table.iloc[:, 0] = 99
        for now, was in zip((planner.planned, planner.rounds()), before, strict=False):
            pd.testing.assert_frame_equal(now, was)
        assert planner.spent() == before[-1]


def test_what_fails_changes_nothing():
    planner, _ = make(budget=60)
    before = planner.campaign
    for wrong in (lambda: planner.plan(make_people().assign(age=np.nan)), planner.audit):
        with pytest.raises(ValueError):
            wrong()
        assert planner.campaign is before
    with pytest.raises(TypeError):
        planner.answers["p0001"] = 3.0


@dataclass(frozen=True)
class Oldest(Planned):
    """Whoever's first covariate is largest: a criterion of the user's own."""

    multi_arm: ClassVar[bool] = True
    reason: ClassVar[str] = "It asks the oldest first."
    max_candidates: ClassVar[float] = 120

    def search(self, state, price=None):
        ages = state.x[:, 0]
        return Ranked(state.free, ages - ages.min())


class OldestBatch(Criterion):
    """The same, by whole batches."""

    def select(self, state, batch_size):
        return Oldest().select(state, batch_size)


def test_a_criterion_of_ones_own_walks_every_path(monkeypatch, tmp_path):
    monkeypatch.setitem(macal.acquisition.CRITERIA, "oldest", Entry(Oldest, "Oldest", "this test"))
    people = make_people().set_index("person")
    options = {"criterion": "oldest", "covariates": ["age", "income"], "identifier": None}
    oldest = people.sort_values("age", ascending=False, kind="stable")
    # by money alone, by its way of choosing
    _, plan = make(people, budget=20, sample="all", **options)
    assert plan.index.tolist() == oldest.index[:20].tolist()
    # under money, by gain per cost, and under a quota
    _, plan = make(people, cost="fee", sample="all", **options)
    asked = people.loc[plan.index]
    assert ((asked.age - people.age.min()) / asked.fee).is_monotonic_decreasing and plan.cost.sum() > 290
    planner, plan = make(people, cost="fee", quotas=["region=north>=6"], sample="all", **options)
    asked = people.loc[plan.index]
    assert (asked.region == "north").sum() >= 6 and asked.fee.sum() <= 300
    planner.report(tmp_path / "report.html")
    assert "It asks the oldest first." in (tmp_path / "report.html").read_text()
    # among the sample that it says, of which an audit tells what it may have cost
    planner, _ = make(people, budget=10, **options)
    assert 120 <= len(planner.campaign.plan_trace.people) <= 122  # cells are rounded up
    assert planner.audit().rivals == 200 - len(planner.campaign.plan_trace.people)
    # a household at once; three arms; answers, and the rest anew; taken up again
    arms = people.assign(free=np.arange(200) % 3)
    planner, plan = make(arms, cluster="household", reference=0, budget=60, **options)
    planner.observe({name: 1.0 for name in plan.index[:10]})
    planner.save(tmp_path / "c.json")
    again = Planner.load(tmp_path / "c.json", arms)
    assert again.replan().equals(planner.replan()) and plan.free.nunique() == 3
    # one that has no scores plans by money alone
    monkeypatch.setitem(macal.acquisition.CRITERIA, "oldest", Entry(OldestBatch, "Oldest", "this test"))
    with pytest.raises(ValueError, match="OldestBatch .*'alc-fixed'"):
        make(people, cost="fee", **options)
