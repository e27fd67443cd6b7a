"""Runs the runs of an experiment on all cores; whatever ends it early, what is finished stays."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from longfat._longfat import Run, Trace
from longfat.results import Result, from_trace

Report = Callable[[float], object]
Keep = Callable[[Run, str, Trace, float, float], object]
"""Takes a finished run: its title, what it left, and how long it took on the clock and of a core."""


class _Stopped(Exception):
    """Raised inside a run to end it."""


class Item(NamedTuple):
    """A run of a sweep, as little of it as a sweep of a million can hold for each."""

    number: int
    """As in `Experiment.resolve`."""
    hash: str
    cost: float
    is_alone: bool = False
    """Whether nothing else may run meanwhile."""


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment, each once, and what is said of them all."""

    items: list[Item]
    count: int
    """How many before those that resolve to the same are one."""
    backends: list[str]
    seeds: list[int]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Plan:
        """Of runs of an experiment, in order."""
        items: dict[str, Item] = {}
        backends: set[str] = set()
        seeds: set[int] = set()
        count = 0
        for run in runs:
            # Two values of an axis may resolve to the same run ("64 KiB" and "65536 bytes").
            items.setdefault(run.hash, Item(run.index, run.hash, run.cost, run.is_real_time))
            backends.add(run.backend)
            seeds.add(run.seed)
            count += 1
        return cls(list(items.values()), count, sorted(backends), sorted(seeds))


@dataclass
class Work:
    """The runs of a sweep that are still to be done (`begin` says which), and how far they are, in units of `Run.cost`."""

    items: Sequence[Item]
    title: str
    done: int = 0
    finished_cost: float = 0.0
    total_cost: float = 0.0
    """Cost of all runs."""
    planned: int = 0
    """How many runs there are, as far as that is known."""
    shares: dict[str, float] = field(default_factory=dict[str, float])

    def begin(self, items: Sequence[Item]) -> None:
        """These are to be done now; those before are."""
        self.items = items
        self.planned = self.done + len(items)
        self.total_cost = self.finished_cost + sum(item.cost for item in items)

    @property
    def current_cost(self) -> float:
        """Cost of what is done so far, runs in flight counted in part."""
        return self.finished_cost + sum(self.shares.copy().values())


def default_jobs() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(run: Run, title: str, progress: Report | None = None) -> tuple[Result, Trace]:
    """One run, here and now, and the trace its results are from. Ctrl-C ends it when called in the main thread."""
    trace, wall_s, cpu_s = timed(run, progress)
    return from_trace(run, title, trace, wall_s, cpu_s), trace


def timed(run: Run, progress: Report | None = None) -> tuple[Trace, float, float]:
    """What one run left, and how long it took on the clock and of a core. As `execute`."""
    wall, cpu = time.perf_counter(), time.thread_time()
    trace = run.execute(progress)
    return trace, time.perf_counter() - wall, time.thread_time() - cpu


def perform(
    work: Work,
    resolve: Callable[[int], Run],
    keep: Keep,
    jobs: int,
    tick: Callable[[Work], object] = lambda _: None,
) -> None:
    """Does `work` on `jobs` threads, the longest runs first; calls `tick` ten times a second, `keep` with each finished run.

    Runs in real time come after the others, one at a time.

    An exception (Ctrl-C among them) stops the runs in flight within a fraction of a second, then goes on its way.
    """
    stop = threading.Event()

    def one(item: Item) -> None:
        def progress(share: float) -> None:
            if stop.is_set():
                raise _Stopped
            work.shares[item.hash] = share * item.cost

        if stop.is_set():
            return
        try:
            run = resolve(item.number)
            keep(run, work.title, *timed(run, progress))
        except _Stopped:
            work.shares.pop(item.hash, None)

    def some(items: Iterable[Item], threads: int) -> None:
        # The longest first: the cores then fall idle together.
        queue = iter(sorted(items, key=lambda item: -item.cost))
        futures: dict[Future[None], Item] = {}
        with ThreadPoolExecutor(threads, thread_name_prefix="longfat") as pool:
            try:
                # Some wait for a thread, so that none waits for a run; all of them would be long to look through at each end of a run.
                futures |= {pool.submit(one, item): item for item in islice(queue, 4 * threads)}
                while futures:
                    finished, _ = wait(futures, timeout=0.1, return_when=FIRST_COMPLETED)
                    for future in finished:
                        item = futures.pop(future)
                        future.result()
                        work.shares.pop(item.hash, None)
                        work.finished_cost += item.cost
                        work.done += 1
                    futures |= {pool.submit(one, item): item for item in islice(queue, len(finished))}
                    tick(work)
            except BaseException:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    some((item for item in work.items if not item.is_alone), jobs)
    some((item for item in work.items if item.is_alone), 1)


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
