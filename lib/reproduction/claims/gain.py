"""Verdicts W1 to W3: what MACAL's gain over random selection is made of.

With randomly selected labels in equal numbers per arm, "balanced", between the two, the gain is *allocation*, balanced
over Random, plus *placement*, MACAL over balanced, replication by replication; see label ``sec-gain`` of the book.
"""

from itertools import product

import numpy as np
import pandas as pd

from macal.comparison import Mean, gaps, levels, shared
from reproduction.benchmarks import IHDP, PAPER, Benchmark
from reproduction.claims import data, versions
from reproduction.claims.absolute_errors import best_constants
from reproduction.claims.comparison import Case, against, case_of, conclude, describe_rows, number, scope, span
from reproduction.claims.estimators import CONTROLS
from reproduction.claims.rules import Rules
from reproduction.claims.verdict import Verdict, Word, together
from reproduction.claims.versions import CODE, EXACT, TEXT, Version
from reproduction.theory.pairing import value_share

ESTIMATORS = {  # tables of IHDP as it is, and with its surfaces swapped; of these six W1 is judged
    "exact GP per arm": ("ihdp_gp", "ihdp-exchanged_gp"),
    "S-learner": ("ihdp-early_s", "ihdp-exchanged_s"),
    "T-learner": ("ihdp-early_t", "ihdp-exchanged_t"),
    "X-learner": ("ihdp-early_x", "ihdp-exchanged_x"),
    "DR-learner": ("ihdp_dr", "ihdp-exchanged_dr"),
    "causal forest": ("ihdp_forest", "ihdp-exchanged_forest"),
}
DEEP = {
    CODE: ("ihdp_code", "ihdp-early_code", "ihdp-exchanged_code"),
    TEXT: ("ihdp_due", "ihdp-early_due", "ihdp-exchanged_due"),
}
SURFACES = ("ihdp", "ihdp-exchanged")
PARTS = {  # whose error over whose each part of the gain is
    "allocation": ("random-balanced", "random"),
    "placement": ("macal", "random-balanced"),
    "gain": ("macal", "random"),
}
FAMILY = len(SURFACES) * len(PARTS)
RARE, PAIRS = "random-rare", "random-pairs"
CLEAR = ("ahead", "behind")
AS_PREDICTED, CONTRARY = "as predicted", "against the prediction"


def parts(table: pd.DataFrame, macal: str = "macal", mean: Mean = "geometric") -> pd.DataFrame:
    """The gain and its two parts as log ratios, (replications, 3); below 0 is better.

    Args:
        table: recorded rows; those at which MACAL, Random and random-balanced were all trained are used.
        macal: the name that MACAL has in it.
        mean: of errors over sizes.
    """
    logs = levels(shared(table, [macal, *CONTROLS]), mean=mean)
    allocation, placement = logs["random-balanced"] - logs["random"], logs[macal] - logs["random-balanced"]
    return pd.DataFrame({"allocation": allocation, "placement": placement, "gain": allocation + placement})


def gain_decomposition(version: Version, dataset: Benchmark, rules: Rules) -> pd.DataFrame | None:
    """Gain and parts of a version on a data set, adjusted for the three; None where one of the methods is lacking."""
    table = version.load(dataset.name)
    if table is None or not {version.macal, *CONTROLS} <= {*table["method"].unique()}:
        return None
    return against(parts(dataset.deciding(table), version.macal, rules.mean), rules)


def swap(names: tuple[str, ...], rules: Rules, macal: str = "macal") -> pd.DataFrame | None:
    """Gain and parts under one estimator on IHDP and with its surfaces swapped; None where one is not recorded.

    Args:
        names: a value of ``ESTIMATORS`` or ``DEEP``; tables of IHDP, of whose sizes those are used that all have, and
            last that with its surfaces swapped.
        rules: see :class:`reproduction.claims.rules.Rules`.
        macal: the name that MACAL has in these tables.

    Returns:
        Rows of :func:`reproduction.claims.comparison.against`, by surface and part. Intervals are adjusted for all six;
        Holm's steps go over the three of a surface and count six there, too: the smallest p times 6, then 5 and 4.
    """
    tables = [versions.load(name) for name in names]
    if any(table is None or not {macal, *CONTROLS} <= {*table["method"].unique()} for table in tables):
        return None
    *here, there = tables
    common = set.intersection(*({*table["labelled"]} for table in here))
    here = pd.concat(here).drop_duplicates(["method", "replication", "labelled"])
    tables = [here[here["labelled"].isin(common)], there]
    found = {}
    for surface, name, table in zip(SURFACES, (names[0], names[-1]), tables, strict=True):
        # the start is left out; exchanged tables have none
        early = IHDP.deciding(table)
        rows = against(parts(early, macal, rules.mean), rules, FAMILY).assign(table=name)
        found[surface] = rows.assign(**span(shared(early, [macal, *CONTROLS])))
    rows = pd.concat(found, names=["surface"])
    return rows if len(rows) == FAMILY else None


def sign_verdict(found: pd.DataFrame) -> Word:
    """The verdict on 'the sign of the gain is that of the allocation' from a table of :func:`swap`."""
    word = found["comparison"].unstack(0)
    signs = word.loc[["allocation", "gain"], list(SURFACES)]
    if not signs.isin(CLEAR).all(axis=None):
        return "open"
    same = (signs.loc["allocation"] == signs.loc["gain"]).all()
    return "holds" if same and signs.loc["gain"].nunique() == 2 else "fails"


def judge_allocation(rules: Rules) -> Verdict:
    """W1: exchanging IHDP's surfaces turns the sign of the allocation, and with it that of MACAL's gain."""
    found = {name: rows for name, tables in ESTIMATORS.items() if (rows := swap(tables, rules)) is not None}
    cases = []
    for name, rows in found.items():
        word, numbers = sign_verdict(rows), rows.apply(number, axis=1)
        pairs = [f"{part} {' then '.join(numbers[surface, part] for surface in SURFACES)}" for part in PARTS]
        text = f"{name}, {word}, {scope(rows)}: {', '.join(pairs)}"
        for surface, (part, (one, other)) in product(SURFACES, PARTS.items()):
            row = rows.loc[[(surface, part)]].set_axis([other])
            cases.append(Case(word, row, one, {"part": part, "dataset": surface, "estimator": name}, text))
    said = "log ratios on IHDP, then exchanged. " + "; ".join(dict.fromkeys(case.text for case in cases))
    return conclude(cases, rules, word=together(map(sign_verdict, found.values())), text=said)


def predicted_share(dataset: str) -> float:
    """Share s = 2 rho / (r + 1 / r) of the error that pairs could save by theory, mean over recorded replications.

    rho is the correlation of the two surfaces over the pool, r the ratio of their s.d.s.
    """
    own = data.recorded(dataset)
    return float(np.mean([value_share(rho, r) for rho, r in zip(own["correlation"], own["ratio"], strict=True)]))


def similarities(rules: Rules) -> pd.DataFrame:
    """What weight 2.5 of the similarity does against weight 0, by line of evidence and data set; may have no row.

    Returns:
        Rows of :func:`reproduction.claims.comparison.against` with ``predicted``, see :func:`predicted_share`, and
        ``came``: "as predicted" or "against the prediction" by the sign, where it is clear, else "open".
    """
    cells = {}
    for line in (CODE, TEXT, EXACT):
        none = f"{line.macal}-0"
        for name, table in line.deciding().items():
            if {line.macal, none} <= {*table["method"].unique()}:
                rows = shared(table, [line.macal, none])
                found = against(gaps(rows, line.macal, mean=rules.mean)[[none]], rules, family=len(PAPER))
                cells[line.name, name] = found.assign(**span(rows), predicted=predicted_share(name))
    cells = {key: rows for key, rows in cells.items() if len(rows)}
    if not cells:
        return pd.DataFrame()
    found = pd.concat(cells).droplevel(2)
    came = np.where((found["log_ratio"] < 0) == (found["predicted"] > 0), AS_PREDICTED, CONTRARY)
    return found.assign(came=np.where(found["comparison"].isin(CLEAR), came, "open"))


def controls(rules: Rules) -> pd.DataFrame:
    """The rare arm without pairs, and pairs without coverage, against Random on CMNIST, and MACAL beside them."""
    table, more = EXACT.load("cmnist"), versions.load("cmnist_controls")
    rows = shared(
        PAPER["cmnist"].deciding(pd.concat([table, more])), ["random", "random-balanced", "macal", RARE, PAIRS]
    )
    found = -gaps(rows, "random")[["random-balanced", RARE, PAIRS, "macal"]]
    return against(found, rules).assign(**span(rows))


def judge_similarity(rules: Rules) -> Verdict:
    """W2: the similarity term does the opposite of what rho and r alone predict, wherever its sign is clear.

    'In part' where some of the clear signs are as predicted; it fails where all are.
    """
    found = similarities(rules)
    words: dict[str, Word] = {AS_PREDICTED: "fails", CONTRARY: "holds", "open": "open"}
    lines, cases = {version.name: version for version in (CODE, TEXT, EXACT)}, []
    for (line, name), row in found.iterrows():
        text = (
            f"{name}, {line}, {row['replications']:.0f} replications: predicted share {row['predicted']:+.2f},"
            f" log ratio of weight 2.5 to 0 {number(row)}, {row['came']}"
        )
        rows = found.loc[[(line, name)]].set_axis([f"{lines[line].macal}-0"])
        about = {"predicted_share": row["predicted"]}
        cases.append(case_of(lines[line], name, words[row["came"]], rows, text=text, **about))
    clear = together(case.word for case in cases if case.word != "open")
    return conclude(cases, rules, word=clear)


SCALES = {"as it is": "ihdp_input-1", "times 10": "ihdp_input-10"}


def degenerate_fits() -> dict[str, pd.DataFrame]:
    """Trainings at either scale of the treatment's coordinate, with ``worse`` than the best constant effect."""
    tables = {scale: versions.load(name) for scale, name in SCALES.items()}
    return {k: t.assign(worse=t["pehe"] > t["replication"].map(best_constants(t))) for k, t in tables.items()}


def lead_by_scale(tables: dict[str, pd.DataFrame], rules: Rules) -> pd.DataFrame:
    """MACAL's lead over Random at either scale, and the first less the second."""
    leads = pd.DataFrame({scale: gaps(table, mean=rules.mean)["random"] for scale, table in tables.items()})
    leads = leads.assign(difference=leads["as it is"] - leads["times 10"])
    return against(leads, rules).assign(
        table=SCALES["as it is"], **span(shared(tables["as it is"], ["macal", "random"]))
    )


def judge_escape(rules: Rules) -> Verdict:
    """W3: the lead under the code's model goes once the treatment's coordinate is large; 'in part' if some may stay."""
    tables = degenerate_fits()
    found = lead_by_scale(tables, rules)
    before, after, difference = found["comparison"] if len(found) else ("open",) * 3
    word: Word = "open"
    if before == "ahead" and difference == "ahead":
        word = "holds" if after in ("behind", "no lead") else "holds in part"
    elif before in ("behind", "no lead") or difference in ("behind", "no lead"):
        word = "fails"
    worse = {scale: table.groupby("method")["worse"].mean() for scale, table in tables.items()}
    shares = "; ".join(f"{k}: {', '.join(f'{m} {v:.0%}' for m, v in s.items())}" for k, s in worse.items())
    said = f"MACAL against Random, {scope(found)}, {describe_rows(found)}; worse than a constant, {shares}"
    about = {"dataset": "ihdp", "estimator": CODE.name}
    return conclude([Case(word, found, "macal, the treatment scaled", about, said)], rules)
