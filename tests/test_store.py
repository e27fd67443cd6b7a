"""The results folder: whole or not at all, found again, and never mistaken for another's."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from concurrent.futures import Future, wait
from pathlib import Path

import longfat
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ONE, SWEEP, command
from kept import edit, seal
from longfat import Experiment, StorageError
from longfat._longfat import METRICS
from longfat.report.page import results_page
from longfat.store import FORMAT_VERSION, Store
from longfat.store.arrow import from_arrow
from longfat.store.journal import MAGIC
from longfat.store.place import Folder
from longfat.sweep import work
from longfat.sweep.work import Work, execute, timed

HOSTS = """\
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s", loss = { kind = "bernoulli", probability = 0.01 } }
edge = { rate = "100 Mbit/s" }

[[host]]
name = "left"
memory = "64 KiB"
cpu = "100 MHz"
send_packet = "20000 cycles"

[[flow]]
traffic = { kind = "ttcp", volume = "50 MB" }

[[flow]]
traffic = { kind = "ping", interval = "100 ms" }

[measure]
duration = "3 s"
warmup = "1 s"
interval = "100 ms"
events = true
"""
PACKETS = """\
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s" }
edge = { rate = "100 Mbit/s" }

[[flow]]
traffic = { kind = "ttcp", volume = "100 kB" }

[measure]
duration = "2 s"
packets = "all"
acks = true
"""
CELLS = """\
[path]
preset = "atm"
senders = 2
bottleneck = { type = "atm", rate = "10 Mbit/s", delay = "5 ms" }
edge = { type = "atm", rate = "50 Mbit/s", delay = "1 ms" }

[[flow]]
count = 2

[measure]
duration = "3 s"
warmup = "1 s"
"""


LOCKS = {".lock", ".writers"}


def inventory(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def test_what_is_written_reads_back_the_same(swept: Path) -> None:
    kept, fresh = longfat.load_results(swept), Experiment(SWEEP).sweep()
    for table in ("runs", "flows", "links", "hosts"):
        pd.testing.assert_frame_equal(getattr(kept, table), getattr(fresh, table), check_exact=True)
    for old, new in zip(kept, fresh, strict=True):
        pd.testing.assert_frame_equal(old.series, new.series, check_exact=True)
        pd.testing.assert_frame_equal(old.events, new.events, check_exact=True)
        assert (old.labels, old.resolved, old.metrics.keys()) == (new.labels, new.resolved, new.metrics.keys())


def test_any_tool_reads_the_tables(swept: Path) -> None:
    runs = pd.read_parquet(swept / "runs.parquet")
    flows = pd.read_parquet(swept / "flows.parquet")
    assert set(flows["run"]) == set(runs["run"])
    assert json.loads((swept / "provenance.json").read_text())["format_version"] == FORMAT_VERSION
    assert (swept / "experiment.toml").read_text() == SWEEP
    kept = pd.read_parquet(next((swept / "shards" / "runs").iterdir()))
    assert set(kept["run"]) == set(runs["run"])
    assert all(json.loads(resolved) for resolved in kept["resolved"])


def test_a_metric_that_came_later_has_values_for_runs_there_were(tmp_path: Path) -> None:
    fresh = Experiment(SWEEP).sweep(tmp_path).select(repeat=0)  # read now: the files are changed in their place
    before = inventory(tmp_path / "shards")
    # The tables are left as a longfat left them that knew neither of these metrics.
    for table, metric in (("runs", "jain_index"), ("flows", "retransmit_share")):
        file = tmp_path / f"{table}.parquet"
        pd.read_parquet(file).drop(columns=metric).to_parquet(file)
    seal(tmp_path)
    edit(tmp_path / "provenance.json", metrics="of another longfat")
    for _ in range(2):  # computed, and then found
        now = longfat.load_results(tmp_path)
        for name in ("runs", "flows", "links", "hosts"):
            pd.testing.assert_frame_equal(getattr(now, name), getattr(fresh, name), check_exact=True)
    assert inventory(tmp_path / "shards") == before
    assert json.loads((tmp_path / "provenance.json").read_text())["metrics"] == METRICS


def test_labels_are_those_of_the_sweep_that_asks(tmp_path: Path) -> None:
    Experiment(SWEEP).sweep(tmp_path)
    renamed = Experiment(SWEEP.replace('"64 KiB"]', '"64 KiB"], name = "limit"'))
    assert list(renamed.sweep(tmp_path).runs["limit"]) == ["8 KiB", "16 KiB", "64 KiB"]


def test_results_of_a_newer_format_are_left_alone(tmp_path: Path) -> None:
    Experiment(ONE).sweep(tmp_path)
    edit(tmp_path / "provenance.json", format_version=FORMAT_VERSION + 1)
    before = inventory(tmp_path)
    with pytest.raises(StorageError, match=f"format {FORMAT_VERSION + 1}.*up to {FORMAT_VERSION}"):
        longfat.load_results(tmp_path)
    with pytest.raises(StorageError, match="use a newer longfat"):
        Experiment(ONE).sweep(tmp_path)
    assert {n: t for n, t in inventory(tmp_path).items() if n not in LOCKS} == {n: t for n, t in before.items() if n not in LOCKS}


def test_a_sweep_that_was_stopped_shows_what_is_finished(tmp_path: Path) -> None:
    experiment, folder = Experiment(f"repeats = 20\n{SWEEP}"), tmp_path / "kept"

    def stop(work: Work) -> None:
        if work.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiment.sweep(folder, jobs=1, tick=stop)
    part = longfat.load_results(folder)
    assert 1 <= len(part) < 60
    assert part.so_far == f"{len(part)} of the 60 runs of this sweep: it was stopped."
    assert part.axes == ["window"]
    assert part.warnings
    assert results_page(part, Store(folder).text_so_far()).html.count(part.so_far) == 1
    shown = command("show", folder)
    assert part.so_far in shown.stdout, shown.stderr
    with Store(folder).writer():
        assert longfat.load_results(folder).so_far.endswith("it is still running.")
    # A run that is damaged is not finished.
    (journal,) = (folder / "journals").iterdir()
    journal.write_bytes(journal.read_bytes()[:-1])
    if len(part) == 1:
        with pytest.raises(StorageError, match="none of the 60 runs of its sweep is finished"):
            longfat.load_results(folder)
    whole = experiment.sweep(folder)
    assert not whole.so_far
    assert not longfat.load_results(folder).so_far
    assert len(longfat.load_results(folder)) == 60


def test_a_folder_that_holds_no_results(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="holds no results"):
        longfat.load_results(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot write results to .*: Not a directory"):
        Experiment(ONE).sweep(tmp_path / "file" / "results")


@pytest.mark.slow
def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    # A limit on the size of files is the fullest disk that needs no rights to make.
    (tmp_path / "one.toml").write_text(ONE)
    script = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));from longfat.cli.app import main; main()"
    call = [sys.executable, "-c", script, "run", "one.toml"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot write results to results/one: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    kept = [path.name for path in (tmp_path / "results" / "one").rglob("*") if path.is_file() and path.stat().st_size]
    assert set(kept) <= {"sweep.json"}
    assert not (tmp_path / "results" / "one" / "runs.parquet").exists()


def test_the_same_sweep_again_runs_only_what_is_missing(tmp_path: Path) -> None:
    two = SWEEP.replace(', "64 KiB"]', "]")
    Experiment(two).sweep(tmp_path)
    before = inventory(tmp_path / "shards")
    Experiment(SWEEP).sweep(tmp_path)
    after = inventory(tmp_path / "shards")
    assert {name: after[name] for name in before} == before
    (added,) = [name for name in after.keys() - before.keys() if name.startswith("runs/")]
    assert pq.read_metadata(tmp_path / "shards" / added).num_rows == 1
    Experiment(SWEEP).sweep(tmp_path)
    assert inventory(tmp_path / "shards") == after


def test_a_finished_run_is_never_written_over(tmp_path: Path) -> None:
    run = Experiment(ONE).resolve(0)
    Experiment(ONE).sweep(tmp_path)
    before = inventory(tmp_path / "shards")
    with Store(tmp_path).writer() as writer:
        writer.keep(run, "", *timed(run))
    Store(tmp_path).gather()
    assert inventory(tmp_path / "shards") == before
    assert not list((tmp_path / "journals").iterdir())


@pytest.mark.parametrize("form", ["journal", "shard"])
@pytest.mark.parametrize("text", [SWEEP, HOSTS, CELLS, PACKETS], ids=["sweep", "hosts", "cells", "packets"])
def test_a_trace_reads_back_to_the_last_bit(tmp_path: Path, text: str, form: str) -> None:
    # Hosts with all they can have, cells, series, events, packets, a flow that does not finish.
    store = Store(tmp_path)
    for run in Experiment(text).resolve_all():
        result, trace = execute(run, "")
        with store.writer() as writer:
            writer.keep(run, "", trace, result.wall_s, result.cpu_s)
        if form == "shard":
            store.gather()
        again, facts = store.trace(run.hash)
        assert facts["labels"] == dict(run.labels)
        # They may have been made of the trace in two seconds.
        assert facts["provenance"] | {"finished": ""} == result.provenance | {"finished": ""}
        assert again.missing == []
        for name, table in trace.stored().items():
            stored = again.stored()[name]
            assert list(stored) == list(table)
            for column, values in table.items():
                assert np.array(values).tobytes() == np.array(stored[column]).tobytes(), f"{name}.{column}"
        read, first = store.read(run.hash), trace.tables()
        assert np.array(list(read.metrics.values())).tobytes() == np.array(list(first["metrics"].values())).tobytes()
        for name in (
            "flows",
            "links",
            "hosts",
            "flow_series",
            "link_series",
            "events",
            "packets",
            "acks",
            "tcp_info",
            "probes",
            "datagrams",
            "hops",
        ):
            pd.testing.assert_frame_equal(getattr(read, name), getattr(result, name), check_exact=True)
        assert (read.end_s, read.steps, read.warnings) == (result.end_s, result.steps, result.warnings)
    assert bool(list(tmp_path.glob("shards/runs/*"))) == (form == "shard")


def test_a_folder_that_cannot_be_written_shows_new_metrics_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Experiment(ONE).sweep(tmp_path)
    edit(tmp_path / "provenance.json", metrics="of another longfat")

    def refuses(self: Folder, files: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Folder, "put_all", refuses)
    pd.testing.assert_frame_equal(longfat.load_results(tmp_path).runs, fresh.runs, check_exact=True)
    assert json.loads((tmp_path / "provenance.json").read_text())["metrics"] == "of another longfat"


def test_a_disk_that_fills_keeps_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine both runs may have ended before either is looked at, and in any order.
    def failures_first(futures: set[Future[None]], **_: object) -> tuple[list[Future[None]], set[Future[None]]]:
        done, rest = wait(futures)
        return sorted(done, key=lambda future: future.exception() is None), rest

    monkeypatch.setattr(work, "wait", failures_first)
    write, calls = os.write, 0

    def fills(file: int, data: bytes) -> int:
        nonlocal calls
        if not data.startswith(MAGIC):
            return write(file, data)
        calls += 1
        if calls > 1:  # in the middle of the second run
            write(file, data[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", fills)
    with pytest.raises(StorageError, match=r"No space left on device; make room .*\(kept: 1 finished run\)"):
        Experiment(SWEEP).sweep(tmp_path, jobs=1)
    monkeypatch.undo()
    assert len(Store(tmp_path).finished()) == 1
    assert len(Experiment(SWEEP).sweep(tmp_path)) == 3


def test_a_disk_that_fills_while_a_shard_is_made_keeps_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = Folder.put

    def fills(self: Folder, name: str, content: object) -> None:
        if name.startswith("shards/links"):
            raise OSError(errno.ENOSPC, "No space left on device")
        put(self, name, content)  # type: ignore[arg-type]

    monkeypatch.setattr(Folder, "put", fills)
    with pytest.raises(StorageError, match="No space left on device; make room"):
        Experiment(SWEEP).sweep(tmp_path)
    monkeypatch.undo()
    assert not list(tmp_path.glob("shards/*.json"))
    assert len(Store(tmp_path).finished()) == 3
    assert all(Store(tmp_path).has(run) for run in Store(tmp_path).finished())
    Experiment(SWEEP).sweep(tmp_path)
    # Files that the shard that never was had left are gone.
    assert [len(list((tmp_path / "shards" / name).iterdir())) for name in ("runs", "flows", "links")] == [1, 1, 1]


def test_a_shard_that_lost_what_says_that_it_is_there_counts_again(tmp_path: Path) -> None:
    before = Experiment(SWEEP).sweep(tmp_path)
    runs = Store(tmp_path).finished()
    (said,) = tmp_path.glob("shards/*.json")
    said.unlink()
    with Store(tmp_path).writer():
        pass
    assert [path.name for path in tmp_path.glob("shards/*.json")] == [said.name]
    assert Store(tmp_path).finished() == runs
    assert Experiment(SWEEP).sweep(tmp_path).flows.equals(before.flows)


def test_a_shard_that_is_not_whole_and_does_not_say_that_it_is_there_goes(tmp_path: Path) -> None:
    Experiment(SWEEP).sweep(tmp_path)
    for path in (*tmp_path.glob("shards/*.json"), *tmp_path.glob("shards/flows/*.parquet")):
        path.unlink()
    with Store(tmp_path).writer():
        pass
    assert not list(tmp_path.glob("shards/**/*.parquet"))


@pytest.mark.slow
def test_two_sweeps_at_once(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE)
    with Store(tmp_path / "results" / "one").writing():
        done = command("run", "one.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert "another longfat is writing" in done.stderr


def test_what_a_killed_sweep_left_half_done_is_removed(tmp_path: Path) -> None:
    half = [tmp_path / "shards" / "flows" / ".unfinished-0123-flows.parquet", tmp_path / "shards" / "flows" / "nobody.parquet"]
    for file in half:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"half")
    Experiment(ONE).sweep(tmp_path)
    assert not any(file.exists() for file in half)


def test_cells_that_begin_at_any_byte_are_aligned() -> None:
    """Arrow's buffers of a journal stand where the run before ends."""
    buffer = pa.py_buffer(b"?" + np.arange(4, dtype=np.uint64).tobytes())
    column = pa.Array.from_buffers(pa.uint64(), 4, [None, buffer.slice(1)])
    assert not column.to_numpy().flags.aligned
    cells = from_arrow("flow_series", pa.table({"flow": column}))["flow"]
    assert cells.flags.aligned
    assert cells.tolist() == [0, 1, 2, 3]
