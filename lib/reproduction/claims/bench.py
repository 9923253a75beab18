"""Verdicts S1 to S3, on the bench: does FCCM beat MACAL, who decides between EPIG's targets, does one criterion do.

A row of the bench is a data set under an estimator. What is compared is log PEHE, mean over sizes, paired by
replication, adjusted for all rows of the bench.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np
import pandas as pd
from scipy.stats import t

from macal.comparison import Mean, student
from reproduction.claims.comparison import WORDS, Case, against, conclude
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.methods import label
from reproduction.studies import tables
from reproduction.studies.bench import CHOSEN, DATA, PLANNED

TABLES = tables.by_dataset(tables.BENCH)
METHODS = [*PLANNED, *CHOSEN]
ROWS = sum(len(terms.estimators) for terms in DATA.values())
RIVALS = len(METHODS) - 1
GOAL = 0.05  # largest regret, as a share of the best criterion's error


def load(rules: Rules = RULES) -> pd.DataFrame:
    """Read the tables of no fewer replications than the minimum.

    Returns:
        Log of PEHE's mean over sizes: by ``dataset``, ``model`` and ``replication``, a column per criterion.
    """
    names = [name for name, terms in DATA.items() if terms.replications >= rules.minimum]
    found = [by_method(tables.load(TABLES[name]), rules.mean) for name in names]
    return pd.concat(found) if found else pd.DataFrame(columns=METHODS)


def repaired() -> pd.DataFrame:
    """Rows of :func:`load`, on the toy those of processes that were fitted from several starts: see the study.

    For advice. The verdicts go by the rows that were fixed beforehand.
    """
    logs, again = load(), by_method(tables.load("bench_toy-starts"))
    logs.loc[logs.index.intersection(again.index)] = again
    return logs


def by_method(table: pd.DataFrame, mean: Mean = "geometric") -> pd.DataFrame:
    """Log of PEHE's mean over sizes, in the shape of :func:`load`; NaN where a campaign is missing."""
    keys = ["dataset", "model", "replication"]
    table = table.assign(error=np.log(table["pehe"])) if mean == "geometric" else table.assign(error=table["pehe"])
    wide = table.pivot_table("error", keys, "method", aggfunc="mean", sort=False).reindex(columns=METHODS)
    return wide if mean == "geometric" else np.log(wide)


def regret(logs: pd.DataFrame) -> pd.DataFrame:
    """Log ratio of each criterion to the best of its row, 0 for the best: by ``dataset`` and ``model``."""
    means = logs.groupby(["dataset", "model"], sort=False).mean()
    return means.sub(means.min(axis=1), axis=0)


def average(found: pd.DataFrame) -> pd.Series:
    """Mean regret of each criterion over the data sets, of each the mean over its estimators; see :func:`regret`."""
    return found.groupby(level="dataset").mean().mean()


def halved(logs: pd.DataFrame) -> pd.Series:
    """:func:`average` regret to the criterion that is best of its row on the other half of the replications.

    The best of a row that is chosen on the replications that judge it owes a part of its lead to chance. Here it is
    chosen on half of them, drawn at random with a fixed seed, and judged on the rest, either way round; it is chosen on
    fewer, so that it errs towards too small a regret.

    Args:
        logs: see :func:`load`; at least two replications of each row.
    """
    rng, found, draws = np.random.default_rng(0), {}, 200
    for place, own in logs.groupby(["dataset", "model"], sort=False):
        errors, lost = own.to_numpy(), np.zeros(logs.shape[1])
        for _ in range(draws):
            order = rng.permutation(len(errors))
            one, other = (errors[half].mean(axis=0) for half in np.array_split(order, 2))
            lost += other - other[one.argmin()] + one - one[other.argmin()]
        found[place] = lost / (2 * draws)
    rows = pd.DataFrame(found, logs.columns).T.rename_axis(["dataset", "model"])
    return average(rows)


def largest(logs: pd.DataFrame) -> pd.DataFrame:
    """Largest regret of each criterion, the smallest first.

    Returns:
        By criterion: ``average``, see :func:`average`; ``regret``, the largest, with Student's 95% interval ``low``,
        ``high`` of that comparison alone (it was looked for as the largest, so it errs away from 0), ``row``, its data
        set and estimator, ``rival``, the best there, and ``rows``, on how many the criterion is the best.
    """
    found, rows = regret(logs), []
    means = average(found)
    for method, place in found.idxmax().items():
        rival = str(found.loc[place].idxmin())
        own = logs.xs(place, level=("dataset", "model"))
        gaps = own[method] - own[rival]
        bounds = student(gaps)
        about = {"average": means[method], "regret": gaps.mean(), "low": bounds["low"], "high": bounds["high"]}
        rows.append(about | {"row": place, "rival": rival, "rows": int((found[method] == 0).sum())})
    return pd.DataFrame(rows, found.columns).sort_values("regret", kind="stable")


SITUATIONS = {  # what criteria may need -> those that need no more
    "no answers before the end": tuple(PLANNED),
    "answers between the rounds": tuple(METHODS),
}


def advice(logs: pd.DataFrame) -> pd.DataFrame:
    """Which criterion to take, and what it costs where it is not the best.

    Args:
        logs: see :func:`load`.

    Returns:
        By situation: ``method``, the one of smallest :func:`average` regret among those that the situation allows,
        and its row of :func:`largest`.
    """
    most = largest(logs)
    chosen = {name: most["average"].reindex(allowed).idxmin() for name, allowed in SITUATIONS.items()}
    return pd.DataFrame({name: {"method": method, **most.loc[method]} for name, method in chosen.items()}).T


def compare_pair(logs: pd.DataFrame, one: str, other: str, rules: Rules) -> pd.DataFrame:
    """Set one criterion against another by data set and model: :func:`.comparison.against`, adjusted for all rows."""
    return against((logs[one] - logs[other]).unstack(["dataset", "model"]).astype(float), rules, family=ROWS)


def beyond(logs: pd.DataFrame, rules: Rules, goal: float = GOAL) -> pd.DataFrame:
    """Whether a criterion's error is within the goal of every other's.

    Returns:
        By row, a column per criterion: "within" where no interval reaches beyond the goal, "beyond" where one excludes
        it, else "open"; see :func:`ends`.
    """
    found, limit = ends(logs, rules), np.log1p(goal)
    words = np.select([found["low"] > limit, found["high"] <= limit], ["beyond", "within"], "open")
    return pd.Series(words, found.index).unstack("method", sort=False)


def ends(logs: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """How far a criterion may be behind the others of a row.

    Student's intervals of its log ratios to every criterion, itself included, hold together over all rows of the bench
    and all rivals.

    Returns:
        By ``dataset``, ``model`` and ``method``: ``replications``, and of its log ratios the largest, ``log_ratio``,
        and the largest ends of their intervals, ``low`` and ``high``.
    """
    found = {}
    for place, own in logs.groupby(["dataset", "model"], sort=False):
        errors = own.to_numpy()  # (n, k)
        gaps = errors[:, :, None] - errors[:, None, :]  # (n, k, k): of a criterion to a rival
        reach = t.isf(rules.level / (2 * ROWS * RIVALS), len(gaps) - 1) * gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
        mean = gaps.mean(axis=0)
        most = {"log_ratio": mean, "low": mean - reach, "high": mean + reach}
        for j, method in enumerate(logs.columns):
            found[*place, method] = {"replications": len(own), **{k: v[j].max() for k, v in most.items()}}
    rows = pd.DataFrame(found).T.rename_axis(["dataset", "model", "method"])
    return rows.astype({"replications": int})


def on_bench(judge: Callable[[pd.DataFrame, Rules], Verdict]) -> Callable[[Rules], Verdict]:
    """Make a judge of what :func:`load` reads; the claim is open where that is nothing."""

    @wraps(judge)
    def judged(rules: Rules) -> Verdict:
        logs = load(rules)
        lacking = Verdict("open", f"fewer than {rules.minimum} recorded replications")
        return judge(logs, rules) if len(logs) else lacking

    return judged


def _concluded(found: pd.DataFrame, one: str, other: str, word: Word, rules: Rules) -> Verdict:
    """The verdict on rows of :func:`compare_pair`, with how many of them are ahead, behind and undecided."""
    rows = {place: found.loc[[place]].set_axis([other]) for place in found.index}
    cases = [
        Case(word, row.assign(table=TABLES.get(data)), one, {"dataset": data, "estimator": model})
        for (data, model), row in rows.items()
    ]
    counts = found["comparison"].value_counts()
    words = ", ".join(f"{counts.get(name, 0)} {name}" for name in WORDS)
    spread = f"log ratio {found['log_ratio'].min():+.2f} to {found['log_ratio'].max():+.2f}"
    said = f"{label(one)} against {label(other)} on {len(found)} of {ROWS} rows: {words}; {spread}"
    return conclude(cases, rules, word=word, text=said)


@on_bench
def judge_fccm(logs: pd.DataFrame, rules: Rules) -> Verdict:
    """S1: on the rows that are decided, is FCCM's error below MACAL's?"""
    found = compare_pair(logs, "fccm", "macal", rules)
    words: dict[str, Word] = {"ahead": "holds", "behind": "fails", "no lead": "fails"}
    word = together(words[comparison] for comparison in found["comparison"] if comparison in words)
    return _concluded(found, "fccm", "macal", word, rules)


@on_bench
def judge_targets(logs: pd.DataFrame, rules: Rules) -> Verdict:
    """S2: it holds where the same labels' data set has EPIG-mu ahead under one estimator and behind under another."""
    found = compare_pair(logs, "epig-mu", "epig-tau", rules)
    words = {*found["comparison"]}
    turns = found["comparison"].groupby(level="dataset").agg(set).map({"ahead", "behind"}.issubset)
    word: Word = "holds" if turns.any() else "fails" if words in ({"ahead"}, {"behind"}) else "open"
    return _concluded(found, "epig-mu", "epig-tau", word, rules)


@on_bench
def judge_regret(logs: pd.DataFrame, rules: Rules) -> Verdict:
    """S3: is one criterion's error within 5% of the best on every row?

    It holds where one criterion is within the goal on all rows of the bench, and does not where every criterion is
    beyond it on some row.
    """
    places = beyond(logs, rules)
    rows, good, bad = len(places), (places == "within").all(), (places == "beyond").any()
    word: Word = "holds" if good.any() and rows == ROWS else "fails" if bad.all() else "open"
    best = largest(logs).iloc[0]
    found = ends(logs, rules).assign(
        table=lambda about: about.index.get_level_values("dataset").map(TABLES),
        family=ROWS * RIVALS,
        comparison=lambda about: places.stack().reindex(about.index),
    )
    shown = tuple(
        {"dataset": data, "estimator": model, "method": method, "against": "every criterion", **row}
        for (data, model, method), row in found.to_dict("index").items()
    )
    return Verdict(
        word,
        f"{rows} of {ROWS} rows; {bad.sum()} of {len(METHODS)} criteria lose more than {GOAL:.0%} somewhere;"
        f" with fits fixed beforehand, {best.name}'s worst row ({', '.join(best.row)}) is the least bad: log"
        f" ratio {best.regret:.2f} [{best.low:.2f}, {best.high:.2f}] to {best.rival}",
        shown,
    )
