"""Proxies: known of everybody, in no model of treatment, in distances nowhere; what they save, before and after."""

import numpy as np
import pandas as pd
import pytest

from macal.survey import Planner
from macal.survey.report.data_warnings import telling
from macal.survey.report.protocol import settings
from macal.survey.weighted_estimates import weighted_estimates


def world(n=800, seed=0):
    """People with a rating of the outcome that treatment has moved, a coarse one, and gaps in the first."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    t = (rng.uniform(size=n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    y = x.sum(axis=1) + t + rng.normal(size=n)
    people = pd.DataFrame(x, columns=["a", "b"]).assign(t=t, rating=y + 0.75 * rng.normal(size=n))
    people["grade"] = pd.cut(y + rng.normal(size=n), 4, labels=list("pqrs")).astype(str)
    people.index = pd.Index([f"p{k:04d}" for k in range(n)], name="person")
    return people, pd.Series(y, people.index)


def planned(people, budget=150, **options):
    planner = Planner("t", budget, **{"covariates": ["a", "b"], "batch_size": None} | options)
    return planner, planner.plan(people)


def test_proxies_decide_nothing_on_who_is_asked(unchecked):
    people, _ = world()
    plain, with_proxies = (planned(people, proxies=proxies)[0] for proxies in ([], ["rating", "grade"]))
    pd.testing.assert_frame_equal(plain.planned, with_proxies.planned)
    guessed = planned(people, covariates=None, proxies=["rating", "grade"])[0]
    assert set(guessed.people.roles.kinds) == {"a", "b"}
    assert guessed.people.roles.proxies == {"rating": "number", "grade": "category"}
    assert "rating, grade" in settings(guessed.campaign).values()


def test_an_estimate_says_what_proxies_saved(tmp_path):
    people, y = world()
    found = {}
    for name, proxies in {"none": [], "rating": ["rating"], "noise": ["noise"]}.items():
        noise = np.random.default_rng(1).normal(size=len(people))
        table = people.assign(noise=noise).sample(frac=1, random_state=0)
        planner, plan = planned(table, proxies=proxies)
        planner.observe(y[plan.index])
        planner.save(tmp_path / "c.json")
        again = Planner.load(tmp_path / "c.json", table)
        found[name] = weighted_estimates(again.campaign, again.campaign.outcomes, 1)
        assert any("Without the proxies" in said for said in found[name].facts) == bool(proxies)
    widths = {name: one.estimate.width for name, one in found.items()}
    assert widths["rating"] < 0.75 * widths["none"] and widths["noise"] < 1.05 * widths["none"]
    assert any(f"{widths['none']:.4g}" in said for said in found["rating"].facts)


def test_an_estimate_says_that_proxies_made_its_interval_wider():
    people, y = world()
    noise = np.random.default_rng(1).normal(size=(len(people), 30))
    table = people.join(pd.DataFrame(noise, people.index).add_prefix("noise"))
    planner, plan = planned(table, 100, proxies=[c for c in table if c.startswith("noise")])
    planner.observe(y[plan.index])
    told = weighted_estimates(planner.campaign, planner.campaign.outcomes, 1).facts
    assert any("wider" in said and "proxies" in said for said in told)


def test_gaps_of_proxies_are_values_of_their_own():
    people, y = world()
    gaps = np.random.default_rng(2).uniform(size=len(people)) < 0.2
    table = people.assign(rating=people.rating.mask(gaps), grade=people.grade.mask(gaps))
    planner, plan = planned(table, proxies=["rating", "grade"])
    assert planner.people.proxies.shape[1] == 2 + 5 and np.isfinite(planner.people.proxies).all()
    planner.observe(y[plan.index])
    whole, _ = planned(people)
    whole.observe(y[plan.index])
    part, none = (weighted_estimates(one.campaign, one.campaign.outcomes, 1).estimate.width for one in (planner, whole))
    assert part < 0.95 * none, part / none
    with pytest.raises(ValueError, match="rating.*--proxy"):
        planned(table, covariates=["a", "b", "rating"])


def test_what_proxies_saved_is_said_of_the_interval_shown():
    people, y = world()
    planner, plan = planned(people, batch_size=50, proxies=["rating"])
    planner.observe(y[plan.index])
    once, rounds = (
        weighted_estimates(planner.campaign, planner.campaign.outcomes, 1, looks=looks) for looks in ("once", "rounds")
    )
    ((bare,), (wide,)) = ([f.values for f in one.facts if f.kind == "saved_by_proxies"] for one in (once, rounds))
    assert wide["width"] / bare["width"] == pytest.approx(rounds.estimate.width / once.estimate.width)
    assert rounds.estimate.width > once.estimate.width and wide["share"] == pytest.approx(bare["share"])


def test_a_forecast_counts_what_proxies_explain():
    people, y = world()
    guess = {"sd": 1.0, "proxies": ["rating"]}
    options = {"sd": 1.0}, guess, guess | {"r2": 0.64}
    plain, useless, known = (planned(people, **more)[0].forecast() for more in options)
    assert plain.without is None and useless.without is None and useless.width == pytest.approx(plain.width, rel=0.01)
    assert known.without == pytest.approx(plain.width) and known.width < 0.75 * plain.width
    assert [one.uncounted for one in (plain, useless, known)] == [False, True, False]
    planner, plan = planned(people, **guess, r2=0.64)
    planner.observe(y[plan.index])
    realised = weighted_estimates(planner.campaign, planner.campaign.outcomes, 1).estimate.width
    assert known.width == pytest.approx(realised, rel=0.2)
    fewer = planned(people, budget=None, width=plain.width, r2=0.64, **guess)[0]
    assert len(fewer.planned) < 0.7 * 150
    pilot = people.assign(y=y.where(np.arange(len(y)) < 200))
    told = planned(pilot, outcome="y", proxies=["rating"])[0].forecast()
    assert 0.5 < (told.width / told.without) ** 2 < 0.75


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"proxies": ["a"]}, "'a'.*proxy, covariate"),
        ({"proxies": ["t"]}, "'t'.*treatment, proxy"),
        ({"proxies": ["rating", "rating"]}, "'rating'"),
        ({"proxies": ["rates"]}, "'rates'"),
        ({"proxies": ["same"]}, "'same'"),
        ({"proxies": ["endless"]}, "'endless'.*p0003"),
        ({"proxies": ["rating"], "kinds": {"rating": "ignore"}}, "'rating'.*ignore"),
        ({"proxies": ["several"]}, r"'several'.*\[1, 2\]"),
        ({"r2": 0.5}, "r2"),
        ({"r2": 1.5, "proxies": ["rating"]}, "r2"),
        ({"r2": 0.5, "proxies": ["rating"], "criterion": "macal"}, "r2"),
    ],
)
def test_what_cannot_be_a_proxy_is_said(options, named, unchecked):
    people = world()[0].assign(same=1, several=[[1, 2]] * 800)
    people["endless"] = people.rating.where(people.index != "p0003", np.inf)
    with pytest.raises((ValueError, LookupError), match=named):
        planned(people, **options)


@pytest.mark.parametrize("copy", [lambda y, t: y, lambda y, t: y > y.median()])
def test_a_covariate_that_tells_the_answers_is_named_and_a_strong_one_is_not(copy):
    people, y = world()
    noise = 0.5 * np.random.default_rng(3).normal(size=len(y))
    table = people.assign(later=copy(y, people.t) + noise * (copy(y, people.t).dtype == float))
    for covariates in (["a", "b"], ["a", "later"]):
        planner, plan = planned(table, covariates=covariates)
        planner.observe(y[plan.index])
        said = telling(planner.campaign)
        assert bool(said) == ("later" in covariates) and all("--proxy later" in words for words in said)
    assert not telling(planned(table)[0].campaign)


def test_proxies_without_a_draw_are_refused():
    with pytest.raises(ValueError, match="proxies"):
        planned(world()[0], proxies=["rating"], criterion="alc-fixed")
    planned(world()[0], proxies=["rating"], criterion="alc-fixed", draw="criterion")
