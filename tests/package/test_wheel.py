"""What is declared is what is needed: the wheel, installed with its declared packages alone, plans and sweeps."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from installed import installed_with, name_of

from reproduction.book import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = set(map(name_of, sum(PROJECT["optional-dependencies"].values(), PROJECT["dependencies"])))
PLAN = """
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd

absent = ("pytest", "torch", "gpytorch", "sklearn", "matplotlib", "pyarrow", "econml", "reproduction")
assert not [name for name in absent if importlib.util.find_spec(name)]

import macal

assert Path(macal.__file__).is_relative_to(sys.prefix), macal.__file__
n = 60
people = pd.DataFrame(
    {"age": np.arange(n) % 31, "region": np.resize(["north", "south"], n), "free": np.resize([0, 0, 1], n)},
    index=[f"person {k}" for k in range(n)],
)
problem = macal.datasets.from_table(people, ["age", "region"], treatment="free", start=4)
campaign = macal.schedule(problem, "macal", n_queries=2, batch_size=4)
assert len(campaign) == 12 and campaign.index.isin(people.index).all(), campaign
batches = macal.plan(problem.pool.x, problem.pool.t, problem.start, 2, 4, "macal")
assert [len(batch) for batch in batches] == [4, 4], batches
"""
SWEEP = """
import macal
from macal.__main__ import main

assert len(macal.load("toy").pool) > 100
model = {"name": "joint-gp", "most": 20}
table = macal.sweep(macal.Spec("toy", {"random": {}, "macal": {}}, (0,), model, n_queries=2), "store")
assert len(table) == 6 and table.pehe.notna().all(), table
macal.results.load("toy")
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Python of a new environment with the wheel and links to what it declares, and no more."""
    folder = tmp_path_factory.mktemp("wheel")
    source, new = folder / "source", folder / "new"
    kept_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "lib", source / "lib", ignore=kept_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(source)]
    subprocess.run(build, check=True)

    venv.create(new, symlinks=True)
    python, (wheel,) = new / "bin" / "python", folder.glob("*.whl")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(new)}))
    for name in installed_with(PROJECT["dependencies"]):
        owner = metadata.distribution(name)
        for entry in {file.parts[0] for file in owner.files} - {"..", "__pycache__"}:
            if not (packages / entry).exists():
                (packages / entry).symlink_to(owner.locate_file(entry))
    subprocess.run([*pip, "--python", str(python), "install", "--no-index", str(wheel)], check=True)
    return python


def run(python, program, folder):
    bare = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MACAL_DATA")}
    return subprocess.run([python, "-c", program], cwd=folder, env=bare, capture_output=True, text=True, check=False)


@pytest.mark.exhaustive
def test_a_plain_installation_plans_a_campaign(plain, tmp_path):
    done = run(plain, PLAN, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.exhaustive
def test_a_plain_installation_sweeps_and_says_where_recorded_tables_are(plain, tmp_path):
    done = run(plain, SWEEP, tmp_path)
    told = "FileNotFoundError: recorded tables come with the book's repository, not with the package"
    assert done.stderr.splitlines()[-1].startswith(told), done.stderr


def test_what_is_declared_is_pinned():
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(map(name_of, pinned)) >= DECLARED


def pins(name):
    lines = re.findall(r"^([\w.-]+)==([^\s]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return {name_of(package): version for package, version in lines}


def test_the_environment_is_the_locked_one():
    locked = pins("requirements.lock")
    assert pins("requirements.txt").items() <= locked.items()
    here = {name_of(found.metadata["Name"]): found.version.split("+")[0] for found in metadata.distributions()}
    assert {name: (version, here[name]) for name, version in locked.items() if here.get(name, version) != version} == {}
    assert len(here.keys() & locked.keys()) > 0.9 * len(locked)


def test_the_lock_with_hashes_has_the_locked_packages_but_torch_whose_builds_differ():
    assert pins("requirements-hashed.lock") == {n: v for n, v in pins("requirements.lock").items() if n != "torch"}
    text = (ROOT / "requirements-hashed.lock").read_text(encoding="utf-8")
    for entry in re.split(r"\n(?=\S)", re.sub(r"(?m)^#.*\n", "", text)):
        assert re.fullmatch(r"\S+==[^\\]+( \\\n    --hash=sha256:[0-9a-f]{64})+\s*", entry), entry


def imported(path):
    """Top-level names of all modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def test_what_is_imported_is_declared():
    owners = metadata.packages_distributions()
    for path in (ROOT / "lib" / "macal").rglob("*.py"):
        for module in set(imported(path)) - sys.stdlib_module_names - {"macal"}:
            assert DECLARED & set(map(name_of, owners[module])), f"{path.name} imports {module}"
