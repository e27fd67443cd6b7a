"""Measurements between two hosts beside other programs, and as an ordinary user."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from test_live import command, home, serving, text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measurements between two hosts need Linux")
__all__ = ["home"]

SKIPPED = "no {} (make system-packages)"


def version(*words: str) -> str:
    """First line that a program says of itself, for the record of a test."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[0]


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("ping") is None, reason=SKIPPED.format("ping"))
def test_round_trips_are_as_ping_has_them(home: Path) -> None:
    print(version("ping", "-V"))
    with serving(home, "--key", "test") as (at, _):
        ours = json.loads(command("probe", at, "--key", "test", "--json", home=home).stdout)["rtt_s"]
    said = subprocess.run(["ping", "-c", "20", "-i", "0.025", "127.0.0.1"], capture_output=True, text=True, check=True).stdout
    theirs = [1e-3 * float(each) for each in re.findall(r"time=([\d.]+) ms", said)]
    assert len(ours) == len(theirs) == 20
    # Both are tens of microseconds; a busy machine adds what it adds.
    assert abs(statistics.median(ours) - statistics.median(theirs)) < 2e-3, (ours, theirs)


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("tracepath") is None, reason=SKIPPED.format("tracepath"))
def test_the_mtu_and_the_hops_are_as_tracepath_has_them(home: Path) -> None:
    print(version("tracepath", "-V"))
    said = subprocess.run(["tracepath", "-n", "127.0.0.1"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Resume: pmtu (\d+) hops (\d+)", said)
    assert found, said
    with serving(home, "--key", "test") as (at, _):
        ours = json.loads(command("probe", at, "--key", "test", "--json", home=home).stdout)
    # Up to the largest size that longfat tries.
    assert ours["mtu_up_bytes"] == min(int(found[1]), ours["mtu_tried_bytes"]), ours
    assert len(ours["hops"]) + 1 == int(found[2]), ours


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv, which takes rights away")
def test_no_rights_are_needed(home: Path, tmp_path: Path) -> None:
    """Key, server, probe, measure and a run of a process without any capability."""
    # The interpreter may lie where only its owner can read, so the user stays who it is.
    words = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    env = {**os.environ, "XDG_CONFIG_HOME": str(home)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        whole = [*words, sys.executable, "-m", "longfat", *arguments]
        return subprocess.run(whole, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    held = subprocess.run([*words, "grep", "CapEff", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    assert int(held.split()[1], 16) == 0
    with serving(home, "--key", "test", before=words) as (at, _):
        (tmp_path / "live.toml").write_text(text(at), encoding="utf-8")
        asked = [
            ("probe", at, "--key", "test", "--json"),
            ("measure", at, "--key", "test", "--seconds", "2", "--json"),
            ("run", "live.toml"),
        ]
        for arguments in (("key", "new", "another"), *asked):
            done = run(*arguments)
            assert done.returncode == 0, (arguments, done.stdout, done.stderr)


@pytest.mark.slow
def test_no_key_is_in_a_log_or_an_error(home: Path) -> None:
    secret = (home / "longfat" / "keys" / "test").read_text().strip().rpartition(":")[2]
    other = home / "other"
    assert command("key", "new", "test", home=other).returncode == 0
    theirs = (other / "longfat" / "keys" / "test").read_text().strip().rpartition(":")[2]
    with serving(home, "--key", "test") as (at, server):
        said = [command("probe", at, "--key", "test", home=at_home) for at_home in (home, other)]
        said.append(command("probe", at, "--key", "nosuch", home=home))
        server.terminate()
        assert server.stdout is not None
        log = server.stdout.read()
    assert [done.returncode for done in said] == [0, 1, 1], said
    everything = log + "".join(done.stdout + done.stderr for done in said)
    assert secret not in everything
    assert theirs not in everything
