"""What a run of a sweep costs beside the simulation: CPU of all processes less that inside the runs.

`python bench/overhead.py [RUNS [SECONDS]]`: SECONDS of virtual time make the runs long; 0.5 are some 5 ms of a core, 12 some 20 ms,
60 some 100 ms. It is the slope between a small and a large sweep, so what a process costs to start does not count. By CPU time and not
by the clock, but other work on the machine makes it larger nevertheless: it leaves caches cold. Prints what a run costs for each way to
run a sweep, and of the larger sweep how busy its two workers kept two cores, which says something only on a machine that does nothing
else.
"""

from __future__ import annotations

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
SECONDS = 0.5
WAYS = {
    "jobs": [["run", "--jobs", "2", "--yes"]],
    "shards": [["run", "--shard", "1/2", "--jobs", "1", "--yes"], ["run", "--shard", "2/2", "--jobs", "1", "--yes"], ["gather"]],
    "processes": [["run", "--executor", "processes", "--jobs", "2", "--yes"]],
    "dask": [["run", "--executor", "dask", "--jobs", "2", "--yes"]],
}


def cpu(home: Path, way: str, runs: int, seconds: float) -> tuple[float, float, float]:
    """CPU seconds of all processes, of those the seconds inside the runs, and seconds on the clock."""
    folder = home / f"{way}-{runs}"
    folder.mkdir()
    (folder / "many.toml").write_text(TEXT.format(runs=runs, seconds=seconds), encoding="utf-8")
    spent, start = 0.0, time.perf_counter()
    for command, *options in WAYS[way]:
        call = [sys.executable, "-m", "longfat", command, "many.toml", *options]
        process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(call)} failed")
        spent += used.ru_utime + used.ru_stime
    clock = time.perf_counter() - start
    return spent, json.loads((folder / "results" / "many" / "provenance.json").read_text(encoding="utf-8"))["cpu_s"], clock


def main() -> None:
    """Some lines for each way."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    for way in WAYS:
        if way == "dask" and not find_spec("distributed"):
            continue
        with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
            some, inside_some, _ = cpu(Path(home), way, most // 10, seconds)
            all_of_it, inside, clock = cpu(Path(home), way, most, seconds)
        runs = most - most // 10
        of_run, beside = (inside - inside_some) / runs, (all_of_it - some - inside + inside_some) / runs
        say(f"{way}: CPU of a run inside the simulation", 1e3 * of_run, "ms")
        say(f"{way}: CPU of a run beside it", 1e3 * beside, "ms")
        say(f"{way}: of all CPU of a run, beside it", 100 * beside / (of_run + beside), "%")
        if way in ("jobs", "processes", "dask"):
            say(f"{way}: two cores busy, from start to end", 100 * all_of_it / (2 * clock), "%")


if __name__ == "__main__":
    main()
