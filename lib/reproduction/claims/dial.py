"""Verdict W4: whether the sign of MACAL's gain on ACIC 2016 is the one that was predicted before any campaign."""

from contextlib import suppress

import pandas as pd

from macal.comparison import student
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.studies import forecast, tables
from reproduction.studies.dial import SPLITS


def scores(said: pd.DataFrame, campaigns: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Hold predicted gains against measured ones.

    Args:
        said: the table ``acic_forecast``.
        campaigns: the table ``acic``.
        rules: level of the intervals, which are of each response alone, and minimum of splits. What the look at the
            first splits may have spent of the level is taken off; see :meth:`.Rules.spent`.

    Returns:
        By estimator and response, with enough splits: ``predicted``; ``log_ratio`` of MACAL to Random, mean over
        splits, with Student's interval ``low``, ``high``; ``decided``, whether it excludes 0; ``right``, whether the
        predicted sign is the measured one.
    """
    gains = forecast.measured(campaigns)["gain"]
    keys = ["estimator", "response"]
    counts = gains.groupby(keys).size()
    own = {key: values for key, values in gains.groupby(keys) if counts[key] >= rules.minimum}
    level = rules.level - rules.spent(len(SPLITS[0]) / sum(map(len, SPLITS)))
    rows = {key: {"log_ratio": v.mean(), **student(v, 1 - level)} for key, v in own.items()}
    places = pd.MultiIndex.from_tuples(rows, names=keys)
    found = pd.DataFrame(list(rows.values()), places, ["log_ratio", "low", "high"])
    found.insert(0, "predicted", said.set_index(keys)["gain"].reindex(places))
    decided = (found["low"] > 0) | (found["high"] < 0)
    return found.assign(decided=decided, right=found["predicted"] * found["log_ratio"] > 0)


def chance(right: int, of: int) -> float:
    """Probability that a coin would be right so often or more."""
    from scipy.stats import binom

    return float(binom.sf(right - 1, of, 0.5))


def word(right: int, of: int, rules: Rules) -> Word:
    """Sign test on the decided responses.

    It holds where a coin would rarely do as well; it does not where at most half are right, if all of them would have
    been enough to hold.
    """
    if chance(of, of) >= rules.level:
        return "undecided"
    if chance(right, of) < rules.level:
        return "holds"
    return "does not hold" if 2 * right <= of else "undecided"


def judge_forecast(rules: Rules) -> Verdict:
    """W4, per estimator: the predicted sign is right on more of the decided responses than a coin's would be."""
    recorded = []
    for name in ("acic_forecast", "acic"):
        with suppress(FileNotFoundError):
            recorded.append(tables.load(name))
    found = scores(*recorded, rules) if len(recorded) == 2 else pd.DataFrame()
    if found.empty:
        return Verdict("not tested", f"no prediction recorded, or fewer than {rules.minimum} splits of any response")
    words, shown = [], []
    for name, rows in found.groupby("estimator"):
        decided = rows[rows["decided"]]
        right, of = int(decided["right"].sum()), len(decided)
        words.append(word(right, of, rules))
        shown.append(_told(str(name), rows, right, of))
    return Verdict(together(words), "; ".join(shown))


def _told(name: str, rows: pd.DataFrame, right: int, of: int) -> str:
    worse = int((rows.loc[rows["decided"], "log_ratio"] > 0).sum())
    return (
        f"{name}: {right} of {of} decided signs right (a coin does as well with chance {chance(right, of):.2g}; the"
        f" commoner sign alone would have {max(worse, of - worse)}), {int(rows['right'].sum())} of all {len(rows)}"
    )
