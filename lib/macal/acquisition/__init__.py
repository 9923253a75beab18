"""Criteria by name, and MACAL's whole campaign in one call."""

from dataclasses import fields
from typing import Any

from macal.acquisition.base import Criterion, State, campaign
from macal.acquisition.distances import QHTE, Macal, Symmetry
from macal.acquisition.random import Random
from macal.registry import Registry, UnknownName
from macal.shapes import Indices

CRITERIA = Registry("criterion", {"random": Random, "qhte": QHTE, "symmetry": Symmetry, "macal": Macal})

__all__ = ["CRITERIA", "Criterion", "State", "campaign", "get", "names", "plan"]


def names() -> list[str]:
    """Names of the criteria that :func:`get` knows."""
    return list(CRITERIA)


def get(name: str, **parameters: Any) -> Criterion:
    """Return a criterion by name, e.g. ``get("macal", alpha=1.0, metric="sqeuclidean")``.

    Raises:
        UnknownName: no such criterion, or it has no such parameter.
        ValueError: a parameter's value is out of range.
    """
    cls = CRITERIA[name]
    known = [f.name for f in fields(cls)]
    for parameter in parameters:
        if parameter not in known:
            raise UnknownName(f"parameter of {name!r}", parameter, known)
    return cls(**parameters)


def plan(
    x: Any,
    t: Any,
    labelled: Any,
    n_queries: int = 46,
    batch_size: int = 10,
    alpha: float = 2.5,
    metric: str = "euclidean",
) -> list[Indices]:
    """Plan MACAL's whole campaign in advance; it needs no outcome.

    Args:
        x: covariates of the pool, (n, d): array, tensor or DataFrame; scale them first, distances are taken as they
            come.
        t: treatment, (n,), 0 or 1.
        labelled: indices labelled before the first query; may be empty, or lack an arm.
        n_queries: number of batches.
        batch_size: labels per batch; an odd batch ends with one one-sided pick.
        alpha: weight of the distance within a pair.
        metric: "euclidean" or "sqeuclidean".

    Returns:
        One integer array per query, in pick order (treated, control, treated, ...); fewer where the pool is exhausted
        first.

    Raises:
        ValueError: an argument is of the wrong shape, type or range.
    """
    return campaign(get("macal", alpha=alpha, metric=metric), x, t, labelled, n_queries, batch_size)
