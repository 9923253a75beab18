"""IHDP: covariates of a real trial on infants, outcomes simulated by Hill's response surface B, or A.

Sources: Hill 2011; Jesson et al. 2021, whose simulation this follows; covariates from ``econml``.
"""

import csv
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from macal.datasets import files
from macal.datasets.rounding import rounded
from macal.datasets.splits import split
from macal.problem import Problem, Split
from macal.registry import check_known
from macal.shapes import Arms, Covariates, Outcomes

START, BATCH, QUERIES = 10, 10, 46  # Table 1 of the paper
CONTINUOUS = ("bw", "b.head", "preterm", "birth.o", "nnhealth", "momage")
BINARY = tuple("sex twin b.marr mom.lths mom.hs mom.scoll cig first booze drugs work.dur prenatal".split())
SITES = tuple(f"site{k}" for k in range(1, 8))  # ark, ein, har, mia, pen, tex, was; the eighth is the reference
SOURCES = {"econml/data/ihdp/sim.csv": "f00fc75f44f66f8afc52686943a65fbf651593bdb5756b0ac14b4d70c0b81a32"}
COVARIATES = CONTINUOUS + BINARY + SITES
# the published file, for the tests alone
files.declare(
    "ihdp",
    {
        "ihdp/ihdp.RData": files.pinned(
            "vdorie/npci",
            "ba08244f35575831d81990c505e70f4fc2e69d80",
            "examples/ihdp_sim/data/ihdp.RData",
            "cfb4962905a24639dcad9814a51ccee20ab17efc23514c761f4acca018b0f597",
        )
    },
)


@cache
def covariates() -> tuple[Covariates, Arms]:
    """Covariates (747, 25) and treatment (747,), without the treated children of non-white mothers.

    The six continuous columns are standardised over the 747 units; ``first`` is coded 1/2 as in the original file.

    Raises:
        DataUnavailable: the installed econml carries no IHDP file.
        ChecksumError: it carries another one.
    """
    spec = find_spec("econml")
    path = Path(spec.origin if spec else "econml/__init__.py").parent / "data" / "ihdp" / "sim.csv"
    if not path.is_file():
        raise files.DataUnavailable(
            f"IHDP's covariates are read from {path.name} of the econml package, which is not there: pip install econml"
        )
    (sha256,) = SOURCES.values()
    content = files.verified(path.read_bytes(), sha256, f"{path}; econml 0.16 and 0.17 carry the file that is meant")
    names, *rows = csv.reader(content.decode().splitlines())
    table = dict(zip(names, np.array(rows, np.float64).T, strict=True))
    table["first"] += 1
    kept = (table["treat"] == 0) | (table["momwhite"] == 1)
    x = np.column_stack([table[name] for name in COVARIATES])[kept]
    k = len(CONTINUOUS)
    x[:, :k] = (x[:, :k] - x[:, :k].mean(axis=0)) / x[:, :k].std(axis=0)
    return x, table["treat"][kept].astype(np.int64)


def surface_b(x: Covariates, t: Arms, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Draw Hill's response surface B: (mu0, mu1), (n,) each, mu0 = exp((x + 0.5) beta), mu1 = (x + 0.5) beta - omega.

    beta is of {0, .1, .2, .3, .4} with probabilities (.6, .1, .1, .1, .1); omega makes the treated's effect 4.
    """
    beta = rng.choice([0.0, 0.1, 0.2, 0.3, 0.4], size=x.shape[1], p=[0.6, 0.1, 0.1, 0.1, 0.1])
    linear = ((x + 0.5) * beta).sum(axis=1)  # not @, whose last bit depends on the processor
    mu0 = rounded(np.exp, linear)
    omega = (linear - mu0)[t == 1].mean() - 4
    return mu0, linear - omega


def surface_a(x: Covariates, t: Arms, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Draw Hill's response surface A: (mu0, mu1), (n,) each, mu0 = x beta, mu1 = mu0 + 4, so that every effect is 4.

    beta is of {0, 1, 2, 3, 4} with probabilities (.5, .2, .15, .1, .05).
    """
    beta = rng.choice(5, size=x.shape[1], p=[0.5, 0.2, 0.15, 0.1, 0.05])
    mu0 = (x * beta).sum(axis=1)
    return mu0, mu0 + 4


SURFACES = {"a": surface_a, "b": surface_b}


def load(seed: int, protocol: str, exchanged: bool = False, surface: str = "b") -> Problem:
    """Return one IHDP replication: pool 470, validation 75, test 202 ("paper"); the last two swapped under "code".

    With ``exchanged`` the arms change surfaces. ``surface`` is Hill's "a" or "b"; else UnknownName.
    """
    x, t = covariates()
    rng = np.random.default_rng(seed)
    check_known("surface", SURFACES, surface)
    mu0, mu1 = SURFACES[surface](x, t, rng)[:: -1 if exchanged else 1]
    y = np.where(t == 1, mu1, mu0) + rng.normal(size=t.size)
    units = Split(x.astype(np.float32), t, y, mu0, mu1)
    rest, tenth = split(np.arange(t.size), 0.1, seed)
    pool, third = split(rest, 0.3, seed)
    valid, test = (tenth, third) if protocol == "paper" else (third, tenth)
    start = rng.choice(pool.size, START, replace=False)
    name = "ihdp" + "-a" * (surface == "a") + "-exchanged" * exchanged
    return Problem(name, units[pool], units[test], start, units[valid], BATCH, QUERIES, seed, protocol, SOURCES)
