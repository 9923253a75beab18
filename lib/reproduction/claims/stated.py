"""What decides each claim about errors, in words: for whoever judges again by ``results/claims.json`` and the tables.

*The plan of evidence* prints it, and says what "as for several baselines" and "as for several cases" mean.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stated:
    """How a claim is judged.

    Attributes:
        compared: what is set against what, and in which cases.
        family: number of comparisons that are adjusted for together.
        verdict: what makes it hold, and what refutes it; cases are put together as the plan says.
    """

    compared: str
    family: str
    verdict: str


_BASELINES = "as for several baselines"
_ONE = "holds where ahead, undecided where undecided, else does not hold"
_TOY = "1; bootstrap intervals"
STATED = {
    "F1a": Stated(
        "PEHE on the toy, mean log ratios: Symmetry with Random and Uncertainty at 35 to 65 labels, Uncertainty with"
        " Symmetry at 165 to 265",
        _TOY,
        "a case holds where all its intervals lie below 0, does not hold where one excludes a lead of 10 %",
    ),
    "F1b": Stated(
        "MACAL with each other method by the labels at which a method first comes within 10 % of the replication's"
        " lowest final PEHE among the paper's four methods (never: one step beyond the last size)",
        _TOY,
        "holds where the difference is surely below 0 for every other method, in part where it is for the figure's"
        " three; does not hold where an interval of these lies above 0",
    ),
    "F1c": Stated(
        "mean log ratios over all sizes after the start: Symmetry's distance W1 and Uncertainty's variance with those"
        " of the other two simple methods",
        _TOY,
        "as F1a",
    ),
    "E1": Stated(
        "MACAL with the eight baselines up to 160 labels; later with Random and QHTE",
        "8; later 2",
        f"{_BASELINES}; where it would hold, in part if one of the later two differs, undecided if an interval of"
        " theirs reaches beyond 10 %",
    ),
    "E2": Stated("MACAL with the eight baselines", "8", _BASELINES),
    "E3": Stated("MACAL with the eight baselines", "8", _BASELINES),
    "E4": Stated(
        "E1 to E3",
        "as there",
        "the first verdict in this list that E1, E2 or E3 has: does not hold, undecided, tested in part, not tested,"
        " holds in part, holds; but “not tested” becomes “tested in part” where another was tested",
    ),
    "E5": Stated(
        "Random with BADGE, BAIT and LCMD; by data set",
        "3",
        "as good: the interval lies within 10 %; different: ahead or behind, and not as good. A case holds where all"
        " are as good, does not hold where all differ, in part where both occur, else undecided; with one of the three"
        " it is tested in part, with two it holds in part at best",
    ),
    "E6": Stated(
        "mean log PEHE of MACAL and the three BALD (the causal methods) less the mean of BADGE, BAIT and LCMD; by data"
        " set",
        "1",
        _ONE,
    ),
    "E7": Stated(
        "each of the eight others with the other seven, where all nine share three replications; by data set",
        "7",
        "holds where every method is behind another on some data set, does not hold where one is ahead of all others"
        " on every data set; needs two data sets, and is tested in part on one",
    ),
    "E8": Stated(
        "QHTE with the eight others, where all nine share three replications; by data set",
        "8",
        "its place is at best 1 plus the number ahead of it, at worst 9 less the number behind it. Holds where it is"
        " surely 7th or worse on most data sets; does not hold where it is surely 4th or better on all; in part where"
        " it is surely 5th or worse on at least one, and possibly 7th or worse on at most half; else undecided",
    ),
    "E9": Stated(
        "MACAL with rho-BALD and mu-rho-BALD by roughness, the mean distance of log PEHE from the mean of its two"
        " neighbours in size; by data set",
        "2",
        "a case holds where ahead of both, does not hold where behind or without a lead on both, in part where ahead of"
        " one only, neither undecided; else undecided",
    ),
    "V1": Stated(
        "MACAL with each other method of Figures 4 and 6 to 8, by the distance to the counterpart and by the covering"
        " radius; by data set and step",
        "4",
        f"{_BASELINES}, recorded ones; then as for several cases: over steps, over data sets, over both measures",
    ),
    "A1": Stated(
        "lead of the weights 5 and 10 over 0 and 1 in mean log PEHE: last stretch minus first; stretches end at"
        " 60, 160 and 460 labels on IHDP, 500, 1,300 and 2,550 on IBM, 700, 1,350 and 2,550 on CMNIST; by data set",
        "1",
        _ONE,
    ),
    "M1": Stated(
        "MACAL with Random; by estimator (exact processes, S-, T-, X-learner) and data set, up to 160 labels on IHDP",
        "3, with balanced labels and QHTE",
        _ONE,
    ),
    "B1": Stated(
        "MACAL with Random and with balanced labels; by data set, up to 160 labels on IHDP, and estimator: as written"
        " the written model and M1's, as the code runs the code's model",
        "2",
        _BASELINES,
    ),
    "W1": Stated(
        "allocation, placement and gain, on IHDP and with its surfaces exchanged; by estimator",
        "6: within a surface Holm takes the smallest p times 6, the next times 5, the last times 4",
        "undecided unless allocation and gain have clear signs on both surfaces; then holds where their signs agree on"
        " each and turn from one to the other, else does not hold",
    ),
    "W2": Stated(
        "weight 2.5 of similarity with 0; by model and data set",
        "3, one for each data set",
        "a case with a clear sign holds where that contradicts the prediction, else does not hold; other cases do not"
        " count",
    ),
    "W3": Stated(
        "MACAL with Random under the code's model: the treatment as it is, times 10, and the first less the second",
        "3",
        "where ahead in the first and the third: holds if behind or without a lead in the second, else in part; where"
        " behind or without a lead in the first or the third: does not hold; else undecided",
    ),
    "S1": Stated(
        "FCCM with MACAL; by row of the bench, a data set under an estimator",
        "40, all rows",
        "rows ahead hold, rows behind or without a lead do not hold, undecided ones do not count",
    ),
    "S2": Stated(
        "EPIG-mu with EPIG-tau; by row of the bench",
        "40, all rows",
        "holds where on one data set it is ahead under one estimator and behind under another; does not hold where all"
        " rows are ahead, or all behind; else undecided",
    ),
    "S3": Stated(
        "each criterion with each other; by row of the bench",
        "720, all rows and rivals",
        "holds where one criterion's intervals stay within 5 % of every other on all rows, does not hold where each"
        " criterion is surely beyond 5 % on some row; else undecided",
    ),
}
