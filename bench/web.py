"""The lab in a browser beside longfat itself: the same run in WebAssembly under Node.js and natively, taken in turns.

`python bench/web.py [ROUNDS]`, after `make web`. Both give the same bits; the ratio is of the medians of their times.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import longfat
from store import say

FOLDER = Path(__file__).parent.parent / "target/web"
TEXT = """\
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "622 Mbit/s" }

[[flow]]

[measure]
duration = "10 s"
"""


def in_webassembly() -> tuple[float, float]:
    """Seconds of the run, and bytes of the module's memory after it. A run before it warms the compiler, as in a page that stays open."""
    asked = json.dumps({"runs": {"warm": TEXT, "one": TEXT}, "whole": True})
    done = subprocess.run(["node", FOLDER / "run.mjs", FOLDER / "longfat.wasm"], input=asked, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["found"]["one"]
    return found["took_ms"] / 1e3, found["memory"]


def native() -> float:
    """Seconds of the run: opened, advanced to the end and measured."""
    start = time.perf_counter()
    _ = longfat.Experiment(TEXT).run().metrics
    return time.perf_counter() - start


def main() -> None:
    """Prints four lines; without the page's module, why there are none."""
    if not (shutil.which("node") and (FOLDER / "run.mjs").exists()):
        print("web: skipped; it needs Node.js and `make web`")
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    native()
    took = [(*in_webassembly(), native()) for _ in range(rounds)]
    web, memory, here = (statistics.median(column) for column in zip(*took, strict=True))
    say("web, 10 s of 622 Mbit/s in WebAssembly", web, "s")
    say("web, the same run natively", here, "s")
    say("web, WebAssembly over native", web / here, "times")
    say("web, memory of the module", memory / 1e6, "MB")


if __name__ == "__main__":
    main()
