"""Results as earlier versions wrote them, for the tests that read them."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import longfat
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import SWEEP
from longfat import sums
from longfat.store import Store
from longfat.store.finished import TRACE_TABLES, Finished
from longfat.store.folders import RUN_FIELDS
from longfat.store.journal import HEAD, MAGIC
from longfat.store.place import place_of
from longfat.stored import to_arrow, to_plain


def seal(folder: Path) -> None:
    """As if what is in the folder now had been written there by longfat."""
    place = place_of(folder)
    there = {name: sums.digest(place, name) for name in sums.read(place) if (folder / name).exists()}
    (folder / sums.NAME).write_text(sums.text(there))


def edit(file: Path, **facts: object) -> None:
    """Other facts in a file of JSON, as if they had been written there."""
    file.write_text(json.dumps(json.loads(file.read_text()) | facts))
    seal(file.parent)


def write_format_4(folder: Path, experiment: longfat.Experiment) -> longfat.Results:
    """A sweep as longfat wrote it whose format was 4: a folder for each run. What it gave."""
    results = experiment.sweep(folder)
    store = Store(folder)
    for run in results.runs["run"]:
        trace, facts = store.trace(run)
        place = folder / "runs" / run
        place.mkdir(parents=True)
        stored = trace.stored()
        rows: dict[str, int] = {}
        for name in TRACE_TABLES:
            table = to_arrow(name, stored[name])
            rows[name] = table.num_rows
            if table.num_rows:
                pq.write_table(table, place / f"{name}.parquet", compression="zstd", write_page_checksum=True)
        (place / "experiment.json").write_text(facts["resolved"])
        said: dict[str, Any] = facts["provenance"] | {name: facts[name] for name in RUN_FIELDS}
        said["warnings"] = [warning.as_facts() for warning in facts["warnings"]]
        said |= {"format_version": 4, "rows": rows, "trace": to_plain(stored["run"])}
        (place / "run.json").write_text(json.dumps(said))
        files = [path.name for path in place.iterdir()]
        (place / sums.NAME).write_text(sums.text({name: sums.digest(place_of(place), name) for name in files}))
    for name in ("shards", "journals"):
        shutil.rmtree(folder / name)
    edit(folder / "provenance.json", format_version=4)
    return results


def as_format_3(folder: Path) -> None:
    """A folder of format 4 as longfat wrote it before there were sums."""
    for path in folder.rglob("SHA256SUMS"):
        path.unlink()
    for path in (folder / "provenance.json", *folder.glob("runs/*/run.json")):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": 3}))


def write_format_2(folder: Path, results: longfat.Results) -> None:
    """As longfat wrote it whose format was 2: tables with the metrics of their time, and no trace."""
    folder.mkdir()
    for name in ("runs", "flows", "links", "hosts"):
        getattr(results, name).to_parquet(folder / f"{name}.parquet", index=False, compression="zstd")
    (folder / "experiment.toml").write_text(SWEEP)
    facts = {name: value for name, value in results.provenance.items() if name not in ("metrics", "results_version", "backends")}
    facts |= {"format_version": 2, "backend": "sim", "title": results.title, "axes": results.axes, "warnings": []}
    (folder / "provenance.json").write_text(json.dumps(facts))
    for result in results:
        place = folder / "runs" / f"old{result.run[3:]}"
        place.mkdir(parents=True)
        for name in TRACE_TABLES:
            getattr(result, name).to_parquet(place / f"{name}.parquet", index=False, compression="zstd")
        (place / "experiment.json").write_text(result.resolved)
        facts = {name: getattr(result, name) for name in (*RUN_FIELDS, "end_s", "steps")}
        facts["warnings"] = [warning.text for warning in result.warnings]
        metrics = {name: None if value != value else value for name, value in result.metrics.items()}
        (place / "run.json").write_text(json.dumps({"code": "0123", **facts, "run": place.name, "metrics": metrics}))
    runs = pd.read_parquet(folder / "runs.parquet")
    runs.assign(run="old" + runs["run"].str[3:]).to_parquet(folder / "runs.parquet", index=False)


def record_of_tables(finished: Finished) -> bytes:
    """A record of a journal whose name ends with `.journal`: as longfat wrote journals before it kept the bytes of traces."""
    tables: dict[str, int] = {}
    parts: list[bytes] = []
    for name, table in finished.tables.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        parts.append(sink.getvalue().to_pybytes())
        tables[name] = len(parts[-1])
    head = json.dumps({"facts": finished.facts, "tables": tables}).encode()
    raw = b"".join([struct.pack("<I", len(head)), head, *parts])
    run = finished.run.encode()
    body = struct.pack("<HI", len(run), len(raw)) + run + pa.Codec("zstd", 1).compress(raw, asbytes=True)
    return HEAD.pack(MAGIC, len(body), hashlib.sha256(body).digest()) + body
