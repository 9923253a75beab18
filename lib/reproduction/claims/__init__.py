"""The ledger: every claim of the paper, what decides it, and the verdict that its numbers give.

A verdict is computed when it is asked for, by the part of the book that it belongs to. A claim whose evidence does not
exist yet says so.
"""

from functools import partial

import pandas as pd

from macal.campaigns import results
from reproduction.claims import acquired, algorithm, backbones, bounds, data, estimators, evidence, lemmas, problem, toy
from reproduction.claims.verdict import Claim, Verdict

__all__ = [
    "CLAIMS",
    "Claim",
    "Verdict",
    "acquired",
    "algorithm",
    "backbones",
    "bounds",
    "data",
    "estimators",
    "evidence",
    "lemmas",
    "problem",
    "toy",
    "verdicts",
]

CLAIMS = (
    Claim(
        "T1",
        "Proposition 1",
        "Effects are identifiable if and only if SUTVA, unconfoundedness and positivity hold",
        problem.judge_identifiability,
        "problem",
    ),
    Claim(
        "T2",
        "Appendix A.5",
        "The factual error is squared bias plus variance plus noise",
        bounds.judge_decomposition,
        "bias_variance",
    ),
    Claim(
        "T3",
        "Appendix A.1",
        "The bound keeps its tightness; bias and noise cancel between steps",
        bounds.judge_bound,
        "risk_bound",
    ),
    Claim(
        "T4", "Theorem 1", "The best choice at every step is the best choice overall", bounds.judge_greedy, "risk_bound"
    ),
    Claim(
        "T5",
        "Theorem 1 i, Lemma 2",
        "Where variance dominates, the bound falls geometrically",
        lemmas.judge_variance_lemma,
        "variance_lemma",
    ),
    Claim(
        "T6",
        "Theorem 1 ii, Lemma 3",
        "Where discrepancy dominates, the bound falls like 1/(i + c)",
        lemmas.judge_wasserstein_lemma,
        "wasserstein_lemma",
    ),
    Claim("T7", "Lemma 4", "A GP's variance never grows with data", lemmas.judge_monotonicity, "variance_lemma"),
    Claim(
        "T8",
        "Section 3.2, Conclusion",
        "A query finds the optimal batch in O(N^2) and is never NP-hard",
        algorithm.judge_cost,
        "exact_fast",
    ),
    Claim(
        "T9",
        "Section 3.2",
        "Similar pairs in x are similar pairs in the representation",
        lemmas.judge_representation,
        "wasserstein_lemma",
    ),
    Claim("F1a", "Figure 1a", "Toy: Symmetry falls fastest first, then saturates", toy.judge_symmetry, "toy"),
    Claim("F1b", "Figure 1a", "Toy: MACAL is the quickest to the lowest PEHE", toy.judge_quickest, "toy"),
    Claim(
        "F1c",
        "Figures 1b, 1c",
        "Toy: Symmetry reduces the distance fastest, Uncertainty the variance",
        toy.judge_reductions,
        "toy",
    ),
    Claim("F1d", "Figure 1", "Toy: the published curves", toy.judge_curves, "toy"),
    Claim("D1", "Table 1", "Sizes of pools, validation and test sets", data.judge_sizes, "data"),
    Claim(
        "D2",
        "Section 5.1, Appendix B.1",
        "IHDP's treated pool is exhausted at about 160 labels",
        data.judge_turning_point,
        "data",
    ),
    Claim(
        "E1", "Figures 3a, 3b", "IHDP: MACAL is ahead until about 160 labels, then ties", evidence.judge_ihdp, "ihdp"
    ),
    Claim("E2", "Figures 3c, 3d", "IBM: MACAL is lowest", partial(evidence.judge_lowest, "ibm"), "larger"),
    Claim(
        "E3",
        "Figures 3e, 3f",
        "CMNIST: MACAL is lowest by a remarkable gap",
        partial(evidence.judge_lowest, "cmnist"),
        "larger",
    ),
    Claim(
        "E4",
        "Conclusion",
        "MACAL consistently outperforms every baseline on every data set",
        evidence.judge_consistent,
        "ledger",
    ),
    Claim("E5", "Section 5.1", "Random is about as good as general active learning", evidence.judge_random, "ledger"),
    Claim("E6", "Section 5.1", "Causal methods beat general ones overall", evidence.judge_causal, "ledger"),
    Claim("E7", "Section 5.1", "No other method wins on all data sets", evidence.judge_winner, "ledger"),
    Claim("E8", "Section 5.1", "QHTE mostly underperforms", evidence.judge_qhte, "ledger"),
    Claim(
        "E9",
        "Section 5.1",
        "BALD's ratios are unstable, MACAL is markedly more stable",
        evidence.judge_stability,
        "ledger",
    ),
    Claim(
        "V1",
        "Figures 4, 6 to 8",
        "MACAL's labelled sets pair up and spread out, the others' do not",
        acquired.judge_acquired,
        "acquired",
    ),
    Claim("A1", "Figure 5", "Large alpha is best early, smaller alpha later", evidence.judge_alpha, "alpha"),
    Claim(
        "H1",
        "Table 2",
        "The tuned hyperparameters are the best of their space",
        backbones.judge_tuning,
        "backbones",
    ),
    Claim("M1", "Section 3.2", "The gain carries over to other estimators", estimators.judge_transfer, "estimators"),
    Claim("B1", "ours", "MACAL's gain is more than the balance of the arms' sizes", evidence.judge_balance, "ihdp"),
)


def verdicts() -> pd.DataFrame:
    """The ledger, one row per claim: source, claim, verdict, evidence, chapter; the call computes every verdict.

    Raises:
        FileNotFoundError: the package is installed without the book's recorded tables.
    """
    results.checkout()
    rows = [(c.key, c.source, c.text, *vars(c.judge()).values(), c.chapter) for c in CLAIMS]
    columns = ["key", "source", "claim", "verdict", "evidence", "chapter"]
    return pd.DataFrame(rows, columns=columns).set_index("key")
