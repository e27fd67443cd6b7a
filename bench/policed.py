"""Verdicts of `longfat trace` on the lab traces of Flach et al. (SIGCOMM 2016), which are not kept here.

    git clone https://github.com/USC-NSL/policing-detection
    python bench/policed.py policing-detection/data/validation

A file's name says what its path was: a policer (PCIR b/s, PBC bytes), a shaper (SCIR b/s, a queue of SBC bytes), an emulator that loses
(LOSS). `data/validation/README.md` there explains the names. CUBIC, five chunks of 2 MB, a round trip of 100 ms, taken at the server. The
rule from name to cause was written before longfat read any but the fifteen that `bench/strangers.py` has, which are left out here.
"""

from __future__ import annotations

import argparse
import lzma
import re
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import longfat.capture

SEEN = re.compile("-CP=(10002|10006|10007|10013|10017|10810|10815|10806|10811|10822|11465|10813|10818|12368|12369).pcap")
CHUNK = 2_000_000
RTT = 0.1


def causes(name: str) -> tuple[str, ...]:
    """The causes that are right, by the file's name."""
    given = {key: float(number) for key, number in re.findall(r"(\w+)=([\d.]+)", name)}
    if given["LOSS"] > 0:
        return ("random loss",)
    if "PCIR" in given:
        return ("policer",)
    if "SBC" not in given:
        return ("congestion, by loss",)
    if given["SBC"] >= CHUNK:
        return ("a full path",)
    if given["SBC"] > CHUNK / 2 - 1:
        return ("a full path", "congestion, by loss")  # whether it overflows depends on how fast a chunk comes
    if given["SBC"] > 15_000:
        return ("congestion, by loss",)
    # Fewer than ten packets: a small buffer, and congestion, too, where it adds a tenth to the round trip.
    wait = given["SBC"] * 8 / given["SCIR"]
    return ("bursts over a small buffer", "congestion, by loss") if wait > RTT / 10 else ("bursts over a small buffer",)


def main() -> None:
    """Judges all traces of one connection, and counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--details", action="store_true")
    asked = parser.parse_args()
    counted: Counter[str] = Counter()
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for file in sorted(asked.folder.glob("*-CD=*.pcap.xz")):
        if SEEN.search(file.name):
            continue
        with tempfile.NamedTemporaryFile(suffix=".pcap") as unpacked:
            unpacked.write(lzma.decompress(file.read_bytes()))
            unpacked.flush()
            one = max(longfat.capture.read(unpacked.name).connections, key=lambda other: other.data.bytes_acked)
        right = causes(file.name)
        cause = one.verdict.cause
        lost = one.data.retransmitted.segments > 0
        if right == ("policer",) and not lost:
            counts = "a policer that took nothing"
        elif cause in right:
            counts = "right"
        else:
            counts = "not told apart" if set(one.verdict.cannot_tell_from) & set(right) else "wrong"
        counted[counts] += 1
        confusion[" or ".join(right)][f"{cause}{'' if counts in ('right', 'wrong') else f' ({counts})'}"] += 1
        if asked.details:
            print(f"{counts:15} {file.name}\n    {cause} ({100 * one.verdict.confidence:.0f} %): {one.verdict.why}")
    for right, found in sorted(confusion.items()):
        print(f"{right:50} {', '.join(f'{other} {n}' for other, n in found.most_common())}")
    print(", ".join(f"{name}: {n}" for name, n in counted.most_common()))


main()
