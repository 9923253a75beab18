"""Files that are written whole or not at all, and locks that end with the process that holds them."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

_PAUSE = 0.02  # seconds between two tries


def real(path: Path) -> Path:
    """Where a file is that is named by a symbolic link, or is to be; the path itself, made absolute, of any other.

    Raises:
        OSError: links lead in a circle.
    """
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found


def write(contents: Mapping[Path, bytes]) -> None:
    """Write some files, a missing folder too, each to a draft beside it; put them in place in order when all are there.

    A file that is named by a symbolic link is written where the link points.

    Raises:
        OSError: a folder cannot be written, or the disk is full; it names the file, and what was there is left.
    """
    places = {path: real(path) for path in contents}
    for place in places.values():
        place.parent.mkdir(parents=True, exist_ok=True)
    drafts: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            drafts[path] = places[path].with_name(f".{uuid4().hex}.tmp")
            with drafts[path].open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for path, draft in drafts.items():
            os.replace(draft, places[path])
    except OSError as error:  # of a write or a flush it names no file, and of a draft the wrong one
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock that ends with the process, whatever ends the process; False where somebody else has it."""
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
    """Keep out whoever else would write in a folder by this function; False once we have waited so many seconds."""
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
