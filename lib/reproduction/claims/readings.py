"""The readings of the paper that its claims about errors are judged in, and the recorded tables of each.

A reading names a model and a distance. What is planned of a table, and at which numbers of replications it has been
looked at, stands here as on the page *The plan of evidence*; whoever publishes a table before it is complete adds a
look.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from macal.campaigns import results
from reproduction.claims.rules import Rules
from reproduction.studies import tables

BALD = ("mu-bald", "rho-bald", "mu-rho-bald")
GENERAL = ("badge", "bait", "lcmd")
BASELINES = ("random", "qhte", *BALD, *GENERAL)  # the paper's
PANELS = {"made for effects": ("random", "qhte", *BALD), "general": ("random", *GENERAL)}  # Figure 3's
TURNING_POINT = 160  # labels, Section 5.1: where IHDP's treated units are said to be exhausted
POOL = 470  # labels, where IHDP's pool is exhausted
HALVES = (TURNING_POINT, POOL)
STRETCHES = {"ihdp": (60, *HALVES), "ibm": (500, 1300, 2550), "cmnist": (700, 1350, 2550)}  # where each ends, labels


@dataclass(frozen=True)
class Plan:
    """Replications planned of some methods, and those at which they were looked at before."""

    replications: int
    looks: tuple[int, ...] = ()


PLANS = {  # table -> kind of method, see `kind`
    "ihdp_due": {
        "free": Plan(20, (7, 12)),
        "bald": Plan(20, (5,)),
        "general": Plan(20, (5,)),
        "weight": Plan(20, (5,)),
    },
    "ihdp_code": {
        "free": Plan(20, (6, 12)),
        "bald": Plan(20, (12,)),
        "general": Plan(20, (12,)),
        "weight": Plan(20),
    },
    "ibm_due": {"free": Plan(10), "bald": Plan(9, (6,)), "general": Plan(9, (3,)), "weight": Plan(10)},
    "ibm_code": {"free": Plan(10, (3,)), "bald": Plan(9), "general": Plan(9), "weight": Plan(10, (3,))},
    "cmnist_due": {"free": Plan(5, (1,))},
    "cmnist_code": {"free": Plan(5)},
    "ibm_gp": {"free": Plan(10), "weight": Plan(10, (4,))},
    "cmnist_gp": {"free": Plan(10, (5,)), "bald": Plan(3), "weight": Plan(10, (5,))},
    "cmnist_controls": {"free": Plan(5, (3,))},
    **{f"ihdp-exchanged_{model}": {"free": Plan(100)} for model in ("gp", "s", "x", "shares")},
    "ihdp-exchanged_t": {"free": Plan(100, (20,))},
    **{f"ihdp-early_{learner}": {"free": Plan(100, (20,))} for learner in "stx"},  # seen in ihdp_s, ihdp_t, ihdp_x
    **{f"ihdp-exchanged_{model}": {"free": Plan(20)} for model in ("due", "code")},
    **{f"ihdp-early_{model}": {"free": Plan(8)} for model in ("due", "code")},
    **{f"{data}_{m}": {"free": Plan(100, (10, 20))} for data in ("ihdp", "ihdp-exchanged") for m in ("dr", "forest")},
    "ihdp_shares": {"free": Plan(100)},
    **{f"ihdp_{learner}": {"free": Plan(20)} for learner in "stx"},
    **{f"ihdp_input-{scale}": {"free": Plan(6, (3,))} for scale in (1, 10)},
}


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

    def share(self, dataset: str, rules: Rules) -> Callable[[str, int], float]:
        """:func:`share` of the table of a data set."""
        return share(self.tables[dataset], rules)


WRITTEN = Reading("as written", tables.by_dataset(tables.AS_WRITTEN))
CODE = Reading("as the code runs", tables.by_dataset(tables.AS_CODE), "macal-squared")
# BADGE, BAIT and LCMD need a network's gradients
EXACT = Reading("exact GP per arm", tables.by_dataset(tables.EXACT), others=("random", "qhte", *BALD))
LEARNERS = tuple(Reading(name, tables.by_dataset(name), others=("random", "qhte")) for name in tables.LEARNERS)


def share(name: str, rules: Rules) -> Callable[[str, int], float]:
    """Return what gives, for a method of a table and its replications, the share of the level that this look may spend.

    A look spends what has become available since the look before.
    """

    def spend(method: str, replications: int) -> float:
        plan = plan_of(name, method)
        if plan is None:  # complete as it stands
            return 1.0
        before = max((n for n in plan.looks if n < replications), default=0)
        now, then = (rules.spent(min(n / plan.replications, 1.0)) for n in (replications, before))
        return (now - then) / rules.level

    return spend


def kind(method: str) -> str:
    """Kind of a method in ``PLANS``: "bald", "general", "weight" (MACAL at another than 2.5), or "free" of a model."""
    if method in GENERAL:
        return "general"
    return "bald" if method in BALD else "weight" if method.startswith("macal") and method[-1].isdigit() else "free"


def plan_of(table: str, method: str) -> Plan | None:
    """What is planned of a method in a table; None where the table is complete as it stands."""
    return PLANS.get(table, {}).get(kind(method))


def load(name: str, keys: Sequence[str] = ("method", "replication", "labelled")) -> pd.DataFrame | None:
    """A recorded table with those of its sweeps that are not merged yet, up to the planned replications, or None.

    Args:
        name: of the table.
        keys: columns that tell one row from another.
    """
    names = [name, *sorted(path.stem for path in results.FOLDER.glob(f"{name}-*.parquet"))]
    found = [table for table in map(_recorded, names) if table is not None]
    if not found:
        return None
    table = pd.concat(found, ignore_index=True).drop_duplicates(list(keys))
    plans = {method: plan_of(name, method) for method in table["method"].unique()}
    planned = table["method"].map({m: plan.replications if plan else np.inf for m, plan in plans.items()})
    return table[table["replication"] < table["replication"].min() + planned]


def _recorded(name: str) -> pd.DataFrame | None:
    try:
        return results.load(name)
    except FileNotFoundError:
        return None


def inner(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Leave out the start, and IHDP's end, where all methods have labelled the same units."""
    end = POOL if dataset == "ihdp" else np.inf
    return table[~table["labelled"].isin([table["labelled"].min(), end])]


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
