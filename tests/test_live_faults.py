"""Measurements between two hosts that something goes wrong with: each ends in time, with one sentence, and keeps what was measured.

A relay is the path: it delays, is cut in one direction or both and healed, and gives its datagrams another port, as a NAT does.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import longfat
import pytest
from longfat.live.serving import serving as started
from test_live import DOWN, UP, command, home, serving, text

__all__ = ["home"]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="measurements between two hosts need Linux"),
    pytest.mark.slow,
]

PATIENCE_S = 120
"""The protocol gives up after 5 s and 4 round trips of silence; a busy machine and its tests take longer."""


class Relay:
    """A path to a server at 127.0.0.1, for TCP and UDP at one port."""

    def __init__(self, to: int, delay_s: float = 0.0) -> None:
        self.to = ("127.0.0.1", to)
        self.delay_s = delay_s
        self.passes = {"up": True, "down": True}
        self.passed = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.near.bind(self.listener.getsockname())
        self.client: tuple[str, int] | None = None
        self.far = self._port()
        self.queues: list[tuple[str, socket.socket, socket.socket, deque[tuple[float, bytes]]]] = []
        self.datagrams: deque[tuple[float, bool, bytes]] = deque()
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    @property
    def at(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def rebind(self) -> None:
        """Datagrams to the server leave from another port from now on."""
        old, self.far = self.far, self._port()
        old.close()

    def _port(self) -> socket.socket:
        far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        far.connect(self.to)
        far.setblocking(False)
        return far

    def __enter__(self) -> Relay:
        self.listener.setblocking(False)
        self.near.setblocking(False)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ends.set()
        self.thread.join(10)
        for queue in self.queues:
            queue[1].close()
            queue[2].close()
        for one in (self.listener, self.near, self.far):
            one.close()

    def _run(self) -> None:
        while not self.ends.is_set():
            with contextlib.suppress(BlockingIOError):
                near, _ = self.listener.accept()
                far = socket.create_connection(self.to)
                for one in (near, far):
                    one.setblocking(False)
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.queues += [("up", near, far, deque()), ("down", far, near, deque())]
            for way, one, other, queue in self.queues:
                if self.passes[way]:
                    self._pass(one, other, queue)
            self._pass_datagrams()
            time.sleep(0.001)

    def _pass(self, one: socket.socket, other: socket.socket, queue: deque[tuple[float, bytes]]) -> None:
        now = time.monotonic()
        if len(queue) < 64:
            with contextlib.suppress(OSError):
                queue.append((now + self.delay_s, one.recv(1 << 16)))
        with contextlib.suppress(OSError):
            while queue and queue[0][0] <= now:
                due, data = queue.popleft()
                if not data:
                    other.shutdown(socket.SHUT_WR)
                    queue.append((now + 1e6, b""))
                    return
                try:
                    sent = other.send(data)
                except BlockingIOError:
                    sent = 0
                self.passed += sent
                if sent < len(data):
                    queue.appendleft((due, data[sent:]))
                    return

    def _pass_datagrams(self) -> None:
        now = time.monotonic()
        with contextlib.suppress(OSError):
            while True:
                data, self.client = self.near.recvfrom(2048)
                if self.passes["up"]:
                    self.datagrams.append((now + self.delay_s, True, data))
        with contextlib.suppress(OSError):
            while True:
                data = self.far.recv(2048)
                if self.passes["down"]:
                    self.datagrams.append((now + self.delay_s, False, data))
        while self.datagrams and self.datagrams[0][0] <= now:
            _, is_up, data = self.datagrams.popleft()
            with contextlib.suppress(OSError):
                if is_up:
                    self.far.send(data)
                elif self.client:
                    self.near.sendto(data, self.client)


@contextlib.contextmanager
def relayed(home: Path, delay_s: float = 0.0) -> Generator[tuple[Relay, subprocess.Popen[str]]]:
    """A server at 20 Mbit/s, and the path to it."""
    limits = home / "limits.toml"
    limits.write_text('rate = "20 Mbit/s"\n')
    with serving(home, "--key", "test", "--limits", str(limits)) as (at, server), Relay(int(at.rpartition(":")[2]), delay_s) as relay:
        yield relay, server


PROGRAM = """
import sys
import longfat
try:
    result = longfat.Experiment(sys.argv[1]).run()
except longfat.LostError as error:
    print("LostError", error)
    result = error.result
print(result.verdict, int(result.flows["bytes_delivered"].iloc[0]), result.metrics)
"""


@contextlib.contextmanager
def running(home: Path, experiment: str, program: Sequence[str] = ()) -> Generator[subprocess.Popen[str]]:
    """A client of its own process: longfat with these words, or a Python program that runs `experiment`, which is in `a.toml`, too."""
    env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
    words = ["-m", "longfat", *program] if program else ["-c", PROGRAM, experiment]
    (home / "a.toml").write_text(experiment)
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *words], env=env, cwd=home, **pipes) as client:
        yield client
        client.kill()


@contextlib.contextmanager
def flowing(relay: Relay, experiment: str, home: Path, program: Sequence[str] = ()) -> Generator[subprocess.Popen[str]]:
    """A run under way: a megabyte has gone through the relay."""
    with running(home, experiment.replace("[live]", "[live]\nsurvey = false"), program) as client:
        while relay.passed < 1_000_000:
            assert client.poll() is None, client.communicate()
            time.sleep(0.01)
        yield client


def session_line(server: subprocess.Popen[str]) -> str:
    """The server's next line about a session."""
    assert server.stdout is not None
    while "key test" not in (line := server.stdout.readline()):
        assert line, "the server has ended"
    return line


LOST = re.compile(r"error: .*(the other side|in time|lost).*; what was measured of this run is kept, and the same command runs it again")


def lost_line(client: subprocess.Popen[str]) -> None:
    """Waits for a `longfat run` whose far host is lost: it ends in time, with one sentence."""
    started = time.monotonic()
    out, said = client.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - started < PATIENCE_S
    assert client.returncode == 1, out + said
    assert LOST.search(" ".join(said.split())), said
    assert "Traceback" not in said


def kept_of(folder: Path, is_up: bool) -> longfat.Result:
    """The run that was lost, as it is kept in the results `folder`: what the near end knows, and nothing of the far one."""
    results = longfat.load_results(folder)
    assert results.so_far == "0 of the 1 runs of this sweep, and 1 run cut before the end: it was stopped."
    assert list(results.runs["verdict"]) == ["invalid"]
    run = results[0]
    assert run.real_time["cut_by"] == 2
    assert [one.text for one in run.warnings if re.match("the far host or the path to it was lost after [0-9.]+ of 60.0 s$", one.text)]
    flow = run.flows.iloc[0]
    assert 100_000 < flow["bytes_delivered"] < 60 * 20e6 / 8
    assert flow["goodput_bps"] > 0
    assert set(run.tcp_info["end"]) == {"sender" if is_up else "receiver"}
    assert set(run.host_series["host"]) == {"near"}
    up, down = (run.probes[run.probes["direction"] == way] for way in ("up", "down"))
    assert len(up) > 10
    assert up["arrived"].isna().all()
    assert (up["timer_error_s"] >= 0).all()
    assert len(down) > 10
    assert (down["arrived"] == 1).all()
    assert "queue_delay_up_p50_s" not in run.metrics
    assert math.isnan(flow["rtt_p50_s"]) is not is_up
    assert math.isnan(flow["retransmission_rate"]) is not is_up
    return run


@pytest.mark.parametrize(
    ("flow", "ways"),
    [(DOWN, ("up", "down")), (DOWN, ("up",)), (UP, ("down",)), (UP, ("up", "down"))],
    ids=["down-both", "down-up", "up-down", "up-both"],
)
def test_a_path_that_is_cut_ends_both_hosts_and_keeps_the_run_so_far(home: Path, flow: str, ways: tuple[str, ...]) -> None:
    with relayed(home) as (relay, server):
        # Four seconds at the server's rate.
        experiment = text(relay.at, f'{flow}traffic = {{ kind = "ttcp", volume = "10 MB" }}\n', "60 s")
        with flowing(relay, experiment, home, program=["run", "a.toml"]) as client:
            relay.passes.update(dict.fromkeys(ways, False))
            lost_line(client)
        assert "ended well" not in session_line(server)
        run = kept_of(home / "results" / "a", flow == UP)
        relay.passes.update(up=True, down=True)
        if ways != ("up", "down"):
            return
        # A later run makes it again, to its end.
        done = command("run", "a.toml", home=home, cwd=home)
        assert done.returncode == 0, done.stderr
        again = longfat.load_results(home / "results" / "a")
        assert (again.so_far, len(again)) == ("", 1)
        assert again[0].real_time["cut_by"] == 0
        assert run.run != again[0].run


def test_a_server_that_is_killed_leaves_the_run_so_far_and_a_later_one_is_whole(home: Path) -> None:
    with relayed(home) as (relay, server), flowing(relay, text(relay.at, UP, "60 s"), home, program=["run", "a.toml"]) as client:
        server.kill()
        server.wait()
        # The kernel of the server's host closes its connections, and the relay passes that on.
        lost_line(client)
    kept_of(home / "results" / "a", is_up=True)


def test_a_program_gets_what_was_measured_with_the_error(home: Path) -> None:
    with relayed(home) as (relay, server), flowing(relay, text(relay.at, DOWN, "60 s"), home) as client:
        server.kill()
        out, said = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 0, said
    assert re.match(r"LostError 127.0.0.1:\d+: the other side closed the connection\ninvalid [0-9]{6}", out), out + said


def test_a_path_that_heals_within_two_seconds_ends_no_run(home: Path) -> None:
    with relayed(home) as (relay, server), flowing(relay, text(relay.at, DOWN, "10 s"), home) as client:
        relay.passes.update(up=False, down=False)
        time.sleep(2)
        relay.passes.update(up=True, down=True)
        _, said = client.communicate(timeout=PATIENCE_S)
        assert client.returncode == 0, said
        assert "ended well" in session_line(server)


def test_two_seconds_of_round_trip_work(home: Path) -> None:
    with relayed(home, delay_s=1.0) as (relay, _):
        result = longfat.Experiment(text(relay.at, DOWN, "4 s")).run()
    assert result.verdict
    assert result.flows["bytes_delivered"].iloc[0] > 10_000


def test_a_nat_that_rebinds_loses_probes_and_not_the_run(home: Path) -> None:
    with relayed(home) as (relay, server), flowing(relay, text(relay.at, DOWN, "8 s"), home) as client:
        relay.rebind()
        out, said = client.communicate(timeout=PATIENCE_S)
        assert client.returncode == 0, said
        assert "ended well" in session_line(server)
    # Those before it are measured.
    assert re.search(r"'queue_delay_up_idle_p50_s': [0-9]", out), out
    assert re.search(r"'queue_delay_down_p50_s': [0-9]", out), out


def test_nat_is_noticed_by_tcp_and_by_udp(home: Path) -> None:
    with relayed(home) as (relay, _):
        behind = longfat.Experiment(text(relay.at, UP, "1 s")).run().real_time
        udp = relay.far.getsockname()[1]
    with serving(home, "--key", "test") as (at, _):
        direct = longfat.Experiment(text(at, UP, "1 s")).run().real_time
    assert behind["nat_port"] > 0
    assert behind["nat_udp_port"] == udp
    assert (direct["nat_port"], direct["nat_udp_port"]) == (0, 0)


def test_hosts_with_ipv6_alone_measure(home: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this host has no IPv6")
    with serving(home, "--key", "test", bind="::1") as (at, _):
        result = longfat.Experiment(text(at, UP + DOWN)).run()
    assert (result.flows["bytes_delivered"] > 10_000).all()
    assert result.metrics["queue_delay_up_p50_s"] >= 0


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="a clock of its own needs root and unshare")
def test_a_far_clock_that_is_days_apart_does_no_harm(home: Path) -> None:
    env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
    before = ["unshare", "--time", "--monotonic", "500000", "--boottime", "500000", "--fork", "--kill-child"]
    try:
        with started("--key", "test", before=before, env=env) as server:
            result = longfat.Experiment(text(server.at, UP + DOWN, "2 s")).run()
            # Its child ends with it, and Ctrl-C does not reach it.
            server.process.kill()
    except longfat.LongfatError as error:
        if "unshare" in str(error):
            pytest.skip(f"no time namespaces: {error}")
        raise
    assert (result.flows["bytes_delivered"] > 10_000).all()
    for way in ("up", "down"):
        assert 0 <= result.metrics[f"queue_delay_{way}_p50_s"] < 0.5, result.metrics
    assert result.real_time["clock_steps"] == 0
    assert result.real_time["clock_fast_ppb"] + result.real_time["clock_slow_ppb"] < 1e6


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="a small disk needs root")
def test_a_full_disk_is_one_sentence_and_the_server_goes_on(home: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(small)], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no tmpfs: {mounted.stderr.strip()}")
    try:
        with serving(home, "--key", "test") as (at, _):
            file = small / "a.toml"
            file.write_text(text(at, UP + DOWN, "2 s"))
            done = command("run", "a.toml", home=home, cwd=small)
            assert done.returncode == 1, done.stdout
            assert "space" in done.stderr, done.stderr
            assert "Traceback" not in done.stderr
            assert longfat.Experiment(text(at, UP, "300 ms")).run().verdict
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_measure_keeps_the_direction_that_was_measured(home: Path) -> None:
    with relayed(home) as (relay, _):
        env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
        words = [sys.executable, "-m", "longfat", "measure", relay.at, "--key", "test", "--seconds", "3"]
        with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            deadline = time.monotonic() + PATIENCE_S
            # A run has control, six handshakes before and after, and data; each of its two looks at the path has all but data. The flow
            # down follows the flow up.
            while len(relay.queues) < 16 + 2 * 14 + 14 + 10 and time.monotonic() < deadline:
                assert client.poll() is None
                time.sleep(0.05)
            time.sleep(1)
            relay.passes.update(up=False, down=False)
            out, said = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 1
    assert re.search(r"up +[\d,.]+ Mbit/s", out), out + said
    assert "the far host or the path to it was lost after" in said, said
    assert "error: " in said
