"""Covariates to be doubted: what treatment may have changed and weights, by their names, and spellings of one value."""

import re
from collections.abc import Iterable

import pandas as pd

from macal.datasets.encoding import spellings
from macal.survey.tables.roles import Roles

_MAIL = "al|n[ru]|leitzahl|graduate|[ _.-]?(code|office|secondary)|s(?![a-z])"  # post before these is no time
_LATER = re.compile(rf"(?<![a-z])(death|dead|died|outcome|post(?!{_MAIL})|follow[ _.-]?up|after)", re.IGNORECASE)
_YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_SERIES = re.compile(r"([^0-9]{2,})([0-9]+)")
_WEIGHTS = re.compile(
    r"(.*[_ .-])?(survey|svy|sampl(e|ing)|design|prob(ability)?|final|calibrat(ed|ion)|rak(ed|ing)|strat\w*|person|per"
    r"|household|hh|pop(ulation)?|analytic|inverse|base|non[ _.-]?response)[ _.-]?(weight|wgt|wt)s?"
    r"|[psf]weights?|fnlwgt|wgt|weights",
    re.IGNORECASE,
)


def later(names: Iterable[str]) -> list[str]:
    """Names of what may have been measured after treatment: of death or outcome, or of a later year than others.

    >>> later(["age", "died", "postcode", "score_post", "re74", "re78"])
    ['died', 'score_post', 're78']
    >>> later(["q39", "q40", "q41", "age_40_49", "age_50_59", "pm_95", "pct_50"])
    []
    """
    years = {name: [int(year) for year in _YEAR.findall(name)] for name in names}
    series: dict[str, dict[str, int]] = {}
    for match in filter(None, map(_SERIES.fullmatch, years)):
        series.setdefault(match[1], {})[match[0]] = int(match[2])
    for numbers in series.values():  # of one stem, as re74 and re78; items of a list begin below 40
        if len(numbers) > 1 and 40 <= min(numbers.values()) and max(numbers.values()) < 100:
            years |= {name: [1900 + number] for name, number in numbers.items()}
    first = min((year for found in years.values() for year in found), default=0)
    return [name for name, found in years.items() if _LATER.search(name) or any(year > first for year in found)]


def weights(table: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Names of what may be weights of a survey, among columns of numbers; ``weight`` where they are about 1.

    >>> weights(pd.DataFrame({"birth weight": [3100.0], "weight": [74.5], "pweight": [212.5]}), ["weight", "pweight"])
    ['pweight']
    """
    return [c for c in names if _WEIGHTS.fullmatch(c) or (c.lower() == "weight" and 0.5 < table[c].mean() < 2)]


def told(table: pd.DataFrame, roles: Roles) -> list[str]:
    """What is to be said of a table's covariates, and what to do about it; nothing where all is well."""
    after = later([str(c) for c in roles.kinds])
    mine = weights(table, [str(c) for c, kind in roles.kinds.items() if kind == "number"])
    words = []
    if after:
        words.append(
            f"by name, {_named(after)} may have been measured after treatment; what was hides part of its effect: if it"
            f" predicts the outcome, make it a proxy (--proxy {after[0]}), else leave it out (--kind {after[0]}=ignore)"
        )
    if mine:
        words.append(
            f"by name, {_named(mine)} may be weights of a survey; here each row counts as one person, and a covariate"
            f" weighs nobody: leave it out (--kind {mine[0]}=ignore), and estimates are of the people of the table"
        )
    for column in [c for c, kind in roles.kinds.items() if kind == "category"]:
        if texts := spellings(table[column].dropna().unique()):
            words.append(
                f"column {column!r} holds {_named(texts)}, which differ in spaces or capitals alone, and counts them as"
                " different; make them one"
            )
    return words


def _named(names: list[str]) -> str:
    return ", ".join(map(repr, names))
