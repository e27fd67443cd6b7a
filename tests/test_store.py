"""The results folder: whole or not at all, found again, and never mistaken for another's."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import longfat
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import ONE, SWEEP, command
from longfat import Experiment, StorageError, sums
from longfat import store as store_module
from longfat import stored as stored_module
from longfat._longfat import FORMAT_VERSION, METRICS
from longfat.report import results_page
from longfat.store import Store
from longfat.sweep import Work, execute

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
    assert json.loads((swept / "runs" / runs["run"][0] / "experiment.json").read_text())


def test_the_same_sweep_again_runs_only_what_is_missing(tmp_path: Path) -> None:
    results = Experiment(SWEEP).sweep(tmp_path)
    before = inventory(tmp_path / "runs")
    gone = results.runs["run"][1]
    for file in (tmp_path / "runs" / gone).iterdir():
        file.unlink()
    (tmp_path / "runs" / gone).rmdir()
    Experiment(SWEEP).sweep(tmp_path)
    after = inventory(tmp_path / "runs")
    changed = {Path(name).parts[0] for name in after if after[name] != before[name]}
    assert changed == {gone}


def seal(folder: Path) -> None:
    """As if what is in the folder now had been written there by longfat."""
    files = {name: folder / name for name in sums.read(folder)}
    (folder / sums.NAME).write_text(sums.text({name: sums.digest(file) for name, file in files.items() if file.exists()}))


def _edit(file: Path, **facts: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | facts))
    seal(file.parent)


def test_runs_that_other_code_made_stand(tmp_path: Path) -> None:
    run = Experiment(ONE).sweep(tmp_path).runs["run"][0]
    _edit(tmp_path / "runs" / run / "run.json", longfat={"version": "0.0.1", "commit": "", "code": "another"})
    before = inventory(tmp_path / "runs")
    again = Experiment(ONE).sweep(tmp_path)
    assert inventory(tmp_path / "runs") == before
    assert again[0].provenance["longfat"]["code"] == "another"


def test_a_finished_run_is_never_written_over(tmp_path: Path) -> None:
    result, trace = execute(Experiment(ONE).resolve(0), "")
    Experiment(ONE).sweep(tmp_path)
    before = inventory(tmp_path / "runs")
    Store(tmp_path).write(result, trace)
    assert inventory(tmp_path / "runs") == before


def test_a_damaged_run_is_put_aside_and_made_again(tmp_path: Path) -> None:
    run = Experiment(ONE).sweep(tmp_path).runs["run"][0]
    (tmp_path / "runs" / run / "run.json").write_text("{")
    Experiment(ONE).sweep(tmp_path)
    assert len(longfat.load_results(tmp_path)[0].flows) == 2
    assert len([path for path in (tmp_path / "runs").iterdir() if path.name.startswith(".damaged-")]) == 1


def test_a_trace_reads_back_to_the_last_bit(tmp_path: Path) -> None:
    # Hosts with all they can have, cells, series, events, a flow that does not finish.
    for text in (SWEEP, HOSTS, CELLS):
        store = Store(tmp_path / str(len(text)))
        for run in Experiment(text).resolve_all():
            result, trace = execute(run, "")
            with store.writing():
                store.write(result, trace)
            place = store.folder / "runs" / run.hash
            rows = json.loads((place / "run.json").read_text())["rows"]
            stored = {name: stored_module.read_table(name, place / f"{name}.parquet", rows[name]) for name in store_module.RUN_TABLES}
            for name, table in stored.items():
                for column, values in trace.stored()[name].items():
                    assert np.array(values).tobytes() == np.array(table[column]).tobytes(), f"{name}.{column}"
            again, first = store.read(run.hash), trace.tables()
            assert np.array(list(again.metrics.values())).tobytes() == np.array(list(first["metrics"].values())).tobytes()
            for name in ("flows", "links", "hosts", "flow_series", "link_series", "events"):
                pd.testing.assert_frame_equal(getattr(again, name), getattr(result, name), check_exact=True)
            assert (again.end_s, again.steps, again.warnings) == (result.end_s, result.steps, result.warnings)


def test_a_metric_that_came_later_has_values_for_runs_there_were(tmp_path: Path) -> None:
    fresh = Experiment(SWEEP).sweep(tmp_path)
    before = inventory(tmp_path / "runs")
    # As a longfat left it that knew neither of these metrics.
    for table, metric in (("runs", "jain_index"), ("flows", "retransmit_share")):
        file = tmp_path / f"{table}.parquet"
        pd.read_parquet(file).drop(columns=metric).to_parquet(file)
    seal(tmp_path)
    _edit(tmp_path / "provenance.json", metrics="of an earlier longfat")
    for _ in range(2):  # computed, and then found
        now = longfat.load_results(tmp_path)
        for name in ("runs", "flows", "links", "hosts"):
            pd.testing.assert_frame_equal(getattr(now, name), getattr(fresh, name), check_exact=True)
    assert inventory(tmp_path / "runs") == before
    assert json.loads((tmp_path / "provenance.json").read_text())["metrics"] == METRICS


def test_a_folder_that_cannot_be_written_shows_new_metrics_all_the_same(tmp_path: Path) -> None:
    fresh = Experiment(ONE).sweep(tmp_path)
    _edit(tmp_path / "provenance.json", metrics="of an earlier longfat")
    with Store(tmp_path).writing():  # so nobody else writes there
        pd.testing.assert_frame_equal(longfat.load_results(tmp_path).runs, fresh.runs, check_exact=True)
    assert json.loads((tmp_path / "provenance.json").read_text())["metrics"] == "of an earlier longfat"


def test_a_trace_stored_without_a_column_says_so(tmp_path: Path) -> None:
    run = Experiment(ONE).sweep(tmp_path).runs["run"][0]
    file = tmp_path / "runs" / run / "flows.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["timeouts"]), file)
    seal(file.parent)
    assert any("stored without flows.timeouts" in warning.text for warning in Store(tmp_path).read(run).warnings)


def test_a_trace_that_has_lost_a_table_is_told(tmp_path: Path) -> None:
    run = Experiment(ONE).sweep(tmp_path).runs["run"][0]
    place = tmp_path / "runs" / run
    file = place / "flow_series.parquet"
    pq.write_table(pq.read_table(file).slice(1), file)
    seal(place)
    with pytest.raises(StorageError, match=r"is not a finished run: flow_series.parquet has \d+ rows, and was written with \d+"):
        Store(tmp_path).read(run)
    file.unlink()
    with pytest.raises(StorageError, match="is gone"):
        Store(tmp_path).read(run)


def test_an_experiment_that_this_version_cannot_read(tmp_path: Path) -> None:
    run = Experiment(ONE).sweep(tmp_path).runs["run"][0]
    _edit(tmp_path / "runs" / run / "experiment.json", teleport=True)
    with pytest.raises(StorageError, match=r"cannot read the experiment of .*another version made:(.|\n)*teleport"):
        Store(tmp_path).read(run)


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
        for name in store_module.RUN_TABLES:
            getattr(result, name).to_parquet(place / f"{name}.parquet", index=False, compression="zstd")
        (place / "experiment.json").write_text(result.resolved)
        facts = {name: getattr(result, name) for name in (*store_module.RUN_FIELDS, "end_s", "steps")}
        facts["warnings"] = [warning.text for warning in result.warnings]
        metrics = {name: None if value != value else value for name, value in result.metrics.items()}
        (place / "run.json").write_text(json.dumps({"code": "0123", **facts, "metrics": metrics}))
    runs = pd.read_parquet(folder / "runs.parquet")
    runs.assign(run="old" + runs["run"].str[3:]).to_parquet(folder / "runs.parquet", index=False)


def test_a_folder_of_format_2_is_shown_and_stays(tmp_path: Path) -> None:
    fresh = Experiment(SWEEP, name="small").sweep()
    folder = tmp_path / "results" / "small"
    folder.parent.mkdir()
    write_format_2(folder, fresh)
    before = inventory(folder)
    old = longfat.load_results(folder)
    assert list(old.runs["jain_index"]) == list(fresh.runs["jain_index"])
    pd.testing.assert_frame_equal(old[0].flow_series, fresh[0].flow_series)
    assert old[0].provenance["results_version"] == 2
    assert command("show", folder).returncode == 0
    assert command("report", folder, "--out", tmp_path / "reports").returncode == 0
    assert inventory(folder) == before
    # The sweep runs beside it, and what is there stays.
    Experiment(SWEEP, name="small").sweep(folder)
    runs = inventory(folder / "runs")
    assert {name: when for name, when in runs.items() if name.startswith("old")} == {
        name.removeprefix("runs/"): when for name, when in before.items() if name.startswith("runs/")
    }
    assert len(list((folder / "runs").iterdir())) == 6


def test_labels_are_those_of_the_sweep_that_asks(tmp_path: Path) -> None:
    Experiment(SWEEP).sweep(tmp_path)
    renamed = Experiment(SWEEP.replace('"64 KiB"]', '"64 KiB"], name = "limit"'))
    assert list(renamed.sweep(tmp_path).runs["limit"]) == ["8 KiB", "16 KiB", "64 KiB"]


def test_results_of_a_newer_format_are_left_alone(tmp_path: Path) -> None:
    Experiment(ONE).sweep(tmp_path)
    _edit(tmp_path / "provenance.json", format_version=FORMAT_VERSION + 1)
    before = inventory(tmp_path)
    with pytest.raises(StorageError, match=f"format {FORMAT_VERSION + 1}.*up to {FORMAT_VERSION}"):
        longfat.load_results(tmp_path)
    with pytest.raises(StorageError, match="use a newer longfat"):
        Experiment(ONE).sweep(tmp_path)
    assert {n: t for n, t in inventory(tmp_path).items() if n not in LOCKS} == {n: t for n, t in before.items() if n not in LOCKS}


def test_a_sweep_that_was_stopped_shows_what_is_finished(tmp_path: Path) -> None:
    experiment, folder = Experiment(SWEEP), tmp_path / "kept"

    def stop(work: Work) -> None:
        if work.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiment.sweep(folder, jobs=1, tick=stop)
    part = longfat.load_results(folder)
    assert 1 <= len(part) < 3
    assert part.so_far == f"{len(part)} of the 3 runs of this sweep: it was stopped."
    assert part.axes == ["window"]
    assert part.warnings
    assert results_page(part, Store(folder).text_so_far()).html.count(part.so_far) == 1
    shown = command("show", folder)
    assert part.so_far in shown.stdout, shown.stderr
    with Store(folder).writing():
        assert longfat.load_results(folder).so_far.endswith("it is still running.")
    # A run that is damaged is not finished.
    resolved = folder / "runs" / part.runs["run"].iloc[0] / "experiment.json"
    resolved.write_text(resolved.read_text()[:-1])
    if len(part) == 1:
        with pytest.raises(StorageError, match="none of the 3 runs of its sweep is finished"):
            longfat.load_results(folder)
    whole = experiment.sweep(folder)
    assert not whole.so_far
    assert not longfat.load_results(folder).so_far
    assert len(longfat.load_results(folder)) == 3


def test_a_folder_that_holds_no_results(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="holds no results"):
        longfat.load_results(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot write results to .*: Not a directory"):
        Experiment(ONE).sweep(tmp_path / "file" / "results")


def test_a_disk_that_fills_keeps_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = store_module.write_table, 0

    def fills(name: str, table: Any, path: Path) -> int:
        nonlocal calls
        calls += 1
        if calls > len(store_module.RUN_TABLES) + 2:  # in the middle of the second run
            path.write_bytes(b"half a file")
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(name, table, path)

    monkeypatch.setattr(store_module, "write_table", fills)
    with pytest.raises(StorageError, match=r"No space left on device; make room.*1 run.*kept"):
        Experiment(SWEEP).sweep(tmp_path, jobs=1)
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert not list(tmp_path.rglob(".unfinished-*"))
    monkeypatch.undo()
    assert len(Experiment(SWEEP).sweep(tmp_path)) == 3


@pytest.mark.slow
def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    # A limit on the size of files is the fullest disk that needs no rights to make.
    (tmp_path / "one.toml").write_text(ONE)
    script = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));from longfat.cli import main; main()"
    call = [sys.executable, "-c", script, "run", "one.toml"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot write results to results/one: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "results" / "one" / "runs").iterdir())
    assert not (tmp_path / "results" / "one" / "runs.parquet").exists()


@pytest.mark.slow
def test_two_at_once_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE)
    with Store(tmp_path / "results" / "one").writing():
        done = command("run", "one.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert "another longfat is writing" in done.stderr


def test_what_a_killed_sweep_left_half_done_is_removed(tmp_path: Path) -> None:
    half = tmp_path / "runs" / ".unfinished-0123"
    half.mkdir(parents=True)
    (half / "flows.parquet").write_bytes(b"half")
    Experiment(ONE).sweep(tmp_path)
    assert not half.exists()
