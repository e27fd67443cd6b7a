"""Sweeps on Dask: a cluster whose workers are killed, a scheduler that goes away, one that is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

import longfat
import pytest
from conftest import LONG_SWEEP, SWEEP, command
from longfat import Experiment, LongfatError, Results
from longfat.executors.named import named
from longfat.store import TABLES

distributed: Any = pytest.importorskip("distributed", reason="Dask is not installed: longfat[dask]")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # a warning of Dask's is none of ours

KILLS = 4
"""At most."""


def same(one: Results, other: Results) -> None:
    for name in TABLES:
        assert getattr(one, name).equals(getattr(other, name)), name


def test_workers_killed_at_random_cost_no_run_and_no_digit(tmp_path: Path) -> None:
    text = f"repeats = 80\nseed = 3\n{SWEEP}"
    random, killed, over = Random(11), [], threading.Event()
    with distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:

        def kill() -> None:
            while not over.wait(random.uniform(0.1, 0.5)) and len(killed) < KILLS:
                pids = [pid for nanny in cluster.workers.values() if (pid := nanny.pid)]
                if pids:
                    killed.append(random.choice(pids))
                    os.kill(killed[-1], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        with distributed.Client(cluster) as client:
            killer.start()
            try:
                made = Experiment(text).sweep(tmp_path, executor=client.get_executor(pure=False))
            finally:
                over.set()
                killer.join()
    assert killed  # as often as the sweep took time for
    assert len(made) == 240
    same(made, Experiment(text).sweep())
    same(longfat.load_results(tmp_path), made)


@pytest.fixture
def scheduler(tmp_path: Path) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a scheduler with two workers, and its process."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    processes = [subprocess.Popen([*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)], **quiet)]  # type: ignore[call-overload]
    try:
        processes.append(
            subprocess.Popen(
                [*dask, "worker", "--nworkers", "2", "--nthreads", "1", "--no-dashboard", "--scheduler-file", str(file)], **quiet
            )  # type: ignore[call-overload]
        )
        for _ in range(600):
            if file.exists() and file.stat().st_size:
                break
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), timeout=30) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield address, processes[0]
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(60)


def test_a_scheduler_by_its_address(scheduler: tuple[str, subprocess.Popen[bytes]], tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SWEEP, encoding="utf-8")
    done = command("run", "small.toml", "--executor", scheduler[0], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"3 runs on 2 workers ({scheduler[0]})" in done.stdout
    same(longfat.load_results(tmp_path / "results" / "small"), Experiment(SWEEP).sweep())


def test_a_scheduler_that_goes_away_is_one_message_and_what_is_finished_stays(
    scheduler: tuple[str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    # One run of three is short: it is finished when the scheduler goes.
    text = LONG_SWEEP.replace('"8 KiB", "16 KiB"', '{ label = "short", value = "8 KiB" }, "16 KiB"')
    (tmp_path / "long.toml").write_text(text, encoding="utf-8")
    call = [sys.executable, "-m", "longfat", "run", "long.toml", "--executor", scheduler[0]]
    process = subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "results" / "long" / "sweep.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    scheduler[1].kill()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"error: the Dask scheduler at {scheduler[0]} has gone away" in said
    assert "Traceback" not in said


def test_ctrl_c_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG_SWEEP, encoding="utf-8")
    call = [sys.executable, "-m", "longfat", "run", "long.toml", "--executor", "dask", "--jobs", "2"]
    process = subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "results" / "long" / "sweep.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to the workers, too
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped: 0 of 3 runs are finished and kept" in said
    assert "Traceback" not in said


def test_no_scheduler_there() -> None:
    with pytest.raises(LongfatError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 within"), named("tcp://127.0.0.1:9", None):
        pass


def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longfat.executors.named.SECONDS", 2)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(LongfatError, match=rf"{address} has no workers: start one with `dask worker {address}`"), named(address, None):
            pass


def test_dask_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for name in ("dask", "tcp://somewhere:8786"):
        with pytest.raises(LongfatError, match=r"needs Dask, which is not installed.*pip install 'longfat\[dask\]'"), named(name, None):
            pass
