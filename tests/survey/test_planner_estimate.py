"""A campaign that is drawn, answered, estimated and stopped: in Python and on the command line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import part_and_whole
from test_planner import COVARIATES, make, make_people

from macal import Planner, models
from macal.__main__ import main
from macal.problem import Split
from macal.registry import UnknownName
from macal.survey import Conflict, sampling_design, weighted_estimates
from macal.survey.estimates import estimate_effects, exclusion_notes, silent
from macal.survey.inference import (
    StoppingRule,
    Survey,
    anytime_valid_interval,
    average_effect,
    crossfit_propensity,
    group_sequential_interval,
    heterogeneity_test,
    inclusion_probabilities,
    nonresponse_sensitivity,
    posterior_sd,
    size_measure,
)
from macal.survey.notes import notes
from macal.survey.policy import UNIFORM
from macal.survey.report.protocol import settings
from macal.survey.tables.sample import FirstPhase

DRAWN = {"budget": 120, "batch_size": 40, "draw": "effect", "uniform": 0.3}
UNDRAWN = {"draw": None, "uniform": UNIFORM}


def outcomes(people, seed=0):
    noise = np.random.default_rng(seed).normal(size=len(people))
    return pd.Series(people.age / 10 + 2 * people.free + noise).set_axis(people.person)


def answered(rounds=2, people=None, **options):
    people = make_people(400) if people is None else people
    planner, plan = make(people, **DRAWN | options)
    planner.observe(outcomes(people)[plan.index[plan["round"] <= rounds]])
    return planner, plan


# ---------------------------------------------------------------- the draw


def test_a_plan_by_no_criterion_is_a_draw_for_the_average_effect():
    people = make_people(400)

    def plan(**options):
        return make(people, **{"budget": 60, "criterion": None} | options)[1]

    pd.testing.assert_frame_equal(plan(), plan(draw="effect", criterion="macal", uniform=0.2))
    pd.testing.assert_frame_equal(plan(draw="criterion"), plan(draw="criterion", criterion="alc-fixed"))
    assert "weight" not in plan(criterion="alc-fixed")
    targets = {"target": "treated"}, {"by": "region"}
    assert all(not plan(**other).weight.equals(plan().weight) for other in targets)
    with pytest.raises(ValueError, match="alpha"):
        plan(parameters={"alpha": 1.0})


def test_the_criterion_s_own_people_are_drawn_more_often():
    people = make_people(400)
    _, own = make(people, **DRAWN | UNDRAWN)
    _, plan = make(people, **DRAWN | {"draw": "criterion"})
    light = plan.index[plan.weight < 2]
    assert set(light) <= set(own.index) and len(light) > 60 and "weight" not in own
    assert plan.weight[~plan.index.isin(own.index)].tolist() == pytest.approx([400 / 36] * (120 - len(light)))


MONEY = {"budget": 1500, "cost": "fee", "quotas": ["region>=20", "free=1<=40%"], "include": "yes", "exclude": "no"}


def marked(n=400):
    return make_people(n).assign(yes=np.arange(n) == 3, no=lambda d: (d.age > 75) & ~(np.arange(n) == 3))


@pytest.mark.parametrize("way", ["effect", "criterion"])
def test_a_draw_keeps_to_quotas_and_money(way):
    people = marked()
    _, plan = make(people, **DRAWN | MONEY | {"draw": way})
    asked = people.set_index("person").loc[plan.index]
    assert 1500 - 60 <= plan.cost.sum() <= 1500 and plan.cost.tolist() == asked.fee.tolist()
    assert asked.region.value_counts().min() >= 20 and asked.free.mean() <= 0.4
    assert plan.weight["p0003"] == pytest.approx(1) and not asked.no.any() and plan.index.is_unique


@part_and_whole("seeds", range(8), range(40))
def test_more_money_gives_nobody_a_smaller_chance_and_little_is_left(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        people = make_people(n := int(rng.integers(60, 200)), seed)
        dear = [rng.lognormal(0, 1.5, n), rng.choice([1.0, 60.0], n, p=[0.2, 0.8]), rng.choice([0.1, 1.1, 19.99], n)]
        cost = people.fee = np.round(dear[seed % 3] + 0.01, 2)
        quotas, before = ["region>=2"] * (seed % 2), np.zeros(n)
        for budget in np.sort(np.ptp(cost) + rng.uniform(20 * cost.mean(), cost.sum(), 4)):
            planner, plan = make(people, budget=budget, cost="fee", criterion=None, quotas=quotas, batch_size=None)
            chosen = planner.campaign.design
            assert plan.cost.sum() <= budget and (chosen.chances >= before - 1e-9).all()
            kept = pd.Series(cost).groupby(chosen.strata).agg(np.ptp).max()
            assert len(plan) == n or budget - chosen.chances @ cost < kept + cost.max()
            before = chosen.chances
        assert len(make(people, budget=cost.sum(), cost="fee", criterion=None, quotas=quotas)[1]) == n


def test_a_few_dear_people_are_named_with_what_they_take_and_the_free_can_be_asked():
    people = make_people(400).assign(fee=lambda d: np.where(np.arange(400) % 50 == 0, 100.0, 1.0))
    few = {"budget": 300, "cost": "fee", "criterion": None}
    planner, _ = make(people, **few)
    assert any("8 people cost 100" in said for said in notes(planner.campaign))
    cheap, _ = make(people.assign(no=people.fee > 1), **few, exclude="no")
    said = next(said for said in notes(planner.campaign) if "8 people" in said)
    assert f"{1 - cheap.forecast().width / planner.forecast().width:.0%}" in said
    assert not any("--exclude" in said for said in notes(cheap.campaign))
    with pytest.raises(ValueError, match="--include"):
        make(people.assign(fee=people.fee - 1), **few)


@part_and_whole("n", 10, 600)
def test_everybody_has_the_chance_that_the_weights_say(n):
    people = marked(60)
    options = {"budget": 400, "quotas": ["region>=4"], "cost": "fee", "exclude": "no", "include": "yes"}
    planner, _ = make(people, draw="effect", uniform=0.3, **options)
    pool, rules = planner.people, planner.campaign.policy
    chosen = sampling_design.sampling_design(pool, rules)
    may = ~people.no.to_numpy()
    assert ((chosen.chances > 0) == may).all() and chosen.chances[3] == pytest.approx(1)
    seen, costs = np.zeros(60), []
    for seed in range(n):
        (units,) = sampling_design.draw_rounds(pool, replace(rules, seed=seed, batch_size=None), chosen)
        seen[units] += 1
        costs.append(pool.cost[units].sum())
        assert people.region.iloc[units].value_counts().min() >= 4
    assert max(costs) <= 400 and np.ptp(costs) < 2 * np.ptp(pool.cost)
    spread = np.sqrt(chosen.chances * (1 - chosen.chances) / n)
    assert (np.abs(seen / n - chosen.chances) <= 4.5 * spread).all()


@pytest.mark.parametrize(
    ("demand", "name"),
    [
        ({"cluster": "household", "quotas": ["region>=2"]}, "quotas"),
        ({"cluster": "household", "batch_cost": 9, "batch_size": None}, "rounds"),
        ({"cluster": "household", "budget": 5}, "a budget of 5"),
        ({"cost": "fee", "batch_size": None, "batch_cost": 50.0}, "rounds"),
        ({"quotas": ["region=north<=0"]}, "region = north"),
        ({"quotas": ["region=south>=70", "region=west>=60"]}, "these 3 constraints"),
        ({"cost": 3.0, "batch_size": None, "batch_cost": 2.0}, "a round of 2"),
        ({"draw": "effects"}, "effects"),
        ({"uniform": 0.0}, "uniform"),
        ({"uniform": 0.5, "draw": None}, "uniform"),
        ({"target": "treted"}, "treted"),
        ({"by": "regio"}, "regio"),
        ({"draw": None, "target": "treated"}, "draw='effect'"),
        ({"draw": "criterion", "by": "region"}, "draw='effect'"),
    ],
)
def test_demands_that_a_draw_cannot_keep_to(demand, name):
    with pytest.raises(ValueError, match=name):
        make(make_people(400), **DRAWN | demand)


@pytest.mark.parametrize(
    "demand",
    [
        {"cluster": "household", "quotas": ["region>=2"]},
        {"cost": "fee", "budget": 20},
        {"quotas": ["region=north<=0"]},
        {"cost": "fee", "quotas": ["region=west>=30"], "budget": 300},
        {"people": make_people(8), "covariates": ["age"]},
    ],
)
def test_what_a_criterion_can_plan_and_no_draw_is_said_to_be_so(demand):
    given = {"people": make_people(400), "budget": 60} | demand
    with pytest.raises(ValueError, match="--criterion alc-fixed"):
        make(**given | {"criterion": None})
    assert len(make(**given, criterion="alc-fixed")[1])


def test_what_no_plan_can_meet_is_no_fault_of_the_draw():
    for cost in (1.0, "fee"):
        with pytest.raises(Conflict) as found:
            make(cost=cost, quotas=["region=north>=12", "region=north<=10"], criterion=None)
        assert len(found.value.names) == 2 and "--criterion" not in str(found.value)


def test_people_are_drawn_for_a_target_and_its_groups():
    people = make_people(400).assign(side=np.where(np.arange(400) % 5, "a", None))
    planner, plan = answered(2, people, target="treated", by="side", uniform=0.2)
    t, side = planner.people.problem.pool.t, np.where(np.arange(400) % 5, "a", "missing")
    worth = size_measure("treated", crossfit_propensity(planner.people.confounders, t, 0), t, groups=side)
    drawn = planner.people.positions(plan.index, "the plan")
    np.testing.assert_allclose(1 / plan.weight, inclusion_probabilities(worth, 120, 0.2)[drawn])
    found = planner.estimate().design_based
    assert list(found.groups) == ["a", "missing"] and "the treated" in found.facts[0]


def test_a_trial_says_its_chances():
    people = make_people(400).assign(chance=np.where(np.arange(400) % 2, 0.25, 0.75))
    for given, e in ((0.25, np.full(400, 0.25)), ("chance", people.chance.to_numpy())):
        planner, plan = answered(3, people, propensity=given)
        t = planner.people.problem.pool.t
        drawn = planner.people.positions(plan.index, "the plan")
        np.testing.assert_allclose(1 / plan.weight, inclusion_probabilities(size_measure("all", e, t), 120, 0.3)[drawn])
        survey = weighted_estimates._survey(planner.campaign, planner.campaign.outcomes, np.arange(400))
        np.testing.assert_array_equal(survey.propensities[:, 1], e)
    for wrong in (1.0, 0.0, "fee"):
        with pytest.raises(ValueError, match="propensity"):
            make(people, **DRAWN | {"propensity": wrong})
    with pytest.raises(ValueError, match="propensity"):
        make(people.assign(free=np.arange(400) % 3), **DRAWN | {"propensity": 0.3, "reference": 0})


# ---------------------------------------------------------------- the estimate


def test_of_a_sample_widths_are_those_of_the_people_of_its_table():
    planner, plan = make(budget=20, batch_size=20, criterion="qhte")
    planner.observe(plan.free + np.arange(20) % 3)
    chances, campaign = np.linspace(0.1, 1, 200), planner.campaign.evolve(table=planner.campaign.table)
    campaign._read["people"] = replace(planner.people, first_phase=FirstPhase(chances, np.zeros(200, np.int64), 2000))
    found = estimate_effects(campaign)
    widths = found.people.high - found.people.low
    assert found.projection.width["now"] == pytest.approx(np.average(widths, weights=1 / chances))


@pytest.mark.parametrize("model", ["joint-gp", models.get("exact-gp", optimiser="lbfgs")])
def test_estimates_are_the_model_s_and_the_outlook_is_its_forecast(model):
    planner, plan = answered()
    found, pool = planner.estimate(model), planner.people.problem.pool
    known = np.sort(planner.people.positions(plan.index[:80], "the plan"))
    y = outcomes(make_people(400)).to_numpy()[known]
    (fitted,) = models.as_model(model).fit([models.Task(Split(pool.x[known], pool.t[known], y))])
    np.testing.assert_allclose(found.people.effect, fitted.predict(pool.x).tau, rtol=1e-9)
    now = posterior_sd(fitted.prior, pool.x, pool.t, known)
    np.testing.assert_allclose(found.people.high - found.people.low, 2 * 1.959964 * now.effects, rtol=1e-6)
    assert found.average.value == pytest.approx(found.people.effect.mean()) and found.average.error == now.average
    end = posterior_sd(fitted.prior, pool.x, pool.t, planner.people.positions(plan.index, "the plan"))
    assert found.projection.loc["end", "width"] == pytest.approx(2 * 1.959964 * end.effects.mean())
    assert found.projection.answers.tolist() == [80, 120, 120] and found.projection.cost.tolist() == [0, 40, 40]
    assert found.people.index.tolist() == make_people(400).person.tolist() and found.verdict == ""


def test_the_weighted_estimate_is_that_of_the_rounds_that_were_asked():
    people = make_people(400).assign(no=lambda d: d.age > 75)
    planner, plan = answered(2, people, exclude="no")
    found, seen = planner.estimate().weighted, planner.people
    may = ~people.no.to_numpy()
    asked = people.person.isin(plan.index[:80]).to_numpy()
    chances = np.ones(400)
    chances[asked] = 2 / 3 / plan.weight.loc[people.person[asked]]
    y = np.where(asked, outcomes(people), np.nan)
    t = seen.problem.pool.t
    assert found == average_effect(Survey(seen.confounders[may], t[may], y[may], chances[may]))
    assert found.low < 2 < found.high


def test_who_does_not_answer_is_modelled_and_said():
    people = make_people(400)
    planner, plan = answered(2, people)
    silent = plan.index[:80][::9]
    refusing = make(people, **DRAWN)[0]
    told = outcomes(people)[plan.index[:80]]
    refusing.observe(told.where(~told.index.isin(silent)))
    found, seen = refusing.estimate(), refusing.people
    asked = people.person.isin(plan.index[:80]).to_numpy()
    chances = np.ones(400)
    chances[asked] = 2 / 3 / plan.weight.loc[people.person[asked]]
    y = np.where(asked & ~people.person.isin(silent), outcomes(people), np.nan)
    survey, doubt = Survey(seen.confounders, seen.problem.pool.t, y, chances, asked), found.design_based.nonresponse
    assert found.weighted == average_effect(survey) and found.weighted != planner.estimate().weighted
    assert doubt == nonresponse_sensitivity(survey, found.weighted)
    assert doubt.low < found.weighted.low < 2 < found.weighted.high < doubt.high
    said = " ".join(found.design_based.facts)
    assert all(f" {k:.3g}" in said for k in (9, 80, doubt.q_treated, doubt.q_control, doubt.tipping_point))
    wide = refusing.estimate(bounds=(-50, 50)).design_based.nonresponse
    assert wide.range == (-50, 50) and wide.low < doubt.low
    assert planner.estimate().design_based.nonresponse is None


def test_who_is_waited_for_counts_as_silent():
    planner, plan = answered()
    planner.observe({plan.index[85]: 1.0})
    found = planner.estimate()
    assert planner.asked == 3 and np.isfinite(found.weighted.width)
    assert "39 of 120" in " ".join(found.design_based.facts)


def test_no_interval_is_withdrawn_without_a_sentence():
    people = make_people(400)
    planner, plan = make(people, **DRAWN)
    treated, control = (plan.index[plan.free == k][:5] for k in (1, 0))
    planner.observe(outcomes(people)[[*treated, *control]], through=1)
    (said,), found = planner.estimate().design_based.facts, planner.estimate().weighted
    assert found is None and "arm 0 has 5 answers" in said
    assert answered(1, **UNDRAWN)[0].estimate().weighted is None  # of a plan that was not drawn nothing was promised
    unasked, _ = answered(2, people)
    unasked.campaign = unasked.campaign.evolve(asked=0)
    assert unasked.estimate().weighted is None and unasked.estimate().design_based.facts
    rare = answered(2, people.assign(spot=["here"] * 5 + ["there"] * 394 + [None]))[0].estimate(by="spot")
    assert list(rare.design_based.groups) == ["there"] and "spot here" in " ".join(rare.design_based.facts)


def test_of_many_groups_without_interval_some_are_named_in_a_sentence_and_silent_ones_first():
    planner, plan = answered(3)
    found, home = planner.estimate(by="age").design_based, planner.people.table.age
    silent = sorted(set(home) - set(home[plan.index]))
    told = [words for words in found.facts if "age" in words]
    assert silent and not found.groups and len(told) == 2
    assert ", ".join(map(str, silent[:5])) in told[0] and f"{home.nunique() - len(silent)} groups" in told[1]


@pytest.mark.parametrize(("options", "equal"), [({}, 1), ({}, 0), (UNDRAWN | {"criterion": "alc-fixed"}, 1)])
def test_equal_answers_of_an_arm_give_no_interval(tmp_path, options, equal):
    people = make_people(400)
    planner, plan = make(people, **DRAWN | options)
    y = outcomes(people).where(people.free.set_axis(people.person) != equal, 3.0)
    planner.observe(y[plan.index])
    found = planner.estimate(rule=StoppingRule(width=9.0))
    assert found.people[["low", "high"]].isna().all(axis=None) and found.people.effect.notna().all()
    assert found.projection.width.isna().all() and np.isnan(found.average.width) and found.averages == {}
    assert f"arm {equal} are all 3" in found.no_interval_reason and found.verdict.startswith("continue")
    planner.report(tmp_path / "report.html")
    assert found.no_interval_reason in (tmp_path / "report.html").read_text()
    planner.correct(plan.index[plan.free == equal][0], "outcome", "a", 4.0)
    assert np.isfinite(planner.estimate().people.low).all()


def test_intervals_that_hold_at_every_look():
    for rounds in (1, 2, 3):
        planner, _ = answered(rounds)
        plain, by_round, any_ = (planner.estimate(looks=looks) for looks in (None, "rounds", "any"))
        shares = [k / 3 for k in range(1, rounds + 1)]
        assert by_round.weighted == group_sequential_interval(plain.weighted, 40 * rounds, shares)
        assert any_.weighted == anytime_valid_interval(plain.weighted, rounds / 3)
        price = by_round.weighted.width / plain.weighted.width
        assert f"{price:.2f} times" in " ".join(by_round.design_based.facts)
        assert any_.weighted.width > plain.weighted.width
    with pytest.raises(UnknownName, match="'all'"):
        answered(1)[0].estimate(looks="all")
    known = make_people(400)
    known["visits"] = outcomes(known).where(lambda y: np.arange(400) < 60, np.nan).to_numpy()
    early = answered(1, known, outcome="visits", batch_size=2)[0].estimate(looks="rounds")
    assert early.weighted is None  # two people asked stand for 340


UNSURE = {"response": 0.6, "quotas": ["region>=15"]}


def test_reserves_are_drawn_within_their_stratum():
    people = make_people(400)
    _, plan = make(people, **DRAWN | UNSURE)
    kept = plan.dropna(subset="reserve")
    asked, spare = (people.set_index("person").loc[names] for names in (kept.index, kept.reserve))
    assert plan.index.is_unique and spare.index.is_unique and not set(plan.index) & set(spare.index)
    assert asked.region.tolist() == spare.region.tolist() and len(plan) == 120 and len(kept) > 90
    # of every region everybody has a reserve, or nobody is left
    regions = people.set_index("person").region
    for region, number in regions[plan.index].value_counts().items():
        assert (asked.region == region).sum() == min(number, (people.region == region).sum() - number)
        assert number * 0.6 >= 15 - 1e-9  # expected answers
    assert ((plan.reserve_weight > 0) == plan.reserve.notna()).all()


def test_a_draw_without_reserves_for_all_needs_nothing_of_the_last_person():
    people = make_people(130).assign(no=np.arange(130) == 129)
    with np.errstate(divide="raise"):
        _, plan = make(people, **DRAWN | {"response": 0.6, "exclude": "no"})
    assert plan.reserve.notna().sum() == 9 and ((plan.reserve_weight > 0) == plan.reserve.notna()).all()


@part_and_whole("n", 14, 300)
def test_whoever_is_asked_has_the_chance_that_the_estimate_takes(n):
    """Refusals depend on age; Weighted totals of the people asked, reserves included, are those of everybody."""
    people = make_people(80)
    options = {"budget": 24, "batch_size": None, "draw": "effect", "uniform": 0.4, "response": 0.6}
    options["quotas"] = ["free>=6"]
    refuses = np.random.default_rng(5).uniform(size=80) < np.clip((people.age - people.age.min()) / 60, 0.1, 0.7)
    values = np.column_stack([np.ones(80), people.age, people.free * people.age])
    totals = []
    for seed in range(n):
        planner, plan = make(people, **options | {"seed": seed})
        told = pd.Series(np.where(refuses, np.nan, 1.0), people.person)
        planner.observe(told[plan.index])
        gone = plan.index[told[plan.index].isna()]
        planner.observe(told[plan.reserve.loc[gone].dropna()])
        survey = weighted_estimates._survey(planner.campaign, planner.campaign.outcomes, np.arange(80))
        assert survey.asked.sum() == len(plan) + plan.reserve.loc[gone].notna().sum()
        totals.append((survey.asked / survey.inclusion_probability) @ values)
    off = np.mean(totals, axis=0) - values.sum(axis=0)
    # how many reserves are asked depends on who was drawn, which leaves a bias of the order of 1 over the labels
    assert (np.abs(off) <= 4 * np.std(totals, axis=0) / np.sqrt(n) + 0.01 * values.sum(axis=0)).all()


def test_targets_and_groups_by_the_weights():
    planner, _ = answered(3, make_people(400).assign(side=np.arange(400) % 2))
    found = [planner.estimate(target=target).weighted.value for target in ("all", "treated", "overlap")]
    assert len({*found}) == 3 and list(planner.estimate(by="side").design_based.groups) == [0, 1]
    for wrong in ({"by": "regio"}, {"target": "treted"}):
        with pytest.raises(UnknownName, match=next(iter(wrong.values()))):
            planner.estimate(**wrong)


def test_known_outcomes_do_not_count_among_those_asked():
    people = make_people(400)
    people["visits"] = outcomes(people).where(lambda y: np.arange(400) < 60).to_numpy()
    planner, plan = make(people, **DRAWN | {"outcome": "visits"})
    told = outcomes(people)[plan.index[:80]]
    planner.observe(told.where(np.arange(80) % 3 > 0), through=2)
    said = weighed_of(planner)
    survey = weighted_estimates._survey(planner.campaign, planner.campaign.outcomes, np.arange(400))
    assert "27 of 80" in " ".join(said.facts)
    assert survey.known_outcome.tolist() == [True] * 60 + [False] * 340 and survey.asked.sum() == 80
    assert (survey.inclusion_probability[:60] == 1).all() and abs(survey.responses[60:].mean() - 2 / 3) < 0.1
    assert said.estimate == average_effect(survey) and said.nonresponse.asked == 80
    assert planner.estimate("exact-gp").projection.answers["now"] == 113


def weighed_of(planner, target="all", **options):
    return weighted_estimates.weighted_estimates(planner.campaign, planner.campaign.outcomes, 1, target, **options)


def test_answers_that_the_weights_leave_out_are_counted():
    people = make_people(400)
    planner, plan = make(people, **DRAWN)
    planner.observe(outcomes(people)[[*plan.index[:40], *plan.index[100:]]], through=1)
    assert "20 answers" in " ".join(weighed_of(planner).facts)


def test_what_there_is_no_use_for_is_said():
    planner, _ = answered(2, **UNDRAWN)
    (said,) = weighed_of(planner, "treated", by="region", looks="any").facts
    assert weighed_of(planner).facts == () and all(name in said for name in ("target", "by", "looks"))
    drawn, plan = answered(2)
    assert "bounds" in " ".join(weighed_of(drawn, bounds=(-50, 50)).facts)
    for one in (planner, drawn):
        with pytest.raises(ValueError, match="bounds"):
            weighed_of(one, bounds=(0, 1))
    drawn.observe(dict.fromkeys(plan.index[80:85]), through=3)
    assert weighed_of(drawn, "treated").nonresponse is None


def test_the_tipping_point_is_that_of_the_interval_that_is_given():
    people = make_people(400).assign(side=np.arange(400) % 2)
    planner, plan = make(people, **DRAWN)
    told = outcomes(people)[plan.index[:80]]
    planner.observe(told.where(np.arange(80) % 9 > 0), through=2)
    plain, wide = weighed_of(planner, by="side"), weighed_of(planner, by="side", looks="rounds")
    price = wide.estimate.low / plain.estimate.low
    assert 0 < price < 1 and wide.nonresponse.tipping_point == pytest.approx(price * plain.nonresponse.tipping_point)
    assert f"{wide.nonresponse.tipping_point:.3g}" in wide.facts[-1]
    assert wide.groups == plain.groups and wide.nonresponse.low == plain.nonresponse.low  # are not widened
    planner, _ = make(people, **DRAWN)
    shift = plain.estimate.low - 0.01 * plain.estimate.width
    planner.observe((told - shift * plan.free[told.index]).where(np.arange(80) % 9 > 0), through=2)
    plain, wide = weighed_of(planner), weighed_of(planner, looks="any")
    assert plain.estimate.low > 0 > wide.estimate.low
    assert plain.nonresponse.tipping_point > 0 == wide.nonresponse.tipping_point


def test_averages_leave_out_who_may_not_be_asked():
    people = make_people(400).assign(no=lambda d: d.age > 60)
    planner, _ = answered(2, people, exclude="no")
    found, may = planner.estimate("exact-gp"), ~people.no.to_numpy()
    assert found.average.value == pytest.approx(found.people.effect[may].mean()) and len(found.people) == 400
    looks, now = found.projection.loc["now"], (found.people.high - found.people.low)[may].mean()
    assert looks.width == pytest.approx(now)
    (said,) = exclusion_notes(planner.campaign)
    assert f"{people.no.sum()} of 400" in said and exclusion_notes(answered(2)[0].campaign) == []


def test_the_excluded_whose_outcome_is_known_count():
    people = make_people(100).assign(no=np.arange(100) < 9, visits=np.where(np.arange(100) < 4, 1.0, np.nan))
    planner, plan = make(people, budget=20, exclude="no", outcome="visits")
    planner.observe(dict.fromkeys(plan.index, 1.0))
    out, counted = exclusion_notes(planner.campaign)
    assert "5 of 100" in out and counted.startswith("4 ")
    assert {"5", "4"} <= set(settings(planner.campaign)["excluded"].split())


def test_a_rule_says_whether_it_is_enough():
    def verdict(planner, **rule):
        return planner.estimate(rule=StoppingRule(**rule)).verdict

    for draw, by in (({}, "weighted"), (UNDRAWN, "average")):
        planner, _ = answered(**draw)
        found = planner.estimate(looks="rounds")  # as is the default of a rule by width
        width = getattr(found, by).width
        assert verdict(planner, width=1.01 * width).startswith("stop")
        assert verdict(planner, width=0.99 * width).startswith("continue:")
    over, _ = answered(3)
    assert verdict(over, width=1e-9).startswith("continue with")
    assert over.estimate().projection.cost.to_dict() == {"now": 0, "end": 0}


def test_the_outlook_counts_no_money_for_whoever_is_asked_already():
    people = make_people(400)
    told = outcomes(people)
    planner, plan = make(people, **DRAWN | {"cost": 2.0, "budget": 240, "pay": "asked"} | UNDRAWN)
    planner.observe(told[plan.index[:25]], through=1)
    found = planner.estimate()
    assert found.projection.cost.to_dict() == {"now": 0, "asked": 0, "next": 80, "end": 160}
    assert found.projection.answers.to_dict() == {"now": 25, "asked": 40, "next": 80, "end": 120}
    assert planner.spent() + found.projection.cost["end"] == planner.rounds()["so far"].iloc[-1] == 240
    planner.observe(told[plan.index[40:80]])
    # they answered ahead of their round, so the next one is the third
    planner.campaign = planner.campaign.evolve(asked=1)
    assert planner.estimate().projection.cost.to_dict() == {"now": 0, "asked": 0, "next": 80, "end": 80}
    planner.observe(told[plan.index[80:100]], through=3)
    last = planner.estimate()
    assert not last.projection.cost.any()
    assert last.projection.answers.to_dict() == {"now": 85, "asked": 120, "end": 120}


def test_the_estimate_says_whether_effects_are_seen_to_differ():
    planner = answered()[0]
    found, campaign = planner.estimate("exact-gp"), planner.campaign
    pool, y = planner.people.problem.pool, campaign.outcomes
    known = np.flatnonzero(np.isfinite(y))
    units = Split(pool.x[known], pool.t[known], y[known])
    assert found.variation == heterogeneity_test(models.get("exact-gp"), units, campaign.policy.seed)
    assert found.variation.answers == len(known)


@pytest.mark.parametrize("slope", [0.0, 8.0])
def test_people_s_effects_are_written_where_answers_prefer_them_or_asked_for(here, capsys, slope):
    people, rng = make_people(400), np.random.default_rng(0)
    people.to_csv("people.csv", index=False)
    planner, plan = make(people, **DRAWN)
    y = pd.Series(people.free * slope * (people.age > people.age.median()) + rng.normal(size=400)).set_axis(
        people.person
    )
    planner.observe(y[plan.index])
    planner.save("c.json")
    ask = ["estimate", "c.json", "people.csv", "-o", "e.csv", "--report", "r.html"]
    assert main(ask) == 0
    said, few = capsys.readouterr().out, Path("r.html").read_text()
    assert Path("e.csv").exists() == planner.estimate().shown == (slope > 0) == ("width" in said)
    assert main([*ask, "--individual", "--replace"]) == 0
    assert len(pd.read_csv("e.csv")) == 400 and "width" in capsys.readouterr().out
    assert (few.count("<svg") < Path("r.html").read_text().count("<svg")) == (slope == 0)


def test_a_group_that_refused_altogether_is_named_unasked():
    """Of twenty; not of two, whom chance would leave silent, nor of a group of whom one answered, or of all of them."""
    people = make_people(400)
    planner, plan = make(people, **DRAWN, covariates=["age", "region"])
    region, y = people.set_index("person").region[plan.index], outcomes(people)[plan.index]
    north = region == "north"
    planner.observe(y.where(~north & (np.arange(len(y)) % 10 > 0)), through=3)
    (said,) = (words for words in silent(planner.campaign) if "north" in words)
    assert f" {north.sum()} " in said and not any("south" in words for words in silent(planner.campaign))
    planner.correct(y.index[north][0], "outcome", "ann", 1.0)
    assert not silent(planner.campaign)
    for answers in (y.where(~north)[:3], y.where(y > np.inf)):
        planner, _ = make(people, **DRAWN, covariates=["age", "region"])
        planner.observe(answers)
        assert not silent(planner.campaign)


def test_which_arm_less_which_on_what_is_said(here, capsys):
    people = make_people(400).assign(free=lambda t: np.array(["no", "sms", "visit"])[t.index % 3])
    people.to_csv("people.csv", index=False)
    planner, plan = make(people, **DRAWN | {"budget": 200}, reference="sms")
    rng = np.random.default_rng(0)
    pd.Series(rng.normal(size=len(plan)), plan.index, name="pain").to_csv("answers.csv")
    planner.save("c.json")
    assert main(["observe", "c.json", "people.csv", "answers.csv"]) == 0
    capsys.readouterr()
    assert main(["estimate", "c.json", "people.csv", "--report", "r.html"]) == 0
    said, report = capsys.readouterr(), Path("r.html").read_text()
    for which in ("no minus sms", "visit minus sms", "'pain'"):
        assert which in said.out and which.replace("'", "&#x27;") in report.replace("&#39;", "&#x27;")
    assert not said.err and sorted(path.name for path in here.iterdir() if "effect" in path.name) == []
    assert main(["estimate", "c.json", "people.csv", "-o", "e.csv"]) == 0
    assert not Path("e.csv").exists() and "e.csv" in capsys.readouterr().err


def test_effects_come_back_in_the_kind_of_the_table():
    polars, people = pytest.importorskip("polars"), make_people(400)
    planner, plan = make(polars.from_pandas(people), budget=120)
    planner.observe(outcomes(people)[plan["person"].to_list()])
    found = planner.estimate().people
    assert isinstance(found, polars.DataFrame) and found.columns == ["person", "effect", "low", "high"]


def test_what_cannot_be_estimated_is_said():
    planner, plan = make(make_people(400), **DRAWN)
    with pytest.raises(ValueError, match="0 of arm 1 and 0 of arm 0"):
        planner.estimate()
    planner.observe(dict.fromkeys(plan.index[plan.free == 1][:5], 1.0))
    with pytest.raises(ValueError, match="5 of arm 1 and 0 of arm 0"):
        planner.estimate()
    with pytest.raises(ValueError, match="MetaLearner"):
        answered()[0].estimate("meta-learner")


# ---------------------------------------------------------------- the command line


def test_from_a_csv_to_effects(here, capsys):
    people = make_people(400)
    people[["person", "free", *COVARIATES]].to_csv("people.csv", index=False)
    begin = "plan people.csv --treatment free --budget 120 --batch-size 40 -o plan.csv --draw effect --uniform 0.3"
    assert main([*begin.split(), "--campaign", "campaign.json"]) == 0
    plan = pd.read_csv("plan.csv", index_col="person")
    assert plan.columns.tolist() == ["round", "free", "cost", "weight"]
    outcomes(people)[plan.index[:80]].rename("visits").rename_axis("person").to_csv("answers.csv")
    observe = "observe campaign.json people.csv answers.csv".split()
    ask = "estimate campaign.json people.csv -o effects.csv --individual".split()
    assert main(observe) == main([*ask, "--width", "9", "--report", "report.html"]) == 0
    weighted = Planner.load("campaign.json", pd.read_csv("people.csv")).estimate().weighted
    said, report = capsys.readouterr().out, (here / "report.html").read_text()
    assert f"{weighted.value:.4g}, 95%" in said and "stop: " in said and "Stop: " in report
    effects = pd.read_csv("effects.csv")
    assert effects.columns.tolist() == ["person", "effect", "low", "high"] and len(effects) == 400
    out = pd.read_csv("plan.csv").merge(people, on="person")
    out.assign(visits=None)[["person", "visits"]].iloc[80:90].to_csv("answers.csv", index=False)
    assert main([*observe, "--outcome", "visits", "--through", "3"]) == 0
    other = [*ask[:-2], "other.csv", "--by", "free"]
    assert main([*other, "--bounds", "0,20"]) == 0 and "(0 to 20)" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*other, "--bounds", "0"])
    assert main(ask) == 1 and main([*ask, "--replace", "--model", "due"]) == 1
