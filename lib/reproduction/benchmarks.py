"""The paper's data sets: what Table 1 says of each, what each is compared with, and how its campaigns are cut."""

from dataclasses import dataclass

import pandas as pd

from macal.datasets import toy

BALD = ("mu-bald", "rho-bald", "mu-rho-bald")
GENERAL = ("badge", "bait", "lcmd")
BASELINES = ("random", "qhte", *BALD, *GENERAL)  # the paper's


@dataclass(frozen=True)
class Benchmark:
    """A data set of the paper.

    Attributes:
        name: in the registry of data sets.
        start: labels that all methods share.
        step: labels bought by a query.
        queries: of a campaign.
        pool: units, as are ``valid`` and ``test``.
        replications: in the paper.
        stretches: numbers of labels at which a campaign is cut, the last one its end.
        until: labels up to which claims about its errors compare; None for the whole campaign.
        exhausted: labels at which all methods hold the same units again; None where none does.
        baselines: MACAL's.
        metric: of the errors.
        about: what limits the public instances.
    """

    name: str
    start: int
    step: int
    queries: int
    pool: int
    valid: int
    test: int
    replications: int
    stretches: tuple[int, ...] = ()
    until: int | None = None
    exhausted: int | None = None
    baselines: tuple[str, ...] = BASELINES
    metric: str = "pehe"
    about: str = ""

    def sizes(self) -> range:
        """Numbers of labels after each query, the start included."""
        return range(self.start, self.start + self.step * self.queries + 1, self.step)

    def inner(self, table: pd.DataFrame) -> pd.DataFrame:
        """Leave out the sizes at which all methods have labelled the same units."""
        return table[~table["labelled"].isin([self.start, self.exhausted])]

    def deciding(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of :meth:`inner` that claims compare."""
        table = self.inner(table)
        return table if self.until is None else table[table["labelled"] <= self.until]


IHDP = Benchmark("ihdp", 10, 10, 46, 470, 75, 202, 100, (60, 160, 470), until=160, exhausted=470)
CONSTANT = "public instances, whose effect is constant"
IBM = Benchmark("ibm", 50, 50, 50, 9540, 3180, 6250, 10, (500, 1300, 2550), about=CONSTANT)
CMNIST = Benchmark("cmnist", 50, 50, 50, 31500, 10500, 18000, 10, (700, 1350, 2550))
PAPER = {one.name: one for one in (IHDP, IBM, CMNIST)}  # Table 1
SIMPLE = ("random", "uncertainty", "symmetry")  # the toy's "three naive methods"
TOY = Benchmark("toy", toy.START, toy.BATCH, toy.QUERIES, 2250, 0, 750, 20, baselines=SIMPLE)  # Figure 1
