"""Costs of making the tables of many finished runs: memory and CPU of the process that does it. `python bench/gather.py RUNS ...`.

The runs are those of bench/store.py without series, stored under hashes of their own. A process that does nothing else makes the tables.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from longfat.store import Store
from store import many, say


class Made(NamedTuple):
    """Facts of a run that its row needs."""

    index: int
    hash: str
    labels: list[tuple[str, str]]
    repeat: int


def write(folder: Path, count: int) -> None:
    """Stores `count` runs."""
    with Store(folder).writer() as writer:
        for finished in many(count):
            tables = {name: table for name, table in finished.tables.items() if name in ("flows", "links", "hosts")}
            writer.add(type(finished)(finished.facts, tables))


def gather(folder: Path, count: int, answer: multiprocessing.Queue[tuple[int, float]]) -> None:
    """Makes the tables; answers with the peak of memory in kilobytes, and the CPU time."""
    store = Store(folder)
    runs = (Made(number, hashlib.sha256(str(number).encode()).hexdigest(), [], number) for number in range(count))
    before = time.process_time()
    store.combine("Many small runs", [], runs, "", lambda totals: {"warnings": [], "cpu_s": totals.cpu_s})  # type: ignore[arg-type]
    answer.put((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time() - before))


def main() -> None:
    """For each number of runs."""
    spawn = multiprocessing.get_context("spawn")
    for count in map(int, sys.argv[1:]):
        with tempfile.TemporaryDirectory(prefix="longfat-bench-") as home:
            writer = spawn.Process(target=write, args=(Path(home), count))
            writer.start()
            writer.join()
            answer: multiprocessing.Queue[tuple[int, float]] = spawn.Queue()
            gatherer = spawn.Process(target=gather, args=(Path(home), count, answer))
            gatherer.start()
            memory, seconds = answer.get()
            gatherer.join()
        say(f"tables of {count:,} runs: peak memory", memory / 1e3, "MB")
        say(f"tables of {count:,} runs: CPU a run", 1e3 * seconds / count, "ms")


if __name__ == "__main__":
    main()
