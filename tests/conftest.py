"""A small sweep, and its results, shared by the tests."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import longfat
import numpy as np
import pytest
from longfat.cores import default_jobs
from longfat.locate import Source
from longfat.sweep.hashes import FORM
from longfat.sweep.plan import Item, Items

ROOT = Path(__file__).parent.parent

DEAR = (
    "test_evaluate",
    "test_wheel",
    "test_web",
    "test_survey",
    "test_live",
    "test_slurm",
    "test_dask",
    "test_validation",
    "test_ready",
    "test_site",
    "test_damage",
    "test_executors",
    "test_torture",
    "test_advice",
    "test_watch",
    "test_trace",
    "test_cli",
    "test_cookbook",
    "test_large_runs",
    "test_docs",
    "test_output",
    "test_results_at_rest",
    "test_names",
    "test_queues",
)
"""Files that take longest: they are begun first, so that no worker is left with one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts dear files first. The order within a file stays."""
    items.sort(key=lambda item: DEAR.index(item.path.stem) if item.path.stem in DEAR else len(DEAR))


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: some tests wait for servers and for signals."""
    return default_jobs() + 1


# Tables are as wide as a test says: pytest-xdist tells its workers the width of its own terminal.
os.environ.pop("COLUMNS", None)


def thawed(record: Any) -> Any:
    """A copy of a record of a capture, whose attributes can be set."""
    if isinstance(record, tuple):
        return tuple(thawed(item) for item in cast("tuple[Any, ...]", record))
    if type(record).__module__ != "longfat._longfat":
        return record
    values = {name: getattr(record, name) for name in dir(type(record)) if not name.startswith("_")}
    return SimpleNamespace(**{name: thawed(value) for name, value in values.items() if not callable(value)})


SWEEP = """\
title = "Two flows and two windows"

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "droptail", limit = "20 packets" } }
edge = { rate = "100 Mbit/s", delay = "1 ms" }

[[flow]]
name = "forward"
count = 2
window = { sweep = ["8 KiB", "16 KiB", "64 KiB"] }
traffic = { kind = "ttcp", volume = "500 kB" }

[measure]
duration = "30 s"
interval = "100 ms"
events = true
"""
ONE = SWEEP.replace('{ sweep = ["8 KiB", "16 KiB", "64 KiB"] }', '"64 KiB"')


def _for_minutes(text: str) -> str:
    for old, new in [('"100 Mbit/s"', '"1 Gbit/s"'), ('"10 Mbit/s"', '"100 Mbit/s"'), ('"500 kB"', '"50 TB"'), ('"30 s"', '"27 h"')]:
        text = text.replace(old, new)
    return text


# A minute of work at least, whatever the machine.
LONG = _for_minutes(ONE)
LONG_SWEEP = _for_minutes(SWEEP)


def items_of(items: list[Item]) -> Items:
    """Returns the items as a plan has them."""
    digests = np.array([bytes.fromhex(item.hash) for item in items], FORM)
    numbers, costs = np.array([item.number for item in items], np.uint64), np.array([item.cost for item in items])
    return Items(numbers, digests, costs, np.array([item.is_alone for item in items]))


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SWEEP, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of SWEEP. Not to be written to."""
    folder = tmp_path_factory.mktemp("swept") / "small"
    longfat.Experiment(SWEEP, name="small").sweep(folder)
    return folder


@pytest.fixture
def results(swept: Path) -> longfat.Results:
    return longfat.load_results(swept)


def _short(name: str, folder: Path) -> None:
    """Runs a ready experiment for six seconds of its time, or two if that is much work, with all of its runs."""
    experiment = longfat.load(name)
    experiment["measure.warmup"] = "100 ms"
    experiment["measure.interval"] = "100 ms"
    experiment["measure.duration"] = "2 s" if name in ("hosts-10g", "incast") else "6 s"
    experiment.sweep(folder)


@pytest.fixture(scope="session")
def short_runs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Callable[[str], Path]:
    """Results of a ready experiment, cut short in time: made once, for all workers. Not to be written to."""
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "short"
    shared.mkdir(exist_ok=True)

    def made(name: str) -> Path:
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / f"{name}.done").exists():
                _short(name, shared / name)
                (shared / f"{name}.done").touch()
        return shared / name

    return made


def source(file: Path) -> Source:
    return Source(file, file.stem)


def command(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs `longfat` as a user does, in a process of its own."""
    call = [sys.executable, "-m", "longfat", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False, **options)  # type: ignore[call-overload]
