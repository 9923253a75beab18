"""That a replication is the same bytes everywhere, that its sources are known, and what loading costs."""

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from needs import each_dataset, needs_data
from test_datasets import digest

import macal
from macal import files
from macal.datasets import DATASETS, ihdp
from macal.problem import Problem, Split

DIGESTS = {  # of replication 1, on every machine
    "toy": "6194c6d1fc09bce671a4b169b32cac72aa8af3f20c4af9088d409e95b97be078",
    "ihdp": "a34e50062e5c3495adbf078ef541fe7019c131e680e8f6f5f95a7d3be1b104ba",
    "ibm": "7a45e4326f0a63bd0418df60ecda2905430ee745952cd828281a7017b6de39f3",
    "cmnist": "7995ca07fc8b090ed76baf4b0a86cfb07d3645f72560cfd6a95ebffb4487bcc0",
}
OTHER_PROCESSOR = {  # numpy, BLAS and the C library as on a processor without AVX and fused multiply-add
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
    "OPENBLAS_CORETYPE": "Nehalem",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX",
}


@pytest.mark.parametrize("name", each_dataset())
def test_the_same_seed_gives_the_same_bytes(name):
    found = digest(macal.load(name, 1))
    assert found == DIGESTS.get(name, found) != digest(macal.load(name, 2))


@pytest.mark.exhaustive
def test_the_same_seed_gives_the_same_bytes_in_another_process_on_another_processor():
    names = [name for name, entry in DATASETS.items() if not files.missing(*entry.files)]
    code = "import sys, macal; sys.path.append('..'); from test_datasets import digest;"
    code += f" print(*(digest(macal.load(n, 1)) for n in {names}))"
    command, environment = [sys.executable, "-c", code], os.environ | OTHER_PROCESSOR
    done = subprocess.run(
        command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [digest(macal.load(name, 1)) for name in names]


@needs_data("ihdp")
def test_ihdp_of_econml_equals_the_original_file():
    pyreadr = pytest.importorskip("pyreadr")
    files.read("ihdp/ihdp.RData")
    original = pyreadr.read_r(str(files.find("ihdp/ihdp.RData")))["ihdp"]
    found = pd.read_csv(Path(ihdp.find_spec("econml").origin).parent / "data" / "ihdp" / "sim.csv")
    found = found.assign(first=found["first"] + 1).rename(
        columns=dict(zip(ihdp.SITES, ("ark", "ein", "har", "mia", "pen", "tex", "was"), strict=True))
    )
    assert found.shape[0] == original.shape[0] == 985 and set(original) == set(found) - {"site8"}
    exact = [column for column in original if column != "b.head"]
    assert np.array_equal(found[exact].to_numpy(float), original[exact].to_numpy(float))
    assert np.array_equal(found["b.head"], original["b.head"].round(8))  # econml's table prints eight decimals
    kept = original[~((original["treat"] == 1) & (original["momwhite"] == 0))]
    x, t = ihdp.covariates()
    names = [*ihdp.CONTINUOUS, *ihdp.BINARY, "ark", "ein", "har", "mia", "pen", "tex", "was"]
    plain = kept[names].to_numpy(float)
    plain[:, :6] = (plain[:, :6] - plain[:, :6].mean(axis=0)) / plain[:, :6].std(axis=0)
    np.testing.assert_allclose(x, plain, rtol=0, atol=1e-8)
    assert np.array_equal(t, kept["treat"])


def test_ihdp_of_another_econml_is_refused(tmp_path, monkeypatch):
    (tmp_path / "data" / "ihdp").mkdir(parents=True)
    (tmp_path / "data" / "ihdp" / "sim.csv").write_text("treat,bw\n1,2\n")
    monkeypatch.setattr(ihdp, "find_spec", lambda name: type("Spec", (), {"origin": str(tmp_path / "__init__.py")}))
    with pytest.raises(files.ChecksumError, match="sim.csv"):
        ihdp.covariates.__wrapped__()


def test_sources_of_ihdp_are_those_that_were_read():
    path = Path(ihdp.find_spec("econml").origin).parents[1] / "econml/data/ihdp/sim.csv"
    assert macal.load("ihdp").sources == {"econml/data/ihdp/sim.csv": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert macal.load("toy").sources == {}


def make_images(n=12):
    rng = np.random.default_rng(0)
    return Split(rng.integers(0, 256, (n, 4), dtype=np.uint8), np.arange(n) % 2, levels=np.linspace(-1, 1, 256))


def test_bytes_are_kept_and_floats_handed_out():
    split = make_images()
    assert split.stored.dtype == np.uint8 and split.x.dtype == np.float32
    np.testing.assert_array_equal(split.x, np.linspace(-1, 1, 256).astype(np.float32)[split.stored])
    np.testing.assert_array_equal(split[[3, 1]].x, split.x[[3, 1]])
    for array in (split.stored, split.x, split.levels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((2, 3), np.float32)}, "float32"),
        ({"x": np.zeros(2, np.uint8)}, "x"),
        ({"levels": np.zeros(255)}, "levels"),
        ({"levels": np.full(256, np.nan)}, "levels"),
    ],
)
def test_bad_images_are_refused(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Split(**{"x": np.zeros((2, 3), np.uint8), "t": np.array([0, 1]), "levels": np.zeros(256)} | change)


def test_bytes_without_levels_are_plain_numbers():
    split = Split(np.arange(6, dtype=np.uint8).reshape(3, 2), np.array([0, 1, 0]))
    assert split.x.dtype == split.stored.dtype == np.float64 and split.y is None and split.x[2, 1] == 5


def test_a_problem_survives_the_way_to_a_worker():
    problem = Problem(
        "own", make_images(), make_images(6), np.array([0, 1]), sources={"a.csv": "0" * 64}, y_scale=(1.0, 2.0)
    )
    again = pickle.loads(pickle.dumps(problem))  # between our own processes, never from a file
    assert repr(again) == repr(problem) and again.sources == problem.sources and again.y_scale == problem.y_scale
    np.testing.assert_array_equal(again.pool.x, problem.pool.x)


@pytest.mark.parametrize(
    ("t", "x", "shown"),
    [
        ([0, 1, 0, 1], [[0.0], [2.0], [1.0], [3.0]], "4.00 s.d."),
        ([0, 1, 0, 1], [[1.0], [1.0], [1.0], [1.0]], "0.00 s.d."),
        ([0, 1, 0, 1], [[0.0], [1.0], [0.0], [1.0]], "inf s.d."),
        ([0, 0, 0, 0], [[0.0], [1.0], [0.0], [1.0]], "one arm"),
    ],
)
def test_repr_shows_overlap_at_a_glance(t, x, shown):
    split = Split(np.array(x), np.array(t))
    assert shown in repr(Problem("own", split, split, np.array([0])))
