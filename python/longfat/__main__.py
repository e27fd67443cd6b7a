"""The command `longfat`, also as `python -m longfat`.

Most of the time until it does anything goes into loading what it stands on. Ctrl-C ends that with one line, too, and so nothing large is
imported before this module has said what becomes of it.
"""

from __future__ import annotations

import os
import signal
import sys

from longfat.errors import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Runs the command, and exits."""
    # Where it is ignored, as shells have it for what runs in the background, it stays so.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
        sys.unraisablehook = _unraisable
    from longfat.cli import main as command

    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command()
    except KeyboardInterrupt:
        _leave()
    finally:
        # All is done. What is left is the interpreter's own end, which gives every other handler back to the system: Ctrl-C would kill it.
        if heeded:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Ends the process where there is nothing to clear up."""
    del number, frame
    os.write(2, b"Stopped.\n")
    os._exit(INTERRUPTED)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Ctrl-C in a place that can pass no exception on, such as a destructor."""
    if issubclass(what.exc_type, KeyboardInterrupt):
        _leave()
    sys.__unraisablehook__(what)


if __name__ == "__main__":
    main()
