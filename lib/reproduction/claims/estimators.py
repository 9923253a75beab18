"""Verdicts M1 and B1: MACAL's gain under every estimator and data set recorded, and what balance has of it."""

from collections.abc import Sequence
from dataclasses import replace

from reproduction.benchmarks import PAPER
from reproduction.claims.comparison import case_of, conclude, describe_rows, lowest, scope
from reproduction.claims.leads import lead
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict
from reproduction.claims.versions import CODE, EXACT, LEARNERS, TEXT, Version

CONTROLS = ("random", "random-balanced")


def _judge(models: Sequence[Version], others: Sequence[str], version: Version, rules: Rules) -> Verdict:
    found = {(model, name): lead(model, PAPER[name], rules, others) for model in models for name in model.tables}
    cases = []
    for (model, name), rows in found.items():
        text = f"{model.name} on {name}, {scope(rows)}, {describe_rows(rows)}"
        cases.append(case_of(model, name, lowest(rows, len(others)), rows, version.macal, text))
    return conclude(cases, rules, f"log ratio of {version.macal}'s PEHE: ")


def judge_transfer(rules: Rules, version: Version) -> Verdict:
    """M1: ahead of Random under every other estimator, on every data set recorded; 'in part' under some.

    In the code version MACAL's distances are squared; the estimators stay the same.
    """
    return _judge([replace(model, macal=version.macal) for model in (EXACT, *LEARNERS)], ("random",), version, rules)


def judge_balance(rules: Rules, version: Version) -> Verdict:
    """B1: ahead of Random and of random-balanced, per estimator and data set.

    In the text version under every estimator that was given those labels; in the code version under its own.
    """
    return _judge((TEXT, EXACT, *LEARNERS) if version is TEXT else (CODE,), CONTROLS, version, rules)
