"""Results of earlier versions: a folder for each run. They are read, kept, mended as they were, and packed."""

from __future__ import annotations

from pathlib import Path

import longfat
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import ONE, SWEEP, command
from longfat import Experiment, StorageError, prune, sums
from longfat.errors import DamagedError
from longfat.store import Store, shard
from longfat.store.place import place_of
from longfat.store.top import TABLES
from longfat.sweep import timed
from old_forms import as_format_3, edit, seal, write_format_2, write_format_4
from test_damage import cut, flip
from test_store import inventory
from torture.damage import contents, is_same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of format 4."""
    folder = tmp_path / "small"
    write_format_4(folder, Experiment(SWEEP, name="small"))
    return folder


def test_runs_that_other_code_made_stand(tmp_path: Path) -> None:
    run = write_format_4(tmp_path, Experiment(ONE)).runs["run"][0]
    edit(tmp_path / "runs" / run / "run.json", longfat={"version": "0.0.1", "commit": "", "code": "another"})
    before = inventory(tmp_path / "runs")
    again = Experiment(ONE).sweep(tmp_path)
    assert inventory(tmp_path / "runs") == before
    assert again[0].provenance["longfat"]["code"] == "another"


def test_a_trace_stored_without_a_column_says_so(tmp_path: Path) -> None:
    run = write_format_4(tmp_path, Experiment(ONE)).runs["run"][0]
    file = tmp_path / "runs" / run / "flows.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["timeouts"]), file)
    seal(file.parent)
    assert any("stored without flows.timeouts" in warning.text for warning in Store(tmp_path).read(run).warnings)


def test_shards_of_a_longfat_that_lacked_a_table_are_read_and_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Experiment(SWEEP).sweep()
    with monkeypatch.context() as before:
        before.setattr(shard, "TRACE_TABLES", tuple(name for name in shard.TRACE_TABLES if name != "acks"))
        for value in ("8 KiB", "16 KiB"):
            some = Store(tmp_path)
            with some.writer() as writer:
                for run in Experiment(SWEEP).resolve_all():
                    if dict(run.labels)["window"] == value:
                        writer.keep(run, "", *timed(run))
            some.gather()
    store = Store(tmp_path)
    assert len(store.finished()) == 2
    store.gather()
    for result in expected:
        if result.run in store.finished():
            again = store.read(result.run)
            assert str(again.metrics) == str(result.metrics)
            assert not len(again.acks)


def test_a_trace_that_has_lost_a_table_is_told(tmp_path: Path) -> None:
    run = write_format_4(tmp_path, Experiment(ONE)).runs["run"][0]
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
    run = write_format_4(tmp_path, Experiment(ONE)).runs["run"][0]
    edit(tmp_path / "runs" / run / "experiment.json", teleport=True)
    with pytest.raises(StorageError, match=r"cannot read the experiment of the run .*another version made:(.|\n)*teleport"):
        Store(tmp_path).read(run)


def test_a_damaged_run_is_put_aside_and_made_again(tmp_path: Path) -> None:
    run = write_format_4(tmp_path, Experiment(ONE)).runs["run"][0]
    (tmp_path / "runs" / run / "run.json").write_text("{")
    Experiment(ONE).sweep(tmp_path)
    assert len(longfat.load_results(tmp_path)[0].flows) == 2
    assert [one.kind for one in prune.kept(tmp_path)] == ["current", "damaged"]


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
    assert len(list((folder / "runs").iterdir())) == 3
    # They have no traces: packing leaves them.
    assert Store(folder).pack() == (0, 3)
    assert len(list((folder / "runs").iterdir())) == 3


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
    assert sums.read(place_of(folder))


@pytest.mark.parametrize("form", [3, 4])
def test_packed_results_are_the_same(folder: Path, form: int) -> None:
    right = contents(folder)
    if form == 3:
        as_format_3(folder)
    run = right["runs"]["run"][0]
    (folder / "runs" / ".unfinished-0123").mkdir()
    done = command("pack", folder)
    assert "Packed 3 runs" in done.stdout, done.stderr
    assert not (folder / "runs").exists()
    assert sorted(path.parent.name for path in folder.glob("shards/*/*.parquet")) == [
        "events",
        "flow_series",
        "flows",
        "index",
        "link_series",
        "links",
        "runs",
    ]
    assert all(is_same(answer, right[what]) for what, answer in contents(folder).items())
    before = inventory(folder / "shards")
    assert len(Experiment(SWEEP, name="small").sweep(folder)) == 3
    assert inventory(folder / "shards") == before
    assert Store(folder).pack() == (0, 0)
    assert Store(folder).has(run)


def test_what_is_damaged_is_not_packed(folder: Path) -> None:
    run = longfat.load_results(folder).runs["run"][1]
    flip(folder / "runs" / run / "flows.parquet")
    done = command("pack", folder)
    assert "Packed 2 runs" in done.stdout
    assert "1 folder had to stay" in done.stdout
    assert [path.name for path in (folder / "runs").iterdir()] == [run]
    assert len(Experiment(SWEEP, name="small").sweep(folder)) == 3


def test_packing_waits_for_no_writer(folder: Path) -> None:
    with Store(folder).writer():
        done = command("pack", folder)
    assert done.returncode == 1
    assert "another longfat is writing" in done.stderr
    assert len(list((folder / "runs").iterdir())) == 3
