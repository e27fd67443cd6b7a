"""What it takes to make the tables of many finished runs: memory and CPU of the process that does it. `python bench/gather.py RUNS ...`.

The runs are those of bench/store.py without series, stored under hashes of their own. The tables are made in a process that does nothing else.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from longfat.store import Store
from store import many, say


class Made(NamedTuple):
    """As much of a run as its row needs."""

    hash: str
    labels: list[tuple[str, str]]
    repeat: int


def write(folder: Path, count: int) -> None:
    """Stores `count` runs."""
    with Store(folder).writer() as writer:
        for finished in many(count):
            tables = {name: table for name, table in finished.tables.items() if name in ("flows", "links", "hosts")}
            writer.add(type(finished)(finished.facts, tables))


def gather(folder: Path, answer: multiprocessing.Queue[tuple[int, float]]) -> None:
    """Makes the tables; answers with the peak of memory in kilobytes, and the CPU time."""
    store = Store(folder)
    runs: Iterator[Made] = (Made(run, [], number) for number, run in enumerate(sorted(store.finished())))
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
            gatherer = spawn.Process(target=gather, args=(Path(home), answer))
            gatherer.start()
            memory, seconds = answer.get()
            gatherer.join()
        say(f"tables of {count:,} runs: peak memory", memory / 1e3, "MB")
        say(f"tables of {count:,} runs: CPU a run", 1e3 * seconds / count, "ms")


if __name__ == "__main__":
    main()
