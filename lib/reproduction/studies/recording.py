"""How any table of the catalogue is made: its sweeps or its study run or resume in a store, which is then published."""

from dataclasses import replace as changed
from pathlib import Path

import pandas as pd

from macal.campaigns import results, sweeps
from reproduction.studies import jobs as studies
from reproduction.studies.tables import Table


def record(
    table: Table,
    store: Path,
    into: Path = results.FOLDER,
    *,
    jobs: int | None = None,
    replications: int | None = None,
    workers: int = 1,
    replace: bool = False,
    partial: bool = False,
    dirty: bool = False,
) -> pd.DataFrame:
    """Run what a store lacks of a table, and publish it.

    Args:
        table: of the catalogue.
        store: folder of the records; made where it is missing.
        into: folder of the tables.
        jobs: to run now, chunks where they are sweeps; all by default.
        replications: the first so many of each sweep, or so many of a study; those of the book by default.
        workers: processes of a sweep.
        replace: replace a table that is there.
        partial: publish though not all is run.
        dirty: record though the code differs from its commit.

    Raises:
        Uncommitted: the code differs from its commit, and ``dirty`` is not set; nothing is run.
        FileExistsError: there is a table, and ``replace`` is not set; nothing is run.
        Incomplete: not all is run, and ``partial`` is not set; what is run is kept.
        ValueError: a number below 1.
    """
    results.targets(table.name, into, replace)  # before hours are spent
    results.require_committed(dirty)
    if table.study:
        every = list(table.jobs(replications, store))
        configs = [config for job in every for config in job.configs]
        results.write_request({"table": table.name, "replications": replications}, configs, store)
        studies.run(every, store, at_most=jobs)
    else:
        _sweeps(table, store, jobs, replications, workers)
    return results.publish(store, table.name, into, replace=replace, partial=partial, dirty=dirty)


def _sweeps(table: Table, store: Path, at_most: int | None, replications: int | None, workers: int) -> None:
    every = [changed(spec, replications=spec.replications[:replications]) for spec in table.specs().values()]
    for spec in every:  # so that the store says what is still to come
        sweeps.register_request(spec, store)
    for spec in every:
        if at_most == 0:
            return
        left = sum(not chunk.finished(store) for chunk in sweeps.chunks(spec))
        try:
            sweeps.sweep(spec, store, workers=workers, at_most=at_most)
        except sweeps.Unfinished as error:  # publishing says what is missing, and where
            print(error.summary)
        at_most = None if at_most is None else max(0, at_most - left)
