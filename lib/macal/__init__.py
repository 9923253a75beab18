"""Labels for causal effects, chosen well: MACAL and its rivals, with data, models and measures to judge them.

A :class:`~macal.problem.Problem` (:func:`load`, :func:`macal.datasets.from_table`) is a pool of units whose outcomes
cost money. A criterion (:func:`get`) chooses which to label. :func:`schedule` plans a whole campaign in advance, in the
caller's names for the units, and :func:`plan` does so for arrays; a :class:`~macal.planner.Planner` does so under costs
and quotas, takes the answers, and estimates from them, by :mod:`macal.inference`. :func:`run` plays a campaign through,
:func:`evaluate` judges given labelled sets, :func:`sweep` runs a grid of campaigns that survives interruption, and
:mod:`macal.metrics` holds the measures.

>>> import tempfile
>>> problem = load("toy", seed=0)
>>> "macal" in names(), get("macal", alpha=1.0).alpha
(True, 1.0)

A plan needs no outcome:

>>> batches = plan(problem.pool.x, problem.pool.t, problem.start, n_queries=2, batch_size=10)
>>> [len(batch) for batch in batches]
[10, 10]
>>> len(schedule(problem, "macal", n_queries=2, batch_size=10)) - len(problem.start)
20

A planner works in money, and takes a table as it is:

>>> import pandas as pd
>>> people = pd.DataFrame({"age": [30, 31, 50, 52], "free": [0, 1, 0, 1], "fee": [9, 9, 5, 5]})
>>> Planner("free", budget=12, cost="fee").plan(people).cost.tolist()
[5.0, 5.0]

A campaign reveals outcomes, fits a model after each query and judges it; ``run_all`` plays several side by side:

>>> model = models.get("exact-gp", optimiser="lbfgs", steps=5)
>>> history = run(problem, "macal", model, n_queries=2)
>>> history.step.tolist(), bool(history.pehe.notna().all())
([0, 1, 2], True)
>>> len(run_all([problem], {"macal": "macal", "random": "random"}, model, n_queries=1))
4
>>> evaluate(problem, [problem.start], model).treated.tolist() == [problem.pool.t[problem.start].sum()]
True

A sweep leaves a record of each campaign, and finds it there when it is run again:

>>> spec = Spec("toy", {"random": {}}, (0,), {"name": "exact-gp", "optimiser": "lbfgs", "steps": 5}, n_queries=1)
>>> with tempfile.TemporaryDirectory() as store:
...     first, again = sweep(spec, store), sweep(spec, store)
>>> first.pehe.equals(again.pehe)
True
"""

from macal.storage import interrupt as interrupt  # isort: skip; first, as what follows takes seconds
from macal import acquisition, campaigns, comparison, datasets, inference, metrics, models, planner
from macal.acquisition import get, names, plan
from macal.campaigns import Spec, evaluate, loop, results, run, run_all, schedule, sweep, sweeps
from macal.datasets import files, load
from macal.planner import Planner

__all__ = [
    "Planner",
    "Spec",
    "acquisition",
    "campaigns",
    "comparison",
    "datasets",
    "evaluate",
    "files",
    "get",
    "inference",
    "load",
    "loop",
    "metrics",
    "models",
    "names",
    "plan",
    "planner",
    "results",
    "run",
    "run_all",
    "schedule",
    "sweep",
    "sweeps",
]
__version__ = "0.1.0"
