"""The process of `longfat serve`: the interpreter and the compiled module alone, which takes little memory.

The command checks its options and becomes this process (execve(2)), with the options as arguments `name=value`.
"""

import os
import sys
import time

from longfat._longfat import live_serve
from longfat.errors import LongfatError

PROGRAM = "import longfat.live.server as server; server.start()"
"""The whole program: `-m` would load another dozen modules."""
WORDS = ("key", "from", "read")
"""Arguments that may come more than once."""


def write(stream: int, text: str) -> None:
    """Writes a line; a server goes on where nobody reads it."""
    line = "".join(letter if letter.isprintable() else "?" for letter in text)
    try:
        os.write(stream, f"{line}\n".encode())
    except OSError:
        return


def become(arguments: list[str]) -> None:
    """Replaces this process by the server with these `name=value`."""
    sys.stdout.flush()
    sys.stderr.flush()
    # -P: no module of the folder in which the command was called.
    os.execv(sys.executable, [sys.executable, "-P", "-c", PROGRAM, *arguments])


def main(arguments: list[str]) -> int:
    """Serves until Ctrl-C; the exit code."""
    many: dict[str, list[str]] = {word: [] for word in WORDS}
    one: dict[str, str] = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name in many:
            many[name].append(value)
        else:
            one[name] = value
    is_open = "open" in one
    stamp = (int(one["stamp"]), many["from"], int(one["stamp_rate"])) if "stamp" in one else None

    def say(at: int, line: str) -> None:
        if not at:
            write(1, f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {line}")
            return
        who = [f"the key {name}" for name in many["key"]] + (["everybody"] if is_open else [])
        write(1, f"listening at port {at}, for {', '.join(who) or 'nobody but STAMP'}; Ctrl-C ends it")
        if stamp:
            write(1, f"answering STAMP at UDP port {stamp[0]}, from {', '.join(many['from'])}")
        if line:
            write(1, line)

    limits = (one.get("limits", ""), one.get("open_limits", ""))
    try:
        live_serve(
            many["key"],
            is_open,
            *limits,
            one.get("bind"),
            int(one["port"]),
            int(one["concurrent"]),
            "capture" in one,
            many["read"],
            stamp,
            say,
        )
    except KeyboardInterrupt:
        write(1, "The server has ended.")
    except LongfatError as error:
        for line in f"error: {error}".splitlines():
            write(2, line)
        return 1
    return 0


def start() -> None:
    """Is the process of the server."""
    sys.exit(main(sys.argv[1:]))
