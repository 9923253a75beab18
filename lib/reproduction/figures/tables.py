"""Tables of pages: methods and columns by their names in words, few digits, a dash where there is nothing."""

import re
from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from macal import datasets, plots
from reproduction.claims import ledger
from reproduction.claims.comparison import describe_rows
from reproduction.claims.verdict import WORDS as VERDICTS
from reproduction.methods import label

WORDS = {
    "log_ratio": "log ratio",
    "pehe": "error of the effect",
    "w1": "distance between arms",
    "counterpart": "distance to the nearest counterpart",
    "radius": "covering radius",
    "valid_loss": "validation loss",
    "method": "criterion",
    "dataset": "data set",
    "rbf": "RBF",
    "rq": "rational quadratic",
    "matern-3/2": "Matérn-3/2",
}
CASE = ("dataset", "estimator", "stretch", "part", "measure", "step", "method")  # what sets comparisons apart
MAX_SHOWN = 40  # comparisons of a verdict
PAD = "padding: 0.15em 0.6em"
STYLE = [
    {"selector": "td", "props": f"{PAD}; text-align: right; white-space: nowrap"},
    {"selector": "th.col_heading", "props": f"{PAD}; text-align: right"},
    {"selector": "th.row_heading", "props": f"{PAD}; text-align: left; white-space: nowrap"},
]


def words(name: object) -> object:
    """What a page calls a method, a data set or a column; anything else as it is."""
    if not isinstance(name, str):
        return name
    if name in datasets.DATASETS:
        return datasets.DATASETS[name].label
    return WORDS.get(name) or label(name)


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


def bracketed(found: pd.DataFrame, digits: int = 2, mean: str = "log_ratio") -> pd.Series:
    """Each row's mean with ``low`` and ``high`` in brackets, as text."""
    form = f"{{:+.{digits}f}} [{{:+.{digits}f}}, {{:+.{digits}f}}]"
    said = [form.format(*row) for row in found[[mean, "low", "high"]].itertuples(index=False)]
    return pd.Series(said, found.index, dtype=object)


def changes(found: pd.DataFrame) -> pd.Series:
    """Each row's ``change`` with ``low`` and ``high`` in brackets, whole per cent, as text."""
    return bracketed(found, 0, "change")


def evidence(comparisons: Sequence[Mapping[str, Any]], text: str) -> str:
    """A verdict's comparisons in words, case by case; the text of its evidence where there are none, or too many."""
    if not 0 < len(comparisons) <= MAX_SHOWN:
        return _plain(text)
    cases = groupby(comparisons, lambda row: ", ".join(_labels(row)))
    shown = [
        f"{case}, {describe_rows(pd.DataFrame(rows).set_index('against').rename(index=words))}" for case, rows in cases
    ]
    return f"{'Labels' if 'labels' in comparisons[0] else 'Log ratio'}: {'; '.join(shown)}"


def _plain(text: str) -> str:
    """Call the methods and data sets in a piece of evidence by their labels."""
    methods, data = ("|".join(sorted(names, key=len, reverse=True)) for names in (plots.methods(), datasets.DATASETS))
    ends = rf"(?<![\w-])({methods})(?= [-+]?\d|'s |, | to | on | \(|[;:]|$)|\b({data})\b"
    return re.sub(ends, lambda m: str(words(m[0])), text)


def _labels(row: Mapping[str, Any]) -> list[str]:
    about = {name: words(row[name]) for name in CASE if name in row}
    return [value if isinstance(value, str) else f"{name} {value}" for name, value in about.items()]


def strip(found: pd.DataFrame) -> str:
    """The claims as a strip of squares by verdict, each a link to its row of the ledger, with how many of each: HTML.

    Args:
        found: rows of :func:`reproduction.claims.ledger.recorded`.
    """
    ordered = found.iloc[np.argsort([VERDICTS.index(word) for word in found["verdict"]], kind="stable")]
    kinds = {word: word.replace(" ", "-") for word in VERDICTS}
    squares = [
        f'<a class="{kinds[row.verdict]}" href="ledger.html#claim-{key}" title="{escape(row.claim)}">'
        f'<span class="sr-only">{key}, {row.verdict}</span></a>'
        for key, row in zip(ordered.index, ordered.itertuples(), strict=True)
    ]
    said = {"holds": "hold", "holds in part": "in part", "fails": "fail", "open": "open"}
    counts = [
        f'<span class="{kinds[word]}"></span>{(found["verdict"] == word).sum()} {said[word]}' for word in VERDICTS
    ]
    return f'<p class="strip">{"".join(squares)}</p><p class="key">{" ".join(counts)}</p>'


def claims(found: pd.DataFrame, version: str = "") -> str:
    """The claims as a table that a script sorts and filters, their numbers folded: HTML.

    Args:
        found: rows of :func:`reproduction.claims.ledger.recorded`.
        version: "text" for that version's numbers and scale; by default those of the verdict that counts.
    """
    end = f"_{version}" if version else ""
    rows = []
    for key, row in zip(found.index, found.to_dict("records"), strict=True):
        word, means = row[f"verdict{end}"], row[f"on_means{end}"]
        by_means = f"By arithmetic means: {means}" if means else ""
        scale = "; ".join(f"{words(one.dataset)}: {one.share()}" for one in row[f"scale{end}"])
        said = ". ".join(filter(None, (scale, by_means, evidence(row[f"comparisons{end}"], row[f"evidence{end}"]))))
        differs = f", by arithmetic means {means}" if means not in ("", word) else ""
        place = f'id="claim-{key}" ' if not version else ""
        cells = (
            f'<a {place}href="{row["chapter"]}.html">{key}</a>',
            *map(escape, (row["claim"], row["source"], row["verdict"], row["verdict_text"])),
            f"<details><summary>numbers{differs}</summary>{escape(said)}</details>",
        )
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    heads = ("key", "claim", "place", "verdict", "text version", "evidence")
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def box(*keys: str) -> str:
    """What a page judges: claims with their place in the paper and their verdicts, each a link to the ledger: HTML."""
    said = []
    for key, row in ledger.recorded().loc[list(keys)].iterrows():
        beside = f"; text version: {row['verdict_text']}" if row["verdict_text"] else ""
        beside += f"; by arithmetic means: {row['on_means']}" if row["on_means"] not in ("", row["verdict"]) else ""
        link = f'<a href="ledger.html#claim-{key}">{key}</a>'
        said.append(f"<li>{link}, {row['source']}: {escape(row['claim'])}. <b>{row['verdict']}</b>{beside}</li>")
    return f'<ul class="judged">{"".join(said)}</ul>'


def cards(table: pd.DataFrame, name: str, code: Collection[str] = ()) -> str:
    """A table of words that a phone shows as cards: HTML.

    Args:
        table: at most three columns.
        name: of the rows.
        code: columns that hold code, and ``name`` where the rows' labels do.
    """

    def shown(value: object, column: str) -> str:
        said = escape(str(value))
        return f"<code>{said}</code>" if column in code and said else said

    head = "".join(f"<th>{escape(str(column))}</th>" for column in (name, *table.columns))
    rows = "".join(
        f"<tr><th>{shown(key, name)}</th>"
        + "".join(f'<td data-name="{escape(c)}">{shown(v, c)}</td>' for c, v in row.items())
        + "</tr>"
        for key, row in table.iterrows()
    )
    return f'<table class="cards"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
