"""Rounds that learn: who is asked and answers, round by round, and what is recorded of it."""

import numpy as np
import pandas as pd
import pytest

import macal
from reproduction.claims import RULES
from reproduction.claims import pilots as pilot_claim
from reproduction.claims import rounds as claim
from reproduction.studies import pilots, rounds, tables


@pytest.mark.parametrize("name", ["5 rounds, refusals", "5 rounds, late"])
def test_nobody_is_asked_twice_and_whoever_refuses_is_not_labelled(name, unchecked):
    problem, setting = macal.load("ihdp", 0), rounds.SETTINGS[name]
    labelled, learns = rounds.played(problem, setting, "learned", 0)
    sizes = [len(one) for one in labelled]
    assert all(len(set(one.tolist())) == len(one) for one in labelled)
    assert all({*a.tolist()} <= {*b.tolist()} for a, b in zip(labelled, labelled[1:], strict=False))
    assert 0 < learns <= setting.rounds - 1
    asked = rounds.ASKED + len(problem.start)
    if setting.refusing:
        assert 0.6 < (sizes[-1] - len(problem.start)) / rounds.ASKED < 0.85
    else:
        assert sizes[-1] == asked


def test_answers_that_come_late_change_the_plan_a_round_later(unchecked):
    problem = macal.load("ihdp", 1)
    names = "5 rounds, late", "5 rounds"
    late, soon = (rounds.played(problem, rounds.SETTINGS[name], "at once", 1)[0] for name in names)
    assert {*late[0].tolist()} == {*soon[0].tolist()} and {*late[1].tolist()} != {*soon[1].tolist()}


@pytest.mark.exhaustive
def test_never_is_the_plan_without_learning_and_at_once_uses_every_answer(unchecked):
    problem, setting = macal.load("toy", 0), rounds.SETTINGS["3 rounds"]
    never, none = rounds.played(problem, setting, "never", 0)
    five, _ = rounds.played(problem, rounds.SETTINGS["5 rounds"], "never", 0)
    assert none == 0 and {*never[-1].tolist()} == {*five[-1].tolist()}
    assert rounds.played(problem, setting, "at once", 0)[1] == 2


def test_a_campaign_answers_its_configuration():
    job = rounds.campaign("toy", 3, "3 rounds", "random")
    (answer,), (config,) = job.work(), job.configs
    rows = pd.DataFrame(answer.rows)
    assert config["setting"] == "3 rounds" and config["method"] == "random" and config["rounds"] == 3
    assert set(rows.model) == set(rounds.MODELS) and len(rows) == rounds.JUDGED * len(rounds.MODELS)
    assert rows.labelled.max() == rows.labelled.min() + 40 and np.isfinite(rows.pehe).all()
    count = len(list(tables.get("rounds_toy").jobs(2)))
    assert count == 2 * len(rounds.SETTINGS) * len(rounds.RULES)


def made(shift, noise=0.01):
    """Log errors of every rule on every row, the rules shifted against "never"."""
    rng, logs, rules = np.random.default_rng(0), [], [*rounds.RULES]
    for setting in rounds.SETTINGS:
        for data in claim.TABLES:
            for model in rounds.MODELS:
                own = pd.DataFrame(rng.normal(0, noise, (rounds.REPLICATIONS, len(rules))), columns=rules)
                own += pd.Series(shift(setting, data, model), dtype=float).reindex(own.columns).fillna(0.0)
                places = [(setting, data, model, r) for r in range(rounds.REPLICATIONS)]
                own.index = pd.MultiIndex.from_tuples(places, names=["setting", "dataset", "model", "replication"])
                logs.append(own)
    return pd.concat(logs)


@pytest.mark.parametrize(
    ("shift", "word"),
    [
        (lambda *place: {"learned": -0.08, "at once": -0.1}, "holds"),
        (lambda *place: {"learned": -0.02, "at once": -0.1}, "holds in part"),
        (lambda s, d, m: {"learned": 0.3 if d == "toy" else -0.3, "at once": -0.1}, "holds in part"),
        (lambda *place: {"learned": 0.1, "at once": -0.1}, "does not hold"),
    ],
)
def test_the_verdict_is_that_of_its_two_parts(monkeypatch, shift, word):
    logs = made(shift)
    monkeypatch.setattr(claim, "load", lambda: logs)
    verdict = claim.judge(RULES)
    assert verdict.verdict == word and f"of {claim.ROWS} rows" in verdict.evidence
    by_setting = claim.means(logs)
    lead = shift("3 rounds", "ihdp", "exact GP")["learned"]
    if word == "holds":
        assert by_setting["learned"].to_numpy() == pytest.approx(lead, abs=0.01)


def test_nothing_is_judged_before_the_end(monkeypatch):
    def missing(name):
        raise FileNotFoundError(name)

    monkeypatch.setattr(claim.tables, "load", missing)
    assert claim.judge(RULES).verdict == "not tested"


@pytest.mark.parametrize("name", ["rounds", "fixed, 24", "drawn, 24"])
def test_a_pilot_is_followed_by_one_plan_for_the_rest(name, unchecked):
    problem = macal.load("ihdp", 20)
    labelled, learns = pilots.played(problem, name, 20)
    assert len({*labelled.tolist()}) == len(labelled) == rounds.ASKED + len(problem.start)
    never, none = pilots.played(problem, "never", 20)
    assert none == 0 and 0 <= learns <= 1
    assert {*labelled.tolist()} != {*never.tolist()} or name != "drawn, 24"
    assert learns in (0, 1) or name == "rounds"


def recorded(shift, monkeypatch):
    """Judge made-up errors in which campaigns differ from "never" by a shift each."""
    rng, names = np.random.default_rng(1), [*pilots.CAMPAIGNS]
    seeds = range(pilots.FIRST, pilots.FIRST + pilots.REPLICATIONS)
    places = pd.MultiIndex.from_product(
        [pilot_claim.TABLES, rounds.MODELS, seeds], names=["dataset", "model", "replication"]
    )
    logs = pd.DataFrame(rng.normal(0, 0.02, (len(places), len(names))), places, names)
    logs = logs + pd.Series(shift, dtype=float).reindex(names).fillna(0.0)
    table = np.exp(logs).melt(var_name="method", value_name="pehe", ignore_index=False).reset_index()
    monkeypatch.setattr(pilot_claim, "recorded", lambda: table.assign(learns=0.5))
    monkeypatch.setattr(pilot_claim, "unneeded", lambda: [("toy", "T-learner")])
    return pilot_claim.judge(RULES)


def test_a_pilot_is_chosen_by_the_rule_that_was_fixed(monkeypatch):
    assert recorded({}, monkeypatch).chosen is None
    assert recorded({"fixed, 24": -0.1}, monkeypatch).chosen == "fixed, 24"
    assert recorded({"fixed, 24": -0.1, "drawn, 24": -0.2}, monkeypatch).chosen == "drawn, 24"
    assert recorded({"drawn, 12": -0.2}, monkeypatch).chosen is None
    found = recorded({"fixed, 48": 0.3, "rounds": -0.1}, monkeypatch)
    assert (
        found.against.loc["fixed, 48", "comparison"] == "behind"
        and found.against.loc["rounds", "comparison"] == "ahead"
    )
    assert found.against.loc["fixed, 48", "price"] == pytest.approx(0.3, abs=0.03)
    assert len(found.drawn) == 3 and (found.against["worst"] >= found.against["log_ratio"]).all()
