"""A host as its files and commands tell: `/proc`, `/sys`, and what `ip`, `tc` and `ethtool` print. Nothing here changes it."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

MOST = 1 << 20
"""Bytes of a file or of an output that are read."""
PATIENCE = 5.0
"""Seconds that a command may take."""
COMMANDS = "commands"
"""Folder of a recorded host: each file holds what the command of its name printed, with `,` for `/`."""
WHOLE = re.compile(r"-?[0-9]{1,19}", re.ASCII)
DEVICE = re.compile(r"[\w.:@-]{1,15}", re.ASCII)
"""Names of interfaces (at most 15 bytes, ip-link(8)) that are shown and handed to commands."""

CONTROL_NAME = re.compile(r"[a-z][a-z0-9_]{0,15}", re.ASCII)
"""Names of congestion controls; `TCP_CONGESTION` has room for 16 bytes (tcp(7))."""


class UnreadableError(Exception):
    """Something that this host does not tell, and why."""


@dataclass(frozen=True)
class Host:
    """The host below a root folder: this one, or a recorded one."""

    root: Path = Path("/")

    @property
    def is_here(self) -> bool:
        """True for the host that this process runs on."""
        return self.root == Path("/")

    def text(self, path: str) -> str:
        """Content of a file. UnreadableError where there is none."""
        try:
            # A pipe or a device in the place of a file must not make the reader wait.
            opened = os.open(self.root / path.lstrip("/"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(opened, "rb") as file:
                if not stat.S_ISREG(os.fstat(opened).st_mode):
                    raise UnreadableError(f"{path} is not a file")
                return file.read(MOST).decode("utf-8", "replace")
        except PermissionError:
            raise UnreadableError(f"{path} needs root") from None
        except FileNotFoundError:
            raise UnreadableError(f"no {path}") from None
        except (OSError, ValueError) as error:
            raise UnreadableError(f"{path}: {getattr(error, 'strerror', None) or error}") from None

    def words(self, path: str) -> list[str]:
        """Words of a file."""
        return self.text(path).split()

    def integers(self, path: str, count: int = 1) -> list[int]:
        """The `count` whole numbers of a file. UnreadableError where it holds anything else."""
        words = self.words(path)
        if len(words) != count or not all(WHOLE.fullmatch(word) for word in words):
            expected = "a whole number" if count == 1 else f"{count} whole numbers"
            raise UnreadableError(f"{path}: expected {expected}, found {' '.join(words)[:40]!r}")
        return [int(word) for word in words]

    def integer(self, path: str) -> int:
        """The whole number of a file."""
        return self.integers(path)[0]

    def is_read_only(self, path: str) -> bool:
        """True for a file that nobody may write, as a network namespace shows settings of the whole host."""
        try:
            return not (self.root / path.lstrip("/")).stat().st_mode & 0o222
        except OSError:
            return False

    def names(self, path: str) -> list[str]:
        """Sorted names in a folder; none where there is no folder."""
        try:
            return sorted(one.name for one in (self.root / path.lstrip("/")).iterdir())
        except OSError:
            return []

    def command(self, *words: str) -> str:
        """Output of a command. UnreadableError where it fails, or is not there."""
        if not self.is_here:
            return self.text(f"{COMMANDS}/{' '.join(words).replace('/', ',')}")
        try:
            done = subprocess.run(
                words,
                env={**os.environ, "LC_ALL": "C", "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        except FileNotFoundError:
            raise UnreadableError(f"`{words[0]}` is not installed") from None
        except (OSError, subprocess.TimeoutExpired):
            raise UnreadableError(f"`{' '.join(words)}` does not answer") from None
        if done.returncode:
            said = " ".join(done.stderr[:MOST].decode("utf-8", "replace").split())
            if "not supported" in said:
                said = "not supported"
            raise UnreadableError(f"`{' '.join(words)}`: {said[-80:] or f'exit code {done.returncode}'}")
        return done.stdout[:MOST].decode("utf-8", "replace")

    def tables(self, *words: str) -> list[dict[str, Any]]:
        """The objects of a command that prints a JSON array of them."""
        try:
            # Some versions of iproute2 print nothing where there is nothing.
            found = json.loads(self.command(*words) or "[]")
        except (ValueError, RecursionError):
            raise UnreadableError(f"`{' '.join(words)}` prints no JSON") from None
        if not isinstance(found, list):
            raise UnreadableError(f"`{' '.join(words)}` prints no list")
        return [cast("dict[str, Any]", one) for one in cast("list[object]", found) if isinstance(one, dict) and one]


def device_name(name: object) -> str:
    """A device's name, fit for paths and commands. UnreadableError for any other."""
    if isinstance(name, str) and DEVICE.fullmatch(name) and name not in (".", "..") and not name.startswith("-"):
        return name
    raise UnreadableError(f"{str(name)[:20]!r} is no name of an interface")


def cpus(text: str) -> set[int]:
    """CPUs of a list such as `0-3,8` (cpuset(7), "List format"). UnreadableError for anything else."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        ends = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part, re.ASCII)
        if not ends:
            raise UnreadableError(f"{text[:40]!r} is no list of CPUs")
        found |= set(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return found
