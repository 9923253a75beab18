"""How far a reader travels to follow a command: functions of this project that it enters, files, changes of file.

Each call of a function of ``lib`` counts, but for those of comprehensions; a change of file is a call of a function
that stands in another file than the last one called.
"""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import macal
from macal.__main__ import main

LIB = str(Path(macal.__file__).resolve().parents[1])


def trip(words):
    """Functions, files, and changes of file of a command."""
    functions, last, changes = set(), [None], [0]

    def enter(frame, event, argument):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(LIB) or code.co_name.startswith("<"):
            return
        functions.add((code.co_filename, code.co_firstlineno))
        changes[0] += code.co_filename != last[0]
        last[0] = code.co_filename

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(["roles", "people.csv"])  # what is imported once is no trip
        sys.setprofile(enter)
        try:
            status = main(words)
        finally:
            sys.setprofile(None)
    assert status == 0, words
    return len(functions), len({file for file, _ in functions}), changes[0]


with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    os.environ["MPLCONFIGDIR"] = folder
    rng, n = np.random.default_rng(0), 200
    people = pd.DataFrame({"person": [f"p{k:03d}" for k in range(n)], "free": np.arange(n) % 2})
    people[["age", "income"]], people["region"] = rng.normal(size=(n, 2)), rng.choice(["north", "south"], n)
    people.to_csv("people.csv", index=False)
    plan = "plan people.csv --treatment free --budget 60 --campaign c.json -o plan.csv".split()
    print(
        f"{'command':20s} functions files changes",
        *[f"{'plan':20s}{{:10,}}{{:6,}}{{:8,}}".format(*trip(plan))],
        sep="\n",
    )
    pd.read_csv("plan.csv")[["person"]].assign(y=rng.normal(size=60)).to_csv("answers.csv", index=False)
    for name, words in {
        "observe": "observe c.json people.csv answers.csv",
        "estimate": "estimate c.json people.csv",
        "estimate --report": "estimate c.json people.csv --report e.html",
    }.items():
        print(f"{name:20s}{{:10,}}{{:6,}}{{:8,}}".format(*trip(words.split())))
