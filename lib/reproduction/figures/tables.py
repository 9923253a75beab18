"""Tables of pages: methods and columns by their names in words, few digits, a dash where there is nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from macal import datasets, plots
from reproduction.claims.rules import Rules
from reproduction.claims.scale import range_of
from reproduction.claims.verdict import Claim, Verdict

WORDS = {
    "log_ratio": "log ratio",
    "p_flips": "p, sign flips",
    "pehe": "error of the effect",
    "w1": "distance of the arms",
    "counterpart": "distance to the nearest counterpart",
    "radius": "covering radius",
    "valid_loss": "validation loss",
    "method": "criterion",
    "dataset": "data set",
    "rbf": "RBF",
    "rq": "rational quadratic",
    "matern-3/2": "Matérn-3/2",
}
PAD = "padding: 0.15em 0.6em"
STYLE = [
    {"selector": "td", "props": f"{PAD}; text-align: right; white-space: nowrap"},
    {"selector": "th.col_heading", "props": f"{PAD}; text-align: right"},
    {"selector": "th.row_heading", "props": f"{PAD}; text-align: left; white-space: nowrap"},
]
LEFT = [{"selector": "td, th", "props": "text-align: left; vertical-align: top"}]


def words(name: object) -> object:
    """What a page calls a method, a data set or a column; anything else as it is."""
    if not isinstance(name, str):
        return name
    if name in datasets.DATASETS:
        return datasets.DATASETS[name].label
    return WORDS.get(name, plots.style(name).label)


def shown(table: pd.DataFrame, name: str, caption: str, digits: int = 2) -> Styler:
    """A table as readers see it.

    Args:
        table: its labels may be names of methods, data sets and columns.
        name: of the table, the only one of its page: two runs then give the same bytes.
        caption: what it shows, in which unit.
        digits: decimals of numbers that are not whole.
    """
    style = table.rename(index=words, columns=words).style.format(precision=digits, na_rep="–", thousands=",")
    style = style.hide(axis="index", names=True).hide(axis="columns", names=True)
    return style.set_table_styles(STYLE).set_uuid(name).set_caption(caption)


def bracketed(found: pd.DataFrame, digits: int = 2) -> pd.Series:
    """Each row's ``log_ratio`` with ``low`` and ``high`` in brackets, as text."""
    form = f"{{:+.{digits}f}} [{{:+.{digits}f}}, {{:+.{digits}f}}]"
    said = [form.format(row.log_ratio, row.low, row.high) for row in found.itertuples()]
    return pd.Series(said, found.index, dtype=object)


def intervals(found: pd.DataFrame, digits: int = 2) -> pd.DataFrame:
    """Comparisons in words: log ratio with its interval, comparison, replications; a row each, in the order given.

    Args:
        found: rows of :func:`reproduction.claims.comparison.against`.
        digits: decimals.
    """
    said = {"comparison": found["comparison"], "replications": found["replications"].astype(int)}
    return pd.DataFrame({"log ratio [interval]": bracketed(found, digits), **said}, found.index)


def verdicts(judged: Mapping[tuple[str, str], Verdict], name: str, caption: str) -> Styler:
    """Verdicts with their evidence, a row per claim and version; methods by their labels."""
    table = pd.DataFrame({key: {"verdict": v.verdict, "evidence": plain(v.evidence)} for key, v in judged.items()}).T
    return shown(table, name, caption).set_table_styles(LEFT)


def plain(evidence: str) -> str:
    """Call the methods and data sets in a piece of evidence by their labels."""
    methods, data = ("|".join(sorted(names, key=len, reverse=True)) for names in (plots.methods(), datasets.DATASETS))
    ends = rf"(?<![\w-])({methods})(?= [-+]?\d|'s |, | to | \(|[;:]|$)|\b({data})\b"
    return re.sub(ends, lambda m: str(words(m[0])), evidence)


def replication(claims: Iterable[Claim], rules: Rules, against: Sequence[str] = ("random", "qhte")) -> pd.DataFrame:
    """Whether the paper's results come out again: a row per claim and version, by data set and version.

    Args:
        claims: about errors, each with its versions and what it compares.
        rules: by which they are judged.
        against: methods whose comparison is shown, in per cent with its interval, of claims about one data set: of the
            first stretch of the campaign that is judged.

    Returns:
        ``verdict``; a column per method; ``replications``, ``methods`` and ``sizes``: recorded, of the paper's.
    """
    rows = {}
    for claim in claims:
        for version, verdict, scales in zip(claim.versions, claim.verdicts(rules), claim.scales(), strict=True):
            alone = len(scales) == 1
            found = {c["against"]: c for c in reversed(verdict.comparisons) if alone and not c.get("beside")}
            row = {"verdict": verdict.verdict} | {name: _per_cent(found.get(name)) for name in against}
            if alone:
                (scale,) = scales
                row["replications"] = f"{range_of(scale.replications)} of {scale.of_replications}"
                row["methods"] = f"{len(scale.methods)} of {len(scale.of_methods)}"
                row["sizes"] = f"{range_of(scale.sizes)} of {scale.of_sizes}"
            place = datasets.DATASETS[scales[0].dataset].label if alone else "all data sets"
            rows[place, version.name] = row
    return pd.DataFrame.from_dict(rows, "index").fillna("–")


def _per_cent(comparison: Mapping[str, Any] | None) -> str:
    """A log ratio with its interval in per cent; a dash where there is none."""
    if comparison is None:
        return "–"
    value, low, high = (100 * float(np.expm1(comparison[end])) for end in ("log_ratio", "low", "high"))
    return f"{value:+.0f} [{low:+,.0f}, {high:+,.0f}]"
