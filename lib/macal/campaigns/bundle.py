"""Sweeps on a machine that has torch, gpytorch, numpy, scipy, pandas and scikit-learn, and no way to install more.

:func:`pack` puts this package, the few pure-Python packages that it needs beside those, the data and the spec in one
folder to copy there; ``python -m macal sweep`` runs it there; :func:`complete` adds, here, what was left out there.
"""

import json
import shutil
import tempfile
from dataclasses import asdict, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from macal import datasets
from macal.campaigns import evaluation, provenance, records
from macal.campaigns.spec import Spec
from macal.datasets import files, ihdp
from macal.optional import needed

PURE_PYTHON = ("macal", "jaxtyping", "wadler_lindig", "tqdm", "filelock")


def pack(spec: Spec, folder: Path) -> None:
    """Fill a new folder with all that a sweep needs: ``lib/``, ``data/`` and ``spec.json``; nothing where it fails.

    IBM's covariates need pyarrow to be read, which is not packed.

    Raises:
        FileExistsError: the folder exists.
        DataUnavailable: raw files are not on this machine and could not be downloaded.
        OSError: the folder cannot be written, or the disk is full.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} exists; name a folder that does not")
    nearest = next(parent for parent in folder.absolute().parents if parent.exists())
    with tempfile.TemporaryDirectory(dir=nearest, prefix=".pack-") as draft:
        _fill(spec, Path(draft, "whole"))
        folder.parent.mkdir(parents=True, exist_ok=True)
        Path(draft, "whole").rename(folder)


def _fill(spec: Spec, folder: Path) -> None:
    for name in PURE_PYTHON:
        source = Path(find_spec(name).origin).parent
        shutil.copytree(source, folder / "lib" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "lib" / provenance.PACKED).write_text(json.dumps(provenance.origin()))
    if spec.dataset == "ihdp":
        ihdp.covariates()  # fails where econml is missing, or another version
        (table,) = ihdp.SOURCES
        (folder / "lib" / table).parent.mkdir(parents=True)
        shutil.copy(Path(find_spec("econml").origin).parents[1] / table, folder / "lib" / table)
        (folder / "lib" / "econml" / "__init__.py").touch()
    groups = datasets.DATASETS[spec.dataset].files
    files.require(*groups)
    for name in (name for group in groups for name in files.GROUPS[group]):
        place, source = (folder / "data" / name).parent, files.find(name)
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place / source.name)  # packed or not, as it is here
    (folder / "spec.json").write_text(json.dumps(asdict(spec), indent=1) + "\n")


def complete(store: Path) -> int:
    """Add the distances that a bare machine has left out; return to how many records.

    Raises:
        FileNotFoundError: no such folder.
        DamagedRecord, ForeignRecord: see :func:`macal.campaigns.records.read_all`.
        ModuleNotFoundError: POT is missing here, too.
    """
    changed = 0
    for record in records.read_all(store):
        gaps = [[name for name in evaluation.UNMEASURED if np.isnan(row[name])] for row in record.rows]
        if not any(gaps):
            continue
        with needed("pot", "exact Wasserstein distances"):
            import_module("ot")
        config = record.config
        problem = datasets.load(config["dataset"], config["replication"], config["protocol"])
        sets = [problem.labelled(record.picks[: row["step"]]) for row in record.rows]
        measured = evaluation.distances(problem, sets)
        added = [{name: new[name] for name in own} for new, own in zip(measured, gaps, strict=True)]
        if not all(np.isnan(value) for own in added for value in own.values()):  # as where an arm is empty
            rows = [row | own for row, own in zip(record.rows, added, strict=True)]
            records.write(replace(record, rows=rows), store)
            changed += 1
    return changed
