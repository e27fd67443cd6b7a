"""Runs the runs of an experiment on all cores; whatever ends it early, what is finished stays."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field

from longfat._longfat import Run, Trace
from longfat.results import Result, from_trace

Report = Callable[[float], object]


class _Stopped(Exception):
    """Raised inside a run to end it."""


@dataclass
class Work:
    """The runs of a sweep that are still to be done, and how far they are, in units of `Run.cost`."""

    runs: Sequence[Run]
    title: str
    keep: Callable[[Result, Trace], object]
    """Called in a worker's thread with each finished run."""
    done: int = 0
    finished_cost: float = 0.0
    shares: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def total_cost(self) -> float:
        """Cost of all runs."""
        return sum(run.cost for run in self.runs)

    @property
    def current_cost(self) -> float:
        """Cost of what is done so far, runs in flight counted in part."""
        return self.finished_cost + sum(self.shares.copy().values())


def default_jobs() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(run: Run, title: str, progress: Report | None = None) -> tuple[Result, Trace]:
    """One run, here and now, and the trace its results are from. Ctrl-C ends it when called in the main thread."""
    wall, cpu = time.perf_counter(), time.thread_time()
    trace = run.execute(progress)
    return from_trace(run, title, trace, time.perf_counter() - wall, time.thread_time() - cpu), trace


def perform(work: Work, jobs: int, tick: Callable[[Work], object] = lambda _: None) -> None:
    """Does `work` on `jobs` threads, the longest runs first; calls `tick` ten times a second.

    An exception (Ctrl-C among them) stops the runs in flight within a fraction of a second, then goes on its way.
    """
    stop = threading.Event()

    def one(run: Run) -> None:
        def progress(share: float) -> None:
            if stop.is_set():
                raise _Stopped
            work.shares[run.hash] = share * run.cost

        if stop.is_set():
            return
        try:
            work.keep(*execute(run, work.title, progress))
        except _Stopped:
            work.shares.pop(run.hash, None)

    # The longest first: the cores then fall idle together.
    queue = sorted(work.runs, key=lambda run: -run.cost)
    with ThreadPoolExecutor(jobs, thread_name_prefix="longfat") as pool:
        try:
            futures: dict[Future[None], Run] = {pool.submit(one, run): run for run in queue}
            pending = set(futures)
            while pending:
                finished, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    run = futures[future]
                    work.shares.pop(run.hash, None)
                    work.finished_cost += run.cost
                    work.done += 1
                tick(work)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def measure_speed(run: Run, seconds: float = 1.0) -> float:
    """How much `Run.cost` one core does in a second, from at most `seconds` of `run`."""
    start = time.perf_counter()
    share = 1.0

    def progress(done: float) -> None:
        nonlocal share
        if time.perf_counter() - start > seconds:
            share = done
            raise _Stopped

    with suppress(_Stopped):
        run.execute(progress)
    return share * run.cost / (time.perf_counter() - start)
