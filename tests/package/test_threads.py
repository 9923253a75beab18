"""Threads of small products, and the paths of other processors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import threadpoolctl
import torch

from macal.threads import SMALL, one_thread
from reproduction import paths


def threads():
    blas = {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}
    return blas | {torch.get_num_threads()}


@pytest.fixture
def two():
    """Two threads, whatever the tests around take."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpoolctl.threadpool_limits(2, "blas"):
        yield
    torch.set_num_threads(before)


def test_small_work_has_one_thread_and_gives_the_others_back(two):
    before = threads()
    if before != {2}:
        pytest.skip("a library here has no second thread")
    with one_thread():
        assert threads() == {1}
        with one_thread(SMALL):
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert threads() == before
    with one_thread(SMALL + 1):
        assert threads() == before


LOOK = "import torch; print(torch.backends.cpu.get_cpu_capability())"


@pytest.mark.exhaustive
@pytest.mark.skipif("baseline" not in paths.paths(), reason="no older instructions are known for this processor")
def test_the_baseline_is_other_code():
    def capability(path):
        command = [sys.executable, "-c", LOOK]
        return subprocess.run(command, env=os.environ | path, capture_output=True, text=True, check=True).stdout.strip()

    known = paths.paths()
    assert known["native"] == {} and capability(known["baseline"]) == "DEFAULT"


@pytest.mark.exhaustive
def test_a_path_says_what_failed_and_how_far_numbers_moved(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import json, os\n"
        "def test_moved():\n"
        "    with open(os.environ['MACAL_MOVED'], 'a') as file:\n"
        "        file.write(json.dumps({'cell': 'a', 'moved': 0.25, 'rtol': 0.1}))\n"
        "def test_failed():\n"
        "    assert os.environ['OMP_NUM_THREADS'] == '1'\n"
    )
    failed, moved = paths.run({"OMP_NUM_THREADS": "2"}, ["-n", "0", str(tmp_path / "test_it.py")])
    assert len(failed) == 1 and "test_failed" in failed[0]
    assert moved == [{"cell": "a", "moved": 0.25, "rtol": 0.1}]
    assert "0.2" in paths._report({"threads-2": moved, "native": []})


def test_what_is_left_out_is_there():
    files = [next(Path(__file__).parents[1].glob(f"*/test_{name}.py")) for name in paths.ELSEWHERE]
    assert len({*files}) == len(files) and all(file.is_file() for file in files)
