"""What the page *The results, to explore* shows: every recorded campaign's errors, as one small JSON.

Made from the recorded tables whenever the site is rendered, so that it cannot lag behind them.
"""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from macal.acquisition import DEFAULT
from macal.comparison import beside, log_ratio
from macal.datasets import DATASETS
from macal.plots import style
from reproduction.claims import bench, versions
from reproduction.methods import Method, label
from reproduction.studies import tables as catalogue

DEEP = (catalogue.TEXT, catalogue.CODE)
ESTIMATORS = (*DEEP, catalogue.EXACT, *catalogue.LEARNERS, catalogue.DR, catalogue.FOREST)  # lines of evidence


def tables() -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield data set, estimator, name and rows of every recorded comparison of criteria."""
    for dataset in DATASETS:
        for estimator in ESTIMATORS:
            name = catalogue.by_dataset(estimator).get(dataset)
            table = None if name is None else versions.load(name)
            if table is not None:
                yield dataset, estimator, name, table
    yield "toy", "exact GP per arm, Figure 1", "toy", catalogue.load("toy")
    for dataset, model in bench.load().index.droplevel("replication").unique():
        table = catalogue.load(bench.TABLES[dataset])
        yield dataset, f"{model}, the bench", bench.TABLES[dataset], table[table["model"] == model]


def errors(table: pd.DataFrame) -> pd.DataFrame:
    """Errors on the replications that Random has too, by method and number of labels.

    Returns:
        ``n`` replications, mean ``pehe`` and mean ``log_ratio`` to Random's, each with half of Student's 95% interval
        (``pehe_half``, ``log_ratio_half``); halves are NaN where n is 1, ratios are NaN for Random.
    """
    rows = beside(table, "random")
    keys = ["method", "replication", "labelled"]
    rows = rows.merge(log_ratio(rows)[[*keys, "log_ratio"]], how="left", on=keys, validate="one_to_one")
    groups = rows.groupby(["method", "labelled"])
    found = groups[["pehe", "log_ratio"]].mean().assign(n=groups.size())
    margin = stdtrit((found["n"] - 1).clip(lower=1), 0.975) / found["n"] ** 0.5
    halves = groups[["pehe", "log_ratio"]].std().mul(margin, axis=0).add_suffix("_half")
    return found.join(halves)[["n", "pehe", "pehe_half", "log_ratio", "log_ratio_half"]]


def panel(dataset: str, estimator: str, name: str, table: pd.DataFrame) -> dict[str, object]:
    """A comparison of criteria as the page reads it: per method, lists of labels and of the columns of ``errors``."""
    methods = {
        str(method): [[None if np.isnan(v) else float(f"{v:.4g}") for v in column] for _, column in rows.items()]
        for method, rows in errors(table).reset_index("labelled").groupby(level="method")
    }
    return {"dataset": DATASETS[dataset].label, "estimator": estimator, "table": name, "methods": methods}


def page() -> str:
    """The JSON: the planner's default, the style of every method, and all panels."""
    panels = [panel(*found) for found in tables()]
    styles = {name: _look(name) for name in sorted({m for p in panels for m in p["methods"]})}
    shown = {"default": DEFAULT, "styles": styles, "panels": panels}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _look(method: str) -> tuple[str, str, str]:
    """Colour, line and label; a weight of the squared distance looks as that of the distance."""
    weight = Method.parse(method).alpha
    colour, line, _ = style(method if weight is None else f"macal-{weight:g}")
    return colour or "#767676", line, label(method)
