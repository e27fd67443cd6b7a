"""A watch over hooks of a control in Python: one that does not return is ended."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

PATIENCE_S = 30.0
"""Seconds on the clock without progress after which a hook is ended."""


class Stuck(BaseException):
    """Raised inside a hook that does not return. No Exception: a hook may catch these."""

    def __str__(self) -> str:
        """The sentence on the card."""
        return "a hook did not return"


class Watch:
    """Time of the last progress."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self._seen: object = None

    def tell(self, progress: object) -> None:
        """Tells how far the work is: only another value than the last counts."""
        if progress != self._seen:
            self._seen, self.last = progress, time.monotonic()


@contextmanager
def watched(name: str, patience_s: float = PATIENCE_S) -> Generator[Watch]:
    """Ends hooks of the control `name` that run while nothing progresses for `patience_s`, by raising Stuck in them.

    A hook inside compiled code, such as a long `time.sleep`, ends when that returns.
    """
    watch, over = Watch(), threading.Event()

    def look() -> None:
        while not over.wait(min(1.0, patience_s / 4)):
            if time.monotonic() - watch.last > patience_s:
                for thread, frame in sys._current_frames().items():  # pyright: ignore[reportPrivateUsage]
                    if _is_in(frame, name):
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Stuck))

    thread = threading.Thread(target=look, name="watch over hooks", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def _is_in(frame: FrameType | None, name: str) -> bool:
    """True if this frame, or one that called it, is a method of the control."""
    while frame is not None:
        own: object = frame.f_locals.get("self")
        if getattr(own.__class__, "congestion_control", None) == name:
            return True
        frame = frame.f_back
    return False
