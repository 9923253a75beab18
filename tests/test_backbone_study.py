"""Recorded studies: what is asked for, and that it is asked once."""

import json
from dataclasses import replace

import numpy as np
import pytest

from macal import models, results
from reproduction.studies import backbones as backbone_study

QUICK = models.get("due", width=8, depth=2, inducing=6, batch=10, steps=2, epochs=2, device="cpu")


def test_a_job_with_a_record_is_not_run_again(tmp_path):
    calls = []
    config = {"dataset": "ihdp", "protocol": "code", "part": [1, 2]}
    jobs = [(config, lambda: calls.append(1) or [{"pehe": 1.5}])]
    for _ in range(2):
        backbone_study.run(jobs, tmp_path, report=lambda line: None)
    (record,) = results.read_all(tmp_path)
    assert calls == [1] and record.rows == [{"pehe": 1.5}] and record.manifest["sources"]


def test_a_damaged_record_is_not_taken_for_an_answer(tmp_path):
    jobs = [({"dataset": "ihdp", "protocol": "code"}, lambda: [{"pehe": 1.5}])]
    backbone_study.run(jobs, tmp_path, report=lambda line: None)
    (path,) = tmp_path.glob("*.json")
    path.write_text(path.read_text().replace("1.5", "1.4"))
    with pytest.raises(results.DamagedRecord):
        backbone_study.run(jobs, tmp_path)


def test_variants_share_labels_and_differ_as_told(tmp_path):
    jobs = backbone_study.variants(sizes=(12,), blocks=[(0,), (1,)], settings=QUICK)
    backbone_study.run(jobs, tmp_path, report=lambda line: None)
    table = results.publish(tmp_path, "backbones", tmp_path / "out")
    assert set(table.variant) == set(backbone_study.VARIANTS) and (table.labelled == 12).all()
    wide = table.pivot(index="replication", columns="variant", values="pehe")
    assert (wide["treatment"] != wide["paper"]).all() and (wide["kernel"] != wide["paper"]).all()


def test_arrangements_are_the_same_trainings(tmp_path):
    jobs = backbone_study.company(replications=(0,), n=12, inits=3, settings=QUICK)
    backbone_study.run(jobs, tmp_path, report=lambda line: None)
    table = results.publish(tmp_path, "backbones_company", tmp_path / "out")
    wide = table.pivot(index="init", columns="variant", values="pehe")
    assert set(wide) == set(backbone_study.ARRANGEMENTS)
    np.testing.assert_allclose(wide["alone"], wide["batch"], rtol=1e-3)
    np.testing.assert_allclose(wide["permuted"], wide["batch"], rtol=1e-3)
    assert wide["batch"].nunique() == 3


def test_the_command_runs_part_and_publishes_it(tmp_path, monkeypatch):
    jobs = backbone_study.variants(sizes=(12,), blocks=[(0,)], settings=QUICK)
    monkeypatch.setitem(backbone_study.STUDIES, "variants", (lambda: jobs, "backbones"))
    call = ["variants", str(tmp_path / "store"), "--into", str(tmp_path / "out")]
    with pytest.raises(results.Incomplete, match="lacks 4 of 5 campaigns"):
        backbone_study.main([*call, "--jobs", "1"])
    backbone_study.main([*call, "--jobs", "1", "--partial"])
    assert set(results.load("backbones", tmp_path / "out").variant) == {"paper"}
    with pytest.raises(FileExistsError, match="or replace it by --replace"):
        backbone_study.main(call)
    assert len(results.read_all(tmp_path / "store")) == 1  # nothing was run in vain
    backbone_study.main([*call, "--replace"])
    assert len(results.load("backbones", tmp_path / "out")) == len(jobs)
    with pytest.raises(ValueError, match="jobs must be an integer of at least 1, got 0"):
        backbone_study.main([*call, "--jobs", "0"])


def test_images_ask_for_the_papers_network_and_protocol():
    config, _ = backbone_study.images()[0]
    settings = models.get("due", **models.due.CNN)
    assert config["settings"]["encoder"] == "cnn" and config["settings"]["epochs"] == settings.epochs == 500
    assert replace(settings, **config["settings"]) == settings
    assert json.loads(json.dumps(config))["n"] == 50
