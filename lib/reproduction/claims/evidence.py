"""Verdicts E1 to E9, A1 and B1: recorded campaigns of the deep-kernel model, compared replication by replication.

In all of them, one method is *ahead* of another in a stretch of a campaign where its mean log ratio of PEHE, averaged
over the stretch's sizes, is below 0 with an adjusted p below :data:`LEVEL` (:func:`macal.comparison.paired`), and has
*no lead* where it is behind, or where the interval rules out a lead of 10 %. What is neither is open: a claim that
hangs on it is not tested yet, however many replications are recorded.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from macal.campaigns import results
from macal.comparison import beside, paired, shared, student
from reproduction.claims.verdict import Verdict

TABLES = {"ihdp": "ihdp_due", "ibm": "ibm_due", "cmnist": "cmnist_due"}
EXACT = {"ihdp": "ihdp_gp", "ibm": "ibm_gp", "cmnist": "cmnist_gp"}  # second line: an exact Gaussian process per arm
BALD = ("mu-bald", "rho-bald", "mu-rho-bald")
GENERAL = ("badge", "bait", "lcmd")
BASELINES = ("random", "qhte", *BALD, *GENERAL)  # the paper's
PANELS = {"made for effects": ("random", "qhte", *BALD), "general": ("random", *GENERAL)}  # Figure 3's
ALPHAS = {"macal-0": 0.0, "macal-1": 1.0, "macal": 2.5, "macal-5": 5.0, "macal-10": 10.0}
TURNING_POINT = 160  # labels, Section 5.1: where IHDP's treated units are said to be exhausted
POOL = 470  # labels, where IHDP's pool is exhausted
HALVES = (TURNING_POINT, POOL)
STRETCHES = {"ihdp": (60, *HALVES), "ibm": (500, 1300, 2550), "cmnist": (700, 1350, 2550)}  # where each ends, labels
LEVEL = 0.05
ALIKE = np.log(1.1)  # two methods are about as good where the interval of their log ratio lies within this
MINIMUM = 3  # replications, below which nothing is decided


def recorded(dataset: str, methods: Sequence[str]) -> pd.DataFrame | None:
    """Rows of these methods at the replications and sizes that all of them have; None where that is too little.

    Start and end are left out: there all methods have labelled the same units.

    Args:
        dataset: "ihdp", "ibm" or "cmnist".
        methods: names in the table.
    """
    try:
        table = shared(results.load(TABLES[dataset]), methods)
    except (FileNotFoundError, ValueError):
        return None
    table = inner(table, dataset)
    return table if table["replication"].nunique() >= MINIMUM else None


def inner(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Leave out the start, and IHDP's end, where all methods have labelled the same units."""
    end = POOL if dataset == "ihdp" else np.inf
    return table[~table["labelled"].isin([table["labelled"].min(), end])]


def by_stretch(table: pd.DataFrame, ends: Sequence[int]) -> dict[int, pd.DataFrame]:
    """Cut campaigns at these numbers of labels; each stretch by its last one, those without rows left out."""
    stretch = pd.cut(table["labelled"], [0, *ends], labels=list(ends))
    return dict(list(table.groupby(stretch, observed=True)))


def standing(table: pd.DataFrame, method: str = "macal", others: Sequence[str] = BASELINES) -> pd.DataFrame:
    """Set a method against others: :func:`macal.comparison.paired`'s log ratios, and a column ``standing``.

    "ahead", "behind", or "undecided"; one row for each of the others in the table, in their order.
    """
    found = paired(table[table["method"].isin([method, *others])], method)
    found = found.loc[[other for other in others if other in found.index]]
    clear = found["p"] < LEVEL
    words = np.select([clear & (found["log_ratio"] < 0), clear], ["ahead", "behind"], "undecided")
    return found.drop(columns="difference").assign(standing=words)


def standings(table: pd.DataFrame, ends: Sequence[int], method: str, others: Sequence[str]) -> pd.DataFrame:
    """:func:`standing` in each of :func:`by_stretch`; rows by the stretch's last number of labels and the method."""
    parts = by_stretch(table, ends)
    return pd.concat({end: standing(part, method, others) for end, part in parts.items()}, names=["up to"])


def _count(found: pd.DataFrame) -> str:
    groups = {word: found.index[found["standing"] == word] for word in ("ahead", "behind", "undecided")}
    return "; ".join(f"{word}: {', '.join(names) or 'none'}" for word, names in groups.items())


def _lowest(found: pd.DataFrame, missing: Sequence[str] = ()) -> str:
    """The verdict on 'better than every baseline', of which some may not be recorded."""
    ahead, behind = found["standing"] == "ahead", found["standing"] == "behind"
    no_lead = ~ahead & (behind | (found["low"] > -ALIKE))
    if behind.any():
        return "does not hold"
    if ahead.any() and no_lead.any():
        return "holds in part"
    if missing or not (ahead | no_lead).all():
        return "not tested"
    return "holds" if ahead.all() else "does not hold"


def _untested(dataset: str) -> Verdict:
    return Verdict("not tested", f"fewer than {MINIMUM} recorded replications of all methods on {dataset}")


def _rivals(dataset: str, name: str | None = None) -> tuple[pd.DataFrame | None, list[str]]:
    """MACAL's rows beside those of the paper's baselines recorded often enough, and the names of the others."""
    try:
        table = beside(results.load(name or TABLES[dataset]), "macal")
    except FileNotFoundError:
        return None, list(BASELINES)
    count = table.groupby("method")["replication"].nunique()
    have = [m for m in BASELINES if count.get(m, 0) >= MINIMUM]
    table = table[table["method"].isin(["macal", *have])]
    return inner(table, dataset) if have else None, [m for m in BASELINES if m not in have]


def _scope(found: pd.DataFrame, missing: Sequence[str]) -> str:
    low, high = found["replications"].min(), found["replications"].max()
    lacking = f", without {', '.join(missing)}" if missing else ""
    return f"{low if low == high else f'{low} to {high}'} replications{lacking}"


def judge_ihdp() -> Verdict:
    """E1: ahead of every baseline up to the turning point, then different from none.

    The paper's model decides; what exact Gaussian processes say on more replications stands beside it.
    """
    table, missing = _rivals("ihdp")
    second = _second_line("ihdp")
    if table is None:
        return Verdict("not tested", f"{_untested('ihdp').evidence}{second}")
    early, late = (standing(part) for part in by_stretch(table, HALVES).values())
    verdict = _lowest(early, missing)
    if verdict == "holds" and (late["standing"] != "undecided").any():
        verdict = "holds in part"
    shown = f"up to {TURNING_POINT} labels {_count(early)}; later {_count(late)}"
    return Verdict(verdict, f"{_scope(early, missing)}; {shown}{second}")


def _second_line(dataset: str) -> str:
    table, missing = _rivals(dataset, EXACT[dataset])
    if table is None:
        return ""
    early = dataset == "ihdp"
    found = standing(by_stretch(table, HALVES)[TURNING_POINT] if early else table)
    where = f"up to {TURNING_POINT} labels " if early else ""
    return f". Exact Gaussian processes, {_scope(found, missing)}, {where}{_count(found)}"


def judge_lowest(dataset: str) -> Verdict:
    """E2 and E3: ahead of every baseline over the whole campaign; the second line as in :func:`judge_ihdp`."""
    table, missing = _rivals(dataset)
    second = _second_line(dataset)
    if table is None:
        return Verdict("not tested", f"{_untested(dataset).evidence}{second}")
    found = standing(table)
    return Verdict(_lowest(found, missing), f"{_scope(found, missing)}; {_count(found)}{second}")


def judge_consistent() -> Verdict:
    """E4: E1 to E3 together; refuted by one data set, upheld by all three only."""
    found = {"ihdp": judge_ihdp(), **{name: judge_lowest(name) for name in ("ibm", "cmnist")}}
    words = {v.verdict for v in found.values()}
    order = ("does not hold", "not tested", "holds in part", "holds")
    verdict = next(word for word in order if word in words)
    return Verdict(verdict, "; ".join(f"{name}: {v.verdict}" for name, v in found.items()))


def _per_dataset(methods: Sequence[str]) -> dict[str, pd.DataFrame]:
    tables = {name: recorded(name, methods) for name in TABLES}
    return {name: table for name, table in tables.items() if table is not None}


def judge_random() -> Verdict:
    """E5: Random is as good as BADGE, BAIT and LCMD where intervals lie within 10 %, is not where they leave out 0."""
    tables = _per_dataset(("random", *GENERAL))
    if not tables:
        return _untested("any data set")
    found = pd.concat({name: paired(t, "random") for name, t in tables.items()})
    near = (found["low"] > -ALIKE) & (found["high"] < ALIKE)
    far = ~near & ((found["low"] > 0) | (found["high"] < 0))
    shown = ", ".join(f"{m} on {d} {r.log_ratio:+.3f} [{r.low:+.3f}, {r.high:+.3f}]" for (d, m), r in found.iterrows())
    if not (near | far).all():
        verdict = "not tested"
    else:
        verdict = "holds" if near.all() else "does not hold" if far.all() else "holds in part"
    return Verdict(verdict, f"log ratio of Random to {shown}")


def judge_causal() -> Verdict:
    """E6: mean log PEHE of the causal methods (BALD, MACAL) minus that of the general ones, over replications."""
    tables = _per_dataset(("macal", *BALD, *GENERAL))
    if not tables:
        return _untested("any data set")
    words, shown = set(), []
    for name, table in tables.items():
        logs = np.log(table.pivot_table("pehe", ["replication", "labelled"], "method"))
        gap = (logs[["macal", *BALD]].mean(axis=1) - logs[list(GENERAL)].mean(axis=1)).groupby("replication").mean()
        found = student(gap)
        low, high = found["low"], found["high"]
        words.add("better" if high < 0 else "no lead" if low > -ALIKE else "open")
        shown.append(f"{name} {gap.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    if "open" in words:
        verdict = "not tested"
    else:
        verdict = "does not hold" if "better" not in words else "holds" if len(words) == 1 else "holds in part"
    return Verdict(verdict, f"log ratio of causal to general methods: {', '.join(shown)}")


def places(table: pd.DataFrame, method: str) -> tuple[int, int]:
    """First and last place that a method may have by PEHE: below those clearly ahead, above those clearly behind.

    From :func:`standing`, so the set covers the true place with 95 % confidence (Mogstad et al. 2024).
    """
    others = [m for m in table["method"].unique() if m != method]
    words = standing(table, method, others)["standing"]
    return 1 + int((words == "behind").sum()), 1 + int((words != "ahead").sum())


def judge_winner() -> Verdict:
    """E7: no method but MACAL may be first of the others on all data sets; needs two. One that surely is refutes."""
    tables = _per_dataset(("macal", *BASELINES))
    if len(tables) < 2:
        return Verdict("not tested", f"needs two data sets, recorded with all methods: {', '.join(tables) or 'none'}")
    found = {name: {m: places(t[t["method"] != "macal"], m) for m in BASELINES} for name, t in tables.items()}
    may = {name: [m for m, (first, _) in sets.items() if first == 1] for name, sets in found.items()}
    verdict = "not tested"
    if not set.intersection(*map(set, may.values())):
        verdict = "holds"
    elif any(all(sets[m] == (1, 1) for sets in found.values()) for m in BASELINES):
        verdict = "does not hold"
    shown = "; ".join(f"{name}: {', '.join(methods)}" for name, methods in may.items())
    return Verdict(verdict, f"may be first of the eight others on {shown}")


def judge_qhte() -> Verdict:
    """E8: surely among the three last of nine on most data sets; 'in part' where at least in the lower half on one."""
    tables = _per_dataset(("macal", *BASELINES))
    if not tables:
        return _untested("any data set")
    found = {name: places(table, "qhte") for name, table in tables.items()}
    first, last = np.array(list(found.values())).T
    if (first > 6).mean() > 0.5:
        verdict = "holds"
    elif (last <= 4).all():
        verdict = "does not hold"
    else:
        verdict = "holds in part" if (first > 4).any() and (last > 6).mean() <= 0.5 else "not tested"
    return Verdict(verdict, ", ".join(f"place {low} to {high} of 9 on {name}" for name, (low, high) in found.items()))


def roughness(table: pd.DataFrame) -> pd.DataFrame:
    """How far log PEHE lies from the mean of its neighbours in size, on average, so that a steady fall does not count.

    Returns:
        A row per replication, a column per method.
    """
    logs = np.log(table.pivot_table("pehe", "labelled", ["replication", "method"]))
    return (logs - (logs.shift(1) + logs.shift(-1)) / 2).abs().mean().unstack()


def judge_stability() -> Verdict:
    """E9: MACAL's curve is smoother than that of each BALD ratio on every data set recorded, by the log ratio."""
    tables = _per_dataset(("macal", "rho-bald", "mu-rho-bald"))
    if not tables:
        return _untested("any data set")
    words, shown = [], []
    for name, table in tables.items():
        rough = np.log(roughness(table))
        for other in ("rho-bald", "mu-rho-bald"):
            gap = rough["macal"] - rough[other]
            found = student(gap)
            low, high = found["low"], found["high"]
            words.append("smoother" if high < 0 else "no lead" if low > -ALIKE else "open")
            shown.append(f"{other} on {name} {gap.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    smoother = "smoother" in words
    if "no lead" in words:
        verdict = "holds in part" if smoother else "does not hold"
    else:
        verdict = "not tested" if "open" in words else "holds"
    measure = "log ratio of MACAL's mean distance of log PEHE from its neighbours' mean to that of"
    return Verdict(verdict, f"{measure} {', '.join(shown)}")


def alpha_ratios(dataset: str, table: pd.DataFrame | None = None) -> pd.DataFrame:
    """Figure 5's ratio, PEHE at alpha 0 over PEHE at alpha, averaged as a log by stretch of the campaign.

    Args:
        dataset: "ihdp", "ibm" or "cmnist".
        table: its campaigns at every alpha; those recorded of the paper's model by default.

    Returns:
        One row per stretch (its last size), one column per alpha above 0; above 0 is better than alpha 0.

    Raises:
        ValueError: too little is recorded.
    """
    return _alpha_gains(dataset, table).groupby("up to").mean()


def _alpha_gains(dataset: str, table: pd.DataFrame | None = None) -> pd.DataFrame:
    table = recorded(dataset, tuple(ALPHAS)) if table is None else table[table["method"].isin(ALPHAS)]
    if table is None:
        raise ValueError(_untested(dataset).evidence)
    parts = by_stretch(table, STRETCHES[dataset])
    table = pd.concat(parts, names=["up to"])
    logs = np.log(table.pivot_table("pehe", ["replication", "up to", "labelled"], "method"))
    gain = -logs.sub(logs["macal-0"], axis=0).drop(columns="macal-0").rename(columns=ALPHAS).sort_index(axis=1)
    return gain.groupby(["replication", "up to"]).mean()


def alpha_shift(dataset: str, table: pd.DataFrame | None = None) -> tuple[float, float, float]:
    """How much more the large weights gain in the first stretch than in the last, with a 95 % interval.

    The gain of 5 and 10 less that of 0 and 1, on average, per replication; arguments as of :func:`alpha_ratios`.
    """
    gain = _alpha_gains(dataset, table)
    lead = (gain[[5.0, 10.0]].mean(axis=1) - gain[1.0] / 2).unstack()  # alpha 0 gains 0
    shift = lead[lead.columns[0]] - lead[lead.columns[-1]]
    found = student(shift)
    return float(shift.mean()), found["low"], found["high"]


def judge_alpha() -> Verdict:
    """A1: large weights lead small ones by more in the first stretch than in the last, on every data set.

    'In part' on some; 'does not hold' where the shift is below 0, or 10 % of it ruled out.
    """
    names = list(_per_dataset(tuple(ALPHAS)))
    if not names:
        return _untested("any data set")
    shifts = {name: alpha_shift(name) for name in names}
    words = {
        "holds" if low > 0 else "does not hold" if high < ALIKE else "not tested" for _, low, high in shifts.values()
    }
    verdict = words.pop() if len(words) == 1 else "holds in part" if "holds" in words else "not tested"
    shown = "; ".join(f"{name} {mean:+.3f} [{low:+.3f}, {high:+.3f}]" for name, (mean, low, high) in shifts.items())
    return Verdict(verdict, f"shift of the large weights' lead from first to last stretch: {shown}")


def judge_balance() -> Verdict:
    """B1: MACAL ahead of Random and of random-balanced while pairs last."""
    table = recorded("ihdp", ("macal", "random", "random-balanced"))
    if table is None:
        return _untested("ihdp")
    early = by_stretch(table, HALVES)[TURNING_POINT]
    found = standing(early, "macal", ("random", "random-balanced"))
    shown = ", ".join(f"{m} {r.log_ratio:+.3f} [{r.low:+.3f}, {r.high:+.3f}]" for m, r in found.iterrows())
    n = table["replication"].nunique()
    return Verdict(_lowest(found), f"{n} replications, up to {TURNING_POINT} labels, log ratio of MACAL to {shown}")
