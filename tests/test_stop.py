"""Ctrl-C at any moment, and files that never end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import longfat
import pytest
from conftest import ONE, command
from longfat import LongfatError
from longfat.cli import script
from torture import stop

# Packets per millisecond are so many here that a run of one second takes hours.
FAST = """\
[path]
preset = "dumbbell"
rtt = "70 ms"
bottleneck = { rate = "10 Gbit/s" }
edge = { rate = "100 Tbit/s" }

[[flow]]
traffic = { kind = "udp", rate = "100 Tbit/s" }

[measure]
duration = "10 s"
"""


def test_nothing_is_loaded_before_ctrl_c_is_heard() -> None:
    # Modules that the interpreter loads itself are not ours to hear it in.
    script = Path(sys.executable).with_name("longfat")
    done = subprocess.run([sys.executable, "-X", "importtime", script, "--version"], capture_output=True, text=True, check=True)
    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert loaded[loaded.index("site") + 1 : loaded.index("longfat.__main__") + 1] == ["longfat", "longfat.__main__"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_ctrl_c_while_it_starts_is_one_line(tmp_path: Path, seed: int) -> None:
    # A signal may fall into the interpreter's own start or end, which longfat does not see. Not three times in a row.
    for attempt in range(3):
        try:
            stop.stop(Random(seed + 100 * attempt), stop.start(tmp_path, "list"), signal.SIGINT, 1.5)
        except AssertionError:
            if attempt == 2:
                raise
        else:
            return


@pytest.mark.slow
def test_a_flow_far_too_fast_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "fast.toml").write_text(FAST, encoding="utf-8")
    process = stop.start(tmp_path, "run", "fast.toml")
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    before = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.lstrip().startswith("Stopped: 0 of 1 runs are finished")
    # Tests are not for speed: it was 6 to 100 s, and is a fraction of one.
    assert time.monotonic() - before < 20


@pytest.mark.slow
def test_a_flow_far_too_fast_takes_no_more_memory_the_longer_it_runs() -> None:
    # The most memory of a process, in KiB, that runs two and a half million packets, and twelve and a half.
    code = "import longfat, resource, sys; longfat.Experiment(sys.argv[1]).run(); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    texts = [FAST.replace("10 s", duration) for duration in ("0.2 ms", "1 ms")]
    first, last = (int(subprocess.run([sys.executable, "-c", code, text], capture_output=True, check=True).stdout) for text in texts)
    assert last < 1.3 * first


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.toml"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("base", ["pipe.toml", "/dev/zero", "."])
def test_a_base_is_a_regular_file(tmp_path: Path, fifo: Path, base: str) -> None:
    del fifo
    (tmp_path / "on.toml").write_text(f'base = "{base}"\n{ONE}', encoding="utf-8")
    with pytest.raises(longfat.ExperimentError, match=r"cannot read .*: it is not a regular file(.|\n)*on.toml:1:8"):
        longfat.load(tmp_path / "on.toml")


def test_a_base_has_an_end(tmp_path: Path) -> None:
    with (tmp_path / "long.toml").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "on.toml").write_text(f'base = "long.toml"\n{ONE}', encoding="utf-8")
    for name in ("on", "long"):
        with pytest.raises(LongfatError, match="it is longer than 32 MiB"):
            longfat.load(tmp_path / f"{name}.toml")


def test_an_experiment_among_others_is_a_regular_file(tmp_path: Path, fifo: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE, encoding="utf-8")
    done = command("run", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(rf"error: cannot read {re.escape(str(fifo))}: it is not a regular file\n", done.stderr)


def test_scripts_are_regular_files(tmp_path: Path) -> None:
    pipe, good = tmp_path / "pipe.pkt", tmp_path / "good.pkt"
    os.mkfifo(pipe)
    with pytest.raises(LongfatError, match="it is not a regular file"):
        script.run(pipe)
    good.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", encoding="utf-8")
    report = script.run(good, init_scripts=[pipe])[0]
    assert report["verdict"] == "error"
    assert "it is not a regular file" in str(report["message"])
