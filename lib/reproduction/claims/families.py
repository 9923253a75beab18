"""Verdicts E5 to E9: Random, QHTE, and the families of methods against each other."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np
import pandas as pd

from macal.comparison import Mean, levels, shared
from reproduction.benchmarks import BALD, BASELINES, GENERAL, PAPER
from reproduction.claims.comparison import against, case_of, close, compare, conclude, describe_rows, span
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import Version

RATIOS = ("rho-bald", "mu-rho-bald")
CAUSAL = ("qhte", *BALD)  # the paper's baselines "for active causal effect estimation"
METHODS = len(BASELINES) + 1  # with MACAL


def common(version: Version, methods: Sequence[str], rules: Rules) -> dict[str, pd.DataFrame]:
    """Data set -> rows of the stretch that decides, at the replications and sizes that all of these methods have."""
    found = {}
    for name, table in version.deciding().items():
        with suppress(ValueError):  # nothing that all have
            found[name] = shared(table, methods)
    return {name: table for name, table in found.items() if table["replication"].nunique() >= rules.minimum}


def judge_random(rules: Rules, version: Version) -> Verdict:
    """E5, per data set: Random is as good as a method of general active learning where the interval lies within 10%.

    It holds on a data set where it is as good as all three, does not where it differs from all; decided sets count.
    """
    cases = []
    for name, table in version.deciding().items():
        found = compare(table, "random", GENERAL, rules)
        found = found.assign(as_good=close(found, rules))
        word = _as_good(found)
        cases.append(case_of(version, name, word, found, "random", f"{name} {word} ({describe_rows(found)})"))
    return conclude(cases, rules, "log ratio of random's PEHE to each other's, ", len(PAPER))


def _as_good(found: pd.DataFrame) -> Word:
    if 2 * len(found) <= len(GENERAL):
        return "open"
    far = found["comparison"].isin(["ahead", "behind"])
    return together(np.select([found["as_good"], far], ["holds", "fails"], "open"), len(GENERAL))


def judge_causal(rules: Rules, version: Version) -> Verdict:
    """E6, per data set: mean log PEHE of the causal methods (BALD, MACAL) minus that of the general ones."""
    methods = (version.macal, *BALD, *GENERAL)
    cases = []
    for name, table in common(version, methods, rules).items():
        logs = levels(table, mean=rules.mean)
        gap = logs[[version.macal, *BALD]].mean(axis=1) - logs[list(GENERAL)].mean(axis=1)
        found = against(gap.to_frame("general"), rules).assign(**span(table))
        word = ahead(found["comparison"])
        cases.append(case_of(version, name, word, found, "causal methods", methods=list(methods)))
    return conclude(cases, rules, "log ratio of causal methods' PEHE to general ones', ", len(PAPER))


def ahead(comparisons: Iterable[str]) -> Word:
    """The verdict on 'ahead of all of these'."""
    return together({"ahead": "holds", "open": "open"}.get(comparison, "fails") for comparison in comparisons)


def rivals(table: pd.DataFrame, method: str, rules: Rules) -> pd.DataFrame:
    """Set a method against every other of a table: see :func:`reproduction.claims.comparison.compare`."""
    return compare(table, method, [m for m in table["method"].unique() if m != method], rules)


def places(found: pd.DataFrame) -> tuple[int, int]:
    """First and last place that a method may have by PEHE: below those clearly ahead, above those clearly behind.

    From :func:`rivals`, so the set covers the true place with 95% confidence (Mogstad et al. 2024).
    """
    words = found["comparison"]
    return 1 + int((words == "behind").sum()), 1 + int((words != "ahead").sum())


def judge_winner(rules: Rules, version: Version) -> Verdict:
    """E7: each causal method is behind a general one, or has no lead on it, on some data set.

    It fails where a causal method is ahead of all general ones on every data set.
    """
    cases, beaten, wins = [], {method: [] for method in CAUSAL}, dict.fromkeys(CAUSAL, 0)
    for name, table in version.deciding().items():
        for method in CAUSAL:
            found = compare(table, method, GENERAL, rules, len(CAUSAL) * len(GENERAL))
            lost = found.index[found["comparison"].isin(["behind", "no lead"])]
            beaten[method] += [f"{', '.join(lost)} on {name}"] * bool(len(lost))
            wins[method] += len(found) == len(GENERAL) and (found["comparison"] == "ahead").all()
            cases.append(case_of(version, name, "open", found, method))
    word: Word = "holds" if all(beaten.values()) else "fails" if len(PAPER) in wins.values() else "open"
    said = "; ".join(f"{method}: without a lead on {', '.join(lost) or 'none'}" for method, lost in beaten.items())
    return conclude(cases, rules, word=word, text=said)


def judge_qhte(rules: Rules, version: Version) -> Verdict:
    """E8: surely among the three last of nine on most data sets; 'in part' where at least in the lower half on one."""
    methods = (version.macal, *BASELINES)
    judged = {name: rivals(table, "qhte", rules) for name, table in common(version, methods, rules).items()}
    found = {name: places(one) for name, one in judged.items()}
    best, worst = (np.array([place[end] for place in found.values()]) for end in (0, 1))
    low = METHODS - METHODS // 3  # the last third lies below
    word: Word = "holds in part" if (best > METHODS // 2).any() and 2 * (worst > low).sum() <= len(worst) else "open"
    if 2 * (best > low).sum() > len(best):
        word = "holds"
    elif (worst <= METHODS // 2).all():
        word = "fails"
    cases = [case_of(version, name, word, one, "qhte", methods=list(methods)) for name, one in judged.items()]
    said = ", ".join(f"place {first} to {last} of {METHODS} on {name}" for name, (first, last) in found.items())
    return conclude(cases, rules, word=word, text=said)


def roughness(table: pd.DataFrame, mean: Mean = "geometric") -> pd.DataFrame:
    """How far log PEHE lies from the mean of its neighbours in size, on average, so that a steady fall does not count.

    Args:
        table: recorded rows.
        mean: "arithmetic" for PEHE itself.

    Returns:
        A row per replication, a column per method.
    """

    def of_one(rows: pd.DataFrame) -> pd.Series:
        wide = rows.pivot(index="labelled", columns="method", values="pehe")
        curves = np.log(wide) if mean == "geometric" else wide
        return (curves - (curves.shift(1) + curves.shift(-1)) / 2).abs().mean()

    return table.groupby("replication")[["labelled", "method", "pehe"]].apply(of_one)


def judge_stability(rules: Rules, version: Version) -> Verdict:
    """E9, per data set: MACAL's curve is smoother than those of both BALD ratios, by the log ratio of roughness."""
    methods, cases = (version.macal, *RATIOS), []
    for name, table in common(version, methods, rules).items():
        rough = np.log(roughness(table, rules.mean))
        gap = -rough[list(RATIOS)].sub(rough[version.macal], axis=0)
        found = against(gap, rules, len(RATIOS)).assign(**span(table))
        about = {"measure": "distance of log PEHE from its neighbours' mean", "methods": list(methods)}
        cases.append(case_of(version, name, ahead(found["comparison"]), found, **about))
    measure = "log ratio of MACAL's roughness (log PEHE's mean distance from its neighbours' mean) to each other's, "
    return conclude(cases, rules, measure, len(PAPER))
