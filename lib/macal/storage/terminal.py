"""What the commands of the package share: an error is one line, and a signal ends them at once."""

import argparse
import io
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NoReturn

GRACE = 1.0  # seconds from a signal to the end, whatever is under way


class Parser(argparse.ArgumentParser):
    """A parser, and those of its commands, to which -10,20 and -1e3 are values, as to Python's from 3.14 on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = re.compile(r"-\.?\d")


def guarded(command: Callable[[], int | None]) -> int:
    """Run a command and return its exit status; where its input is wrong, say so in one line on stderr and return 1.

    It is no error if the reader of its output has gone, as ``head`` goes: commands write their files first.
    """
    from concurrent.futures import BrokenExecutor  # takes milliseconds, in which a signal would not be heeded

    status = 0
    try:
        status = command() or 0
        if sys.stdout is not None:  # as where it is closed
            sys.stdout.flush()
        return status
    except (OSError, ValueError, ImportError, BrokenExecutor) as error:
        if isinstance(error, BrokenPipeError) and _output_closed():
            return status
        print(f"{type(error).__name__}: {_said(error)}", file=sys.stderr)
        return 1


def _said(error: BaseException) -> str:
    """What an error says, in one line; of a file what is wrong with it, and its name."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        what = "no such file" if isinstance(error, FileNotFoundError) else error.strerror.lower()
        return f"{what}: {error.filename}"
    return " ".join(line.strip() for line in str(error).splitlines())


def _output_closed() -> bool:
    """Whether the reader of standard output or error has gone; the rest of the output is then discarded."""
    asked = select.poll()
    asked.register(1, select.POLLOUT), asked.register(2, select.POLLOUT)
    gone = [handle for handle, event in asked.poll(0) if event & (select.POLLERR | select.POLLHUP)]
    for handle in gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), handle)
    return bool(gone)


def start(command: Callable[[], int | None]) -> NoReturn:
    """Run a command as this process, which Ctrl-C ends with 130 and SIGTERM with 143, with one line on stderr.

    What the encoding of the standard output does not have, as an umlaut in a terminal of ASCII, is written as its code.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    ended: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # as a shell starts what runs in the background
            signal.signal(number, partial(_end, ended))
    status = guarded(command)
    sys.exit(ended[0] if ended else status)  # an extension module that is being imported may swallow the exit


def _end(ended: list[int], number: int, frame: FrameType | None) -> NoReturn:
    ended.append(128 + number)
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
