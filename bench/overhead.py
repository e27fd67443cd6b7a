"""What a run of a sweep costs beside the simulation: CPU of all processes less that inside the runs. `python bench/overhead.py [RUNS]`.

It is the slope between a small and a large sweep, so what a process costs to start does not count. By CPU time and not by the clock: other
work on the machine makes it no larger. Prints one line for each way to run a sweep.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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
    "jobs": [["run", "--jobs", "2"]],
    "shards": [["run", "--shard", "1/2", "--jobs", "1"], ["run", "--shard", "2/2", "--jobs", "1"], ["gather"]],
    "dask": [["run", "--executor", "dask", "--jobs", "2"]],
}


def cpu(home: Path, way: str, runs: int) -> tuple[float, float]:
    """CPU seconds of all processes, and of those the seconds inside the runs."""
    folder = home / f"{way}-{runs}"
    folder.mkdir()
    (folder / "many.toml").write_text(TEXT.format(runs=runs, seconds=SECONDS), encoding="utf-8")
    spent = 0.0
    for command, *options in WAYS[way]:
        call = [sys.executable, "-m", "longfat", command, "many.toml", *options]
        process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(call)} failed")
        spent += used.ru_utime + used.ru_stime
    return spent, json.loads((folder / "results" / "many" / "provenance.json").read_text(encoding="utf-8"))["cpu_s"]


def main() -> None:
    """A line for each way."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for way in WAYS:
        if way == "dask" and not find_spec("distributed"):
            continue
        with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
            (some, inside_some), (all_of_it, inside) = (cpu(Path(home), way, runs) for runs in (most // 10, most))
        runs = most - most // 10
        say(f"{way}: CPU of a run inside the simulation", 1e3 * (inside - inside_some) / runs, "ms")
        say(f"{way}: CPU of a run beside it", 1e3 * (all_of_it - some - inside + inside_some) / runs, "ms")


if __name__ == "__main__":
    main()
