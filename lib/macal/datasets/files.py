"""Raw data files: where they are looked for, where they come from, and the check that they are the ones meant.

A file is looked for in the folder that the environment variable ``MACAL_DATA`` names, then in ``data/`` of the clone,
then in the user's cache; what is in none of them is downloaded into the cache. A folder may hold it packed, under its
name and ".gz". No byte is used before the SHA-256 of the unpacked content agrees. Damaged files are never replaced.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from macal.registry import Registry

PROJECT_DATA = Path(__file__).resolve().parents[3] / "data"
RETRIES = 2  # per source, after the first attempt
TIMEOUT = 30  # seconds without a byte
LIMIT = 2**28  # bytes that a gzip file may unpack to, five times the largest that is meant


class DataUnavailable(FileNotFoundError):
    """A data file that is in no folder and could not be downloaded."""


class ChecksumError(ValueError):
    """A data file whose content is not the one that is meant."""


@dataclass(frozen=True)
class Source:
    """What a file must contain, and where it is public.

    Attributes:
        sha256: of the content, unpacked where it is packed.
        urls: the same content, to be tried in this order.
    """

    sha256: str
    urls: tuple[str, ...]


FILES: Registry[Source] = Registry("data file", {})
GROUPS: Registry[tuple[str, ...]] = Registry("group of data files", {})


def declare(group: str, sources: Mapping[str, Source], default: Sequence[str] | None = None) -> None:
    """Say where a data set's raw files come from; the module that reads them does so once.

    Args:
        group: what :func:`require` and :func:`missing` are to call them.
        sources: path in a data folder -> its source.
        default: those that make up the group; all by default.
    """
    FILES.update(sources)
    GROUPS[group] = tuple(sources if default is None else default)


def pinned(repository: str, commit: str, path: str, sha256: str) -> Source:
    """A file of a public GitHub repository, at one commit."""
    return Source(sha256, (f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",))


def cache() -> Path:
    """Return the folder of the user's cache that downloads go into."""
    import pooch

    return Path(pooch.os_cache("macal"))


def find(name: str) -> Path | None:
    """Return where a file is, or None where it is in no folder; nothing is downloaded and nothing verified.

    Raises:
        UnknownName: no such key of :data:`FILES`.
        ValueError: the environment variable MACAL_DATA names no folder.
    """
    FILES[name]
    named = os.environ.get("MACAL_DATA")
    if named and not Path(named).is_dir():
        raise ValueError(f"MACAL_DATA={named!r} is no folder: name the full path of one that holds {name}, or unset it")
    places = (folder / held for folder in _folders(named) for held in (name, f"{name}.gz"))
    return next((place for place in places if place.is_file()), None)


def _folders(named: str | None) -> Iterator[Path]:
    """Folders in the order in which they are searched; pooch, which knows the last, may be missing where it is not."""
    yield from [Path(named)] if named else []
    yield PROJECT_DATA
    yield cache()


def missing(*groups: str) -> list[str]:
    """Names of the files of ``groups`` ("ihdp", "ibm", "mnist") that are in no folder; raises as :func:`find`."""
    return [name for group in groups for name in GROUPS[group] if find(name) is None]


def require(*groups: str) -> None:
    """Make sure that the files of ``groups`` are here and whole, downloading some if needed; raises as :func:`read`."""
    for name in (name for group in groups for name in GROUPS[group]):
        read(name)


def read(name: str) -> bytes:
    """Return the verified content of a file, unpacked where it is packed; download it where it is in no folder.

    Raises:
        UnknownName, ValueError: see :func:`find`.
        DataUnavailable: it is in no folder and could not be downloaded.
        ChecksumError: the file that was found is not the one that is meant.
    """
    path = find(name) or _download(name)
    origin = f"{path} (put a whole copy there, or delete it, and one is downloaded)"
    return verified(path.read_bytes(), FILES[name].sha256, origin)


def verified(raw: bytes, sha256: str, origin: str) -> bytes:
    """Return the content of a file, unpacked where it is packed, which ``origin`` names in an error.

    ChecksumError for another SHA-256, or a gzip file that does not unpack, or to more than ``LIMIT`` bytes.
    """
    try:
        content = gzip.open(BytesIO(raw)).read(LIMIT + 1) if raw.startswith(b"\x1f\x8b") else raw
    except (OSError, EOFError, zlib.error) as error:
        raise ChecksumError(f"damaged gzip file ({error}): {origin}") from error
    if len(content) > LIMIT:
        raise ChecksumError(f"content is larger than {LIMIT >> 20} MiB, which no file here is: {origin}")
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ChecksumError(f"content has SHA-256 {found[:12]}..., expected {sha256[:12]}...: {origin}")
    return content


def _downloader(sha256: str) -> Callable[[str, str, object], None]:
    import pooch

    fetch = pooch.HTTPDownloader(progressbar=True, chunk_size=2**16, timeout=TIMEOUT)

    def download(url: str, output_file: str, manager: object) -> None:
        fetch(url, output_file, manager)
        # under its temporary name still: pooch tries again where this fails, and moves only what passes
        verified(Path(output_file).read_bytes(), sha256, url)

    return download


def _download(name: str) -> Path:
    import pooch

    folder, source, failures = cache(), FILES[name], []
    for url in source.urls:
        manager = pooch.Pooch(folder, "", {name: None}, {name: url}, RETRIES)
        try:
            # not left to pooch, which fails where another process makes the folder first
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            return Path(manager.fetch(name, downloader=_downloader(source.sha256)))
        except (OSError, ValueError) as error:
            failures.append(f"  from {url}: {error}")
    raise DataUnavailable(
        f"{name} is not on this machine and could not be downloaded:\n" + "\n".join(failures) + "\n"
        f"put it at {PROJECT_DATA / name}, or at {name} in a folder that the environment variable MACAL_DATA names; "
        f"the SHA-256 of its content is {source.sha256}"
    )
