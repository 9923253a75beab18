"""The ledger as data: ``results/claims.json``, from which verdicts can be read, and judged again, without this package.

``python -m reproduction ledger`` writes it. Numbers have six digits, and the file stays as it is where a fresh one
agrees with it as stored outputs of pages do (:mod:`reproduction.outputs`).
"""

import itertools
import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macal.campaigns import results
from macal.comparison import Mean
from macal.storage import atomic
from reproduction import claims, outputs
from reproduction.benchmarks import PAPER
from reproduction.claims.rules import RULES, Rules
from reproduction.claims.scale import Scale
from reproduction.claims.verdict import Claim
from reproduction.studies import tables
from reproduction.studies.tables import Table

FILE = results.FOLDER / "claims.json"
SCHEMA = 4
TEST = (
    "log_ratio: mean over replications of the natural log of the ratio of errors' geometric means over sizes (under"
    " arithmetic: of arithmetic means, which do not decide); Student's t, two-sided, against 0; p by Holm, low and"
    " high by Bonferroni in the family, ended at 0 where p finds a sign; below 0 and p below the level: ahead, above:"
    " behind; else no lead where low is above -log(1 + margin), else open"
)
PER_CENT = {"change": "log_ratio", "low": "low", "high": "high"}
SOURCE = {  # whose claims they are
    "title": "Progressive Generalization Risk Reduction for Data-Efficient Causal Effect Estimation",
    "venue": "KDD 2025",
    "arxiv": "2411.11256",
    "code": "https://github.com/uqhwen2/MACAL",
}


def as_data(keys: Iterable[str] = ()) -> dict[str, Any]:
    """Judge the claims and return all that the verdicts rest on, JSON values alone.

    Args:
        keys: of claims; all by default.

    Returns:
        ``schema``; the ``paper``; ``rules``, with the ``test``; the paper's ``datasets``; ``claims``, see
        :func:`_claim`; ``tables`` that are named there: data set, line of evidence, ``files`` that are read as one,
        each with its SHA-256 and the commits that made it, sweeps and the command that repeats it.

    Raises:
        FileNotFoundError: the package is installed without the book's recorded tables.
    """
    results.checkout()
    chosen = {*keys}
    judged = [_claim(claim, RULES) for claim in claims.CLAIMS if not chosen or claim.key in chosen]
    named = {name for claim in judged for version in claim["versions"] for name in version["tables"]}
    found = {
        "schema": SCHEMA,
        "paper": SOURCE,
        "rules": asdict(RULES) | {"test": TEST},
        "datasets": {name: asdict(one) for name, one in PAPER.items()},
        "claims": judged,
        "tables": {name: _table(tables.get(name)) for name in sorted(named)},
    }
    return _plain(found)


def _claim(claim: Claim, rules: Rules) -> dict[str, Any]:
    """A claim: its key, the paper's place, text, the book's page, rule in words, and one entry per version."""
    parts = claim.verdicts(rules), claim.on_means(rules), claim.scales(), claim.decided_by()
    versions = [
        {
            "version": version.name if version else "",
            "method": version.macal if version else "",
            **asdict(verdict),
            "arithmetic": asdict(on_means) if on_means else None,
            "scale": [asdict(scale) for scale in scales],
            "tables": [name for name in names if tables.get(name).recorded],
        }
        for version, verdict, on_means, scales, names in zip(claim.parts, *parts, strict=True)
    ]
    return {
        "key": claim.key,
        "place": claim.source,
        "claim": claim.text,
        "page": f"book/{claim.chapter}.md",
        "command": f"python -m reproduction ledger {claim.key}",
        "rule": claim.rule._asdict() if claim.rule else None,
        "versions": versions,
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "dataset": table.dataset,
        "line": table.line,
        "files": {name: _file(name) for name in table.recorded},
        "sweeps": [f"results/specs/{name}.json" for name in table.sweeps],
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


def verdicts(rules: Rules = RULES) -> pd.DataFrame:
    """Judge every claim by these rules; see :func:`recorded`.

    Raises:
        FileNotFoundError: the package is installed without the book's recorded tables.
    """
    results.checkout()
    return _rows(_plain([_claim(claim, rules) for claim in claims.CLAIMS]))


def recorded(file: Path = FILE) -> pd.DataFrame:
    """Read the verdicts by the book's rules from the file, without judging.

    Args:
        file: written by :func:`write`.

    Returns:
        By ``key``: ``source``, ``claim``, ``origin``, whose it is; ``verdict``, ``evidence``, ``comparisons`` (values),
        ``on_means`` (the word by arithmetic means of errors, "" where none decide) and ``scale`` (:class:`.Scale` by
        data set) of the code version, or of a claim without versions; the same with ``_text`` of the text version,
        empty where a claim has none; ``chapter``.

    Raises:
        FileNotFoundError: no such file.
    """
    return _rows(json.loads(file.read_text(encoding="utf-8"))["claims"])


def _rows(found: list[dict[str, Any]]) -> pd.DataFrame:
    rows, origins = {}, {claim.key: claim.origin for claim in claims.CLAIMS}
    for claim in found:
        row = {"source": claim["place"], "claim": claim["claim"], "origin": origins[claim["key"]]}
        for version, end in itertools.zip_longest(claim["versions"][:2], ("", "_text"), fillvalue={}):
            row |= {f"{part}{end}": version.get(part, "") for part in ("verdict", "evidence")}
            row[f"comparisons{end}"] = version.get("comparisons", [])
            row[f"on_means{end}"] = (version.get("arithmetic") or {"verdict": ""})["verdict"]
            row[f"scale{end}"] = [Scale(**one) for one in version.get("scale", [])]
        rows[claim["key"]] = row | {"chapter": Path(claim["page"]).stem}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("key")


def pairs(*keys: str, mean: Mean = "geometric") -> pd.DataFrame:
    """MACAL against other methods, as ``claims.json`` has them: where pages and figures take a comparison from.

    Args:
        keys: of claims; E1 to E3 by default, MACAL against the paper's baselines in either version.
        mean: of errors over sizes; the geometric mean decides.

    Returns:
        By ``claim``, ``version``, ``estimator``, ``dataset`` and ``against``: ``change``, the error over the other
        method's in per cent, with its interval ``low``, ``high``; ``log_ratio``; ``comparison``; ``replications``;
        without the rows that E1 has for later labels.
    """
    found = json.loads(FILE.read_text(encoding="utf-8"))["claims"]
    rows = [
        {"claim": claim["key"], "version": version["version"], **row}
        for claim in found
        if claim["key"] in (keys or ("E1", "E2", "E3"))
        for version in claim["versions"]
        for row in (version if mean == "geometric" else version["arithmetic"])["comparisons"]
        if row.get("stretch") != "later"
    ]
    table = pd.DataFrame(rows).set_index(["claim", "version", "estimator", "dataset", "against"])
    return in_per_cent(table[["log_ratio", "low", "high", "comparison", "replications"]])


def in_per_cent(found: pd.DataFrame) -> pd.DataFrame:
    """Comparisons with ``change``, the log ratio in per cent, and their ends ``low``, ``high`` in per cent, too."""
    return found.assign(**{name: 100 * np.expm1(found[of].astype(float)) for name, of in PER_CENT.items()})


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
