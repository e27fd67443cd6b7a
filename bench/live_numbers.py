"""How exact live measurements are: round trips beside ping and irtt, waits beside the emulator's own record, timers, and samples.

    python bench/live_numbers.py [--parts rtt,waits,timers,samples] [--json FILE]

`rtt` and `waits` have two network namespaces with longfat's emulator between them, which need root, /dev/net/tun and iproute2.
The far host's monotonic clock is 500,000 s away from the near one's. `timers` and `samples` are over loopback. ping and irtt
are used where they are installed. Prints one line per number, beside its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import longfat
import numpy as np
from longfat import _longfat
from longfat.live.serving import serving

PATH = """
backend = "testbed"
[path]
preset = "dumbbell"
rtt = "{rtt}"
bottleneck = {{ rate = "100 Mbit/s", queue = {{ kind = "droptail", limit = "1 bdp" }} }}
edge = {{ rate = "1 Gbit/s" }}
[[flow]]
stack = "linux"
[measure]
duration = "1 s"
interval = "200 us"
"""
LIVE = """
backend = "live"
[live]
survey = false
[[live.host]]
name = "here"
at = "local"
[[live.host]]
name = "there"
at = "{at}"
key = "bench"
[measure]
duration = "{seconds} s"
"""
UP = '[[flow]]\nfrom = "here"\nto = "there"\nstack = "linux"\n'
DOWN = '[[flow]]\nfrom = "there"\nto = "here"\nstack = "linux"\n'
COMMAND = [sys.executable, "-m", "longfat"]
FAR_CLOCK = ["unshare", "--time", "--monotonic", "500000"]


def shell(part: str, rtt: str) -> tuple[dict[str, Any], _longfat.Trace]:
    """Numbers that `part` of this file told within a testbed, and the emulator's record. Waits while another testbed runs."""
    experiment = longfat.Experiment(PATH.format(rtt=rtt)).resolve(0)
    told = Path("told.json")
    while True:
        try:
            code, trace = _longfat.testbed_shell(
                experiment, None, [sys.executable, __file__, "--inside", part, "--json", str(told.absolute())]
            )
        except longfat.ExperimentError as error:
            if "another testbed is running" not in str(error):
                raise
            time.sleep(0.02)
            continue
        if code:
            raise SystemExit(f"{part}: ended with {code}")
        return json.loads(told.read_text(encoding="utf-8")), trace


def far_host() -> tuple[list[str], str]:
    """Words that run a command at the far host of the testbed, and its address."""
    environ = dict(os.environ)
    return ["nsenter", f"--net={environ['LONGFAT_NETNS_right1']}"], environ["LONGFAT_ADDRESS_right1"]


def inside_rtt() -> dict[str, Any]:
    """Round trips of an idle path, in ms, by each tool."""
    found: dict[str, Any] = {}
    far, address = far_host()
    with serving("--key", "bench", bind=address, before=[*far, *FAR_CLOCK]) as server:
        for _ in range(3):
            told = json.loads(
                subprocess.run([*COMMAND, "probe", server.at, "--key", "bench", "--json"], capture_output=True, check=True).stdout
            )
            found.setdefault("longfat", []).append(1e3 * statistics.median(told["rtt_s"]))
            if shutil.which("ping"):
                lines = subprocess.run(["ping", "-c", "100", "-i", "0.025", address], capture_output=True, text=True, check=True).stdout
                found.setdefault("ping", []).append(statistics.median(map(float, re.findall(r"time=([\d.]+) ms", lines))))
    if shutil.which("irtt"):
        with subprocess.Popen([*far, "irtt", "server", "-b", address], stdout=subprocess.DEVNULL) as other:
            time.sleep(1)
            for _ in range(3):
                words = ["irtt", "client", "-i", "25ms", "-d", "2500ms", "-Q", "-o", "-", address]
                told = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
                found.setdefault("irtt", []).append(1e-6 * told["stats"]["rtt"]["median"])
            other.send_signal(signal.SIGINT)
    return found


def inside_waits() -> dict[str, Any]:
    """Waits of each probe toward the far host, with the time of its departure."""
    far, address = far_host()
    with serving("--key", "bench", bind=address, before=[*far, *FAR_CLOCK]) as server:
        result = longfat.Experiment(LIVE.format(at=server.at, seconds=12) + UP + 'congestion_control = "bbr"\n').run()
    probes = result.probes
    up = probes[(probes["direction"] == "up") & (probes["arrived"] == 1)]
    return {"time_s": up["time_s"].tolist(), "queue_delay_s": up["queue_delay_s"].tolist(), "verdict": result.verdict}


def _waits() -> dict[str, Any]:
    """Differences of the probes' waits from those by the emulator's record of its queue."""
    told, trace = shell("waits", "20 ms")
    table, links = trace.table("link_series"), trace.tables()["links"]
    at = list(links["name"]).index("bottleneck>")
    mine = np.asarray(table["link"]) == at
    times = np.asarray(table["time_s"])[mine]
    # A packet waits for those before it; one of them is half sent in the mean.
    waits = np.asarray(table["backlog_bytes"])[mine] * 8 / 100e6
    probed, seen = np.asarray(told["time_s"]), np.asarray(told["queue_delay_s"])

    def off(shift: float) -> np.ndarray:
        return seen - np.interp(probed + shift, times, waits)

    # When the run began, in the emulator's time, is not recorded: the shift with the least differences.
    coarse = min(np.arange(-2, times[-1], 0.01), key=lambda shift: float(np.abs(off(shift)).mean()))
    fine = min(np.arange(coarse - 0.01, coarse + 0.01, 1e-4), key=lambda shift: float(np.abs(off(shift)).mean()))
    near = np.min([np.abs(off(fine + by)) for by in np.linspace(-5e-4, 5e-4, 21)], axis=0)
    return {
        "verdict": told["verdict"],
        "probes": len(seen),
        "wait_p50_ms": 1e3 * float(np.median(seen)),
        "off_ms": {f"p{part}": 1e3 * float(np.percentile(off(fine), part)) for part in (1, 25, 50, 75, 95, 99)},
        "off_p99_ms_if_times_may_differ_by_half_a_ms": 1e3 * float(np.quantile(near, 0.99)),
    }


def _timers() -> dict[str, Any]:
    """Departures of probes less their due times, by the kernel's stamps."""
    with serving("--key", "bench") as server:
        traffic = 'traffic = { kind = "writes", rate = "10 Mbit/s", size = "20 kB" }\n'
        result = longfat.Experiment(LIVE.format(at=server.at, seconds=10) + UP + traffic).run()
    found = {name: 1e6 * result.metrics[name] for name in ("timer_error_p50_s", "timer_error_p99_s")}
    return {"p50_us": found["timer_error_p50_s"], "p99_us": found["timer_error_p99_s"], "verdict": result.verdict}


def _samples() -> dict[str, Any]:
    """Share of one core that the threads take which sample 64 streams, and the goodput beside one stream's."""
    used: dict[str, float] = {}

    def watch(done: threading.Event, pids: tuple[int | str, ...]) -> None:
        while not done.wait(0.05):
            for pid in pids:
                for task in Path(f"/proc/{pid}/task").glob("*"):
                    try:
                        if (task / "comm").read_text().strip() == "sampler":
                            used[str(task)] = int((task / "schedstat").read_text().split()[0]) / 1e9
                    except OSError:
                        continue

    found: dict[str, Any] = {}
    with serving("--key", "bench") as server:
        for streams in (1, 64):
            used.clear()
            done = threading.Event()
            watcher = threading.Thread(target=watch, args=(done, ("self", server.process.pid)), daemon=True)
            watcher.start()
            result = longfat.Experiment(LIVE.format(at=server.at, seconds=10) + UP + f"streams = {streams}\n").run()
            done.set()
            watcher.join()
            rows = len(result.tcp_info)
            found[f"streams_{streams}"] = {
                "goodput_gbps": result.metrics["goodput_total_bps"] / 1e9,
                "core_share_each_end": [round(each / 12, 5) for each in used.values()],
                "us_per_sample": 1e6 * sum(used.values()) / max(rows, 1),
                "samples": rows,
            }
    return found


PARTS = {"rtt": lambda: shell("rtt", "9 ms")[0], "waits": _waits, "timers": _timers, "samples": _samples}


def main() -> None:
    """Command line; the module's docstring describes it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        asked.json.write_text(json.dumps({"rtt": inside_rtt, "waits": inside_waits}[asked.inside]()), encoding="utf-8")
        return
    told: dict[str, Any] = {"load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CONFIG_HOME"] = folder
        subprocess.run([*COMMAND, "key", "new", "bench"], check=True, stdout=subprocess.DEVNULL)
        for part in asked.parts.split(","):
            told[part] = PARTS[part]()
            print(part, json.dumps(told[part]), flush=True)
        os.chdir("/")
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
