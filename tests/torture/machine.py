"""The machine: testbeds at once, one killed, a load of a control killed, a process without rights. Nothing stays behind or hangs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from longfat._longfat import HAS_BPF, cc_list
from longfat.cli.testbed import permitted

from torture.stop import start

FILE = """
title = "small"
backend = "testbed"
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "20 Mbit/s" }
edge = { rate = "1 Gbit/s", delay = "1 ms" }
[[flow]]
stack = "linux"
CONTROL
[measure]
duration = "1 s"
"""
PINNED = Path("/sys/fs/bpf/longfat")
BUSY = "another testbed is running"


def state() -> dict[str, str]:
    """Settings and devices of this machine, and the controls that were given to its kernel."""
    found = {f"device {one.name}": "" for one in Path("/sys/class/net").iterdir()}
    for file in Path("/proc/sys/net").rglob("*"):
        # Flushed by writing, and counters of the machine.
        if file.is_file() and os.access(file, os.R_OK) and "stat" not in file.name and "count" not in file.name:
            try:
                found[str(file)] = file.read_text(errors="replace")
            except OSError:
                continue
    found["controls"] = ", ".join(sorted(name for name, whose in cc_list() if whose == "loaded"))
    found["pinned"] = ", ".join(sorted(path.name for path in PINNED.iterdir())) if PINNED.is_dir() else ""
    return found


def run(folder: Path, *, patience: float = 120) -> None:
    """A run of the testbed, once no other has it."""
    end = time.monotonic() + patience
    while True:
        process = start(folder, "run", "small.toml", "--results", f"results-{time.monotonic_ns()}")
        _, said = process.communicate(timeout=60)
        assert "Traceback" not in said, said
        if process.returncode == 0:
            return
        assert BUSY in said, f"a run of the testbed fails: {said}"
        assert time.monotonic() < end, "the testbed is never free"
        time.sleep(1)


def together(random: Random, folder: Path) -> None:
    """Some at once: those that run end well, and those that are refused say why."""
    processes = [start(folder, "run", "small.toml", "--results", f"results{i}") for i in range(random.randrange(2, 5))]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert "Traceback" not in said, said
        assert process.returncode == 0 or BUSY in said, said


def killed(random: Random, folder: Path) -> None:
    """One is killed, or told to end, at any moment."""
    process = start(folder, "run", "small.toml")
    time.sleep(0.3 + random.random() * 2.5)
    process.send_signal(random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said, said


def loading(random: Random, folder: Path) -> None:
    """`longfat cc load` is killed: the control is loaded or it is not, and both can be changed."""
    control = random.choice(("fast", "compound", "htcp"))
    process = start(folder, "cc", "load", control)
    time.sleep(random.random() * 1.5)
    process.kill()
    process.communicate(timeout=60)
    is_loaded = f"lf_{control}" in {name for name, whose in cc_list() if whose == "loaded"}
    is_pinned = (PINNED / f"lf_{control}").exists()
    assert is_loaded == is_pinned, f"{control}: loaded {is_loaded}, kept {is_pinned}"
    for verb in ["unload"] if is_loaded else ["load", "unload"]:
        done = start(folder, "cc", verb, control)
        _, said = done.communicate(timeout=60)
        assert done.returncode == 0, f"cc {verb} {control} after a kill: {said}"


def without_rights(random: Random, folder: Path) -> None:
    """Checks that a command that takes rights gives a process without any one message, and no run."""
    what = random.choice(
        (["run", "small.toml"], ["cc", "load", "fast"], ["cc", "unload", "fast"], ["testbed", "check", "--quick"], ["list"])
    )
    call = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m", "longfat", *what]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr, f"{what}: {done.stderr}"
    assert done.returncode == (0 if what == ["list"] else 1), f"{what}: {done.returncode}, {done.stderr}"
    assert not (folder / "results" / "small" / "runs.parquet").exists(), f"{what}: it ran"


def attack(random: Random, folder: Path) -> None:
    """Attacks the machine where the testbed is permitted; afterwards it is as it was, and the testbed runs."""
    attacks = [together, killed, killed] if permitted() else []
    attacks += [loading] if HAS_BPF and permitted() else []
    attacks += [without_rights] if os.geteuid() == 0 and shutil.which("setpriv") else []
    if not attacks:
        return
    control = random.choice(("", 'congestion_control = "htcp"')) if HAS_BPF else ""
    (folder / "small.toml").write_text(FILE.replace("CONTROL", control), encoding="utf-8")
    before = state()
    chosen = random.choice(attacks)
    chosen(random, folder)
    if chosen in (together, killed):
        run(folder)
    end = time.monotonic() + 10
    while (after := state()) != before and time.monotonic() < end:
        time.sleep(0.2)
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert not changed, f"{chosen.__name__}: left behind: {sorted(changed)[:10]}"
    shutil.rmtree(folder / "results", ignore_errors=True)
