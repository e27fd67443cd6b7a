"""Sweeps by executors: the tables are those of one process, whatever becomes of the workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import longfat
import pytest
from conftest import LONG_SWEEP, ONE, SWEEP, items_of
from longfat import Experiment, LongfatError, Results
from longfat.executors import chunks, coordinate
from longfat.executors.chunks import Done, Task, Version
from longfat.store import TABLES, Store
from longfat.sweep.plan import Item
from longfat.sweep.work import Work
from torture import stop, workers

REPEATED = f"repeats = 8\nseed = 3\n{SWEEP}"


def pool(jobs: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def same(one: Results, other: Results) -> None:
    for name in TABLES:
        assert getattr(one, name).equals(getattr(other, name)), name


@pytest.fixture(scope="module")
def expected() -> Results:
    return Experiment(REPEATED).sweep(jobs=1)


@pytest.mark.slow
def test_a_process_pool_gives_the_tables_of_one_process(tmp_path: Path, expected: Results) -> None:
    states: list[tuple[int, float]] = []
    with pool() as executor:
        made = Experiment(REPEATED).sweep(tmp_path, executor=executor, tick=lambda work: states.append((work.done, work.current_cost)))
    same(made, expected)
    same(longfat.load_results(tmp_path), expected)
    assert states[-1][0] == 24
    assert states == sorted(states)
    assert not list(tmp_path.rglob(".unfinished-*"))


def test_what_is_finished_is_not_run_again(tmp_path: Path, expected: Results) -> None:
    Experiment(SWEEP.replace('"8 KiB", "16 KiB", "64 KiB"', '"16 KiB"')).sweep(tmp_path)
    counted: list[Work] = []
    with ThreadPoolExecutor(2) as executor:
        experiment = Experiment(SWEEP)
        experiment.sweep(tmp_path, executor=executor, tick=counted.append)
        assert counted[-1].done == 2
        counted.clear()
        experiment.sweep(tmp_path, executor=executor, tick=counted.append)
    assert not any(work.done for work in counted)


def test_changes_and_the_short_form_reach_the_workers(tmp_path: Path) -> None:
    text = f'{SWEEP}\n[quick]\n"measure.duration" = "2 s"\n'
    here, there = Experiment(text), Experiment(text)
    for experiment in (here, there):
        experiment.quicken()
        experiment["flow.window"] = ["8 KiB", "32 KiB"]
    with ThreadPoolExecutor(2) as executor:
        same(there.sweep(tmp_path, executor=executor), here.sweep())


def test_an_executor_needs_a_folder() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(LongfatError, match=r"sweep\(executor=...\) needs a folder"):
        Experiment(ONE).sweep(executor=executor)


class Wrapped(Executor):
    """Threads that do what is sent in a way of their own."""

    def __init__(self, does: Callable[[Task, list[Item]], Done]) -> None:
        self.pool, self.does = ThreadPoolExecutor(2), does
        self.sent: list[list[Item]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        assert fn is chunks.do
        assert not kwargs
        self.sent.append(args[1])
        return self.pool.submit(self.does, *args)


def test_a_chunk_that_fails_is_done_again_and_no_run_is_counted_twice(tmp_path: Path, expected: Results) -> None:
    calls = iter(range(100))
    failed: Counter[str] = Counter()

    def fails_often(task: Task, items: list[Item]) -> Done:
        middle = len(items) // 2
        # Not three times at one run: then it is given up.
        if next(calls) % 3 == 2 and failed[items[middle].hash] < 2:
            failed[items[middle].hash] += 1
            chunks.do(task, items[:middle])  # and then it is lost
            raise RuntimeError("lost")
        return chunks.do(task, items)

    work: list[int] = []
    executor = Wrapped(fails_often)
    same(Experiment(REPEATED).sweep(tmp_path, executor=executor, tick=lambda state: work.append(state.done)), expected)
    assert work[-1] == 24
    assert len(executor.sent) > 3


def test_a_run_that_fails_everywhere_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = Experiment(REPEATED).resolve(5).hash

    def one_kills(task: Task, items: list[Item]) -> Done:
        for index, item in enumerate(items):
            if item.hash == bad:
                chunks.do(task, items[:index])
                raise MemoryError
        return chunks.do(task, items)

    with pytest.raises(LongfatError, match=rf"run {bad[:12]} failed at 3 workers; the last said: MemoryError"):
        Experiment(REPEATED).sweep(tmp_path, executor=Wrapped(one_kills))
    assert len(longfat.load_results(tmp_path)) >= 1
    assert len(Experiment(REPEATED).sweep(tmp_path)) == 24


def test_a_slow_worker_is_not_waited_for(tmp_path: Path, expected: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinate, "PATIENCE_S", 0.2)
    over = threading.Event()
    numbers = iter(range(100))

    def one_hangs(task: Task, items: list[Item]) -> Done:
        if next(numbers) == 2:
            over.wait(60)
            raise RuntimeError("too late")
        return chunks.do(task, items)

    executor = Wrapped(one_hangs)
    try:
        start = time.monotonic()
        same(Experiment(REPEATED).sweep(tmp_path, executor=executor), expected)
        assert time.monotonic() - start < 50
    finally:
        over.set()
        executor.pool.shutdown()


@pytest.mark.parametrize("other", [{"longfat": "9.9"}, {"code": "0123456789"}, {"python": "3.99"}])
def test_another_version_at_a_worker_is_said(tmp_path: Path, other: dict[str, str]) -> None:
    def elsewhere(task: Task, items: list[Item]) -> Done:
        return chunks.do(replace(task, version=replace(Version(), **other)), items)

    with pytest.raises(LongfatError) as error:
        Experiment(ONE).sweep(tmp_path, executor=Wrapped(elsewhere))
    assert str(Version()) in str(error.value)
    assert next(iter(other.values()))[:8] in str(error.value)


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    def elsewhere(task: Task, items: list[Item]) -> Done:
        return chunks.do(replace(task, folder=str(tmp_path / "not-shared")), items)

    with pytest.raises(LongfatError, match="must be on a file system that all share"):
        Experiment(ONE).sweep(tmp_path / "results", executor=Wrapped(elsewhere))
    assert not (tmp_path / "not-shared").exists()


@pytest.mark.slow
def test_a_pool_whose_worker_is_killed_is_said_to_be_broken_and_the_next_one_goes_on(tmp_path: Path, expected: Results) -> None:
    def kill(work: Work) -> None:
        if work.done:
            for child in multiprocessing.active_children():
                os.kill(child.pid or 0, signal.SIGKILL)

    with pool() as executor, pytest.raises(LongfatError, match="the executor is broken, as when a worker is killed"):
        Experiment(REPEATED).sweep(tmp_path, executor=executor, tick=kill)
    assert 1 <= len(longfat.load_results(tmp_path)) <= 24
    with pool() as executor:
        same(Experiment(REPEATED).sweep(tmp_path, executor=executor), expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # a warning of Dask's is none of ours
@pytest.mark.parametrize("seconds", [0.2, 4.0])
@pytest.mark.parametrize("how", ["Ctrl-C", "Ctrl-C while one hangs", "killed"])
@pytest.mark.parametrize("executor", ["processes", "dask"])
def test_a_command_and_its_workers_end_together_at_any_moment(tmp_path: Path, executor: str, how: str, seconds: float) -> None:
    if executor == "dask":
        pytest.importorskip("distributed", reason="Dask is not installed: longfat[dask]")
    (tmp_path / "long.toml").write_text(LONG_SWEEP)
    process = stop.start(tmp_path, "run", "long.toml", "--executor", executor, "--jobs", "2")
    assert workers.spawned(process.pid, process)
    time.sleep(seconds)  # they load longfat, and then begin
    found = workers.children(process.pid)
    if how == "killed":
        process.kill()
    else:
        if how != "Ctrl-C" and (working := [pid for pid in found if workers.is_worker(pid)]):
            workers.signalled(working[0], signal.SIGSTOP)
        workers.interrupt(process)
    try:
        # Workers hold its standard error, too.
        _, said = process.communicate(timeout=workers.SOON)
    finally:
        process.kill()
        left = workers.gone(found)
        for pid in left:
            workers.signalled(pid, signal.SIGKILL)
    assert not left
    if how != "killed":
        assert process.returncode == 130
        assert said.lstrip().startswith("Stopped")
        assert len([line for line in said.splitlines() if line.strip() and not line.startswith("  ")]) == 1, said


def test_ctrl_c_cancels_what_is_queued(tmp_path: Path) -> None:
    class Idle(Executor):
        """Takes work and never does any."""

        def __init__(self) -> None:
            self.futures: list[Future[Any]] = []

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.futures.append(Future())
            return self.futures[-1]

    def interrupt(work: Work) -> None:
        raise KeyboardInterrupt

    executor = Idle()
    with pytest.raises(KeyboardInterrupt):
        Experiment(LONG_SWEEP).sweep(tmp_path, executor=executor, tick=interrupt)
    assert len(executor.futures) >= 2
    assert all(future.cancelled() for future in executor.futures)


def test_an_executor_that_is_shut_down_is_said_to_be(tmp_path: Path) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(LongfatError, match="the executor takes no more work: RuntimeError: cannot schedule"):
        Experiment(ONE).sweep(tmp_path, executor=executor)


def test_chunks_are_cut_by_what_was_measured() -> None:
    items = [Item(index, f"{index:064x}", 10.0) for index in range(100_000)]

    class Measured(Executor):
        """Does runs of 0.1 s in no time, and says how long they took."""

        def __init__(self) -> None:
            self.sizes: list[int] = []

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            chunk = args[1]
            self.sizes.append(len(chunk))
            future: Future[Any] = Future()
            future.set_result(Done(len(chunk), sum(item.cost for item in chunk), 0.1 * len(chunk)))
            return future

    executor = Measured()
    work = Work("many")
    work.begin(items_of(items))
    coordinate.perform(work, Task("/nowhere", "", ""), executor, jobs=4)
    assert work.done == 100_000
    assert executor.sizes[:8] == [1] * 8
    assert max(executor.sizes) == 450  # 45 s
    assert sum(size == 450 for size in executor.sizes) > 200
    assert len(executor.sizes) < 300
    assert executor.sizes[-1] <= 10


def test_a_long_run_is_a_chunk_of_its_own() -> None:
    items = [Item(0, "f" * 64, 1e6), *(Item(index, f"{index:064x}", 10.0) for index in range(1, 100))]
    sent: list[list[int]] = []

    class Measured(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            sent.append([item.number for item in args[1]])
            future: Future[Any] = Future()
            future.set_result(Done(len(args[1]), sum(item.cost for item in args[1]), 1.0))
            return future

    work = Work("")
    work.begin(items_of(items))
    coordinate.perform(work, Task("/nowhere", "", ""), Measured(), jobs=1)
    assert sent[0] == [0]


def test_two_writers_of_one_run_leave_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    experiment = Experiment(ONE)
    run = experiment.resolve(0)
    made = (run, "one", *longfat.sweep.work.timed(run))
    with store.writer() as one, Store(tmp_path).writer() as other:
        assert store.is_written_to()
        threads = [threading.Thread(target=writer.keep, args=made) for writer in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not store.is_written_to()
    assert store.has(run.hash)
    store.gather()
    assert len(store.kept()) == len(store.finished()) == 1


@pytest.mark.slow
def test_the_installed_command_starts_workers_and_no_command_of_theirs(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SWEEP)
    call = [Path(sys.executable).with_name("longfat"), "run", "small.toml", "--executor", "processes", "--jobs", "2"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("3 runs on 2 workers") == 1
    assert "error" not in done.stderr
