"""Rounds that learn: who is asked and answers, round by round, and what is recorded of it."""

import numpy as np
import pandas as pd
import pytest

import macal
from reproduction.studies import rounds, tables


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
