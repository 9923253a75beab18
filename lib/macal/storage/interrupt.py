"""Ctrl-C while the command line is still being imported, which takes seconds: one sentence, and no traceback."""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn


def is_command() -> bool:
    """Whether this process is the command line: ``macal``, or ``python -m macal``."""
    given = sys.orig_argv
    return Path(sys.argv[0]).stem == "macal" or "macal" in [
        b for a, b in zip(given, given[1:], strict=False) if a == "-m"
    ]


def _end(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"ended by a signal, before anything was read or written\n")
    os._exit(128 + number)


if is_command() and signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)  # until the command takes over
