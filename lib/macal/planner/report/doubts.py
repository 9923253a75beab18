"""What is to be said of a table before money is spent on it: values that lie far off, and poor overlap."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from macal.planner.campaign import CampaignState
from macal.planner.drawn import allowed
from macal.planner.people import People
from macal.planner.report import overlap
from macal.shapes import Outcomes
from macal.tables.encoding import far_off, limits
from macal.tables.roles import prepared

SHOWN = 3  # people that are named


def warnings(campaign: CampaignState) -> list[str]:
    """What is to be said of a table, and what to do about it; nothing where all is well.

    Overlap is that of whoever may be asked.
    """
    people = campaign.people
    return [*far_values(people), *overlap.warnings(people.part(allowed(people, campaign.policy)))]


def far_values(people: People) -> list[str]:
    """Of each covariate with values that lie far off: the values, the people, and how they count."""
    said = (_far(people.table[c], values) for c, values in _measured(people))
    return [words for words in said if words]


def columns(campaign: CampaignState) -> pd.DataFrame:
    """One row per column: its role, what is to be said of it, and how many values count as the farthest within."""
    people = campaign.people
    shown = people.roles.shown(campaign.columns.named())
    for c, values in _measured(people):
        low, high = _limits(values)
        ends = {end: int(out.sum()) for end, out in ((low, values < low), (high, values > high)) if out.any()}
        told = [
            f"{n:,} count{'s' * (n == 1)} as {overlap.written(people.table[c], values, end)}" for end, n in ends.items()
        ]
        shown.loc[c, "what"] = "; ".join([shown.loc[c, "what"], *told])
    return shown


def _measured(people: People) -> Iterator[tuple[Any, Outcomes]]:
    """Covariates that are numbers, or dates as days, each (n,)."""
    kinds = people.roles.kinds
    for column, values in prepared(people.table, people.roles).items():
        if kinds[column] != "category":
            yield column, values.to_numpy(np.float64)


def _limits(values: Outcomes) -> tuple[float, float]:
    with np.errstate(over="ignore"):  # of numbers near the largest
        return limits(values)


def _far(column: pd.Series, values: Outcomes) -> str:
    """What to say of a column, by the units' names."""
    is_far, written = far_off(values), partial(overlap.written, column, values)
    if not is_far.any():
        return ""
    far, others = pd.Series(values, column.index)[is_far], values[~is_far]
    low, high = np.clip([far.min(), far.max()], *_limits(values))
    told = [written(value) for value in far.unique()]
    whom = [str(unit) for unit in far.index[:SHOWN]] + [f"{len(far) - SHOWN:,} others"] * (len(far) > SHOWN)
    counts = " or ".join(written(value) for value in dict.fromkeys((low, high)))
    what, lie = listed(told[:SHOWN] + ["more"] * (len(told) > SHOWN)), "lies" if len(told) == 1 else "lie"
    unit = column.index.name or "unit"
    return (
        f"column {str(column.name)!r}: {what} of {unit} {listed(whom)} {lie} far from everybody else"
        f" ({written(others.min())} to {written(others.max())}), and counts as {counts} in distances; if that is a"
        " mistake, or stands for a missing value, mend the table before people are asked"
    )


def listed(words: list[str]) -> str:
    """Name one thing or several, as "a, b and c"; at least one."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
