"""Labels for causal effects, chosen well: MACAL and its rivals, with data, models and measures to judge them.

A :class:`~macal.problem.Problem` (:func:`load`, :func:`macal.datasets.from_table`) is a pool of units whose outcomes
cost money. A criterion (:func:`get`) chooses which to label. :func:`schedule` plans a whole campaign in advance, in the
caller's names for the units, and :func:`plan` does so for arrays. :func:`run` plays a campaign through,
:func:`evaluate` judges given labelled sets, :func:`sweep` runs a grid of campaigns that survives interruption, and
:mod:`macal.metrics` holds the measures.
"""

from macal import acquisition, campaigns, comparison, datasets, metrics, models
from macal.acquisition import get, names, plan
from macal.campaigns import Spec, evaluate, loop, results, run, run_all, schedule, sweep, sweeps
from macal.datasets import files, load

__all__ = [
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
    "sweep",
    "sweeps",
]
__version__ = "0.1.0"
