"""Measurements between two hosts beside other programs, and as an ordinary user."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat import _longfat
from longfat.cli.testbed import permitted
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


PATH = """
backend = "testbed"
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "20 Mbit/s", queue = { kind = "droptail", limit = "100 kB" } }
edge = { rate = "1 Gbit/s", delay = "1 ms" }
[[flow]]
stack = "linux"
[measure]
duration = "1 s"
"""
IRTT = """
import os, subprocess, sys
from longfat.live.serving import serving_at
far = ["nsenter", f"--net={os.environ['LONGFAT_NETNS_right1']}"]
address = os.environ["LONGFAT_ADDRESS_right1"]
with subprocess.Popen([*far, "irtt", "server", "-b", address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
    try:
        server.stdout.readline()
        words = ["irtt", "client", "-i", "20ms", "-d", "1s", "-Q", "-o", "theirs.json", address]
        subprocess.run(words, timeout=60, check=True)
    finally:
        server.kill()
with serving_at("right1", "--key", "test") as server:
    words = [sys.executable, "-m", "longfat", "probe", server.at, "--key", "test", "--json"]
    with open("ours.json", "w") as ours:
        subprocess.run(words, stdout=ours, timeout=120, check=True)
"""


@pytest.mark.alone
@pytest.mark.skipif(not permitted(), reason="the testbed is not permitted here (root, /dev/net/tun and iproute2 are needed)")
@pytest.mark.skipif(shutil.which("irtt") is None, reason=SKIPPED.format("irtt"))
def test_round_trips_over_a_known_path_are_as_irtt_has_them(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 ms, over which irtt sends first and `longfat probe` after it: the bursts of the probe fill the queue."""
    print(version("irtt", "version"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    try:
        code, _ = _longfat.testbed_shell(longfat.Experiment(PATH).resolve(0), None, [sys.executable, "-c", IRTT])
    except longfat.ExperimentError as error:
        if "another testbed is running" in str(error):
            pytest.skip("another testbed is running")
        raise
    assert code == 0
    ours = json.loads((tmp_path / "ours.json").read_text())["rtt_s"]
    trips = json.loads((tmp_path / "theirs.json").read_text())["round_trips"]
    theirs = [1e-9 * trip["delay"]["rtt"] for trip in trips if trip["lost"] == "false"]
    assert min(len(ours), len(theirs)) > 10, (ours, trips)
    assert min(*ours, *theirs) > 0.0195, (ours, theirs)
    print(f"median round trip: longfat {1e3 * statistics.median(ours):.3f} ms, irtt {1e3 * statistics.median(theirs):.3f} ms")
    # A client that waits for a core reads its clock late, so the medians differ on a busy machine and the least do not.
    assert abs(min(ours) - min(theirs)) < 1e-3, (ours, theirs)


STAMP_SUITE = pytest.mark.skipif(shutil.which("stamp-suite") is None, reason="no stamp-suite (cargo install stamp-suite)")


def free_port() -> int:
    """A UDP port of loopback that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.alone
@STAMP_SUITE
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("clock", ["NTP", "PTP"])
def test_the_reflector_of_stamp_suite_is_measured(home: Path, counts: bool, clock: str) -> None:
    """With numbers that it copies or counts, with each format of its times, and with a clock that is synchronized where it counts."""
    print(version("stamp-suite", "--version"))
    port = free_port()
    words = ["stamp-suite", "--is-reflector", "--local-addr", "127.0.0.1", "--local-port", str(port), "--clock-source", clock]
    words += ["--output-format", "json", *(["--stateful-reflector", "--clock-synchronized"] if counts else [])]
    env = {**os.environ, "RUST_LOG": "info"}
    with subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reflector:
        try:
            assert reflector.stderr is not None
            said = ""
            while "listening on" not in said:
                said = reflector.stderr.readline()
                assert said, "the reflector ended before it listened"
            done = command("probe", f"stamp://127.0.0.1:{port}", "--json", home=home)
            reflector.terminate()
            told = json.loads(reflector.communicate(timeout=60)[0])
        finally:
            reflector.kill()
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = (found["lost_up"] or 0) + (found["lost_down"] or 0) + found["lost_unknown"]
    # A busy machine may lose some, and the reflector knows which came.
    assert found["answered"] + lost == found["sent"] == 1000
    assert 0 < found["answered"] <= told["total_packets_reflected"] <= told["total_packets_received"] <= 1000, (found, told)
    if found["lost_up"] is not None:
        assert found["lost_up"] == 1000 - told["total_packets_received"], (found, told)
    assert found["clock_is_synchronised"] == counts
    # Both ends have the same clock: times that are read in a wrong format differ by decades, or run at another speed.
    assert abs(found["clock_skew"]) < 1e-3
    assert 0 < found["rtt_min_s"] <= found["rtt_p50_s"]


@pytest.mark.alone
@STAMP_SUITE
@pytest.mark.parametrize("clock", ["NTP", "PTP"])
def test_the_sender_of_stamp_suite_is_answered(home: Path, clock: str) -> None:
    """100 packets with padding, which longfat knows, and with a Class of Service, which it does not (types 1 and 4 of RFC 8972)."""
    port = free_port()
    words = ["stamp-suite", "-r", "127.0.0.1", "-p", str(port), "-c", "100", "-d", "10", "-L", "30", "--output-format", "json"]
    words += ["--clock-source", clock, "--ssid", "4660", "--on-zero-ssid", "stop", "--extra-padding", "100", "--cos"]
    with serving(home, "--key", "test", "--stamp", str(port), "--from", "127.0.0.0/8") as (_, server):
        assert server.stdout is not None
        assert "answering STAMP" in server.stdout.readline()
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    extensions = found["measurements"]["tlv_validation"]
    # So few packets come within what the reflector takes at once, however late the sender is.
    assert (found["packets_sent"], found["packets_received"], found["measurements"]["unknown_replies"]) == (100, 100, 0), found
    flags = {kind: (of["observed"], of["flags"]["unrecognized"], of["flags"]["malformed"]) for kind, of in extensions["by_type"].items()}
    assert flags == {"1": (100, 0, 0), "4": (100, 100, 0)}, extensions
    assert extensions["rejected_replies"] == 0
    # One host, one clock: each direction takes less than the longest round trip.
    for way in ("forward", "reverse"):
        assert abs(found["owd"][f"{way}_median_ms"]) <= found["max_rtt_ms"], found["owd"]
    theirs = found["owd"]["clock_quality"]["last_reflector"]
    assert (theirs["synchronized"], theirs["format"], theirs["error_ms"]) == (False, "NTP", 1000.0)


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
