"""Which commit made a record that holds the digest of its code alone: the one whose package has this digest.

Manifests of early versions name the package's digest (:func:`.provenance.fingerprint`) and no commit. The digest is
taken of every version of the package in a checkout's history, and the first commit with the record's is written in,
marked by ``commit_by``: it says which code ran, not what was checked out, nor what lay beside the package; so ``dirty``
stays unsaid.
"""

import json
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from macal.campaigns import provenance
from macal.campaigns.tables import FOLDER, load
from macal.storage import atomic

BY_DIGEST = "digest"


class LedBack(NamedTuple):
    """What became of a table's records without a commit.

    Attributes:
        found: records into which a commit was written.
        lost: digest -> records whose code no commit has.
    """

    found: int
    lost: dict[str, int]


def commits(package: Path = provenance.PACKAGE) -> dict[str, str]:
    """Return the first commit of each version of a package, of all commits that the one checked out goes back to.

    Returns:
        Digest of the package, see :func:`.provenance.fingerprint` -> commit, 40 hexadecimal digits.

    Raises:
        OSError: there is no git.
        subprocess.SubprocessError: the package lies in no checkout, or git does not answer.
    """
    git = provenance.git_bytes
    place = git(package, "rev-parse", "--show-prefix").decode().strip().rstrip("/")
    history = git(package, "rev-list", "--reverse", "--topo-order", "HEAD").decode().split()
    asked = "".join(f"{commit}:{place}\n" for commit in history).encode()
    answers = git(package, "cat-file", "--batch-check=%(objecttype) %(objectname)", given=asked).decode().splitlines()
    first: dict[str, str] = {}
    for commit, answer in zip(history, answers, strict=True):
        kind, _, tree = answer.partition(" ")
        if kind == "tree":  # else the commit is older than the package
            first.setdefault(tree, commit)
    files = {tree: _files(package, tree) for tree in first}
    contents = _contents(package, sorted({blob for held in files.values() for blob in held.values()}))
    found: dict[str, str] = {}
    for tree, commit in first.items():
        code = provenance.digest({path: contents[blob] for path, blob in files[tree].items()})
        found.setdefault(code, commit)
    return found


def _files(package: Path, tree: str) -> dict[PurePosixPath, str]:
    """Python files of a tree: path -> blob."""
    listed = provenance.git_bytes(package, "ls-tree", "-r", "-z", "--full-tree", tree).decode().split("\0")
    entries = (line.partition("\t") for line in listed if line.endswith(".py"))
    return {PurePosixPath(path): about.split()[2] for about, _, path in entries}


def _contents(package: Path, blobs: list[str]) -> dict[str, bytes]:
    out, found, begin = provenance.git_bytes(package, "cat-file", "--batch", given="\n".join(blobs).encode()), {}, 0
    for blob in blobs:
        head = out.index(b"\n", begin) + 1
        end = head + int(out[begin:head].split()[2])
        found[blob], begin = out[head:end], end + 1
    return found


def lead_back(name: str, history: dict[str, str], folder: Path = FOLDER) -> LedBack:
    """Write into the manifest of a table the commits of records that hold the digest of their code alone.

    Args:
        name: of the table.
        history: digest -> commit, see :func:`commits`.
        folder: of the tables.

    Raises:
        FileNotFoundError: nothing of that name was published.
        DamagedRecord: the table is not the one that its manifest describes.
        OSError: the manifest cannot be written.
    """
    load(name, folder)  # refuses what is damaged
    path = folder / f"{name}.json"
    about, found, lost = json.loads(path.read_text(encoding="utf-8")), 0, Counter[str]()
    for record in about["records"]:
        manifest = record["manifest"]
        if manifest.get("commit"):
            continue
        code = manifest.get("code") or "no digest"
        if code in history:
            manifest |= {"commit": history[code], "commit_by": BY_DIGEST}
            found += 1
        else:
            lost[code] += 1
    if found:
        atomic.write({path: json.dumps(about, separators=(",", ":")).encode()})
    return LedBack(found, dict(lost))
