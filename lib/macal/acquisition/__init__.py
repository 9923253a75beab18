"""Criteria by name, and MACAL's whole campaign in one call."""

from typing import Any

import pandas as pd
import torch

from macal.acquisition.bald import MuBald, MuPiBald, MuRhoBald, PiBald, RhoBald, Sundin, TauBald, Uncertainty
from macal.acquisition.base import Criterion, PoolState, plan_batches
from macal.acquisition.controls import RandomPairs, RandomRare
from macal.acquisition.coverage import FCCM
from macal.acquisition.design import ABC3, ALC, EpigMu, EpigTau, FixedALC
from macal.acquisition.distances import QHTE, CoreSet, Macal, Symmetry
from macal.acquisition.features import Badge, Bait, Lcmd, from_features
from macal.acquisition.random import Random, RandomBalanced, RandomShare
from macal.acquisition.rolling import Rolling
from macal.acquisition.shares import MacalNeyman, Neyman
from macal.registry import Catalogue, Entry
from macal.shapes import Indices

CRITERIA = Catalogue(
    "criterion",
    {
        "random": Entry(Random, "Random", "–", ("#7f7f7f", "--")),
        "random-balanced": Entry(RandomBalanced, "Random, balanced", "this project", ("#7f7f7f", ":")),
        "random-share": Entry(RandomShare, "Random, given share", "this project", ("#7f7f7f", "-.")),
        "random-rare": Entry(RandomRare, "Random, rare arm", "Horvitz and Thompson 1952", ("#8C6D31", "--")),
        "random-pairs": Entry(RandomPairs, "Random, pairs", "Rubin 1973", ("#8C6D31", ":")),
        "coreset": Entry(CoreSet, "Core-Set", "Sener and Savarese 2018", ("#A6761D", "-.")),
        "qhte": Entry(QHTE, "QHTE", "Qin et al. 2021", ("#E69F00", "-.")),
        "symmetry": Entry(Symmetry, "Symmetry", "Wen et al. 2025", ("#009E73", ":")),
        "uncertainty": Entry(Uncertainty, "Uncertainty", "Wen et al. 2025", ("#56B4E9", "--")),
        "mu-bald": Entry(MuBald, "μ-BALD", "Jesson et al. 2021", ("#08519C", "-")),
        "rho-bald": Entry(RhoBald, "ρ-BALD", "Jesson et al. 2021", ("#08519C", "--")),
        "mu-rho-bald": Entry(MuRhoBald, "μρ-BALD", "Jesson et al. 2021", ("#08519C", "-.")),
        "tau-bald": Entry(TauBald, "τ-BALD", "Jesson et al. 2021", ("#08519C", ":")),
        "pi-bald": Entry(PiBald, "π-BALD", "Jesson et al. 2021", ("#7570B3", "--")),
        "mu-pi-bald": Entry(MuPiBald, "μπ-BALD", "Jesson et al. 2021", ("#7570B3", "-.")),
        "sundin": Entry(Sundin, "Type S", "Sundin et al. 2019", ("#7570B3", ":")),
        "badge": Entry(Badge, "BADGE", "Ash et al. 2020", ("#1B5E20", "--")),
        "lcmd": Entry(Lcmd, "LCMD", "Holzmüller et al. 2023", ("#1B5E20", "-.")),
        "bait": Entry(Bait, "BAIT", "Ash et al. 2021", ("#1B5E20", ":")),
        "macal": Entry(Macal, "MACAL", "Wen et al. 2025", ("#CC3377", "-")),
        "fccm": Entry(FCCM, "FCCM", "Wen et al. 2025b", ("#8C510A", "-")),
        "abc3": Entry(ABC3, "ABC3", "Cha and Lee 2025", ("#35978F", "--")),
        "alc": Entry(ALC, "ALC", "Cohn 1996", ("#35978F", "-")),
        "alc-fixed": Entry(FixedALC, "ALC, fixed", "Cohn 1996", ("#35978F", ":")),
        "epig-mu": Entry(EpigMu, "EPIG-μ", "Gao et al. 2025", ("#5E3C99", "--")),
        "epig-tau": Entry(EpigTau, "EPIG-τ", "Gao et al. 2025", ("#5E3C99", "-")),
        "neyman": Entry(Neyman, "Neyman shares", "Neyman 1934", ("#8C510A", "--")),
        "macal-neyman": Entry(MacalNeyman, "MACAL, Neyman shares", "this project", ("#8C510A", ":")),
        "macal-rolling": Entry(Rolling, "MACAL, rolling", "this project", ("#CC3377", "--")),
    },
)

DEFAULT = "alc-fixed"  # of plans: by the rule on the book's page "What to use instead"

__all__ = ["CRITERIA", "DEFAULT", "Criterion", "PoolState", "from_features", "get", "names", "plan", "plan_batches"]


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
    criterion: Any = DEFAULT,
    **parameters: Any,
) -> list[Indices]:
    """Plan a whole campaign in advance; it needs no outcome.

    Args:
        x: covariates of the pool, (n, d): array, tensor or DataFrame; scale them first, distances are taken as they
            come.
        t: treatment, (n,): 0 or 1, or 0, 1, 2, ... where the criterion knows more than two arms.
        labelled: indices labelled before the first query; may be empty, or lack an arm.
        n_queries: number of batches.
        batch_size: labels per batch; of a criterion of pairs, an odd batch ends with one one-sided pick.
        criterion: a name of :func:`names`, or a criterion; one that needs no model. By default the one that the book's
            page *What to use instead* found to lose least.
        parameters: of the criterion of that name, say ``"macal", alpha=1.0``. MACAL's ``device`` is where x is, and the
            CPU if x is no tensor.

    Returns:
        One integer array per query, in pick order (of MACAL: treated, control, treated, ...); fewer where the pool is
        exhausted first.

    Raises:
        UnknownName: no such criterion, or it has no such parameter.
        ValueError: an argument is of the wrong shape, type or range; the criterion needs a model.
    """
    if isinstance(x, torch.Tensor):
        if criterion == "macal":
            parameters.setdefault("device", str(x.device))
        x = x.cpu()
    if isinstance(x, pd.DataFrame) and isinstance(t, pd.Series) and not x.index.equals(t.index):
        raise ValueError("x and t must have the same index, in the same order; t.loc[x.index] brings t into that of x")
    chosen = get(criterion, **parameters) if isinstance(criterion, str) else criterion
    return plan_batches(chosen, x, t, labelled, n_queries, batch_size)
