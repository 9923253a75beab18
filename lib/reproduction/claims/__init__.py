"""The ledger: every claim of the paper, what decides it, and the verdict that its numbers give."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pandas as pd

from macal.campaigns import results
from reproduction.claims import (
    absolute_errors,
    algorithm,
    backbones,
    bench,
    bounds,
    comparison,
    data,
    estimators,
    families,
    gain,
    labelled_sets,
    leads,
    lemmas,
    problem,
    readings,
    toy,
    weights,
)
from reproduction.claims.readings import BALD, BASELINES, CODE, GENERAL, WRITTEN
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.scale import Compared, Scale
from reproduction.claims.verdict import Claim, Verdict, regardless

__all__ = [
    "CLAIMS",
    "RULES",
    "Claim",
    "Rules",
    "Verdict",
    "absolute_errors",
    "algorithm",
    "backbones",
    "bench",
    "bounds",
    "data",
    "estimators",
    "families",
    "gain",
    "labelled_sets",
    "leads",
    "lemmas",
    "problem",
    "readings",
    "comparison",
    "toy",
    "verdicts",
    "weights",
]

BOTH = (WRITTEN, CODE)
ALL = tuple(WRITTEN.tables)
TOY = Compared(("toy",), lambda _: toy.PAPER)
BASELINES_ON = {name: Compared((name,), lambda _: BASELINES) for name in ALL}
EVERYWHERE = Compared(ALL, lambda _: BASELINES)
TOGETHER = replace(EVERYWHERE, together=True)

CLAIMS = (
    Claim(
        "T1",
        "Proposition 1",
        "Effects are identifiable if and only if SUTVA, unconfoundedness and positivity hold",
        regardless(problem.judge_identifiability),
        "problem",
    ),
    Claim(
        "T2",
        "Appendix A.5",
        "The factual error is squared bias plus variance plus noise",
        regardless(bounds.judge_decomposition),
        "bias_variance",
    ),
    Claim(
        "T3",
        "Appendix A.1",
        "The bound keeps its tightness; bias and noise cancel between steps",
        regardless(bounds.judge_bound),
        "risk_bound",
    ),
    Claim(
        "T4",
        "Theorem 1",
        "The best choice at every step is the best choice overall",
        regardless(bounds.judge_greedy),
        "greedy",
    ),
    Claim(
        "T5",
        "Theorem 1 i, Lemma 2",
        "Where variance dominates, the bound falls geometrically",
        regardless(lemmas.judge_variance_lemma),
        "variance_lemma",
    ),
    Claim(
        "T6",
        "Theorem 1 ii, Lemma 3",
        "Where discrepancy dominates, the bound falls like 1/(i + c)",
        regardless(lemmas.judge_wasserstein_lemma),
        "wasserstein_lemma",
    ),
    Claim(
        "T7",
        "Lemma 4",
        "A GP's variance never grows with data",
        regardless(lemmas.judge_monotonicity),
        "variance_lemma",
    ),
    Claim(
        "T8",
        "Section 3.2, Conclusion",
        "A query finds the optimal batch in O(N^2) and is never NP-hard",
        regardless(algorithm.judge_cost),
        "exact_fast",
    ),
    Claim(
        "T9",
        "Section 3.2",
        "Similar pairs in x are similar pairs in the representation",
        regardless(lemmas.judge_representation),
        "wasserstein_lemma",
    ),
    Claim(
        "F1a", "Figure 1a", "Toy: Symmetry falls fastest first, then saturates", toy.judge_symmetry, "toy", compares=TOY
    ),
    Claim("F1b", "Figure 1a", "Toy: MACAL is the quickest to the lowest PEHE", toy.judge_quickest, "toy", compares=TOY),
    Claim(
        "F1c",
        "Figures 1b, 1c",
        "Toy: Symmetry reduces the distance fastest, Uncertainty the variance",
        toy.judge_reductions,
        "toy",
        compares=TOY,
    ),
    Claim("F1d", "Figure 1", "Toy: the published curves", toy.judge_curves, "toy", compares=TOY),
    Claim("D1", "Table 1", "Sizes of pools, validation and test sets", regardless(data.judge_sizes), "data"),
    Claim(
        "D2",
        "Section 5.1, Appendix B.1",
        "IHDP's treated pool is exhausted at about 160 labels",
        regardless(data.judge_turning_point),
        "data",
    ),
    Claim(
        "E1",
        "Figures 3a, 3b",
        "IHDP: MACAL is ahead until about 160 labels, then ties",
        leads.judge_ihdp,
        "ihdp",
        BOTH,
        BASELINES_ON["ihdp"],
    ),
    Claim(
        "E2",
        "Figures 3c, 3d",
        "IBM: MACAL is lowest",
        partial(leads.judge_lowest, dataset="ibm"),
        "larger",
        BOTH,
        BASELINES_ON["ibm"],
    ),
    Claim(
        "E3",
        "Figures 3e, 3f",
        "CMNIST: MACAL is lowest by a remarkable gap",
        partial(leads.judge_lowest, dataset="cmnist"),
        "larger",
        BOTH,
        BASELINES_ON["cmnist"],
    ),
    Claim(
        "E4",
        "Conclusion",
        "MACAL consistently outperforms every baseline on every data set",
        leads.judge_consistent,
        "ledger",
        BOTH,
        EVERYWHERE,
    ),
    Claim(
        "E5",
        "Section 5.1",
        "Random is about as good as general active learning",
        families.judge_random,
        "ledger",
        BOTH,
        Compared(ALL, lambda _: GENERAL, lambda _: "random"),
    ),
    Claim(
        "E6",
        "Section 5.1",
        "Causal methods beat general ones overall",
        families.judge_causal,
        "ledger",
        BOTH,
        Compared(ALL, lambda _: (*BALD, *GENERAL), together=True),
    ),
    Claim(
        "E7", "Section 5.1", "No other method wins on all data sets", families.judge_winner, "ledger", BOTH, TOGETHER
    ),
    Claim("E8", "Section 5.1", "QHTE mostly underperforms", families.judge_qhte, "ledger", BOTH, TOGETHER),
    Claim(
        "E9",
        "Section 5.1",
        "BALD's ratios are unstable, MACAL is markedly more stable",
        families.judge_stability,
        "ledger",
        BOTH,
        Compared(ALL, lambda _: families.RATIOS, together=True),
    ),
    Claim(
        "V1",
        "Figures 4, 6 to 8",
        "MACAL's labelled sets pair up and spread out, the others' do not",
        labelled_sets.judge_labelled_sets,
        "acquired",
        BOTH,
    ),
    Claim(
        "A1",
        "Figure 5",
        "Large alpha is best early, smaller alpha later",
        weights.judge_alpha,
        "alpha",
        BOTH,
        Compared(ALL, lambda reading: tuple(reading.weights), whole=True, together=True),
    ),
    Claim(
        "H1",
        "Table 2",
        "The tuned hyperparameters are the best of their space",
        backbones.judge_tuning,
        "backbones",
    ),
    Claim(
        "M1", "Section 3.2", "The gain carries over to other estimators", estimators.judge_transfer, "estimators", BOTH
    ),
    Claim(
        "B1", "ours", "MACAL's gain is more than the balance of the arms' sizes", estimators.judge_balance, "ihdp", BOTH
    ),
    Claim("W1", "ours", "IHDP: allocation to arms sets the sign of MACAL's gain", gain.judge_allocation, "gain"),
    Claim(
        "W2",
        "ours",
        "The weight of similarity does the opposite of what the surfaces' correlation and sizes predict",
        gain.judge_similarity,
        "gain",
    ),
    Claim("W3", "ours", "The code's lead on IHDP is an escape from a collapsed model", gain.judge_escape, "gain"),
    Claim("S1", "Wen et al. 2025b", "FCCM has a lower error than MACAL", bench.judge_fccm, "instead"),
    Claim(
        "S2",
        "Gao et al. 2025",
        "The estimator decides which of Causal-EPIG's two targets is better",
        bench.judge_targets,
        "instead",
    ),
    Claim("S3", "ours", "One criterion is within 5 % of the best everywhere", bench.judge_regret, "instead"),
)


def verdicts(rules: Rules = RULES) -> pd.DataFrame:
    """The ledger, a row per claim; the call computes every verdict.

    Returns:
        By ``key``: ``source``, ``claim``, ``verdict``, ``evidence`` and ``scale`` (as written), ``verdict_code``,
        ``evidence_code`` and ``scale_code`` (as the published code runs; empty where a claim has no such reading),
        ``chapter``. A scale says what is recorded of the paper's replications, methods and sizes; it is empty where a
        claim compares none of the paper's methods.

    Raises:
        FileNotFoundError: the package is installed without the book's recorded tables.
    """
    results.checkout()
    rows = []
    for claim in CLAIMS:
        judged, scales = claim.verdicts(rules), [join_scales(scales) for scales in claim.scales()]
        written, code = [*((v.verdict, v.evidence, scale) for v, scale in zip(judged, scales, strict=True)), ("",) * 3][
            :2
        ]
        rows.append((claim.key, claim.source, claim.text, *written, *code, claim.chapter))
    parts = ["verdict", "evidence", "scale"]
    columns = ["key", "source", "claim", *parts, *(f"{part}_code" for part in parts), "chapter"]
    return pd.DataFrame(rows, columns=columns).set_index("key")


def of_others(ledger: pd.DataFrame) -> pd.Series:
    """Whether each claim of :func:`verdicts` is the book's own or another paper's, by its key."""
    return ledger["source"].str.fullmatch(r"ours|.+ et al\. \d+\w?")


def join_scales(scales: Iterable[Scale]) -> str:
    """Say what is recorded for a claim, data set by data set."""
    return "; ".join(map(str, scales))
