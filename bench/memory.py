"""Memory of a sweep: the peak of the process that runs it and makes its tables, and of one that reads them.

`python bench/memory.py RUNS ...` runs a sweep of so many runs of a millisecond or two with `longfat run --jobs 1`, and opens its results
with `longfat.load_results`, each in a process of its own. The peak is the largest resident set (`ru_maxrss`). Prints it for each number of
runs, and the slope from one number to the next: what one more run costs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

TEXT = """\
title = "Many runs of a millisecond or two"
repeats = {runs}

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = {{ rate = "10 Mbit/s", loss = {{ kind = "bernoulli", probability = 0.001 }} }}
edge = {{ rate = "100 Mbit/s" }}

[[flow]]
window = "64 KiB"
traffic = {{ kind = "bulk" }}

[measure]
duration = "0.2 s"
"""
WAYS = {
    "longfat run --jobs 1": ["-m", "longfat", "run", "many.toml", "--jobs", "1", "--yes"],
    "load_results": ["-c", "import longfat; assert len(longfat.load_results('results/many'))"],
}


def peak(folder: Path, call: list[str]) -> tuple[float, float]:
    """MB (of 10^6 bytes) that one process had at most, and its CPU seconds."""
    # This process has to stay small: what it holds at the fork counts in what it starts.
    process = subprocess.Popen([sys.executable, *call], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(call)} failed")
    return used.ru_maxrss * 1024 / 1e6, used.ru_utime + used.ru_stime


def say(what: str, value: float, unit: str) -> None:
    """One line."""
    print(f"{what:<52} {value:>14,.3f} {unit}", flush=True)


def main() -> None:
    """Some lines for each number of runs."""
    peaks: dict[str, list[tuple[int, float]]] = {way: [] for way in WAYS}
    for runs in map(int, sys.argv[1:]):
        with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
            (Path(home) / "many.toml").write_text(TEXT.format(runs=runs), encoding="utf-8")
            for way, call in WAYS.items():
                most, seconds = peak(Path(home), call)
                peaks[way].append((runs, most))
                say(f"{way}, {runs:,} runs: peak memory", most, "MB")
                say(f"{way}, {runs:,} runs: CPU", seconds, "s")
    for way, found in peaks.items():
        for (some, before), (more, after) in pairwise(found):
            say(f"{way}, from {some:,} to {more:,}: a run", 1e3 * (after - before) / (more - some), "kB")


if __name__ == "__main__":
    main()
