"""TCP over loopback, longfat beside iperf3: Gbit per CPU second of both ends, in alternation.

    .venv/bin/python bench/live_loopback.py [--pairs 5] [--seconds 5] [--streams 1] [--copy] [--send]

The CPU time of longfat has that of its samples, probes and results. Prints one JSON object: each pair, and the median of the ratios.
`--copy` lets longfat's receiver copy, as iperf3's does (3.12 has no other way); else it throws the data away in the kernel.
`--send` compares longfat's own ways to send (`copy`, `sendfile`, `zerocopy`) in place of iperf3: CPU ns per byte of each.
"""

from __future__ import annotations

import argparse
import json
import math
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

WAYS = ("copy", "sendfile", "zerocopy")
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
send = "{send}"
receive = "{receive}"
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


def ours(port: int, server: int, seconds: int, streams: int, send: str = "copy", receive: str = "truncate") -> tuple[float, float, float]:
    """Gbit/s, Gbit per CPU second, and the share of sends without a copy that the kernel copied."""
    before = used(resource.RUSAGE_SELF) + cpu(server)
    result = longfat.Experiment(FILE.format(port=port, seconds=seconds, streams=streams, send=send, receive=receive)).run()
    gbit = 8e-9 * float(result.flows["bytes_delivered"].sum())
    copied = float(result.flows["send_copied_share"].mean()) if "send_copied_share" in result.flows else math.nan
    return gbit / seconds, gbit / (used(resource.RUSAGE_SELF) + cpu(server) - before), copied


def ways(port: int, server: int, seconds: int, streams: int, rounds: int) -> dict[str, dict[str, float | None]]:
    """Medians of each way to send, in alternation."""
    made: dict[str, list[tuple[float, float, float]]] = {send: [] for send in WAYS}
    for _ in range(rounds):
        for send in WAYS:
            made[send].append(ours(port, server, seconds, streams, send))
            print(send, *made[send][-1], file=sys.stderr, flush=True)

    def medians(runs: list[tuple[float, float, float]]) -> dict[str, float | None]:
        rate, per_cpu, copied = (statistics.median(values) for values in zip(*runs, strict=True))
        per_byte = sorted(8 / one[1] for one in runs)
        # Gbit per CPU second is bit per CPU ns.
        spread = {"cpu_ns_per_byte_least": per_byte[0], "cpu_ns_per_byte_most": per_byte[-1]}
        return {"gbps": rate, "cpu_ns_per_byte": 8 / per_cpu, **spread, "copied_share": None if math.isnan(copied) else copied}

    return {send: medians(runs) for send, runs in made.items()}


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
    parser.add_argument("--copy", action="store_true")
    parser.add_argument("--send", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        command = [sys.executable, "-m", "longfat"]
        subprocess.run([*command, "key", "new", "bench"], check=True, stdout=subprocess.DEVNULL)
        if options.send:
            with serving("--key", "bench") as server:
                time.sleep(1)
                load = os.getloadavg()[0]
                told = ways(server.port, server.process.pid, options.seconds, options.streams, options.pairs)
            print(json.dumps({"load": load, **told}, indent=2))
            return
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with (
            serving("--key", "bench") as server,
            subprocess.Popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL) as iperf,
        ):
            try:
                time.sleep(1)
                receive = "copy" if options.copy else "truncate"
                shared = (options.seconds, options.streams)
                pairs: list[dict[str, float]] = []
                for _ in range(options.pairs):
                    load = os.getloadavg()[0]
                    mine, other = ours(server.port, server.process.pid, *shared, receive=receive), theirs(port, iperf.pid, *shared)
                    names = ("longfat_gbps", "longfat_gbit_per_cpu_s", "iperf3_gbps", "iperf3_gbit_per_cpu_s")
                    pairs.append({"load": load, **dict(zip(names, (*mine[:2], *other), strict=True))})
                    print(json.dumps(pairs[-1]), file=sys.stderr, flush=True)
            finally:
                iperf.terminate()
    ratios = [pair["longfat_gbit_per_cpu_s"] / pair["iperf3_gbit_per_cpu_s"] for pair in pairs]
    told = {"receive": receive, "pairs": pairs, "median_ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
