"""Results as files: few, found by any reader of Parquet, and whole whatever is killed."""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import random
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import duckdb
import longfat
import pandas as pd
import polars
import pyarrow as pa
import pytest
from conftest import SWEEP
from longfat import Experiment
from longfat.results.result import Result
from longfat.store import TABLES, Store, combined, many, shards, store, writer
from longfat.store.finished import Finished
from longfat.store.journal import encode
from longfat.sweep.work import Work, timed

MANY = SWEEP.replace('title = "Two flows and two windows"', 'title = "Many"\nrepeats = 12').replace(
    'queue = { kind = "droptail", limit = "20 packets" }', 'loss = { kind = "bernoulli", probability = 0.01 }'
)
DOCS = Path(__file__).parent.parent / "docs" / "results-shards.md"


@pytest.fixture
def small_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a shard of each run, as if runs were many: they fill size classes."""
    monkeypatch.setattr(writer, "JOURNAL_RUNS", 1)


def test_shards_are_merged_as_they_grow(tmp_path: Path, small_journals: None) -> None:
    runs = Experiment(MANY).resolve_all()
    store = Store(tmp_path)
    at_most = 0
    with store.writer() as kept:
        for run in runs:
            kept.keep(run, "", *timed(run))
            at_most = max(at_most, len(list(tmp_path.glob("shards/*.json"))))
            assert run.hash in store.finished()
    assert len(runs) == 36
    assert at_most < shards.FAN
    assert store.finished() == {run.hash for run in runs}
    fresh = Experiment(MANY).sweep()
    for result in fresh:
        read = store.read(result.run)
        pd.testing.assert_frame_equal(read.flows, result.flows, check_exact=True)
        pd.testing.assert_frame_equal(read.flow_series, result.flow_series, check_exact=True)
    assert all(store.has(run.hash) for run in runs)


def test_a_reader_is_not_disturbed_by_merging(tmp_path: Path, small_journals: None) -> None:
    runs = Experiment(MANY).resolve_all()
    with Store(tmp_path).writer() as kept:
        for run in runs[:3]:
            kept.keep(run, "", *timed(run))
        reader = Store(tmp_path)
        assert reader.finished() == {run.hash for run in runs[:3]}
        kept.keep(runs[3], "", *timed(runs[3]))
    assert len(list(tmp_path.glob("shards/*.json"))) == 1  # what the reader knew of is gone
    assert [reader.read(run.hash).run for run in runs[:4]] == [run.hash for run in runs[:4]]


def test_a_kill_within_a_merge_loses_nothing(tmp_path: Path, small_journals: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after the merged shard is there, before those that it replaces are removed."""
    runs = Experiment(MANY).resolve_all()[:4]

    def killed(self: shards.Shards, name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shards.Shards, "remove", killed)
    with Store(tmp_path).writer() as kept:
        for run in runs[:3]:
            kept.keep(run, "", *timed(run))
        with pytest.raises(KeyboardInterrupt):
            kept.keep(runs[3], "", *timed(runs[3]))
    monkeypatch.undo()
    assert len(list(tmp_path.glob("shards/*.json"))) == 5
    store = Store(tmp_path)
    assert len(store.kept()) == len(store.finished()) == 4
    with store.writer():  # nobody else: what is left behind goes
        assert len(list(tmp_path.glob("shards/*.json"))) == 1
    assert all(store.has(run.hash) for run in runs)


def test_a_journal_that_another_machine_left_is_read_and_becomes_a_shard(tmp_path: Path) -> None:
    experiment, expected = Experiment(MANY), Experiment(MANY).sweep()
    runs = experiment.resolve_all()
    (tmp_path / "journals").mkdir()
    with (tmp_path / "journals" / "elsewhere-1.journal").open("wb") as left:
        for run in runs[:20]:
            left.write(encode(Finished.of_run(run, "Many", *timed(run))))
        left.write(encode(Finished.of_run(runs[20], "Many", *timed(runs[20])))[:-1])
    found = Store(tmp_path)
    assert found.finished() == {run.hash for run in runs[:20]}
    pd.testing.assert_frame_equal(found.read(runs[3].hash).flow_series, expected[3].flow_series, check_exact=True)
    with found.writer() as kept:  # it is not gone on with: it is another machine's
        kept.keep(runs[20], "Many", *timed(runs[20]))
    assert len(found.finished()) == 21
    ran: list[Work] = []
    made = experiment.sweep(tmp_path, tick=ran.append)
    assert ran[-1].done == 15
    assert not list((tmp_path / "journals").iterdir())
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(made, name), getattr(expected, name), check_exact=True)


def test_the_tables_do_not_hang_on_how_the_runs_stand_in_the_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stretch of the sweep is spread over all shards, in another order; one stretch reads a run that is damaged."""
    experiment, expected = Experiment(MANY), Experiment(MANY).sweep()
    runs = experiment.resolve_all()
    monkeypatch.setattr(writer, "JOURNAL_RUNS", 10)
    with Store(tmp_path).writer() as kept:
        for run in random.Random(5).sample(runs, len(runs)):
            kept.keep(run, "Many", *timed(run))
    for name in ("AT_ONCE", "STRETCH"):
        monkeypatch.setattr(store, name, 7)
    monkeypatch.setattr(many, "TOGETHER", 4)
    monkeypatch.setattr(many, "LARGE", 5000)
    made = experiment.gather(tmp_path)
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(made, name), getattr(expected, name), check_exact=True)
    assert longfat.load_results(tmp_path).warnings == expected.warnings


def test_who_asks_for_many_runs_is_told_which_are_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of several runs that are read together has another digest: the others are read."""
    Experiment(MANY).sweep(tmp_path)
    kept = Store(tmp_path)
    runs = sorted(kept.finished())
    own = many.Many._heads

    def other(self: many.Many, known: dict[str, int]) -> list[tuple[int | None, str, str, str, str]]:
        heads = own(self, known)
        return [(run, text, digest if digest[0] > "7" else "1", before, behind) for run, text, digest, before, behind in heads]

    monkeypatch.setattr(many.Many, "_heads", other)
    together: list[str] = []
    alone: list[str] = []
    for one in kept.tables_of(runs):
        if isinstance(one, many.Shown):
            together += [facts["run"] for facts, said in zip(one.facts, one.said, strict=True) if said]
        else:
            alone.append(one[0])
            assert isinstance(one[1], Result)  # what does not fit is read again by itself, and found to be whole
    assert together
    assert alone
    assert sorted([*together, *alone]) == runs
    assert kept.whole(runs) == set(runs)


def test_what_was_read_of_shards_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups that are kept for the next run go when the reader goes on to another shard: memory does not grow with shards."""
    runs = Experiment(MANY).resolve_all()
    monkeypatch.setattr(writer, "JOURNAL_RUNS", 12)
    with Store(tmp_path).writer() as kept:
        for run in runs:
            kept.keep(run, "Many", *timed(run))
    assert len(list(tmp_path.glob("shards/*.json"))) == 3
    reader = Store(tmp_path)
    wanted = reader.finished()
    # pyarrow leaves cycles of references, of what was written as of what was read.
    gc.collect()
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in reader.tables_of(wanted)]
    assert len(held) == 3
    assert max(held) > 0
    gc.collect()
    assert pa.total_allocated_bytes() == before
    assert reader.whole(wanted) == wanted
    gc.collect()
    assert pa.total_allocated_bytes() == before


def keep_half(folder: Path, half: int, said: Connection) -> None:
    """Keeps each other run that is not kept yet, and says which it has kept."""
    writer.JOURNAL_RUNS = 5
    runs = Experiment(MANY).resolve_all()
    store = Store(folder)
    with store.writer() as kept:
        for run in runs[half::2]:
            if run.hash not in store.finished():
                kept.keep(run, "", *timed(run))
                said.send(run.hash)


@pytest.mark.slow
def test_writers_that_are_killed_lose_only_what_they_were_writing(tmp_path: Path) -> None:
    """Two writers at once, killed 50 times with -9; what they said was kept is kept, and nothing twice."""
    # Forked from a process that has imported what they need: else they would spend nearly all of their time on that.
    forked = multiprocessing.get_context("forkserver")
    forked.set_forkserver_preload([__name__])
    said: set[str] = set()
    kills = 0
    moment = random.Random(1)
    folder = tmp_path / "many"

    def start(half: int) -> tuple[ForkServerProcess, Connection]:
        ours, theirs = forked.Pipe(duplex=False)
        process = forked.Process(target=keep_half, args=(folder, half, theirs))
        process.start()
        theirs.close()
        return process, ours

    def heard(ours: Connection) -> Iterator[str]:
        with contextlib.suppress(EOFError):
            while True:
                yield ours.recv()

    while kills < 50:
        both = [start(0), start(1)]
        # They are killed at some moment after the first has kept a run; when all is done, at any.
        said |= set(itertools.islice(heard(both[0][1]), 1))
        time.sleep(moment.random() * 0.05)
        for process, ours in both:
            process.kill()
            kills += 1
            said |= set(heard(ours))
            process.join()
        assert said <= Store(folder).finished()
    store = Store(folder)
    assert all(store.has(run) for run in said)
    swept = Experiment(MANY).sweep(folder)
    fresh = Experiment(MANY).sweep()
    for name in ("runs", "flows", "links"):
        pd.testing.assert_frame_equal(getattr(swept, name), getattr(fresh, name), check_exact=True)
    assert len(store.kept()) == 36


def test_other_readers_join_the_shards(swept: Path) -> None:
    results = longfat.load_results(swept)
    code = [block.split("```")[0] for block in DOCS.read_text().split("```sql\n")[1:]]
    assert len(code) == 1
    found = duckdb.sql(code[0].replace("results/queue", str(swept))).df()
    expected = results.table("flow_series", axes=True).groupby("window")["cwnd_bytes"].max()
    assert dict(zip(found["window"], found["cwnd_bytes"], strict=True)) == dict(expected)
    lazily = polars.scan_parquet(swept / "shards" / "flow_series" / "*.parquet").filter(polars.col("run") == results.runs["run"][0])
    assert lazily.collect()["cwnd_bytes"].to_list() == results[0].flow_series["cwnd_bytes"].tolist()


def test_a_worker_that_comes_late_takes_nothing_away_from_tables_that_are_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opens a writer, and would be the only one, while what is put together has files under way."""
    come: list[int] = []
    end = combined.Combined.end_stretch

    def late(self: combined.Combined) -> None:
        end(self)
        with Store(tmp_path).writer():
            come.append(len(list(tmp_path.glob(".unfinished-*"))))

    monkeypatch.setattr(combined.Combined, "end_stretch", late)
    for name in ("AT_ONCE", "STRETCH"):
        monkeypatch.setattr(store, name, 5)
    made, expected = Experiment(MANY).sweep(tmp_path), Experiment(MANY).sweep()
    assert len(come) == 8  # 36 runs, five at a time
    assert min(come) >= 3
    for name in ("runs", "flows", "links", "hosts"):
        pd.testing.assert_frame_equal(getattr(made, name), getattr(expected, name), check_exact=True)
    assert not list(tmp_path.glob(".unfinished-*"))
