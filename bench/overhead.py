"""Cost of a run of a sweep beside the simulation: CPU of all processes less that inside the runs.

`python bench/overhead.py [RUNS [SECONDS]]`: SECONDS of virtual time make the runs long; 0.5 are some 5 ms of a core, 12 some 20 ms,
60 some 100 ms. It is the slope between a small and a large sweep, so what a process costs to start does not count. By CPU time and not
by the clock, but other work on the machine makes it larger nevertheless: it leaves caches cold. Prints what a run costs for each way to
run a sweep, and of the larger sweep how busy it kept two cores from start to end. A thread that waits for a core which something else has
counts as busy there (Linux: `schedstat` of each thread), so that number can be had on a machine that is used.

Dask's processes watch themselves by the clock, whatever they do: the longer a run has to wait for a core, the more of that there is beside
it. What a cluster takes that does nothing is measured, too, and what is beside a run without it.

`--only jobs` asks for one way.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from store import say

TEXT = """\
title = "Many runs of some milliseconds"
repeats = {runs}

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = {{ rate = "1 Gbit/s", loss = {{ kind = "bernoulli", probability = 0.0001 }} }}
edge = {{ rate = "10 Gbit/s" }}

[[flow]]
window = "4 MiB"
traffic = {{ kind = "bulk" }}

[measure]
duration = "{seconds} s"
"""
CORES = 2
WAYS = {
    "jobs": [["run", "--jobs", "2", "--yes"]],
    "shards": [["run", "--shard", "1/2", "--jobs", "1", "--yes"], ["run", "--shard", "2/2", "--jobs", "1", "--yes"], ["gather"]],
    "processes": [["run", "--executor", "processes", "--jobs", "2", "--yes"]],
    "dask": [["run", "--executor", "dask", "--jobs", "2", "--yes"]],
}


def threads(process: int) -> dict[str, tuple[int, int]]:
    """Times of each thread of `process` and of what it has started: ns for which it ran, and for which it waited for a core."""
    found: dict[str, tuple[int, int]] = {}
    for task in Path(f"/proc/{process}/task").glob("*"):
        try:
            ran, waited, _ = (task / "schedstat").read_text(encoding="ascii").split()
            found[task.name] = int(ran), int(waited)
            for child in (task / "children").read_text(encoding="ascii").split():
                found |= threads(int(child))
        except (OSError, ValueError):
            # It has just ended.
            continue
    return found


def attend(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Seconds for which two cores had work, and CPU seconds, until `process` has ended."""
    busy, last, before = 0.0, time.perf_counter(), threads(process.pid)
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        now, after = time.perf_counter(), before if ended else threads(process.pid)
        ready = sum(sum(ns) - sum(before.get(thread, (0, 0))) for thread, ns in after.items()) / 1e9
        busy, last, before = busy + min(ready, CORES * (now - last)), now, after
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return busy, used.ru_utime + used.ru_stime
        time.sleep(0.1)


class Used(NamedTuple):
    """Times that a sweep took, in seconds."""

    all: float
    """CPU time of all processes."""
    inside: float
    """CPU time inside the runs, part of `all`."""
    busy: float
    """Time for which a core had work, of both cores."""
    clock: float


def cpu(home: Path, way: str, runs: int, seconds: float) -> Used:
    """Runs a sweep."""
    folder = home / f"{way}-{runs}"
    folder.mkdir()
    (folder / "many.toml").write_text(TEXT.format(runs=runs, seconds=seconds), encoding="utf-8")
    spent, busy, start = 0.0, 0.0, time.perf_counter()
    for command, *options in WAYS[way]:
        call = [sys.executable, "-m", "longfat", command, "many.toml", *options]
        process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        had_work, used = attend(process)
        if process.returncode:
            raise SystemExit(f"{' '.join(call)} failed")
        spent, busy = spent + used, busy + had_work
    clock = time.perf_counter() - start
    inside = json.loads((folder / "results" / "many" / "provenance.json").read_text(encoding="utf-8"))["cpu_s"]
    return Used(spent, inside, busy, clock)


def idle(seconds: float = 20.0) -> float:
    """The share of a core that a Dask cluster of this machine takes that does nothing."""
    call = f"import time; from longfat.executors.named import named\nwith named('dask', {CORES}): print(flush=True); time.sleep(1e6)"
    with subprocess.Popen([sys.executable, "-c", call], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(5)
        ran = [0, 0]
        for number in range(2):
            time.sleep(number * seconds)
            ran[number] = sum(ns for ns, _ in threads(process.pid).values())
        process.send_signal(signal.SIGINT)
    return (ran[1] - ran[0]) / 1e9 / seconds


def main() -> None:
    """Some lines for each way."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=int, nargs="?", default=1000)
    parser.add_argument("seconds", type=float, nargs="?", default=0.5)
    parser.add_argument("--only", choices=WAYS, action="append")
    asked = parser.parse_args()
    most, seconds = asked.runs, asked.seconds
    for way in asked.only or WAYS:
        if way == "dask" and not find_spec("distributed"):
            continue
        with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
            some, more = (cpu(Path(home), way, runs, seconds) for runs in (most // 10, most))
        runs = most - most // 10
        of_run = (more.inside - some.inside) / runs
        beside = (more.all - some.all) / runs - of_run
        say(f"{way}: CPU of a run inside the simulation", 1e3 * of_run, "ms")
        say(f"{way}: CPU of a run beside it", 1e3 * beside, "ms")
        say(f"{way}: of all CPU of a run, beside it", 100 * beside / (of_run + beside), "%")
        if way == "dask":
            clock, share = (more.clock - some.clock) / runs, idle()
            say(f"{way}: of a core, by a cluster that does nothing", 100 * share, "%")
            say(f"{way}: CPU of a run beside it without that", 1e3 * (beside - share * clock), "ms")
            say(f"{way}: a run, on the clock", 1e3 * clock, "ms")
        if way in ("jobs", "processes", "dask"):
            say(f"{way}: two cores busy, from start to end", 100 * more.busy / (CORES * more.clock), "%")


if __name__ == "__main__":
    main()
