"""Verdicts E1 to E4: whether MACAL's error is below that of every baseline, on each data set and on all."""

from collections.abc import Sequence

import pandas as pd

from reproduction.benchmarks import IHDP, PAPER, Benchmark
from reproduction.claims.comparison import close, compare, lowest, scope, share_run, told, values
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word
from reproduction.claims.versions import CODE, TEXT, Version, absent

FREE = ("random", "qhte")  # baselines that need no model, and are run to the end of IHDP


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
    if table is None:
        return pd.DataFrame(columns=["replications", "comparison"])
    inner = dataset.inner(table)
    rows = inner[inner["labelled"] > dataset.until] if after else dataset.deciding(table)
    others = others or dataset.baselines
    families = dataset.baselines, [name for name in others if name not in dataset.baselines]
    found = pd.concat([compare(rows, version.macal, own, rules) for own in families if own])
    return found.loc[found.index.intersection(others, sort=False)].assign(table=version.tables[dataset.name])


def _said(found: pd.DataFrame, version: Version, rules: Rules) -> str:
    if found.empty:
        return f"fewer than {rules.minimum} recorded replications"
    run = share_run(found, version.others) + scope(found) + absent(found.index, version.others)
    return f"{run}; log ratio of {version.macal}'s PEHE to each other's, {told(found)}"


def _values(found: pd.DataFrame, version: Version, dataset: Benchmark, stretch: str) -> tuple[dict[str, object], ...]:
    return values(found, version.macal, dataset=dataset.name, estimator=version.name, stretch=stretch)


def tied(found: pd.DataFrame, rules: Rules) -> Word:
    """The verdict on 'about as good as all of these'."""
    if found["comparison"].isin(["ahead", "behind"]).any():
        return "fails"
    return "holds" if len(found) and close(found, rules).all() else "open"


def judge_ihdp(rules: Rules, version: Version) -> Verdict:
    """E1: ahead of every baseline up to the turning point; then about as good as those that need no model."""
    early, late = lead(version, IHDP, rules), lead(version, IHDP, rules, FREE, after=True)
    verdict = lowest(early, len(IHDP.baselines))
    shown = f"up to {IHDP.until} labels {_said(early, version, rules)}"
    if verdict == "holds":
        verdict = "holds in part" if tied(late, rules) == "fails" else tied(late, rules)
    if len(late):
        shown += f"; later, against those that need no model, {told(late)}"
    rows = _values(early, version, IHDP, f"up to {IHDP.until} labels") + _values(late, version, IHDP, "later")
    return Verdict(verdict, shown, rows)


def judge_lowest(rules: Rules, version: Version, dataset: Benchmark) -> Verdict:
    """E2 and E3: ahead of every baseline over the whole campaign."""
    found = lead(version, dataset, rules)
    word = lowest(found, len(dataset.baselines))
    return Verdict(word, _said(found, version, rules), _values(found, version, dataset, "whole campaign"))


def judge_consistent(rules: Rules, version: Version) -> Verdict:
    """E4: E1 to E3 together; refuted by one data set, upheld by all three only. The other version is named beside."""
    versions = (version, TEXT if version is CODE else CODE)
    found = {one.name: _everywhere(rules, one) for one in versions}
    order: tuple[Word, ...] = ("fails", "open", "holds in part", "holds")
    own = found[version.name].values()
    word = next(word for word in order if word in {verdict.verdict for verdict in own})
    said = [
        f"{name}: {', '.join(f'{data} {verdict.verdict}' for data, verdict in judged.items())}"
        for name, judged in found.items()
    ]
    return Verdict(word, "; ".join(said), tuple(row for verdict in own for row in verdict.comparisons))


def _everywhere(rules: Rules, version: Version) -> dict[str, Verdict]:
    judged = {"ihdp": judge_ihdp(rules, version)}
    return judged | {n: judge_lowest(rules, version, data) for n, data in PAPER.items() if data is not IHDP}
