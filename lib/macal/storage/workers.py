"""Jobs in one process, in several of this machine, or on a Dask cluster; all that is started ends with this process."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from macal.optional import needed
from macal.storage.progress import progress

# call, jobs, what is done -> results in order
Executor = Callable[[Callable[[Any], Any], Sequence[Any], str], list[Any]]
_TRIES = 8  # of a job that died with its workers, each time with as many as Dask's scheduler has patience for (4)


def each(call: Callable[[Any], Any], jobs: Sequence[Any], processes: int, scheduler: str | None) -> Iterator[Any]:
    """Yield what ``call`` returns of each job, as they end; they and the call must be picklable.

    Args:
        call: a function of one job.
        jobs: its arguments.
        processes: on this machine; with 1 the jobs run in this one.
        scheduler: None for this machine, "local" for a Dask cluster started here, or the address of another.

    Raises:
        BrokenExecutor: a process was killed.
    """
    if scheduler is not None:
        yield from _on_dask(call, jobs, processes, scheduler)
    elif processes == 1:
        yield from map(call, jobs)
    else:
        yield from _in_processes(call, jobs, processes)


def _in_processes(call: Callable[[Any], Any], jobs: Sequence[Any], processes: int) -> Iterator[Any]:
    # a fork would inherit PyTorch's threads in no usable state
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_parent) as pool:
        try:
            with _deaf():
                submitted = [pool.submit(call, job) for job in jobs]
            yield from (job.result() for job in as_completed(submitted))
        except BaseException:  # Ctrl-C among them: work under way is not waited for
            for process in list(pool._processes.values()):  # from Python 3.14 on: pool.terminate_workers()
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _deaf() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which a terminal sends to all of them: the parent ends them."""
    resource_tracker.ensure_running()  # whose start would undo the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """End this process when its parent ends, whatever ends that."""

    def wait() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _on_dask(call: Callable[[Any], Any], jobs: Sequence[Any], processes: int, scheduler: str) -> Iterator[Any]:
    with dask_client(scheduler, processes, "sweeps on a cluster") as client:
        from distributed import as_completed as as_done

        yield from (job.result() for job in as_done(client.map(call, jobs, pure=False, retries=3)))


@contextmanager
def dask_client(scheduler: str, processes: int, doing: str, **options: Any) -> Iterator[Any]:
    """Yield a client of a Dask cluster: a "local" one with so many workers and options, or that of an address."""
    with needed("distributed", doing):
        import dask
        from distributed import Client, LocalCluster

    settings = {"n_workers": processes, "threads_per_worker": 1, "dashboard_address": None, **options}
    cluster = LocalCluster(**settings) if scheduler == "local" else None
    # by default one that dies twice within 15 seconds, or starts more slowly, is given up: with none left, all waits
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"})
    with patient, cluster or nullcontext(), Client(cluster or scheduler) as client:
        yield client


@contextmanager
def executor(scheduler: str | None, processes: int, memory: float) -> Iterator[Executor]:
    """Yield what calls a function with each of some jobs, and returns their results in order; lost ones are redone.

    ``scheduler`` and ``processes`` are as in :func:`each`; ``memory`` is a local cluster's per process, in bytes.
    """
    if scheduler is None:
        yield lambda call, jobs, what: _retried(call, jobs, what, processes)
        return
    with dask_client(scheduler, processes, "plans on a cluster", memory_limit=int(memory)) as client:
        yield lambda call, jobs, what: _on_client(client, call, jobs, what)


def _retried(call: Callable[[Any], Any], jobs: Sequence[Any], what: str, processes: int) -> list[Any]:
    """Do jobs in processes, again those that died."""
    results: dict[int, Any] = {}
    with progress(len(jobs), what, "part") as bar:
        for attempt in range(_TRIES):
            left = [k for k in range(len(jobs)) if k not in results]
            numbered = each(partial(_numbered, call), [(k, jobs[k]) for k in left], min(processes, len(left)), None)
            try:
                for k, result in numbered:
                    results[k] = result
                    bar.update(1)
                break
            except BrokenProcessPool:
                if attempt + 1 == _TRIES:
                    raise
    return [results[k] for k in range(len(jobs))]


def _numbered(call: Callable[[Any], Any], job: tuple[int, Any]) -> tuple[int, Any]:
    return job[0], call(job[1])


def _on_client(client: Any, call: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
    from distributed import KilledWorker
    from distributed import as_completed as as_done

    futures = client.map(call, jobs, pure=False)
    place, deaths = {future.key: k for k, future in enumerate(futures)}, [0] * len(jobs)
    results: list[Any] = [None] * len(jobs)
    done = as_done(futures)
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


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
