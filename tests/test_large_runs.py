"""Runs whose series are larger than what is kept in memory: written some rows at a time, into a shard of their own, and read so."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from longfat import Experiment
from longfat._longfat import Run, Trace
from longfat.errors import DamagedError, LongfatError
from longfat.plot.over_time import time_plots
from longfat.results.result import WITHOUT_SERIES, Result, changed, from_trace
from longfat.store import Store, finished
from longfat.store.finished import Finished
from longfat.store.place import Folder
from longfat.store.shards import Shards
from longfat.sweep.work import timed

TEXT = """\
title = "Many samples"
[path]
preset = "dumbbell"
pairs = 2
rtt = "20 ms"
bottleneck = { rate = "20 Mbit/s" }
[[flow]]
congestion_control = "cubic"
count = 2
[measure]
duration = "6 s"
interval = "100 us"
events = true
"""
Ran = tuple[Run, Trace, float, float]
SERIES = ("flow_series", "link_series")


@pytest.fixture(scope="module")
def ran() -> Ran:
    run = Experiment(TEXT).resolve(0)
    return run, *timed(run)


def tables_of(result: Result) -> dict[str, pd.DataFrame]:
    return {name: getattr(result, name) for name in ("flows", "links", *SERIES, "events")}


def same(one: Result, other: Result) -> None:
    assert np.array(list(one.metrics.values())).tobytes() == np.array(list(other.metrics.values())).tobytes()
    for name, table in tables_of(one).items():
        pd.testing.assert_frame_equal(table, getattr(other, name), check_exact=True)


@pytest.fixture
def kept(tmp_path: Path, ran: Ran) -> Iterator[tuple[Store, str]]:
    run, trace, wall_s, cpu_s = ran
    store = Store(tmp_path)
    with store.writer() as writer:
        writer.keep(run, "", trace, wall_s, cpu_s)
        # At once, and while the writer goes on.
        assert list(tmp_path.glob("shards/flow_series/*"))
        assert not any(path.stat().st_size for path in tmp_path.glob("journals/*"))
    return store, run.hash


def test_a_large_run_reads_back_as_if_it_were_small(
    kept: tuple[Store, str],
    tmp_path: Path,
    ran: Ran,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, hash = kept
    run, trace, wall_s, cpu_s = ran
    result = from_trace(run, "", trace, wall_s, cpu_s)
    assert all(trace.pieces(name)[1] > 1 for name in SERIES)
    assert len(result.flow_series) == 2 * 60_001
    same(store.read(hash), result)
    [one] = store.tables_of([hash])
    assert isinstance(one, tuple)
    found, read = one
    assert found == hash
    assert isinstance(read, Result)
    same(read, result)
    again, _ = store.trace(hash)
    for name, table in trace.stored().items():
        for column, values in table.items():
            assert np.array(values).tobytes() == np.array(again.stored()[name][column]).tobytes(), f"{name}.{column}"
    # In one piece, in a journal, it has the same digest, of the same second.
    monkeypatch.setattr("longfat.results.provenance._now", lambda: "")
    digest = Finished.of_run(run, "", trace, wall_s, cpu_s).digest
    monkeypatch.setattr(finished, "LARGE", 10**9)
    small = Store(tmp_path / "small")
    with small.writer() as writer:
        writer.keep(run, "", trace, wall_s, cpu_s)
    assert list((tmp_path / "small" / "journals").iterdir())
    assert Finished.of_run(run, "", trace, wall_s, cpu_s).digest == digest
    same(small.read(hash), result)


def test_its_series_stay_where_they_are_until_they_are_asked_for(kept: tuple[Store, str]) -> None:
    store, hash = kept
    result = store.read(hash)
    small = changed(result, **WITHOUT_SERIES)
    assert not len(small.flow_series)
    assert not len(small.link_series)
    assert len(result.flow_series)
    same(pickle.loads(pickle.dumps(store.read(hash))), result)


def test_a_figure_has_samples_that_are_evenly_spread(kept: tuple[Store, str], monkeypatch: pytest.MonkeyPatch) -> None:
    store, hash = kept
    monkeypatch.setattr("longfat.plot.over_time.MOST_ROWS", 1000)
    result = store.read(hash)
    trace, _ = store.trace(hash)
    thin = pd.DataFrame(trace.table("flow_series", 1000))
    whole = result.flow_series
    times = whole["time_s"].unique()
    expected = whole[whole["time_s"].isin([*times[::121], times[-1]])].reset_index(drop=True)
    pd.testing.assert_frame_equal(thin, expected, check_exact=True)
    figures = {plot.id: plot for plot in time_plots(store.read(hash))}
    assert len(figures["cwnd"].series[0].x) == len(times[::121]) + 1
    assert "One of 121 samples" in figures["cwnd"].caption
    assert "One of 121 samples" not in {plot.id: plot for plot in time_plots(result)}["cwnd"].caption  # they were asked for


def test_damage_is_found(kept: tuple[Store, str], tmp_path: Path) -> None:
    store, hash = kept
    [file] = tmp_path.glob("shards/flow_series/*.parquet")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedError):
        Store(tmp_path).read(hash)
    assert len(store.whole([hash])) == 0
    with Store(tmp_path).writer() as writer:  # it can be made again
        run = Experiment(TEXT).resolve(0)
        writer.keep(run, "", *timed(run))
    assert len(Store(tmp_path).whole([hash])) == 1


def test_where_it_cannot_be_sent_it_waits_as_the_others_do(tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    run, trace, wall_s, cpu_s = ran
    monkeypatch.setattr("longfat.store.writer.Bucket", Folder)  # as if the folder were far away
    write = Shards.write

    def refuses(*_: object) -> None:
        raise OSError("no answer")

    monkeypatch.setattr(Shards, "write", refuses)
    with pytest.raises(LongfatError, match="no answer"), Store(tmp_path).writer() as writer:
        writer.keep(run, "", trace, wall_s, cpu_s)
    assert not list(tmp_path.glob("shards/*.json"))
    same(Store(tmp_path).read(run.hash), from_trace(run, "", trace, wall_s, cpu_s))
    monkeypatch.setattr(Shards, "write", write)
    with Store(tmp_path).writer():
        pass
    assert list(tmp_path.glob("shards/*.json"))
    same(Store(tmp_path).read(run.hash), from_trace(run, "", trace, wall_s, cpu_s))


def test_no_room_for_the_series_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")
    with pytest.raises(LongfatError, match=r"of virtual time the series had no room: the temporary file in /nowhere: .*TMPDIR"):
        Experiment(TEXT).resolve(0).execute()


def test_tables_of_a_sweep_of_large_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of small ones, and shards of large runs become one as others do."""
    text = TEXT.replace('"6 s"', '"100 ms"').replace('interval = "100 us"', 'interval = "1 ms"')
    text = text.replace('congestion_control = "cubic"', 'congestion_control = { sweep = ["reno", "cubic", "bbr", "vegas", "htcp"] }')
    expected = Experiment(text).sweep(tmp_path / "small")
    monkeypatch.setattr(finished, "LARGE", 1000)
    monkeypatch.setattr("longfat.store.many.LARGE", 1000)
    monkeypatch.setattr("longfat.store.shard.LARGE", 1000)
    made = Experiment(text).sweep(tmp_path / "large")
    assert len(list((tmp_path / "large").glob("shards/*.json"))) == 2  # of five, four are one
    pd.testing.assert_frame_equal(made.runs, expected.runs, check_exact=True)
    pd.testing.assert_frame_equal(made.links, expected.links, check_exact=True)
    for run in expected.runs["run"]:
        same(made.open(run), expected.open(run))
