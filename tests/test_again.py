"""Recorded trainings that are run again: what is drawn, what is compared, and that a run goes on."""

import numpy as np
import pandas as pd
import pytest

from macal import results
from reproduction import __main__ as command
from reproduction.studies import again


def keys(trainings):
    return [(training.table, training.key, training.row["step"]) for training in trainings]


def test_a_share_is_drawn_of_the_records_whose_commit_was_found_by_their_digest():
    names = ["ihdp_code", "ihdp_s", "cmnist_due", "toy"]
    found = again.drawn(names, 0.1, 0)
    by_digest = {name: 0 for name in names}
    for name in names:
        by_digest[name] = sum("commit_by" in r["manifest"] for r in results.load(name).attrs["records"])
    assert by_digest["cmnist_due"] and not by_digest["toy"]
    counts = pd.Series([training.table for training in found]).value_counts().to_dict()
    assert counts == {name: int(np.ceil(by_digest[name] / 10)) for name in names[:2]}  # images take too long
    assert all(training.record["manifest"]["commit_by"] == "digest" for training in found)
    assert len({*keys(found)}) == len(found)
    assert keys(found) == keys(again.drawn(names, 0.1, 0))
    assert keys(again.drawn(["ihdp_s"], 0.1, 0)) == keys(t for t in found if t.table == "ihdp_s")
    assert keys(found) != keys(again.drawn(names, 0.1, 1))
    for training in found:
        config = training.record["config"]
        assert (training.row["method"], training.row["replication"]) == (config["method"], config["replication"])
    with pytest.raises(ValueError, match=r"share must be in \(0, 1\], got 0.0"):
        again.drawn(names, 0.0, 0)


def test_recorded_trainings_run_again_and_are_not_run_twice(tmp_path, capsys):
    call = ["again", "ihdp_gp", "--share", "0.004", "--into", str(tmp_path / "again.csv")]
    assert command.main(call) == 0
    found = pd.read_csv(tmp_path / "again.csv")
    assert len(found) == 6 and found.method.nunique() > 2
    assert ((found.again / found.recorded - 1).abs() < 1e-3).all()
    assert not found["other labels"].fillna(0).any() and found["other labels"].count() >= 2
    content = (tmp_path / "again.csv").read_bytes()
    capsys.readouterr()
    assert command.main(call) == 0
    said = capsys.readouterr().out
    assert (tmp_path / "again.csv").read_bytes() == content and "macal" not in said and "exact GP" in said


def test_other_labels_and_another_error_are_seen():
    (training,) = (t for t in again.drawn(["ihdp_gp"], 1.0, 0) if t.record["config"]["method"] == "macal-1"
                   and t.record["config"]["replication"] == 3)  # fmt: skip
    step = int(training.row["step"])
    assert step and again.bought_again(training) == 0
    bought = [list(batch) for batch in training.record["picks"]]
    spare = bought[step][0]  # bought later, or not at all
    changed = training._replace(record=training.record | {"picks": [[spare, *bought[0][1:]], *bought[1:]]})
    assert again.bought_again(changed) == 1


def test_agreement_counts_both_ways():
    told = {"model": "exact GP", "key": list("abc"), "recorded": [1.0, 2.0, 4.0], "again": [1.0, 2.2, 3.0]}
    found = again.agreement(pd.DataFrame(told | {"other labels": [0, 2, np.nan]})).loc["exact GP"]
    assert found[["records", "plans", "equal plans"]].tolist() == [3, 2, 1]
    np.testing.assert_allclose(found[["median", "largest"]].tolist(), [0.1, 0.25])
    np.testing.assert_allclose(found["mean log ratio"], (np.log(1.1) + np.log(0.75)) / 3)
