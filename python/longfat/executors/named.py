"""Executors by the word that `longfat run --executor` takes: processes of this machine, or Dask."""

# Dask comes with few types, and may not be there at all.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import concurrent.futures
import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from longfat.cores import default_jobs
from longfat.errors import LongfatError, Stopped
from longfat.executors.coordinate import worker_count
from longfat.lazy import multiprocessing

if TYPE_CHECKING:
    from concurrent.futures import Executor

Made = TypeVar("Made")

QUIET: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.event-loop-monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""Dask's own monitoring, less often than by default: two idle workers took 7 % of a core, and so take 1 %."""
PARENT = "LONGFAT_PARENT"
"""Variable of the environment with the process that a worker ends with: as in longfat.__main__."""
PATIENCE = 5
"""Seconds that workers may take to end when they are told to, and that the thread of a pool may when they are gone."""
SECONDS = 10
"""How long a scheduler has to answer, and to have a worker."""


@contextmanager
def named(name: str | None, jobs: int | None) -> Generator[Executor | None]:
    """The executor called `name`, until the block ends; None without a name. LongfatError where it is not to be had."""
    match name:
        case None:
            yield None
        case "processes":
            with _processes(jobs or default_jobs()) as pool:
                yield pool
        case "dask":
            with _cluster(_distributed(name), jobs or default_jobs()) as executor:
                yield executor
        case address if "://" in address:
            with _client(_distributed(address), address) as client:
                yield client.get_executor(pure=False)
        case _:
            raise LongfatError(f"--executor {name}: expected processes, dask, or the address of a Dask scheduler such as tcp://host:8786")


def where(executor: Executor, name: str) -> str:
    """Describes the executor in words, for the line that says what is about to run."""
    workers = worker_count(executor, None)
    return f"{workers:,} worker{'' if workers == 1 else 's'} ({name})"


@contextmanager
def _processes(jobs: int) -> Generator[Executor]:
    """A pool whose processes end at once with Ctrl-C and with this one, and say nothing of it. One that hangs is not waited for."""
    how = multiprocessing.get_context("spawn")
    others = set(threading.enumerate())
    with _deaf():
        pool = concurrent.futures.ProcessPoolExecutor(jobs, mp_context=how, initializer=_begin_worker)
        for _ in range(jobs):
            pool.submit(int)  # each starts a process while none is idle, and none is before it has loaded longfat
    try:
        yield pool
    finally:
        # First the pool lets go of what is cancelled: its thread would fail to say of those that their worker is gone. It does so only
        # while there is a pool, so the pool stays until its thread has ended.
        pool.shutdown(wait=False, cancel_futures=True)
        _kill_workers()
        for thread in set(threading.enumerate()) - others:
            if not thread.daemon:
                thread.join(PATIENCE)


@contextmanager
def _cluster(distributed: Any, workers: int) -> Generator[Executor]:
    """A cluster of Dask's on this machine. Ctrl-C closes nothing: the command ends, and its workers with it."""

    def start() -> tuple[Any, Any]:
        cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL)
        return cluster, distributed.Client(cluster)

    with ExitStack() as closing:
        closing.enter_context(importlib.import_module("dask").config.set(QUIET))
        try:
            cluster, client = _elsewhere(start)
            # A worker that hangs does not end as it is told.
            timer = threading.Timer(PATIENCE, _kill_workers)
            timer.daemon = True
            closing.callback(timer.cancel)
            for each in (cluster, client):
                closing.enter_context(each)
            closing.callback(timer.start)
            yield client.get_executor(pure=False)
        except (KeyboardInterrupt, Stopped):
            closing.pop_all()
            _kill_workers()
            raise


@contextmanager
def _deaf() -> Generator[None]:
    """Threads and processes that are started within never hear Ctrl-C, which a terminal sends to all; their command ends them."""
    # By it a worker knows whether its command had gone before it could ask the system to end with it.
    os.environ[PARENT] = str(os.getpid())
    # Python's own process that frees semaphores of processes that were killed: it need not warn of them. Its start unblocks signals.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    importlib.import_module("multiprocessing.resource_tracker").ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _elsewhere(call: Callable[[], Made]) -> Made:
    """Result of `call`, made by a thread that does not hear Ctrl-C. This one does, and waits no longer then."""
    made: concurrent.futures.Future[Made] = concurrent.futures.Future()

    def work() -> None:
        try:
            made.set_result(call())
        except BaseException as error:
            made.set_exception(error)

    with _deaf():
        threading.Thread(target=work, name="longfat executor", daemon=True).start()
    return made.result()


def _kill_workers() -> None:
    for process in multiprocessing.active_children():
        process.kill()


def _begin_worker() -> None:
    threading.Thread(target=_end_with_parent, name="longfat parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)


def _distributed(name: str) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise LongfatError(f"--executor {name} needs Dask, which is not installed ({error}): pip install 'longfat[dask]'") from error
    # The coordinator reports workers that come and go, so Dask's loggers need not.
    for logger in ("distributed", "distributed.client", "distributed.nanny", "distributed.scheduler", "distributed.worker"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return distributed


@contextmanager
def _client(distributed: Any, address: str) -> Generator[Any]:
    try:
        client = distributed.Client(address, timeout=SECONDS)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise LongfatError(f"no Dask scheduler answers at {address} within {SECONDS} s: {error}") from error
    try:
        try:
            client.wait_for_workers(1, timeout=SECONDS)
        except (OSError, TimeoutError) as error:
            raise LongfatError(f"the Dask scheduler at {address} has no workers: start one with `dask worker {address}`") from error
        yield client
    finally:
        client.close(timeout=2)
