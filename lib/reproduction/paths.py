"""Run the tests that compute as other processors would: ``python -m reproduction.paths [PATH ...] [-- OPTION ...]``.

NumPy, OpenBLAS, PyTorch, oneDNN and MKL choose their code by the processor they find, and let the environment ask for
older code. A path is one such choice, or a number of threads. What a processor of another vendor takes cannot be tried:
MKL asks for the vendor, and code for Arm runs on x86-64 in an emulator alone.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.book import ROOT

NATIVE = "native"
THREADS = (2, 4)  # every other path has one
# tests of text, files, processes and browsers, which no instruction set decides
ELSEWHERE = (
    "atomic book bundle citation contents experiments files launch lean optional origin page_tables paper_index pdf"
    " play progress recording registry rooms site sweeps twins walk wheel without_data"
).split()
FEATURES = np._core._multiarray_umath.__cpu_features__  # of this processor, by NumPy's names


def _instructions(openblas: str, torch: str, mkl: str, onednn: str, without: Sequence[str]) -> dict[str, str]:
    disabled = " ".join(name for name in without if FEATURES.get(name))
    choices = {
        "OPENBLAS_CORETYPE": openblas,
        "ATEN_CPU_CAPABILITY": torch,
        "MKL_ENABLE_INSTRUCTIONS": mkl,
        "ONEDNN_MAX_CPU_ISA": onednn,
        "NPY_DISABLE_CPU_FEATURES": disabled,
    }
    return {name: value for name, value in choices.items() if value}


def paths() -> dict[str, dict[str, str]]:
    """What can be tried on this machine: the environment of each path, by its name."""
    wide = ("X86_V4", "AVX512_ICL", "AVX512_SPR")
    found = {NATIVE: {}}
    if FEATURES.get("X86_V2"):
        found["baseline"] = _instructions("Nehalem", "default", "SSE4_2", "SSE41", ("X86_V3", *wide))
    if FEATURES.get("X86_V3"):
        found["avx2"] = _instructions("Haswell", "avx2", "AVX2", "AVX2", wide)
        found["zen"] = found["avx2"] | {"OPENBLAS_CORETYPE": "Zen"}
    if FEATURES.get("X86_V4"):
        found["avx512"] = _instructions("SkylakeX", "avx512", "AVX512", "AVX512_CORE", ("AVX512_ICL", "AVX512_SPR"))
    if FEATURES.get("ASIMD"):
        found["baseline"] = _instructions("ARMV8", "default", "", "", ("ASIMDHP", "ASIMDDP", "SVE"))
    return found | {f"threads-{n}": {"OMP_NUM_THREADS": str(n)} for n in THREADS}


def run(path: Mapping[str, str], options: Sequence[str]) -> tuple[list[str], list[dict[str, float | str]]]:
    """Run the tests on one path, without those of :data:`ELSEWHERE`.

    Args:
        path: its environment.
        options: of pytest.

    Returns:
        What failed, and how far cells of pages that did not put out the very digits that are stored were from them.
    """
    with tempfile.TemporaryDirectory() as folder:
        moved = Path(folder) / "moved"
        moved.touch()
        command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-rfE", "-p", "no:cacheprovider", *options]
        command += [f"--ignore-glob=tests/*/test_{name}.py" for name in ELSEWHERE]
        env = os.environ | {"OMP_NUM_THREADS": "1", "MACAL_MOVED": str(moved), "JAXTYPING_DISABLE": "1"} | path
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
        lines = done.stdout.splitlines()
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        if done.returncode and not failed:
            failed = [f"pytest ended with {done.returncode}", *lines[-1:]]
        return failed, [json.loads(line) for line in moved.read_text(encoding="utf-8").splitlines()]


def _report(moved: Mapping[str, Iterable[Mapping[str, float | str]]]) -> str:
    """Say which cells moved on which path, by how much of their largest number, beside their tolerance."""
    rows = [{"path": name, **one} for name, found in moved.items() for one in found]
    if not rows:
        return "no number of any page moved"
    table = pd.DataFrame(rows).pivot_table("moved", ["cell", "rtol"], "path", "max")
    return table.map(lambda value: "" if math.isnan(value) else f"{value:.1g}").to_string()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests on the paths named, or all; pytest's options follow ``--``. Return 1 where a test failed."""
    known, given = paths(), list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(prog="python -m reproduction.paths", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PATH", help=f"of {', '.join(known)} (default: all)")
    options = parser.parse_args(given[:end])
    if unknown := set(options.names) - set(known):
        parser.error(f"no path {', '.join(sorted(unknown))} on this machine; there are {', '.join(known)}")
    moved, failures = {}, 0
    for name in options.names or known:
        failed, moved[name] = run(known[name], given[end + 1 :])
        failures += len(failed)
        print(f"{name} ({' '.join(f'{k}={v}' for k, v in known[name].items())}): {len(failed)} failed", flush=True)
        print("".join(f"  {line}\n" for line in failed), end="", flush=True)
    print(_report(moved))
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
