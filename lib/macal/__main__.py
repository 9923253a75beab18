"""Command line: plan whose outcomes to collect; run a sweep, list it, pack it for a bare machine, publish it."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from macal.storage import terminal

ROOMS = ("macal.survey.command", "macal.campaigns.command")  # by a run, for seconds, in which a signal ends it


def _parser() -> argparse.ArgumentParser:
    installed = Path(sys.argv[0]).name == "macal"
    parser = terminal.Parser(prog="macal" if installed else "python -m macal", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for room in ROOMS:
        import_module(room).add_to(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 1, with one line on the standard error, where its input is wrong."""
    options = _parser().parse_args(arguments)
    commands = {name: run for room in ROOMS for name, run in import_module(room).COMMANDS.items()}
    return terminal.guarded(partial(commands[options.command], options))


def script() -> NoReturn:
    """Run one command as this process: what ``macal`` does on a command line."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    terminal.start(main)


if __name__ == "__main__":
    script()
