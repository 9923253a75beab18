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
        code version on the same random labels, judged on the same units.
    """
    text, code = (version.load("ihdp") for version in (TEXT, CODE))
    found = pd.DataFrame({DISTANCES: gaps(IHDP.deciding(text), CODE.macal).get(TEXT.macal), ALL: _together(text, code)})
    return against(found, rules, family=2)


def _together(text: pd.DataFrame, code: pd.DataFrame) -> pd.Series:
    """Log ratio of both versions' errors by replication; the code's test units are the text's for validation."""
    same = IHDP.deciding(code[code["method"].isin(CONTROLS)])
    both = same.merge(text, on=["replication", "labelled", "method"], suffixes=("", "_text"))
    return np.log(both["pehe"] / both["pehe_valid_text"]).groupby(both["replication"]).mean()
