"""The lab in a browser beside longfat itself: the same run in WebAssembly under Node.js and natively, taken in turns; then the page.

`python bench/web.py [ROUNDS]`, after `make web`. Both give the same bits; the ratio is of the medians of their times. The page is opened in
headless Chromium, in 1 s of 622 Mbit/s, and its slider `Rate` is moved 15 times, from its `input` event to the mark "whole" of the page.
"""

from __future__ import annotations

import base64
import json
import shutil
import statistics
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import longfat
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
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


MOVED = """\
const [by, done] = arguments, input = document.querySelector('input[aria-label=Rate]');
performance.clearMarks();
const start = performance.now();
input.value = String(Number(input.value) + by);
input.dispatchEvent(new Event('input'));
const look = () => { const [mark] = performance.getEntriesByName('whole'); mark ? done(mark.startTime - start) : setTimeout(look, 5); };
look();
"""
"""Moves the slider; milliseconds until the plot of the whole run stands."""
OPENED = """\
const [done] = arguments, marks = name => performance.getEntriesByName(name);
const times = () => ['drawn', 'whole'].flatMap(marks).map(mark => mark.startTime);
const look = () => { marks('whole').length ? done(Math.min(...times())) : setTimeout(look, 5); };
look();
"""
"""Milliseconds from the opening of the page to its first plot."""


def in_chromium(moves: int = 15) -> tuple[float, list[float]]:
    """Seconds until the first plot of a browser just started, and until the whole plot after each move of the slider."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    # Chromium refuses its sandbox to root, as in a container.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    browser: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser.set_script_timeout(60)
        packed = zlib.compressobj(wbits=-15)
        text = TEXT.replace('"10 s"', '"1 s"')
        linked = packed.compress(json.dumps({"b": text}).encode()) + packed.flush()
        browser.get(f"{(FOLDER / 'lab.html').as_uri()}#{base64.urlsafe_b64encode(linked).decode().rstrip('=')}")
        first = browser.execute_async_script(OPENED)
        return first / 1e3, [browser.execute_async_script(MOVED, 1 if i % 2 else -1) / 1e3 for i in range(moves)]
    finally:
        browser.quit()


def main() -> None:
    """Prints four lines of the module and three of the page; without what they need, why there are none."""
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
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("web, the page: skipped; it needs Chromium (`make system-packages`)")
        return
    first, moves = in_chromium()
    say("web, page opened to first plot", first, "s")
    say(f"web, slider moved to whole plot, 1 s of 622 Mbit/s, median of {len(moves)}", 1e3 * statistics.median(moves), "ms")
    say("web, slider moved to whole plot, the slowest", 1e3 * max(moves), "ms")


if __name__ == "__main__":
    main()
