"""`longfat probe` over loopback, over routers and an MTU that this test makes, and over an emulated path of known rate and memory."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat import _longfat
from longfat.cli.app import app
from longfat.cli.probe import Transfer, is_fast_enough, lines
from longfat.cli.testbed import permitted
from longfat.live.serving import serving as started
from longfat.live.survey import Codepoint, direction, read
from typer.testing import CliRunner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measurements between two hosts need Linux")

LONGFAT = [sys.executable, "-m", "longfat"]
GIVEN_UP_S = 40.0
"""Time that docs/live-probe.md promises where the far end stops answering: 20 s for the probe, and 20 s to give up."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for keys, with the key `test`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    subprocess.run([*LONGFAT, "key", "new", "test"], check=True, capture_output=True)
    return tmp_path


@contextlib.contextmanager
def serving(*before: str, bind: str, options: tuple[str, ...] = ("--key", "test")) -> Generator[str]:
    """A server of this test, run by the command `before`: its address."""
    with started(*options, bind=bind, before=before) as server:
        yield server.at


def probed(at: str, *before: str) -> dict[str, Any]:
    done = subprocess.run(
        [*before, *LONGFAT, "probe", at, "--key", "test", "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_loopback_has_no_router_and_keeps_all(home: Path) -> None:
    with serving(bind="127.0.0.1") as at:
        seen = probed(at)
        shown = subprocess.run([*LONGFAT, "probe", at, "--key", "test"], capture_output=True, text=True, timeout=120, check=False)
    assert (seen["address"], seen["routers_up"], seen["routers_down"], seen["hops"]) == ("127.0.0.1", 0, 0, [])
    assert len(seen["rtt_s"]) == seen["asked"] == 20
    assert 0 < min(seen["rtt_s"]) < 0.1
    assert 0 < seen["base_rtt_before_s"] < 0.1
    assert seen["mtu_up_bytes"] == seen["mtu_down_bytes"] == seen["mtu_tried_bytes"] == 9216
    assert all(one["sent"] == one["up"] == one["down"] for one in seen["codepoints"])
    assert len(seen["codepoints"]) == 18
    assert seen["bytes"] < 20e6
    for way in ("up", "down"):
        assert seen[way]["arrived"] > 0
        assert 0.5 < seen["tcp"][way]["tcp_efficiency"] <= 1
    assert "codepoints: all 18 tried arrive as they were sent" in shown.stdout, shown.stdout + shown.stderr
    assert "MTU 9216 bytes or more up" in shown.stdout


@pytest.mark.slow
def test_one_timer_bounds_the_whole_probe(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No transfer begins after the end of the timer, and what was measured before is told."""
    for name in ("LIMIT_S", "TRIPS"):
        monkeypatch.setattr(f"longfat.cli.probe.{name}", 0)
    with serving(bind="127.0.0.1") as at:
        made = CliRunner().invoke(app, ["probe", at, "--key", "test", "--json"])
    assert made.exit_code == 0, made.output
    seen = json.loads(made.stdout)
    assert "TCP" in seen["cut"]
    assert "down" not in seen["tcp"]
    assert len(seen["rtt_s"]) > 0
    assert seen["waited_s"] < 60


@pytest.mark.slow
def test_an_open_server_refuses_with_the_limit(home: Path) -> None:
    with serving(bind="127.0.0.1", options=("--open",)) as at:
        done = subprocess.run([*LONGFAT, "probe", at], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "survey_bytes" in done.stderr, done.stderr


def sockets_at(port: int) -> int:
    """UDP sockets of this machine at a local port."""
    tables = [Path(f"/proc/net/{table}").read_text().splitlines()[1:] for table in ("udp", "udp6") if Path(f"/proc/net/{table}").exists()]
    return sum(int(line.split()[1].rsplit(":", 1)[1], 16) == port for table in tables for line in table)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "later"])
def test_a_far_end_that_falls_silent_is_given_up_in_time(home: Path, when: str) -> None:
    words = [*LONGFAT, "serve", "--port", "0", "--bind", "127.0.0.1", "--key", "test"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.match(r"listening at port (\d+), for ", server.stdout.readline())
            assert found
            port = int(found[1])
            if when == "before":
                # Its kernel goes on: it takes connections, and nobody answers.
                server.send_signal(signal.SIGSTOP)
            begun = time.monotonic()
            command = [*LONGFAT, "probe", f"127.0.0.1:{port}", "--key", "test", "--json"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
                if when == "later":
                    # The session has its own socket beside the one that listens: the questions on the idle path follow, for half a second.
                    # Loopback may have come to the transfers by the end.
                    while sockets_at(port) < 2 and client.poll() is None:
                        time.sleep(0.02)
                    time.sleep(0.7)
                    server.send_signal(signal.SIGSTOP)
                printed, said = client.communicate(timeout=120)
            took = time.monotonic() - begun
        finally:
            server.kill()
    assert client.returncode == 1, printed + said
    assert took < GIVEN_UP_S, said
    if when == "before":
        assert not printed
        assert "did not answer the handshake" in said, said
    else:
        seen = json.loads(printed)
        assert seen["rtt_s"]
        assert "silent" in seen["lost"] or "did not answer the handshake" in seen["lost"]
        assert seen["lost"] in said.replace("\n", " ")
        assert seen["tcp"] == {}


@pytest.fixture
def chain() -> Generator[list[str]]:
    """Names of four namespaces in a row: a host, two routers, a host. The middle has an MTU of 1400."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("making network namespaces needs root and iproute2")
    names = [f"longfat-survey-{os.getpid()}-{number}" for number in range(4)]

    def ip(*words: str, within: int | None = None) -> None:
        inside = [] if within is None else ["-n", names[within]]
        done = subprocess.run(["ip", *inside, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"ip {' '.join(words)}: {done.stderr.strip()}")

    made: list[str] = []
    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
        for left in range(3):
            ip("link", "add", "right", "netns", names[left], "type", "veth", "peer", "name", "left", "netns", names[left + 1])
            ip("address", "add", f"10.231.{left}.1/24", "dev", "right", within=left)
            ip("address", "add", f"10.231.{left}.2/24", "dev", "left", within=left + 1)
            ip("link", "set", "right", "up", within=left)
            ip("link", "set", "left", "up", within=left + 1)
        for place, device in ((1, "right"), (2, "left")):
            ip("link", "set", device, "mtu", "1400", within=place)
            subprocess.run(["ip", "netns", "exec", names[place], "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"], check=True)
        ip("route", "add", "default", "via", "10.231.0.2", within=0)
        ip("route", "add", "10.231.2.0/24", "via", "10.231.1.2", within=1)
        ip("route", "add", "10.231.0.0/24", "via", "10.231.1.1", within=2)
        ip("route", "add", "default", "via", "10.231.2.1", within=3)
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


@pytest.mark.slow
def test_routers_and_an_mtu_that_one_of_them_names(home: Path, chain: list[str]) -> None:
    with serving("ip", "netns", "exec", chain[3], bind="10.231.2.2") as at:
        seen = probed(at, "ip", "netns", "exec", chain[0])
    assert (seen["routers_up"], seen["routers_down"]) == (2, 2)
    assert [(hop["ttl"], hop["address"]) for hop in seen["hops"]] == [(1, "10.231.0.2"), (2, "10.231.1.2")]
    assert all(0 < hop["rtt_s"] < 1 for hop in seen["hops"])
    assert (seen["mtu_up_bytes"], seen["mtu_down_bytes"]) == (1400, 1400)
    assert ["10.231.0.2", 1400] in seen["too_big"]


@pytest.mark.slow
def test_a_black_hole_is_found_to_the_byte(home: Path, chain: list[str]) -> None:
    # The first router may send 1500 bytes; the second drops all above 1377 in silence.
    for place, device, mtu in ((1, "right", 1500), (2, "left", 1377 - 4)):
        subprocess.run(["ip", "-n", chain[place], "link", "set", device, "mtu", str(mtu)], check=True)
    with serving("ip", "netns", "exec", chain[3], bind="10.231.2.2") as at:
        seen = probed(at, "ip", "netns", "exec", chain[0])
    # A virtual link lets a tag of a VLAN pass beside its MTU.
    assert seen["mtu_up_bytes"] == 1377
    assert [from_ for from_, _ in seen["too_big"]] in ([], [None])


@pytest.mark.slow
def test_a_path_that_is_cut_within_a_survey_keeps_what_was_found(home: Path, chain: list[str]) -> None:
    far = ["ip", "netns", "exec", chain[3]]
    with serving(*far, bind="10.231.2.2") as at:
        command = ["ip", "netns", "exec", chain[0], *LONGFAT, "probe", at, "--key", "test", "--json"]
        begun = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            # The server's own socket for this session says that the survey begins. The search of the MTU takes seconds here.
            while client.poll() is None:
                table = subprocess.run([*far, "cat", "/proc/net/udp"], capture_output=True, text=True, check=True).stdout
                if len(table.splitlines()) > 2:
                    break
            time.sleep(1)
            subprocess.run(["ip", "-n", chain[2], "link", "set", "left", "down"], check=True)
            printed, said = client.communicate(timeout=120)
        took = time.monotonic() - begun
    assert client.returncode == 1, printed + said
    assert took < GIVEN_UP_S, said
    seen = json.loads(printed)
    assert "silent" in seen["lost"], seen["lost"]
    assert "silent" in said
    assert len(seen["rtt_s"]) > 0
    assert seen["routers_up"] == 2
    assert seen["tcp"] == {}


RUN = """
import json, subprocess, sys
from longfat import Experiment
from longfat.sweep.work import execute

at, half_way = sys.argv[1:3]
done = not half_way

def progress(share):
    global done
    if share > 0.3 and not done:
        done = True
        subprocess.run(half_way.split(), check=True)

file = f'''
backend = "live"
[[live.host]]
name = "here"
at = "local"
[[live.host]]
name = "there"
at = "{at}"
key = "test"
[[flow]]
congestion_control = "reno"
window = "256 KiB"
[measure]
duration = "3 s"
'''
result = execute(Experiment(file).resolve(0), "", progress)[0]
reasons = [one.text for one in result.warnings if one.name == "suspect"]
hops = [[*row] for row in result.hops.fillna({"flow": -1})[["when", "flow", "ttl", "address"]].itertuples(index=False)]
print(json.dumps({"hops": hops, "metrics": result.metrics, "real": result.real_time, "reasons": reasons, "verdict": result.verdict}))
"""


def ran(at: str, place: str, half_way: str = "") -> dict[str, Any]:
    """A live run within this namespace, with a command half way."""
    command = ["ip", "netns", "exec", place, sys.executable, "-c", RUN, at, half_way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_run_knows_its_routers_and_mtu_before_and_after(home: Path, chain: list[str]) -> None:
    with serving("ip", "netns", "exec", chain[3], bind="10.231.2.2") as at:
        seen = ran(at, chain[0])
    routers = [(1, "10.231.0.2"), (2, "10.231.1.2")]
    # The survey's ports, those of the flow, and the survey's again.
    asked = (("before", -1), ("before", 0), ("after", -1))
    assert seen["hops"] == [[when, flow, ttl, router] for when, flow in asked for ttl, router in routers]
    assert (seen["metrics"]["mtu_up_bytes"], seen["metrics"]["mtu_down_bytes"]) == (1400, 1400)
    assert 0 < seen["metrics"]["base_rtt_before_s"] < 1
    assert [seen["real"][f"links_{way}_{when}"] for way in ("up", "down") for when in ("before", "after")] == [3] * 4
    assert seen["real"]["begun_unix_s"] > 1.7e9
    assert not [reason for reason in seen["reasons"] if "before the run, and" in reason and "idle" not in reason], seen["reasons"]


@pytest.mark.slow
def test_a_path_that_changes_within_a_run_makes_it_suspect(home: Path, chain: list[str]) -> None:
    with serving("ip", "netns", "exec", chain[3], bind="10.231.2.2") as at:
        seen = ran(at, chain[0], f"ip -n {chain[1]} link set right mtu 1300")
    assert seen["real"]["mtu_up_before_bytes"] == 1400
    assert seen["real"]["mtu_up_after_bytes"] == 1300
    assert "the MTU to the far host was 1400 bytes before the run, and 1300 after it" in seen["reasons"]
    assert seen["verdict"] in ("suspect", "invalid")


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
PROBE = """
import subprocess, sys
from longfat.live.serving import serving_at
with serving_at("right1", "--key", "test") as server:
    words = [sys.executable, "-m", "longfat", "probe", server.at, "--key", "test", "--json"]
    with open("seen.json", "w") as seen, open("said.txt", "w") as said:
        subprocess.run(words, stdout=seen, stderr=said)
"""


@pytest.mark.alone
@pytest.mark.skipif(not permitted(), reason="the testbed is not permitted here (root, /dev/net/tun and iproute2 are needed)")
@pytest.mark.parametrize("mbps", [20, 1])
def test_the_rate_and_the_memory_of_a_known_path(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mbps: int) -> None:
    monkeypatch.chdir(tmp_path)
    path = PATH.replace("20 Mbit/s", f"{mbps} Mbit/s")
    begun = time.monotonic()
    try:
        code, _ = _longfat.testbed_shell(longfat.Experiment(path).resolve(0), None, [sys.executable, "-c", PROBE])
    except longfat.ExperimentError as error:
        if "another testbed is running" in str(error):
            pytest.skip("another testbed is running")
        raise
    took = time.monotonic() - begun
    assert code == 0, (tmp_path / "said.txt").read_text()
    # A busy machine is slow to start three processes.
    assert took < GIVEN_UP_S
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert 0.0195 < min(seen["rtt_s"]) < 0.03
    for way in ("up", "down"):
        found = seen[way]
        # A machine that is busy sends unevenly, and the memory shows it.
        assert abs(found["rate_bps"]["value"] / (1e6 * mbps) - 1) < 0.05, found
        assert found["is_bottleneck"]
        assert abs(found["memory_bytes"]["value"] / 100e3 - 1) < 0.15, found
        assert found["lost_at_full_queue"] > 20 > found["lost_otherwise"], found
        assert seen["tcp"][way]["transfer_time_ratio"] > 0.9, seen["tcp"]


def burst(numbers: list[int], came_ms: list[float], gap_ns: int, sent: int) -> dict[str, Any]:
    left = [gap_ns * number for number in numbers]
    return {
        "numbers": numbers,
        "left_ns": left,
        "came_ns": [round(1e6 * time) for time in came_ms],
        "size": 1500,
        "gap_ns": gap_ns,
        "sent": sent,
    }


def test_a_burst_that_finds_no_bottleneck_bounds_the_rate() -> None:
    numbers = list(range(200))
    found = direction(burst(numbers, [0.1 * number for number in numbers], 100_000, 200))
    assert found
    assert not found.is_bottleneck
    assert found.memory_bytes is None
    # Twice as slow as it was sent, and all of it arrives: 100 packets waited at the end, less one under way.
    found = direction(burst(numbers, [0.2 * number for number in numbers], 100_000, 200))
    assert found
    assert found.is_bottleneck
    assert found.memory_least_bytes == pytest.approx(199 / 2 * 1500, rel=0.01)
    # The same into a memory of 20 packets: every other one is lost then.
    kept = [number for number in numbers if number < 40 or number % 2 == 0]
    found = direction(burst(kept, [min(0.2 * place, 0.1 * number + 4.0) for place, number in enumerate(kept)], 100_000, 200))
    assert found
    assert found.memory_bytes
    assert found.memory_bytes.value == pytest.approx(20 * 1500, rel=0.05)
    assert (found.lost_at_full_queue, found.lost_otherwise) == (79, 1)
    few = direction(burst([0, 5], [0, 1], 100_000, 200))
    assert few
    assert (few.rate_bps, few.lost_otherwise) == (None, 198)


def test_each_sentence_says_what_changed() -> None:
    found = read(
        {
            "address": "192.0.2.1",
            "base_rtt_ns": [10_000_000, None],
            "asked": 20,
            "rtt_ns": [],
            "hops": [{"ttl": 1, "address": None, "rtt_ns": None}],
            "routers_up": 1,
            "routers_down": 2,
            "mtu_up": 1400,
            "mtu_down": 1400,
            "mtu_most": 9216,
            "too_big": [],
            "codepoints": [{"sent": 184, "up": 0, "down": 184}, {"sent": 2, "up": 2, "down": 0}, {"sent": 3, "up": None, "down": None}],
            "up": None,
            "down": None,
            "rate_limit": None,
            "bytes": 1,
            "cut": ["burst up"],
            "waited_ns": 0,
            "nat": ["203.0.113.7:40012", None],
            "settings": [[{"name": "kernel", "value": "6.18.1"}], []],
            "lost": None,
        }
    )
    assert found.settings == ({"kernel": "6.18.1"}, {})
    moved = {way: Transfer(1e6, 1.0, 0.0, float("nan")) for way in ("up", "down")}
    said = "\n".join(lines("dtn", found, moved))
    for part in (
        "none of 20 questions was answered",
        "routers: 1 up, 2 down: 1 silent",
        "MTU 1400 bytes up, 1400 bytes down; no router says so",
        "EF becomes default up; ECT(0) becomes default down; CE is lost up",
        "rate unknown",
        "NAT on the way: the far host sees this one as 203.0.113.7:40012 (TCP)",
        "No time was left for: burst up.",
    ):
        assert part in said, said
    assert Codepoint.name(46 << 2 | 1) == "EF with ECT(1)"
    assert not is_fast_enough(found)
    assert "\n".join(lines("dtn", found, {})).count("TCP not measured: it needs 800 kbit/s each way") == 2
