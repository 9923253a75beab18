"""Files that are written whole or not at all, and locks that end with the process that holds them."""

import errno
import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

_PAUSE = 0.02  # seconds between two tries
_DRAFT = re.compile(r"\.[0-9a-f]{32}\.tmp")


def real(path: Path) -> Path:
    """Where a file is that is named by a symbolic link, or is to be; the path itself, made absolute, of any other.

    Raises:
        OSError: links lead in a circle.
    """
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found


def check(path: Path) -> None:
    """Refuse what cannot be replaced by a file as a whole: a folder, a device, one of several names of a file.

    Raises:
        OSError: it names the path, and says why.
    """
    place = real(path)
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; give the name of a file", str(path))
    if not place.exists():
        return
    if not place.is_file():
        raise OSError(errno.EINVAL, "is no file but a device; give another name", str(path))
    if place.stat().st_nlink > 1:  # the others would silently keep what it was
        raise OSError(errno.EMLINK, "has other names (hard links), which would not change; copy it first", str(path))


def write(contents: Mapping[Path, bytes]) -> None:
    """Write some files, all or none, a missing folder too: each to a draft beside it; when all are there, in order.

    A file that is named by a symbolic link is written where the link points. The last one is replaced when all others
    have been, and where one cannot be, those before it are what they were.

    Raises:
        OSError: a folder cannot be written, or the disk is full; it names the file, and what was there is left.
    """
    places = {path: real(path) for path in contents}
    for place in places.values():
        place.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        made, before = dict[Path, Path](), dict[Path, Path]()
        path = Path()
        try:
            for path, content in contents.items():
                made[path] = held.enter_context(_draft(places[path], content))
            for path in list(contents)[:-1]:
                if places[path].exists():
                    before[path] = held.enter_context(_draft(places[path], places[path].read_bytes()))
                    shutil.copymode(places[path], before[path])
            for path, draft in made.items():
                os.replace(draft, places[path])
        except BaseException as error:  # a signal, too
            replaced = [one for one, draft in made.items() if not draft.exists()]
            for one in replaced if len(replaced) < len(contents) else ():
                os.replace(before[one], places[one]) if one in before else places[one].unlink()
            if isinstance(error, OSError):  # of a write or a flush it names no file, and of a draft the wrong one
                raise OSError(error.errno, error.strerror, str(path)) from error
            raise


@contextmanager
def _draft(place: Path, content: bytes) -> Iterator[Path]:
    """Write a file beside a place, and hold it until it is put there; what is no longer held, a later step clears.

    A clearing may come between a draft's making and its holding; it is then made again.
    """
    while True:
        path = place.with_name(f".{uuid4().hex}.tmp")
        with path.open("xb") as file:
            try:
                _held(file.fileno(), wait=True)
                if not os.fstat(file.fileno()).st_nlink:
                    continue
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                yield path
            finally:
                path.unlink(missing_ok=True)
        return


def _held(handle: int, wait: bool) -> bool:
    """Hold an open file; False where another process does, or where this file system cannot tell."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def write_step(contents: Mapping[Path, bytes]) -> None:
    """Write some files as :func:`write` does, and clear their folders of drafts that killed processes have left.

    Raises:
        OSError: see :func:`check`, before anything is written, and :func:`write`.
    """
    for path in contents:
        check(path)
    for folder in {real(path).parent for path in contents}:
        for path in folder.glob(".*.tmp"):
            if _DRAFT.fullmatch(path.name):
                _clear(path)
    write(contents)


def _clear(draft: Path) -> None:
    """Remove a draft, unless its maker is at work and holds it."""
    with suppress(OSError), draft.open("r+b") as file:
        if _held(file.fileno(), wait=False):
            draft.unlink()


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock that ends with the process, whatever ends the process; False where another process has it."""
    lock = FileLock(path, fallback_to_soft=False)  # a lock in software would outlive a process that is killed
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        yield False
        return
    except OSError as error:  # it names the lock
        raise OSError(error.errno, error.strerror, str(path.parent)) from error
    with held:
        path.touch()  # says when the work was begun last
        yield True


@contextmanager
def alone(folder: Path, wait: float) -> Iterator[bool]:
    """Keep out other writers of a folder that use this function; False once we have waited so many seconds."""
    handle, end = os.open(folder, os.O_RDONLY), time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    yield False
                    return
                time.sleep(_PAUSE)
        yield True
    finally:
        os.close(handle)  # gives the lock back, as the end of the process does
