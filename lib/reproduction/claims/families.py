"""Verdicts E5 to E9: Random, QHTE, and the families of methods against each other."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from macal.comparison import Mean, levels, shared
from reproduction.benchmarks import BALD, BASELINES, GENERAL, PAPER
from reproduction.claims.comparison import against, close, compare, span, told, values
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import Version

RATIOS = ("rho-bald", "mu-rho-bald")
CAUSAL = ("qhte", *BALD)  # the paper's baselines "for active causal effect estimation"


def common(version: Version, methods: Sequence[str], rules: Rules) -> dict[str, pd.DataFrame]:
    """Data set -> rows of the stretch that decides, at the replications and sizes that all of these methods have."""
    found = {}
    for name in version.tables:
        table = version.load(name)
        if table is None:
            continue
        try:
            table = shared(PAPER[name].deciding(table), methods)
        except ValueError:  # nothing that all have
            continue
        if table["replication"].nunique() >= rules.minimum:
            found[name] = table
    return found


def _too_little(rules: Rules, methods: str) -> Verdict:
    return Verdict("open", f"fewer than {rules.minimum} recorded replications of {methods} on any data set")


def judge_random(rules: Rules, version: Version) -> Verdict:
    """E5, per data set: Random is as good as a method of general active learning where the interval lies within 10 %.

    It holds on a data set where it is as good as all three, does not where it differs from all; decided sets count.
    """
    words, shown, rows = {}, [], []
    for name in version.tables:
        table = version.load(name)
        if table is None:
            continue
        found = compare(PAPER[name].deciding(table), "random", GENERAL, rules).assign(table=version.tables[name])
        if found.empty:
            continue
        found = found.assign(as_good=close(found, rules))
        words[name] = _as_good(found)
        shown.append(f"{name} {words[name]} ({told(found)})")
        rows += values(found, "random", dataset=name, estimator=version.name)
    if not words:
        return _too_little(rules, "Random, BADGE, BAIT and LCMD")
    measure = "log ratio of random's PEHE to each other's"
    return Verdict(together(words.values(), len(PAPER)), f"{measure}, {'; '.join(shown)}", tuple(rows))


def _as_good(found: pd.DataFrame) -> Word:
    if 2 * len(found) <= len(GENERAL):
        return "open"
    near = found["as_good"]
    far = found["comparison"].isin(["ahead", "behind"]) & ~near
    if near.any() and far.any():
        return "holds in part"
    if not (near | far).all():
        return "open"
    if far.all():
        return "fails"
    return "holds" if len(found) == len(GENERAL) else "holds in part"


def judge_causal(rules: Rules, version: Version) -> Verdict:
    """E6, per data set: mean log PEHE of the causal methods (BALD, MACAL) minus that of the general ones."""
    methods = (version.macal, *BALD, *GENERAL)
    words, shown, rows = [], [], []
    for name, table in common(version, methods, rules).items():
        logs = levels(table, mean=rules.mean)
        gap = logs[[version.macal, *BALD]].mean(axis=1) - logs[list(GENERAL)].mean(axis=1)
        found = against(gap.to_frame("general"), rules).assign(table=version.tables[name], **span(table))
        words.append(ahead(found["comparison"]))
        shown.append(f"{name}: {told(found)}")
        rows += values(found, "causal methods", dataset=name, estimator=version.name, methods=list(methods))
    if not words:
        return _too_little(rules, "MACAL, BALD, BADGE, BAIT and LCMD")
    said = f"log ratio of causal methods' PEHE to general ones', {'; '.join(shown)}"
    return Verdict(together(words, len(PAPER)), said, tuple(rows))


def ahead(words_of_rows: Iterable[str]) -> Word:
    """The verdict on 'ahead of all of these'."""
    words = set(words_of_rows)
    if words == {"ahead"}:
        return "holds"
    if words <= {"no lead", "behind"}:
        return "fails"
    return "holds in part" if words & {"no lead", "behind"} and "ahead" in words else "open"


def rivals(table: pd.DataFrame, method: str, rules: Rules) -> pd.DataFrame:
    """Set a method against every other of a table: see :func:`reproduction.claims.comparison.compare`."""
    return compare(table, method, [m for m in table["method"].unique() if m != method], rules)


def places(found: pd.DataFrame) -> tuple[int, int]:
    """First and last place that a method may have by PEHE: below those clearly ahead, above those clearly behind.

    From :func:`rivals`, so the set covers the true place with 95 % confidence (Mogstad et al. 2024).
    """
    words = found["comparison"]
    return 1 + int((words == "behind").sum()), 1 + int((words != "ahead").sum())


def judge_winner(rules: Rules, version: Version) -> Verdict:
    """E7: each causal method is behind a general one, or has no lead on it, on some data set.

    It fails where a causal method is ahead of all general ones on every data set.
    """
    beaten, wins, rows = {method: [] for method in CAUSAL}, dict.fromkeys(CAUSAL, 0), []
    for name in version.tables:
        table = version.load(name)
        for method in CAUSAL if table is not None else ():
            family = len(CAUSAL) * len(GENERAL)
            found = compare(PAPER[name].deciding(table), method, GENERAL, rules, family)
            lost = found.index[found["comparison"].isin(["behind", "no lead"])]
            beaten[method] += [f"{', '.join(lost)} on {name}"] * bool(len(lost))
            wins[method] += len(found) == len(GENERAL) and (found["comparison"] == "ahead").all()
            found = found.assign(table=version.tables[name])
            rows += values(found, method, dataset=name, estimator=version.name)
    if not rows:
        return _too_little(rules, "a causal method, BADGE, BAIT and LCMD")
    verdict: Word = "holds" if all(beaten.values()) else "fails" if len(PAPER) in wins.values() else "open"
    said = "; ".join(f"{method}: without a lead on {', '.join(lost) or 'none'}" for method, lost in beaten.items())
    return Verdict(verdict, said, tuple(rows))


def judge_qhte(rules: Rules, version: Version) -> Verdict:
    """E8: surely among the three last of nine on most data sets; 'in part' where at least in the lower half on one."""
    methods = (version.macal, *BASELINES)
    tables = common(version, methods, rules)
    if not tables:
        return _too_little(rules, "all nine methods")
    judged = {n: rivals(table, "qhte", rules).assign(table=version.tables[n]) for n, table in tables.items()}
    found = {name: places(one) for name, one in judged.items()}
    first, last = np.array(list(found.values())).T
    if (first > 6).mean() > 0.5:
        verdict = "holds"
    elif (last <= 4).all():
        verdict = "fails"
    else:
        verdict = "holds in part" if (first > 4).any() and (last > 6).mean() <= 0.5 else "open"
    about = {"estimator": version.name, "methods": list(methods)}
    rows = [row for name, one in judged.items() for row in values(one, "qhte", dataset=name, **about)]
    said = ", ".join(f"place {low} to {high} of 9 on {name}" for name, (low, high) in found.items())
    return Verdict(verdict, said, tuple(rows))


def roughness(table: pd.DataFrame, mean: Mean = "geometric") -> pd.DataFrame:
    """How far log PEHE lies from the mean of its neighbours in size, on average, so that a steady fall does not count.

    Args:
        table: recorded rows.
        mean: "arithmetic" for PEHE itself.

    Returns:
        A row per replication, a column per method.
    """

    def of_one(rows: pd.DataFrame) -> pd.Series:
        wide = rows.pivot(index="labelled", columns="method", values="pehe")
        curves = np.log(wide) if mean == "geometric" else wide
        return (curves - (curves.shift(1) + curves.shift(-1)) / 2).abs().mean()

    return table.groupby("replication")[["labelled", "method", "pehe"]].apply(of_one)


def judge_stability(rules: Rules, version: Version) -> Verdict:
    """E9, per data set: MACAL's curve is smoother than those of both BALD ratios, by the log ratio of roughness."""
    methods, words, shown, rows = (version.macal, *RATIOS), [], [], []
    for name, table in common(version, methods, rules).items():
        rough = np.log(roughness(table, rules.mean))
        gap = -rough[list(RATIOS)].sub(rough[version.macal], axis=0)
        found = against(gap, rules, len(RATIOS)).assign(table=version.tables[name], **span(table))
        if found.empty:  # too few sizes for a neighbour on either side
            continue
        words.append(ahead(found["comparison"]))
        shown.append(f"{name}: {told(found)}")
        about = {
            "dataset": name,
            "estimator": version.name,
            "measure": "distance of log PEHE from its neighbours' mean",
        }
        rows += values(found, version.macal, **about, methods=list(methods))
    if not words:
        return _too_little(rules, "MACAL and BALD's ratios")
    measure = "log ratio of MACAL's roughness (log PEHE's mean distance from its neighbours' mean) to each other's"
    return Verdict(together(words, len(PAPER)), f"{measure}, {'; '.join(shown)}", tuple(rows))
