"""The data sets of the paper, each a function of (seed, protocol) that returns a :class:`macal.problem.Problem`."""

from macal.datasets import ihdp, toy
from macal.problem import Problem
from macal.registry import Registry, UnknownName

PROTOCOLS = ("paper", "code")
DATASETS = Registry("dataset", {"toy": toy.load, "ihdp": ihdp.load})


def names() -> list[str]:
    """Names of the data sets that :func:`load` knows."""
    return list(DATASETS)


def load(name: str, seed: int = 0, protocol: str = "paper") -> Problem:
    """Return one replication of a data set.

    Args:
        name: one of :func:`names`.
        seed: replication, a non-negative integer; the same seed gives the same bytes.
        protocol: "paper" for what the paper states, "code" for what its public code does.

    Raises:
        UnknownName: no such data set or protocol.
        ValueError: a seed that is not a non-negative integer.
    """
    if protocol not in PROTOCOLS:
        raise UnknownName("protocol", protocol, PROTOCOLS)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be a non-negative integer, got {seed!r}")
    return DATASETS[name](seed, protocol)
