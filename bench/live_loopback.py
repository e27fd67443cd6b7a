"""TCP over loopback, longfat beside iperf3: Gbit per CPU second of both ends, in alternation.

    .venv/bin/python bench/live_loopback.py [--pairs 5] [--seconds 5] [--streams 1]

The CPU time of longfat has that of its samples, probes and results. Prints one JSON object: each pair, and the median of the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import longfat
from longfat.live.serving import serving

FILE = """
backend = "live"
[[live.host]]
name = "here"
at = "local"
[[live.host]]
name = "there"
at = "127.0.0.1:{port}"
key = "bench"
[[flow]]
stack = "linux"
streams = {streams}
[measure]
duration = "{seconds} s"
"""


def cpu(pid: int) -> float:
    """CPU seconds of a process."""
    return sum(int(part) for part in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def used(who: int) -> float:
    """CPU seconds of this process, or of its children that have ended."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def ours(port: int, server: int, seconds: int, streams: int) -> tuple[float, float]:
    """Gbit/s, and Gbit per CPU second."""
    before = used(resource.RUSAGE_SELF) + cpu(server)
    result = longfat.Experiment(FILE.format(port=port, seconds=seconds, streams=streams)).run()
    gbit = 8e-9 * float(result.flows["bytes_delivered"].sum())
    return gbit / seconds, gbit / (used(resource.RUSAGE_SELF) + cpu(server) - before)


def theirs(port: int, server: int, seconds: int, streams: int) -> tuple[float, float]:
    """Gbit/s, and Gbit per CPU second."""
    before = used(resource.RUSAGE_CHILDREN) + cpu(server)
    words = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", str(seconds), "-P", str(streams), "--json"]
    told = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
    gbit = 8e-9 * told["end"]["sum_received"]["bytes"]
    return gbit / seconds, gbit / (used(resource.RUSAGE_CHILDREN) + cpu(server) - before)


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--streams", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        command = [sys.executable, "-m", "longfat"]
        subprocess.run([*command, "key", "new", "bench"], check=True, stdout=subprocess.DEVNULL)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with (
            serving("--key", "bench") as server,
            subprocess.Popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL) as iperf,
        ):
            try:
                time.sleep(1)
                shared = (options.seconds, options.streams)
                pairs: list[dict[str, float]] = []
                for _ in range(options.pairs):
                    load = os.getloadavg()[0]
                    mine, other = ours(server.port, server.process.pid, *shared), theirs(port, iperf.pid, *shared)
                    names = ("longfat_gbps", "longfat_gbit_per_cpu_s", "iperf3_gbps", "iperf3_gbit_per_cpu_s")
                    pairs.append({"load": load, **dict(zip(names, (*mine, *other), strict=True))})
                    print(json.dumps(pairs[-1]), file=sys.stderr, flush=True)
            finally:
                iperf.terminate()
    ratios = [pair["longfat_gbit_per_cpu_s"] / pair["iperf3_gbit_per_cpu_s"] for pair in pairs]
    print(json.dumps({"pairs": pairs, "median_ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}, indent=2))


if __name__ == "__main__":
    main()
