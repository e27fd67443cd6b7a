"""Workers and their command, killed at any moment: nothing stays behind, nothing hangs, and running again finishes the sweep."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random

import longfat

from torture.damage import TABLES, is_same
from torture.stop import SWEEP, start

EXECUTORS = ("processes", "processes", "dask") if importlib.util.find_spec("distributed") else ("processes",)
END = 60
"""Seconds that a command may take to start workers, and to end when they are gone."""
SOON = 20
"""Seconds that a command may take to end with Ctrl-C, and its workers with it: less than one here, with both cores busy six times over."""


def children(pid: int) -> list[int]:
    """Processes that this one started, and theirs."""
    try:
        found = [int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()]
    except OSError:
        return []
    return [*found, *(pid for child in found for pid in children(child))]


def is_alive(pid: int) -> bool:
    """Returns true if it runs: a process that has ended and that nobody has asked for is not alive."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_worker(pid: int) -> bool:
    """Returns true if it is a process that works, and no helper of the interpreter's."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def spawned(pid: int, process: subprocess.Popen[str]) -> list[int]:
    """The descendants, once there are some or the command has ended."""
    end = time.monotonic() + END
    while not (found := children(pid)) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    return found


def attack(random: Random, folder: Path) -> None:
    """Something of it is killed, stopped or interrupted."""
    (folder / "small.toml").write_text(SWEEP, encoding="utf-8")
    executor, what = random.choice(EXECUTORS), random.choice(("worker", "command", "interrupt", "hang"))
    process = start(folder, "run", "small.toml", "--executor", executor, "--jobs", "2")
    spawned(process.pid, process)
    time.sleep(random.random() * 5)
    found = [pid for pid in children(process.pid) if is_worker(pid)]
    done = f"{executor}: {what} of {len(found)} processes"
    match what:
        case "worker" if found:
            signalled(random.choice(found), signal.SIGKILL)
        case "hang" if found:
            signalled(random.choice(found), signal.SIGSTOP)
            interrupt(process)
        case "command":
            process.kill()
        case _:
            interrupt(process)
    try:
        _, said = process.communicate(timeout=2 * END if what == "worker" else SOON)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{done}: the command has not ended") from None
    finally:
        left = gone(found)
        for pid in left:
            signalled(pid, signal.SIGKILL)
    assert not left, f"{done}: {len(left)} processes stay behind"
    assert "Traceback" not in said, f"{done}: {said}"
    kept, fresh = (
        longfat.Experiment(SWEEP, name="small").sweep(folder / "results" / "small", jobs=1),
        longfat.Experiment(SWEEP).sweep(jobs=1),
    )
    for table in TABLES[:4]:
        assert is_same(getattr(kept, table), getattr(fresh, table)), f"{done}: {table} is not what it would be in one go"


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C as a terminal sends it: to every process of the group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)


def signalled(pid: int, number: int) -> None:
    """Sends a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def gone(pids: list[int]) -> list[int]:
    """Returns the processes that are still there when their command has been gone for a while."""
    end = time.monotonic() + SOON
    while (left := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < end:
        time.sleep(0.2)
    return left
