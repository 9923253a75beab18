"""How much a claim rests on: replications, methods and sizes that are recorded, of those in the paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from macal.comparison import beside
from reproduction.benchmarks import Benchmark
from reproduction.claims.versions import Version
from reproduction.studies import tables


@dataclass(frozen=True)
class Scale:
    """What is recorded for a claim on one data set.

    Attributes:
        dataset: its name.
        replications: of the method that has fewest, and of the one that has most; (0, 0) where none counts.
        of_replications: in the paper.
        methods: that are recorded.
        of_methods: that the claim is about.
        sizes: numbers of labels at which models were trained: of the method that has fewest, and of the one with most.
        of_sizes: in the paper, in the same stretch of the campaign.
    """

    dataset: str
    replications: Sequence[int]
    of_replications: int
    methods: Sequence[str]
    of_methods: Sequence[str]
    sizes: Sequence[int]
    of_sizes: int

    def share(self) -> str:
        """Say in words how much of the paper's is recorded."""
        methods = f"{len(self.methods)} of {len(self.of_methods)} methods"
        if not self.methods:
            return "nothing"
        if not self.replications[1]:
            return f"{methods}, all needed together"
        runs = f"{range_of(self.replications)} of {self.of_replications} replications"
        return f"{runs}, {methods}, {range_of(self.sizes)} of {self.of_sizes} sizes"


def range_of(ends: Sequence[int]) -> str:
    """Say two ends in words, "5 to 12", or one number where they are the same."""
    low, high = ends
    return str(low) if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Compared:
    """Which methods a claim compares, and where.

    Attributes:
        datasets: that the claim is about.
        methods: version -> the methods that are counted; the toy study has no version.
        reference: version -> the method that they are set against, at whose replications and sizes alone they count; ""
            for none.
        whole: the whole campaign counts, on IHDP too, where it is otherwise the part that decides.
        together: only replications and sizes count that the reference and all methods share.
    """

    datasets: tuple[Benchmark, ...]
    methods: Callable[[Version | None], tuple[str, ...]]
    reference: Callable[[Version | None], str] = lambda version: version.macal if version else ""
    whole: bool = False
    together: bool = False

    def scales(self, version: Version | None = None) -> tuple[Scale, ...]:
        """What is recorded in a version, by data set."""
        return tuple(self._scale(name, version) for name in self.datasets)

    def _cut(self, table: pd.DataFrame, dataset: Benchmark) -> pd.DataFrame:
        return dataset.inner(table) if self.whole else dataset.deciding(table)

    def _scale(self, dataset: Benchmark, version: Version | None) -> Scale:
        asked, against = self.methods(version), self.reference(version)
        paper = pd.DataFrame({"labelled": dataset.sizes()})
        about = dataset.replications, len(self._cut(paper, dataset))
        found = version.load(dataset.name) if version else tables.load(dataset.name)
        if found is None:
            return Scale(dataset.name, (0, 0), about[0], (), asked, (0, 0), about[1])
        table = self._cut(found, dataset)
        table = beside(table, against) if against else table
        table = table[table["method"].isin(asked)]
        have = tuple(method for method in asked if method in table["method"].unique())
        if self.together:
            table = table[table.groupby(["replication", "labelled"])["method"].transform("nunique") == len(asked)]
        counts = table.groupby("method")[["replication", "labelled"]].nunique()
        replications, sizes = ((int(c.min()), int(c.max())) if len(c) else (0, 0) for _, c in counts.items())
        return Scale(dataset.name, replications, about[0], have, asked, sizes, about[1])
