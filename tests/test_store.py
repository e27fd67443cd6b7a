"""The results folder: whole or not at all, found again, and never mistaken for another's."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import longfat
import pandas as pd
import pytest
from conftest import ONE, SWEEP, command
from longfat import Experiment, StorageError, store
from longfat._longfat import FORMAT_VERSION
from longfat.store import Store


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


def test_runs_of_other_code_are_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Experiment(ONE).sweep(tmp_path)
    before = inventory(tmp_path / "runs")
    monkeypatch.setattr(store, "CODE", "another")
    Experiment(ONE).sweep(tmp_path)
    assert all(inventory(tmp_path / "runs")[name] != before[name] for name in before)


def test_labels_are_those_of_the_sweep_that_asks(tmp_path: Path) -> None:
    Experiment(SWEEP).sweep(tmp_path)
    renamed = Experiment(SWEEP.replace('"64 KiB"]', '"64 KiB"], name = "limit"'))
    assert list(renamed.sweep(tmp_path).runs["limit"]) == ["8 KiB", "16 KiB", "64 KiB"]


def test_results_of_a_newer_format_are_left_alone(tmp_path: Path) -> None:
    Experiment(ONE).sweep(tmp_path)
    facts = json.loads((tmp_path / "provenance.json").read_text())
    (tmp_path / "provenance.json").write_text(json.dumps(facts | {"format_version": FORMAT_VERSION + 1}))
    before = inventory(tmp_path)
    with pytest.raises(StorageError, match=f"format {FORMAT_VERSION + 1}.*up to {FORMAT_VERSION}"):
        longfat.load_results(tmp_path)
    with pytest.raises(StorageError, match="use a newer longfat"):
        Experiment(ONE).sweep(tmp_path)
    assert {n: t for n, t in inventory(tmp_path).items() if n != ".lock"} == {n: t for n, t in before.items() if n != ".lock"}


def test_a_folder_that_holds_no_results(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="holds no results"):
        longfat.load_results(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot write results to .*: Not a directory"):
        Experiment(ONE).sweep(tmp_path / "file" / "results")


def test_a_disk_that_fills_keeps_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = store._write_table, 0

    def fills(table: pd.DataFrame, path: Path) -> None:
        nonlocal calls
        calls += 1
        if calls > len(store.RUN_TABLES) + 2:  # in the middle of the second run
            path.write_bytes(b"half a file")
            raise OSError(errno.ENOSPC, "No space left on device")
        write(table, path)

    monkeypatch.setattr(store, "_write_table", fills)
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
