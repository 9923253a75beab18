"""The commands of sweeps: run one, list it, pack it for a bare machine, publish it."""

import argparse
import sys
from pathlib import Path
from typing import Any

from macal.campaigns import bundle, provenance, results, sweeps

ELSEWHERE = 3  # exit status of a sweep of which other processes still run a part


def _shared(*arguments: str, **options: Any) -> argparse.ArgumentParser:
    """Make a parent parser: an argument that several commands have."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(*arguments, **options)
    return parser


def add_to(commands: Any) -> None:
    """Add the commands of sweeps to a parser's."""
    spec = _shared("spec", type=Path, help="JSON file with the fields of macal.Spec; results/specs holds examples")
    store = _shared("store", type=Path, help="folder of the records")
    into = _shared("--into", type=Path, default=results.FOLDER, help="folder of the tables (default: results/)")
    replace = _shared("--replace", action="store_true", help="replace tables that are there")

    text = f"run what is not finished; exit status {ELSEWHERE} where another process still runs a part"
    command = commands.add_parser("sweep", help=text, description=text, parents=[spec, store])
    command.add_argument("--workers", type=int, default=1, help="processes")
    command.add_argument("--scheduler", help='"local", or the address of a Dask scheduler')
    command = commands.add_parser("list", help="list chunks and hours, run nothing", parents=[spec, store])
    command.add_argument("--seconds", type=float, default=1.0, help="that one training takes")
    text = "put code, data and spec in one folder, for a bare machine"
    command = commands.add_parser("pack", help=text, parents=[spec])
    command.add_argument("folder", type=Path, help="new folder")
    commands.add_parser("complete", help="add the distances that a machine without POT left out", parents=[store])
    command = commands.add_parser("publish", help="gather records into a table", parents=[store, into, replace])
    command.add_argument("name", help="of the table")
    command.add_argument("--partial", action="store_true", help="publish a store that lacks campaigns")
    command.add_argument("--dirty", action="store_true", help="publish what uncommitted code has made")
    text = "put the records of a table into a store, so that a sweep adds to them"
    command = commands.add_parser("unpack", help=text, parents=[into])
    command.add_argument("name", help="of the table")
    command.add_argument("store", type=Path, help="folder of the records")


def _sweep(options: argparse.Namespace) -> int:
    spec = sweeps.read_spec(options.spec)
    if provenance.origin()["dirty"]:
        print("the code differs from its commit: its records are published by --dirty alone")
    try:
        table = sweeps.sweep(spec, options.store, options.scheduler, options.workers)
    except sweeps.Unfinished as error:
        if error.failures:
            cause = error.failures[0].strip().splitlines()[-1]
            print(f"{cause}; the tracebacks: {options.store}/*.failed", file=sys.stderr)
        print(error.summary)
        return 1 if error.failures else ELSEWHERE
    campaigns = len(spec.methods) * len(spec.replications)
    print(f"{campaigns} of {campaigns} campaigns are finished: {len(table)} trainings in {options.store}")
    return 0


def _list(options: argparse.Namespace) -> None:
    print(sweeps.listing(sweeps.read_spec(options.spec), options.store, options.seconds).to_string())


def _pack(options: argparse.Namespace) -> None:
    bundle.pack(sweeps.read_spec(options.spec), options.folder)
    print(f"copy {options.folder}, and there: PYTHONPATH=lib python -m macal sweep spec.json store")


def _complete(options: argparse.Namespace) -> None:
    print(f"{bundle.complete(options.store)} records completed")


def _publish(options: argparse.Namespace) -> None:
    chosen = {"replace": options.replace, "partial": options.partial, "dirty": options.dirty}
    table = results.publish(options.store, options.name, options.into, **chosen)
    if not results.requested_keys(options.store):
        print(f"nothing in {options.store} says what it was asked for: whether it is complete is not known")
    print(f"{len(table)} trainings published as {options.name}")


def _unpack(options: argparse.Namespace) -> None:
    print(f"{results.unpack(options.name, options.store, options.into)} records put into {options.store}")


COMMANDS = {
    "sweep": _sweep,
    "list": _list,
    "pack": _pack,
    "complete": _complete,
    "publish": _publish,
    "unpack": _unpack,
}
