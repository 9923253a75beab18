"""Verdict H1, Table 2's hyperparameters; and whether it matters where the paper's words and its code part."""

import numpy as np
import pandas as pd

from macal import comparison
from macal.campaigns import results
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.verdict import Verdict


def tuned(table: pd.DataFrame, rules: Rules = RULES) -> pd.DataFrame:
    """Set every point found by a search against Table 2's, on replications that the search has not seen.

    Returns:
        One row per point: ``loss``, the mean difference of validation losses, ``log_ratio``, the mean log-ratio of
        test PEHE, both paired by replication and below 0 where the point is better than Table 2's, with Student's
        intervals ``loss_low`` to ``log_ratio_high`` that hold for all points found together (Bonferroni); ``pairs``.
    """
    held_out = table[table["stage"] == "held out"].assign(log_ratio=lambda rows: np.log(rows["pehe"]))
    held_out = held_out.rename(columns={"valid_loss": "loss"})
    wide = held_out.pivot_table(index="replication", columns="point", values=["loss", "log_ratio"])
    points = sorted(set(held_out["point"]) - {"paper"})
    coverage = 1 - rules.level / max(sum(point.startswith("found") for point in points), 1)
    rows = {point: {} for point in points}
    for point, value in ((p, v) for p in points for v in ("loss", "log_ratio")):
        gap = (wide[value][point] - wide[value]["paper"]).dropna()
        found = comparison.student(gap, coverage)
        bounds = {f"{value}_low": found["low"], f"{value}_high": found["high"]}
        rows[point] |= {value: gap.mean(), **bounds, "pairs": len(gap)}
    return pd.DataFrame(rows).T


def judge_tuning(rules: Rules = RULES) -> Verdict:
    """H1: does a search over the same space find anything better than Table 2's point by more than noise?

    'Fails' where a point found is better both in validation loss, by which the paper selects, and in test PEHE;
    'in part' where one is in either; 'holds' where a gain of the margin in PEHE is ruled out for all of them.
    """
    table = results.load("tuning")
    search, all_points = table[table["stage"] == "search"], tuned(table, rules)
    found = all_points[all_points.index.str.startswith("found")]
    if found.empty or found["pairs"].min() < rules.minimum:
        return Verdict("open", f"no point found was judged on {rules.minimum} fresh replications")
    loss, pehe = found["loss_high"] < 0, found["log_ratio_high"] < 0
    verdict = "holds" if (found["log_ratio_low"] > -rules.alike).all() else "open"
    if (loss | pehe).any():
        verdict = "fails" if (loss & pehe).any() else "holds in part"
    means = search.groupby("trial")["valid_loss"].mean().sort_values()
    rank = 1 + int((means < means[search.loc[search["point"] == "paper", "trial"].iloc[0]]).sum())
    best, losses = found.sort_values("loss").iloc[0], int(loss.sum())
    return Verdict(
        verdict,
        f"of {len(means)} trials Table 2's point comes {_ordinal(rank)} by validation loss; of the "
        f"search's {len(found)} best, judged again on {best['pairs']:.0f} fresh replications, {losses}"
        f" {'is' if losses == 1 else 'are'} significantly better in validation loss and {int(pehe.sum())} in test PEHE;"
        f" the best in loss: {best['loss']:+.2f} ({best['loss_low']:+.2f} to {best['loss_high']:+.2f}) in loss,"
        f" {best['log_ratio']:+.2f} ({best['log_ratio_low']:+.2f} to {best['log_ratio_high']:+.2f}) in log PEHE",
    )


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``results/backbones`` at the replications and sizes on which every variant was trained."""
    trained = table.groupby(["replication", "labelled"])["variant"].transform("nunique")
    return table[trained == table["variant"].nunique()]


def differences(table: pd.DataFrame, rules: Rules = RULES) -> pd.DataFrame:
    """Set each variant of the estimator against the paper's words, paired by replication, size and initialisation.

    Returns:
        One row per variant: ``log_ratio`` of test PEHE over that of the paper's words (below 0 the variant is better),
        its interval over replications ``low``, ``high`` (all hold together), ``p`` (Holm), and ``does it matter?``:
        "no" where the interval lies within what is immaterial, "yes" where p is below the level, else, and with few
        replications, "not shown".
    """
    logs = complete(table).assign(pehe=lambda rows: np.log(rows["pehe"]))
    means = logs.groupby(["replication", "labelled", "variant"], as_index=False)["pehe"].mean()
    means = means.assign(pehe=np.exp(means["pehe"])).rename(columns={"variant": "method"})
    # the paper's words over each variant: the signs turn round
    rows = comparison.paired(means, "paper", level=rules.level)
    found = pd.DataFrame(
        {"log_ratio": -rows["log_ratio"], "low": -rows["high"], "high": -rows["low"], "p": rows["p"]}
    ).rename_axis("variant")
    apart, close = found["p"] < rules.level, (found[["low", "high"]].abs() <= rules.immaterial).all(axis=1)
    answers = np.select([apart & ~close, close], ["yes", "no"], "not shown")
    enough = means["replication"].nunique() >= rules.minimum
    return found.assign(**{"does it matter?": answers if enough else "not shown"})


def judge_code(rules: Rules = RULES) -> Verdict:
    """Paper's words and public code give the same errors: 'holds' where no difference matters, by :func:`differences`.

    'In part' where some matter but not all, 'fails' where all do, 'open' where too little is shown.
    """
    table = results.load("backbones")
    found = differences(table, rules)
    answers = found["does it matter?"]
    yes, no = set(answers) == {"yes"}, set(answers) == {"no"}
    verdict = "fails" if yes else "holds" if no else "holds in part" if (answers == "yes").any() else "open"
    replications = complete(table)["replication"].nunique()
    shown = "; ".join(
        f"{name}: {row['log_ratio']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f}), matters: {row['does it matter?']}"
        for name, row in found.iterrows()
    )
    return Verdict(
        verdict,
        f"mean log-ratio of test PEHE, variant over the paper's words, {replications} replications: {shown}",
    )


def shifts(table: pd.DataFrame) -> pd.DataFrame:
    """Set whole trainings alone or in another order against the same trainings in one batch.

    Returns:
        One row per arrangement: ``log_ratio``, the mean log-ratio of test PEHE over the batch's, with its interval
        ``low``, ``high`` over trainings, ``largest`` of them by size, ``same epochs`` (share of trainings that stop at
        the same epoch), and ``trainings``.
    """
    wide = table.pivot_table(index=["replication", "init"], columns="variant", values=["pehe", "epochs"])
    rows = {}
    for name in wide["pehe"].columns.drop("batch"):
        gap = np.log(wide["pehe"][name] / wide["pehe"]["batch"]).dropna()
        found = comparison.student(gap)
        rows[name] = {
            "log_ratio": gap.mean(),
            "low": found["low"],
            "high": found["high"],
            "largest": gap.abs().max(),
            "same epochs": (wide["epochs"][name] == wide["epochs"]["batch"])[gap.index].mean(),
            "trainings": len(gap),
        }
    return pd.DataFrame(rows).T
