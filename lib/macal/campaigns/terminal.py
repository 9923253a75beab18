"""What the commands of the package share: an error is one line, and a signal ends them at once."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from types import FrameType
from typing import NoReturn

GRACE = 1.0  # seconds from a signal to the end, whatever is under way


def guarded(command: Callable[[], int | None]) -> int:
    """Run a command and return its exit status; where its input is wrong, say so in one line on stderr and return 1."""
    try:
        return command() or 0
    except (OSError, ValueError, ImportError, BrokenExecutor) as error:
        lines = [line.strip() for line in str(error).splitlines()]
        print(f"{type(error).__name__}: {' '.join(lines)}", file=sys.stderr)
        return 1


def start(command: Callable[[], int | None]) -> NoReturn:
    """Run a command as this process, which Ctrl-C ends with 130 and SIGTERM with 143, with one line on stderr."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # as a shell starts what runs in the background
            signal.signal(number, _end)
    sys.exit(guarded(command))


def _end(number: int, frame: FrameType | None) -> NoReturn:
    bar = b"\n" if os.isatty(2) else b""  # the line of a progress bar is still open
    os.write(2, bar + b"ended by a signal; nothing is half written, and what was written before is kept\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # nothing that breaks off adds a traceback
    # threads may still train, and an exit waits for them
    killer = threading.Timer(GRACE, os._exit, [128 + number])
    killer.daemon = True
    killer.start()
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_IGN)
    sys.exit(128 + number)
