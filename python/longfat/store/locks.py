"""Locks on results: one sweep (`SWEEP`) at a time, and any number of writers (`WRITERS`), which share their lock.

A change to what is there already takes both locks alone.

The lock is a file of this machine (`flock`): of an object store, other machines do not see it.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from longfat.errors import StorageError

SWEEP = ".lock"
WRITERS = ".writers"
TOP = ".top.lock"
"""Held while the tables at the top are written."""
WAIT_S = 2.0
"""Seconds that a lock is waited for: a process that only looks holds one for a moment, too."""


@contextmanager
def shared(folder: Path, what: str, when_alone: Callable[[], None]) -> Generator[None]:
    """Holds the lock together with other writers. `when_alone` is called first where there are none. StorageError."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / WRITERS).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            when_alone()
        if not _wait(lock.fileno(), fcntl.LOCK_SH):
            raise StorageError(f"another longfat packs or prunes {what}: wait, or choose another folder (--results)")
        yield


@contextmanager
def exclusive(folder: Path, what: str, name: str) -> Generator[None]:
    """Holds a lock alone. StorageError where somebody else has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as lock:
        if not _wait(lock.fileno(), fcntl.LOCK_EX):
            raise StorageError(f"another longfat is writing to {what}: wait, or choose another folder (--results)")
        yield


def is_held(folder: Path) -> bool:
    """Returns true if a sweep or a writer is at work there."""
    for name in (SWEEP, WRITERS):
        try:
            with (folder / name).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            continue
    return False


def _wait(lock: int, kind: int) -> bool:
    end = time.monotonic() + WAIT_S
    while True:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        else:
            return True
