"""The ledger: every claim of the paper, what decides it, and the verdict that its numbers give.

A claim is declared here, once; ``results/claims.json``, the ledger and the rules in words come from its declaration.
"""

from functools import partial
from itertools import combinations

from reproduction.benchmarks import BALD, BASELINES, CMNIST, GENERAL, IBM, IHDP, PAPER, TOY
from reproduction.claims import (
    algorithm,
    backbones,
    bench,
    bounds,
    data,
    estimators,
    families,
    gain,
    labelled_sets,
    leads,
    lemmas,
    problem,
    toy,
    weights,
)
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.scale import Compared
from reproduction.claims.verdict import Claim, Rule, Verdict, regardless
from reproduction.claims.versions import CODE, EXACT, LEARNERS, TEXT

__all__ = ["CLAIMS", "RULES", "Claim", "Rules", "Verdict"]

BOTH = (CODE, TEXT)
EVERYWHERE = tuple(tuple(version.tables.values()) for version in BOTH)
ESTIMATORS = tuple(name for version in (EXACT, *LEARNERS) for name in version.tables.values())
COMPARED = Compared((TOY,), lambda _: toy.PAPER)
TOGETHER = Compared(tuple(PAPER.values()), lambda _: BASELINES, together=True)
SEVERAL = (
    "fails where one baseline is ahead of MACAL; else open while half of them or more have not been run; else in part"
    " where MACAL is ahead of some and has no lead on others; open where a comparison is open; fails where MACAL is"
    " ahead of none; holds where it is ahead of all, in part if some baseline has not been run"
)
MIXED = (
    "cases that agree have their word; in part where some support and others refute it, or where one holds in part; any"
    " other mixture is open"
)
CASES = f"{MIXED}; in part at best until all three data sets are judged"
CASE = "a case holds where ahead, is open where open, else fails"
ONE, ONE_CASE = f"{CASE}; {CASES}", f"{CASE}; {MIXED}"
WEIGHTS = Compared(tuple(PAPER.values()), lambda version: tuple(version.weights), whole=True, together=True)
EIGHT, PAIRS = str(len(BASELINES)), len(list(combinations(CODE.weights, 2)))
TOY_FAMILY = "1; bootstrap intervals"
LESS = "a case holds where all its intervals lie below 0, fails where one excludes a lead of 10%"


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
        "F1a",
        "Figure 1a",
        "Toy: Symmetry falls fastest first, then saturates",
        toy.judge_symmetry,
        "toy",
        Rule(
            "PEHE on the toy, mean log ratios: Symmetry with Random and Uncertainty at 35 to 65 labels, Uncertainty"
            " with Symmetry at 165 to 265",
            TOY_FAMILY,
            LESS,
        ),
        compares=COMPARED,
    ),
    Claim(
        "F1b",
        "Figure 1a",
        "Toy: MACAL is the quickest to the lowest PEHE",
        toy.judge_quickest,
        "toy",
        Rule(
            "MACAL with the figure's other three methods by the labels at which one first comes within 10% of the"
            " replication's lowest final PEHE among these four (never: one step beyond the last size)",
            TOY_FAMILY,
            "holds where the difference is surely below 0 for all three; fails where an interval lies above 0",
        ),
        compares=COMPARED,
        on_errors=False,
    ),
    Claim(
        "F1c",
        "Figures 1b, 1c",
        "Toy: Symmetry reduces the distance fastest, Uncertainty the variance",
        toy.judge_reductions,
        "toy",
        Rule(
            "mean log ratios over all sizes after the start: Symmetry's distance W1 and Uncertainty's variance with"
            " those of the other two simple methods",
            TOY_FAMILY,
            LESS,
        ),
        compares=COMPARED,
        on_errors=False,
    ),
    Claim("F1d", "Figure 1", "Toy: the published curves", toy.judge_curves, "toy", compares=COMPARED),
    Claim(
        "D1",
        "Table 1",
        "Sizes of pools, validation and test sets",
        regardless(data.judge_sizes),
        "data",
        tables=tuple(f"replications_{name}" for name in PAPER),
    ),
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
        Rule(
            "MACAL with the eight baselines; up to 160 labels, and later, as two cases",
            EIGHT,
            f"the first case: {SEVERAL}. The second: fails where one is ahead or behind, holds where all intervals lie"
            f" within 10%, in part if some baseline has not been run; else open. {MIXED.capitalize()}",
        ),
        BOTH,
        Compared((IHDP,), lambda _: BASELINES),
    ),
    Claim(
        "E2",
        "Figures 3c, 3d",
        "IBM: MACAL is lowest",
        partial(leads.judge_lowest, dataset=IBM),
        "ibm",
        Rule("MACAL with the eight baselines over the whole campaign", EIGHT, SEVERAL),
        BOTH,
        Compared((IBM,), lambda _: BASELINES),
    ),
    Claim(
        "E3",
        "Figures 3e, 3f",
        "CMNIST: MACAL is lowest by a remarkable gap",
        partial(leads.judge_lowest, dataset=CMNIST),
        "cmnist",
        Rule("MACAL with the eight baselines over the whole campaign", EIGHT, SEVERAL),
        BOTH,
        Compared((CMNIST,), lambda _: BASELINES),
    ),
    Claim(
        "E4",
        "Conclusion",
        "MACAL consistently outperforms every baseline on every data set",
        leads.judge_consistent,
        "ledger",
        Rule(
            "E2, E3 and the first case of E1",
            EIGHT,
            "the first word in this list that one of them has: fails, open, holds in part, holds",
        ),
        BOTH,
        Compared(tuple(PAPER.values()), lambda _: BASELINES),
    ),
    Claim(
        "E5",
        "Section 5.1",
        "Random is about as good as general active learning",
        families.judge_random,
        "ledger",
        Rule(
            "Random with BADGE, BAIT and LCMD; by data set",
            str(len(GENERAL)),
            "as good: the interval lies within 10%; different: ahead or behind, and not as good. A case is open with"
            " one of the three; holds where all are as good, in part where only two were run; fails where all differ;"
            f" in part where both occur; else open; {CASES}",
        ),
        BOTH,
        Compared(tuple(PAPER.values()), lambda _: GENERAL, lambda _: "random"),
    ),
    Claim(
        "E6",
        "Section 5.1",
        "Causal methods beat general ones overall",
        families.judge_causal,
        "ledger",
        Rule(
            "mean log PEHE of MACAL and the three BALD (the causal methods) less the mean of BADGE, BAIT and LCMD, at"
            " replications and sizes that all seven share, at least three replications; by data set",
            "1",
            ONE,
        ),
        BOTH,
        Compared(tuple(PAPER.values()), lambda _: (*BALD, *GENERAL), together=True),
    ),
    Claim(
        "E7",
        "Section 5.1",
        "No causal baseline consistently beats the general methods on all data sets",
        families.judge_winner,
        "ledger",
        Rule(
            "QHTE and the three BALD (the causal baselines), each with BADGE, BAIT and LCMD; by data set",
            str(len(families.CAUSAL) * len(GENERAL)),
            "holds where each of the four is behind, or without a lead on, one of the three on some data set; fails"
            " where one of the four is ahead of all three on all data sets; else open",
        ),
        BOTH,
        Compared(tuple(PAPER.values()), lambda _: (*families.CAUSAL, *GENERAL), lambda _: ""),
    ),
    Claim(
        "E8",
        "Section 5.1",
        "QHTE mostly underperforms",
        families.judge_qhte,
        "ledger",
        Rule(
            "QHTE with the eight others, where all nine share three replications; by data set",
            EIGHT,
            "its place is at best 1 plus the number ahead of it, at worst 9 less the number behind it. Holds where it"
            " is surely 7th or worse on most data sets; fails where it is surely 4th or better on all; in part where it"
            " is surely 5th or worse on at least one, and possibly 7th or worse on at most half; else open",
        ),
        BOTH,
        TOGETHER,
    ),
    Claim(
        "E9",
        "Section 5.1",
        "BALD's ratios are unstable, MACAL is markedly more stable",
        families.judge_stability,
        "ledger",
        Rule(
            "MACAL with rho-BALD and mu-rho-BALD by roughness, the mean distance of log PEHE from the mean of its two"
            " neighbours in size, at replications and sizes that all three share; by data set",
            str(len(families.RATIOS)),
            "a case holds where ahead of both, fails where behind or without a lead on both, in part where ahead of one"
            f" only, neither open; else open; {CASES}",
        ),
        BOTH,
        Compared(tuple(PAPER.values()), lambda _: families.RATIOS, together=True),
    ),
    Claim(
        "V1",
        "Figures 4, 6 to 8",
        "MACAL's labelled sets pair up and spread out, the others' do not",
        labelled_sets.judge_labelled_sets,
        "acquired",
        Rule(
            "MACAL with each other method of Figures 4 and 6 to 8, by the distance to the counterpart and by the"
            " covering radius; by data set and step",
            str(len(labelled_sets.OTHERS)),
            f"{SEVERAL}, of those recorded; then steps, data sets and measures as cases: {MIXED}",
        ),
        BOTH,
        on_errors=False,
        tables=tuple(tuple(labelled_sets.TABLES[version].values()) for version in BOTH),
    ),
    Claim(
        "V2",
        "Section 5.2",
        "Mu-rho-BALD's labelled sets are slightly more spread out than Random's",
        labelled_sets.judge_spread,
        "acquired",
        Rule("mu-rho-BALD with Random by the covering radius; by data set and step", "1", ONE_CASE),
        BOTH,
        on_errors=False,
        tables=tuple(tuple(labelled_sets.TABLES[version].values()) for version in BOTH),
    ),
    Claim(
        "A1",
        "Figure 5",
        "Large alpha is best early, smaller alpha later",
        weights.judge_alpha,
        "alpha",
        Rule(
            "lead of the weights 5 and 10 over 0 and 1 in mean log PEHE: last range of label counts minus first; ranges"
            " end at 60, 160 and 460 labels on IHDP, 500, 1,300 and 2,550 on IBM, 700, 1,350 and 2,550 on CMNIST; by"
            " data set",
            "1",
            ONE,
        ),
        BOTH,
        WEIGHTS,
    ),
    Claim(
        "A2",
        "Section 5.3",
        "The benefit of the similarity term is not trivial",
        weights.judge_benefit,
        "alpha",
        Rule(
            "the weights 1, 2.5, 5 and 10 with 0 over the whole campaign; by data set",
            str(len(CODE.weights) - 1),
            "a case holds where one is ahead and none behind, in part where both occur, is open where none is ahead and"
            f" one open, else fails; {CASES}",
        ),
        BOTH,
        WEIGHTS,
    ),
    Claim(
        "A3",
        "Section 5.3",
        "No single alpha is best throughout",
        weights.judge_no_single,
        "alpha",
        Rule(
            "each of the five weights with each other in the three ranges of A1; by data set",
            f"{len(IHDP.stretches) * PAIRS}, or {PAIRS} for each range that is recorded",
            "a case holds where each weight is behind another, or without a lead on it, in some range; fails where"
            f" one is ahead of all others in all; else open; {CASES}",
        ),
        BOTH,
        WEIGHTS,
    ),
    Claim(
        "H1",
        "Table 2",
        "The tuned hyperparameters are the best of their space",
        backbones.judge_tuning,
        "backbones",
        tables=("tuning",),
    ),
    Claim(
        "M1",
        "Section 1, Section 3.2",
        "A gain is observed across all estimators and data sets",
        estimators.judge_transfer,
        "estimators",
        Rule(
            "MACAL with Random; by estimator (exact processes, S-, T-, X-learner) and data set, up to 160 labels on"
            " IHDP",
            EIGHT,
            ONE_CASE,
        ),
        BOTH,
        tables=(ESTIMATORS, ESTIMATORS),
    ),
    Claim(
        "B1",
        "ours",
        "MACAL's gain is more than equal allocation to the arms",
        estimators.judge_balance,
        "ihdp",
        Rule(
            "MACAL with Random and with equal allocation; by data set, up to 160 labels on IHDP, and estimator: the"
            " version's own, in the text version M1's, too",
            f"{EIGHT} with Random, as in E1 to E3; 1 with equal allocation",
            f"{SEVERAL}, of the two; {MIXED}",
        ),
        BOTH,
        origin="ours",
        tables=(EVERYWHERE[0], (*EVERYWHERE[1], *ESTIMATORS)),
    ),
    Claim(
        "W1",
        "ours",
        "IHDP, six fast estimators: allocation to arms sets the sign of MACAL's gain",
        gain.judge_allocation,
        "gain",
        Rule(
            "allocation, unit selection and gain, on IHDP and with its surfaces swapped; by estimator",
            f"{gain.FAMILY}: within a surface Holm takes the smallest p times {gain.FAMILY}, the next times"
            f" {gain.FAMILY - 1}, the last times {gain.FAMILY - 2}",
            "open unless allocation and gain have clear signs on both surfaces; then holds where their signs agree on"
            " each and turn from one to the other, else fails",
        ),
        origin="ours",
        tables=tuple(name for pair in gain.ESTIMATORS.values() for name in pair),
    ),
    Claim(
        "W2",
        "ours",
        "Similarity helps where the surfaces' correlation predicts harm, and harms where it predicts help",
        gain.judge_similarity,
        "gain",
        Rule(
            "similarity weight 2.5 with 0; by model and data set",
            f"{len(PAPER)}, one for each data set",
            "a case with a clear sign holds where that contradicts the prediction, else fails; others do not count",
        ),
        origin="ours",
        tables=tuple(name for version in (*BOTH, EXACT) for name in version.tables.values())
        + tuple(f"replications_{name}" for name in PAPER),
    ),
    Claim(
        "W3",
        "ours",
        "The code version's lead on IHDP comes from avoiding degenerate fits",
        gain.judge_escape,
        "gain",
        Rule(
            "MACAL with Random in the code version: the treatment as it is, times 10, and the first less the second",
            "3",
            "where ahead in the first and the third: holds if behind or without a lead in the second, else in part;"
            " where behind or without a lead in the first or the third: fails; else open",
        ),
        origin="ours",
        tables=tuple(gain.SCALES.values()),
    ),
    Claim(
        "S1",
        "Wen et al. 2025b",
        "FCCM has a lower error than MACAL",
        bench.judge_fccm,
        "instead",
        Rule(
            "FCCM with MACAL; by row of the bench, a data set under an estimator",
            f"{bench.ROWS}, all rows",
            "rows ahead hold, rows behind or without a lead fail, open ones do not count",
        ),
        origin="others",
        tables=tuple(bench.TABLES.values()),
    ),
    Claim(
        "S2",
        "Gao et al. 2025",
        "The estimator decides which of Causal-EPIG's two targets is better",
        bench.judge_targets,
        "instead",
        Rule(
            "EPIG-mu with EPIG-tau; by row of the bench",
            f"{bench.ROWS}, all rows",
            "holds where on one data set it is ahead under one estimator and behind under another; fails where all rows"
            " are ahead, or all behind; else open",
        ),
        origin="others",
        tables=tuple(bench.TABLES.values()),
    ),
    Claim(
        "S3",
        "ours",
        "One criterion is within 5% of the best everywhere",
        bench.judge_regret,
        "instead",
        Rule(
            "each criterion with each other; by row of the bench",
            f"{bench.ROWS * bench.RIVALS}, all rows and other criteria",
            "holds where one criterion's intervals stay within 5% of every other on all rows, fails where each"
            " criterion is surely beyond 5% on some row; else open",
        ),
        origin="ours",
        tables=tuple(bench.TABLES.values()),
    ),
)
