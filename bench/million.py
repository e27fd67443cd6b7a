"""A sweep of a million runs, from its plan to its open tables: `python bench/million.py [RUNS [FOLDER]]`.

The runs are the smallest there are (a flow for 0.2 s, without series), of two axes of 100 values. They go on in FOLDER where they were
stopped. Each stage is a process of its own, and prints its CPU and what it had in memory at most: the resident set, in MB of 10^6 bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memory import say

AXIS = 100
TEXT = """\
title = "Many runs of a millisecond or less"
repeats = {repeats}

[path]
preset = "dumbbell"
rtt = {{ sweep = [{rtts}] }}
bottleneck = {{ rate = "10 Mbit/s", loss = {{ kind = "bernoulli", probability = 0.001 }} }}
edge = {{ rate = "100 Mbit/s" }}

[[flow]]
window = {{ sweep = [{windows}] }}
traffic = {{ kind = "bulk" }}

[measure]
duration = "0.2 s"
"""


def text(runs: int) -> str:
    """The experiment."""
    rtts, windows = (", ".join(f'"{first + step} {unit}"' for step in range(AXIS)) for first, unit in ((10, "ms"), (16, "KiB")))
    return TEXT.format(repeats=max(1, runs // AXIS**2), rtts=rtts, windows=windows)


def resident() -> float:
    """MB that this process has in memory now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def run(folder: Path, runs: int) -> None:
    """Plans and runs; says how the process grows."""
    from longfat import Experiment
    from longfat.sweep.work import Work

    experiment = Experiment(text(runs))
    before = time.process_time()
    planned = len(experiment.plans.plan().items)
    say(f"{planned:,} runs planned: CPU", time.process_time() - before, "s")
    said, used = 0, time.process_time()

    def tick(work: Work) -> None:
        nonlocal said
        if work.done >= said:
            say(f"{work.done:,} runs finished: resident", resident(), "MB")
            said += runs // 10

    done = experiment.sweep_shard(folder, 1, 1, jobs=1, tick=tick)
    if done:
        say(f"{done:,} runs: resident", resident(), "MB")
        say(f"{done:,} runs: CPU of a run, until it is kept", 1e3 * (time.process_time() - used) / done, "ms")


def gather(folder: Path, runs: int) -> None:
    """Makes the tables."""
    from longfat import Experiment

    made = Experiment(text(runs)).gather(folder)
    assert made.provenance["runs"] == runs


def finished(folder: Path, runs: int) -> None:
    """Looks which runs there are."""
    from longfat.store import Store

    before = time.process_time()
    assert len(Store(folder).finished()) == runs
    say("which runs are finished: CPU without imports", time.process_time() - before, "s")


def opened(folder: Path, runs: int) -> None:
    """Opens the results, as users do."""
    import longfat

    before, clock = time.process_time(), time.perf_counter()
    results = longfat.load_results(folder)
    assert len(results) == runs
    say("load_results: CPU without imports", time.process_time() - before, "s")
    say("load_results: on the clock", time.perf_counter() - clock, "s")
    before = time.process_time()
    mean = results.runs.groupby("rtt", sort=False)["goodput_total_bps"].mean()
    assert len(mean) == AXIS
    say("a mean over one axis: CPU", time.process_time() - before, "s")
    before = time.process_time()
    assert results[runs // 3].repeat == runs // 3 % (runs // AXIS**2)
    say("one run: CPU", 1e3 * (time.process_time() - before), "ms")


STAGES: dict[str, Callable[[Path, int], None]] = {"run": run, "gather": gather, "finished": finished, "opened": opened}


def main() -> None:
    """All stages, or in a process of its own one."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if len(sys.argv) > 3:
        STAGES[sys.argv[3]](Path(sys.argv[2]), runs)
        return
    with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
        folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(home)
        for stage in STAGES:
            process = subprocess.Popen([sys.executable, __file__, str(runs), str(folder), stage])
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"{stage} failed")
            say(f"{stage}, {runs:,} runs: CPU of the process", used.ru_utime + used.ru_stime, "s")
            say(f"{stage}, {runs:,} runs: peak", used.ru_maxrss * 1024 / 1e6, "MB")
        files = [file for file in folder.rglob("*") if file.is_file()]
        say("files", len(files), "")
        say("bytes a run", sum(file.stat().st_size for file in files) / runs, "bytes")


if __name__ == "__main__":
    main()
