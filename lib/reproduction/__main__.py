"""Command line: run the study behind a table of a chapter, and publish it."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from macal.arguments import as_count
from macal.campaigns import results, terminal
from reproduction.studies import labelled_sets
from reproduction.studies import toy as toy_study


def _labelled_sets(dataset: str, replications: int = 10, **options: Any) -> pd.DataFrame:
    return labelled_sets.record(dataset, range(replications), **options)


RECORDED: dict[str, Callable[..., pd.DataFrame]] = {  # table -> what runs its study, for so many replications
    **{name: partial(toy_study.record, name) for name in toy_study.RECORDED},
    **{f"acquired_{name}": partial(_labelled_sets, name) for name in labelled_sets.STEPS},
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("record", help=__doc__)
    command.add_argument("names", nargs="+", choices=RECORDED)
    command.add_argument("--replications", type=int, help="by default those of the book")
    command.add_argument("--into", type=Path, default=results.FOLDER, help="folder of the tables (default: results/)")
    command.add_argument("--replace", action="store_true", help="replace tables that are there")
    return parser


def _record(options: argparse.Namespace) -> None:
    given = [] if options.replications is None else [as_count(options.replications, "replications")]
    for name in options.names:  # before hours are spent
        results.targets(name, options.into, options.replace)
    for name in options.names:
        table = RECORDED[name](*given, folder=options.into, replace=options.replace)
        print(f"{name}: {len(table)} rows", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1, with one line on the standard error, where its input is wrong."""
    options = _parser().parse_args(arguments)
    return terminal.guarded(partial(_record, options))


if __name__ == "__main__":
    terminal.start(main)
