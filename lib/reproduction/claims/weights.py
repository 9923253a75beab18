"""Verdicts A1 to A3: which weights of similarity are best, and whether any is better than none."""

from contextlib import suppress

import numpy as np
import pandas as pd

from macal.comparison import Mean, gaps, levels, shared
from reproduction.benchmarks import PAPER
from reproduction.claims.comparison import against, case_of, conclude, describe_rows, lowest, span
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import Version, by_label_range


def campaigns(version: Version, dataset: str, minimum: int = 1) -> pd.DataFrame | None:
    """Rows at the replications and sizes that all weights have, without the start; None for fewer replications."""
    table = version.load(dataset)
    with suppress(ValueError):  # a weight is lacking, or nothing that all have
        table = None if table is None else PAPER[dataset].inner(shared(table, list(version.weights)))
        return None if table is None or table["replication"].nunique() < minimum else table
    return None


def recorded(version: Version, minimum: int = 1) -> dict[str, pd.DataFrame]:
    """Data set -> its :func:`campaigns`, where they have so many replications."""
    found = {name: campaigns(version, name, minimum) for name in version.tables}
    return {name: table for name, table in found.items() if table is not None}


def gains(version: Version, dataset: str, table: pd.DataFrame, mean: Mean = "geometric") -> pd.DataFrame:
    """Figure 5's ratio as a log, PEHE at weight 0 over PEHE at a weight; above 0 is better than 0.

    Returns:
        A row per replication and stretch (its last size), of errors' means over sizes; a column per weight above 0.
    """
    table = pd.concat(by_label_range(table, PAPER[dataset].stretches), names=["up to"]).reset_index("up to")
    logs = levels(table, mean=mean, by=["up to"])[list(version.weights)].rename(columns=version.weights)
    return -logs.sub(logs[0.0], axis=0).drop(columns=0.0)


def regret(version: Version, dataset: str) -> pd.Series | None:
    """Mean error over the whole campaign above that of the best weight, per cent, by weight; None without campaigns."""
    table = campaigns(version, dataset)
    if table is None:
        return None
    logs = np.log(table.pivot(index=["replication", "labelled"], columns="method", values="pehe")).mean()
    logs = logs[list(version.weights)].rename(version.weights)
    return 100 * np.expm1(logs - logs.min())


def shift(version: Version, dataset: str, table: pd.DataFrame, mean: Mean = "geometric") -> pd.Series:
    """How much more the weights 5 and 10 gain over 0 and 1 in the first stretch than in the last, by replication."""
    gain = gains(version, dataset, table, mean)
    lead = (gain[[5.0, 10.0]].mean(axis=1) - gain[1.0] / 2).unstack()  # weight 0 gains 0
    if lead.shape[1] < 2:  # one stretch shows no shift
        return pd.Series(np.nan, lead.index)
    return lead[lead.columns[0]] - lead[lead.columns[-1]]


def shifts(version: Version, rules: Rules) -> dict[str, pd.DataFrame]:
    """Data set -> :func:`reproduction.claims.comparison.against` of the shift."""
    found = {}
    for name, table in recorded(version).items():
        # turned round, so that a shift as the paper sees it is "ahead"
        gap = -shift(version, name, table, rules.mean).to_frame("shift")
        parts = [*by_label_range(table, PAPER[name].stretches).values()]
        found[name] = against(gap, rules).assign(**span(pd.concat([parts[0], parts[-1]])))
    return found


def judge_alpha(rules: Rules, version: Version) -> Verdict:
    """A1, per data set: the large weights' lead over the small ones is larger in the first stretch than in the last."""
    about = {"measure": "shift of the lead of weights 5 and 10", "methods": list(version.weights)}
    cases = [
        case_of(version, name, lowest(found, 1), found, "last stretch", **about)
        for name, found in shifts(version, rules).items()
    ]
    return conclude(cases, rules, "lead of the weights 5 and 10, last stretch minus first, ", len(PAPER))


def judge_benefit(rules: Rules, version: Version) -> Verdict:
    """A2, per data set: some weight above 0 is ahead of weight 0, over the whole campaign."""
    none, cases = f"{version.macal}-0", []
    for name, table in recorded(version, rules.minimum).items():
        found = against(-gaps(table, none, mean=rules.mean), rules).assign(**span(table))
        words = {*found["comparison"]}
        word: Word = "open" if "open" in words else "fails"
        if "ahead" in words:
            word = "holds in part" if "behind" in words else "holds"
        text = f"{name} {word}: {describe_rows(found.rename(index=version.weights))}"
        for weight in found.index:  # each is a method of its own, and stands against the same other
            row = found.loc[[weight]].set_axis([none])
            cases.append(case_of(version, name, word, row, str(weight), text))
    texts = dict.fromkeys(case.text for case in cases)
    word = together({case.about["dataset"]: case.word for case in cases}.values(), len(PAPER))
    said = f"log ratio of each weight's PEHE to weight 0's, {'; '.join(texts)}"
    return conclude(cases, rules, word=word, text=said)


def judge_no_single(rules: Rules, version: Version) -> Verdict:
    """A3, per data set: each weight is behind another, or has no lead on it, in some stretch."""
    cases, words, shown = [], [], []
    for name, table in recorded(version, rules.minimum).items():
        parts = by_label_range(table, PAPER[name].stretches)
        family = len(parts) * len(version.weights) * (len(version.weights) - 1) // 2
        found = {
            (method, end): against(gaps(part, method, mean=rules.mean), rules, family).assign(**span(part))
            for method in version.weights for end, part in parts.items()
        }  # fmt: skip
        every = pd.concat(found, names=["weight", "until"])["comparison"]
        lost = every.isin(["behind", "no lead"]).groupby(level="weight").any()
        wins = (every == "ahead").groupby(level="weight").all()
        words.append("holds" if lost.all() else "fails" if wins.any() else "open")
        never = [f"{version.weights[str(method)]:g}" for method in lost.index[~lost]]
        shown.append(f"{name} {words[-1]}: never surely without a lead, weights {', '.join(never) or 'none'}")
        for (method, end), rows in sorted(found.items()):
            cases.append(case_of(version, name, words[-1], rows, method, stretch=f"up to {end} labels"))
    word = together(words, len(PAPER))
    return conclude(cases, rules, word=word, text="; ".join(shown))
