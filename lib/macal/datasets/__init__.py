"""The data sets, each a function of (seed, protocol) that returns a :class:`macal.problem.Problem`."""

from functools import partial
from typing import Any

from macal.arguments import Whole, hinted
from macal.datasets import acic, cmnist, files, ibm, ihdp, real, toy
from macal.datasets.table import from_table
from macal.problem import Problem
from macal.registry import Catalogue, DataEntry, check_known

PROTOCOLS = ("paper", "code")
DATASETS = Catalogue(
    "dataset",
    {
        "toy": DataEntry(toy.load, "toy", "Wen et al. 2025", queries=toy.QUERIES),
        "ihdp": DataEntry(ihdp.load, "IHDP", "Hill 2011", queries=ihdp.QUERIES),
        "ihdp-exchanged": DataEntry(
            partial(ihdp.load, exchanged=True), "IHDP, surfaces swapped", "this project", queries=ihdp.QUERIES
        ),
        "ihdp-a": DataEntry(partial(ihdp.load, surface="a"), "IHDP, surface A", "Hill 2011", queries=ihdp.QUERIES),
        "ibm": DataEntry(ibm.load, "IBM", "Shimoni et al. 2018", files=("ibm",), queries=ibm.QUERIES),
        "cmnist": DataEntry(cmnist.load, "CMNIST", "Jesson et al. 2021", files=("mnist",), queries=cmnist.QUERIES),
        "acic": DataEntry(acic.load, "ACIC 2016", "Dorie et al. 2019", files=("acic",), queries=acic.QUERIES),
    },
)

__all__ = ["DATASETS", "PROTOCOLS", "files", "from_table", "load", "names", "real"]


def names() -> list[str]:
    """Names of the data sets that :func:`load` knows."""
    return list(DATASETS)


@hinted
def load(name: str, seed: Whole = 0, protocol: str = "paper", **parameters: Any) -> Problem:
    """Return one replication of a data set.

    Args:
        name: one of :func:`names`.
        seed: replication, a non-negative integer; the same seed gives the same bytes.
        protocol: "paper" for what the paper states, "code" for what its public code does.
        **parameters: of this data set alone, e.g. ``load("ibm", instance="9d5249efba244308a93f54d7ff7cad7b")``.

    Raises:
        UnknownName: no such data set or protocol, or the data set has no such parameter.
        ValueError: a seed that is not a non-negative integer.
        DataUnavailable: raw files are not on this machine and could not be downloaded.
    """
    check_known("protocol", PROTOCOLS, protocol)
    return DATASETS.make(name, parameters, seed, protocol)
