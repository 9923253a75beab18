"""Verdict W4: whether the sign of MACAL's gain on ACIC 2016 is the one that was predicted before any campaign."""

from contextlib import suppress
from typing import Any

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
        predicted sign is the measured one; ``replications``, the splits.
    """
    gains = forecast.measured(campaigns)["gain"]
    keys = ["estimator", "response"]
    counts = gains.groupby(keys).size()
    own = {key: values for key, values in gains.groupby(keys) if counts[key] >= rules.minimum}
    level = rules.level - early(rules)
    rows = {key: {"log_ratio": v.mean(), **student(v, 1 - level)} for key, v in own.items()}
    places = pd.MultiIndex.from_tuples(rows, names=keys)
    found = pd.DataFrame(list(rows.values()), places, ["log_ratio", "low", "high"])
    found.insert(0, "predicted", said.set_index(keys)["gain"].reindex(places))
    decided = (found["low"] > 0) | (found["high"] < 0)
    counts = counts.reindex(places)
    return found.assign(decided=decided, right=found["predicted"] * found["log_ratio"] > 0, replications=counts)


def early(rules: Rules) -> float:
    """Of the level, what the look at the first splits may have spent."""
    return rules.spent(len(SPLITS[0]) / sum(map(len, SPLITS)))


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


def chance_dealt(found: pd.DataFrame) -> float:
    """Probability that the predicted signs, dealt out among these responses at random, are right so often or more.

    It is 1 where all predictions have one sign, for then every deal is the same: such predictions tell no response from
    another.
    """
    from scipy.stats import hypergeom

    said, own = found["predicted"] < 0, found["log_ratio"] < 0
    both = int((said & own).sum())  # right = both + (of - said - own + both)
    return float(hypergeom.sf(both - 1, len(found), int(said.sum()), int(own.sum())))


def judged(decided: pd.DataFrame, rules: Rules) -> Word:
    """The verdict under one estimator: :func:`word`, and 'in part' where the same signs, dealt at random, do as well.

    The second condition was added after the tables had been seen.
    """
    found = word(int(decided["right"].sum()), len(decided), rules)
    return "holds in part" if found == "holds" and chance_dealt(decided) >= rules.level else found


def sizes(rows: pd.DataFrame) -> dict[str, float]:
    """How far predictions tell the sizes of gains, over all responses of an estimator.

    Returns:
        Spearman's ``rank`` correlation with its two-sided ``p``, and the mean absolute ``error`` of the predictions
        beside that of one number for all, the ``mean`` of the predictions.
    """
    from scipy.stats import spearmanr

    found = spearmanr(rows["predicted"], rows["log_ratio"])
    error = (rows["predicted"] - rows["log_ratio"]).abs().mean()
    mean = (rows["predicted"].mean() - rows["log_ratio"]).abs().mean()
    return {"rank": float(found.statistic), "p": float(found.pvalue), "error": float(error), "mean": float(mean)}


def judge_forecast(rules: Rules) -> Verdict:
    """W4, per estimator: the predicted sign is right more often than a coin, and than the same signs dealt at random.

    'In part' where it beats the coin alone.
    """
    recorded = []
    for name in ("acic_forecast", "acic"):
        with suppress(FileNotFoundError):
            recorded.append(tables.load(name))
    found = scores(*recorded, rules) if len(recorded) == 2 else pd.DataFrame()
    if found.empty:
        return Verdict("not tested", f"no prediction recorded, or fewer than {rules.minimum} splits of any response")
    words, shown = [], []
    for name, rows in found.groupby("estimator"):
        words.append(judged(rows[rows["decided"]], rules))
        shown.append(_told(str(name), rows))
    return Verdict(together(words), "; ".join(shown), _values(found, rules))


def _values(found: pd.DataFrame, rules: Rules) -> tuple[dict[str, Any], ...]:
    """Rows of :func:`scores`; "ahead" and "behind" where a response is decided."""
    rows = []
    for (estimator, response), row in found[["replications", "log_ratio", "low", "high"]].iterrows():
        predicted, decided, right = found.loc[(estimator, response), ["predicted", "decided", "right"]]
        word = "undecided" if not decided else "ahead" if row["log_ratio"] < 0 else "behind"
        about = {"dataset": "acic", "estimator": estimator, "response": int(response), "method": "macal"}
        about |= {"against": "random", "replications": int(row["replications"])}
        told = {"spent": 1 - early(rules) / rules.level, "family": 1, "comparison": word}
        told |= {"predicted": float(predicted), "right": bool(right)}
        rows.append(about | row.drop("replications").to_dict() | {"table": "acic"} | told)
    return tuple(rows)


def _told(name: str, rows: pd.DataFrame) -> str:
    decided = rows[rows["decided"]]
    right, of = int(decided["right"].sum()), len(decided)
    worse, gains = int((decided["log_ratio"] > 0).sum()), int((rows["predicted"] < 0).sum())
    told = (
        f"{name}: {right} of {of} decided signs right (a coin gets as many with chance {chance(right, of):.2g}, the"
        f" predicted signs in random order with chance {chance_dealt(decided):.2g}; always guessing the commoner sign"
        f" gets {max(worse, of - worse)}), {int(rows['right'].sum())} of all {len(rows)}; {gains} of {len(rows)}"
        f" predictions are gains"
    )
    if len(rows) < 3 or rows["predicted"].nunique() == 1:
        return told
    size = sizes(rows)
    return (
        f"{told}; sizes: rank correlation {size['rank']:+.2f} (p {size['p']:.2g}), mean absolute error"
        f" {size['error']:.3f}, of one number for all {size['mean']:.3f}"
    )
