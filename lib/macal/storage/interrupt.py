"""Ctrl-C while the command line is still being imported, which takes seconds: one sentence, and no traceback."""

import os
import signal
import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NoReturn


def is_command() -> bool:
    """Whether this process is the command line: ``macal``, or ``python -m macal``."""
    return Path(sys.argv[0]).stem == "macal" or ("-m", "macal") in pairwise(sys.orig_argv)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"ended by a signal, before anything was read or written\n")
    os._exit(128 + number)


if is_command() and signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)  # until the command takes over
