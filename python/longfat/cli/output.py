"""Standard output and error of the command. Where they cannot be written it goes on, since results matter more, and says so at its end."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _Raw(io.RawIOBase):
    """A file descriptor that takes everything, and what the system refused first."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.failed: OSError | None = None

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(self.descriptor)

    def fileno(self) -> int:
        return self.descriptor

    def write(self, content: Buffer, /) -> int:
        if not self.failed:
            try:
                return os.write(self.descriptor, content)
            except OSError as error:
                self.failed = error
        return memoryview(content).nbytes


class _Output(io.TextIOWrapper):
    """A stream to a descriptor in the place of one that Python has made, or has not, since it is closed."""

    def __init__(self, descriptor: int, made: TextIO | None) -> None:
        self.lowest = _Raw(descriptor)
        lines, through = getattr(made, "line_buffering", False), getattr(made, "write_through", False)
        encoding = made.encoding if made else "utf-8"
        super().__init__(io.BufferedWriter(self.lowest), encoding, errors="replace", line_buffering=lines, write_through=through)


def guard() -> None:
    """From now on no write to `sys.stdout` and `sys.stderr` fails, and what an encoding lacks is a question mark."""
    # A descriptor that is closed would be that of the next file which is opened, and take in what is printed.
    while (free := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(free, True)
    os.close(free)
    sys.stdout, sys.stderr = _Output(1, sys.stdout), _Output(2, sys.stderr)


def failure() -> OSError | None:
    """Why not all of standard output was written, as far as the command has come."""
    sys.stdout.flush()
    return sys.stdout.lowest.failed if isinstance(sys.stdout, _Output) else None
