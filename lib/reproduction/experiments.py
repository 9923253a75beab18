"""The paper's experiments as their pages run them: from the record, or as a sweep of a reader's own beside it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import macal
from macal.campaigns import results, sweeps
from macal.campaigns.spec import Spec, numbers
from macal.comparison import gaps, student
from macal.models import Task, due
from macal.plots import style
from macal.registry import check_known
from macal.storage.workers import processors
from reproduction.benchmarks import BALD, BASELINES, GENERAL, PAPER, Benchmark
from reproduction.book import path
from reproduction.claims.versions import CODE, TEXT, Version
from reproduction.studies import tables

Names = str | list[str]  # types of parameters, named since papermill reads no unions
Numbers = int | str | list[int]
VERSIONS = {"code": CODE, "text": TEXT}
GROUPS = {"causal methods": ("qhte", *BALD, "macal"), "general methods": ("random", *GENERAL, "macal")}  # Figure 3
KEYS = ["method", "replication", "labelled"]
ON_GPU = ("precision", "chunk", "slots")  # settings of a recorded model that suit a GPU alone


@dataclass(frozen=True)
class Experiment:
    """What a page is asked for; see :func:`ask`."""

    benchmark: Benchmark
    version: Version
    methods: tuple[str, ...]
    replications: tuple[int, ...]
    spec: Spec
    store: Path

    def recorded(self) -> pd.DataFrame:
        """Recorded rows of its methods and replications, after the start; MACAL at the paper's weight is "macal"."""
        rows = self._renamed(self.version.load(self.benchmark.name))
        return rows[rows["method"].isin(self.methods) & rows["replication"].isin(self.replications)]

    def cost(self) -> str:
        """Say how many trainings are left, and how long they take by the record and by one epoch timed here."""
        left = sweeps.listing(self.spec, self.store)
        trainings = int(left.loc[~left["finished"], "trainings"].sum())
        epochs = min(self.spec.model["epochs"], self.version.load(self.benchmark.name)["epochs"].mean())
        timed = trainings and trainings * epochs * self._seconds_per_epoch() / 3600
        parts = [f"{timed:.2f} hours at {epochs:.0f} epochs a training, by one epoch timed here"]
        parts += [f"{trainings * each / 3600:.2f} hours as recorded on {name}" for name, each in self.seconds().items()]
        return f"{trainings} trainings on {self.spec.model['device']}: {'; '.join(parts)}"

    def trainings(self) -> int:
        """Trainings of all its campaigns, finished or not."""
        return int(sweeps.listing(self.spec, self.store)["trainings"].sum())

    def seconds(self) -> dict[str, float]:
        """Recorded seconds per training of its data set, by device, over both versions."""
        names = [name for own in VERSIONS.values() for name in tables.get(own.tables[self.benchmark.name]).recorded]
        names += ["cmnist_code-cpu", "cmnist_due-gpu"] if self.benchmark.name == "cmnist" else []
        spent = pd.concat([results.cost(results.load(name)) for name in names]).groupby("device").sum()
        return (3600 * spent["hours"] / spent["trainings"]).to_dict()

    def run(self) -> pd.DataFrame:
        """Run or resume the sweep in its store and return its rows, as :meth:`recorded` does."""
        workers = processors() if self.spec.model["device"] == "cpu" else 1
        return self._renamed(sweeps.sweep(self.spec, self.store, workers=workers))

    def differences(self, recorded: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
        """Paired differences of errors in per cent, means over replications of mean log ratios over sizes.

        Args:
            recorded: of :meth:`recorded`.
            new: of :meth:`run`.

        Returns:
            A row per comparison: ``replications``, ``change``, and Student's 95% interval ``low``, ``high``, which one
            replication has not.
        """
        found = {}
        if {"macal", "random"} <= {*new["method"]}:
            found["MACAL over Random"] = gaps(new[new["method"].isin(["macal", "random"])])["random"]
        both = new.merge(recorded, on=KEYS, suffixes=("", "_recorded"))
        logs = np.log(both["pehe"] / both["pehe_recorded"])
        found["this run over the record"] = logs.groupby(both["replication"]).mean()
        rows = {}
        for name, values in found.items():
            ends = student(values) if len(values) > 1 else {"low": np.nan, "high": np.nan}
            logs = pd.Series({"change": values.mean(), "low": ends["low"], "high": ends["high"]})
            rows[name] = {"replications": len(values)} | (100 * np.expm1(logs)).to_dict()
        return pd.DataFrame(rows, ["replications", "change", "low", "high"]).T

    def draw(self, axes: np.ndarray, recorded: pd.DataFrame, new: pd.DataFrame | None, size: float) -> None:
        """Draw the two columns of Figure 3: recorded means as thick lines, new ones as circles."""
        grouped = {name for group in GROUPS.values() for name in group}
        for ax, (title, group) in zip(axes, GROUPS.items(), strict=True):
            for method in self.methods:
                if method in group or method not in grouped:
                    self._curve(ax, recorded[recorded["method"] == method], method, False)
                    if new is not None:
                        self._curve(ax, new[new["method"] == method], method, True)
            ax.set_title(title, fontsize=size, loc="left")
            ax.set_xlabel("labels", fontsize=size)
            ax.tick_params(labelsize=size)
            if ax.lines:
                ax.legend(fontsize=size - 2, handlelength=3)
        axes[0].set_ylabel("error of the effect (PEHE)", fontsize=size)

    def _curve(self, ax: Axes, rows: pd.DataFrame, method: str, is_new: bool) -> None:
        if rows.empty:
            return
        wide = rows.pivot_table("pehe", "labelled", "replication")
        colour, line, label = style(method)
        look = {"marker": "o", "markersize": 4, "linewidth": 0.8} if is_new else {"linewidth": 1.8}
        said = f"{label}, new" if is_new else f"{label} ({wide.shape[1]})"
        ax.plot(wide.dropna().mean(axis="columns"), line, color=colour, label=said, **look)

    def _renamed(self, rows: pd.DataFrame | None) -> pd.DataFrame:
        assert rows is not None, "each of the paper's data sets is recorded in both versions"
        rows = rows.assign(method=[_reader(self.version, name) for name in rows["method"]])
        return rows[rows["labelled"] > self.benchmark.start]

    def _seconds_per_epoch(self) -> float:
        problem = macal.load(self.benchmark.name, self.replications[0], protocol=self.spec.protocol)
        model = replace(self.spec.build_model(), epochs=1)
        start = time.perf_counter()
        model.fit([Task(problem.pool[problem.start], problem.valid, 0)])
        return time.perf_counter() - start


def ask(dataset: str, parameters: Mapping[str, Any]) -> Experiment:
    """Read what a page of an experiment is asked for.

    Args:
        dataset: "ihdp", "ibm" or "cmnist".
        parameters: by name: ``mode``, "recorded" or "run"; ``version``, "code" or "text"; ``methods``, a list or names
            with commas, "all" for the paper's nine; ``replications``, a number, a list or "0-9, 12", "all" for those
            that are recorded; ``every``, queries between trainings of methods that need no model, 0 for the record's
            sizes; ``n_queries``, 0 for a whole campaign; ``epochs`` at most; ``device``; ``store``, a folder from the
            project's own, "" for one in ``runs``. A page's ``globals()`` will do.

    Raises:
        UnknownName: a method that does not exist.
        ValueError: a value out of range; the message names it.
    """
    get = parameters.__getitem__
    version, benchmark = VERSIONS[get("version")], PAPER[dataset]
    table = tables.get(version.tables[dataset])
    recorded = version.load(dataset)
    known = {"macal": {}} | dict.fromkeys(BASELINES, {})
    known |= {_reader(version, name): own for spec in table.specs().values() for name, own in spec.methods.items()}
    weighted = {_reader(version, name): a for name, a in version.weights.items()}  # where not all are recorded
    known = {name: {"criterion": "macal", **known["macal"], "alpha": a} for name, a in weighted.items()} | known
    methods = _names(get("methods"))
    check_known("method", known, *methods)
    replications = get("replications")
    if replications == "all":
        replications = sorted(int(k) for k in recorded["replication"].unique())
    elif isinstance(replications, str):
        replications = numbers(replications, "replications")
    elif isinstance(replications, int):
        replications = [replications]
    queries = get("n_queries") or benchmark.queries
    if queries > benchmark.queries:
        raise ValueError(f"n_queries={queries}: a campaign has at most {benchmark.queries} queries")
    free = recorded.loc[recorded["method"] == "random", "step"]  # methods that need a model train at each
    steps = None if get("every") else sorted({int(k) for k in free if 0 < k <= queries} | {queries})
    first = next(iter(table.specs().values()))
    device = get("device")
    model = {k: v for k, v in first.model.items() if device == "cuda" or k not in ON_GPU}
    if device == "cpu" and "encoder" in model:
        model["chunk"] = due.CNN["chunk"]
    spec = replace(
        first,
        methods={_own(version, name): known[name] for name in methods},
        replications=replications,
        model=model | {"device": device, "epochs": get("epochs")},
        n_queries=None if queries == benchmark.queries else queries,
        every=get("every") or 1,
        steps=steps,
    )
    store = path(get("store") or f"runs/{dataset}_{get('version')}-page")
    return Experiment(benchmark, version, methods, tuple(spec.replications), spec, store)


def _names(given: Any) -> tuple[str, ...]:
    if given == "all":
        return (*BASELINES, "macal")
    return tuple(dict.fromkeys(given.replace(",", " ").split() if isinstance(given, str) else given))


def _reader(version: Version, name: str) -> str:
    """A recorded method's name on a page: "macal" is MACAL at the paper's weight and the version's distance."""
    if name == "macal" != version.macal:
        return "macal-euclidean"
    return name.replace(version.macal, "macal", 1) if name.startswith(version.macal) else name


def _own(version: Version, name: str) -> str:
    if name == "macal-euclidean":
        return "macal"
    return name.replace("macal", version.macal, 1) if name.startswith("macal") else name
