"""Verdicts M1 and B1: MACAL's gain under every estimator and data set recorded, and what balance has of it."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from reproduction.benchmarks import PAPER
from reproduction.claims.comparison import Case, conclude, lowest, scope, told, too_few
from reproduction.claims.leads import lead
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict
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


def _judge(models: Sequence[Version], others: Sequence[str], version: Version, rules: Rules, lacking: str) -> Verdict:
    cases = [
        Case(
            lowest(rows, len(others)),
            rows,
            version.macal,
            {"dataset": name, "estimator": model},
            f"{model} on {name}, {scope(rows)}, {told(rows)}",
        )
        for (model, name), rows in cells(models, others, rules).items()
    ]
    return conclude(cases, too_few(rules, lacking), f"log ratio of {version.macal}'s PEHE: ")


def judge_transfer(rules: Rules, version: Version) -> Verdict:
    """M1: ahead of Random under every other estimator, on every data set recorded; 'in part' under some.

    In the code version MACAL's distances are squared; the estimators stay the same.
    """
    models = [replace(model, macal=version.macal) for model in (EXACT, *LEARNERS)]
    return _judge(models, ("random",), version, rules, " under any other estimator")


def judge_balance(rules: Rules, version: Version) -> Verdict:
    """B1: ahead of Random and of random-balanced, per estimator and data set.

    In the text version under every estimator that was given those labels; in the code version under its own.
    """
    models = (TEXT, EXACT, *LEARNERS) if version is TEXT else (CODE,)
    return _judge(models, CONTROLS, version, rules, " of MACAL, Random and balanced")
