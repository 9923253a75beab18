"""The ledger as data: ``results/claims.json``, from which verdicts can be read, and judged again, without this package.

``python -m reproduction ledger`` writes it. Numbers have six digits, and the file stays as it is where a fresh one
agrees with it as stored outputs of pages do (:mod:`reproduction.outputs`).
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from macal.campaigns import results
from macal.storage import atomic
from reproduction import claims, outputs
from reproduction.claims.readings import BALD, BASELINES, CODE, GENERAL, Reading
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.scale import Scale
from reproduction.claims.verdict import Claim, Verdict
from reproduction.studies import tables
from reproduction.studies.tables import Table

FILE = results.FOLDER / "claims.json"
SCHEMA = 1
TEST = "Student's t over replications, two-sided, against a mean log ratio of 0; Holm over the comparisons of a claim"
SPENDING = (
    "by the share t of the planned replications, 2 - 2 Phi(z / sqrt(t)) of the level may have been spent, z its"
    " two-sided normal quantile (Lan and DeMets); a look may spend what looks with fewer replications have not"
)
FIELDS = {
    "log_ratio": "mean over replications of the natural log of the ratio of errors; below 0 where method is better",
    "low, high": "interval of level 1 - level * spent / family (Bonferroni)",
    "p": "of the test, adjusted by Holm in the family, divided by spent: to be held against the level",
    "spent": "share of the level that this look may spend; 1 where the table has no earlier look",
    "family": "comparisons that are adjusted for together, those among them that are not recorded yet",
    "comparison": "ahead or behind: p below the level; no lead: low above -log(1 + margin); else undecided",
    "needed": "replications that would detect the log ratio seen with the power; null for more than 1,000",
    "beside": "true where the comparison stands beside the verdict and does not decide it",
    "planned": "by kind of method; empty where there was one look at all replications",
    "hours": "of one core, at the pace of the recorded campaigns, to reach needed; null where nothing is open",
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
        ``schema``; ``rules``, with the ``test``, and how the level is spent; what ``fields`` are; ``baselines`` of the
        paper; the ``kinds`` of methods by which plans differ; ``claims``, see :func:`_claim`; ``tables`` that are named
        there: data set, line of evidence, ``files`` that are read as one, each with its SHA-256 and the commits that
        made it, ``planned`` replications and looks, sweeps and the command that repeats it.

    Raises:
        FileNotFoundError: the package is installed without the book's recorded tables.
    """
    results.checkout()
    chosen = {*keys}
    judged = [_claim(claim, rules) for claim in claims.CLAIMS if not chosen or claim.key in chosen]
    named = {name for claim in judged for reading in claim["readings"] for name in reading["tables"]}
    found = {
        "schema": SCHEMA,
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
        "readings": [_reading(claim, reading, verdict, scales) for reading, verdict, scales in parts],
    }


def _reading(claim: Claim, reading: Reading | None, verdict: Verdict, scales: tuple[Scale, ...]) -> dict[str, Any]:
    mine = [table for table in tables.TABLES.values() if _rests_on(claim, reading, verdict, table)]
    return {
        "reading": reading.name if reading else "",
        "method": reading.macal if reading else "",
        "verdict": verdict.verdict,
        "evidence": verdict.evidence,
        "scale": [asdict(scale) for scale in scales],
        "comparisons": list(verdict.comparisons),
        "hours": hours(verdict.comparisons, mine),
        "tables": [table.name for table in mine],
    }


def hours(comparisons: Iterable[Mapping[str, Any]], of: Iterable[Table]) -> float | None:
    """Hours of one core that would decide what is undecided, at the pace of the recorded campaigns.

    Each method is played as often as the comparison that needs it most asks for. Comparisons that need more than 1,000
    replications, or methods of which no campaign is recorded, are left out; None where nothing else is undecided.

    Args:
        comparisons: of a verdict.
        of: tables that it rests on.
    """
    more = Counter[tuple[str, str]]()  # data set and method -> replications that are missing
    for row in comparisons:
        if row["comparison"] == "undecided" and row["needed"] is not None and np.isfinite(row["needed"]):
            for method in (row["method"], row["against"]):
                place = row["dataset"], method
                more[place] = max(more[place], int(max(row["needed"] - row["replications"], 0)))
    took: dict[tuple[str, str], list[float]] = {}
    for record in (record for table in of for record in tables.load(table.name).attrs["records"]):
        place = record["config"]["dataset"], record["config"].get("method", "")
        took.setdefault(place, []).append(record["manifest"]["seconds"])
    found = [count * float(np.mean(took[place])) / 3600 for place, count in more.items() if place in took]
    return sum(found) if found else None


def _rests_on(claim: Claim, reading: Reading | None, verdict: Verdict, table: Table) -> bool:
    if claim.key not in table.claims.split() or not _files(table):
        return False
    if reading is not CODE:
        return table.line not in OURS
    estimators = {row.get("estimator") for row in verdict.comparisons}
    shared = (tables.EXACT, *tables.LEARNERS)
    return table.line not in WORDS_OWN and (table.line not in shared or table.line in estimators)


def _files(table: Table) -> list[str]:
    return [name for name in table.parts if (results.FOLDER / f"{name}.parquet").is_file()]


def _table(table: Table) -> dict[str, Any]:
    return {
        "dataset": table.dataset,
        "line": table.line,
        "files": {name: _file(name) for name in _files(table)},
        "planned": {kind: asdict(plan) for kind, plan in table.planned.items()},
        "sweeps": [f"results/specs/{name}.json" for name in (*table.before, *table.sweeps)],
        "study": table.study,
        "command": f"python -m reproduction record {table.name}",
    }


def _file(name: str) -> dict[str, Any]:
    found = tables.load(name)
    about = json.loads((results.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    commits = sorted({commit for commit, _ in results.origins(found).index})
    return {
        "sha256": about["table"],
        "campaigns": len(about["records"]),
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


def text(found: dict[str, Any]) -> str:
    """The file that holds these data."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


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
