"""`longfat cc`: the controls for the kernel. What loads one is skipped where that is not allowed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from longfat._longfat import HAS_BPF, cc_list
from longfat.cli.cc import cc_command
from longfat.errors import LongfatError
from typer.testing import CliRunner, Result

TIMEOUT = """
import socket, struct, subprocess, time

def window():  # tcp_info: ssthresh and cwnd in segments
    return struct.unpack_from("II", sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 84), 76)

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.socket()
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"lf_vegas")
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
sender.connect(listener.getsockname())
receiver = listener.accept()[0]
for _ in range(200):
    sender.sendall(bytes(50_000))
    receiver.recv(50_000, socket.MSG_WAITALL)
before = window()
subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
sender.send(bytes(50_000))
end = time.monotonic() + 10
while window()[1] > 1 and time.monotonic() < end:
    time.sleep(0.01)
print(before[1], *window())
"""
"""A connection in a namespace of its own, whose path is cut: prints its cwnd before, and ssthresh and cwnd after the first timeout."""

PINNED = Path("/sys/fs/bpf/longfat")


def cc(*arguments: str) -> Result:
    return CliRunner().invoke(cc_command, list(arguments), catch_exceptions=False)


def _load(*arguments: str) -> Result:
    """Loads one, or skips where that is not allowed."""
    try:
        return cc("load", *arguments)
    except LongfatError as error:
        if not any(words in str(error) for words in ("needs CAP_", "has no /sys/kernel/btf", "is loaded already")):
            raise
        pytest.skip(str(error))


def test_list_says_what_there_is_and_what_there_could_be() -> None:
    shown = cc("list").output
    assert "of longfat, not loaded" in shown
    assert "lf_highspeed" in shown
    assert ("built without BPF" in shown) is not HAS_BPF
    assert all(len(name) < 16 for name, whose in cc_list() if whose != "kernel")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["load", "westwod"], "no control of the BPF set is called `westwod`; did you mean `westwood`?"),
        (["unload", "cubic"], "no control of the BPF set is called `cubic`"),
        (["load", "fast", "--set", "alpha"], "--set alpha: write PARAM=VALUE"),
    ],
)
def test_what_is_wrong_is_one_message(arguments: list[str], message: str) -> None:
    with pytest.raises(LongfatError) as error:
        cc(*arguments)
    assert str(error.value).startswith(message)


@pytest.mark.skipif(HAS_BPF, reason="built with BPF")
def test_without_bpf_it_says_what_it_needs() -> None:
    with pytest.raises(LongfatError, match="built without BPF: needs clang and libelf"):
        cc("load", "fast")


@pytest.mark.skipif(not HAS_BPF, reason="built without BPF: needs clang and libelf")
def test_loads_and_unloads() -> None:
    loaded = _load("compound", "--set", "gamma=20")
    try:
        assert "lf_compound is loaded" in loaded.output
        assert ("lf_compound", "loaded") in cc_list()
        with socket.socket() as one:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"lf_compound")
            with pytest.raises(LongfatError, match="lf_compound is still in use: 1 connection or default has it"):
                cc("unload", "compound")
        with pytest.raises(LongfatError, match="lf_compound is loaded already"):
            cc("load", "compound")
    finally:
        assert "lf_compound is unloaded" in cc("unload", "compound").output
    assert not (PINNED / "lf_compound").exists()
    with pytest.raises(LongfatError, match="lf_compound is not loaded"):
        cc("unload", "compound")


@pytest.mark.skipif(not HAS_BPF, reason="built without BPF: needs clang and libelf")
def test_a_timeout_is_told_from_a_loss() -> None:
    # The kernel asks for ssthresh, and says only afterwards that it was a timeout: Vegas keeps 3/4 after a loss, and half after a timeout.
    _load("vegas", "--set", "gamma=1000000")
    try:
        done = subprocess.run(["unshare", "--net", sys.executable, "-c", TIMEOUT], capture_output=True, text=True, check=True, timeout=60)
    finally:
        cc("unload", "vegas", "--force")
    before, ssthresh, cwnd = map(int, done.stdout.split())
    assert cwnd == 1
    assert before >= 8
    assert ssthresh == before // 2
