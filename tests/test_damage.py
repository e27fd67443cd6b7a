"""Damaged results: never a wrong table that says nothing, never a traceback; and running again mends what it can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import longfat
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SWEEP, as_format_3, command
from longfat import Experiment, StorageError, prune, sums
from longfat.errors import DamagedError
from longfat.store import TABLES, Store
from torture.damage import contents, is_same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    Experiment(SWEEP, name="small").sweep(folder)
    return folder


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_other_tools_check_the_same_sums(folder: Path) -> None:
    for place in (folder, *(folder / "runs").iterdir()):
        assert subprocess.run(["sha256sum", "--check", "--quiet", "--strict", sums.NAME], cwd=place, check=False).returncode == 0
        assert {path.name for path in place.iterdir() if path.is_file()} == {
            *sums.read(place),
            sums.NAME,
            *({".lock", ".writers"} if place == folder else ()),
        }


@pytest.mark.parametrize("spoil", [flip, cut, Path.unlink])
@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_table_is_made_anew(folder: Path, table: str, spoil: object) -> None:
    before = longfat.load_results(folder)
    spoil(folder / f"{table}.parquet")  # type: ignore[operator]
    after = longfat.load_results(folder)
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(after, name), getattr(before, name), check_exact=True)
    # In the folder, too.
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
    """What is neither a run nor a table."""
    longfat.load_results(folder)
    return Store(folder).text()


@pytest.mark.parametrize(
    ("name", "spoil"),
    # One digest that is wrong is that of a table, which is then made anew for nothing.
    [("provenance.json", flip), ("provenance.json", cut), ("experiment.toml", flip), ("experiment.toml", cut), ("SHA256SUMS", cut)],
)
def test_what_cannot_be_made_anew_is_one_message_and_running_again_mends_it(folder: Path, name: str, spoil: object) -> None:
    right, runs = contents(folder), sorted((folder / "runs").iterdir())
    spoil(folder / name)  # type: ignore[operator]
    with pytest.raises(DamagedError, match=r"(?s)small/[^ ]+ is damaged.*; run the experiment again: what is whole is kept"):
        whole(folder)
    Experiment(SWEEP, name="small").sweep(folder)
    assert all(is_same(answer, right[what]) for what, answer in contents(folder).items())
    assert sorted((folder / "runs").iterdir()) == runs


@pytest.mark.parametrize("name", ["run.json", "experiment.json", "flows.parquet", "flow_series.parquet", "SHA256SUMS"])
@pytest.mark.parametrize("spoil", [flip, cut, Path.unlink])
def test_a_damaged_run_is_named_put_aside_and_made_again(folder: Path, name: str, spoil: object) -> None:
    results = longfat.load_results(folder)
    run = results.runs["run"][1]
    before = results.open(run)
    spoil(folder / "runs" / run / name)  # type: ignore[operator]
    assert not Store(folder).has(run)
    with pytest.raises(DamagedError, match=f"runs/{run}"):
        results.open(run)
    again = Experiment(SWEEP, name="small").sweep(folder)
    pd.testing.assert_frame_equal(again.open(run).flow_series, before.flow_series, check_exact=True)
    assert [one.kind for one in prune.kept(folder)].count("damaged") == 1


def test_a_run_in_the_place_of_another_is_noticed(folder: Path) -> None:
    one, other = sorted((folder / "runs").iterdir())[:2]
    for file in one.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    with pytest.raises(DamagedError, match="holds another run"):
        Store(folder).read(other.name)


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


def test_a_folder_without_sums_is_read_and_its_damage_told_where_it_shows(folder: Path) -> None:
    right = contents(folder)
    as_format_3(folder)
    assert all(is_same(answer, right[what]) for what, answer in contents(folder).items())
    cut(folder / "runs.parquet")
    assert is_same(contents(folder)["runs"], right["runs"])
    assert not (folder / sums.NAME).exists()
    run = right["runs"]["run"][0]
    cut(folder / "runs" / run / "flows.parquet")
    with pytest.raises(StorageError, match="is not a finished run"):
        Store(folder).read(run)
    Experiment(SWEEP, name="small").sweep(folder)
    assert all(is_same(answer, right[what]) for what, answer in contents(folder).items() if what in TABLES)
    assert sums.read(folder)
