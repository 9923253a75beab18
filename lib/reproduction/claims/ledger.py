"""The ledger as data: ``results/claims.json``, from which verdicts can be read, and judged again, without this package.

``python -m reproduction ledger`` writes it. Numbers have six digits, and the file stays as it is where a fresh one
agrees with it as stored outputs of pages do (:mod:`reproduction.outputs`).
"""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal.campaigns import results, sweeps
from macal.campaigns.records import Record
from macal.storage import atomic
from reproduction import claims, outputs
from reproduction.claims.readings import BALD, BASELINES, CODE, GENERAL, WRITTEN, Reading
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.scale import Scale
from reproduction.claims.stated import STATED
from reproduction.claims.verdict import Claim, Verdict
from reproduction.studies import tables
from reproduction.studies.tables import Table

FILE = results.FOLDER / "claims.json"
SCHEMA = 2
TEST = (
    "Student's t over replications, two-sided, against a mean log ratio of 0; Holm over the comparisons of a family,"
    " which book/plan.md names claim by claim"
)
SPENDING = (
    "by the share t of the planned replications, 2 - 2 Phi(z / sqrt(t)) of the level may have been spent, z its"
    " two-sided normal quantile (Lan and DeMets); a look may spend what looks with fewer replications have not"
)
FIELDS = {
    "rule": "what is compared, in which family, and what follows; several baselines and several cases as book/plan.md"
    " says; null where no comparison of errors decides",
    "scale": "by data set, which of the claim's methods are recorded, and at how many of the paper's replications and"
    " sizes the reading's MACAL (E5: Random) is too, from the fewest of a method to the most; in E6 to E9 and A1 those"
    " that all methods share, 0 where one is lacking",
    "sizes, first, last": "how many numbers of labels the comparison averages over, the smallest and the largest",
    "log_ratio": "mean over replications of the natural log of the ratio of errors; below 0 where method is better",
    "low, high": "interval of level 1 - level * spent / family (Bonferroni), which ends at 0 where p is below the level"
    " and it would go on beyond 0",
    "p": "of the test, adjusted by Holm in the family, divided by spent: to be held against the level",
    "median, p_flips": "over replications, and p of the sign-flip test, adjusted as p is; null below nine replications",
    "table": "whose replications are compared, and whose plan says how much may be spent",
    "plans": "of this table, by which the comparison goes: where several, by the one that lets it spend least; none"
    " where the table is complete as it stands",
    "methods": "all that the comparison needs, at the replications and sizes that they share; otherwise method and"
    " against alone",
    "spent": "share of the level that this look may spend; 1 where the table has no earlier look",
    "family": "comparisons that are adjusted for together, those among them that are not recorded yet",
    "comparison": "ahead or behind: p below the level; no lead: low above -log(1 + margin); else undecided",
    "as_good": "the interval lies within the margin on both sides (E5)",
    "needed": "replications that would detect the log ratio seen with the power; null for more than 1,000",
    "low, high of F1": "of one comparison at the level, by bootstrap over replications",
    "labels": "mean over replications of the difference in labels that were needed (F1b)",
    "measure, step": "what is compared: distance to the counterpart or covering radius (V1), W1 or variance (F1c); the"
    " query after which",
    "beside": "true where the comparison stands beside the verdict and does not decide it",
    "part": "of MACAL's gain on Random (W1)",
    "predicted_share": "of the error that pairs could save by theory; above 0, weight 2.5 is predicted to help (W2)",
    "every criterion": "a row of S3 has the largest log ratio to any criterion, itself included, and the largest ends"
    " of the intervals; beyond: low above log(1.05), within: high not above it",
    "planned": "by kind of method, or by a method's name where it has a plan of its own; empty where there was one look"
    " at all replications",
    "open": "comparisons that could decide and are undecided, in E5 neither ahead nor behind nor as_good, and how many"
    " of them have no needed",
    "hours": "of one core, to reach needed in the open comparisons that have one, by campaigns that take as long as the"
    " method's recorded ones in the same table on average; null where there is none",
    "planned_hours": "of one core, for the trainings of the planned campaigns of the claim's methods that are not"
    " recorded, at the pace of the same method's trainings on the same data set; null where none is missing, or no pace"
    " is known",
}
PAPER = {  # whose claims they are
    "title": "Progressive Generalization Risk Reduction for Data-Efficient Causal Effect Estimation",
    "venue": "KDD 2025",
    "arxiv": "2411.11256",
    "code": "https://github.com/uqhwen2/MACAL",
}
WEIGHT, FREE = "MACAL at another weight than 2.5, with which its name ends", "all others"
OURS = (tables.AS_CODE, tables.SETS_AS_CODE)  # lines of evidence that the code's reading has to itself
WORDS_OWN = (tables.AS_WRITTEN, tables.SETS)  # and the paper's words


def as_data(rules: Rules = RULES, keys: Iterable[str] = ()) -> dict[str, Any]:
    """Judge the claims and return all that the verdicts rest on, JSON values alone.

    Args:
        rules: by which comparisons of methods are judged.
        keys: of claims; all by default.

    Returns:
        ``schema``; the ``paper``; ``rules``, with the ``test``, and how the level is spent; what ``fields`` are;
        ``baselines`` of the paper; the ``kinds`` of methods by which plans differ; ``claims``, see :func:`_claim`;
        ``tables`` that are named there: data set, line of evidence, ``files`` that are read as one, each with its
        SHA-256 and the commits that made it, ``planned`` replications and looks, sweeps and the command that repeats
        it. What a claim holds is said by ``fields``.

    Raises:
        FileNotFoundError: the package is installed without the book's recorded tables.
    """
    results.checkout()
    chosen = {*keys}
    judged = [_claim(claim, rules) for claim in claims.CLAIMS if not chosen or claim.key in chosen]
    named = {name for claim in judged for reading in claim["readings"] for name in reading["tables"]}
    found = {
        "schema": SCHEMA,
        "paper": PAPER,
        "rules": asdict(rules) | {"test": TEST, "spending": SPENDING},
        "fields": FIELDS,
        "baselines": list(BASELINES),
        "kinds": {"bald": BALD, "general": GENERAL, "weight": WEIGHT, "free": FREE},
        "claims": judged,
        "tables": {name: _table(tables.get(name)) for name in sorted(named)},
    }
    return _plain(found)


def _claim(claim: Claim, rules: Rules) -> dict[str, Any]:
    """A claim: its key, the paper's place, text, the book's page, and one entry per reading."""
    readings: tuple[Reading | None, ...] = claim.readings or (None,)
    parts = zip(readings, claim.verdicts(rules), claim.scales(), strict=True)
    return {
        "key": claim.key,
        "place": claim.source,
        "claim": claim.text,
        "page": f"book/{claim.chapter}.md",
        "command": f"python -m reproduction ledger {claim.key}",
        "rule": asdict(STATED[claim.key]) if claim.key in STATED else None,
        "readings": [_reading(claim, reading, verdict, scales) for reading, verdict, scales in parts],
    }


def _reading(claim: Claim, reading: Reading | None, verdict: Verdict, scales: tuple[Scale, ...]) -> dict[str, Any]:
    mine = [table for table in tables.TABLES.values() if _rests_on(claim, reading, verdict, table)]
    undecided = [row for row in _deciding(verdict.comparisons) if _is_open(row)]
    return {
        "reading": reading.name if reading else "",
        "method": reading.macal if reading else "",
        "verdict": verdict.verdict,
        "evidence": verdict.evidence,
        "scale": [asdict(scale) for scale in scales],
        "comparisons": list(verdict.comparisons),
        "open": {"comparisons": len(undecided), "without needed": sum(not _has_needed(row) for row in undecided)},
        "hours": hours(verdict.comparisons),
        "planned_hours": planned_hours(claim, reading),
        "tables": [table.name for table in mine],
    }


def _deciding(comparisons: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in comparisons if not row.get("beside")]


def _is_open(row: Mapping[str, Any]) -> bool:
    """Whether more replications could decide a comparison; Random's "no lead" does not say that it is as good (E5)."""
    if "as_good" in row:
        return row["comparison"] in ("no lead", "undecided") and not row["as_good"]
    return bool(row["comparison"] == "undecided")


def _has_needed(row: Mapping[str, Any]) -> bool:
    return row.get("needed") is not None and bool(np.isfinite(row["needed"]))


def hours(comparisons: Iterable[Mapping[str, Any]]) -> float | None:
    """Hours of one core that would decide what is undecided, by campaigns that take as long as the recorded ones.

    In each table each method is played as often as the comparison that needs it most asks for. Comparisons that need
    more than 1,000 replications, or methods with no campaign in the table, are left out; None where nothing else is
    undecided.

    Args:
        comparisons: of a verdict; those beside it do not count.
    """
    needed = Counter[tuple[str, str]]()  # table and method -> replications
    for row in _deciding(comparisons):
        if _is_open(row) and _has_needed(row):
            for method in row.get("methods", (row["method"], row["against"])):
                needed[row["table"], method] = max(needed[row["table"], method], int(row["needed"]))
    found = [
        max(count - played, 0) * pace / 3600
        for (name, method), count in needed.items()
        for played, pace, _ in [_campaigns(name).get(method, (0, None, None))]
        if pace is not None
    ]
    return sum(found) if found else None


def planned_hours(claim: Claim, reading: Reading | None) -> float | None:
    """Hours of one core that the planned campaigns of a claim's methods take which are not recorded.

    Planned campaigns may have more or fewer trainings than recorded ones, so trainings are counted. A method without a
    campaign in its table has the pace of its trainings on the same data set in the other reading.

    Args:
        claim: which names data sets and methods.
        reading: of the paper, whose tables count.
    """
    if claim.compares is None or reading is None:
        return None
    methods = {reading.macal, claim.compares.reference(reading), *claim.compares.methods(reading)}
    other, found = next(one for one in (WRITTEN, CODE) if one is not reading), []
    for dataset in claim.compares.datasets:
        table = reading.tables[dataset]
        for method in methods & {*_missing(table)}:
            alias = method.replace(reading.macal, other.macal, 1)
            known = _campaigns(table).get(method) or _campaigns(other.tables[dataset]).get(alias)
            if known:
                found.append(_missing(table)[method] * known[2] / 3600)
    return sum(found) if found else None


@cache
def _campaigns(name: str) -> dict[str, tuple[int, float, float]]:
    """Method -> its recorded replications in a table, and the mean seconds of its campaigns and of its trainings."""
    records: dict[str, list[dict[str, Any]]] = {}
    for part in tables.get(name).recorded:
        for record in tables.load(part).attrs["records"]:
            if method := record["config"].get("method"):
                records.setdefault(method, []).append(record)
    found = {}
    for method, own in records.items():
        seconds = sum(record["manifest"]["seconds"] for record in own)
        replications = len({record["config"]["replication"] for record in own})
        found[method] = replications, seconds / len(own), seconds / sum(record["rows"] for record in own)
    return found


@cache
def _missing(name: str) -> Counter[str]:
    """Method -> trainings of the planned campaigns of a table that are not recorded."""
    table, found = tables.get(name), Counter[str]()
    kept = {Record(r["config"], [], []).key for part in table.recorded for r in tables.load(part).attrs["records"]}
    for spec in table.specs().values():
        for method in spec.methods:
            absent = sum(Record(spec.config(r, method), [], []).key not in kept for r in spec.replications)
            if absent:
                one = replace(spec, methods={method: spec.methods[method]}, replications=spec.replications[:1])
                found[method] += absent * int(sweeps.listing(one, tables.SPECS / "none").trainings.sum())
    return found


def _rests_on(claim: Claim, reading: Reading | None, verdict: Verdict, table: Table) -> bool:
    if claim.key not in table.claims.split() or not table.recorded:
        return False
    if reading is None:
        return True
    if reading is not CODE:
        return table.line not in OURS
    estimators = {row.get("estimator") for row in verdict.comparisons}
    shared = (tables.EXACT, *tables.LEARNERS)
    return table.line not in WORDS_OWN and (table.line not in shared or table.line in estimators)


def _table(table: Table) -> dict[str, Any]:
    return {
        "dataset": table.dataset,
        "line": table.line,
        "files": {name: _file(name) for name in table.recorded},
        "planned": {kind: asdict(plan) for kind, plan in table.planned.items()},
        "sweeps": [f"results/specs/{name}.json" for name in (*table.before, *table.sweeps)],
        "study": table.study,
        "command": f"python -m reproduction record {table.name}",
    }


def _file(name: str) -> dict[str, Any]:
    found = tables.load(name)
    commits = sorted({commit for commit, _ in results.origins(found).index})
    return {
        "sha256": found.attrs["sha256"],
        "campaigns": len(found.attrs["records"]),
        "trainings": len(found),
        "commits": commits,
    }


def _plain(value: Any) -> Any:
    """JSON values: numbers to six digits, None where there is none."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, np.integer):
        return int(value)
    return float(f"{value:.6g}") if math.isfinite(value) else None


def recorded(file: Path = FILE) -> pd.DataFrame:
    """Read what :func:`reproduction.claims.verdicts` gives by the book's rules from the file, without judging.

    Args:
        file: written by :func:`write`.

    Raises:
        FileNotFoundError: no such file.
    """
    rows = {}
    for claim in json.loads(file.read_text(encoding="utf-8"))["claims"]:
        row = {"source": claim["place"], "claim": claim["claim"]}
        for reading, end in itertools.zip_longest(claim["readings"][:2], ("", "_code"), fillvalue=None):
            lists = reading["scale"] if reading else []
            scales = [Scale(**{k: tuple(v) if isinstance(v, list) else v for k, v in one.items()}) for one in lists]
            row |= {f"{part}{end}": reading[part] if reading else "" for part in ("verdict", "evidence")}
            row[f"scale{end}"] = claims.join_scales(scales)
        rows[claim["key"]] = row | {"chapter": Path(claim["page"]).stem}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("key")


def open_claims(found: dict[str, Any]) -> pd.DataFrame:
    """What would decide the claims that are undecided, tested in part or not tested.

    Args:
        found: see :func:`as_data`.

    Returns:
        By claim and reading: ``verdict``; how many comparisons are ``open``; the fewest and the most ``replications for
        80 % power`` among them, and how many need more than 1,000; ``hours for these`` and ``hours of the plan``, see
        :func:`hours` and :func:`planned_hours`.
    """
    columns = ["verdict", "open", "replications for 80 % power", "hours for these", "hours of the plan"]
    rows = {}
    for claim, reading in ((one, reading) for one in found["claims"] for reading in one["readings"]):
        if reading["verdict"] not in ("undecided", "tested in part", "not tested"):
            continue
        undecided = [row for row in _deciding(reading["comparisons"]) if _is_open(row)]
        needed = sorted({int(row["needed"]) for row in undecided if _has_needed(row)})
        said = [" to ".join(f"{n:,}" for n in dict.fromkeys((needed[0], needed[-1])))] if needed else []
        if more := reading["open"]["without needed"]:
            said.append(f"{more} above 1,000")
        about = [reading["verdict"], len(undecided), "; ".join(said), reading["hours"], reading["planned_hours"]]
        rows[claim["key"], reading["reading"]] = dict(zip(columns, about, strict=True))
    places = pd.MultiIndex.from_tuples(rows, names=["claim", "reading"])
    return pd.DataFrame(list(rows.values()), places, columns).astype(dict.fromkeys(columns[3:], float))


def text(found: dict[str, Any]) -> str:
    """The file that holds these data; a list or an object with no object inside is one line."""
    lines = json.dumps(found, indent=1, ensure_ascii=False)
    for inner in (r"\[[^\[\]{}]*\]", r"\{[^{}]*\}"):  # a line break stands between tokens only
        lines = re.sub(inner, lambda part: re.sub(r"\n *", " ", part[0]), lines)
    return lines + "\n"


def agrees(file: Path, found: dict[str, Any]) -> bool:
    """Whether a file holds these data: words and whole numbers to the letter, other numbers to 0.0001."""
    return file.is_file() and outputs.deviation(file.read_text(encoding="utf-8"), text(found)) <= outputs.RTOL


def write(found: dict[str, Any], file: Path = FILE) -> bool:
    """Write the file, unless it agrees; return whether it was written.

    Raises:
        OSError: it cannot be written.
    """
    if agrees(file, found):
        return False
    atomic.write({file: text(found).encode()})
    return True
