"""Answers: names, valid outcomes, and response probabilities."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_scalar

from macal.arguments import fits
from macal.survey.sampling_frame import SamplingFrame


def by_name(people: SamplingFrame, answers: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return outcomes by the table's names; repeated equal answers count once.

    Raises:
        UnknownName: a unit is not in the table.
        ValueError: a unit has two answers.
    """
    names, outcomes = zip(*pairs, strict=True) if (pairs := list(answers)) else ((), ())
    found: dict[Any, Any] = {}
    for name, outcome in zip(
        people.table.index[people.positions(names, "the answers")].tolist(), outcomes, strict=True
    ):
        if not is_scalar(outcome):
            outcome_of(name, outcome, None)
        before = found.setdefault(name, outcome)
        if pd.isna(before) != pd.isna(outcome) or not (pd.isna(before) or before == outcome):
            raise ValueError(f"{name} has two answers, {before} and {outcome}; keep one of them")
    return found


def check_arms(people: SamplingFrame, treatment: str, told: Iterable[tuple[Any, Any]]) -> None:
    """Check treatments given with answers against the table: ValueError if they differ."""
    names, values = zip(*pairs, strict=True) if (pairs := list(told)) else ((), ())
    places = people.positions(names, "the answers")
    for place, value in zip(places.tolist(), values, strict=True):
        arm = people.arms[int(people.problem.pool.t[place])]
        if not (pd.isna(value) or value == arm or str(value).strip().casefold() == str(arm).casefold()):
            raise ValueError(
                f"{people.table.index[place]} has {treatment} = {arm} in the table, and {value} in the answers;"
                " correct one, or leave that column out of the answers"
            )


def chance(outcome: float | None, response: float) -> float:
    """Return the probability of an answer: 1 or 0 once known."""
    return 0.0 if outcome is None else response if np.isnan(outcome) else 1.0


def outcome_of(name: Any, outcome: Any, before: float | None) -> float | None:
    """Return an outcome as a number, None if missing.

    Args:
        name: name of the unit, for errors.
        outcome: value as given.
        before: the unit's earlier answer.

    Raises:
        ValueError: not a finite number, or not the earlier one.
    """
    plain = outcome.item() if isinstance(outcome, np.generic) else outcome
    if is_scalar(outcome) and pd.isna(outcome):
        value = None
    elif isinstance(plain, bool) or fits(plain, float):
        value = float(plain)
    else:
        how = "; code words as numbers, yes and no as 1 and 0" if isinstance(outcome, str) else ""
        raise ValueError(
            f"the outcome of {name} must be a finite number, or missing for no answer, got {outcome!r}{how}"
        )
    if before is not None and value != before:
        now = "nothing" if value is None else f"{value:g}"
        raise ValueError(f"{name} answered {before:g} before and {now} now; change an answer with macal correct")
    return value
