"""Cost of a fit without a file: six measurements of a path, by the general model.

    python bench/fit/cost.py "20 Mbit/s"                       # a row of `make bench`
    python bench/fit/cost.py "1 Gbit/s" --folder results/cost  # goes on where it was stopped; the time of kept runs counts

The path is a drop-tail buffer of one bandwidth-delay product behind 30 ms. Each measurement is a transfer of 10 s, with noise of 3 %.
CPU is that of the runs (as each was stored with) and of the rest: surrogate, posterior, and reading what was stored.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import longfat
import numpy as np
from longfat.fit.runs import column

sys.path.insert(0, str(Path(__file__).parent.parent))
from store import say

SETTINGS = (
    ("cubic", 1, "64 MiB"),
    ("reno", 1, "64 MiB"),
    ("bbr", 1, "64 MiB"),
    ("cubic", 4, "64 MiB"),
    ("cubic", 1, "256 KiB"),
    ("cubic", 1, "1 MiB"),
)
"""Control, streams and window."""
OBSERVABLES = ("measured.goodput_bps", "measured.rtt_min_s", "measured.rtt_mean_s")
NOISE = 0.03
PATH = """title = "A path to measure"

[path]
preset = "dumbbell"
rtt = "30 ms"
bottleneck = {{ rate = "{rate}" }}
edge = {{ rate = "10 Gbit/s", delay = "1 us" }}

[[flow]]
name = "measured"
stack = "linux"

[measure]
duration = "10 s"
"""


def measure(rate: str, file: Path) -> None:
    """Writes the table of six measurements."""
    rng = np.random.default_rng(1)
    lines = [f"flow.congestion_control,flow.streams,flow.window,measure.duration,{','.join(OBSERVABLES)}"]
    for control, streams, window in SETTINGS:
        made = longfat.Experiment(PATH.format(rate=rate))
        for place, value in (("congestion_control", control), ("streams", streams), ("window", window)):
            made.set(f"flow.{place}", json.dumps(value))
        results = made.sweep(jobs=1)
        values = [column(results, name)[0] * math.exp(NOISE * rng.normal()) for name in OBSERVABLES]
        lines.append(f"{control},{streams},{window},10 s,{','.join(f'{value:.9g}' for value in values)}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def cpu_s() -> float:
    """CPU time of this process and of its workers, seconds."""
    return sum(os.times()[:4])


def runs_of(folder: Path) -> tuple[int, float]:
    """Runs kept below a folder of fits, and the CPU time of all of them, seconds."""
    every = [longfat.load_results(one) for one in sorted({shards.parent for shards in folder.glob("**/shards")})]
    return sum(len(one) for one in every), sum(one.cpu_s for results in every for one in results)


def cost(rate: str, folder: Path, jobs: int = 2) -> dict[str, float]:
    """Fits six measurements of a path of `rate`: numbers of points and runs, CPU of runs and of the rest, wall time, seconds."""
    table = folder / "numbers.csv"
    folder.mkdir(parents=True, exist_ok=True)
    measure(rate, table)
    kept = runs_of(folder / "runs")[1]
    before, began = cpu_s(), time.monotonic()
    fit = longfat.fit_path(table, folder=folder / "runs", jobs=jobs)
    own, wall = cpu_s() - before, time.monotonic() - began
    runs, of_runs = runs_of(folder / "runs")
    points = sum(len(one.searched.runs.places) for one in fit.models)
    return {"points": points, "runs": runs, "runs_cpu_s": of_runs, "rest_cpu_s": own - (of_runs - kept), "wall_s": wall}


def main() -> None:
    """For each rate."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("rates", nargs="+", metavar="RATE")
    asked.add_argument("--folder", type=Path, help="where runs are kept; by default nowhere")
    asked.add_argument("--jobs", type=int, default=2)
    given = asked.parse_args()
    for rate in given.rates:
        with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
            made = cost(rate, given.folder / rate.replace(" ", "-").replace("/", "") if given.folder else Path(home), given.jobs)
        what = f"a fit of six measurements at {rate}"
        say(f"{what} ({made['points']:g} points): runs", made["runs"], "1")
        say(f"{what}: CPU of runs", made["runs_cpu_s"], "s")
        say(f"{what}: CPU of the rest", made["rest_cpu_s"], "s")
        say(f"{what}: wall time", made["wall_s"], "s")


if __name__ == "__main__":
    main()
