"""Criteria by name, and what each of them can do."""

from collections.abc import Callable
from typing import Any

from macal.acquisition.bald import MuBald, MuPiBald, MuRhoBald, PiBald, RhoBald, Sundin, TauBald, Uncertainty
from macal.acquisition.base import Criterion
from macal.acquisition.coverage import FCCM
from macal.acquisition.design import ABC3, ALC, EpigMu, EpigTau, FixedALC
from macal.acquisition.distances import QHTE, CoreSet, Macal, Symmetry
from macal.acquisition.featured import Badge, Bait, Lcmd
from macal.acquisition.random import Random, RandomBalanced, RandomShare
from macal.acquisition.reference_criteria import RandomPairs, RandomRare
from macal.acquisition.rolling import Rolling
from macal.acquisition.shares import MacalNeyman, Neyman
from macal.arguments import hinted
from macal.registry import Catalogue, Entry

CRITERIA = Catalogue(
    "criterion",
    {
        "random": Entry(Random, "Random", "–", ("#7f7f7f", "--")),
        "random-balanced": Entry(RandomBalanced, "Random, equal allocation", "this project", ("#7f7f7f", ":")),
        "random-share": Entry(RandomShare, "Random, given share", "this project", ("#7f7f7f", "-.")),
        "random-rare": Entry(RandomRare, "Random, inverse propensity", "Horvitz and Thompson 1952", ("#8C6D31", "--")),
        "random-pairs": Entry(RandomPairs, "Random, pairs", "Rubin 1973", ("#8C6D31", ":")),
        "coreset": Entry(CoreSet, "Core-Set", "Sener and Savarese 2018", ("#A6761D", "-.")),
        "qhte": Entry(QHTE, "QHTE", "Qin et al. 2021", ("#E69F00", "-.")),
        "symmetry": Entry(Symmetry, "Symmetry", "Wen et al. 2025", ("#009E73", ":")),
        "uncertainty": Entry(Uncertainty, "Uncertainty", "Wen et al. 2025", ("#56B4E9", "--")),
        "mu-bald": Entry(MuBald, "μ-BALD", "Jesson et al. 2021", ("#CC3377", "-")),
        "rho-bald": Entry(RhoBald, "ρ-BALD", "Jesson et al. 2021", ("#CC3377", "--")),
        "mu-rho-bald": Entry(MuRhoBald, "μρ-BALD", "Jesson et al. 2021", ("#CC3377", "-.")),
        "tau-bald": Entry(TauBald, "τ-BALD", "Jesson et al. 2021", ("#CC3377", ":")),
        "pi-bald": Entry(PiBald, "π-BALD", "Jesson et al. 2021", ("#7570B3", "--")),
        "mu-pi-bald": Entry(MuPiBald, "μπ-BALD", "Jesson et al. 2021", ("#7570B3", "-.")),
        "sundin": Entry(Sundin, "Type S", "Sundin et al. 2019", ("#7570B3", ":")),
        "badge": Entry(Badge, "BADGE", "Ash et al. 2020", ("#1B5E20", "--")),
        "lcmd": Entry(Lcmd, "LCMD", "Holzmüller et al. 2023", ("#1B5E20", "-.")),
        "bait": Entry(Bait, "BAIT", "Ash et al. 2021", ("#1B5E20", ":")),
        "macal": Entry(Macal, "MACAL", "Wen et al. 2025", ("#0072B2", "-")),
        "fccm": Entry(FCCM, "FCCM", "Wen et al. 2025b", ("#8C510A", "-")),
        "abc3": Entry(ABC3, "ABC3", "Cha and Lee 2025", ("#35978F", "--")),
        "alc": Entry(ALC, "ALC", "Cohn 1996", ("#35978F", "-")),
        "alc-fixed": Entry(FixedALC, "ALC, fixed", "Cohn 1996", ("#35978F", ":")),
        "epig-mu": Entry(EpigMu, "EPIG-μ", "Gao et al. 2025", ("#5E3C99", "--")),
        "epig-tau": Entry(EpigTau, "EPIG-τ", "Gao et al. 2025", ("#5E3C99", "-")),
        "neyman": Entry(Neyman, "Neyman shares", "Neyman 1934", ("#8C510A", "--")),
        "macal-neyman": Entry(MacalNeyman, "MACAL, Neyman shares", "this project", ("#8C510A", ":")),
        "macal-rolling": Entry(Rolling, "MACAL, rolling", "this project", ("#0072B2", "--")),
    },
)

DEFAULT = "alc-fixed"  # of plans: by the rule on the book's page "What to use instead"


def names() -> list[str]:
    """Names of the criteria that :func:`get` knows."""
    return list(CRITERIA)


@hinted
def get(name: str, **parameters: Any) -> Criterion:
    """Return a criterion by name, e.g. ``get("macal", alpha=1.0, metric="sqeuclidean")``.

    Raises:
        UnknownName: no such criterion, or it has no such parameter.
        ValueError: a parameter's value is out of range.
    """
    return CRITERIA.make(name, parameters)


def names_where(can: Callable[[type[Criterion]], bool]) -> str:
    """Names of the criteria that can do something, as an error message lists them.

    >>> names_where(lambda rule: rule.min_batch_size > 1)
    "'symmetry', 'macal', 'macal-rolling'"
    """
    return ", ".join(repr(name) for name, entry in CRITERIA.items() if can(entry.factory))


def needs_no_model(rule: type[Criterion]) -> bool:
    """Whether a criterion can plan before any outcome is known."""
    return not rule.needs
