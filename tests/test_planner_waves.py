"""Draws that learn: which rounds change, that chances stay known, and what is said and kept of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from macal import Planner
from macal.inference import average_effect
from macal.planner import waves
from macal.planner.drawn import drawn, lottery
from macal.planner.report.protocol import protocol
from macal.planner.steps import _task
from macal.planner.weights import _survey

OPTIONS = {"identifier": "who", "covariates": ["a", "b"], "draw": "effect", "uniform": 0.2, "batch_size": 40}


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]).assign(t=rng.integers(2, size=n))
    table["fee"], table["home"] = rng.integers(2, 9, n), np.arange(n) // 2
    table["region"] = rng.choice(["north", "south"], n)
    return table.assign(who=[f"p{k:04d}" for k in range(n)])


def outcomes(table, steep=1.0):
    noise = np.exp(steep * table.b) * np.random.default_rng(1).standard_normal(len(table))
    return pd.Series((table.a + table.t * (1 + table.b) + noise).to_numpy(), table.who)


def planned(table, budget=120, **options):
    planner = Planner("t", budget, **OPTIONS | options)
    return planner, planner.plan(table)


def first_draw(planner):
    people, rules = planner.people, planner.campaign.policy
    nobody = np.zeros(0, np.int64)
    chosen = lottery(people, rules, _task(rules, 0, people, nobody, nobody, float(rules.budget)))
    return chosen, drawn(people, rules, chosen)


def test_later_rounds_follow_the_answers_and_weights_are_their_chances():
    table = people()
    planner, first = planned(table)
    y, plan = outcomes(table), first
    for k in (1, 2):
        planner.observe(y[plan.index[plan["round"] == k]])
        then = planner.replan()
        learned = planner.campaign.learned
        assert learned.used and learned.answers == 40 * k and learned.ratio < 1
        before, after = (p[p["round"] > k].index for p in (plan, then))
        assert learned.planned == len(before) and learned.kept == len(before.intersection(after))
        pd.testing.assert_frame_equal(then[then["round"] <= k], plan[plan["round"] <= k])
        assert then["round"].value_counts().eq(40).all() and then.index.is_unique
        plan = then
    last = table.set_index("who").loc[plan.index[plan["round"] == 3]]
    assert np.corrcoef(last.b, np.log(plan.weight[plan["round"] == 3]))[0, 1] < -0.3
    # no weight exceeds 1 / u times that of a simple random sample
    assert plan.weight.max() <= len(table) / 120 / 0.2 * 1.01
    planner.observe(y[plan.index])
    survey = _survey(planner.campaign, planner.campaign.outcomes, np.arange(len(table)))
    own = np.isfinite(survey.y)
    np.testing.assert_allclose(1 / survey.chances[own], plan.weight[planner.people.table.index[own]])
    found = average_effect(survey.x, survey.t, survey.y, survey.chances)
    assert planner.estimate().weighted == found


def test_what_earlier_rounds_followed_is_said_whatever_later_plans_follow(tmp_path, monkeypatch):
    table = people()
    planner, plan = planned(table)
    y, told = outcomes(table), "The chances of round 2 followed the answers before it."
    planner.observe(y[plan.index[plan["round"] == 1]])
    plan = planner.replan()
    assert not any("followed" in words for words in planner.campaign.learned.told([]))
    planner.observe(y[plan.index[plan["round"] == 2]])
    planner.replan()
    assert planner.campaign.learned.used and planner.campaign.learned.told([])[0] == told
    plain = waves.wave_chances
    monkeypatch.setattr(waves, "wave_chances", lambda *given: replace(plain(*given), learnt=False))
    planner.replan()
    first, second = planner.campaign.learned.told([])
    assert first == told and "chances of the rounds to come stay as they were drawn at first" in second
    planner.save(tmp_path / "c.json")
    planner = Planner.load(tmp_path / "c.json", table)
    last = planner.planned
    planner.observe(y[last.index])
    pd.testing.assert_frame_equal(planner.replan(), last)  # nobody is left to draw
    assert planner.campaign.learned.told([]) == [told] and told in protocol(planner.campaign)


@pytest.mark.parametrize("waits", [False, True], ids=["before the draw learns", "after it"])
def test_whoever_was_left_out_is_asked_in_the_next_round_with_her_chance(waits, tmp_path):
    table = people()
    y = outcomes(table)
    planner, plan = planned(table)
    for k in (1, 2) if waits else (1,):
        planner.observe(y[plan.index[plan["round"] <= k]])
        before = plan = planner.replan()
    name, k = before.index[3 + 40 * waits], 1 + waits
    planner.correct(name, "never asked", "ann")
    assert planner.planned["round"][name] == k + 1 and planner.planned.index[40 * k - 1] == name
    assert planner.spent() == 40 * k - 1
    then = planner.replan()
    assert len(then) == 120 and then.weight[name] == before.weight[name] and then["round"][name] == k + 1
    assert planner.campaign.learned.used
    assert then["round"].value_counts().sort_index().tolist() == ([40, 39, 41] if waits else [39, 41, 40])
    planner.save(tmp_path / "c.json")
    planner = Planner.load(tmp_path / "c.json", table)
    planner.observe(y[then.index])
    survey = _survey(planner.campaign, planner.campaign.outcomes, np.arange(len(table)))
    own = np.isfinite(survey.y)
    np.testing.assert_allclose(1 / survey.chances[own], then.weight[planner.people.table.index[own]])
    planner.correct(name, "never asked", "ann")  # of the last round: a new one
    assert planner.replan()["round"].max() == planner.planned["round"][name] == 4
    assert planner.campaign.rounds.asked.tolist()[-1] == 1 and planner.estimate(looks="rounds").weighted


def test_nobody_changes_her_wave_and_how_often_one_plans_does_not_count():
    table = people()
    planner, first = planned(table)
    chosen, batches = first_draw(planner)
    wave = waves.waves_of(planner.campaign, chosen, batches)
    assert np.ptp(np.bincount(wave)) <= 2
    assert all((wave[batch] == k).all() for k, batch in enumerate(batches))
    y, whose = outcomes(table), pd.Series(wave, planner.people.table.index)
    planner.observe(y[first.index[first["round"] == 1]])
    then = planner.replan()
    assert (whose[then.index] + 1 == then["round"]).all()
    pd.testing.assert_frame_equal(planner.replan(), then)
    # the order of the rows does not count
    other, _ = planned(table.sample(frac=1, random_state=0))
    other.observe(y[first.index[first["round"] == 1]])
    pd.testing.assert_frame_equal(other.replan(), then)


@pytest.mark.exhaustive
def test_waves_are_independent_of_who_was_drawn_at_first():
    """Over seeds, whoever was not drawn at first is as often in each wave as whoever was."""
    table = people(60)
    inside, whose = np.zeros((2, 2)), np.zeros(60)
    for seed in range(100):
        planner, _ = planned(table, 20, batch_size=10, seed=seed)
        chosen, batches = first_draw(planner)
        wave = waves.waves_of(planner.campaign, chosen, batches)
        is_in = np.isin(np.arange(60), np.concatenate(batches))
        inside += np.array([[(is_in == a) & (wave == k) for k in range(2)] for a in (True, False)]).sum(axis=2)
        whose += wave == 0
    assert (inside[0] == inside[0, 0]).all() and (inside[1] == inside[1, 0]).all()
    # of anybody, half the seeds
    assert np.abs(whose / 100 - 0.5).max() < 4.2 * np.sqrt(0.25 / 100)


@pytest.mark.parametrize(
    "options",
    [
        {"quotas": ["region>=5"]},
        {"cost": "fee", "budget": 600},
        {"response": 0.8},
        {"cluster": "home"},
        {"target": "treated"},
        {"by": "region"},
        {"draw": "criterion"},
        {"batch_size": None},
    ],
    ids=lambda given: next(iter(given)),
)
def test_other_draws_stay_as_they_are(options):
    table = people()
    planner, first = planned(table, **options)
    planner.observe(outcomes(table)[first.index[first["round"] == 1]])
    then = planner.replan()
    pd.testing.assert_frame_equal(then, first, check_dtype=False)
    assert planner.campaign.learned is None


def test_answers_that_say_nothing_leave_the_draw_and_so_do_answers_ahead():
    table = people()
    planner, first = planned(table)
    nothing = pd.Series(np.random.default_rng(5).standard_normal(len(table)), table.who)
    planner.observe(nothing[first.index[first["round"] == 1]])
    pd.testing.assert_frame_equal(planner.replan(), first)
    assert not planner.campaign.learned.used and "stay as they were drawn" in planner.campaign.learned.told([])[0]
    for ahead in (2, 3):
        planner, first = planned(table)
        names = first.index[first["round"] == 1].append(first.index[first["round"] == ahead][:1])
        planner.observe(outcomes(table)[names], through=1)
        pd.testing.assert_frame_equal(planner.replan(), first)
        assert planner.campaign.learned is None


def test_the_file_and_the_words_keep_what_was_learnt(tmp_path):
    table = people()
    planner, first = planned(table)
    planner.observe(outcomes(table)[first.index[first["round"] == 1]])
    then = planner.replan()
    planner.save(tmp_path / "campaign.json")
    again = Planner.load(tmp_path / "campaign.json", table)
    assert again.campaign.learned == planner.campaign.learned
    pd.testing.assert_frame_equal(again.replan(), then)
    (told, kept) = planner.campaign.learned.told(planner.people.arms)
    assert "2 of the 2 rounds to come follow the squared residuals of 40 answers" in told
    assert "at most 2.24 times as wide as by a uniform draw" in told and "Of 80 people" in kept
    planner.report(tmp_path / "report.html")
    assert "follow the squared residuals of 40 answers" in (tmp_path / "report.html").read_text()
