"""Jobs on the blocks of a table: in this process, in several of this machine, or on a Dask cluster."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from macal.campaigns.workers import dask_client
from macal.optional import needed
from macal.progress import progress

Each = Callable[[Callable[[Any], Any], Sequence[Any], str], list[Any]]  # call, jobs, what is done -> results in order
_DEATHS = 100  # of workers that one job may see: whoever kills workers is no fault of the job


@contextmanager
def hands(scheduler: str | None, memory: float) -> Iterator[Each]:
    """Yield what calls a function with each of some jobs.

    A worker that dies costs the jobs that it had under way: others do them again. What a job returns is fetched as
    soon as it ends.

    Args:
        scheduler: None for this process, "local" for a Dask cluster started here, or the address of another.
        memory: of each worker that is started here, bytes.
    """
    if scheduler is None:
        yield lambda call, jobs, what: list(_counted(map(call, jobs), len(jobs), what))
        return
    doing = "plans on a cluster"
    with needed("distributed", doing):
        import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS}),
        dask_client(scheduler, processors(), doing, memory_limit=int(memory)) as client,
    ):
        yield lambda call, jobs, what: _on(client, call, jobs, what)


def _on(client: Any, call: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
    from distributed import as_completed

    futures = client.map(call, jobs, pure=False)
    place = {future.key: k for k, future in enumerate(futures)}
    results: list[Any] = [None] * len(jobs)
    with progress(len(jobs), what, "part") as bar:
        for future in as_completed(futures):
            results[place[future.key]] = future.result()
            future.release()
            bar.update(1)
    return results


def _counted(results: Iterator[Any], total: int, what: str) -> Iterator[Any]:
    with progress(total, what, "part") as bar:
        for result in results:
            bar.update(1)
            yield result


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
