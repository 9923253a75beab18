"""Verdicts M1 and B1: MACAL's gain under every estimator and data set recorded, and what balance has of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from reproduction.benchmarks import PAPER
from reproduction.claims.comparison import lowest, scope, told, values
from reproduction.claims.leads import lead
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, together
from reproduction.claims.versions import CODE, EXACT, LEARNERS, TEXT, Version

CONTROLS = ("random", "random-balanced")


def cells(versions: Sequence[Version], others: Sequence[str], rules: Rules) -> dict[tuple[str, str], pd.DataFrame]:
    """MACAL against others under each estimator on each data set: :func:`reproduction.claims.leads.lead`.

    Args:
        versions: the estimators.
        others: methods that MACAL is compared with.
        rules: see :class:`reproduction.claims.rules.Rules`.

    Returns:
        (estimator, data set) -> its rows, where enough is recorded.
    """
    found = {
        (version.name, name): lead(version, PAPER[name], rules, others)
        for version in versions
        for name in version.tables
    }
    return {key: rows for key, rows in found.items() if len(rows)}


def _told(found: dict[tuple[str, str], pd.DataFrame]) -> str:
    return "; ".join(f"{model} on {name}, {scope(rows)}, {told(rows)}" for (model, name), rows in found.items())


def _values(found: dict[tuple[str, str], pd.DataFrame], macal: str) -> tuple[dict[str, Any], ...]:
    return tuple(
        row for (model, name), rows in found.items() for row in values(rows, macal, dataset=name, estimator=model)
    )


def judge_transfer(rules: Rules, version: Version) -> Verdict:
    """M1: ahead of Random under every other estimator, on every data set recorded; 'in part' under some.

    In the code version MACAL's distances are squared; the estimators stay the same.
    """
    models = [replace(model, macal=version.macal) for model in (EXACT, *LEARNERS)]
    found = cells(models, ("random",), rules)
    if not found:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications under any other estimator")
    word = together(lowest(rows, 1) for rows in found.values())
    return Verdict(word, f"log ratio of {version.macal}'s PEHE: {_told(found)}", _values(found, version.macal))


def judge_balance(rules: Rules, version: Version) -> Verdict:
    """B1: ahead of Random and of random-balanced, per estimator and data set.

    In the text version under every estimator that was given those labels; in the code version under its own.
    """
    models = (TEXT, EXACT, *LEARNERS) if version is TEXT else (CODE,)
    found = cells(models, CONTROLS, rules)
    if not found:
        return Verdict("open", f"fewer than {rules.minimum} recorded replications of MACAL, Random and balanced")
    return Verdict(
        together(lowest(rows, len(CONTROLS)) for rows in found.values()),
        f"log ratio of {version.macal}'s PEHE: {_told(found)}",
        _values(found, version.macal),
    )
