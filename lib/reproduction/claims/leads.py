"""Verdicts E1 to E4: whether MACAL's error is below that of every baseline, on each data set and on all."""

from collections.abc import Sequence

import pandas as pd

from reproduction.claims.comparison import close, compare, lowest, scope, share_run, told, values
from reproduction.claims.readings import EXACT, POOL, TURNING_POINT, WRITTEN, Reading, absent, inner, key_of
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word

FREE = ("random", "qhte")  # baselines that need no model, and are run to the end of IHDP
DATASETS = ("ihdp", "ibm", "cmnist")
EARLY, LATE = (1, TURNING_POINT), (TURNING_POINT + 1, POOL)  # IHDP, labels


def lead(
    reading: Reading, dataset: str, rules: Rules, stretch: tuple[int, int] | None = None, others: Sequence[str] = ()
) -> pd.DataFrame:
    """MACAL against others on a data set, without the start: in a stretch of labels, or over the whole campaign.

    Returns:
        Rows of :func:`reproduction.claims.comparison.compare`; none where too little is recorded.
    """
    table = reading.load(dataset)
    if table is None:
        return pd.DataFrame(columns=["replications", "comparison"])
    table = inner(table, dataset)
    table = table[table["labelled"].between(*stretch)] if stretch else table
    has_own_plan = key_of(reading.tables[dataset], reading.macal) == reading.macal
    share = reading.share(dataset, rules, [reading.macal] if has_own_plan else ())
    return compare(table, reading.macal, others or reading.others, rules, share)


def _said(found: pd.DataFrame, reading: Reading, rules: Rules) -> str:
    if found.empty:
        return f"fewer than {rules.minimum} recorded replications"
    run = share_run(found, reading.others) + scope(found) + absent(found.index, reading.others)
    return f"{run}; log ratio of {reading.macal}'s PEHE to each other's, {told(found, rules)}"


def _verdict(
    word: Word,
    shown: str,
    judged: dict[str, pd.DataFrame],
    rules: Rules,
    reading: Reading,
    dataset: str,
    stretch: tuple[int, int] | None = None,
) -> Verdict:
    """Make the verdict; beside the paper's words, what exact Gaussian processes say on more replications."""
    about = {"dataset": dataset, "estimator": reading.name}
    rows = [row for part, found in judged.items() for row in values(found, reading.macal, **about, stretch=part)]
    exact = lead(EXACT, dataset, rules, stretch) if reading is WRITTEN else pd.DataFrame()
    if len(exact):
        shown += f". Exact Gaussian processes: {_said(exact, EXACT, rules)}"
        beside = {"dataset": dataset, "estimator": EXACT.name, "stretch": next(iter(judged)), "beside": True}
        rows += values(exact, EXACT.macal, **beside)
    return Verdict(word, shown, tuple(rows))


def tied(found: pd.DataFrame, rules: Rules) -> Word:
    """The verdict on 'about as good as all of these'."""
    if found.empty:
        return "not tested"
    if found["comparison"].isin(["ahead", "behind"]).any():
        return "does not hold"
    return "holds" if close(found, rules).all() else "undecided"


def judge_ihdp(rules: Rules, reading: Reading) -> Verdict:
    """E1: ahead of every baseline up to the turning point; then about as good as those that need no model."""
    early, late = lead(reading, "ihdp", rules, EARLY), lead(reading, "ihdp", rules, LATE, FREE)
    verdict = lowest(early, len(reading.others))
    shown = f"up to {TURNING_POINT} labels {_said(early, reading, rules)}"
    if verdict == "holds":
        verdict = "holds in part" if tied(late, rules) == "does not hold" else tied(late, rules)
    if len(late):
        shown += f"; later, against those that need no model, {told(late, rules)}"
    judged = {f"up to {TURNING_POINT} labels": early, "later": late}
    return _verdict(verdict, shown, judged, rules, reading, "ihdp", EARLY)


def judge_lowest(rules: Rules, reading: Reading, dataset: str) -> Verdict:
    """E2 and E3: ahead of every baseline over the whole campaign."""
    found = lead(reading, dataset, rules)
    word = lowest(found, len(reading.others))
    return _verdict(word, _said(found, reading, rules), {"whole campaign": found}, rules, reading, dataset)


def judge_consistent(rules: Rules, reading: Reading) -> Verdict:
    """E4: E1 to E3 together; refuted by one data set, upheld by all three only."""
    found = {"ihdp": judge_ihdp(rules, reading)}
    found |= {name: judge_lowest(rules, reading, name) for name in DATASETS[1:]}
    words = {name: verdict.verdict for name, verdict in found.items()}
    order: tuple[Word, ...] = ("does not hold", "undecided", "tested in part", "not tested", "holds in part", "holds")
    word = next(word for word in order if word in words.values())
    if word == "not tested" and {*words.values()} != {word}:  # not on all data sets
        word = "tested in part"
    rows = tuple(row for verdict in found.values() for row in verdict.comparisons)
    return Verdict(word, "; ".join(f"{name}: {said}" for name, said in words.items()), rows)
