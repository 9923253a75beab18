"""Labels for causal effects, chosen well: MACAL and its rivals, with data, models and measures to judge them.

A :class:`~macal.problem.Problem` (:func:`load`, :func:`macal.datasets.from_table`) is a pool of units whose outcomes
cost money. A criterion (:func:`get`) chooses which to label. :func:`schedule` plans a whole campaign in advance, in the
caller's names for the units, and :func:`plan` does so for arrays; a :class:`~macal.survey.Planner` draws people with
known chances, or follows a criterion, under costs and quotas, takes the answers, and estimates from them, by
:mod:`macal.survey.inference`. :func:`run` plays a campaign through, :func:`evaluate` judges given labelled sets,
:func:`sweep` runs a grid of campaigns that survives interruption, and :mod:`macal.metrics` holds the measures.

>>> import tempfile
>>> import macal
>>> problem = macal.load("toy", seed=0)
>>> "macal" in macal.names(), macal.get("macal", alpha=1.0).alpha
(True, 1.0)

A plan needs no outcome:

>>> batches = macal.plan(problem.pool.x, problem.pool.t, problem.start, n_queries=2, batch_size=10)
>>> [len(batch) for batch in batches]
[10, 10]
>>> len(macal.schedule(problem, "macal", n_queries=2, batch_size=10)) - len(problem.start)
20

A planner works in money, and takes a table as it is; a draw is for the average effect, a criterion for individual ones:

>>> import pandas as pd
>>> people = pd.DataFrame({"age": range(30, 42), "free": [0, 1] * 6, "fee": [9] * 4 + [5] * 8})
>>> macal.Planner("free", budget=30, cost="fee").plan(people).columns.tolist()
['round', 'free', 'cost', 'weight']
>>> macal.Planner("free", budget=12, cost="fee", criterion="alc-fixed").plan(people).cost.tolist()
[5.0, 5.0]

A campaign reveals outcomes, fits a model after each query and judges it; ``run_all`` plays several side by side:

>>> model = macal.models.get("exact-gp", optimiser="lbfgs", steps=5)
>>> history = macal.run(problem, "macal", model, n_queries=2)
>>> history.step.tolist(), bool(history.pehe.notna().all())
([0, 1, 2], True)
>>> len(macal.run_all([problem], {"macal": "macal", "random": "random"}, model, n_queries=1))
4
>>> macal.evaluate(problem, [problem.start], model).treated.tolist() == [problem.pool.t[problem.start].sum()]
True

A sweep leaves a record of each campaign, and finds it there when it is run again:

>>> spec = macal.Spec("toy", {"random": {}}, (0,), {"name": "exact-gp", "optimiser": "lbfgs", "steps": 5}, n_queries=1)
>>> with tempfile.TemporaryDirectory() as store:
...     first, again = macal.sweep(spec, store), macal.sweep(spec, store)
>>> first.pehe.equals(again.pehe)
True
"""

from typing import TYPE_CHECKING

from macal import optional

if TYPE_CHECKING:
    from macal import acquisition, campaigns, comparison, datasets, metrics, models, survey
    from macal.acquisition import get, names, plan
    from macal.campaigns import Spec, evaluate, loop, results, run, run_all, schedule, sweep, sweeps
    from macal.datasets import files, load
    from macal.survey import Planner

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
    "load",
    "loop",
    "metrics",
    "models",
    "names",
    "plan",
    "results",
    "run",
    "run_all",
    "schedule",
    "survey",
    "sweep",
    "sweeps",
]
__version__ = "0.1.0.dev0"

_HOMES = {
    "acquisition": ("get", "names", "plan"),
    "campaigns": ("Spec", "evaluate", "loop", "results", "run", "run_all", "schedule", "sweep", "sweeps"),
    "datasets": ("files", "load"),
    "survey": ("Planner",),
}
__getattr__ = optional.attributes(
    __name__, {name: f"{__name__}.{home}" for home, some in _HOMES.items() for name in some}
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
