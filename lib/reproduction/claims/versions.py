"""The versions of the paper that its claims about errors are judged in, and the recorded tables of each.

The code version, the model of the published code, is the reproduction; the text version is a sensitivity study.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from reproduction.benchmarks import BALD, BASELINES, PAPER
from reproduction.studies import tables


@dataclass(frozen=True)
class Version:
    """A model and a distance, with the tables recorded by them.

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
        """All that is recorded of a data set, or None; see :func:`load`."""
        return load(self.tables[dataset]) if dataset in self.tables else None

    def deciding(self) -> dict[str, pd.DataFrame]:
        """Data set -> the recorded rows that claims compare."""
        found = {name: self.load(name) for name in self.tables}
        return {name: PAPER[name].deciding(table) for name, table in found.items() if table is not None}


def _tables(line: str) -> dict[str, str]:
    """Tables of a line of evidence, on the paper's data sets."""
    return {dataset: name for dataset, name in tables.by_dataset(line).items() if dataset in PAPER}


CODE = Version(tables.CODE, _tables(tables.CODE), "macal-squared")
TEXT = Version(tables.TEXT, _tables(tables.TEXT))
# BADGE, BAIT and LCMD need a network's gradients
EXACT = Version(tables.EXACT, _tables(tables.EXACT), others=("random", "qhte", *BALD))
LEARNERS = tuple(Version(line, _tables(line), others=("random", "qhte")) for line in tables.LEARNERS)


def load(name: str, keys: Sequence[str] = ("method", "replication", "labelled")) -> pd.DataFrame | None:
    """A recorded table with those of its sweeps that are not merged yet, or None.

    Raises:
        UnknownName: no such table is declared.
    """
    found = [tables.load(part) for part in tables.get(name).recorded]
    return pd.concat(found, ignore_index=True).drop_duplicates(list(keys)) if found else None


def by_label_range(table: pd.DataFrame, ends: Sequence[int]) -> dict[int, pd.DataFrame]:
    """Cut campaigns at these numbers of labels; each stretch by its last one, those without rows left out."""
    stretch = pd.cut(table["labelled"], [0, *ends], labels=list(ends))
    return dict(list(table.groupby(stretch, observed=True)))


def absent(have: Iterable[str], of: Iterable[str]) -> str:
    """Name what is lacking, for a sentence: ", without qhte, lcmd"; empty where nothing is."""
    lacking = [name for name in of if name not in set(have)]
    return f", without {', '.join(lacking)}" if lacking else ""
