"""Captures of up to some gigabytes: read to the end, in bounded memory, with the rates that were put into them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

HEADER = np.array([0xA1B2C3D4, 0x00040002, 0, 0, 96, 1], "<u4").tobytes()
"""Header of a pcap file: microseconds, 96 bytes of each packet, Ethernet."""
PACKET = np.dtype(
    [
        *[(name, "<u4") for name in ("second", "microsecond", "captured", "length")],
        ("ethernet", "S12"),
        *[(name, ">u2") for name in ("ethertype", "version", "total", "identification", "fragment")],
        *[(name, "u1") for name in ("ttl", "protocol")],
        *[(name, ">u2") for name in ("ip_checksum",)],
        *[(name, ">u4") for name in ("source", "destination")],
        *[(name, ">u2") for name in ("from_port", "to_port")],
        *[(name, ">u4") for name in ("sequence", "acknowledged")],
        *[(name, ">u2") for name in ("flags", "window", "tcp_checksum", "urgent")],
    ]
)
"""A packet without its payload. 70 bytes in the file."""
MSS = 1448
RTT = 0.02
PIECE = 1_000_000
"""Segments that are made at once."""
MEMORY = 512 << 20
"""Bytes that the command may take at its peak, however large the capture is. The interpreter and its libraries take a fifth of it."""
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
sys.exit(done.returncode)
"""
"""Runs a command, and prints the memory of its peak. A process of its own: a new one counts what the one that started it had."""


def packets(number: int, times: np.ndarray, size: int, **fields: object) -> np.ndarray:
    """Packets of connection `number` at these times."""
    made = np.zeros(len(times), PACKET)
    made["second"], made["microsecond"] = times.astype("u4"), ((times % 1) * 1e6).astype("u4")
    made["captured"], made["length"] = 54, 54 + size
    made["ethertype"], made["version"], made["total"] = 0x0800, 0x4500, 40 + size
    made["identification"], made["ttl"], made["protocol"] = np.arange(len(times)) % 65536, 64, 6
    made["source"], made["destination"] = 0x0A000001 + number // 60_000, 0x0A800001
    made["from_port"], made["to_port"], made["window"] = 1024 + number % 60_000, 5001, 65_535
    for name, value in fields.items():
        made[name] = value
    return made


def connection(number: int, start: float, segments: int, rate: float) -> Iterator[np.ndarray]:
    """A handshake, and as many segments at a rate in bit/s, each acknowledged a round trip later, as seen at the sender, in pieces."""
    back = {"source": 0x0A800001, "destination": 0x0A000001 + number // 60_000, "from_port": 5001, "to_port": 1024 + number % 60_000}
    yield packets(number, np.array([start]), 0, flags=0x5002, sequence=0)
    yield packets(number, np.array([start + RTT]), 0, flags=0x5012, sequence=0, acknowledged=1, **back)
    yield packets(number, np.array([start + RTT + 1e-4]), 0, flags=0x5010, sequence=1, acknowledged=1)
    first, spacing = start + RTT + 2e-4, 8 * MSS / rate
    behind = round(RTT / spacing)
    for place in range(0, segments + behind, PIECE):
        sent = np.arange(place, min(place + PIECE, segments + behind))
        acked = sent - behind
        sent, acked = sent[sent < segments], acked[(acked >= 0) & (acked < segments)]
        ends = [first + sent * spacing, first + acked * spacing + RTT]
        piece = np.zeros(len(sent) + len(acked), PACKET)
        piece[: len(sent)] = packets(number, ends[0], MSS, flags=0x5010, sequence=(1 + sent * MSS) % 2**32, acknowledged=1)
        piece[len(sent) :] = packets(number, ends[1], 0, flags=0x5010, sequence=1, acknowledged=(1 + (acked + 1) * MSS) % 2**32, **back)
        yield piece[np.argsort(np.concatenate(ends), kind="stable")]


def attack(random: Random, folder: Path) -> None:
    """A capture of a size between a megabyte and some gigabytes, of one connection or of thousands."""
    size = 2 ** random.uniform(20, 31.5)
    count = random.choice((1, 3, 100, 5_000))
    segments = max(20, int(size / PACKET.itemsize / 2 / count))
    rate = random.choice((1e7, 1e9, 9e9))
    file = folder / "large.pcap"
    with file.open("wb") as out:
        out.write(HEADER)
        start = 1_700_000_000.0
        for number in range(count):
            for piece in connection(number, start, segments, rate):
                out.write(piece.tobytes())
            start += segments * 8 * MSS / rate + 1
    done = f"{file.stat().st_size:,} bytes, {count:,} connections of {segments:,} segments"
    call = [sys.executable, "-m", "longfat", "trace", str(file), "--json", "--most", "3"]
    told = subprocess.run([sys.executable, "-c", MEASURED, str(folder / "said.json"), *call], capture_output=True, text=True, check=False)
    assert told.returncode == 0, f"{done}: {told.stderr}"
    assert int(told.stdout) < MEMORY, f"{done}: {int(told.stdout) >> 20:,} MiB of memory"
    file.unlink()
    found = json.loads((folder / "said.json").read_text())["connections"]
    assert len(found) == min(count, 3) or len(found) == count, f"{done}: {len(found)} connections are told of"
    # From the first segment to the last ACK.
    expected = 8 * MSS * segments / (8 * MSS * (segments - 1) / rate + RTT)
    goodput = found[0]["data"]["goodput_bps"]
    assert goodput == pytest.approx(expected, rel=0.02), f"{done}: {goodput} bit/s, not {expected}"
