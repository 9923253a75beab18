"""Where one method stands against others: the comparison that the verdicts on errors are made of.

The words *ahead*, *behind*, *no lead* and *undecided*: label ``sec-plan`` of the book.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from macal.comparison import gaps, judge, replications_needed, shared
from reproduction.claims.readings import BASELINES, Spending, by_stretch
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.verdict import Word

MEDIANS = 9  # replications from which medians and sign-flip tests stand beside means and t
WORDS = ("ahead", "behind", "no lead", "undecided")
SPAN = ("sizes", "first", "last")
VALUES = (
    "replications",
    *SPAN,
    *("log_ratio", "low", "high", "p", "median", "p_flips"),
    *("table", "plans", "spent", "family", "comparison", "needed", "as_good"),
)
Share = Callable[[str, int], float]


def against(differences: pd.DataFrame, rules: Rules, share: Share | None = None, family: int = 0) -> pd.DataFrame:
    """Judge log ratios by replication: where they stand, and how many more replications would say.

    Args:
        differences: a row per replication, a column per comparison; below 0 is ahead.
        rules: level, minimum of replications, margin, power.
        share: name of a comparison and its replications -> share of the level that may be spent on it, such as
            :class:`reproduction.claims.readings.Spending`; all by default.
        family: comparisons adjusted for; those with enough replications by default.

    Returns:
        Rows of :func:`macal.comparison.judge` with ``comparison``, ``needed`` (replications; NaN for more than
        1,000), ``spent`` (share of the level) and ``family``, and by a ``Spending`` its ``table`` and the keys of the
        ``plans``; none for columns below the minimum.
    """
    counts = differences.count()
    differences = differences.loc[:, counts >= rules.minimum]
    if differences.empty:
        return pd.DataFrame(columns=["replications", "comparison"]).rename_axis("method")
    family = family or differences.shape[1]
    spend = [share(str(name), int(counts[name])) if share else 1.0 for name in differences]
    found = judge(differences, rules.level, spend, family)
    clear, low = found["p"] < rules.level, found["low"] > -rules.alike
    words = np.select([clear & (found["log_ratio"] < 0), clear, low], WORDS[:3], WORDS[3])
    needed = [replications_needed(v.dropna(), rules.level / family, rules.power) for _, v in differences.items()]
    needed = pd.Series(needed, found.index, dtype=float)
    if isinstance(share, Spending):
        plans = pd.Series([share.kinds(name) for name in found.index], found.index)
        found = found.assign(table=share.table, plans=plans)
    return found.assign(comparison=words, needed=needed, spent=spend, family=family)


def placed(low: float, high: float, margin: float) -> str:
    """Where an interval alone puts a method, of :data:`WORDS`; below 0 is ahead."""
    return WORDS[0] if high < 0 else WORDS[1] if low > 0 else WORDS[2] if low > -margin else WORDS[3]


def compare(
    table: pd.DataFrame,
    method: str,
    others: Sequence[str] = BASELINES,
    rules: Rules = RULES,
    share: Share | None = None,
) -> pd.DataFrame:
    """Set a method against others: :func:`against`; adjusted for all others, whether the table has them or not.

    Returns:
        Its rows with the sizes that both methods have, see :func:`span`.
    """
    if method not in table["method"].unique():
        return against(pd.DataFrame(), rules)
    differences = gaps(table[table["method"].isin([method, *others])], method)
    found = against(differences.reindex(columns=list(others)), rules, share, len(others))
    own = {other: span(shared(table, [method, other])) for other in found.index}
    return found.join(pd.DataFrame.from_dict(own, "index", columns=list(SPAN)))


def span(rows: pd.DataFrame) -> dict[str, int]:
    """Numbers of labels of recorded rows: how many ``sizes``, the ``first`` and the ``last``."""
    sizes = rows["labelled"].unique()
    return {"sizes": len(sizes), "first": int(sizes.min()), "last": int(sizes.max())}


def compare_stretches(
    table: pd.DataFrame,
    ends: Sequence[int],
    method: str,
    others: Sequence[str] = BASELINES,
    rules: Rules = RULES,
    share: Share | None = None,
) -> pd.DataFrame:
    """:func:`compare` in each stretch; rows by the stretch's last number of labels and the method."""
    parts = by_stretch(table, ends)
    found = {end: compare(part, method, others, rules, share) for end, part in parts.items()}
    return pd.concat(found, names=["up to"])


def lowest(found: pd.DataFrame, family: int) -> Word:
    """The verdict on 'better than every one of a family', of which some may not have been run.

    From half of the family on it is judged by those that were run, and holds in part at best while some are lacking.
    """
    words = list(found["comparison"])
    if not words:
        return "not tested"
    if "behind" in words:  # nothing that is run later can mend it
        return "does not hold"
    if 2 * len(words) < family:
        return "tested in part"
    if {"ahead", "no lead"} <= {*words}:
        return "holds in part"
    if "undecided" in words:
        return "undecided"
    if "ahead" not in words:
        return "does not hold"
    return "holds" if len(words) == family else "holds in part"


def close(found: pd.DataFrame, rules: Rules) -> pd.Series:
    """Where a row's interval rules out a difference of the margin, either way."""
    return (found["low"] > -rules.alike) & (found["high"] < rules.alike)


def number(row: pd.Series) -> str:
    """Mean and interval of a row of :func:`against`; from nine replications on also median, p and sign-flip p."""
    shown = f"{row['log_ratio']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
    if row["replications"] < MEDIANS:
        return shown
    p, flips = (f"{p:.3f}" if p >= 0.001 else "below 0.001" for p in (row["p"], row["p_flips"]))
    return f"{shown}, median {row['median']:+.3f}, p {p}, by sign flips {flips}"


def told(found: pd.DataFrame, rules: Rules) -> str:
    """Put a table of :func:`against` into words: who is where, with numbers, and what an open question would take."""
    groups = {word: found[found["comparison"] == word] for word in WORDS}
    return "; ".join(
        f"{word}: {', '.join(f'{name} {number(row)}{_takes(row, rules)}' for name, row in rows.iterrows())}"
        for word, rows in groups.items()
        if len(rows)
    )


def _takes(row: pd.Series, rules: Rules) -> str:
    if row["comparison"] != "undecided":
        return ""
    needed = "more than 1,000" if np.isnan(row["needed"]) else f"{row['needed']:.0f}"
    return f" ({needed} replications would give {rules.power:.0%} power)"


def values(found: pd.DataFrame, method: str, **about: Any) -> tuple[dict[str, Any], ...]:
    """Rows of :func:`against` as plain values, for whoever reads verdicts as data.

    Returns:
        A dictionary per row: ``about``, ``method``, ``against``, and those of :data:`VALUES` that the rows have;
        ``p`` is adjusted, in units of ``spent``, the share of the level; ``median`` and ``p_flips`` are missing below
        nine replications.
    """
    few = found["replications"] < MEDIANS
    found = found.assign(**{c: found[c].mask(few) for c in ("median", "p_flips") if c in found})
    rows = found[[column for column in VALUES if column in found]].to_dict("index")
    return tuple({**about, "method": method, "against": str(name)} | row for name, row in rows.items())


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
    low, high = found["replications"].min(), found["replications"].max()
    return f"{low if low == high else f'{low} to {high}'} replications"
