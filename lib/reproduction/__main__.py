"""Command line: make the recorded tables of the book, list them; judge the claims."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
import torch

from macal.arguments import as_count
from macal.campaigns import results
from macal.registry import UnknownName
from macal.storage import terminal
from reproduction.claims import CLAIMS, ledger
from reproduction.studies import recording, tables


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    text = "run or resume what makes a table, and publish it; without a name, list the tables"
    command = commands.add_parser("record", help=text, description=text)
    command.add_argument("name", nargs="?", metavar="NAME", help="of the table, or of a sweep alone")
    command.add_argument("--store", type=Path, help="folder of the records (default: runs/NAME)")
    command.add_argument("--jobs", type=int, help="run only so many jobs now, or chunks of a sweep (default: all)")
    command.add_argument("--workers", type=int, default=1, help="processes, where sweeps make the table")
    command.add_argument("--replications", type=int, help="only so many of each (default: those of the book)")
    command.add_argument("--into", type=Path, default=results.FOLDER, help="folder of the tables (default: results/)")
    command.add_argument("--replace", action="store_true", help="replace a table that is there")
    command.add_argument("--partial", action="store_true", help="publish before all is run")
    command.add_argument("--dirty", action="store_true", help="though the code differs from its commit")
    text = "judge the claims and write the ledger as data; with keys of claims, print their verdicts and write nothing"
    command = commands.add_parser("ledger", help=text, description=text)
    command.add_argument("keys", nargs="*", metavar="KEY", help="of claims (default: all)")
    command.add_argument("--into", type=Path, default=ledger.FILE, help="JSON file (default: results/claims.json)")
    return parser


def _ledger(options: argparse.Namespace) -> None:
    known = [claim.key for claim in CLAIMS]
    for key in options.keys:
        if key not in known:
            raise UnknownName("claim", key, known)
    found = ledger.as_data(keys=options.keys)
    for claim in found["claims"]:
        for version in claim["versions"]:
            name = " ".join(filter(None, (claim["key"], version["version"])))
            print(f"{name}: {version['verdict']}" + f" ({version['evidence']})" * bool(options.keys))
    if not options.keys:
        print(f"{options.into} {'written' if ledger.write(found, options.into) else 'agrees and is left as it is'}")


def _record(options: argparse.Namespace) -> None:
    if options.name is None:
        with pd.option_context("display.max_colwidth", None, "display.width", None):
            print(tables.progress().to_string())
        return
    chosen = {name: getattr(options, name) for name in ("into", "replace", "partial", "dirty", "workers")}
    for name in ("jobs", "replications"):
        given = getattr(options, name)
        chosen[name] = None if given is None else as_count(given, name)
    torch.set_num_threads(1)
    store = options.store or Path("runs", options.name)
    found = recording.record(tables.get(options.name), store, **chosen)
    print(f"{options.name}: {len(found)} rows from {store}")


COMMANDS = {"record": _record, "ledger": _ledger}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1, with one line on the standard error, where its input is wrong."""
    options = _parser().parse_args(arguments)
    return terminal.guarded(partial(COMMANDS[options.command], options))


if __name__ == "__main__":
    terminal.start(main)
