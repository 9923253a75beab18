"""Verdicts A1 to A3: which weights of similarity are best, and whether any is better than none."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from macal.comparison import Mean, gaps, levels, shared
from reproduction.benchmarks import PAPER
from reproduction.claims.comparison import against, span, told, values
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import Version, by_stretch


def campaigns(version: Version, dataset: str) -> pd.DataFrame | None:
    """Rows at the replications and sizes that all weights have, without the start; None where one is not recorded."""
    table = version.load(dataset)
    if table is None:
        return None
    try:
        table = PAPER[dataset].inner(shared(table, list(version.weights)))
    except ValueError:  # a weight is lacking, or nothing that all have
        return None
    return table if len(table) else None


def gains(version: Version, dataset: str, table: pd.DataFrame, mean: Mean = "geometric") -> pd.DataFrame:
    """Figure 5's ratio as a log, PEHE at weight 0 over PEHE at a weight; above 0 is better than 0.

    Returns:
        A row per replication and stretch (its last size), of errors' means over sizes; a column per weight above 0.
    """
    table = pd.concat(by_stretch(table, PAPER[dataset].stretches), names=["up to"]).reset_index("up to")
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
    """Data set -> :func:`reproduction.claims.comparison.against` of the shift, with enough replications."""
    found = {}
    for name in version.tables:
        table = campaigns(version, name)
        if table is None:
            continue
        # turned round, so that a shift as the paper sees it is "ahead"
        gap = -shift(version, name, table, rules.mean).to_frame("shift")
        parts = [*by_stretch(table, PAPER[name].stretches).values()]
        used = span(pd.concat([parts[0], parts[-1]]))
        found[name] = against(gap, rules).assign(table=version.tables[name], **used)
    return {name: rows for name, rows in found.items() if len(rows)}


def judge_alpha(rules: Rules, version: Version) -> Verdict:
    """A1, per data set: the large weights' lead over the small ones is larger in the first stretch than in the last."""
    found = shifts(version, rules)
    if not found:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications of all weights on any data set")
    words: dict[str, Word] = {"ahead": "holds", "open": "open"}
    judged = [words.get(rows["comparison"].iloc[0], "fails") for rows in found.values()]
    said = "; ".join(f"{name}: {told(rows)}" for name, rows in found.items())
    about = {"estimator": version.name, "measure": "shift of the lead of weights 5 and 10"}
    about["methods"] = list(version.weights)
    rows = tuple(row for name, own in found.items() for row in values(own, "last stretch", dataset=name, **about))
    return Verdict(
        together(judged, len(PAPER)), f"lead of the weights 5 and 10, last stretch minus first, {said}", rows
    )


def _each(
    version: Version, rules: Rules, judge: Callable[[str, pd.DataFrame], tuple[Word, pd.DataFrame]]
) -> Iterator[tuple[str, Word, pd.DataFrame]]:
    """Data set, word and comparisons, where all weights have enough replications."""
    for name in version.tables:
        table = campaigns(version, name)
        if table is not None and table["replication"].nunique() >= rules.minimum:
            word, found = judge(name, table)
            yield name, word, found.assign(table=version.tables[name])


def judge_benefit(rules: Rules, version: Version) -> Verdict:
    """A2, per data set: some weight above 0 is ahead of weight 0, over the whole campaign."""
    none = f"{version.macal}-0"

    def judge(dataset: str, table: pd.DataFrame) -> tuple[Word, pd.DataFrame]:
        found = against(-gaps(table, none, mean=rules.mean), rules).assign(**span(table))
        words = {*found["comparison"]}
        if "ahead" in words:
            return ("holds in part" if "behind" in words else "holds"), found
        return ("open" if "open" in words else "fails"), found

    judged = [*_each(version, rules, judge)]
    rows = tuple(
        row
        for name, _, found in judged
        for method in found.index
        for row in values(found.loc[[method]].set_axis([none]), str(method), dataset=name, estimator=version.name)
    )
    said = "; ".join(f"{name} {word}: {told(found.rename(index=version.weights))}" for name, word, found in judged)
    return _of_weights([word for _, word, _ in judged], f"log ratio of each weight's PEHE to weight 0's, {said}", rows)


def judge_no_single(rules: Rules, version: Version) -> Verdict:
    """A3, per data set: each weight is behind another, or has no lead on it, in some stretch."""

    def judge(dataset: str, table: pd.DataFrame) -> tuple[Word, pd.DataFrame]:
        parts = by_stretch(table, PAPER[dataset].stretches)
        family = len(parts) * len(version.weights) * (len(version.weights) - 1) // 2
        found = pd.concat({
            (method, end): against(gaps(part, method, mean=rules.mean), rules, family).assign(**span(part))
            for method in version.weights for end, part in parts.items()
        }, names=["weight", "until"])  # fmt: skip
        lost = found["comparison"].isin(["behind", "no lead"]).groupby(level="weight").any()
        wins = (found["comparison"] == "ahead").groupby(level="weight").all()
        return ("holds" if lost.all() else "fails" if wins.any() else "open"), found

    judged, shown, rows = [*_each(version, rules, judge)], [], []
    for name, word, found in judged:
        lost = found["comparison"].isin(["behind", "no lead"]).groupby(level="weight").any()
        never = [f"{version.weights[str(method)]:g}" for method in lost.index[~lost]]
        shown.append(f"{name} {word}: never surely without a lead, weights {', '.join(never) or 'none'}")
        for (method, end), part in found.groupby(level=["weight", "until"]):
            about = {"dataset": name, "estimator": version.name, "stretch": f"up to {end} labels"}
            rows += values(part.droplevel(["weight", "until"]), method, **about)
    return _of_weights([word for _, word, _ in judged], "; ".join(shown), tuple(rows))


def _of_weights(words: list[Word], said: str, rows: tuple[dict[str, Any], ...]) -> Verdict:
    if not words:
        return Verdict("open", "too few recorded replications of all weights on any data set")
    return Verdict(together(words, len(PAPER)), said, rows)
