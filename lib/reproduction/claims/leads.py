"""Verdicts E1 to E4: whether MACAL's error is below that of every baseline, on each data set and on all."""

from collections.abc import Sequence

import pandas as pd

from reproduction.benchmarks import IHDP, PAPER, Benchmark
from reproduction.claims.comparison import (
    Case,
    case_of,
    close,
    compare,
    conclude,
    describe_rows,
    lowest,
    scope,
    share_run,
)
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import CODE, TEXT, Version, absent


def lead(
    version: Version, dataset: Benchmark, rules: Rules, others: Sequence[str] = (), after: bool = False
) -> pd.DataFrame:
    """MACAL against others on a data set: the one estimate and interval of a pair.

    Args:
        version: of the paper, or another estimator.
        dataset: whose rows that claims compare are taken, on the replications and sizes that a pair shares.
        rules: level, minimum of replications, margin.
        others: methods; the data set's baselines by default, over all of which intervals hold together, run or not.
            Any others are a family of their own.
        after: take the rows after ``until`` instead.

    Returns:
        Rows of :func:`reproduction.claims.comparison.compare` with their ``table``; none where too little is recorded.
    """
    table = version.load(dataset.name)
    table = pd.DataFrame(columns=["method", "labelled"]) if table is None else table
    inner = dataset.inner(table)
    rows = inner[inner["labelled"] > dataset.until] if after else dataset.deciding(table)
    others = others or dataset.baselines
    families = dataset.baselines, [name for name in others if name not in dataset.baselines]
    found = pd.concat([compare(rows, version.macal, own, rules) for own in families if own])
    return found.loc[found.index.intersection(others, sort=False)].assign(table=version.tables[dataset.name])


def _case(found: pd.DataFrame, version: Version, dataset: Benchmark, word: Word, stretch: str) -> Case:
    lacking = absent(found.index, version.others)
    said = f"{share_run(found, version.others)}{scope(found)}{lacking}; log ratio of {version.macal}'s PEHE to each"
    text = "; ".join(filter(None, (f"{said} other's, {describe_rows(found)}", dataset.about)))
    return case_of(version, dataset.name, word, found, text=text, stretch=stretch)


def tie_verdict(found: pd.DataFrame, family: int, rules: Rules) -> Word:
    """The verdict on 'about as good as every one of a family'; in part where not all were run."""
    if found["comparison"].isin(["ahead", "behind"]).any():
        return "fails"
    if found.empty or not close(found, rules).all():
        return "open"
    return "holds" if len(found) == family else "holds in part"


def judge_ihdp(rules: Rules, version: Version) -> Verdict:
    """E1: ahead of every baseline up to the turning point; then about as good as each."""
    early, found = judge_lowest(rules, version, IHDP), lead(version, IHDP, rules, after=True)
    late = _case(found, version, IHDP, tie_verdict(found, len(IHDP.baselines), rules), "later")
    shown = f"up to {IHDP.until} labels {early.evidence}" + f"; later {describe_rows(found)}" * bool(len(found))
    return Verdict(together([early.verdict, late.word]), shown, early.comparisons + late.values())


def judge_lowest(rules: Rules, version: Version, dataset: Benchmark) -> Verdict:
    """E2, E3 and the first part of E1: ahead of every baseline over the sizes that decide."""
    found = lead(version, dataset, rules)
    stretch = f"up to {dataset.until} labels" if dataset.until else "whole campaign"
    return conclude([_case(found, version, dataset, lowest(found, len(dataset.baselines)), stretch)], rules)


def judge_consistent(rules: Rules, version: Version) -> Verdict:
    """E4: ahead of every baseline on every data set. The other version is named beside."""
    versions = (version, TEXT if version is CODE else CODE)
    found = {one.name: {n: judge_lowest(rules, one, data) for n, data in PAPER.items()} for one in versions}
    order: tuple[Word, ...] = ("fails", "open", "holds in part", "holds")
    own = found[version.name].values()
    word = next(word for word in order if word in {verdict.verdict for verdict in own})
    said = [
        f"{name}: {', '.join(f'{data} {verdict.verdict}' for data, verdict in judged.items())}"
        for name, judged in found.items()
    ]
    return Verdict(word, "; ".join(said), tuple(row for verdict in own for row in verdict.comparisons))
