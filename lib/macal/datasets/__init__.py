"""The data sets of the paper, each a function of (seed, protocol) that returns a :class:`macal.problem.Problem`."""

from inspect import signature
from typing import Any

from macal.datasets import cmnist, ibm, ihdp, toy
from macal.datasets.table import from_table
from macal.problem import Problem
from macal.registry import Registry, UnknownName

PROTOCOLS = ("paper", "code")
DATASETS = Registry("dataset", {"toy": toy.load, "ihdp": ihdp.load, "ibm": ibm.load, "cmnist": cmnist.load})

__all__ = ["DATASETS", "PROTOCOLS", "from_table", "load", "names"]


def names() -> list[str]:
    """Names of the data sets that :func:`load` knows."""
    return list(DATASETS)


def load(name: str, seed: int = 0, protocol: str = "paper", **parameters: Any) -> Problem:
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
    if protocol not in PROTOCOLS:
        raise UnknownName("protocol", protocol, PROTOCOLS)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be a non-negative integer, got {seed!r}")
    loader = DATASETS[name]
    known = list(signature(loader).parameters)[2:]
    for parameter in parameters:
        if parameter not in known:
            raise UnknownName(f"parameter of {name!r}", parameter, known or ["none"])
    return loader(seed, protocol, **parameters)
