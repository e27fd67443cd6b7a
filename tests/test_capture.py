"""Captures out: tshark is the judge."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import longfat
import pytest
from longfat.capture import write_capture
from longfat.errors import CaptureError, StorageError

TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="no tshark: `make system-packages` installs it")

EXPERIMENT = """\
title = "Many kinds of packets"

[path]
preset = "dumbbell"
pairs = 5
rtt = "20 ms"
bottleneck = { rate = "20 Mbit/s", queue = { kind = "red", limit = "40 packets", ecn = true } }
edge = { rate = "1 Gbit/s" }

[[flow]]
name = "linux"
from = "left1"
to = "right1"
stack = "linux"
traffic = { kind = "ttcp", volume = "2 MB" }

[[flow]]
name = "old"
from = "left2"
to = "right2"
timestamps = false
sack = false
recovery = "newreno"
traffic = { kind = "ttcp", volume = "500 kB" }

[[flow]]
name = "accurate"
from = "left3"
to = "right3"
congestion_control = "prague"
traffic = { kind = "ttcp", volume = "500 kB" }

[[flow]]
name = "datagrams"
from = "left4"
to = "right4"
traffic = { kind = "udp", rate = "1 Mbit/s", size = "777 bytes" }

[[flow]]
name = "probe"
from = "left5"
to = "right5"
dscp = "EF"
traffic = { kind = "ping" }

[measure]
duration = "6 s"
packets = "all"
"""


def tshark(file: Path, *args: str) -> list[list[str]]:
    checks = [option for of in ("tcp", "ip", "udp") for option in ("-o", f"{of}.check_checksum:TRUE")]
    command = [str(TSHARK), "-r", str(file), *checks, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captured")
    file = folder / "kinds.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    longfat.load(str(file)).sweep(folder / "results", jobs=1)
    return folder / "results"


@needs_tshark
@pytest.mark.slow
@pytest.mark.parametrize("at", ["left1", "right1", "left3", "right4", "right5", "bottleneck", "bottleneck>", "router1"])
def test_tshark_finds_nothing_wrong(recorded: Path, tmp_path: Path, at: str) -> None:
    file = tmp_path / "one.pcapng"
    count = write_capture(recorded, at, file, snap=65535)
    bad = "_ws.malformed || _ws.expert.severity == error || tcp.checksum.status == Bad || ip.checksum.status == Bad"
    bad += " || udp.checksum.status == Bad || icmp.checksum.status == Bad"
    assert tshark(file, "-Y", bad) == []
    seen = tshark(file, "-T", "fields", "-e", "tcp.checksum.status", "-e", "udp.checksum.status", "-e", "icmp.checksum.status")
    assert len(seen) == count > 0
    assert {"".join(statuses) for statuses in seen} == {"1"}, "a checksum that was not checked"


@needs_tshark
@pytest.mark.parametrize(("at", "dscp"), [("left5", "46"), ("right5", "46"), ("right4", "0")])
def test_packets_have_the_codepoint_of_their_flow(recorded: Path, tmp_path: Path, at: str, dscp: str) -> None:
    file = tmp_path / "one.pcapng"
    assert write_capture(recorded, at, file) > 0
    assert {value for [value] in tshark(file, "-T", "fields", "-e", "ip.dsfield.dscp")} == {dscp}


@needs_tshark
@pytest.mark.slow
def test_tshark_counts_what_the_run_counts(recorded: Path, tmp_path: Path) -> None:
    results = longfat.load_results(recorded)
    for flow in (0, 1):
        at, row = f"left{flow + 1}", results[0].flows.iloc[flow]
        file = tmp_path / f"{at}.pcapng"
        write_capture(recorded, at, file)
        # At the sender nothing is out of order: what tshark suspects of it there was sent again.
        again = "tcp.len > 0 && (tcp.analysis.retransmission || tcp.analysis.out_of_order)"
        assert len(tshark(file, "-Y", again)) == row["segments_retransmitted"] > 0
        assert len(tshark(file, "-Y", "tcp.len > 0")) == row["segments_sent"]
        times = [
            float(value)
            for [value] in tshark(
                file, "-Y", "ip.src == 10.0.0.0/8 && tcp.analysis.ack_rtt && tcp.len == 0", "-T", "fields", "-e", "tcp.analysis.ack_rtt"
            )
        ]
        assert min(times[1:]) == pytest.approx(row["rtt_min_s"], rel=0.01)
    options = tshark(
        tmp_path / "left1.pcapng",
        "-Y",
        "tcp.flags.syn == 1",
        "-T",
        "fields",
        "-e",
        "tcp.options.mss_val",
        "-e",
        "tcp.options.wscale.shift",
        "-e",
        "tcp.options.sack_perm",
    )
    assert len(options) == 2
    assert options[0][0] == "1460"
    assert options[0][1] != ""


def test_a_capture_is_snapped_and_says_what_it_is_of(recorded: Path, tmp_path: Path) -> None:
    short, whole = tmp_path / "short.pcapng", tmp_path / "whole.pcapng"
    assert write_capture(recorded, "left1", short) == write_capture(recorded, "left1", whole, snap=65535)
    assert short.stat().st_size < whole.stat().st_size / 4
    begin = short.read_bytes()[:8000]
    assert b"Many kinds of packets; at left1; run " in begin
    assert b'"congestion_control"' in begin


def test_what_cannot_be_captured_is_said(recorded: Path, swept: Path, tmp_path: Path) -> None:
    file = tmp_path / "no.pcapng"
    with pytest.raises(CaptureError, match="no host or link is called `nowhere`: choose one of left1, "):
        write_capture(recorded, "nowhere", file)
    with pytest.raises(CaptureError, match="3 runs to choose from: say which with --run"):
        write_capture(swept, "left1", file)
    one = longfat.load_results(swept).runs["run"].iloc[0]
    with pytest.raises(CaptureError, match=r"the run recorded none of its packets: run it with --set measure\.packets=all"):
        write_capture(swept, "left1", file, run=one)
    with pytest.raises(CaptureError, match=r"no run in .* begins with zz"):
        write_capture(swept, "left1", file, run="zz")
    with pytest.raises(CaptureError, match="cannot write"):
        write_capture(recorded, "left1", tmp_path / "no" / "folder.pcapng")
    with pytest.raises(StorageError):
        write_capture(tmp_path / "nothing", "left1", file)
    assert not file.exists()
