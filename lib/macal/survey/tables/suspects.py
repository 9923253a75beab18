"""Suspicious covariates: post-treatment variables and weights, by name, and spellings of one value."""

import re
from collections.abc import Iterable

import pandas as pd

from macal.datasets.encoding import spellings
from macal.survey import plan_words
from macal.survey.facts import Fact
from macal.survey.tables.roles import Roles

_MAIL = "al|n[ru]|leitzahl|graduate|[ _.-]?(code|office|secondary)|s(?![a-z])"  # post before these does not mean time
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
    """Return names that suggest measurement after treatment: deaths, outcomes, later years.

    >>> later(["age", "died", "postcode", "score_post", "re74", "re78"])
    ['died', 'score_post', 're78']
    >>> later(["q39", "q40", "q41", "age_40_49", "age_50_59", "pm_95", "pct_50"])
    []
    """
    years = {name: [int(year) for year in _YEAR.findall(name)] for name in names}
    series: dict[str, dict[str, int]] = {}
    for match in filter(None, map(_SERIES.fullmatch, years)):
        series.setdefault(match[1], {})[match[0]] = int(match[2])
    for numbers in series.values():  # years as in re74 and re78; items of a list begin below 40
        if len(numbers) > 1 and 40 <= min(numbers.values()) and max(numbers.values()) < 100:
            years |= {name: [1900 + number] for name, number in numbers.items()}
    first = min((year for found in years.values() for year in found), default=0)
    return [name for name, found in years.items() if _LATER.search(name) or any(year > first for year in found)]


def weights(table: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Return names that suggest survey weights, among numeric columns; ``weight`` if its mean is about 1.

    >>> weights(pd.DataFrame({"birth weight": [3100.0], "weight": [74.5], "pweight": [212.5]}), ["weight", "pweight"])
    ['pweight']
    """
    return [c for c in names if _WEIGHTS.fullmatch(c) or (c.lower() == "weight" and 0.5 < table[c].mean() < 2)]


def warnings(table: pd.DataFrame, roles: Roles) -> list[Fact]:
    """Return warnings on a table's covariates."""
    after = later([str(c) for c in roles.kinds])
    mine = weights(table, [str(c) for c, kind in roles.kinds.items() if kind == "number"])
    said = [Fact(plan_words.measured_later, columns=after)] if after else []
    said += [Fact(plan_words.survey_weights, columns=mine)] if mine else []
    for column in [c for c, kind in roles.kinds.items() if kind == "category"]:
        if texts := spellings(table[column].dropna().unique()):
            said.append(Fact(plan_words.spelt_differently, column=column, texts=texts))
    return said
