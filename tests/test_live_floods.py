"""A server in floods that nobody should get anything from: forged datagrams, counted on the wire, and connections, by its memory."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from longfat.live.serving import Serving, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measurements between two hosts need Linux")

QUESTIONS = 50_000
"""Forged questions to each port."""
FORGE = """
import random, socket, struct, sys
to, port, kind, count, far = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), bytes.fromhex(sys.argv[5])
random = random.Random(1994)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("near", 0))
near = bytes.fromhex(open("/sys/class/net/near/address").read().strip().replace(":", ""))

def total(data):
    data += b"\\0" * (len(data) % 2)
    folded = sum(struct.unpack(f"!{len(data) // 2}H", data))
    folded = (folded & 0xFFFF) + (folded >> 16)
    return ~((folded & 0xFFFF) + (folded >> 16)) & 0xFFFF

def payload():
    if kind == "stamp":
        # One session per address and port: a reflector counts 256, and answers no others.
        data = bytearray(random.randbytes(random.choice((16, 43, 44, 44, 60, 200, 1400))))
        data[14:16] = bytes(2)
        return bytes(data)
    # A token's magic with a token that nobody has, and anything at all.
    magic = random.choice((b"lfu" + bytes([10]), b""))
    return magic + random.randbytes(random.choice((0, 12, 16, 28, 32, 200, 1400)))

for number in range(count):
    source = socket.inet_aton(f"198.51.100.{1 + random.randrange(100)}")
    data = payload()
    udp = struct.pack("!HHHH", 40_000 + random.randrange(2), port, 8 + len(data), 0) + data
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number & 0xFFFF, 0, 64, 17, 0, source, socket.inet_aton(to))
    head = head[:10] + struct.pack("!H", total(head)) + head[12:]
    wire.send(far + near + b"\\x08\\x00" + head + udp)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for keys, with the key `test`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    subprocess.run([sys.executable, "-m", "longfat", "key", "new", "test"], check=True, stdout=subprocess.DEVNULL)
    return tmp_path


@pytest.fixture
def wire() -> Generator[tuple[str, str]]:
    """Two namespaces with one cable: that of the server, whose end is `far` with 10.232.0.1, and that of whoever forges.

    Answers to 198.51.100.0/24 leave by that cable, without a question who has the address.
    """
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("making network namespaces and forging addresses need root and iproute2")
    names = (f"longfat-flood-{os.getpid()}-server", f"longfat-flood-{os.getpid()}-forger")

    def ip(*words: str) -> None:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"ip {' '.join(words)}: {done.stderr.strip()}")

    made: list[str] = []
    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
            # No word of IPv6's own is counted as an answer.
            ip("netns", "exec", name, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
        ip("link", "add", "far", "netns", names[0], "type", "veth", "peer", "name", "near", "netns", names[1])
        ip("-n", names[0], "address", "add", "10.232.0.1/24", "dev", "far")
        ip("-n", names[0], "link", "set", "far", "up")
        ip("-n", names[1], "link", "set", "near", "up")
        ip("-n", names[0], "neighbour", "add", "10.232.0.2", "lladdr", address(names[1], "near"), "dev", "far")
        ip("-n", names[0], "route", "add", "198.51.100.0/24", "via", "10.232.0.2")
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def within(namespace: str, *words: str) -> str:
    return subprocess.run(["ip", "netns", "exec", namespace, *words], capture_output=True, text=True, check=True).stdout.strip()


def address(namespace: str, device: str) -> str:
    return within(namespace, "cat", f"/sys/class/net/{device}/address")


def counted(namespace: str) -> dict[str, int]:
    """Bytes and packets that the server's interface has received and sent, frames with their headers."""
    names = [f"{way}_{what}" for way in ("rx", "tx") for what in ("bytes", "packets")]
    return {name: int(within(namespace, "cat", f"/sys/class/net/far/statistics/{name}")) for name in names}


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["survey", "stamp"])
def test_a_forged_question_gets_no_more_bytes_than_it_has(home: Path, wire: tuple[str, str], kind: str) -> None:
    server, forger = wire
    options = ["--key", "test", "--stamp", "8620", "--from", "198.51.100.0/24", "--stamp-rate", "1000000"]
    with serving(*options, bind="10.232.0.1", before=["ip", "netns", "exec", server]) as far:
        port = far.port if kind == "survey" else 8620
        before = counted(server)
        lladdr = address(server, "far").replace(":", "")
        within(forger, sys.executable, "-c", FORGE, "10.232.0.1", str(port), kind, str(QUESTIONS), lladdr)
        asked = counted(server)["rx_packets"]
        settle(server)
        told = {name: after - before[name] for name, after in counted(server).items()}
        assert far.process.poll() is None
    assert asked - before["rx_packets"] >= QUESTIONS, "all of them came"
    assert told["tx_bytes"] <= told["rx_bytes"], told
    assert told["tx_packets"] <= told["rx_packets"], told
    if kind == "survey":
        assert told["tx_bytes"] == 0, "nobody has shown a token"
    else:
        assert told["tx_packets"] > 1000, "questions that are well-formed are answered"


def settle(namespace: str) -> None:
    """Waits until the interface has sent nothing for a second."""
    last = -1
    for _ in range(60):
        now = counted(namespace)["tx_packets"]
        if now == last:
            return
        last = now
        time.sleep(1)
    pytest.fail("it never stops to send")


def memory(server: Serving, field: str) -> float:
    """MB of the server's process."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1000


def cpu_s(server: Serving) -> float:
    """CPU seconds of the server's process."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(part) for part in fields[11:13]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_an_idle_server_takes_little(home: Path) -> None:
    with serving("--key", "test", "--stamp", "8624", "--from", "127.0.0.0/8") as server:
        time.sleep(1)
        used = cpu_s(server)
        time.sleep(5)
        # Not a timing: CPU that others take is none of its own. It looks around some times per second.
        assert cpu_s(server) - used < 0.25
        # Memory of its own: the interpreter and the compiled module are files that other processes share.
        assert memory(server, "RssAnon") < 15


@pytest.mark.slow
def test_a_flood_of_connections_takes_little_memory(home: Path) -> None:
    with serving("--key", "test") as server:
        reset = struct.pack("ii", 1, 0)
        held: list[socket.socket] = []
        for number in range(10_000):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            one.settimeout(5)
            # A server with many that wait refuses, or lets one wait.
            with contextlib.suppress(OSError):
                one.connect(("127.0.0.1", server.port))
                one.send(b"lfc\n"[: number % 5])
            # One in a hundred stays, and says no more.
            if number % 100 == 0:
                held.append(one)
            else:
                one.close()
        assert memory(server, "VmHWM") < 64
        for one in held:
            one.close()
        done = subprocess.run(
            [sys.executable, "-m", "longfat", "measure", server.at, "--key", "test", "--seconds", "2", "--direction", "up", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert memory(server, "VmHWM") < 64
