"""CPU time of a data packet in longfat beside ns-2, on the dumbbells of `make bench`, in one run.

    python bench/peers.py [ROW ...] [--runs N]

Rows are a, b and c; all three if none is named. Each round runs the two programs one after the other; the table shows the
medians of N rounds (five), and the median of the rounds' ratios with the least and the most. CPU time is that of the whole
process, user and system. A data packet is one that a sender sent, retransmissions included. ns-2 runs with only the packet
headers that these flows need, which makes it three times as fast as its defaults, and with its default scheduler.
`make system-packages` installs ns-2.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).parent
BENCH = FOLDER.parent / "target" / "release" / "bench"
SCRIPT = FOLDER / "dumbbell.tcl"


@dataclass(frozen=True)
class Row:
    """A dumbbell as `crates/bench` has it: rate and edge rate in Mb/s (1000^2), round trip in ms, queue in packets of 1500 bytes."""

    flows: int
    rate: int
    rtt: int
    edge: int
    seconds: int

    @property
    def queue(self) -> int:
        """One BDP, in packets."""
        return round(self.rate * 1e6 * self.rtt / 1e3 / 8 / 1500)

    def script(self) -> list[str]:
        return [str(value) for value in (self.flows, self.rate, self.rtt, self.edge, self.queue, self.seconds)]


ROWS = {"a": Row(1, 622, 70, 1000, 60), "b": Row(10, 622, 70, 1000, 60), "c": Row(100, 1000, 50, 1000, 60)}


def cost(command: list[str]) -> float:
    """CPU time of a data packet in nanoseconds; `command` prints their number first."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent * 1e9 / int(out.split()[0])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"among {', '.join(ROWS)}")
    parser.add_argument("--runs", type=int, default=5, help="rounds (default 5)")
    args = parser.parse_args()
    unknown = [row for row in args.rows if row not in ROWS]
    if unknown:
        parser.error(f"no row {unknown[0]!r}; there are {', '.join(ROWS)}")
    ns = shutil.which("ns")
    if ns is None:
        sys.exit("no ns-2 here: `make system-packages` installs it")
    if not BENCH.exists():
        sys.exit("no build of the benchmarks: cargo build --release -p longfat-bench")
    print("| row | ns-2, ns a packet | longfat, ns a packet | ns-2 / longfat, median (least to most) |\n|---|---|---|---|")
    for name in args.rows or ROWS:
        pairs = [(cost([ns, str(SCRIPT), *ROWS[name].script()]), cost([str(BENCH), "--child", name, "whole"])) for _ in range(args.runs)]
        ratios = sorted(theirs / ours for theirs, ours in pairs)
        theirs, ours = (median(values) for values in zip(*pairs, strict=True))
        print(f"| `{name}` | {theirs:.0f} | {ours:.0f} | {median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}) |", flush=True)


if __name__ == "__main__":
    main()
