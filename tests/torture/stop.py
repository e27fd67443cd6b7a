"""Signals at any moment: Ctrl-C is one message and 130, and whatever ended a sweep, running it again finishes it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import longfat

from torture.damage import SMALL, TABLES, is_same, original

# A quarter of a second of work for each of its runs, where all of longfat takes a second to load.
SWEEP = (
    SMALL.replace('["8 KiB", "64 KiB"]', '["8 KiB", "16 KiB", "32 KiB", "64 KiB"]').replace('"50 kB"', '"20 MB"').replace('"2 s"', '"30 s"')
)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command, in a process and a group of its own."""
    call = [sys.executable, "-m", "longfat", *arguments]
    # A shell that runs tests in the background lets them ignore Ctrl-C, and so would what they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    finally:
        signal.signal(signal.SIGINT, before)


def stop(random: Random, process: subprocess.Popen[str], number: int, most: float) -> None:
    """Sends a signal at some moment, and checks how the process ends."""
    # The interpreter's own start, of which we are no part, takes some ten milliseconds, and more on a machine with other work.
    after = 0.3 + random.random() * most
    time.sleep(after)
    process.send_signal(number)
    try:
        _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{process.args}: not ended a minute after {signal.Signals(number).name} at {after:.3f} s") from None
    done = f"{process.args}: {signal.Signals(number).name} at {after:.3f} s: {process.returncode}, {said}"
    assert "Traceback" not in said, done
    if number == signal.SIGINT:
        assert process.returncode in (0, 130), done
        assert process.returncode == 0 or "Stopped" in said, done
        # Warnings and what the message advises are indented; beside them there is the message.
        assert len([line for line in said.splitlines() if line.strip() and not line.startswith("  ")]) <= 1, done
    else:
        assert process.returncode in (0, -number), done


def attack(random: Random, folder: Path) -> None:
    """A sweep, or something short, is stopped; what it leaves is good for going on."""
    number = random.choice((signal.SIGINT, signal.SIGINT, signal.SIGKILL, signal.SIGTERM))
    if random.random() < 0.4:
        shutil.copytree(original()[0], folder / "small")
        what = random.choice((["list"], ["show", "small"], ["report", "small"], ["prune", "small"], ["--help"], ["schema"]))
        stop(random, start(folder, *what), number, 2.5)
        return
    (folder / "small.toml").write_text(SWEEP, encoding="utf-8")
    for _ in range(random.randrange(1, 3)):
        stop(random, start(folder, "run", "small.toml"), number, 4)
    done = start(folder, "run", "small.toml")
    _, said = done.communicate(timeout=120)
    assert done.returncode == 0, said
    place = folder / "results" / "small"
    assert not list(place.rglob(".unfinished-*"))
    assert not list(place.rglob(".damaged-*"))
    kept, fresh = longfat.load_results(place), longfat.Experiment(SWEEP).sweep(jobs=1)
    for table in TABLES[:4]:
        assert is_same(getattr(kept, table), getattr(fresh, table)), f"{table} is not what it would be in one go"
