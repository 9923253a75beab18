"""Whole clusters, or one person of each, drawn with known chances: lotteries, rounds, weights, estimates, files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import part_and_whole
from test_planner import COVARIATES, make, make_people

from macal import Planner
from macal.survey import designs, sampling_design, weighted_estimates
from macal.survey.inference import crossfit_propensity, inclusion_probabilities, size_measure
from macal.survey.notes import notes
from macal.survey.report.protocol import settings
from macal.survey.reserves import reserves

DRAWN = {"budget": 150, "batch_size": 10, "cluster": "household", "draw": "effect", "uniform": 0.3}
NOBODY = np.empty(0, np.int64)


def clustered(n=400, clusters=60, seed=0):
    """People, some of whom are in no household, and outcomes that those of a household share a part of."""
    rng = np.random.default_rng(seed)
    homes = pd.Series(rng.integers(0, clusters, n), dtype=object).where(np.arange(n) % 40 != 7, None)
    people = make_people(n, seed).assign(household=homes, fee=rng.integers(1, 4, n) * 1.0)
    shared = rng.normal(size=clusters)[homes.fillna(0).astype(int)]
    return people, pd.Series(2 * people.free + shared + rng.normal(size=n)).set_axis(people.person)


def mates(people):
    """A household's name, or her own of whoever is in none."""
    return people.household.astype(object).where(people.household.notna(), people.person)


@pytest.mark.parametrize("way", ["effect", "criterion"])
def test_everybody_of_a_drawn_cluster_is_asked_in_one_round_and_has_one_weight(way):
    people, _ = clustered()
    _, plan = make(people, **DRAWN | {"draw": way, "cost": "fee", "budget": 300})
    home = mates(people).set_axis(people.person)
    by_home = plan.groupby(home[plan.index])
    assert (by_home.size() == home.value_counts()[by_home.size().index]).all() and plan.index.is_unique
    assert (by_home["round"].nunique() == 1).all() and np.allclose(by_home.weight.min(), by_home.weight.max())
    spread = people.groupby(mates(people)).fee.sum()
    assert 300 - 2 * np.ptp(spread) <= plan.cost.sum() <= 300
    # the first rounds are of one cluster each, for the largest has more than half as many people as a round
    assert (plan.groupby("round").apply(lambda part: home[part.index].nunique()) == 1).all()


def test_a_cluster_too_large_for_a_draw_is_named_with_ways_out():
    people = make_people(200).assign(village=["big"] * 150 + [f"v{k // 5}" for k in range(50)], no=np.arange(200) < 1)
    given = {"cluster": "village", "draw": "effect", "uniform": 0.3, "budget": 100}
    with pytest.raises(ValueError, match="village big costs 150 and the cheapest 5"):
        make(people, **given)
    for way in ({"cluster_rule": "one", "budget": 8}, {"exclude": "no", "budget": 40}, {"budget": 300}):
        assert len(make(people, **given | way)[1])
    with pytest.raises(ValueError, match="p0003 costs 99 "):
        make(people.assign(fee=np.where(np.arange(200) == 3, 99, 1)), draw="effect", budget=90, cost="fee")


def test_a_round_holds_as_many_of_the_largest_clusters_as_there_is_room_for():
    people, _ = clustered()
    largest = int(mates(people).value_counts().max())
    _, plan = make(people, **DRAWN | {"batch_size": 2 * largest + 1})
    homes = mates(people).set_axis(people.person)[plan.index].groupby(plan["round"]).nunique()
    assert (homes[:-1] == 2).all() and plan["round"].value_counts().max() <= 2 * largest + 1


def test_a_cluster_is_worth_what_its_people_are_by_its_cost():
    people, _ = clustered()
    planner, plan = make(people, **DRAWN | {"cost": "fee", "budget": 300})
    t = planner.people.problem.pool.t
    worth = pd.Series(size_measure("all", crossfit_propensity(planner.people.confounders, t, 0), t))
    home = mates(people)
    size = worth.groupby(home).sum() / np.sqrt(people.fee.groupby(home).sum())
    number = home.set_axis(people.person)[plan.index].nunique()
    chances = pd.Series(inclusion_probabilities(size.to_numpy(), number, 0.3), size.index)
    found = 1 / plan.weight
    np.testing.assert_allclose(found, chances[home.set_axis(people.person)[plan.index]], rtol=1e-9)
    _, flat = make(people, **DRAWN | {"cost": "fee", "budget": 300, "uniform": 1.0})
    assert np.ptp(flat.weight) < 1e-9


@part_and_whole("n", 6, 200)
@pytest.mark.parametrize("rule", ["whole", "one"])
def test_everybody_has_the_chance_that_the_weights_say(rule, n):
    """Weighted totals over draws are those of the table: each step of a draw has the chance that it says."""
    people, _ = clustered(120, 24)
    people["no"] = np.arange(120) % 30 == 0
    options = {"budget": 45 if rule == "whole" else 12, "cluster_rule": rule, "exclude": "no", "batch_size": None}
    planner, _ = make(people, **DRAWN | options)
    everybody, rules = planner.people, planner.campaign.policy
    may = np.setdiff1d(np.arange(120), sampling_design.ineligible(everybody, rules))
    out = mates(people).isin(mates(people)[people.no]) if rule == "whole" else people.no
    assert set(may) == set(np.flatnonzero(~out))
    values = np.column_stack([np.ones(120), people.age, people.free * people.age])
    totals = []
    for seed in range(n):
        policy = replace(rules, seed=seed)
        chosen = designs.design_under(everybody, policy)
        (units,) = sampling_design.draw_rounds(everybody, policy, chosen)
        assert np.isin(units, may).all() and everybody.cost[units].sum() <= options["budget"]
        if rule == "one":
            assert mates(people)[units].is_unique
        totals.append((1 / chosen.inclusion_of(units)) @ values[units])
    off = np.mean(totals, axis=0) - values[may].sum(axis=0)
    assert (np.abs(off) <= 4.5 * np.std(totals, axis=0) / np.sqrt(n)).all()


def test_whoever_must_be_asked_brings_her_cluster_and_the_excluded_take_theirs_out():
    people, y = clustered()
    people = people.assign(yes=np.arange(400) == 3, no=np.arange(400) == 5)
    planner, plan = make(people, **DRAWN | {"include": "yes", "exclude": "no"})
    home = mates(people).set_axis(people.person)
    mine = home.index[home == home["p0003"]]
    assert plan.weight[mine].tolist() == pytest.approx([1.0] * len(mine))
    assert not (home[plan.index] == home["p0005"]).any()
    planner.observe(y[plan.index])
    found = planner.estimate()
    assert found.weighted.low < found.weighted.value < found.weighted.high


@pytest.mark.parametrize("rule", ["whole", "one"])
def test_a_campaign_goes_on_from_its_file_and_is_estimated_by_clusters(rule, tmp_path):
    people, y = clustered()
    options = {"cluster_rule": rule, "budget": 200 if rule == "whole" else 55, "batch_size": 20, "response": 0.9}
    planner, plan = make(people, **DRAWN | options)
    y[plan.index[::9]] = np.nan
    asked = plan.index[plan["round"] <= plan["round"].max() - 1]
    planner.observe(y[asked])
    planner.save(tmp_path / "campaign.json")
    found = planner.estimate(looks="rounds")
    again = Planner.load(tmp_path / "campaign.json", people)
    assert again.estimate(looks="rounds").weighted == found.weighted
    homes = mates(people).set_axis(people.person)
    number = homes[asked[y[asked].notna()]].nunique()
    assert any(f"rests on {number} clusters" in words for words in found.design_based.facts)
    assert found.design_based.nonresponse is not None


def test_of_a_cluster_that_was_asked_whoever_was_left_out_counts_as_asked():
    people, y = clustered()
    planner, plan = make(people, **DRAWN)
    planner.observe(y[plan.index])
    first = mates(people).set_axis(people.person)[plan.index].value_counts().index[0]
    name = next(name for name in plan.index if mates(people).set_axis(people.person)[name] == first)
    whole = weighted_estimates._survey(planner.campaign, planner.campaign.outcomes, np.arange(400))
    planner.correct(name, "never asked", "a")
    part = weighted_estimates._survey(planner.campaign, planner.campaign.outcomes, np.arange(400))
    assert (part.inclusion_probability == whole.inclusion_probability).all() and (part.asked == whole.asked).all()
    assert any(f"1 of {len(plan)} " in words for words in planner.estimate(looks="rounds").design_based.facts)
    last = int(plan["round"].max())
    assert planner.replan()["round"][name] == last + 1 and planner.replan().index[-1] == name
    planner.observe(y[[name]])
    assert planner.asked == last + 1 and planner.estimate(looks="rounds").weighted


def test_the_report_and_the_command_say_how_clusters_were_drawn(tmp_path):
    people, y = clustered()
    planner, plan = make(people, **DRAWN | {"budget": 110, "seed": 3})
    homes = people.household.set_axis(people.person)[plan.index]
    drawn = f"{homes.nunique()} of 60 clusters by 'household' and {homes.isna().sum()} of 10 people"
    assert notes(planner.campaign)[0].startswith(drawn)
    chosen, few = settings(planner.campaign), make(people, **DRAWN | {"batch_size": 20})[0].campaign
    assert f" {few.rounds.index[-1]} rounds" in notes(few)[1]
    assert "seed 3" in chosen["selection"] and "household" in chosen["clusters"]
    planner.observe(y[plan.index])
    planner.report(tmp_path / "report.html")
    number = homes.nunique() + homes.isna().sum()
    assert number < 20 and f" {number} clusters" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("sure", [{"include": "yes"}, {"outcome": "visits"}])
def test_one_of_each_cluster_leaves_everybody_a_chance_or_is_refused(sure):
    people, y = clustered()
    people = people.assign(yes=np.arange(400) == 3, visits=y.where(np.arange(400) == 4, np.nan).to_numpy())
    with pytest.raises(ValueError):
        make(people, **DRAWN | {"cluster_rule": "one"} | sure)
    make(people, **DRAWN | sure)


def test_of_a_sample_no_clusters_are_drawn(tmp_path):
    people, _ = clustered()
    people.to_csv(tmp_path / "people.csv", index=False)
    given = {"identifier": "person", "covariates": COVARIATES, "sample": 100}
    planner = Planner("free", **DRAWN | given)
    with pytest.raises(ValueError, match="sample"):
        planner.plan(planner.sample(tmp_path / "people.csv"))


@pytest.mark.parametrize("draw", [None, "effect"])
def test_who_is_out_with_somebody_excluded_is_counted(draw):
    people, _ = clustered(120, 24)
    people["no"] = np.arange(120) % 30 == 0
    out = mates(people).isin(mates(people)[people.no]) & ~people.no
    planner, _ = make(people, budget=40, cluster="household", exclude="no", draw=draw)
    assert any(words.startswith(f"{out.sum()} more people") for words in notes(planner.campaign))
    assert {"4", str(out.sum())} <= set(settings(planner.campaign)["excluded"].split())
    one, _ = make(people, budget=12, cluster="household", cluster_rule="one", exclude="no", draw=draw)
    assert not any("more people" in words for words in notes(one.campaign))


def test_a_plan_without_reserves_says_why():
    people, _ = clustered(120, 24)
    for why, options in {
        "equal costs": {"cost": "fee", "draw": "effect"},
        "clusters": {"cluster": "household", "draw": "effect"},
        "no similar": {"budget": 120},
        "": {"draw": "effect"},
    }.items():
        planner, plan = make(people, **{"budget": 40, "response": 0.7} | options)
        said = [words for words in notes(planner.campaign) if words.startswith("No reserves")]
        assert len(said) == bool(why) == plan["reserve"].isna().all() and why in "".join(said)


def test_of_one_of_each_cluster_another_is_asked_only_after_a_refusal_and_no_reserve_beside_her():
    people = make_people(60, 1).assign(household=np.arange(60) // 2)
    options = {"cluster": "household", "cluster_rule": "one", "response": 0.5, "batch_size": 6, "budget": 12}
    planner, plan = make(people, **options)
    home, first = people.household.set_axis(people.person), plan.index[:6]
    planner.observe({name: None if k % 2 else 1.0 for k, name in enumerate(first)}, through=1)
    again = planner.replan(budget=30)
    new = again.index[again["round"] > 1]
    free = again["reserve"][first].dropna()
    assert not set(home[free]) & set(home[new]) and len(free) < plan["reserve"][first].notna().sum()
    assert not set(home[new]) & set(home[first[::2]]) and set(home[new]) & set(home[first[1::2]])


def test_reserves_of_one_of_each_cluster_are_of_clusters_apart():
    people = make_people(6).assign(free=[0, 0, 0, 0, 0, 1], household=[0, 1, 2, 2, 3, 4])
    pool = make(people, cluster="household", cluster_rule="one", budget=2, covariates=["age", "income"])[0].people
    found = reserves(pool, (), "one", np.arange(2), NOBODY)
    assert len(set(pool.clusters[found])) == 2 and not {0, 1} & set(found)
    assert reserves(pool, (), "one", np.arange(2), np.array([4])).tolist().count(-1) == 1
