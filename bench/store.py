"""Results at rest: what a sweep of many small runs costs in files, bytes and time. `python bench/store.py RUNS [FOLDER]`.

The runs are real ones, simulated once and stored again and again under other hashes, with times and counters that differ from run to run.
Prints one line a measurement.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from longfat import Experiment
from longfat.store import Store
from longfat.store.finished import TRACE_TABLES, Finished
from longfat.store.shard import TABLES
from longfat.sweep.work import timed

SMALL = """\
title = "Many small runs"
repeats = 8

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s", loss = { kind = "bernoulli", probability = 0.001 } }
edge = { rate = "100 Mbit/s" }

[[flow]]
window = { sweep = ["8 KiB", "16 KiB", "64 KiB"] }
traffic = { kind = "ttcp", volume = "500 kB" }

[measure]
duration = "1 s"
interval = "100 ms"
events = true
"""


def many(count: int) -> Iterator[Finished]:
    """Runs as `writer.keep` has them, each with a hash, a seed and numbers of its own."""
    real = [Finished.of_run(run, "Many small runs", *timed(run)) for run in Experiment(SMALL).resolve_all()]
    random = np.random.default_rng(1)
    for number in range(count):
        one = real[number % len(real)]
        tables = dict(one.tables)
        for name in tables:
            for column in ("bytes_delivered", "rtt_mean_s", "wire_bytes", "busy_s", "cwnd_bytes", "time_ps"):
                if column in tables[name].column_names and not (name == "events" and column != "time_ps"):
                    old = tables[name][column].combine_chunks()
                    with_noise = old.to_numpy(zero_copy_only=False) + random.integers(0, 1000, len(old)).astype(old.type.to_pandas_dtype())
                    at = tables[name].column_names.index(column)
                    tables[name] = tables[name].set_column(at, column, pa.array(with_noise, old.type))
        run = hashlib.sha256(str(number).encode()).hexdigest()
        facts = one.facts | {"run": run, "seed": number, "wall_s": random.random(), "cpu_s": random.random()}
        yield Finished(facts, tables)


def say(what: str, value: float, unit: str) -> None:
    """One line."""
    print(f"{what:<52} {value:>14,.3f} {unit}", flush=True)


def in_one_file(folder: Path, out: Path) -> int:
    """Bytes of all rows as one Parquet file a table, written in one go by pyarrow."""
    size = 0
    for table in TABLES:
        files = sorted((folder / "shards" / table).glob("*.parquet"))
        if not files:
            continue
        path = out / f"{table}.parquet"
        with pq.ParquetWriter(path, pq.read_schema(files[0]), compression="zstd") as writer:
            for file in files:
                whole = pq.ParquetFile(file)
                for batch in range(whole.num_row_groups):
                    writer.write_table(whole.read_row_group(batch), row_group_size=1 << 20)
        size += path.stat().st_size
        path.unlink()
    return size


def main() -> None:
    """Writes, gathers, opens, reads one."""
    count = int(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp(prefix="longfat-bench-"))
    store = Store(folder)
    start, used, made, most = time.perf_counter(), time.process_time(), 0.0, 0
    with store.writer() as writer:
        before = time.process_time()
        for number, finished in enumerate(many(count)):
            made += time.process_time() - before
            writer.add(finished)
            before = time.process_time()
            if number % 10_000 == 0:
                most = max(most, sum(len(files) for _, _, files in os.walk(folder)))
    store.gather()
    say(f"{count:,} runs written, CPU of the store a run", 1e3 * (time.process_time() - used - made) / count, "ms")
    say("the same, on the clock, with what makes them", 1e3 * (time.perf_counter() - start) / count, "ms")
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    say("files", len(files), f"(at the most {most})")
    say("bytes a run", size / count, "bytes")
    say("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, "MB")
    store = Store(folder)
    start = time.perf_counter()
    found = store.finished()
    say("opened: which runs are finished", time.perf_counter() - start, "s")
    assert len(found) == count
    names = sorted(found)[:: max(count // 20, 1)][:20]
    start = time.perf_counter()
    for run in names:
        store.read(run)
    say("one run read, with its series, anywhere", 1e3 * (time.perf_counter() - start) / len(names), "ms")
    rows = {name: sum(pq.read_metadata(path).num_rows for path in folder.glob(f"shards/{name}/*.parquet")) for name in TRACE_TABLES}
    print("rows:", ", ".join(f"{name} {number:,}" for name, number in rows.items() if number))
    if len(sys.argv) > 3:
        one = in_one_file(folder, Path(tempfile.mkdtemp(prefix="longfat-bench-one-")))
        say("bytes, over those of one Parquet file a table", size / one, "")
    if len(sys.argv) <= 2:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
