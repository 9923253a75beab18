"""IBM (LBIDD): covariates of real births, treatment and outcomes simulated by IBM's causal benchmark.

Source: Shimoni et al. 2018. The covariates derive from linked birth and infant death records of the US National Center
for Health Statistics; see :data:`NOTICE`.
"""

from functools import lru_cache
from io import BytesIO

import numpy as np

from macal.datasets import files
from macal.optional import needed
from macal.problem import Problem, Split
from macal.registry import UnknownName
from macal.shapes import Arms, Covariates, Outcomes

NOTICE = (
    "These covariates come from records of the National Center for Health Statistics (NCHS). By law they serve health "
    "statistical reporting and analysis alone. Nobody may try to learn who a record is about, use an identity found by "
    "accident (tell the director of the NCHS instead), or link the records with data that identify people. Whoever "
    "uses the data agrees to that."
)
START, BATCH, QUERIES = 50, 50, 50  # Table 1 of the paper
UNITS = 25_000  # per replication
INSTANCE = "6d2e2a79f5ec486a8702ab3c443cb88e"  # the one public instance that gives Table 1's sizes
AGE = 7  # column `mager9`, the mother's age in nine classes
COVARIATES = "ibm/covariates.parquet"


def instances() -> list[str]:
    """Names of the ten public instances, the default first."""
    return sorted(files.LBIDD_INSTANCES, key=lambda ufid: (ufid != INSTANCE, ufid))


def _sources(instance: str) -> tuple[str, str, str]:
    return COVARIATES, f"ibm/scaling/{instance}.csv", f"ibm/scaling/{instance}_cf.csv"


@lru_cache(maxsize=1)
def table(instance: str = INSTANCE) -> tuple[Covariates, Arms, Outcomes, Outcomes, Outcomes]:
    """Read all units of an instance.

    Args:
        instance: one of :func:`instances`.

    Returns:
        Covariates (n, 177), treatment (n,), observed outcome (n,), and both potential outcomes, (n,) each: the files
        hold them with their noise, which the arms share, so that it drops out of the effect. Read-only.

    Raises:
        UnknownName: no such instance.
        DataUnavailable: the files are not on this machine and could not be downloaded.
        ChecksumError: a file is not the one that is meant.
    """
    import pandas as pd

    if instance not in files.LBIDD_INSTANCES:
        raise UnknownName("instance", instance, instances())
    births, factual, both = map(files.read, _sources(instance))
    factual, both = (pd.read_csv(BytesIO(c), index_col="sample_id") for c in (factual, both))
    both = both.loc[factual.index]
    with needed("pyarrow", "IBM's covariates"):
        births = pd.read_parquet(BytesIO(births))
    x = births.set_index("sample_id").loc[factual.index].to_numpy(np.float64)
    arrays = x, *(column.to_numpy() for column in (factual["z"], factual["y"], both["y0"], both["y1"]))
    for array in arrays:
        array.flags.writeable = False
    return arrays


def dropped(age: np.ndarray, t: Arms) -> np.ndarray:
    """Mark what the bias step removes from the training part: treated units at or below the mean age class, (n,) bool.

    The authors' condition is that the standardised class lies in [-3, 0].

    Args:
        age: the mother's age class, (n,).
        t: treatment, (n,).
    """
    z = (age - age.mean()) / age.std()
    return (t == 1) & (z >= -3) & (z <= 0)


def load(seed: int, protocol: str, instance: str = INSTANCE) -> Problem:
    """Return one IBM replication: about 9,540 units in the pool, 3,180 for validation, 6,250 for test.

    25,000 units are drawn from the instance; a quarter is the test set and stays as it is; the rest loses the units of
    :func:`dropped` and is divided 3:1. Covariates are standardised with the pool's means and s.d.s (one that does not
    vary in the pool is only centred); ``y_scale`` holds the pool's mean and s.d. of the outcome. The protocols do not
    differ here.

    Use of the data is restricted; see :data:`NOTICE`: statistics only, no attempt to identify anyone.

    Raises:
        UnknownName: no such instance.
        DataUnavailable: the files are not on this machine and could not be downloaded.
        ChecksumError: a file is not the one that is meant.
    """
    from sklearn.model_selection import train_test_split

    x, t, y, y0, y1 = table(instance)
    rng = np.random.default_rng(seed)
    rest, test = train_test_split(rng.choice(t.size, UNITS, replace=False), test_size=0.25, random_state=seed)
    rest = rest[~dropped(x[rest, AGE], t[rest])]
    pool, valid = train_test_split(rest, test_size=0.25, random_state=seed)
    start = rng.choice(pool.size, START, replace=False)
    mean, sd = x[pool].mean(axis=0), x[pool].std(axis=0)
    sd[np.ptp(x[pool], axis=0) == 0] = 1
    scaled = [((x[rows] - mean) / sd).astype(np.float32) for rows in (pool, test, valid)]
    outcomes = [(t[rows], y[rows], y0[rows], y1[rows]) for rows in (pool, test, valid)]
    splits = [Split(own, *rest) for own, rest in zip(scaled, outcomes, strict=True)]
    sources = {name: files.FILES[name].sha256 for name in _sources(instance)}
    y_scale = float(y[pool].mean()), float(y[pool].std())
    return Problem("ibm", *splits[:2], start, splits[2], BATCH, QUERIES, seed, protocol, sources, y_scale)
