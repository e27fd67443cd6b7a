"""Captures that hold one direction, or nonsense: `longfat trace` draws what there is, and writes experiments that load or says why not."""

from __future__ import annotations

import contextlib
import random
import struct
from pathlib import Path
from typing import Any

import longfat
import pytest
from conftest import thawed
from longfat.capture import reader as trace
from longfat.capture.experiment import experiment
from longfat.cli.trace import trace_command
from longfat.errors import CaptureError

SENDER, RECEIVER = b"\x0a\0\0\x01", b"\x0a\0\0\x02"
Frame = tuple[float, bytes]


def frame(time: float, is_back: bool, seq: int, ack: int, flags: int, length: int = 0, window: int = 60_000) -> Frame:
    """A TCP segment of raw IPv4, without its payload."""
    ports = (2000, 1000) if is_back else (1000, 2000)
    options = b"\x02\x04\x03\xe8" if flags & 2 else b""
    offset = (5 + len(options) // 4) << 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, offset, flags, window, 0, 0) + options
    ends = (RECEIVER + SENDER) if is_back else (SENDER + RECEIVER)
    return time, struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp) + length, 0, 0, 64, 6, 0) + ends + tcp


def transfer() -> list[Frame]:
    """80 windows of 4 segments over 20 ms, captured at the sender."""
    frames = [frame(0, False, 99, 0, 2), frame(0.02, True, 499, 100, 18), frame(0.02001, False, 100, 500, 16)]
    for window in range(80):
        now, at = 0.03 + 0.0213 * window, 100 + 4000 * window
        frames += [frame(now + k * 1e-4, False, at + 1000 * k, 500, 16, 1000) for k in range(4)]
        frames += [frame(now + 0.02 + k * 1e-4, True, 500, at + 1000 * (k + 1), 16) for k in range(4)]
    return sorted(frames)


def pcap(file: Path, frames: list[Frame]) -> Path:
    records = [
        struct.pack("<IIII", int(time) & 0xFFFFFFFF, int(time % 1 * 1e6), len(data), struct.unpack(">H", data[2:4])[0]) + data
        for time, data in frames
    ]
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + b"".join(records))
    return file


def is_back(one: Frame) -> bool:
    return one[1][12:16] == RECEIVER


def page(file: Path) -> str:
    found = trace.read(file)
    out = file.with_suffix(".html")
    trace.write_page(file, found, out)
    return out.read_text(encoding="utf-8")


@pytest.mark.parametrize("way", ["data", "acks"])
@pytest.mark.parametrize("has_handshake", [True, False])
def test_one_direction_is_drawn(tmp_path: Path, way: str, has_handshake: bool) -> None:
    frames = [one for one in transfer()[0 if has_handshake else 3 :] if is_back(one) == (way == "acks")]
    file = pcap(tmp_path / "one.pcap", frames)
    html = page(file)
    assert "Time-sequence graph" in html
    assert ("Instantaneous speed" in html) == (way == "data")
    with pytest.raises(CaptureError, match="that needs data and its acknowledgments"):
        trace.write_experiment(trace.read(file), tmp_path / "no.toml")
    assert not (tmp_path / "no.toml").exists()


def mutated(frames: list[Frame], dice: random.Random) -> list[Frame]:
    """Some frames with other bytes in their headers, or other times; some of them gone."""
    made = list(frames[: dice.choice([5, 12, 60, len(frames)])])
    for _ in range(dice.choice([1, 3, 30])):
        place = dice.randrange(len(made))
        time, data = made[place]
        what = dice.randrange(3)
        if what == 0:
            time = dice.choice([0.0, time - 1, time + 1000, 2**32 - 1, time + dice.random()])
        elif what == 1:
            at = dice.randrange(24, len(data))
            data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
        else:
            made[place] = made[-1]
            continue
        made[place] = (time, data)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_nonsense_is_drawn_and_makes_an_experiment_or_none(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    frames = [one for one in transfer() if seed % 4 or not is_back(one)]
    file = pcap(tmp_path / "odd.pcap", mutated(frames, dice))
    page(file)
    made = tmp_path / "made.toml"
    with contextlib.suppress(CaptureError):
        trace.write_experiment(trace.read(file), made)
    if made.exists():
        longfat.load(str(made))


VALUES: list[tuple[str, str | None, list[Any]]] = [
    ("rtt", "min_s", [None, 0.0, 1e-9, 1e-6, 1e6]),
    ("data", "goodput_bps", [None, 1e-5, 1.0, 1e14]),
    ("data", "bytes_acked", [0, 1, 2**50]),
    ("options", "mss_bytes", [1, 65_495]),
    ("receiver", "window_max_bytes", [None, 0, 1, 2**30]),
    ("duration_s", None, [0.0, 1e-9, 1e7]),
    (
        "verdict",
        "cause",
        [
            "policer",
            "application",
            "closing window",
            "send buffer",
            "random loss",
            "a full path",
            "congestion, by ECN",
            "Nagle and delayed ACKs",
        ],
    ),
]


@pytest.mark.parametrize("seed", range(200))
def test_any_report_makes_an_experiment_that_loads_or_none(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    [found] = trace.read(pcap(tmp_path / "whole.pcap", transfer())).connections
    one = thawed(found)
    for part, name, values in dice.sample(VALUES, 3):
        value = dice.choice(values)
        if name is None:
            setattr(one, part, value)
        else:
            setattr(getattr(one, part), name, value)
    with contextlib.suppress(CaptureError):
        longfat.Experiment(experiment(one), name="again")


def test_connections_that_are_not_kept_are_named_with_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def port(number: int, one: Frame) -> Frame:
        at = 22 if is_back(one) else 20  # of the sender, behind the header of IPv4
        return one[0] + number, one[1][:at] + struct.pack(">H", 3000 + number) + one[1][at + 2 :]

    # The later, the more data.
    frames = [port(number, one) for number in range(5) for one in transfer()[: 11 + 8 * number]]
    file = pcap(tmp_path / "five.pcap", frames)
    found = trace.read(file, keep=2)
    assert ([one.number for one in found.connections], found.left_out) == ([3, 4], 3)
    assert found.left_out_bytes == sum(one.data.bytes for one in trace.read(file).connections[:3])
    for number, said in (
        (1, r"connection 1 is not among the 2 with the most data of 5, which alone were kept: --keep 5 keeps all \(in Python keep=5\)"),
        (5, "there is no connection 5 in it: it has 5, numbered from 0"),
    ):
        with pytest.raises(CaptureError, match=said):
            trace.chosen(found, number)
    with pytest.raises(CaptureError, match="there is no connection 5 in it: it has 5, numbered from 0"):
        trace.packets(file, 5)
    with pytest.raises(CaptureError, match="keep=0: expected a number of connections, 1 or more"):
        trace.read(file, keep=0)
    assert trace.chosen(trace.read(file, keep=5), 1).number == 1

    trace_command([file], most=1, keep=2)
    said = capsys.readouterr().out
    assert "and 1 connection more (--most)" in said
    assert "and 3 connections with less data, not kept (--keep)" in said
