"""The paper's Figures 2, 3, 5 and 6 in ns-2 (Debian's `ns2`, 2.35), beside ours and the paper's.

    python papers/drs/ns2/ns2.py             # runs ns-2 and writes measured.csv (a quarter of an hour of CPU)
    python papers/drs/ns2/ns2.py RESULTS     # measured.csv beside results/drs

The paper says that it simulated, and not with what. The packets of Figure 2 say it: README.md, "It is ns-2".
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import csv
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from longfat import load_results

HERE = Path(__file__).parent
MEASURED = HERE / "measured.csv"
SCRIPT = HERE / "drs.tcl"
MIXES = {"1+0": (1, 0), "1+1": (1, 1), "10+1": (10, 1), "5+5": (5, 5)}
WINDOWS = tuple(range(50, 701, 50))
QUEUES = (100, 150, 500)


class Flow(NamedTuple):
    """What ns-2 says of a sender: packets acknowledged (ACKs that came back), packets retransmitted, timeouts."""

    kind: str
    acked: int
    retransmitted: int
    timeouts: int


def simulate(
    mix: str = "1+1", queue: int = 100, maxwnd: int = 400, seconds: float = 200, rate: str = "100Mb", delay: str = "10ms"
) -> list[Flow]:
    """One run of ns-2. `queue` and `maxwnd` in packets."""
    static, dynamic = MIXES[mix]
    words = {"static": static, "dynamic": dynamic, "queue": queue, "maxwnd": maxwnd, "seconds": seconds, "rate": rate, "delay": delay}
    command = ["ns", str(SCRIPT), *(f"{name}={value}" for name, value in words.items())]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Flow(kind, int(acked), int(again), int(timeouts)) for kind, acked, again, timeouts in (line.split() for line in lines[:-1])]


def means(mix: str, flows: list[Flow]) -> dict[str, float]:
    """Mean packets acknowledged by kind."""
    kinds = {"static": MIXES[mix][0], "dynamic": MIXES[mix][1]}
    return {kind: mean(flow.acked for flow in flows if flow.kind == kind) for kind, count in kinds.items() if count}


def measure() -> None:
    """Runs all cases, two at a time, and writes `measured.csv`."""
    cases = [("1+0", 100, 44), *((mix, queue, window) for mix in list(MIXES)[1:] for queue in QUEUES for window in WINDOWS)]
    with ThreadPoolExecutor(2) as pool, MEASURED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["mix", "queue", "maxwnd", "kind", "acked", "least", "most", "retransmitted", "timeouts"])
        for case, flows in zip(cases, pool.map(lambda one: simulate(*one), cases), strict=True):
            for kind, acked in means(case[0], flows).items():
                of = [flow for flow in flows if flow.kind == kind]
                counts = [flow.acked for flow in of]
                spent = sum(flow.retransmitted for flow in of), sum(flow.timeouts for flow in of)
                writer.writerow([*case, kind, f"{acked:.1f}", min(counts), max(counts), *spent])
            file.flush()


def beside(results: Path) -> None:
    """Prints ns-2 and ours, mean packets acknowledged a flow by kind, and how far apart they are."""
    ours = load_results(results / "figures-100m").flows
    ours["window"] = ours["maxwnd"].astype(str).str.split().str[0].astype(int)
    ours["packets"] = ours["queue"].astype(str).str.split().str[0].astype(int)
    print("mix    queue  maxwnd  kind      ns-2      ours   ours / ns-2")
    for row in csv.DictReader(MEASURED.open(encoding="utf-8")):
        cell = ours[
            (ours["mix"].astype(str) == row["mix"])
            & (ours["packets"] == int(row["queue"]))
            & (ours["window"] == int(row["maxwnd"]))
            & (ours["group"] == row["kind"])
        ]
        if len(cell):
            acks = float(cell["acks_received"].mean())
            theirs = float(row["acked"])
            name = f"{row['mix']:6s} {row['queue']:>5s} {row['maxwnd']:>7s}  {row['kind']:8s}"
            print(f"{name}{theirs:9.0f} {acks:9.0f} {acks / theirs:8.3f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        beside(Path(sys.argv[1]))
    else:
        measure()
