"""IBM (LBIDD): covariates of real births, treatment and outcomes simulated by IBM's causal benchmark.

Source: Shimoni et al. 2018. The covariates derive from linked birth and infant death records of the US National Center
for Health Statistics; see :data:`NOTICE`.
"""

from functools import lru_cache
from io import BytesIO

import numpy as np

from macal.datasets import files
from macal.datasets.splits import split
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


def _sources(instance: str) -> tuple[str, str, str]:
    return COVARIATES, f"ibm/scaling/{instance}.csv", f"ibm/scaling/{instance}_cf.csv"


LBIDD_INSTANCES = {  # SHA-256 of the factual and of the counterfactual table
    "194fe0e3c1644d41a5085b92d2fe7e54": (
        "8a80571c05c544fee9fd8b7354b79c6b705ccd309fa25a6dc46a0516952c51ff",
        "4db29418ff8d41e5d0ddcb613963e0e8d0db2547e306bb6ebc7d90f9fffa779b",
    ),
    "1f8b1ffc247b45f884e95d8ca4989fd9": (
        "8aa131a5b95a6eadc34e8dff1d827d39ed4d77970b97f355d23f7d56b13142a2",
        "d48e5c56f86400c6764b00195bc1a42d35a4354516f92a65ee0640d430dd32aa",
    ),
    "2974def923b14e7884596f4d9ae506c7": (
        "116a4ccf771d25d5ada676bb658348185d2bb5e01f15e4d629a8cb4742a62dca",
        "1c9400bd2396c3a40f26e4ef7982a21c447a15205cca3168b0387b5974585a3a",
    ),
    "5227bb5fc1324e31a2f3e12bce9135bf": (
        "78925e474390bc00a99ced83b041b65182544944fa36ecc2a510c85e310c34c6",
        "24645f5f239427e55c0b5ab80fec92e683c91d97b70d1068d7ab0931637c5e0d",
    ),
    "53690f224aaa415bb2cd2e5a8656c099": (
        "89ff7cb2e1a3012e2e0892c0b12348327903eda9d5965a2038a7e7251903fc08",
        "24799fdff1f6e8dd7ef3ccb42b732b0832d8788d06df96479ef2c890b7fbc1f7",
    ),
    "59096d7a6c4e42339afd4502f5f2f06c": (
        "eb1b17eea46a34aacfe239334b9de91c0c72172107f22c48512ca127c2c1ab59",
        "1f7ef60860cf8d5200cc852ad4ab740a29bf06c2abae8835d38d3795228f141d",
    ),
    "6d2e2a79f5ec486a8702ab3c443cb88e": (
        "b0adac62851e42ec29dcb8edc72e214f861ff9197fb8a7c2648fc88d90c15dc3",
        "cdb2347971db39ff694824b1bd77995a0a9104773654b2c80e742a42c442859d",
    ),
    "9d5249efba244308a93f54d7ff7cad7b": (
        "ad60449cd8a67a2867db29b94398f9cba782bdfdfac31fb9b2b1c6da0307b956",
        "5d7aa00e066797eced29ed8157919ee414d374ab5a8101bf570a29cbb3821fb7",
    ),
    "d4ad7285da1248759990d167c7d1af0d": (
        "eba58566199b28ec1678fff92226b62c524cdd8b6a95986e84e1d878686005a7",
        "86c6a298dd541634ddb4fe8e5d1fbc0b003f5a60a538a1a1c3010f4bf6a92820",
    ),
    "dca9ecaff8194a4b9ccd940893adb543": (
        "4c243419605cfc5b5aef643376263bd9c2e17a16090113fcc6e11daa95ee0962",
        "9ac2d395600e41cec6c178a8eb9c5d25219ea3ca9a509bb7b9f406a662005042",
    ),
}
files.declare(
    "ibm",
    {
        COVARIATES: files.pinned(
            "inovex/justcause-data",
            "cb548cbe71bcc857efaf8fdf97a503262a116b44",
            COVARIATES,
            "998cd1b7452a6cc659d5c25557fb9aeb0a9a1181132e9deb5a6ca6039936815d",
        )
    }
    | {
        name: files.pinned(
            "IBM-HRL-MLHLS/IBM-Causal-Inference-Benchmarking-Framework",
            "fa3d17af22521e2d41b4c734f9148365b7dc92fd",
            name.replace("ibm", "data/LBIDD"),
            sha256,
        )
        for instance, sums in LBIDD_INSTANCES.items()
        for name, sha256 in zip(_sources(instance)[1:], sums, strict=True)
    },
    _sources(INSTANCE),
)


def instances() -> list[str]:
    """Names of the ten public instances, the default first."""
    return sorted(LBIDD_INSTANCES, key=lambda ufid: (ufid != INSTANCE, ufid))


@lru_cache(maxsize=1)
def table(instance: str = INSTANCE) -> tuple[Covariates, Arms, Outcomes, Outcomes, Outcomes]:
    """Read all units of an instance, one of :func:`instances`.

    Returns:
        Read-only covariates (n, 177), treatment, outcome and both potential outcomes, (n,) each, with noise.

    Raises:
        UnknownName: no such instance.
        DataUnavailable, ChecksumError: see :func:`macal.datasets.files.read`.
    """
    import pandas as pd

    if instance not in LBIDD_INSTANCES:
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
    """Mark, (n,), what the bias step removes from the training part: treated units at or below the mean age class.

    The authors' condition is that the standardised class lies in [-3, 0].
    """
    z = (age - age.mean()) / age.std()
    return (t == 1) & (z >= -3) & (z <= 0)


def load(seed: int, protocol: str, instance: str = INSTANCE) -> Problem:
    """Return one IBM replication: about 9,540 units in the pool, 3,180 for validation, 6,250 for test.

    25,000 units are drawn from the instance; a quarter is the test set and stays as it is; the rest loses the units of
    :func:`dropped` and is divided 3:1. Covariates are standardised by the pool; ``y_scale`` holds the pool's mean and
    s.d. of the outcome. The protocols do not differ here.

    Use is restricted, see :data:`NOTICE`: statistics only, no attempt to identify anyone. Raises as :func:`table`.
    """
    x, t, y, y0, y1 = table(instance)
    rng = np.random.default_rng(seed)
    rest, test = split(rng.choice(t.size, UNITS, replace=False), 0.25, seed)
    rest = rest[~dropped(x[rest, AGE], t[rest])]
    pool, valid = split(rest, 0.25, seed)
    start = rng.choice(pool.size, START, replace=False)
    own = x[pool]
    mean, sd = own.mean(axis=0), own.std(axis=0)
    sd[np.ptp(own, axis=0) == 0] = 1
    scaled = [((x[rows] - mean) / sd).astype(np.float32) for rows in (pool, test, valid)]
    outcomes = [(t[rows], y[rows], y0[rows], y1[rows]) for rows in (pool, test, valid)]
    splits = [Split(own, *rest) for own, rest in zip(scaled, outcomes, strict=True)]
    sources = {name: files.FILES[name].sha256 for name in _sources(instance)}
    y_scale = float(y[pool].mean()), float(y[pool].std())
    return Problem("ibm", *splits[:2], start, splits[2], BATCH, QUERIES, seed, protocol, sources, y_scale)
