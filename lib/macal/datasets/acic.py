"""ACIC 2016: covariates of a real study of births, treatment and outcomes simulated for a data challenge.

Source: V. Dorie, J. Hill, U. Shalit, M. Scott, D. Cervone, Automated versus do-it-yourself methods for causal
inference: Lessons learned from a data analysis competition, Statistical Science 34(1), 2019.

Ten responses are public; in the second and the third the effect is constant.
"""

from functools import cache
from io import BytesIO

import numpy as np
import pandas as pd

from macal.datasets import files
from macal.datasets.encoding import encoded, numbers, standardised
from macal.datasets.splits import split
from macal.problem import Problem, Split

START, BATCH, QUERIES = 20, 20, 25  # ours
RESPONSES = 10
SOURCES = {  # SHA-256 of the covariates and of the ten responses
    "x.csv": "914d4d6c8dcea14f0268bb0c0558292746cbfbff7111c71434801e8ce48cdbdf",
    "zymu_1.csv": "c77c7ba8cefeb350983d9e3918c444004b290e32f53ce028028701387898e175",
    "zymu_2.csv": "faf5ad7c584d7c2dd6eed5120de8bb5de0a738b9fc343275d7d59a05efbf8ada",
    "zymu_3.csv": "394974df8181524c3a5f0166cae961adc7e1311bf05db2050c1668879bf8e130",
    "zymu_4.csv": "478153982835c31ca5442df3dba9020a9b8b04cad2f87d5a2beae56638cdd9e9",
    "zymu_5.csv": "96b9252370b5f72da72a643b81a3233337ff274f4abbe74837e152f969f9bb87",
    "zymu_6.csv": "73cac08e9444b336417ae99696f2156b96ee096fd195a1ec118fc315571c608e",
    "zymu_7.csv": "b456f0f230fdb6b503acf691ed4efaaf59806d7a23f6ac3f7b47a6b6588292c4",
    "zymu_8.csv": "3d1d6a5646efaba235f9ed0c41c80644050d88764a1728e9411e1000266560b4",
    "zymu_9.csv": "0c3d16e75faf07b8b63c991522270f481c1570f64ebc3c24671e9805612f933e",
    "zymu_10.csv": "81fe53b05fce5cf889a5884179dff485e67e9caeabc9fc1cb0da1da39c4dba3b",
}
files.declare(
    "acic",
    {
        f"acic2016/{name}": files.pinned(
            "BiomedSciAI/causallib",
            "aa73b8fd9f8d5fbd6cd7db78e0f0c2f24a70f713",
            f"causallib/datasets/data/acic_challenge_2016/{name}",
            sha256,
        )
        for name, sha256 in SOURCES.items()
    },
)


@cache
def table(response: int) -> pd.DataFrame:
    """All 4,802 units with response 1 to 10: covariates ``x_1`` to ``x_58``, ``z``, ``y0``, ``y1``, ``mu0``, ``mu1``.

    Three covariates hold letters. Raises as :func:`macal.datasets.files.read`.
    """
    parts = [pd.read_csv(BytesIO(files.read(name))) for name in _sources(response)]
    return pd.concat(parts, axis=1)


def _sources(response: int) -> tuple[str, str]:
    return "acic2016/x.csv", f"acic2016/zymu_{response}.csv"


def load(seed: int, protocol: str) -> Problem:
    """Return one ACIC 2016 replication: 2,700 units in the pool, 901 for validation, 1,201 for test.

    Seeds 0 to 9 are the ten responses, 10 to 19 the same under other splits, and so on. Numbers are standardised with
    the pool's means and s.d.s, letters become 0/1 columns: 82 covariates. ``mu0`` and ``mu1`` are free of noise. The
    protocols do not differ here. Raises as :func:`macal.datasets.files.read`.
    """
    response = seed % RESPONSES + 1
    units = table(response)
    rest, test = split(np.arange(len(units)), 0.25, seed)
    pool, valid = split(rest, 0.25, seed)
    columns = {name: numbers(units[name], name) for name in units if name.startswith("x_")}
    x = encoded(columns, pool, standardised).astype(np.float32)
    t, y0, y1, mu0, mu1 = (units[name].to_numpy() for name in ("z", "y0", "y1", "mu0", "mu1"))
    splits = [Split(x, t, np.where(t == 1, y1, y0), mu0, mu1)[rows] for rows in (pool, test, valid)]
    start = np.random.default_rng(seed).choice(pool.size, START, replace=False)
    sources = {name: files.FILES[name].sha256 for name in _sources(response)}
    return Problem("acic", *splits[:2], start, splits[2], BATCH, QUERIES, seed, protocol, sources)
