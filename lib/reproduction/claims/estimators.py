"""Verdicts M1 and B1: MACAL's gain under every estimator and data set recorded, and what balance has of it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.comparison import lowest, scope, told, values
from reproduction.claims.leads import lead
from reproduction.claims.readings import CODE, EXACT, LEARNERS, TURNING_POINT, WRITTEN, Reading, inner
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, together

OTHERS = ("random", "random-balanced", "qhte")
CONTROLS = ("random", "random-balanced")


def cells(
    readings: Sequence[Reading], others: Sequence[str], rules: Rules, until: int = TURNING_POINT
) -> dict[tuple[str, str], pd.DataFrame]:
    """MACAL against others under each estimator on each data set, in the stretch that decides.

    Args:
        readings: the estimators.
        others: methods that MACAL is compared with.
        rules: see :class:`reproduction.claims.rules.Rules`.
        until: labels on IHDP where the stretch ends; elsewhere it is the whole campaign.

    Returns:
        (estimator, data set) -> rows of :func:`reproduction.claims.comparison.compare`, where enough is recorded.
    """
    found = {
        (reading.name, name): lead(reading, name, rules, (1, until) if name == "ihdp" else None, others)
        for reading in readings
        for name in reading.tables
    }
    return {key: rows for key, rows in found.items() if len(rows)}


def errors(
    readings: Sequence[Reading], places: Iterable[tuple[str, str]], until: int = TURNING_POINT
) -> dict[tuple[str, str], float]:
    """MACAL's PEHE at the keys of :func:`cells`, mean over replications and sizes."""
    models, found = {reading.name: reading for reading in readings}, {}
    for model, name in places:
        table = inner(models[model].load(name), name)
        last = until if name == "ihdp" else np.inf
        own = table[(table["method"] == models[model].macal) & (table["labelled"] <= last)]
        found[model, name] = float(own["pehe"].mean())
    return found


def _told(found: dict[tuple[str, str], pd.DataFrame], rules: Rules) -> str:
    return "; ".join(f"{model} on {name}, {scope(rows)}, {told(rows, rules)}" for (model, name), rows in found.items())


def _values(found: dict[tuple[str, str], pd.DataFrame], macal: str) -> tuple[dict[str, Any], ...]:
    return tuple(
        row for (model, name), rows in found.items() for row in values(rows, macal, dataset=name, estimator=model)
    )


def judge_transfer(rules: Rules, reading: Reading) -> Verdict:
    """M1: ahead of Random under every other estimator, on every data set recorded; 'in part' under some.

    As the code runs, MACAL's distances are squared; the estimators stay the same.
    """
    models = [replace(model, macal=reading.macal) for model in (EXACT, *LEARNERS)]
    found = {key: rows.loc[["random"]] for key, rows in cells(models, OTHERS, rules).items() if "random" in rows.index}
    if not found:
        return Verdict("not tested", f"fewer than {rules.minimum} recorded replications under any other estimator")
    word = together(lowest(rows, 1) for rows in found.values())
    return Verdict(word, f"log ratio of {reading.macal}'s PEHE: {_told(found, rules)}", _values(found, reading.macal))


def judge_balance(rules: Rules, reading: Reading) -> Verdict:
    """B1: ahead of Random and of random-balanced, per estimator and data set.

    As written, under every estimator that was given those labels; as the code runs, under its own.
    """
    models = (WRITTEN, EXACT, *LEARNERS) if reading is WRITTEN else (CODE,)
    found = cells(models, CONTROLS, rules)
    if not found:
        return Verdict("not tested", f"fewer than {rules.minimum} recorded replications of MACAL, Random and balanced")
    return Verdict(
        together(lowest(rows, len(CONTROLS)) for rows in found.values()),
        f"log ratio of {reading.macal}'s PEHE: {_told(found, rules)}",
        _values(found, reading.macal),
    )
