"""Criteria by name, and MACAL's whole campaign in one call."""

from typing import Any

import pandas as pd
import torch

from macal.acquisition.bald import MuBald, MuPiBald, MuRhoBald, PiBald, RhoBald, Sundin, TauBald, Uncertainty
from macal.acquisition.base import Criterion, State, campaign
from macal.acquisition.distances import QHTE, CoreSet, Macal, Symmetry
from macal.acquisition.features import Badge, Bait, Lcmd, from_features
from macal.acquisition.random import Random, RandomBalanced
from macal.acquisition.rolling import Rolling
from macal.registry import Registry
from macal.shapes import Indices

CRITERIA = Registry(
    "criterion",
    {
        "random": Random,
        "random-balanced": RandomBalanced,
        "coreset": CoreSet,
        "qhte": QHTE,
        "symmetry": Symmetry,
        "uncertainty": Uncertainty,
        "mu-bald": MuBald,
        "rho-bald": RhoBald,
        "mu-rho-bald": MuRhoBald,
        "tau-bald": TauBald,
        "pi-bald": PiBald,
        "mu-pi-bald": MuPiBald,
        "sundin": Sundin,
        "badge": Badge,
        "lcmd": Lcmd,
        "bait": Bait,
        "macal": Macal,
        "macal-rolling": Rolling,
    },
)

__all__ = ["CRITERIA", "Criterion", "State", "campaign", "from_features", "get", "names", "plan"]


def names() -> list[str]:
    """Names of the criteria that :func:`get` knows."""
    return list(CRITERIA)


def get(name: str, **parameters: Any) -> Criterion:
    """Return a criterion by name, e.g. ``get("macal", alpha=1.0, metric="sqeuclidean")``.

    Raises:
        UnknownName: no such criterion, or it has no such parameter.
        ValueError: a parameter's value is out of range.
    """
    return CRITERIA.make(name, parameters)


def plan(
    x: Any,
    t: Any,
    labelled: Any,
    n_queries: int = 46,
    batch_size: int = 10,
    alpha: float = 2.5,
    metric: str = "euclidean",
    device: str | None = None,
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
        device: where the matrix products are computed; where x is, by default, and on the CPU if x is no tensor.

    Returns:
        One integer array per query, in pick order (treated, control, treated, ...); fewer where the pool is exhausted
        first.

    Raises:
        ValueError: an argument is of the wrong shape, type or range.
    """
    if isinstance(x, torch.Tensor):
        device, x = device or str(x.device), x.cpu()
    if isinstance(x, pd.DataFrame) and isinstance(t, pd.Series) and not x.index.equals(t.index):
        raise ValueError("x and t must have the same index, in the same order; t.loc[x.index] brings t into that of x")
    return campaign(
        get("macal", alpha=alpha, metric=metric, device=device or "cpu"), x, t, labelled, n_queries, batch_size
    )
