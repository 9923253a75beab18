"""How much a claim rests on: replications, methods and sizes that are recorded, of those in the paper."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from macal.comparison import beside
from macal.datasets import cmnist, ibm, ihdp, toy
from reproduction.claims.readings import Reading, deciding, inner
from reproduction.studies import tables

PAPER = {"toy": 20, "ihdp": 100, "ibm": 10, "cmnist": 10}  # replications: Figure 1, Table 1
CAMPAIGNS = {"toy": toy, "ihdp": ihdp, "ibm": ibm, "cmnist": cmnist}  # START, BATCH and QUERIES of each


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
    replications: tuple[int, int]
    of_replications: int
    methods: tuple[str, ...]
    of_methods: tuple[str, ...]
    sizes: tuple[int, int]
    of_sizes: int

    def __str__(self) -> str:
        """Say it in words."""
        if not self.methods:
            return f"{self.dataset}: nothing"
        if not self.replications[1]:
            return f"{self.dataset}: {len(self.methods)} of {len(self.of_methods)} methods, all needed together"
        return (
            f"{self.dataset}: {range_of(self.replications)} of {self.of_replications} replications,"
            f" {len(self.methods)} of {len(self.of_methods)} methods, {range_of(self.sizes)} of {self.of_sizes} sizes"
        )


def range_of(ends: tuple[int, int]) -> str:
    """Say two ends in words, "5 to 12", or one number where they are the same."""
    low, high = ends
    return str(low) if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Compared:
    """Which methods a claim compares, and where.

    Attributes:
        datasets: that the claim is about.
        methods: reading -> the methods that are counted; the toy study has no reading.
        reference: reading -> the method that they are set against, at whose replications and sizes alone they count; ""
            for none.
        whole: the whole campaign counts, on IHDP too, where it is otherwise the part that decides.
        together: only replications and sizes count that the reference and all methods share.
    """

    datasets: tuple[str, ...]
    methods: Callable[[Reading | None], tuple[str, ...]]
    reference: Callable[[Reading | None], str] = lambda reading: reading.macal if reading else ""
    whole: bool = False
    together: bool = False

    def scales(self, reading: Reading | None = None) -> tuple[Scale, ...]:
        """What is recorded in a reading, by data set."""
        return tuple(self._scale(name, reading) for name in self.datasets)

    def _cut(self, table: pd.DataFrame, dataset: str) -> pd.DataFrame:
        if dataset == "toy":
            return table
        return inner(table, dataset) if self.whole else deciding(table, dataset)

    def _scale(self, dataset: str, reading: Reading | None) -> Scale:
        asked, against = self.methods(reading), self.reference(reading)
        campaign = CAMPAIGNS[dataset]
        last = campaign.START + campaign.BATCH * campaign.QUERIES
        paper = pd.DataFrame({"labelled": range(campaign.START, last + 1, campaign.BATCH)})
        about = PAPER[dataset], len(self._cut(paper, dataset))
        found = reading.load(dataset) if reading else tables.load(dataset)
        if found is None:
            return Scale(dataset, (0, 0), about[0], (), asked, (0, 0), about[1])
        table = self._cut(found, dataset)
        table = beside(table, against) if against else table
        table = table[table["method"].isin(asked)]
        have = tuple(method for method in asked if method in table["method"].unique())
        if self.together:
            table = table[table.groupby(["replication", "labelled"])["method"].transform("nunique") == len(asked)]
        counts = table.groupby("method")[["replication", "labelled"]].nunique()
        replications, sizes = ((int(c.min()), int(c.max())) if len(c) else (0, 0) for _, c in counts.items())
        return Scale(dataset, replications, about[0], have, asked, sizes, about[1])
