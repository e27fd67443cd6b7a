"""A chunk: some runs of a sweep that one worker does one after another. This module runs at the worker."""

from __future__ import annotations

import platform
import socket
import sys
import time
from dataclasses import dataclass, field
from functools import lru_cache

from longfat._longfat import CODE, Document, __version__
from longfat.errors import DamagedError, LongfatError
from longfat.store import Store
from longfat.sweep.plan import Item
from longfat.sweep.work import timed

LOOK_S = 2.0
"""Seconds between looks of a worker at what others have finished."""


@dataclass(frozen=True)
class Version:
    """Versions that must be the same at each worker."""

    longfat: str = __version__
    code: str = CODE
    """Fingerprint of the sources that decide what a run gives."""
    python: str = "{}.{}".format(*sys.version_info)

    def __str__(self) -> str:
        return f"longfat {self.longfat} ({self.code[:8]}) on Python {self.python}"


@dataclass(frozen=True)
class Task:
    """Data that a worker needs to do runs of a sweep."""

    folder: str
    """Folder of the results: a path or a URL that means the same at every worker."""
    title: str
    text: str
    """The experiment, every change applied."""
    version: Version = field(default_factory=Version)


@dataclass(frozen=True)
class Done:
    """Reply for a chunk whose runs are all in the store."""

    runs: int
    """Number of runs that were run; the others were there."""
    cost: float
    """Cost of the runs that were run."""
    seconds: float
    """Duration by the worker's own monotonic clock: clocks of machines differ."""


def do(task: Task, items: list[Item]) -> Done:
    """Does the runs of a chunk that are not finished, each written as it ends. LongfatError says at which machine."""
    try:
        return _do(task, items)
    except LongfatError as error:
        raise type(error)(f"{error} (says the worker at {socket.gethostname()})") from error


def _do(task: Task, items: list[Item]) -> Done:
    start = time.perf_counter()
    if task.version != Version():
        raise LongfatError(f"a worker has {Version()} ({platform.python_version()}), and this sweep was started by {task.version}")
    store = _store(task.folder)
    try:
        store.text_so_far()
    except DamagedError:
        raise LongfatError(
            f"a worker does not see the sweep in {task.folder}: the results folder must be on a file system that all share"
        ) from None
    document = _document(task.text)
    runs, cost, finished = 0, 0.0, set[str]()
    with store.writer() as writer:
        looked = float("-inf")
        for item in items:
            # Repeating runs that others have just finished costs little; looking for them takes as long as a short run.
            if time.monotonic() - looked > LOOK_S:
                finished, looked = store.finished_of(item.hash for item in items), time.monotonic()
            if item.hash in finished:
                continue
            run = document.run(item.number)
            if run.hash != item.hash:
                raise LongfatError(
                    f"a worker makes another run of number {item.number} of the experiment: {run.hash[:12]}, not {item.hash[:12]}"
                )
            writer.keep(run, task.title, *timed(run))
            runs, cost = runs + 1, cost + item.cost
    return Done(runs, cost, time.perf_counter() - start)


@lru_cache(maxsize=1)
def _store(folder: str) -> Store:
    """Kept from chunk to chunk: which runs are in a shard takes time to read."""
    return Store(folder)


@lru_cache(maxsize=4)
def _document(text: str) -> Document:
    return Document(text, "<sweep>")
