"""Damaged results: never a wrong table that says nothing, never a traceback; and running again mends what it can."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import longfat
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SWEEP, command
from longfat import Experiment
from longfat.cli import prune
from longfat.errors import DamagedError, LongfatError
from longfat.store import Store
from longfat.store import checksums as sums
from longfat.store.journal import records
from longfat.store.place import place_of
from longfat.store.top import DIGEST, TABLES
from longfat.sweep.work import timed
from torture.damage import attack, contents, is_same


@pytest.fixture
def folder(swept: Path, tmp_path: Path) -> Path:
    """A results folder of SWEEP, to be damaged."""
    return Path(shutil.copytree(swept, tmp_path / "small"))


@pytest.fixture(scope="module")
def right(swept: Path) -> dict[str, Any]:
    """All that can be asked of it while it is whole."""
    return contents(swept)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_other_tools_check_the_same_sums(folder: Path) -> None:
    assert subprocess.run(["sha256sum", "--check", "--quiet", "--strict", sums.NAME], cwd=folder, check=False).returncode == 0
    assert {path.name for path in folder.iterdir() if path.is_file() and path.stat().st_size} == {*sums.read(place_of(folder)), sums.NAME}


@pytest.mark.parametrize("spoil", [flip, cut, Path.unlink])
@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_table_is_made_anew(folder: Path, table: str, spoil: object) -> None:
    before = longfat.load_results(folder)
    spoil(folder / f"{table}.parquet")  # type: ignore[operator]
    after = longfat.load_results(folder)
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(after, name), getattr(before, name), check_exact=True)
    # The table in the folder is made anew, too.
    assert pd.read_parquet(folder / f"{table}.parquet")["run"].tolist() == getattr(before, table)["run"].tolist()
    assert Store(folder).text() == SWEEP


def test_a_damaged_table_of_a_changed_experiment_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SWEEP + '\n[quick]\n"flow[0].window" = { sweep = ["8 KiB", "16 KiB"] }\n')
    assert command("run", "small.toml", "--quick", "--set", "flow[0].count=1", cwd=tmp_path).returncode == 0
    folder = tmp_path / "results" / "quick" / "small+flow0.count=1"
    before = longfat.load_results(folder).runs
    flip(folder / "runs.parquet")
    pd.testing.assert_frame_equal(longfat.load_results(folder).runs, before, check_exact=True)


def whole(folder: Path) -> str:
    """Reads everything that is neither a run nor a table."""
    longfat.load_results(folder)
    return Store(folder).text()


@pytest.mark.parametrize(
    ("name", "spoil"),
    # One digest that is wrong is that of a table, which is then made anew for nothing.
    [("provenance.json", flip), ("provenance.json", cut), ("experiment.toml", flip), ("experiment.toml", cut), ("SHA256SUMS", cut)],
)
def test_what_cannot_be_made_anew_is_one_message_and_running_again_mends_it(
    folder: Path, right: dict[str, Any], name: str, spoil: object
) -> None:
    runs = sorted((folder / "shards").rglob("*"))
    spoil(folder / name)  # type: ignore[operator]
    with pytest.raises(DamagedError, match=r"(?s)small/[^ ]+ is damaged.*; run the experiment again: what is whole is kept"):
        whole(folder)
    Experiment(SWEEP, name="small").sweep(folder)
    assert all(is_same(answer, right[what]) for what, answer in contents(folder).items())
    assert sorted((folder / "shards").rglob("*")) == runs


def shard_file(folder: Path, table: str) -> Path:
    (file,) = (folder / "shards" / table).iterdir()
    return file


def flip_in(file: Path, run: int) -> None:
    """Another value, where the footer and the pages' checksums are what Parquet would have made of it."""
    table = pq.read_table(file)
    column = table["bytes_delivered"].to_pylist()
    column[run] += 1
    at = table.column_names.index("bytes_delivered")
    pq.write_table(table.set_column(at, "bytes_delivered", pa.array(column, pa.uint64())), file, write_page_checksum=True)


def flip_data(file: Path) -> None:
    data = bytearray(file.read_bytes())
    column = pq.read_metadata(file).row_group(0).column(0)
    data[(column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size - 1] ^= 1
    file.write_bytes(data)


def cut_data(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:40])


@pytest.mark.parametrize("table", ["runs", "flows", "flow_series"])
@pytest.mark.parametrize("spoil", [flip_data, cut_data, Path.unlink])
def test_damaged_runs_are_named_put_aside_and_made_again(folder: Path, right: dict[str, Any], table: str, spoil: object) -> None:
    spoil(shard_file(folder, table))  # type: ignore[operator]
    for what, answer in contents(folder).items():
        if isinstance(answer, LongfatError):
            assert str(folder) in str(answer)
        elif what != "kept":
            assert is_same(answer, right[what])
    assert not all(Store(folder).has(run) for run in right["runs"]["run"])
    Experiment(SWEEP, name="small").sweep(folder)
    mended = contents(folder)
    assert all(is_same(mended[what], answer) for what, answer in right.items() if what != "kept" and not what.endswith("itself"))
    assert all(Store(folder).has(run) for run in right["runs"]["run"])
    prune.remove(folder, prune.chosen(prune.kept(folder), [], gone=False, unfinished=True))
    assert [one.kind for one in prune.kept(folder)] == ["current"] * 3
    assert all(Store(folder).has(run) for run in right["runs"]["run"])


def test_only_the_run_that_is_damaged_is_made_again(folder: Path) -> None:
    flip_in(shard_file(folder, "flows"), 3)
    (folder / "shards" / f"{shard_file(folder, 'runs').stem}.json").write_text("")  # so the file's own footer counts
    kept = pd.read_parquet(shard_file(folder, "flows"))["run"].tolist()
    assert [Store(folder).has(run) for run in kept] == [True, True, False, False, True, True]
    with pytest.raises(DamagedError, match=f"the run {kept[3]} .*it is not what was written; run the experiment again"):
        Store(folder).read(kept[3])
    Experiment(SWEEP, name="small").sweep(folder)
    assert [one.kind for one in prune.kept(folder)].count("damaged") == 1
    assert all(Store(folder).has(run) for run in kept)


def test_the_rows_of_another_run_are_noticed(folder: Path) -> None:
    file = shard_file(folder, "flows")
    table = pq.read_table(file)
    pq.write_table(pa.concat_tables([table.slice(2, 2), table.slice(0, 2), table.slice(4)]), file)
    (folder / "shards" / f"{file.stem}.json").write_text("")
    with pytest.raises(DamagedError, match="rows of another run"):
        Store(folder).read(table["run"][0].as_py())


def test_a_table_that_has_lost_rows_is_told(folder: Path) -> None:
    file = shard_file(folder, "flow_series")
    table = pq.read_table(file)
    last = table["run"][-1].as_py()
    pq.write_table(table.slice(0, len(table) - 1), file)
    (folder / "shards" / f"{file.stem}.json").write_text("")
    with pytest.raises(DamagedError, match=f"the run {last} .*has fewer rows than it should"):
        Store(folder).read(last)


def test_of_a_file_that_was_cut_short_what_is_whole_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GROUP_RUNS", "GROUP_CELLS"):
        monkeypatch.setattr(f"longfat.store.shard_writer.{name}", 1)
    full = Experiment(SWEEP, name="small").sweep(tmp_path)
    monkeypatch.undo()
    for table in ("runs", "flows", "links"):
        file, before = shard_file(tmp_path, table), shard_file(tmp_path, table).read_bytes()
        groups = pq.read_metadata(file)
        half = groups.row_group(groups.num_row_groups // 2).column(0)
        file.write_bytes(before[: half.dictionary_page_offset or half.data_page_offset])
        with pytest.raises(pa.ArrowException):
            pq.read_table(file)
        whole = [run for run in full.runs["run"] if Store(tmp_path).has(run)]
        assert len(whole) == 1, table
        pd.testing.assert_frame_equal(Store(tmp_path).read(whole[0]).flows, full.open(whole[0]).flows, check_exact=True)
        file.write_bytes(before)
    # In the sweep that mends it, only the others are made.
    file = shard_file(tmp_path, "flows")
    file.write_bytes(file.read_bytes()[: len(file.read_bytes()) // 2])
    Experiment(SWEEP, name="small").sweep(tmp_path)
    assert [one.kind for one in prune.kept(tmp_path)].count("damaged") in (1, 2)
    assert all(Store(tmp_path).has(run) for run in full.runs["run"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_any_damage(tmp_path: Path, seed: int) -> None:
    attack(Random(seed), tmp_path)


def test_a_journal_is_used_but_for_what_is_damaged(tmp_path: Path) -> None:
    runs = Experiment(SWEEP).resolve_all()
    with Store(tmp_path).writer() as writer:
        for run in runs:
            writer.keep(run, "", *timed(run))
    (file,) = (tmp_path / "journals").iterdir()
    whole = file.read_bytes()
    places = [one.start for one in records(file)] + [len(whole)]
    for number, run in enumerate(runs):
        data = bytearray(whole)
        data[(places[number] + places[number + 1]) // 2] ^= 1
        file.write_bytes(data)
        assert [Store(tmp_path).has(one.hash) for one in runs] == [one is not run for one in runs]
    for length in range(0, len(whole), 997):
        file.write_bytes(whole[:length])
        assert len(Store(tmp_path).finished()) == sum(end <= length for end in places[1:])
    # A record that a kill cut short is cut off, and the next writer goes on there.
    file.write_bytes(whole[: places[2] - 1])
    with Store(tmp_path).writer() as writer:
        writer.keep(runs[2], "", *timed(runs[2]))
    assert Store(tmp_path).finished() == {runs[0].hash, runs[2].hash}
    assert list((tmp_path / "journals").iterdir()) == [file]
    assert len(Experiment(SWEEP).sweep(tmp_path)) == 3


def test_the_command_says_one_thing(folder: Path) -> None:
    cut(folder / "provenance.json")
    for words in (["show", folder], ["report", folder, "--out", folder / "out"]):
        done = command(*words)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "provenance.json is damaged" in done.stderr
        assert "Traceback" not in done.stderr


def test_pages_of_tables_have_checksums(folder: Path) -> None:
    for file in (file for file in folder.rglob("*.parquet") if pq.read_metadata(file).num_rows):
        data = bytearray(file.read_bytes())
        column = pq.ParquetFile(file).metadata.row_group(0).column(0)
        # The last byte of the first column's data.
        data[(column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size - 1] ^= 1
        with pytest.raises((OSError, pa.ArrowException)):
            pq.ParquetFile(pa.BufferReader(bytes(data)), page_checksum_verification=True).read()


def test_a_damaged_note_of_a_stopped_sweep_says_where_and_what_to_do(tmp_path: Path) -> None:
    file, folder = tmp_path / "small.toml", tmp_path / "results"
    file.write_text(SWEEP)
    experiment = longfat.load(file)
    experiment.sweep_shard(folder, 1, 3)
    note = folder / "sweep.json"
    whole = note.read_bytes()
    harmed = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(0, len(whole), 7)]
    without = {name: fact for name, fact in json.loads(whole).items() if name != DIGEST}
    for data in (*harmed, json.dumps(without).encode()):
        note.write_bytes(data)
        with pytest.raises(DamagedError) as told:
            longfat.load_results(folder)
        assert str(told.value).startswith(f"{note} is damaged")
        assert str(told.value).endswith("what is whole is kept, and is not run again")
    experiment.sweep_shard(folder, 2, 3)
    assert longfat.load_results(folder).so_far.startswith("2 of the 3 runs")
