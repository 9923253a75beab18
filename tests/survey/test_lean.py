"""A plain installation: who plans, observes, replans and estimates needs neither PyTorch nor figures nor Parquet."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import exhaustive
from test_planner import make_people

from macal.__main__ import main

PLAIN = """
import sys
from importlib.machinery import PathFinder

ABSENT = {
    "torch", "gpytorch", "linear_operator", "sklearn", "joblib", "matplotlib", "PIL", "pyarrow", "polars", "econml",
    "zarr", "dask", "distributed", "optuna", "ot", "pooch",
}


class Plain(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Plain
"""
SAYS = """
from macal.__main__ import main

status = main(sys.argv[1:])
assert not ABSENT & set(sys.modules), ABSENT & set(sys.modules)
sys.exit(status)
"""
CALL = """
import numpy as np, macal
from macal.acquisition import Belief, PoolState

x, t = np.eye(6), np.array([0, 1] * 3)
try:
    {call}
except ImportError as error:
    sys.exit(str(error))
"""


def plainly(program, *arguments):
    """Run a program where nothing but the declared packages can be imported."""
    return subprocess.run(
        [sys.executable, "-c", PLAIN + program, *arguments], capture_output=True, text=True, check=False
    )


STEPS = [
    "roles people.csv",
    "plan people.csv --treatment free --budget 300 --cost fee --quota region>=5 -o plan.csv --campaign campaign.json",
    "observe campaign.json people.csv answers.csv",
    "replan campaign.json people.csv -o next.csv",
    "estimate campaign.json people.csv -o effects.csv --width 0.5 --individual",
    "correct campaign.json people.csv {first} --outcome 3.5 --by clerk",
    "plan people.csv --treatment free --budget 300 --cost fee --criterion alc-fixed -o greedy.csv",
    "plan people.csv --treatment free --budget 300 --criterion macal --sample 60 --memory 2GB -o sampled.csv",
]
FILES = ["plan.csv", "next.csv", "effects.csv", "greedy.csv", "sampled.csv"]


def steps(run):
    """Take all steps of a campaign in the working folder; return what each printed, and its files."""
    people, said = make_people(), []
    people.to_csv("people.csv", index=False)
    everybody = people[["person"]].assign(visits=np.random.default_rng(0).normal(people.age, 5.0).round(2))
    for step in STEPS:
        if step.startswith("observe"):
            plan = pd.read_csv("plan.csv")
            everybody[everybody.person.isin(plan.person[plan["round"] <= 3])].to_csv("answers.csv", index=False)
        first = pd.read_csv("plan.csv").person[0] if "first" in step else ""
        said.append(run(step.format(first=first).split()))
    return said, [pd.read_csv(name) for name in FILES]


@pytest.mark.exhaustive
def test_a_campaign_needs_no_more_and_is_the_same(tmp_path, monkeypatch, capsys):
    def plain(step):
        done = plainly(SAYS, *step)
        assert done.returncode == 0, (step, done.stderr)
        return done.stdout

    def here(step):
        assert main(step) == 0
        return capsys.readouterr().out

    found = []
    for name, run in (("plain", plain), ("here", here)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        found.append(steps(run))
    (said, ours), (said_here, theirs) = found
    assert said[:3] == said_here[:3]
    for one, other in zip(ours, theirs, strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "packages"),
    [
        exhaustive("macal.models.get('exact-gp')", "torch"),
        exhaustive("macal.run(macal.load('toy'), n_queries=1)", "torch"),
        ("macal.Spec('toy', {'random': {}}, (0,), {'name': 'due'})", "torch gpytorch"),
        ("macal.get('lcmd').select(PoolState(x, t, np.array([0, 1]), belief=Belief(features=x)), 2)", "torch"),
    ],
)
def test_what_needs_pytorch_says_so(call, packages):
    done = plainly(CALL.replace("{call}", call))
    assert f"pip install {packages} (" in done.stderr, done.stderr


def test_an_import_brings_nothing_that_is_not_asked_for():
    heavy = "'torch', 'gpytorch', 'scipy', 'pandas', 'sklearn', 'matplotlib', 'econml'"
    for program, absent in (
        ("import macal", heavy),
        ("import macal; macal.Planner; macal.get('macal'); macal.models.get('joint-gp')", "'torch', 'sklearn'"),
    ):
        check = f"import sys; {program}; assert not {{{absent}}} & set(sys.modules), sys.modules"
        done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.exhaustive
def test_every_name_of_the_package_can_be_asked_for():
    program = "import macal; assert set(macal.__all__) <= set(dir(macal)); [getattr(macal, n) for n in macal.__all__]"
    assert subprocess.run([sys.executable, "-c", program + "; import macal.nothing"], check=False).returncode == 1
    subprocess.run([sys.executable, "-c", program], check=True)
