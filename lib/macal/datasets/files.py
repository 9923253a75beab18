"""Raw data files: where they are looked for, where they come from, and the check that they are the ones meant.

A file is looked for in the folder that the environment variable ``MACAL_DATA`` names, then in ``data/`` of the project,
then in the user's cache; what is in none of them is downloaded into the cache. Whatever the place, no byte is used
before the SHA-256 of the content agrees; of a gzip file the content is what it unpacks to, since mirrors pack it
differently. A damaged file is never replaced unasked: the error says where it is.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
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


def _github(repository: str, commit: str, path: str, sha256: str) -> Source:
    return Source(sha256, (f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",))


def _mnist(name: str, sha256: str) -> Source:
    mirrors = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
    return Source(sha256, tuple(mirror + name for mirror in mirrors))


def _lbidd(name: str, sha256: str) -> Source:
    repository = "IBM-HRL-MLHLS/IBM-Causal-Inference-Benchmarking-Framework"
    return _github(repository, "fa3d17af22521e2d41b4c734f9148365b7dc92fd", f"data/LBIDD/scaling/{name}", sha256)


LBIDD_INSTANCES = {  # SHA-256 of the factual and of the counterfactual table
    "194fe0e3c1644d41a5085b92d2fe7e54": (
        "8a80571c05c544fee9fd8b7354b79c6b705ccd309fa25a6dc46a0516952c51ff",
        "4db29418ff8d41e5d0ddcb613963e0e8d0db2547e306bb6ebc7d90f9fffa779b",
    ),
    "1f8b1ffc247b45f884e95d8ca4989fd9": (
        "8aa131a5b95a6eadc34e8dff1d827d39ed4d77970b97f355d23f7d56b13142a2",
        "d48e5c56f86400c6764b00195bc1a42d35a4354516f92a65ee0640d430dd32aa",
    ),
    "2974def923b14e7884596f4d9ae506c7": (
        "116a4ccf771d25d5ada676bb658348185d2bb5e01f15e4d629a8cb4742a62dca",
        "1c9400bd2396c3a40f26e4ef7982a21c447a15205cca3168b0387b5974585a3a",
    ),
    "5227bb5fc1324e31a2f3e12bce9135bf": (
        "78925e474390bc00a99ced83b041b65182544944fa36ecc2a510c85e310c34c6",
        "24645f5f239427e55c0b5ab80fec92e683c91d97b70d1068d7ab0931637c5e0d",
    ),
    "53690f224aaa415bb2cd2e5a8656c099": (
        "89ff7cb2e1a3012e2e0892c0b12348327903eda9d5965a2038a7e7251903fc08",
        "24799fdff1f6e8dd7ef3ccb42b732b0832d8788d06df96479ef2c890b7fbc1f7",
    ),
    "59096d7a6c4e42339afd4502f5f2f06c": (
        "eb1b17eea46a34aacfe239334b9de91c0c72172107f22c48512ca127c2c1ab59",
        "1f7ef60860cf8d5200cc852ad4ab740a29bf06c2abae8835d38d3795228f141d",
    ),
    "6d2e2a79f5ec486a8702ab3c443cb88e": (
        "b0adac62851e42ec29dcb8edc72e214f861ff9197fb8a7c2648fc88d90c15dc3",
        "cdb2347971db39ff694824b1bd77995a0a9104773654b2c80e742a42c442859d",
    ),
    "9d5249efba244308a93f54d7ff7cad7b": (
        "ad60449cd8a67a2867db29b94398f9cba782bdfdfac31fb9b2b1c6da0307b956",
        "5d7aa00e066797eced29ed8157919ee414d374ab5a8101bf570a29cbb3821fb7",
    ),
    "d4ad7285da1248759990d167c7d1af0d": (
        "eba58566199b28ec1678fff92226b62c524cdd8b6a95986e84e1d878686005a7",
        "86c6a298dd541634ddb4fe8e5d1fbc0b003f5a60a538a1a1c3010f4bf6a92820",
    ),
    "dca9ecaff8194a4b9ccd940893adb543": (
        "4c243419605cfc5b5aef643376263bd9c2e17a16090113fcc6e11daa95ee0962",
        "9ac2d395600e41cec6c178a8eb9c5d25219ea3ca9a509bb7b9f406a662005042",
    ),
}
FILES = Registry(
    "data file",
    {
        "ihdp/ihdp.RData": _github(
            "vdorie/npci",
            "ba08244f35575831d81990c505e70f4fc2e69d80",
            "examples/ihdp_sim/data/ihdp.RData",
            "cfb4962905a24639dcad9814a51ccee20ab17efc23514c761f4acca018b0f597",
        ),
        "ibm/covariates.parquet": _github(
            "inovex/justcause-data",
            "cb548cbe71bcc857efaf8fdf97a503262a116b44",
            "ibm/covariates.parquet",
            "998cd1b7452a6cc659d5c25557fb9aeb0a9a1181132e9deb5a6ca6039936815d",
        ),
        **{
            f"ibm/scaling/{ufid}{suffix}.csv": _lbidd(f"{ufid}{suffix}.csv", sha256)
            for ufid, sums in LBIDD_INSTANCES.items()
            for suffix, sha256 in zip(("", "_cf"), sums, strict=True)
        },
        "mnist/train-images-idx3-ubyte.gz": _mnist(
            "train-images-idx3-ubyte.gz", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
        ),
        "mnist/train-labels-idx1-ubyte.gz": _mnist(
            "train-labels-idx1-ubyte.gz", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
        ),
    },
)
GROUPS = Registry(  # what a data set needs by default
    "group of data files",
    {
        "ihdp": ("ihdp/ihdp.RData",),
        "ibm": (
            "ibm/covariates.parquet",
            "ibm/scaling/6d2e2a79f5ec486a8702ab3c443cb88e.csv",
            "ibm/scaling/6d2e2a79f5ec486a8702ab3c443cb88e_cf.csv",
        ),
        "mnist": ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"),
    },
)


def cache() -> Path:
    """Return the folder of the user's cache that downloads go into."""
    import pooch

    return Path(pooch.os_cache("macal"))


def find(name: str) -> Path | None:
    """Return where a file is, or None where it is in no folder; nothing is downloaded and nothing verified.

    Args:
        name: a key of :data:`FILES`, e.g. "ibm/covariates.parquet".

    Raises:
        UnknownName: no such file.
        ValueError: the environment variable MACAL_DATA names no folder.
    """
    FILES[name]
    named = os.environ.get("MACAL_DATA")
    if named and not Path(named).is_dir():
        raise ValueError(f"MACAL_DATA={named!r} is no folder: name the full path of one that holds {name}, or unset it")
    for folder in (*([Path(named)] if named else []), PROJECT_DATA):
        if (folder / name).is_file():
            return folder / name
    cached = cache() / name
    return cached if cached.is_file() else None


def missing(*groups: str) -> list[str]:
    """Names of the files of ``groups`` ("ihdp", "ibm", "mnist") that are in no folder; nothing is downloaded.

    Raises:
        UnknownName: no such group.
        ValueError: see :func:`find`.
    """
    return [name for group in groups for name in GROUPS[group] if find(name) is None]


def require(*groups: str) -> None:
    """Make sure that the files of ``groups`` are on this machine and whole, downloading those that are in no folder.

    Raises:
        UnknownName: no such group.
        ValueError, DataUnavailable, ChecksumError: see :func:`read`.
    """
    for name in (name for group in groups for name in GROUPS[group]):
        read(name)


def read(name: str) -> bytes:
    """Return the verified content of a file, unpacked where it is packed; download it where it is in no folder.

    Args:
        name: a key of :data:`FILES`.

    Raises:
        UnknownName: no such file.
        ValueError: see :func:`find`.
        DataUnavailable: it is in no folder and could not be downloaded.
        ChecksumError: the file that was found is not the one that is meant.
    """
    path = find(name) or _download(name)
    origin = f"{path} (put a whole copy there, or delete it, and one is downloaded)"
    return verified(path.read_bytes(), FILES[name].sha256, origin)


def verified(raw: bytes, sha256: str, origin: str) -> bytes:
    """Return the content of a file, unpacked where it is packed.

    Args:
        raw: the file as it is, gzip or not.
        sha256: what the SHA-256 of the content must be.
        origin: what the file is called in an error.

    Raises:
        ChecksumError: another SHA-256, or a gzip file that does not unpack, or unpacks to more than ``LIMIT`` bytes.
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
