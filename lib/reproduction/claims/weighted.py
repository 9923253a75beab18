"""Whether intervals from drawn labels hold what they promise."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from reproduction.claims.verdict import Word, together
from reproduction.studies.coverage import CASES

PROMISED, OFF = 0.95, 0.01  # coverage, and how far the measured one may be from it


def coverage(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage of every case, by the rule of :mod:`reproduction.studies.coverage`.

    Args:
        table: rows of blocks; see :func:`reproduction.studies.coverage.block`.

    Returns:
        By case, in the study's order: ``coverage`` among the intervals given, with its exact 99% interval, ``low`` to
        ``high``; the share ``given``; widths, the ``mean``, the ``median`` (of blocks' medians) and the ``largest``;
        the share of simulations ``withheld`` as unreliable; ``verdict``, "as promised", "too low" or "withheld".
    """
    case, total = pd.Categorical(table["case"], list(CASES)), table["mean"] * table["given"]
    by = table.assign(case=case, mean=total).groupby("case", observed=True)
    n = by[["simulations", "given", "held", "withheld", "mean"]].sum()
    found = pd.DataFrame({"coverage": n["held"] / n["given"]})
    found["low"], found["high"] = exact_interval(n["held"], n["given"], 0.01)
    found = found.assign(given=n["given"] / n["simulations"], mean=n["mean"] / n["given"])
    withheld = n["withheld"] / n["simulations"]
    found = found.assign(median=by["median"].median(), largest=by["max"].max(), withheld=withheld)
    words = np.select([withheld > 0.5, found["high"] < PROMISED], ["withheld", "too low"], "as promised")
    return found.assign(verdict=words)


def combined_verdict(words: Iterable[Word]) -> Word:
    """Verdict on a claim about every case: where one is refuted, those that are open do not make it open."""
    words = list(words)
    return together([word for word in words if word != "open"] if "fails" in words else words)


def exact_interval(held: pd.Series, of: pd.Series, level: float | pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's intervals of shares: ``held`` of ``of``, missing the truth with chance ``level``."""
    missed = of - held
    low = np.where(held > 0, betaincinv(np.maximum(held, 1), missed + 1, level / 2), 0.0)
    high = np.where(missed > 0, betaincinv(held + 1, np.maximum(missed, 1), 1 - level / 2), 1.0)
    return low, high
