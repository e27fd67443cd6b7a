"""A `longfat serve` of this program's own, at loopback, in a network namespace or at a host of `longfat testbed shell`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from longfat.errors import LongfatError

PATIENCE_S = 10.0
"""Time that a server has to end by itself."""


@dataclass
class Serving:
    """A server that listens."""

    at: str
    """Address and port, as `longfat measure` takes them."""
    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list[str])
    """Lines that nobody has read by its end; empty until then."""

    @property
    def port(self) -> int:
        """Port that it listens at."""
        return int(self.at.rpartition(":")[2])

    def line(self) -> str:
        """The next line that it prints; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@contextmanager
def serving(*options: str, bind: str = "127.0.0.1", before: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Generator[Serving]:
    """Runs `longfat serve` with these options at `bind`, at any free port, until the block ends; `before` is a command that starts it.

    LongfatError, with its own words, where it does not listen.
    """
    words = [*before, sys.executable, "-m", "longfat", "serve", "--port", "0", "--bind", bind, *options]
    host = f"[{bind}]" if ":" in bind else bind
    with subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            found = re.match(r"listening at port (\d+)", first)
            if not found:
                raise LongfatError(f"no server starts at {bind}: {(first + process.stdout.read()).strip()}")
            server = Serving(f"{host}:{found[1]}", process)
            yield server
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                server.said += process.communicate(timeout=PATIENCE_S)[0].splitlines()
        finally:
            process.kill()


@contextmanager
def serving_at(host: str, *options: str) -> Generator[Serving]:
    """Runs it at a host of the path, in a program that `longfat testbed shell` runs: the environment says where its hosts are."""
    namespace, address = (os.environ[f"LONGFAT_{what}_{host}"] for what in ("NETNS", "ADDRESS"))
    with serving(*options, bind=address, before=["nsenter", f"--net={namespace}"]) as server:
        yield server
