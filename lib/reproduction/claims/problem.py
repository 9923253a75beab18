"""Verdict T1: identification."""

import numpy as np

from reproduction.claims.verdict import Verdict
from reproduction.theory import identification

POPULATIONS = 200  # drawn at random


def judge_identifiability(tolerance: float = 1e-12) -> Verdict:
    """T1: 'if' on random populations that meet the assumptions, 'only if' on three that do not."""
    rng = np.random.default_rng(0)
    drawn = [identification.unconfounded_population(rng) for _ in range(POPULATIONS)]
    sufficient = max(np.abs(identification.effect(*d) - identification.adjusted_contrast(*d)).max() for d in drawn)
    confounded = identification.spread_by_treatment()
    front_door = identification.front_door()
    gaps = {
        "confounded given x": np.abs(
            identification.effect(*confounded) - identification.adjusted_contrast(*confounded)
        ).max(),
        "hidden common cause": abs(front_door["front_door"] - front_door["truth"]),
        "no overlap": identification.no_overlap(),
    }
    if sufficient > tolerance:
        return Verdict(
            "fails",
            f"'if' fails: largest error {sufficient:.1e} on {POPULATIONS} populations that meet the assumptions",
        )
    refuted = [name for name, gap in gaps.items() if gap <= tolerance]
    evidence = f"'if': error below {tolerance:.0e} on {POPULATIONS} random populations"
    if refuted:
        evidence += f"; 'only if': refuted, identified without it in {len(refuted)} cases ({', '.join(refuted)})"
    return Verdict("holds in part" if refuted else "holds", evidence)
