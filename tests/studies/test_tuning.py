"""The search: Table 2's space, resuming, what is never run twice, and the fresh judgement."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from types import SimpleNamespace

import optuna
import pytest
from optuna.trial import TrialState

from macal import results
from reproduction.studies import backbones as backbone_study
from reproduction.studies import recording, tables, tuning

TINY = tuning.Search(replications=(0,), labelled=20, settings={"steps": 1, "epochs": 1})


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture
def trained(monkeypatch):
    """Replace training by a rule that is quick and depends on the point; what was trained is listed."""
    points = []

    def rows(self, point):
        points.append(point)
        loss = point["depth"] + point["dropout"] + 100 * point["lr"] + point["width"] / 1000
        return [{"replication": r, "labelled": 20, "init": 0, "pehe": 2 * loss, "epochs": 3, "valid_loss": loss + r}
                for r in self.replications]  # fmt: skip

    monkeypatch.setattr(tuning.Search, "rows", rows)
    return points


def test_published_points_lie_in_the_space_and_build_a_model():
    for point in tuning.PUBLISHED.values():
        assert point.keys() == tuning.SPACE.keys()
        model = tuning.build(point)
        assert model.lr_gp == 2 * model.lr and model.treatment == "separate"
    defaults = tuning.models.get("due")
    assert tuning.build(tuning.PAPER) == defaults  # the library's defaults are Table 2's


def test_a_value_outside_the_space_is_refused():
    with pytest.raises(ValueError, match="width=300"):
        tuning.build(tuning.PAPER | {"width": 300})


def test_every_value_of_the_space_trains():
    for k in range(3):
        point = {name: values[min(k, len(values) - 1)] for name, values in tuning.SPACE.items()}
        (row,) = TINY.rows(point)
        assert row["epochs"] == 1 and row["pehe"] > 0 and row["valid_loss"] == row["valid_loss"]


def test_the_objective_is_the_mean_loss_and_published_points_go_first(tmp_path, trained):
    study = tuning.optimise(tmp_path / "s.db", 4, tuning.Search(replications=(0, 4)))
    first = study.trials[0]
    assert first.params == tuning.PAPER and study.trials[1].params == tuning.CODE
    assert first.value == pytest.approx(3 + 0.1 + 0.1 + 0.2 + 2)
    assert len(trained) == len({json.dumps(p, sort_keys=True) for p in trained})


@pytest.mark.exhaustive
def test_a_finished_trial_is_never_run_again(tmp_path, trained):
    tuning.optimise(tmp_path / "s.db", 5, TINY)
    before = len(trained)
    assert len(tuning.optimise(tmp_path / "s.db", 5, TINY).trials) == 5 and len(trained) == before


@pytest.mark.exhaustive
def test_a_point_that_comes_up_again_is_not_trained_again(tmp_path, trained, monkeypatch):
    two = {name: (value,) for name, value in tuning.PAPER.items()} | {"kernel": ("rbf", "rq")}
    monkeypatch.setattr(tuning, "SPACE", two)
    monkeypatch.setattr(tuning, "PUBLISHED", {"paper": tuning.PAPER})
    study = tuning.optimise(tmp_path / "s.db", 5, dataclasses.replace(TINY, seed=3))
    assert len(trained) == len(tuning.ranking(study)) == 2


@pytest.mark.exhaustive
def test_a_killed_process_is_survived(tmp_path):
    """A real kill while a trial trains: its state stays RUNNING on the disk."""
    code = (
        "import os, signal, sys; from pathlib import Path; from reproduction.studies import tuning\n"
        "tuning.Search.rows = lambda self, point: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"tuning.optimise(Path({str(tmp_path / 's.db')!r}), 2, tuning.Search(replications=(0,), labelled=20,"
        " settings={'steps': 1, 'epochs': 1}))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    study = tuning.optimise(tmp_path / "s.db", 2, TINY)
    done = study.get_trials(states=[TrialState.COMPLETE])
    assert sorted(trial.params["kernel"] for trial in done) == ["matern-3/2", "rbf"]
    assert not study.get_trials(states=[TrialState.RUNNING, TrialState.WAITING])


def test_a_training_that_fails_is_settled_and_says_why(tmp_path, monkeypatch):
    def rows(self, point):
        if point["kernel"] == "rbf":
            raise ValueError("training failed for tasks[0]")
        return [{"pehe": 1.0, "epochs": 1, "valid_loss": 1.0}]

    monkeypatch.setattr(tuning.Search, "rows", rows)
    study = tuning.optimise(tmp_path / "s.db", 2, TINY)
    assert study.trials[0].state == TrialState.FAIL and "tasks[0]" in study.trials[0].user_attrs["error"]
    assert len(tuning.optimise(tmp_path / "s.db", 2, TINY).trials) == 2


def test_a_job_keeps_the_seconds_of_its_trial(unchecked, monkeypatch):
    begin = datetime(2026, 1, 1)
    trial = SimpleNamespace(params=tuning.PAPER, number=0, user_attrs={"rows": [{"pehe": 1.0}]},
                            datetime_start=begin, datetime_complete=begin + timedelta(seconds=1.5))  # fmt: skip
    monkeypatch.setattr(tuning, "ranking", lambda study: [trial])
    (job,) = tuning.finished(SimpleNamespace(user_attrs={"search": "s"}), TINY)
    assert job.configs[0]["point"] == "paper" and job.work()[0].seconds == 1.5


@pytest.mark.exhaustive
def test_another_search_needs_another_file(tmp_path, trained):
    tuning.optimise(tmp_path / "s.db", 2, TINY)
    with pytest.raises(ValueError, match="another"):
        tuning.optimise(tmp_path / "s.db", 2, tuning.Search(replications=(1,)))


@pytest.mark.exhaustive
def test_the_table_is_searched_judged_afresh_and_resumes(tmp_path, trained, monkeypatch):
    monkeypatch.setattr(tuning, "TRIALS", 6)
    store = tmp_path / "store"
    with pytest.raises(results.Incomplete, match="9 of 10"):
        recording.record(tables.get("tuning"), store, tmp_path / "results", jobs=1)
    recording.record(tables.get("tuning"), store, tmp_path / "results")
    table = results.load("tuning", tmp_path / "results")
    held_out = table[table.stage == "held out"]
    assert set(held_out.point) == {"paper", "code", "found 1", "found 2"}
    assert set(held_out.replication) == set(tuning.HELD_OUT)
    assert table[table.stage == "search"].trial.nunique() == 6
    assert len(trained) <= 6 + 4
    means = table[table.stage == "search"].groupby("point").valid_loss.mean()
    others = means.drop(["paper", "code"]).sort_values()
    best = table[(table.stage == "search") & (table.point == others.index[0])].iloc[0]
    first = held_out[held_out.point == "found 1"].iloc[0]
    assert all(best[name] == first[name] for name in tuning.SPACE)


def test_labels_are_nested_and_rows_name_their_training():
    problem = tuning.datasets.load("ihdp", 3)
    assert backbone_study.random_units(problem, 9).tolist() == backbone_study.random_units(problem, 20)[:9].tolist()
    rows = backbone_study.train(tuning.build(tuning.PAPER, steps=1, epochs=1), [(problem, 12, 0), (problem, 9, 1)])
    assert [(r["replication"], r["labelled"], r["init"]) for r in rows] == [(3, 12, 0), (3, 9, 1)]
