"""Where one method stands against others: the comparison that the verdicts on errors are made of.

The words *ahead*, *behind*, *no lead* and *open*: label ``sec-plan`` of the book.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macal.comparison import gaps, judge, shared
from reproduction.benchmarks import BASELINES
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.scale import range_of
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import Version

WORDS = ("ahead", "behind", "no lead", "open")
NUMBERS = ["replications", "log_ratio", "low", "high", "p"]
SPAN = ("sizes", "first", "last")
VALUES = ("replications", *SPAN, "log_ratio", "low", "high", "p", "table", "family", "comparison", "as_good")


def against(differences: pd.DataFrame, rules: Rules, family: int = 0) -> pd.DataFrame:
    """Judge log ratios by replication.

    Args:
        differences: a row per replication, a column per comparison; below 0 is ahead.
        rules: level, minimum of replications, margin.
        family: comparisons adjusted for; those with enough replications by default.

    Returns:
        ``replications``, ``log_ratio``, ``low``, ``high``, ``p`` of :func:`macal.comparison.judge`, with
        ``comparison``, of :data:`WORDS`, and ``family``, by the names of the columns; none for those below the minimum.
    """
    differences = differences.loc[:, differences.count() >= rules.minimum]
    if differences.empty:
        return pd.DataFrame(columns=[*NUMBERS, "comparison"]).rename_axis("method")
    family = family or differences.shape[1]
    found = judge(differences, rules.level, family=family)[NUMBERS]
    if differences.columns.nlevels > 1:
        found.index = differences.columns
    clear, low = found["p"] < rules.level, found["low"] > -rules.alike
    words = np.select([clear & (found["log_ratio"] < 0), clear, low], WORDS[:3], WORDS[3])
    return found.assign(comparison=words, family=family)


def comparison_word(low: float, high: float, margin: float) -> str:
    """Where an interval alone puts a method, of :data:`WORDS`; below 0 is ahead."""
    return WORDS[0] if high < 0 else WORDS[1] if low > 0 else WORDS[2] if low > -margin else WORDS[3]


def compare(
    table: pd.DataFrame, method: str, others: Sequence[str] = BASELINES, rules: Rules = RULES, family: int = 0
) -> pd.DataFrame:
    """Set a method against others: :func:`against`, adjusted for all of them, run or not, or for a larger family.

    Returns:
        Its rows with the sizes that both methods have, see :func:`span`.
    """
    if method not in table["method"].unique():
        return against(pd.DataFrame(), rules)
    differences = gaps(table[table["method"].isin([method, *others])], method, mean=rules.mean)
    found = against(differences.reindex(columns=list(others)), rules, family or len(others))
    own = {other: span(shared(table, [method, other])) for other in found.index}
    return found.join(pd.DataFrame.from_dict(own, "index", columns=list(SPAN)))


def span(rows: pd.DataFrame) -> dict[str, int]:
    """Numbers of labels of recorded rows: how many ``sizes``, the ``first`` and the ``last``."""
    sizes = rows["labelled"].unique()
    return {"sizes": len(sizes), "first": int(sizes.min()), "last": int(sizes.max())}


def lowest(found: pd.DataFrame, family: int) -> Word:
    """The verdict on 'better than every one of a family', of which some may not have been run.

    Open while half of them are lacking, and at best in part while some are, unless one that was run is ahead.
    """
    words = {*found["comparison"]}
    if "behind" in words:  # nothing that is run later can mend it
        return "fails"
    if 2 * len(found) <= family and len(found) < family:
        return "open"
    if {"ahead", "no lead"} <= words:
        return "holds in part"
    if "open" in words or not words:
        return "open"
    if "ahead" not in words:
        return "fails"
    return "holds" if len(found) == family else "holds in part"


def close(found: pd.DataFrame, rules: Rules) -> pd.Series:
    """Where a row's interval rules out a difference of the margin, either way."""
    return (found["low"] > -rules.alike) & (found["high"] < rules.alike)


def number(row: pd.Series) -> str:
    """Mean and interval of a row of :func:`against`."""
    name, digits = ("log_ratio", 3) if "log_ratio" in row else ("labels", 0)
    mean, low, high = (f"{row[part]:+.{digits}f}" for part in (name, "low", "high"))
    return f"{mean} [{low}, {high}]"


def describe_rows(found: pd.DataFrame) -> str:
    """Put a table of :func:`against` into words: who is where, with numbers."""
    groups = {word: found[found["comparison"] == word] for word in WORDS}
    return "; ".join(
        f"{word}: {', '.join(f'{name} {number(row)}' for name, row in rows.iterrows())}"
        for word, rows in groups.items()
        if len(rows)
    )


def share_run(found: pd.DataFrame, others: Sequence[str]) -> str:
    """Say how many of the others a method was set against where some are lacking, and whether it is ahead of them."""
    if not 0 < len(found) < len(others):
        return ""
    every = {1: "it", 2: "both"}.get(len(found), "all")
    ahead = f", ahead of {every}" if set(found["comparison"]) == {"ahead"} else ""
    return f"{len(found)} of {len(others)} methods{ahead}; "


def scope(found: pd.DataFrame) -> str:
    """How many replications a table of :func:`against` rests on."""
    if found.empty:
        return "no replications"
    return f"{range_of(found['replications'].agg(['min', 'max']).tolist())} replications"


@dataclass(frozen=True)
class Case:
    """One case of a claim.

    Attributes:
        word: the verdict on it.
        found: its comparisons, rows of :func:`against` with their ``table``.
        method: that is compared.
        about: what tells it from other cases: data set, estimator, measure.
        text: what evidence says of it.
    """

    word: Word
    found: pd.DataFrame
    method: str
    about: dict[str, Any]
    text: str = ""

    def values(self) -> tuple[dict[str, Any], ...]:
        """A dictionary per comparison: ``about``, ``method``, ``against``, those of :data:`VALUES` that it has."""
        rows = self.found[[name for name in VALUES if name in self.found]].to_dict("index")
        return tuple({**self.about, "method": self.method, "against": str(name)} | row for name, row in rows.items())


def case_of(
    version: Version, dataset: str, word: Word, found: pd.DataFrame, method: str = "", text: str = "", **about: Any
) -> Case:
    """The case of a data set in a version: by default MACAL's, with evidence by :func:`describe_rows`."""
    about = {"dataset": dataset, "estimator": version.name, **about}
    found, text = found.assign(table=version.tables[dataset]), text or f"{dataset}: {describe_rows(found)}"
    return Case(word, found, method or version.macal, about, text)


def conclude(
    cases: Iterable[Case],
    rules: Rules,
    opening: str = "",
    of: int = 0,
    word: Word | None = None,
    text: str | None = None,
) -> Verdict:
    """The verdict on a claim from its cases, without those that have no comparison; open where none has.

    Args:
        cases: that were run.
        rules: whose minimum is not reached where there is no case.
        opening: what evidence begins with.
        of: cases that the claim is about; see :func:`.verdict.together`.
        word: the verdict, where it is not that of the cases together.
        text: the evidence, where it is not that of the cases.
    """
    cases = [case for case in cases if len(case.found)]
    if not cases:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications")
    text = "; ".join(case.text for case in cases) if text is None else text
    rows = tuple(row for case in cases for row in case.values())
    return Verdict(word or together((case.word for case in cases), of), opening + text, rows)
