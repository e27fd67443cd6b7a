"""Cost of a fit without a file: six measurements of a path, by the general model. `python bench/fit/cost.py RATE ...`, such as "1 Gbit/s".

The path is a drop-tail buffer of one bandwidth-delay product behind 30 ms. Each measurement is a transfer of 10 s, with noise of 3 %.
"""

from __future__ import annotations

import json
import math
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


def main() -> None:
    """For each rate."""
    for rate in sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
            table = Path(home) / "numbers.csv"
            measure(rate, table)
            cpu, began = time.process_time(), time.monotonic()
            fit = longfat.fit_path(table, folder=Path(home) / "results", jobs=2)
            cpu, wall = time.process_time() - cpu, time.monotonic() - began
        points = sum(len(one.searched.runs.places) for one in fit.models)
        say(f"a fit of six measurements at {rate} ({points} points): CPU", cpu, "s")
        say(f"a fit of six measurements at {rate}: wall time", wall, "s")


if __name__ == "__main__":
    main()
