"""What a run of a sweep costs beside the simulation: CPU of all processes less that inside the runs.

`python bench/overhead.py [RUNS [SECONDS]]`: SECONDS of virtual time make the runs long; 0.5 are some 5 ms of a core, 12 some 20 ms,
60 some 100 ms. It is the slope between a small and a large sweep, so what a process costs to start does not count. By CPU time and not
by the clock, but other work on the machine makes it larger nevertheless: it leaves caches cold. Prints what a run costs for each way to
run a sweep, and of the larger sweep how busy it kept two cores from start to end. A thread that waits for a core which something else has
counts as busy there (Linux: `schedstat` of each thread), so that number can be had on a machine that is used.

`--only jobs` asks for one way.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

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


def threads(process: int) -> dict[str, int]:
    """Of each thread of `process` and of what it has started: ns for which it ran, or waited for a core."""
    found: dict[str, int] = {}
    for task in Path(f"/proc/{process}/task").glob("*"):
        try:
            ran, waited, _ = (task / "schedstat").read_text(encoding="ascii").split()
            found[task.name] = int(ran) + int(waited)
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
        ready = sum(ns - before.get(thread, 0) for thread, ns in after.items()) / 1e9
        busy, last, before = busy + min(ready, CORES * (now - last)), now, after
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return busy, used.ru_utime + used.ru_stime
        time.sleep(0.1)


def cpu(home: Path, way: str, runs: int, seconds: float) -> tuple[float, float, float]:
    """CPU seconds of all processes, of those the seconds inside the runs, and the share of the time for which two cores had work."""
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
    share = busy / (CORES * (time.perf_counter() - start))
    return spent, json.loads((folder / "results" / "many" / "provenance.json").read_text(encoding="utf-8"))["cpu_s"], share


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
            some, inside_some, _ = cpu(Path(home), way, most // 10, seconds)
            all_of_it, inside, share = cpu(Path(home), way, most, seconds)
        runs = most - most // 10
        of_run, beside = (inside - inside_some) / runs, (all_of_it - some - inside + inside_some) / runs
        say(f"{way}: CPU of a run inside the simulation", 1e3 * of_run, "ms")
        say(f"{way}: CPU of a run beside it", 1e3 * beside, "ms")
        say(f"{way}: of all CPU of a run, beside it", 100 * beside / (of_run + beside), "%")
        if way in ("jobs", "processes", "dask"):
            say(f"{way}: two cores busy, from start to end", 100 * share, "%")


if __name__ == "__main__":
    main()
