"""Reading a capture of many gigabytes with `longfat trace`: memory, speed, progress, and sequence numbers that wrap.

    python bench/large.py [GIGABYTES]

Writes one connection of full segments, windows of 400 at 10 Gb/s and an acknowledgment for every second segment, 1502 bytes a packet as a
capture without a snap length has them; reads it in a process of its own; removes it.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MSS = 1448
READ = """\
import json, sys, threading, time
from pathlib import Path
import longfat.capture
def kib(of):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(of))
Path("/proc/self/clear_refs").write_text("5")
before, said = kib("VmRSS"), []
start = time.process_time()
found = longfat.capture.read(sys.argv[1], progress=said.append)
[one] = found.connections
print(json.dumps({
    "cpu_s": time.process_time() - start, "peak_kib": kib("VmHWM") - before,
    "said": len(said), "last": said[-1], "rises": said == sorted(said),
    "packets": one.packets, "acked": one.data.bytes_acked, "again": one.data.retransmitted.segments,
    "notes": one.notes, "cause": one.verdict.cause,
}))
"""


def packet(seq: int, ack: int, *, back: bool, payload: int, flags: int = 0x10, window: int = 65535) -> bytes:
    """Ethernet, IPv4, TCP; SYNs scale windows by 2^14. Checksums are left out, as by an interface that fills them in."""
    options = struct.pack(">BBHBBBBBB", 2, 4, 1460, 3, 3, 14, 4, 2, 1) + b"\x01\x01" if flags & 2 else b""
    ends = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), 40000, 5001)
    source, target, port, other = (ends[1], ends[0], ends[3], ends[2]) if back else ends
    tcp = struct.pack(">HHIIBBHHH", port, other, seq % 2**32, ack % 2**32, (20 + len(options)) // 4 << 4, flags, window, 0, 0) + options
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + payload, 0, 0x4000, 64, 6, 0, source, target)
    return bytes(12) + b"\x08\x00" + ip + tcp


def record(at_ns: int, headers: bytes, payload: int) -> bytes:
    """A record of a pcap file with nanoseconds."""
    length = len(headers) + payload
    return struct.pack("<IIII", at_ns // 10**9, at_ns % 10**9, length, length) + headers + bytes(payload)


def write(file: Path, size: int) -> tuple[int, int]:
    """Writes the capture; the number of packets and of bytes of the stream in it."""
    first, back, trip, window = 2**32 - 5_000_000, 77, 1_000_000, 400
    sent = acked = packets = 0
    with file.open("wb", buffering=1 << 22) as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        out.write(record(0, packet(first - 1, 0, back=False, payload=0, flags=2), 0))
        out.write(record(trip, packet(back - 1, first, back=True, payload=0, flags=0x12), 0))
        out.write(record(trip, packet(first, back, back=False, payload=0), 0))
        packets, now = 3, trip
        while out.tell() < size:
            # A window, its acknowledgments a round trip later.
            batch: list[bytes] = []
            for k in range(window):
                batch.append(record(now + 1200 * k, packet(first + sent + MSS * k, back, back=False, payload=MSS), MSS))
            sent += MSS * window
            packets += window
            out.write(b"".join(batch))
            now += trip
            batch = []
            for k in range(2, window + 1, 2):
                batch.append(record(now + 1200 * k, packet(back, first + acked + MSS * k, back=True, payload=0), 0))
            acked += MSS * window
            packets += window // 2
            out.write(b"".join(batch))
            now += 1200 * window
    return packets, acked


def main() -> None:
    """Writes, reads, says."""
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else 4.3) * 1e9)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.pcap"
        packets, stream = write(file, size)
        start = time.time()
        done = subprocess.run([sys.executable, "-c", READ, str(file)], capture_output=True, text=True, check=True)
        took, found = time.time() - start, json.loads(done.stdout)
        print(f"{file.stat().st_size / 1e9:.2f} GB, {packets:,} packets, {stream / 2**32:.2f} times round the sequence numbers")
        rate = found["packets"] / found["cpu_s"] / 1e6
        print(f"{rate:.2f} M packets/CPU s, {took:.1f} s in all, {found['peak_kib'] / 1024:.1f} MB at most")
        print(f"progress: {found['said']} times, rising: {found['rises']}, to {100 * found['last']:.0f} %")
        if (found["packets"], found["acked"], found["again"]) != (packets, stream, 0):
            raise SystemExit(f"that is wrong: {found}")


main()
