"""A server of live measurements in a flood of connections over loopback: its memory, and a running session's goodput.

    .venv/bin/python bench/live_flood.py [--seconds 8] [--processes 2] [--rate 10000]

Flooding processes connect and reset, at `--rate` connections per second together. A session of 100 Mbit/s runs without the flood; then the
flood begins while it runs. Client and flood have the same address: a session that begins in the flood may be refused.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from longfat.live.serving import serving

LEAD = 4.0
"""Time before a flood in which the session begins, seconds."""


def flood(port: int, begin: float, end: float, rate: float, made: Synchronized[int]) -> None:
    """Connects and resets from `begin` until `end`, `rate` times per second."""
    count = 0
    time.sleep(max(0, begin - time.monotonic()))
    while (now := time.monotonic()) < end:
        if count > rate * (now - begin):
            time.sleep(0.001)
            continue
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.settimeout(2)
        try:
            one.connect(("127.0.0.1", port))
            count += 1
        except OSError:
            pass
        one.close()
    with made.get_lock():
        made.value += count


def memory(pid: int, field: str) -> float:
    """MB of the process."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def cpu(pid: int) -> float:
    """CPU seconds of the process."""
    return sum(int(part) for part in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e4, help="connections per second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_CONFIG_HOME": folder}
        longfat = [sys.executable, "-m", "longfat"]
        subprocess.run([*longfat, "key", "new", "bench"], env=env, check=True, stdout=subprocess.DEVNULL)
        limits = Path(folder) / "limits.toml"
        limits.write_text('rate = "100 Mbit/s"\n')
        with serving("--key", "bench", "--limits", str(limits), env=env) as far:
            server, port = far.process, far.port
            time.sleep(1)
            idle, idle_cpu = memory(server.pid, "VmRSS"), cpu(server.pid)
            time.sleep(5)
            idle_cpu = cpu(server.pid) - idle_cpu
            measure = [*longfat, "measure", far.at, "--key", "bench", "--direction", "down", "--json"]
            measure += ["--seconds", str(options.seconds)]
            told: dict[str, Any] = {"load": os.getloadavg()[0], "idle_mb": idle, "idle_cpu_share": idle_cpu / 5}
            for name, processes in (("alone", 0), ("flooded", options.processes)):
                made: Synchronized[int] = multiprocessing.Value("Q", 0)
                began = time.monotonic()
                begin, end = began + LEAD, began + LEAD + (options.seconds if processes else 0)
                asked = (port, begin, end, options.rate / max(processes, 1), made)
                floods = [multiprocessing.Process(target=flood, args=asked) for _ in range(processes)]
                for one in floods:
                    one.start()
                used = cpu(server.pid)
                done = subprocess.run(measure, env=env, stdout=subprocess.PIPE, text=True, check=False)
                for one in floods:
                    one.join()
                way: dict[str, Any] = json.loads(done.stdout)["down"] if done.returncode == 0 else {}
                told[name] = {
                    "goodput_mbps": way.get("goodput_bps", 0) / 1e6,
                    "verdict": way.get("verdict"),
                    "reasons": way.get("reasons"),
                    "connections_per_s": made.value / max(end - begin, 1),
                    "server_cpu_s": cpu(server.pid) - used,
                    "peak_mb": memory(server.pid, "VmHWM"),
                }
        print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
