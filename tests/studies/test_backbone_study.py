"""Studies of the backbones: what is asked for, and that trainings differ as told."""

import json
from dataclasses import replace

import numpy as np

from macal import models, results
from reproduction.studies import backbones as backbone_study
from reproduction.studies import jobs, tables

QUICK = models.get("due", width=8, depth=2, inducing=6, batch=10, steps=2, epochs=2, device="cpu")


def test_variants_share_labels_and_differ_as_told(tmp_path):
    jobs.run(backbone_study.variants(sizes=(12,), blocks=[(0,), (1,)], settings=QUICK), tmp_path, lambda line: None)
    table = results.publish(tmp_path, "backbones", tmp_path / "out")
    assert set(table.variant) == set(backbone_study.VARIANTS) and (table.labelled == 12).all()
    wide = table.pivot(index="replication", columns="variant", values="pehe")
    assert (wide["treatment"] != wide["paper"]).all() and (wide["kernel"] != wide["paper"]).all()


def test_arrangements_are_the_same_trainings(tmp_path):
    made = backbone_study.batching(replications=(0,), n=12, inits=3, settings=QUICK)
    jobs.run(made, tmp_path, lambda line: None)
    table = results.publish(tmp_path, "backbones_batching", tmp_path / "out")
    wide = table.pivot(index="init", columns="variant", values="pehe")
    assert set(wide) == set(backbone_study.ARRANGEMENTS)
    np.testing.assert_allclose(wide["alone"], wide["batch"], rtol=1e-3)
    np.testing.assert_allclose(wide["permuted"], wide["batch"], rtol=1e-3)
    assert wide["batch"].nunique() == 3


def test_images_ask_for_the_papers_network_and_protocol():
    (config,) = backbone_study.images()[0].configs
    settings = models.get("due", **models.due.CNN)
    assert config["settings"]["encoder"] == "cnn" and config["settings"]["epochs"] == settings.epochs == 500
    assert replace(settings, **config["settings"]) == settings
    assert json.loads(json.dumps(config))["n"] == 50


def test_replications_are_those_asked_for():
    few, every = tables.get("backbones").jobs(2), tables.get("backbones").jobs()
    assert {tuple(job.configs[0]["replications"]) for job in few} == {(0, 1)}
    assert {len(job.configs[0]["replications"]) for job in every} == {6} and len(every) == 2 * len(few) == 40
    assert [job.configs[0]["replications"] for job in tables.get("backbones_batching").jobs(1)] == [[0]] * 3
