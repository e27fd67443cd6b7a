"""Which bit is the paper's "Mb/s"? Prints the arithmetic that `README.md` ("The unit") argues from.

python papers/ansnet/units.py
"""

from __future__ import annotations

import csv
import math
import string
from itertools import pairwise
from pathlib import Path

# Footnote 1: 44.736 Mb/s of DS3 less one bit in 85 of framing.
DS3_PAYLOAD_BPS = 44.736e6 * 84 / 85
MSS = 4096  # section 4.1
HEADERS = 20 + 20 + 12  # IP, TCP, timestamps (RFC 1323 appendix A)
HDLC = 7  # RFC 1662 section 3.1: address, control, protocol (2), check sequence (2), the flag between frames

HYPOTHESES = {"10^6": 1e6, "1000 x 1024": 1.024e6, "2^20": 2.0**20}


def stuffing() -> float:
    """Bits that HDLC inserts (RFC 1662 section 5.2: a 0 after five 1s, low bit first) for each bit that ttcp sends.

    ttcp fills its buffer with the printable characters over and over.
    """
    pattern = sorted(c for c in string.printable if " " <= c <= "~")
    bits = [ord(c) >> i & 1 for c in pattern * 5 for i in range(8)]
    ones = inserted = 0
    for bit in bits:
        ones = ones + 1 if bit else 0
        if ones == 5:
            inserted, ones = inserted + 1, 0
    return inserted / len(bits)


def goodput_bps(link_bytes: float, inserted: float = 0.0) -> float:
    """Payload rate of a full link with `link_bytes` a frame of link overhead and `inserted` stuffed bits a bit."""
    return DS3_PAYLOAD_BPS * MSS / ((MSS + HEADERS + link_bytes) * (1 + inserted))


def ceilings() -> None:
    """The ceiling in each unit, and the share of it that the paper's highest values would be."""
    print("ceiling of TCP payload on the DS3, and how full the link was at 41.20 (several flows) and 40.07 (one)")
    framings = {
        "no link framing": goodput_bps(0),
        f"{HDLC} bytes of HDLC": goodput_bps(HDLC),
        f"and stuffing of random bits ({1 / 63:.2%})": goodput_bps(HDLC, 1 / 62),
        f"and stuffing of ttcp's pattern ({stuffing():.2%})": goodput_bps(HDLC, stuffing()),
    }
    for framing, bps in framings.items():
        print(f"  {framing:44s} {bps / 1e6:6.2f} Mbit/s (10^6)")
        for unit, one in HYPOTHESES.items():
            ceiling = bps / one
            full = f"41.20 is {41.20 / ceiling:6.1%}, 40.07 is {40.07 / ceiling:6.1%}"
            print(f"      if Mb = {unit:12s} ceiling {ceiling:6.2f}; {full}")


def saturated() -> None:
    """The cells at the ceiling, and whether they stand on the grid of a rate a flow printed with two decimals."""
    folder = Path(__file__).parent / "published"
    rows = [row for name in ("table3", "table4") for row in csv.DictReader((folder / f"{name}.csv").open(encoding="utf-8"))]
    peaks = [(int(row["flows"]), float(row["value"])) for row in rows if row["quantity"] == "peak_throughput" and row["value"]]
    several = [(n, peak) for n, peak in peaks if n > 1]
    on_grid = sum(abs(peak / n * 100 - round(peak / n * 100)) < 1e-6 for n, peak in several)
    chance = math.prod(1 / n for n, _ in several)
    print(f"\n{len(several)} peaks of 4 or 8 flows; {on_grid} are n x 0.01 (by chance {chance:.0e})")
    top = sorted({peak for _, peak in peaks if peak >= 40.5}, reverse=True)
    print("  peaks of 40.5 and more:", ", ".join(f"{peak:.2f} ({sum(p == peak for _, p in peaks)})" for peak in top))
    print("  gaps between them:", ", ".join(f"{a - b:.2f}" for a, b in pairwise(top)))


def section_2_2() -> None:
    """The window limits of section 2.2 under each reading of kB and Mb."""
    printed = {(4, 70): 0.45, (8, 70): 0.9, (4, 20): 1.6, (8, 20): 3.2, (64, 70): 7.3}
    print("\nsection 2.2: window / RTT")
    readings = {
        "kB 1000, Mb 10^6": (1000, 1e6),
        "kB 1024, Mb 10^6": (1024, 1e6),
        "kB 1024, Mb 1000 x 1024": (1024, 1.024e6),
        "kB 1024, Mb 2^20": (1024, 2.0**20),
    }
    for name, (kb, mb) in readings.items():
        values = {(w, ms): w * kb * 8 / (ms / 1000) / mb for w, ms in printed}
        print(f"  {name:26s}", "  ".join(f"{w} kB {ms} ms {v:.3f} ({printed[w, ms]})" for (w, ms), v in values.items()))


def single_flow() -> None:
    """What 38.8 at 384 kB (section 5.1) says of the round trip: the window over the rate."""
    print("\nsection 5.1: 384 kB in flight at 38.8 is a round trip of")
    for unit, one in HYPOTHESES.items():
        print(f"  {unit:12s} {384 * 1024 * 8 / (38.8 * one) * 1000:5.1f} ms")


if __name__ == "__main__":
    ceilings()
    saturated()
    section_2_2()
    single_flow()
