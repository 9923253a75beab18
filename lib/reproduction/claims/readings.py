"""The readings of the paper that its claims about errors are judged in, and the recorded tables of each.

A reading names a model and a distance; its tables, and what is planned of each, are those of the catalogue
(:mod:`reproduction.studies.tables`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from macal.datasets import cmnist, ibm, ihdp
from reproduction.claims.rules import Rules
from reproduction.studies import tables

BALD = ("mu-bald", "rho-bald", "mu-rho-bald")
GENERAL = ("badge", "bait", "lcmd")
BASELINES = ("random", "qhte", *BALD, *GENERAL)  # the paper's
PANELS = {"made for effects": ("random", "qhte", *BALD), "general": ("random", *GENERAL)}  # Figure 3's
TURNING_POINT = 160  # labels, Section 5.1: where IHDP's treated units are said to be exhausted
POOL = 470  # labels, where IHDP's pool is exhausted
START = {"ihdp": ihdp.START, "ibm": ibm.START, "cmnist": cmnist.START}  # labels that all methods share
HALVES = (TURNING_POINT, POOL)
STRETCHES = {"ihdp": (60, *HALVES), "ibm": (500, 1300, 2550), "cmnist": (700, 1350, 2550)}  # where each ends, labels


@dataclass(frozen=True)
class Reading:
    """One way to read the paper.

    Attributes:
        name: in words.
        tables: data set -> recorded table.
        macal: the name that MACAL at the paper's weight has there.
        others: the baselines that its model can be compared with.
    """

    name: str
    tables: Mapping[str, str] = field(hash=False)
    macal: str = "macal"
    others: tuple[str, ...] = BASELINES

    @property
    def weights(self) -> dict[str, float]:
        """Method -> weight of similarity, the five of Figure 5."""
        return {self.macal if a == 2.5 else f"{self.macal}-{a:g}": a for a in (0.0, 1.0, 2.5, 5.0, 10.0)}

    def load(self, dataset: str) -> pd.DataFrame | None:
        """All that is recorded and planned of a data set, or None; see :func:`load`."""
        return load(self.tables[dataset]) if dataset in self.tables else None

    def share(self, dataset: str, rules: Rules, needs: Sequence[str] = ()) -> "Spending":
        """What a look at the table of a data set may spend; see :class:`Spending`."""
        return Spending(self.tables[dataset], rules, tuple(needs))


def _tables(line: str) -> dict[str, str]:
    """Tables of a line of evidence, on the paper's data sets."""
    return {dataset: name for dataset, name in tables.by_dataset(line).items() if dataset in STRETCHES}


WRITTEN = Reading("as written", _tables(tables.AS_WRITTEN))
CODE = Reading("as the code runs", _tables(tables.AS_CODE), "macal-squared")
# BADGE, BAIT and LCMD need a network's gradients
EXACT = Reading(tables.EXACT, _tables(tables.EXACT), others=("random", "qhte", *BALD))
LEARNERS = tuple(Reading(line, _tables(line), others=("random", "qhte")) for line in tables.LEARNERS)
# the same estimators on 100 replications of IHDP, at the sizes up to the turning point that those have: W1's tables
LEARNERS_EARLY = tuple(
    replace(learner, tables={"ihdp": learner.tables["ihdp"].replace("ihdp_", "ihdp-early_")}) for learner in LEARNERS
)


@dataclass(frozen=True)
class Spending:
    """What share of the level a look at a recorded table may spend.

    A look spends what has become available since the look before. A comparison goes by the plan of the method that it
    is named after; one that needs several methods by the plan that lets it spend least.

    Attributes:
        table: whose plans they are.
        rules: level.
        needs: methods that every comparison needs; by default the one that it is named after.
    """

    table: str
    rules: Rules
    needs: tuple[str, ...] = ()

    def __call__(self, method: str, replications: int) -> float:
        """Share for a comparison, by its name, on so many replications."""
        return min(self._of(one, replications) for one in self.needs or (method,))

    def kinds(self, method: str) -> list[str]:
        """Keys of the plans that a comparison goes by; none where the table is complete as it stands."""
        planned = tables.get(self.table).planned
        return [
            key for key in dict.fromkeys(key_of(self.table, one) for one in self.needs or (method,)) if key in planned
        ]

    def _of(self, method: str, replications: int) -> float:
        plan = plan_of(self.table, method)
        if plan is None:  # complete as it stands
            return 1.0
        before = max((n for n in plan.looks if n < replications), default=0)
        now, then = (self.rules.spent(min(n / plan.replications, 1.0)) for n in (replications, before))
        return (now - then) / self.rules.level


def kind(method: str) -> str:
    """Kind of a method in a plan: "bald", "general", "weight" (MACAL at another than 2.5), or "free" of a model."""
    if method in GENERAL:
        return "general"
    return "bald" if method in BALD else "weight" if method.startswith("macal") and method[-1].isdigit() else "free"


def key_of(table: str, method: str) -> str:
    """Key of the plan of a method in a table: its own name where it has a plan of its own, else its kind."""
    return method if method in tables.get(table).planned else kind(method)


def plan_of(table: str, method: str) -> tables.Plan | None:
    """What is planned of a method in a table; None where the table is complete as it stands."""
    return tables.get(table).planned.get(key_of(table, method))


def load(name: str, keys: Sequence[str] = ("method", "replication", "labelled")) -> pd.DataFrame | None:
    """A recorded table with those of its sweeps that are not merged yet, up to the planned replications, or None.

    Raises:
        UnknownName: no such table is declared.
    """
    found = [tables.load(part) for part in tables.get(name).recorded]
    if not found:
        return None
    table = pd.concat(found, ignore_index=True).drop_duplicates(list(keys))
    plans = {method: plan_of(name, method) for method in table["method"].unique()}
    planned = table["method"].map({m: plan.replications if plan else np.inf for m, plan in plans.items()})
    return table[table["replication"] < table["replication"].min() + planned]


def inner(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Leave out the start, and IHDP's end, where all methods have labelled the same units."""
    end = POOL if dataset == "ihdp" else np.inf
    return table[~table["labelled"].isin([START[dataset], end])]


def deciding(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The stretch that decides: up to the turning point on IHDP, else the whole campaign; without its start."""
    table = inner(table, dataset)
    return table[table["labelled"] <= TURNING_POINT] if dataset == "ihdp" else table


def by_stretch(table: pd.DataFrame, ends: Sequence[int]) -> dict[int, pd.DataFrame]:
    """Cut campaigns at these numbers of labels; each stretch by its last one, those without rows left out."""
    stretch = pd.cut(table["labelled"], [0, *ends], labels=list(ends))
    return dict(list(table.groupby(stretch, observed=True)))


def absent(have: Iterable[str], of: Iterable[str]) -> str:
    """Name what is lacking, for a sentence: ", without qhte, lcmd"; empty where nothing is."""
    lacking = [name for name in of if name not in set(have)]
    return f", without {', '.join(lacking)}" if lacking else ""
