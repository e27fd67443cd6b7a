"""Sweeps on Dask: Ctrl-C, a scheduler that is not there or has no workers, Dask that is not installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG_SWEEP
from longfat import LongfatError
from longfat.executors.named import named

distributed: Any = pytest.importorskip("distributed", reason="Dask is not installed: longfat[dask]")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # a warning of Dask's is none of ours


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
