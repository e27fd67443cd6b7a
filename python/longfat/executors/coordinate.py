"""Hands the runs of a sweep to an executor, in chunks, until each is finished once, whatever becomes of the workers.

A chunk is as many runs as take `CHUNK_S` by what the runs before took; a longer run is a chunk of its own. Towards the end chunks are
smaller, so that the workers fall idle together. Nothing depends on a worker that fails: finished runs are in the store, so a chunk that is
done again does only what is missing, and a run that is made twice has one name and the same contents.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from longfat.cores import default_jobs
from longfat.errors import LongfatError
from longfat.executors.chunks import Done, Task, do
from longfat.lazy import np
from longfat.store import Store
from longfat.sweep.plan import Item
from longfat.sweep.work import Work

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK_S = 45.0
LEAST_S = 1.0
"""The shortest chunk of several runs: sending one takes milliseconds."""
GROWTH = 4
"""A chunk has at most so many times the runs of the largest that is finished: one speed is no measure of all runs."""
TRIES = 3
"""A run that is to be done when its chunk fails, so often in a row, is given up."""
OVERDUE = 3
PATIENCE_S = 10.0
"""A chunk that takes `OVERDUE` times its estimate and this is done by another worker, too, when there is nothing else to do."""

ASK_S = 2.0
"""How often an executor is asked for the number of its workers."""


@dataclass
class _Chunk:
    items: list[Item]
    failures: int = 0
    """Number of times in a row that a worker failed at its first run."""
    sent: float = field(default_factory=time.monotonic)
    twice: bool = False
    """True if another worker has it, too."""

    @property
    def cost(self) -> float:
        return sum(item.cost for item in self.items)


class _Sizes:
    """Sizes of chunks, in runs."""

    def __init__(self) -> None:
        self.speed = 0.0
        """Cost that a worker does in a second, by the chunks that ended last; 0 while none has."""
        self.most = 1

    def learn(self, done: Done) -> None:
        if done.runs and done.seconds > 0:
            speed = done.cost / done.seconds
            self.speed = (self.speed + speed) / 2 if self.speed else speed
            self.most = max(self.most, GROWTH * done.runs)

    def cut(self, costs: NDArray[np.float64], cost: float, workers: int) -> int:
        """How many runs the next chunk takes of those of these costs, in which `cost` is left."""
        seconds = max(LEAST_S, min(CHUNK_S, cost / self.speed / (2 * workers))) if self.speed else 0.0
        return max(1, int(np.searchsorted(np.cumsum(costs[: self.most]), seconds * self.speed, side="right")))


def perform(work: Work, task: Task, executor: Executor, jobs: int | None = None, tick: Callable[[Work], object] = lambda _: None) -> None:
    """Does `work` on the workers of `executor`, of which there are `jobs` where it does not say; calls `tick` ten times a second.

    An exception (Ctrl-C among them) cancels what is queued. LongfatError where a run cannot be done, or the executor is gone.
    """
    coordinator = _Coordinator(work, task, executor, jobs)
    try:
        while coordinator.given or len(coordinator.queue):
            coordinator.send()
            coordinator.receive()
            tick(work)
    finally:
        for future in coordinator.flying:
            future.cancel()


class _Coordinator:
    def __init__(self, work: Work, task: Task, executor: Executor, jobs: int | None) -> None:
        self.work, self.task, self.executor, self.jobs = work, task, executor, jobs
        self.store = Store(task.folder)
        # The longest first: the workers then fall idle together.
        self.queue = work.items.longest_first()
        """The runs that nobody has been given."""
        self.queued = self.queue.cost
        self.given: dict[str, float] = {}
        """Runs that a worker has and that are not known to be finished, with their costs."""
        self.again: deque[_Chunk] = deque()
        self.flying: dict[Future[Done], _Chunk] = {}
        self.sizes = _Sizes()
        self.workers = 1
        self.asked = float("-inf")
        self.client = dask_client(executor)
        self.scheduler = self.client.scheduler.address if self.client else ""

    def send(self) -> None:
        """One chunk for each worker, and one more that waits for it."""
        self._check_scheduler()
        try:
            if time.monotonic() - self.asked > ASK_S:
                self.workers, self.asked = worker_count(self.executor, self.jobs), time.monotonic()
            while len(self.flying) < 2 * self.workers and (chunk := self._next(self.workers)):
                chunk.sent = time.monotonic()
                self.flying[self.executor.submit(do, self.task, chunk.items)] = chunk
        except Exception as error:
            self._check_scheduler()
            # A connection breaks before the client says so of itself.
            if self.client and isinstance(error, OSError):
                raise self._gone() from error
            raise LongfatError(f"the executor takes no more work: {_said(error)}") from error

    def _check_scheduler(self) -> None:
        # Dask's client cancels all futures when its scheduler is lost, and tries for a while to find it again.
        if self.client and self.client.status != "running":
            raise self._gone()

    def _gone(self) -> LongfatError:
        kept = f"{self.work.done:,} of {len(self.work.items):,} runs are finished and kept"
        return LongfatError(f"the Dask scheduler at {self.scheduler} has gone away: {kept}; run the same command again when it is back")

    def _next(self, workers: int) -> _Chunk | None:
        if self.again:
            return self.again.popleft()
        if len(self.queue):
            count = self.sizes.cut(self.queue.costs, self.queued, workers)
            chunk = _Chunk(list(self.queue.first(count)))
            self.queue = self.queue.after(count)
            self.queued -= chunk.cost
            self.given |= {item.hash: item.cost for item in chunk.items}
            return chunk
        if not self.sizes.speed or len(self.flying) >= workers:
            return None
        now = time.monotonic()
        for slow in self.flying.values():
            if not slow.twice and now - slow.sent > OVERDUE * slow.cost / self.sizes.speed + PATIENCE_S:
                slow.twice = True
                # From its end: the two meet where the slow one has come to.
                return _Chunk([item for item in reversed(slow.items) if item.hash in self.given], twice=True)
        return None

    def receive(self) -> None:
        """Counts what is finished, and takes back what failed; waits for a tenth of a second at most."""
        for future in wait(self.flying, timeout=0.1, return_when=FIRST_COMPLETED).done:
            chunk = self.flying.pop(future)
            try:
                done = future.result()
            except BrokenExecutor as error:
                raise LongfatError(f"the executor is broken, as when a worker is killed: {error}") from error
            except (Exception, CancelledError) as error:
                self._check_scheduler()
                self._failed(chunk, error)
            else:
                self.sizes.learn(done)
                self._count(chunk.items)

    def _count(self, items: Iterable[Item]) -> None:
        for item in items:
            if self.given.pop(item.hash, None) is not None:
                self.work.finished(item)

    def _failed(self, chunk: _Chunk, error: BaseException) -> None:
        """Counts the runs that the worker finished. The run it failed at goes alone to another worker, the rest together."""
        finished = self.store.finished_of(item.hash for item in chunk.items)
        self.store.unload()
        self._count(item for item in chunk.items if item.hash in finished)
        rest = [item for item in chunk.items if item.hash in self.given]
        if not rest:
            return
        failures = chunk.failures + 1 if rest[0] == chunk.items[0] else 1
        if failures >= TRIES:
            if isinstance(error, LongfatError):
                raise error
            raise LongfatError(f"run {rest[0].hash[:12]} failed at {failures} workers; the last said: {_said(error)}") from error
        self.again.append(_Chunk(rest[:1], failures))
        if rest[1:]:
            self.again.append(_Chunk(rest[1:]))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def worker_count(executor: Any, jobs: int | None) -> int:
    """Number of chunks that an executor runs at once: `jobs`, else as it says, else as many as this machine has cores."""
    if jobs:
        return jobs
    if client := dask_client(executor):  # its workers come and go
        return max(1, sum(client.nthreads().values()))
    return getattr(executor, "_max_workers", None) or default_jobs()


def dask_client(executor: Any) -> Any:
    """The client of an executor of Dask's; None of another."""
    client = getattr(executor, "_client", None)
    return client if hasattr(client, "nthreads") else None
