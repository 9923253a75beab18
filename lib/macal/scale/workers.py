"""Jobs on the blocks of a table: in this process, in several of this machine, or on a Dask cluster."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from macal.campaigns.workers import dask_client
from macal.progress import progress

Each = Callable[[Callable[[Any], Any], Sequence[Any], str], list[Any]]  # call, jobs, what is done -> results in order
_TRIES = 8  # of a job that died with its workers, each time with as many as the scheduler has patience for (Dask: 4)


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
    with dask_client(scheduler, processors(), "plans on a cluster", memory_limit=int(memory)) as client:
        yield lambda call, jobs, what: _on(client, call, jobs, what)


def _on(client: Any, call: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
    from distributed import KilledWorker, as_completed

    futures = client.map(call, jobs, pure=False)
    place, deaths = {future.key: k for k, future in enumerate(futures)}, [0] * len(jobs)
    results: list[Any] = [None] * len(jobs)
    done = as_completed(futures)
    with progress(len(jobs), what, "part") as bar:
        for future in done:
            k = place[future.key]
            try:
                results[k] = future.result()
            except KilledWorker:
                deaths[k] += 1
                if deaths[k] == _TRIES:
                    raise
                again = client.submit(call, jobs[k], pure=False)
                place[again.key] = k
                done.add(again)
                continue
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
