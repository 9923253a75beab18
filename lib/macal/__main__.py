"""Command line: run a sweep, list it, pack it for a bare machine, publish it; record the tables of single chapters."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from macal import acquired, bare, results, sweeps, toy_study
from macal.sweeps import Spec


def _acquired(dataset: str, replications: int = 10) -> pd.DataFrame:
    return acquired.record(dataset, range(replications))


RECORDED = {  # table -> what runs its study, for so many replications
    **{name: partial(toy_study.record, name) for name in toy_study.RECORDED},
    **{f"acquired_{name}": partial(_acquired, name) for name in acquired.STEPS},
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m macal", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("sweep", "run what is not finished"), ("list", "list chunks and hours, run nothing")):
        command = commands.add_parser(name, help=text)
        command.add_argument("spec", type=Path, help="JSON file with the fields of macal.Spec")
        command.add_argument("store", type=Path, help="folder of the records")
    commands.choices["sweep"].add_argument("--workers", type=int, default=1, help="processes")
    commands.choices["sweep"].add_argument("--scheduler", help='"local", or the address of a Dask scheduler')
    commands.choices["list"].add_argument("--seconds", type=float, default=1.0, help="that one training takes")
    command = commands.add_parser("pack", help="put code, data and spec in one folder, for a bare machine")
    command.add_argument("spec", type=Path, help="JSON file with the fields of macal.Spec")
    command.add_argument("folder", type=Path, help="new folder")
    command = commands.add_parser("complete", help="add the distances that a machine without POT left out")
    command.add_argument("store", type=Path, help="folder of the records")
    command = commands.add_parser("publish", help="gather records into a table of the book")
    command.add_argument("store", type=Path, help="folder of the records")
    command.add_argument("name", help="of the table under results/")
    command = commands.add_parser("record", help="run the study behind a table of a chapter, and publish it")
    command.add_argument("names", nargs="+", choices=RECORDED)
    command.add_argument("--replications", type=int, help="by default those of the book")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 1, with one line on the standard error, where its input is wrong."""
    options = _parser().parse_args(arguments)
    try:
        spec = Spec(**json.loads(options.spec.read_text())) if "spec" in options else None
        if options.command == "sweep":
            table = sweeps.sweep(spec, options.store, options.scheduler, options.workers)
            print(f"{len(table)} trainings in {options.store}")
        elif options.command == "list":
            print(sweeps.listing(spec, options.store, options.seconds).to_string())
        elif options.command == "pack":
            bare.pack(spec, options.folder)
            print(f"copy {options.folder}, and there: PYTHONPATH=lib python -m macal sweep spec.json store")
        elif options.command == "complete":
            print(f"{bare.complete(options.store)} records completed")
        elif options.command == "record":
            given = [options.replications] if options.replications else []
            for name in options.names:
                print(f"{name}: {len(RECORDED[name](*given))} rows", flush=True)
        else:
            print(f"{len(results.publish(options.store, options.name))} trainings published as {options.name}")
    except (OSError, TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
