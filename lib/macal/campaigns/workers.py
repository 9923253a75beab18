"""Jobs in one process, in several of this machine, or on a Dask cluster; all that is started ends with this process."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker
from typing import Any

from macal.optional import needed


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
        except BaseException:  # Ctrl-C among them: nobody waits for what is under way
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
    """Yield a client of a Dask cluster.

    Args:
        scheduler: "local" for one that is started here, or the address of another.
        processes: workers of one that is started here.
        doing: what it is needed for, in the error where Dask is missing.
        options: of a cluster that is started here.
    """
    with needed("distributed", doing):
        import dask
        from distributed import Client, LocalCluster

    settings = {"n_workers": processes, "threads_per_worker": 1, "dashboard_address": None, **options}
    cluster = LocalCluster(**settings) if scheduler == "local" else None
    # by default one that dies twice within 15 seconds, or starts more slowly, is given up: with none left, all waits
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"})
    with patient, cluster or nullcontext(), Client(cluster or scheduler) as client:
        yield client
