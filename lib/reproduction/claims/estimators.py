"""Verdict M1: whether MACAL's labelled sets also help estimators that are not the paper's."""

import pandas as pd

from macal.campaigns import results
from macal.comparison import shared
from reproduction.claims.evidence import LEVEL, MINIMUM, TURNING_POINT, standing
from reproduction.claims.verdict import Verdict

TABLES = {
    "exact GP per arm": "ihdp_gp",
    "S-learner": "ihdp_s",
    "T-learner": "ihdp_t",
    "X-learner": "ihdp_x",
}
OTHERS = ("random", "random-balanced", "qhte")


def standings(last: int = TURNING_POINT) -> pd.DataFrame:
    """MACAL against label-free methods on IHDP under each recorded estimator, up to ``last`` labels, start left out.

    Returns:
        Rows of :func:`reproduction.claims.evidence.standing`, indexed by estimator and method; empty where nothing is
        recorded.
    """
    found = {}
    for estimator, name in TABLES.items():
        try:
            table = shared(results.load(name), ("macal", *OTHERS))
        except (FileNotFoundError, ValueError):
            continue
        table = table[(table["labelled"] > table["labelled"].min()) & (table["labelled"] <= last)]
        if table["replication"].nunique() >= MINIMUM:
            found[estimator] = standing(table, "macal", OTHERS)
    return pd.concat(found, names=["estimator"]) if found else pd.DataFrame()


def judge_transfer() -> Verdict:
    """M1: ahead of Random under every estimator recorded; 'in part' under some."""
    found = standings()
    if found.empty:
        return Verdict("not tested", f"fewer than {MINIMUM} recorded replications under any other estimator")
    against = found.xs("random", level="method")
    words = set(against["standing"])
    verdict = "holds" if words == {"ahead"} else "holds in part" if "ahead" in words else "does not hold"
    shown = "; ".join(f"{name} {r.log_ratio:+.3f}, {r.standing}" for name, r in against.iterrows())
    n = int(against["replications"].min())
    return Verdict(
        verdict,
        f"IHDP up to {TURNING_POINT} labels, at least {n} replications, log ratio of MACAL to Random: {shown} "
        f"(at p < {LEVEL})",
    )
