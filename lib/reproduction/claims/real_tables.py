"""Verdict S4, on six real tables: has the default a lower error than MACAL?

The table is the unit: see the plan in :mod:`reproduction.studies.real_tables`, which also says what follows for the
default. Nothing is read of a table that is not complete but which campaigns it holds.
"""

from typing import Any, Literal

import numpy as np
import pandas as pd

from macal.campaigns import results
from macal.comparison import student
from reproduction.claims.comparison import placed
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word
from reproduction.studies import tables
from reproduction.studies.real_tables import METHODS, ONE, OTHER, PEOPLE, REPLICATIONS

NAME = "bench_tables"
Outcome = Literal["kept, and ahead", "changed", "kept, not told apart", "under way"]


def recorded() -> pd.DataFrame | None:
    """The recorded table once it is complete, else None."""
    try:
        found = tables.load(NAME)
    except FileNotFoundError:
        return None
    return found if complete(found) == REPLICATIONS else None


def complete(found: pd.DataFrame) -> int:
    """Replications of which every table has every criterion's campaign.

    Args:
        found: a published table, complete or not; its errors are not read.
    """
    held = {tuple(r["config"][k] for k in ("table", "replication", "method")) for r in found.attrs["records"]}
    return sum(all((t, k, m) in held for t in PEOPLE for m in METHODS) for k in range(REPLICATIONS))


def progress() -> int:
    """Replications of all tables that are recorded, in ``results`` or saved under way."""
    folders = [folder for folder in (results.FOLDER, tables.UNDERWAY) if (folder / f"{NAME}.parquet").is_file()]
    return max((complete(results.load(NAME, folder)) for folder in folders), default=0)


def logs(found: pd.DataFrame) -> pd.DataFrame:
    """Log PEHE, mean over surfaces, estimators, sizes and replications: a row per table, a column per criterion."""
    errors = found.assign(error=np.log(found["pehe"]))
    wide = errors.pivot_table("error", ["table", "replication"], "method", aggfunc="mean", sort=False)
    return wide.groupby(level="table", sort=False).mean().reindex(list(PEOPLE))[list(METHODS)]


def regret(means: pd.DataFrame) -> pd.DataFrame:
    """Log ratio of each criterion to the best of its table, 0 for the best."""
    return means.sub(means.min(axis=1), axis=0)


def against(means: pd.DataFrame, baseline: str = "random") -> pd.DataFrame:
    """Log ratio of each other criterion to one, mean over tables: with Student's 95 % interval over the tables.

    Returns:
        By criterion: ``log_ratio``, ``low`` and ``high``, the lowest first.
    """
    gaps = means.drop(columns=baseline).sub(means[baseline], axis=0)
    found = {method: {"log_ratio": values.mean(), **student(values)} for method, values in gaps.items()}
    return pd.DataFrame(found).T[["log_ratio", "low", "high"]].sort_values("log_ratio", kind="stable")


def beaten(found: pd.DataFrame) -> pd.DataFrame:
    """Share of a criterion's trainings whose error is below that of the best constant effect.

    Returns:
        A row per table, a column per outcome function; of the default's labels.
    """
    own = found[found["method"] == ONE]
    shares = (own["pehe"] < own["constant"]).groupby([own["table"], own["surface"]], sort=False).mean()
    return shares.unstack().reindex(list(PEOPLE))


def contrast(means: pd.DataFrame) -> pd.Series:
    """Log ratio of the default to MACAL, by table: the comparison that decides about the default."""
    return (means[ONE] - means[OTHER]).rename("log_ratio")


def left_out(values: pd.Series, coverage: float = 0.95) -> pd.DataFrame:
    """Mean and interval of a contrast without one table at a time.

    Returns:
        By the table that is left out: ``log_ratio``, ``low`` and ``high``.
    """
    rests = {name: values.drop(name) for name in values.index}
    found = {name: {"log_ratio": rest.mean(), **student(rest, coverage)} for name, rest in rests.items()}
    return pd.DataFrame(found).T[["log_ratio", "low", "high"]]


def default_of(values: pd.Series | None) -> Outcome:
    """What the rule says of the default.

    Args:
        values: see :func:`contrast`; None while the runs are under way.
    """
    if values is None:
        return "under way"
    bounds = student(values)
    if bounds["high"] < 0:
        return "kept, and ahead"
    return "changed" if bounds["low"] > 0 else "kept, not told apart"


def judge_default(rules: Rules) -> Verdict:
    """S4: has the default a lower error than MACAL? By the interval over tables, and those that leave a table out.

    Holds where the interval over tables is below 0, and so is each that leaves a table out.
    """
    found = recorded()
    if found is None:
        return Verdict(
            "not tested",
            f"under way: {progress()} of {REPLICATIONS} replications of all {len(PEOPLE)} tables are recorded; judged"
            " when all are",
        )
    if REPLICATIONS < rules.minimum:
        return Verdict("not tested", f"fewer than {rules.minimum} recorded replications")
    values = contrast(logs(found))
    bounds, rest = student(values, 1 - rules.level), left_out(values, 1 - rules.level)
    rows = pd.concat([pd.DataFrame([{"log_ratio": values.mean(), **bounds}], [""]), rest])
    word: Word = "undecided"
    if bounds["high"] < 0:
        word = "holds" if (rest["high"] < 0).all() else "holds in part"
    elif bounds["low"] > -rules.alike:
        word = "does not hold"
    return Verdict(
        word,
        f"log ratio {values.mean():+.3f} [{bounds['low']:+.3f}, {bounds['high']:+.3f}] over {len(values)} tables,"
        f" singly {values.min():+.3f} to {values.max():+.3f}, leaving one out {rest['log_ratio'].min():+.3f} to"
        f" {rest['log_ratio'].max():+.3f}; the default is {default_of(values)}",
        tuple(_row(row, rules, len(values), str(name)) for name, row in rows.iterrows()),
    )


def _row(bounds: pd.Series, rules: Rules, count: int, without: str) -> dict[str, Any]:
    """A comparison over all tables, or all but one, like those of :func:`.comparison.values`."""
    word = placed(bounds["low"], bounds["high"], rules.alike)
    about = {"method": ONE, "against": OTHER, "data_sets": count - bool(without), "without": without}
    return about | bounds[["log_ratio", "low", "high"]].to_dict() | {"family": 1, "table": NAME, "comparison": word}
