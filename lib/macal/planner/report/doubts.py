"""What is to be said of a table before money is spent on it: values that lie far off, and poor overlap."""

import numpy as np
import pandas as pd

from macal.planner.people import People
from macal.planner.report import overlap
from macal.tables.encoding import far_off, limits

SHOWN = 3  # people that are named


def warnings(people: People) -> list[str]:
    """What is to be said of a table, and what to do about it; nothing where all is well."""
    return [*far_values(people), *overlap.warnings(people)]


def far_values(people: People) -> list[str]:
    """Of each covariate with values that lie far off: the values, the people, and how they count."""
    numbers = [column for column, kind in people.roles.kinds.items() if kind == "number"]
    said = (_far(str(c), pd.to_numeric(people.table[c]).astype(np.float64)) for c in numbers)
    return [words for words in said if words]


def _far(name: str, column: pd.Series) -> str:
    """What to say of a column, by the units' names."""
    values = column.to_numpy()
    is_far = far_off(values)
    if not is_far.any():
        return ""
    far, others = column[is_far], values[~is_far]
    with np.errstate(over="ignore"):  # of numbers near the largest
        low, high = np.clip([far.min(), far.max()], *limits(values))
    told = [f"{value:.10g}" for value in far.unique()]
    whom = [str(unit) for unit in far.index[:SHOWN]] + [f"{len(far) - SHOWN:,} others"] * (len(far) > SHOWN)
    counts = " or ".join(f"{value:.4g}" for value in dict.fromkeys((low, high)))
    what, lie = listed(told[:SHOWN] + ["more"] * (len(told) > SHOWN)), "lies" if len(told) == 1 else "lie"
    unit = column.index.name or "unit"
    return (
        f"column {name!r}: {what} of {unit} {listed(whom)} {lie} far from everybody else ({others.min():.10g} to"
        f" {others.max():.10g}), and counts as {counts} in distances; if that is a mistake, or stands for a missing"
        " value, mend the table before people are asked"
    )


def listed(words: list[str]) -> str:
    """Name one thing or several, as "a, b and c"; at least one."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
