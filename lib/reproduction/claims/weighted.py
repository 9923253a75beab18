"""Whether intervals from drawn labels hold what they promise, and how many labels the draw saves."""

from collections.abc import Iterable
from contextlib import suppress

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.studies import tables
from reproduction.studies.weighted import LABELS, SIMULATIONS

PROMISED, OFF = 0.95, 0.01  # coverage, and how far the measured one may be from it
CLAIMED = 1 - 90 / 361  # of the labels, by Nwankwo et al. 2025
KEYS = ["world", "design", "labelled"]
AT_ONCE = ("groups", "looks, rounds", "looks, any")  # designs of which several intervals are to hold together
NAMES = {
    "srs": "simple random",
    "macal": "MACAL, half uniform",
    "ate": "worth for the average effect",
    "informed": "the same, noise known",
    "half": "worth, half uniform",
}


def load(name: str = "weighted_ate") -> pd.DataFrame:
    """A recorded table of simulations; empty where it is not recorded or not complete."""
    with suppress(FileNotFoundError):
        found = tables.load(name)
        every = found["simulations"] + found["refused"].fillna(0)
        if (every.groupby([found[key] for key in KEYS]).sum() == SIMULATIONS).all():
            return found
    return pd.DataFrame(columns=[*KEYS, "simulations", "held", "width", "squared"])


def coverage(table: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Coverage of every world and design.

    Args:
        table: rows of blocks; see :func:`reproduction.studies.weighted.block`.
        rules: of evidence.

    Returns:
        By world, design and number of labels: ``coverage`` with its exact interval, ``low`` to ``high`` (all rows hold
        together), mean ``width``, and ``verdict``: "holds" where the coverage is within a point of 95 %, "does not
        hold" where the whole interval is beyond that, else "undecided".
    """
    groups = table.groupby(KEYS, sort=False)
    found = groups[["simulations", "held"]].sum()
    found["coverage"] = found["held"] / found["simulations"]
    level = rules.level / max(len(found), 1)
    found["low"], found["high"] = exact_interval(found["held"], found["simulations"], level)
    found["width"] = groups["width"].mean()
    near = (found["coverage"] - PROMISED).abs() <= OFF + 1e-12
    far = (found["low"] > PROMISED + OFF) | (found["high"] < PROMISED - OFF)
    found["verdict"] = np.select([near, far], ["holds", "does not hold"], "undecided")
    return found


def promised(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage by the rule of the study of refusals.

    Args:
        table: rows of blocks; see :func:`reproduction.studies.weighted.block`.

    Returns:
        By design and world: ``coverage`` with its exact 99 % interval, ``low`` to ``high``, of one design alone, mean
        ``width``, and ``kept``: whether the interval holds 95 %, and, where several intervals are to hold at once,
        whether it does not lie below.
    """
    groups = table.groupby(["design", "world"], sort=False)
    found = groups[["simulations", "held"]].sum().astype(np.int64)
    found["coverage"] = found["held"] / found["simulations"]
    found["low"], found["high"] = exact_interval(found["held"], found["simulations"], 0.01)
    found["width"] = groups["width"].mean()
    at_once = found.index.get_level_values("design").isin(AT_ONCE)
    found["kept"] = (found["high"] >= PROMISED) & (at_once | (found["low"] <= PROMISED))
    return found


def of_all(words: Iterable[Word]) -> Word:
    """Verdict on a claim about every case: where one is refuted, those that are open do not make it open."""
    words = list(words)
    return together([word for word in words if word != "undecided"] if "does not hold" in words else words)


def exact_interval(held: pd.Series, of: pd.Series, level: float | pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's intervals of shares: ``held`` of ``of``, missing the truth with chance ``level``."""
    missed = of - held
    low = np.where(held > 0, betaincinv(np.maximum(held, 1), missed + 1, level / 2), 0.0)
    high = np.where(missed > 0, betaincinv(held + 1, np.maximum(missed, 1), 1 - level / 2), 1.0)
    return low, high


def savings(found: pd.DataFrame) -> pd.DataFrame:
    """Labels that a simple random sample needs to do as well as each design.

    Args:
        found: see :func:`coverage`.

    Returns:
        By world and design: labels of a simple random sample that are ``needed`` for the same mean width as
        :data:`~reproduction.studies.weighted.LABELS` drawn ones, by the law through the sizes around it; the share
        ``saved``; and ``sound``, whether coverage is refuted neither for the design nor for random samples.
    """
    rows = {}
    for world, own in found.groupby(level="world", sort=False):
        random = own.xs((world, "srs"))
        refuted = random["verdict"].eq("does not hold").any()
        for (_, design, size), row in own.iterrows():
            if size == LABELS and design != "srs":
                other = LABELS // 2 if row["width"] > random.width[LABELS] else 2 * LABELS
                needed = _random_labels(random["width"], row["width"], other)
                sound = not refuted and row["verdict"] != "does not hold"
                rows[world, design] = {"needed": needed, "saved": 1 - LABELS / needed, "sound": sound}
    return pd.DataFrame.from_dict(rows, "index").rename_axis(["world", "design"])


def _random_labels(widths: pd.Series, width: float, size: int) -> float:
    """Random labels for a width, by the law width^2 = a + b / labels through the widths of LABELS and of ``size``."""
    squared = widths[LABELS] ** 2
    b = (squared - widths[size] ** 2) / (1 / LABELS - 1 / size)
    return b / (width**2 - (squared - b / LABELS))


def judge_coverage(rules: Rules, name: str = "weighted_ate") -> Verdict:
    """Is the coverage of every design in every world of a table within a point of 95 %?"""
    table = load(name)
    if table.empty:
        return Verdict("not tested", f"the table {name} is not recorded")
    found = coverage(table, rules)
    words = {"holds": "within a point of 95%", "undecided": "undecided", "does not hold": "farther off"}
    told = ", ".join(f"{(found['verdict'] == word).sum()} {said}" for word, said in words.items())
    worst = found["coverage"].sub(PROMISED).abs().idxmax()
    least = f"{found['simulations'].min()} to " if found["simulations"].min() < SIMULATIONS else ""
    return Verdict(
        of_all(found["verdict"]),
        f"{least}{SIMULATIONS} simulations each of {len(found)} designs: {told}; coverage {found['coverage'].min():.1%}"
        f" to {found['coverage'].max():.1%}, farthest off: {NAMES.get(worst[1], worst[1])} with {worst[2]} labels in"
        f" the world {worst[0]!r}",
    )


def judge_saving(rules: Rules) -> Verdict:
    """Does drawing by worth for the average effect save three quarters of the labels, in every world?

    A world whose intervals do not hold is left out: there the same width does not say the same.
    """
    table = load()
    if table.empty:
        return Verdict("not tested", "the table weighted_ate is not recorded")
    found = savings(coverage(table, rules))
    sound = found["sound"].groupby(level="world", sort=False).all()
    kept = found[sound[found.index.get_level_values("world")].to_numpy()]["saved"]
    if kept.empty:
        return Verdict("not tested", "intervals do not hold in any world")
    best = kept.drop("macal", level="design").groupby(level="world", sort=False).max()
    told = ", ".join(f"{world} {share:+.0%}" for world, share in best.items())
    mixed, out = kept.xs("macal", level="design"), ", ".join(sound.index[~sound])
    return Verdict(
        together(["holds" if share >= CLAIMED else "does not hold" for share in best]),
        f"share of labels saved at equal width, best design of each world: {told}; claimed {CLAIMED:.0%}, on data that"
        f" were not tested; MACAL mixed with a uniform sample: {mixed.min():+.0%} to {mixed.max():+.0%}"
        + f"; left out, as intervals do not hold: {out}"
        * bool(out),
    )
