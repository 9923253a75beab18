"""Where a record comes from: the code and its commit, the packages, the machine."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from macal.models import compiled

PACKAGE = Path(__file__).resolve().parents[1]
PACKED = "macal-origin.json"  # beside a package that was copied to a bare machine: its origin here
UNKNOWN = {"code": None, "commit": None, "dirty": None}
REDIRECTIONS = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"}  # as hooks set


def fingerprint(package: Path = PACKAGE) -> str:
    """SHA-256 of a package's Python files, names and contents, in the order of their names' parts."""
    code = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        code.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return code.hexdigest()


def _git(folder: Path, *arguments: str) -> str:
    """Return what git prints in a folder, whatever a hook's environment says."""
    environment = {k: v for k, v in os.environ.items() if k not in REDIRECTIONS}
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    return done.stdout.decode().strip()


def checkout_state(package: Path = PACKAGE) -> dict[str, str | bool | None]:
    """Return the ``commit`` of the checkout that a package lies in, and whether its folder is ``dirty``, i.e. differs.

    Untracked files count, ignored ones do not. Both are None where git does not track the package or does not answer.
    """
    try:
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "rev-parse", "--verify", "HEAD")
        changes = _git(package.parent, "status", "--porcelain", "--untracked-files=all", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return {"commit": None, "dirty": None}
    return {"commit": commit, "dirty": bool(changes)}


def _packed_state(package: Path, code: str) -> dict[str, str | bool | None]:
    """Return what a bundle says of its own commit; its code is dirty where it is not the code that was packed."""
    told = json.loads((package.parent / PACKED).read_text(encoding="utf-8"))
    return {"commit": told["commit"], "dirty": told["dirty"] or told["code"] != code}


def packed(package: Path = PACKAGE) -> bool:
    """Whether a package was copied to a bare machine; see :mod:`macal.campaigns.bundle`."""
    return (package.parent / PACKED).is_file()


@cache
def origin(package: Path = PACKAGE) -> dict[str, Any]:
    """Return which code this process runs, as its files were when this was first asked.

    Keys: ``code``, see :func:`fingerprint`; ``commit`` and ``dirty``, see :func:`checkout_state`, in a bundle those of
    the checkout that it was packed from.
    """
    code = fingerprint(package)
    return {"code": code} | (_packed_state(package, code) if packed(package) else checkout_state(package))


def device_of(model: object) -> str:
    """Name of the device that a model trains on: "cpu", or the name of the GPU."""
    place = str(getattr(model, "runs_on", "cpu"))
    if not place.startswith("cuda"):
        return "cpu"
    import torch

    return torch.cuda.get_device_name(place)


def versions(*names: str) -> dict[str, str]:
    """Versions of those of these packages that are installed."""
    return {name: metadata.version(name) for name in names if find_spec(name) is not None}


def manifest(
    sources: Mapping[str, str], seconds: float, device: str, threads: int, earlier: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Say where a record comes from; ``compiled`` in it is whether this process fuses its training steps.

    Args:
        sources: raw files and their SHA-256.
        seconds: that the campaign took.
        device: that was used, see :func:`device_of`.
        threads: of PyTorch.
        earlier: origins of processes that began the campaign; those of other code than this one's are kept.
    """
    others = [dict(one) for one in earlier if one != origin()]
    return {
        **origin(),
        **({"earlier": others} if others else {}),
        "packages": versions("numpy", "scipy", "torch", "gpytorch", "pandas"),
        "sources": dict(sources),
        "seconds": seconds,
        "device": device,
        "threads": threads,
        "compiled": compiled.wanted(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def uncommitted(manifest: Mapping[str, Any]) -> bool:
    """Whether any part was made by code that differs from its commit; a manifest that does not say counts as not."""
    return any(one.get("dirty") for one in (manifest, *manifest.get("earlier", ())))
