"""Answers: whose they are, what one may be, and the chance that it comes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_scalar

from macal.arguments import fits
from macal.survey.sampling_frame import SamplingFrame


def by_name(people: SamplingFrame, answers: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Outcomes by the table's names of the units; an answer that is there twice is one.

    Raises:
        UnknownName: the table has no such unit.
        ValueError: two answers of one unit.
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
    """Check that treatments beside answers, by the units' names, missing or not, are the table's: ValueError if not."""
    names, values = zip(*pairs, strict=True) if (pairs := list(told)) else ((), ())
    places = people.positions(names, "the answers")
    for place, value in zip(places.tolist(), values, strict=True):
        arm = people.arms[int(people.problem.pool.t[place])]
        if not (pd.isna(value) or value == arm or str(value).strip().casefold() == str(arm).casefold()):
            raise ValueError(
                f"{people.table.index[place]} has {treatment} = {arm} in the table, and {value} in the answers; mend"
                " the one that is wrong, or leave that column out of the answers"
            )


def chance(outcome: float | None, response: float) -> float:
    """Chance that an answer comes: 1 or 0 where it is known."""
    return 0.0 if outcome is None else response if np.isnan(outcome) else 1.0


def outcome_of(name: Any, outcome: Any, before: float | None) -> float | None:
    """An outcome as a number, None where it is missing.

    Args:
        name: of the unit, for an error.
        outcome: as the caller has it.
        before: what she has answered before.

    Raises:
        ValueError: no finite number, or another one than before.
    """
    plain = outcome.item() if isinstance(outcome, np.generic) else outcome
    if is_scalar(outcome) and pd.isna(outcome):
        value = None
    elif isinstance(plain, bool) or fits(plain, float):
        value = float(plain)
    else:
        how = "; write words as numbers, yes and no as 1 and 0" if isinstance(outcome, str) else ""
        raise ValueError(
            f"the outcome of {name} must be a finite number, or missing for no answer, got {outcome!r}{how}"
        )
    if before is not None and value != before:
        now = "nothing" if value is None else f"{value:g}"
        raise ValueError(f"{name} has answered {before:g} before, and now {now}; macal correct takes another answer")
    return value
