"""Captures of this machine's own TCP over a path whose fault is known, for `bench/verdicts.py --captures`.

    python bench/kernel_captures.py FOLDER [--split train|test|final] [--seed N] [--seconds N] [--jobs N] [--causes "A;B"]

The path is a program between two TUN devices, each in a network namespace of its own. It holds packets for half the round trip each
way, lets them go at a rate from a buffer, and does to them what the cause says. It writes three captures at once: as packets come from
the sender, as they come to the bottleneck, and as they are handed to the receiver. Rules are made with `train`; the other splits have
other round trips and rates. `late_p99_s` says how late the path itself was. Needs root, `ip`, `ss` and /dev/net/tun.
"""

from __future__ import annotations

import argparse
import fcntl
import heapq
import json
import math
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

RTTS = {"train": (25, 70), "test": (18, 45, 110), "final": (22, 55, 130)}
RATES = {"train": (6, 9), "test": (5, 7.5, 11), "final": (4, 6.5, 10)}
POINTS = ("sender", "between", "receiver")
LOSSY = ("reno", "cubic")
ALL = (*LOSSY, "bbr")
CAUSES = {
    "send buffer": ALL,
    "application": ALL,
    "congestion, by loss": LOSSY,
    "bursts over a small buffer": LOSSY,
    "random loss": LOSSY,
    "policer": ALL,
    "policer of a small bucket": ALL,
    "receiver's ring": LOSSY,
    "slower receiver": LOSSY,
    "receive window": ALL,
    "closing window": ALL,
    "congestion, by ECN": LOSSY,
    "a full path": ALL,
    "reordering": LOSSY,
    "reordering by the book": LOSSY,
    "reordering not undone": LOSSY,
    "path change": ALL,
}
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
SNAP = 96


def facts(cause: str, control: str, rtt: int, rate: float, rng: random.Random) -> dict[str, Any]:
    """Facts of what is done to the flow: bytes, bytes per second for `read_rate`, seconds, and bit/s."""
    bps = rate * 1e6
    bdp = bps / 8 * rtt / 1e3
    made: dict[str, Any] = {"cause": cause, "control": control, "rtt": rtt / 1e3, "rate": bps, "buffer": 4 * bdp + 30_000}
    match cause:
        case "send buffer":
            made["sndbuf"] = int(max(9000, bdp * rng.uniform(0.25, 0.5)))
        case "application":
            # One write about every round trip.
            made |= {"write": int(max(6000, bdp * rng.uniform(0.15, 0.5))), "interval": rtt / 1e3 * rng.uniform(0.6, 2.5)}
        case "congestion, by loss":
            made["buffer"] = max(bdp * rng.uniform(0.6, 1.2), 15_000)
        case "bursts over a small buffer":
            made["buffer"] = max(4 * 1500, bdp * rng.uniform(0.05, 0.15))
        case "random loss":
            made["loss"] = min(0.03, (1.22 / (rng.uniform(0.3, 0.5) * bdp / 1500)) ** 2)
        case "policer":
            made |= {"policed": bps * rng.uniform(0.3, 0.6), "tokens": max(15_000, bdp * rng.uniform(0.3, 1.2))}
        case "policer of a small bucket":
            made |= {"cause": "policer", "policed": bps * rng.uniform(0.3, 0.6), "tokens": rng.uniform(5000, 12_000)}
        case "receiver's ring":
            made |= {"ring": rng.choice((8, 16)), "host": 2 * bps, "pause": 0.02 + 16 * 12_000 / bps, "every": rng.uniform(0.7, 1.3)}
        case "slower receiver":
            # The host is the bottleneck: a queue like any other.
            made |= {"ring": int(max(12, bdp / 1500)), "host": bps * rng.uniform(0.4, 0.7)}
        case "receive window":
            made["rcvbuf"] = int(max(9000, bdp * rng.uniform(0.25, 0.5)))
        case "closing window":
            made |= {"rcvbuf": int(max(20_000, bdp)), "read_rate": bps / 8 * rng.uniform(0.25, 0.5)}
        case "congestion, by ECN":
            made |= {"buffer": max(2 * bdp, 40_000), "mark_above": max(0.5 * bdp, 6000)}
        case "a full path":
            made |= {"sndbuf": int(2 * bdp + 30_000), "buffer": 6 * bdp + 400_000}
        case "reordering":
            # Late by more than a quarter of a round trip, which is what RACK waits (RFC 8985 section 6.2).
            # The buffer holds whatever is sent, so nothing is lost beside it.
            made |= {"overtaken": rng.uniform(0.004, 0.012), "late": rtt / 1e3 * rng.uniform(0.4, 0.9), "buffer": 6 * bdp + 2_000_000}
        case "reordering by the book" | "reordering not undone":
            # A sender that takes three duplicates for a loss, always (RFC 6675), and learns nothing of the order; and one that is not told
            # that it was wrong, neither by DSACK nor by timestamps.
            fixed = {"net.ipv4.tcp_recovery": 0, "net.ipv4.tcp_max_reordering": 3}
            blind = {"net.ipv4.tcp_dsack": 0, "net.ipv4.tcp_timestamps": 0} if cause == "reordering not undone" else {}
            made |= {"overtaken": rng.uniform(0.01, 0.06), "late": rtt / 1e3 * rng.uniform(0.2, 0.8), "buffer": 6 * bdp + 2_000_000}
            made |= {"cause": "reordering", "sysctls": fixed | blind}
        case "path change":
            made |= {
                "rcvbuf": int(max(9000, bdp * rng.uniform(0.4, 0.8))),
                "change_at": rng.uniform(3, 6),
                "longer": rtt / 1e3 * rng.uniform(0.5, 2),
            }
        case _:
            raise ValueError(cause)
    return made


class Capture:
    """A pcap of raw IP, with nanoseconds."""

    def __init__(self, file: Path) -> None:
        self.file = file.open("wb")
        self.file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, 101))

    def add(self, packet: bytes) -> None:
        now = time.time_ns()
        head = packet[:SNAP]
        self.file.write(struct.pack("<IIII", now // 10**9, now % 10**9, len(head), len(packet)) + head)


def marked(packet: bytes) -> bytes:
    """An IPv4 packet of an ECN-capable transport, with CE (RFC 3168 section 5), and its checksum (RFC 1071)."""
    if not packet[1] & 3:
        return packet
    head = bytearray(packet[: 4 * (packet[0] & 15)])
    head[1] |= 3
    head[10:12] = bytes(2)
    total = sum(struct.unpack(f">{len(head) // 2}H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    head[10:12] = struct.pack(">H", ~total & 0xFFFF)
    return bytes(head) + packet[len(head) :]


class Path_:
    """The path that packets go through."""

    def __init__(self, known: dict[str, Any], captures: list[Capture], out: list[int], rng: random.Random) -> None:
        self.known, self.captures, self.out, self.rng = known, captures, out, rng
        self.due: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.count = 0
        self.queued, self.free_at = 0, 0.0
        self.tokens, self.filled = float(known.get("tokens", 0)), 0.0
        self.ring: deque[bytes] = deque()
        self.serving_at = 0.0
        self.began = time.monotonic()
        self.late: list[float] = []
        self.dropped = {"queue": 0, "random": 0, "policer": 0, "ring": 0, "marked": 0}

    def at(self, when: float, what: Callable[..., None], *of: Any) -> None:
        self.count += 1
        heapq.heappush(self.due, (when, self.count, what, of))

    def forward(self, packet: bytes) -> None:
        self.captures[0].add(packet)
        self.at(time.monotonic() + self.known["rtt"] / 4, self.bottleneck, packet)

    def bottleneck(self, packet: bytes, is_noise: bool = False) -> None:
        now, known = time.monotonic(), self.known
        if not is_noise:
            self.captures[1].add(packet)
        if self.rng.random() < known.get("loss", 0):
            self.dropped["random"] += 1
            return
        if "policed" in known and not is_noise:
            self.tokens = min(known["tokens"], self.tokens + (now - self.filled) * known["policed"] / 8)
            self.filled = now
            if self.tokens < len(packet):
                self.dropped["policer"] += 1
                return
            self.tokens -= len(packet)
        if self.queued + len(packet) > known["buffer"]:
            self.dropped["queue"] += not is_noise
            return
        if self.queued > known.get("mark_above", math.inf) and not is_noise:
            packet = marked(packet)
            self.dropped["marked"] += 1
        self.queued += len(packet)
        self.free_at = max(self.free_at, now) + len(packet) * 8 / known["rate"]
        self.at(self.free_at, self.leave, packet, is_noise)

    def leave(self, packet: bytes, is_noise: bool) -> None:
        self.queued -= len(packet)
        if is_noise:
            return
        now, known = time.monotonic(), self.known
        late = known["late"] if self.rng.random() < known.get("overtaken", 0) else 0
        # After a change the way there is longer.
        more = known["longer"] if now - self.began > known.get("change_at", math.inf) else 0
        self.at(now + known["rtt"] / 4 + late + more, self.host, packet)

    def host(self, packet: bytes) -> None:
        if "ring" not in self.known:
            self.hand(packet)
            return
        if len(self.ring) >= self.known["ring"]:
            self.dropped["ring"] += 1
            return
        self.ring.append(packet)
        if len(self.ring) == 1:
            self.at(max(self.serving_at, time.monotonic() + len(packet) * 8 / self.known["host"]), self.serve)

    def serve(self) -> None:
        now = time.monotonic()
        if now < self.serving_at:
            self.at(self.serving_at, self.serve)
            return
        self.hand(self.ring.popleft())
        if self.ring:
            self.at(now + len(self.ring[0]) * 8 / self.known["host"], self.serve)

    def pause(self) -> None:
        now = time.monotonic()
        self.serving_at = now + self.known["pause"]
        self.at(now + self.known["every"] * self.rng.uniform(0.7, 1.3), self.pause)

    def hand(self, packet: bytes) -> None:
        self.captures[2].add(packet)
        os.write(self.out[1], packet)

    def back(self, packet: bytes) -> None:
        self.captures[2].add(packet)
        self.at(time.monotonic() + self.known["rtt"] / 4, self.back_between, packet)

    def back_between(self, packet: bytes) -> None:
        self.captures[1].add(packet)
        self.at(time.monotonic() + self.known["rtt"] / 4, self.back_out, packet)

    def back_out(self, packet: bytes) -> None:
        self.captures[0].add(packet)
        os.write(self.out[0], packet)

    def noise(self) -> None:
        """Other traffic of a twentieth of the rate, on and off."""
        now = time.monotonic()
        if int((now - self.began) / 0.25) % 2:
            self.bottleneck(bytes(1000), is_noise=True)
        self.at(now + 1000 * 8 * 20 / self.known["rate"] * self.rng.uniform(0.5, 1.5), self.noise)

    def run(self, seconds: float) -> None:
        poll = select.poll()
        for fd in self.out:
            poll.register(fd, select.POLLIN)
        until = time.monotonic() + seconds
        self.noise()
        if "pause" in self.known:
            self.at(time.monotonic() + self.known["every"], self.pause)
        while (now := time.monotonic()) < until:
            while self.due and self.due[0][0] <= now:
                due, _, what, of = heapq.heappop(self.due)
                self.late.append(time.monotonic() - due)
                what(*of)
            wait = max(0.0, (self.due[0][0] if self.due else until) - time.monotonic())
            for fd, _ in poll.poll(int(1000 * wait)):
                while True:
                    try:
                        packet = os.read(fd, 65536)
                    except BlockingIOError:
                        break
                    if packet[0] >> 4 == 4:
                        self.forward(packet) if fd == self.out[0] else self.back(packet)
            if wait < 0.001:
                time.sleep(0.0001)


def send(known: dict[str, Any], seconds: float) -> None:
    """The sender's end."""
    with socket.socket() as end:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, known["control"].encode())
        if "sndbuf" in known:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, known["sndbuf"])
        end.settimeout(seconds)
        end.connect(("10.9.0.2", 5001))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            end.sendall(bytes(known.get("write", 65536)))
            if "interval" in known:
                time.sleep(known["interval"])


def receive(known: dict[str, Any]) -> None:
    """The receiver's end."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if "rcvbuf" in known:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, known["rcvbuf"])
        server.bind(("10.9.0.2", 5001))
        server.listen()
        one, _ = server.accept()
        began, read = time.monotonic(), 0
        while piece := one.recv(4000 if "read_rate" in known else 1 << 18):
            read += len(piece)
            if "read_rate" in known:
                time.sleep(max(0.0, began + read / known["read_rate"] - time.monotonic()))


def device(name: str, namespace: str, own: str, other: str) -> int:
    """A TUN device in a namespace; the path's end of it."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    for command in (
        f"ip link set {name} netns {namespace}",
        f"ip -n {namespace} addr add {own} peer {other} dev {name}",
        f"ip -n {namespace} link set {name} mtu 1500 txqueuelen 5000 up",
        f"ip netns exec {namespace} sysctl -qw net.ipv4.tcp_no_metrics_save=1",
    ):
        subprocess.run(command.split(), check=True)
    return fd


def one(folder: Path, stem: str, known: dict[str, Any], number: int, seconds: float) -> None:
    """One run: its captures, and what is known of it."""
    names = [f"lft{os.getpid()}{side}{number}" for side in "ab"]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        ends = (("10.9.0.1", "10.9.0.2"), ("10.9.0.2", "10.9.0.1"))
        wanted = dict(known.get("sysctls", {})) | ({"net.ipv4.tcp_ecn": 1} if "mark_above" in known else {})
        for name in names:
            for key, value in wanted.items():
                subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", f"{key}={value}"], check=True)
        out = [device(f"lf{side}{number}", name, *end) for side, name, end in zip("ab", names, ends, strict=True)]
        captures = [Capture(folder / f"{stem}-{point}.pcap") for point in POINTS]
        path = Path_(known, captures, out, random.Random(number))
        run = ["ip", "netns", "exec"]
        roles = [subprocess.Popen([*run, names[1], sys.executable, __file__, "--receive", json.dumps(known)])]
        while b":5001" not in subprocess.run([*run, names[1], "ss", "-ltn"], capture_output=True, check=True).stdout:
            time.sleep(0.1)
        roles.append(subprocess.Popen([*run, names[0], sys.executable, __file__, "--send", json.dumps(known), "--seconds", str(seconds)]))
        path.run(seconds + 1)
        for role in roles:
            role.kill()
            role.wait()
        for capture in captures:
            capture.file.close()
        for fd in out:
            os.close(fd)
        (folder / f"{stem}.json").write_text(
            json.dumps(known | {"dropped": path.dropped, "late_p99_s": sorted(path.late)[int(0.99 * len(path.late))]}), encoding="utf-8"
        )
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def main() -> None:
    """All runs of a split, some at a time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--split", choices=tuple(RTTS), default="train")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--causes", default="", help="only these, with semicolons between them")
    parser.add_argument("--send")
    parser.add_argument("--receive")
    parser.add_argument("--one", nargs=3)
    asked = parser.parse_args()
    if asked.receive:
        receive(json.loads(asked.receive))
    elif asked.send:
        send(json.loads(asked.send), asked.seconds)
    elif asked.one:
        # Nothing that waits for the processor may look like a queue.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        one(asked.folder, asked.one[0], json.loads(asked.one[1]), int(asked.one[2]), asked.seconds)
    else:
        asked.folder.mkdir(parents=True, exist_ok=True)
        commands: list[list[str]] = []
        for cause, controls in CAUSES.items():
            if asked.causes and cause not in asked.causes.split(";"):
                continue
            for rtt in RTTS[asked.split]:
                rng = random.Random(f"{asked.seed} {asked.split} {cause} {rtt}")
                for control in controls:
                    rate = rng.choice(RATES[asked.split])
                    stem = f"{cause}-{control}-{rtt}ms-{rate}M".replace(" ", "_").replace(",", "").replace("'", "")
                    known = json.dumps(facts(cause, control, rtt, rate, rng))
                    if (asked.folder / f"{stem}.json").exists():
                        continue
                    numbered = ["--one", stem, known, str(len(commands)), "--seconds", str(asked.seconds)]
                    commands.append([sys.executable, __file__, str(asked.folder), *numbered])
        with ThreadPoolExecutor(asked.jobs) as pool:
            list(pool.map(subprocess.run, commands))


main()
