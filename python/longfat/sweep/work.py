"""Runs the runs of an experiment on all cores; whatever ends it early, what is finished stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from longfat._longfat import Run, Trace
from longfat.errors import LostError
from longfat.results.result import Result, from_trace
from longfat.sweep.plan import Item, Items, nothing

Report = Callable[[float], object]
Watch = Callable[[float, list[tuple[int, bool, int, dict[str, int]]]], object]
"""Hears the time of a run between real hosts, and its flows: `Run.execute`."""
Keep = Callable[[Run, str, Trace, float, float], object]
"""Takes a run that has ended: its title, what it left, and how long it took on the clock and of a core."""


class _Stopped(Exception):
    """Raised inside a run to end it."""


@dataclass
class Work:
    """The runs of a sweep that are still to be done (`begin` says which), and how far they are, in units of `Run.cost`."""

    title: str
    items: Items = field(default_factory=nothing)
    done: int = 0
    finished_cost: float = 0.0
    total_cost: float = 0.0
    """Cost of all runs."""
    planned: int = 0
    """Number of runs, as far as that is known."""
    shares: dict[str, float] = field(default_factory=dict[str, float])
    waits_s: float = 0.0
    """Time until the next repeat begins, where runs are spread over time."""
    tables: float | None = None
    """Share of the runs that are in the tables; None while runs are done."""
    _counting: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def begin(self, items: Items) -> None:
        """These are to be done now; those before are."""
        self.items = items
        self.planned = self.done + len(items)
        self.total_cost = self.finished_cost + items.cost

    def finished(self, item: Item) -> None:
        """Counts a run that is done."""
        with self._counting:
            self.shares.pop(item.hash, None)
            self.finished_cost += item.cost
            self.done += 1

    @property
    def current_cost(self) -> float:
        """Cost of what is done so far, runs in flight counted in part."""
        with self._counting:
            return self.finished_cost + sum(self.shares.copy().values())


def execute(run: Run, title: str, progress: Report | None = None, watch: Watch | None = None) -> tuple[Result, Trace]:
    """One run, here and now, and the trace its results are from. Ctrl-C ends it when called in the main thread.

    LostError where the far host was lost: its `result` is of the time until then.
    """
    trace, wall_s, cpu_s = timed(run, progress, watch)
    result = from_trace(run, title, trace, wall_s, cpu_s)
    if trace.lost:
        lost = LostError(trace.lost)
        lost.result = result
        raise lost
    return result, trace


def timed(run: Run, progress: Report | None = None, watch: Watch | None = None) -> tuple[Trace, float, float]:
    """Runs it as `execute` does. Returns the trace, and how long it took on the clock and of a core."""
    wall, cpu = time.perf_counter(), time.thread_time()
    trace = run.execute(progress, watch)
    return trace, time.perf_counter() - wall, time.thread_time() - cpu


def _check_whole(trace: Trace) -> None:
    """LostError or _Stopped for a run that was cut before its end: it is kept, and not finished."""
    if trace.lost:
        raise LostError(trace.lost)
    if trace.is_cut:
        raise _Stopped


def perform(
    work: Work,
    resolve: Callable[[int], Run],
    keep: Keep,
    jobs: int,
    tick: Callable[[Work], object] = lambda _: None,
    repeats: int = 1,
) -> None:
    """Does `work` on `jobs` threads, the longest runs first; calls `tick` ten times a second, `keep` with each finished run.

    Runs in real time come after the others, one at a time: a repeat of each of the `repeats` after the other, in a random order within
    one, since machines and paths change by the hour. Repeats begin at least `Run.spread_s` apart.

    An exception (Ctrl-C among them) stops the runs in flight within a fraction of a second, then goes on its way.
    """
    stop = threading.Event()
    repeat, begun = -1, float("-inf")
    """Repeat of the run in real time before, and when that repeat began."""

    def wait_turn(run: Run) -> None:
        """Waits until the repeat of this run may begin."""
        nonlocal repeat, begun
        if run.repeat == repeat:
            return
        while (left := begun + run.spread_s - time.monotonic()) > 0 and not stop.is_set():
            work.waits_s = left
            stop.wait(min(left, 0.5))
        work.waits_s = 0.0
        repeat, begun = run.repeat, time.monotonic()

    def one(item: Item) -> None:
        def progress(share: float) -> None:
            if stop.is_set():
                raise _Stopped
            work.shares[item.hash] = share * item.cost

        if stop.is_set():
            return
        try:
            run = resolve(item.number)
            if item.is_alone:
                wait_turn(run)
            if stop.is_set():
                return
            trace, wall_s, cpu_s = timed(run, progress)
            keep(run, work.title, trace, wall_s, cpu_s)
            _check_whole(trace)
            # Here and not where its thread is waited for: a run is counted before the next one on this thread can fail.
            work.finished(item)
        except _Stopped:
            work.shares.pop(item.hash, None)

    def some(queue: Iterator[Item], threads: int) -> None:
        futures: set[Future[None]] = set()
        with ThreadPoolExecutor(threads, thread_name_prefix="longfat") as pool:
            try:
                # Some wait for a thread, so that none waits for a run; all of them would be long to look through at each end of a run.
                futures |= {pool.submit(one, item) for item in islice(queue, 4 * threads)}
                while futures:
                    finished, _ = wait(futures, timeout=0.1, return_when=FIRST_COMPLETED)
                    for future in finished:
                        futures.remove(future)
                        future.result()
                    futures |= {pool.submit(one, item) for item in islice(queue, len(finished))}
                    tick(work)
            except BaseException:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    # The longest first: the cores then fall idle together.
    some(work.items.those(~work.items.alone).each_longest_first(), jobs)
    some(work.items.those(work.items.alone).in_rounds(repeats), 1)


def share_of(count: int, tick: Callable[[float], object]) -> Callable[[int], object]:
    """Tells `tick` the share that so many are of `count`."""
    return lambda done: tick(min(done / max(count, 1), 1.0))


def measure_speed(run: Run, seconds: float = 1.0) -> float:
    """Measures the `Run.cost` that one core does in a second, from at most `seconds` of `run`."""
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
