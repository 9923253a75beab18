"""The experiments' pages: what they are asked for, and that each runs a sweep of a reader's own beside the record."""

import nbformat
import numpy as np
import pytest
from cases import each

from macal.campaigns import results
from macal.registry import UnknownName
from reproduction import book, experiments
from reproduction.benchmarks import BASELINES

ASKED = {"mode": "recorded", "version": "code", "methods": "all", "replications": "all", "every": 0, "n_queries": 0}
ASKED |= {"epochs": 500, "device": "cpu", "store": ""}
SMOKE = {"ihdp": {}, "ibm": {}, "cmnist": {"epochs": 1}}


def ask(dataset="ihdp", **changed):
    return experiments.ask(dataset, ASKED | changed)


@each("name", SMOKE)
def test_the_pages_have_the_same_parameters_with_the_same_defaults(name):
    found = [p for p in book.parameters() if p["chapter"] == name]
    assert [p["parameter"] for p in found[:9]] == list(ASKED)
    assert {p["parameter"]: eval(p["default"]) for p in found[:9]} == ASKED


def test_replications_are_a_number_a_list_or_ranges():
    for given in (3, [3], "3"):
        assert ask(replications=given).replications == (3,)
    assert ask(replications="0-2, 5").replications == (0, 1, 2, 5)
    assert len(ask().replications) == 20


def test_methods_are_names_and_macal_is_the_versions_own():
    assert ask().methods == (*BASELINES, "macal")
    assert ask(methods="macal,random").methods == ask(methods=["macal", "random"]).methods == ("macal", "random")
    code, text = (ask("ibm", version=version, methods="macal,macal-10") for version in ("code", "text"))
    assert [own["metric"] for own in code.spec.methods.values()] == ["sqeuclidean"] * 2
    assert "metric" not in text.spec.methods["macal"] and text.spec.methods["macal-10"]["alpha"] == 10
    assert {*code.recorded()["method"]} == {*text.recorded()["method"]} == {"macal", "macal-10"}


def test_what_does_not_exist_is_refused_by_name():
    for changed, said in (
        ({"methods": "macall"}, "macall"),
        ({"n_queries": 47}, "n_queries=47"),
        ({"replications": "3-1"}, "replications"),
        ({"replications": [-1]}, "replications"),
    ):
        with pytest.raises(ValueError, match=said):
            ask(**changed)
    assert issubclass(UnknownName, ValueError)


def test_a_page_refuses_wrong_values_before_anything_runs(capsys):
    for name, parameter, value, said in (
        ("ihdp", "mode", "live", "mode='live'"),
        ("ibm", "methods", "nobody", "'nobody'"),
        ("cmnist", "every", "x", "every='x'"),
        ("cmnist", "epoch", "3", "'epoch'"),
    ):
        assert book.main(["--run", name, "-p", parameter, value]) == 1
        assert said in capsys.readouterr().err


def test_the_model_is_the_records_and_suits_the_device():
    cpu, gpu = (ask("cmnist", device=device).spec.model for device in ("cpu", "cuda"))
    assert all(cpu[name] == gpu[name] for name in ("kernel", "treatment", "width"))
    assert "precision" not in cpu and gpu["precision"] == "bfloat16" and gpu["chunk"] > cpu["chunk"]


def test_differences_are_paired_and_in_per_cent():
    asked = ask(methods="macal,random", replications="0-4")
    recorded = asked.recorded()
    new = recorded[recorded["labelled"] < 100].assign(pehe=lambda rows: 1.1 * rows["pehe"])
    found = asked.differences(recorded, new)
    assert np.allclose(found.loc["this run over the record", ["change", "low", "high"]].astype(float), 10)
    logs = np.log(new.pivot(index=["replication", "labelled"], columns="method", values="pehe"))
    lead = (logs["macal"] - logs["random"]).groupby("replication").mean()
    assert np.isclose(found.loc["MACAL over Random", "change"], 100 * np.expm1(lead.mean()))
    alone = asked.differences(recorded, new[new["replication"] == 0])
    assert (alone["replications"] == 1).all() and alone[["low", "high"]].isna().all(axis=None)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SMOKE)
def test_a_page_trains_beside_the_record(name, tmp_path):
    """One replication, two queries, two methods; the call that a GPU's user makes first, but for the device."""
    own = tmp_path / "own"
    (tmp_path / "notebooks").symlink_to(book.ROOT / "notebooks")
    asked = {"mode": "run", "methods": "macal,random", "replications": 0, "n_queries": 2, "store": str(own)}
    page = nbformat.read(book.rerun(name, asked | SMOKE[name], tmp_path), 4)
    found = results.read_all(own)
    assert {record.config["replication"] for record in found} == {0} and len(found) == 2
    said = "".join(output.get("text", "") for cell in page.cells for output in cell.get("outputs", []))
    assert all(part in said for part in ("trainings on cpu", str(own), "MACAL over Random", "this run over the record"))
    assert (own / "figure.png").is_file()
