"""What the public code's choices change on IHDP: its distances alone, and all of them together."""

import numpy as np
import pandas as pd

from macal.comparison import gaps
from reproduction.benchmarks import IHDP
from reproduction.claims.comparison import against
from reproduction.claims.estimators import CONTROLS
from reproduction.claims.rules import Rules
from reproduction.claims.versions import CODE, TEXT

DISTANCES, ALL = "squared distances", "all choices"


def choices(rules: Rules) -> pd.DataFrame:
    """Errors by the code's choices over errors by the text's, a family of two.

    Returns:
        Rows of :func:`reproduction.claims.comparison.against`: ``DISTANCES``, MACAL's in the text version; ``ALL``, the
        code version on the same randomly selected labels, judged on the same units.
    """
    text, code = (version.load("ihdp") for version in (TEXT, CODE))
    # the code's test units are the text's for validation
    both = IHDP.deciding(code[code["method"].isin(CONTROLS)]).merge(
        text, on=["replication", "labelled", "method"], suffixes=("", "_text")
    )
    together = np.log(both["pehe"] / both["pehe_valid_text"]).groupby(both["replication"]).mean()
    distances = gaps(IHDP.deciding(text), CODE.macal).get(TEXT.macal)
    return against(pd.DataFrame({DISTANCES: distances, ALL: together}), rules, family=2)
