"""How often `longfat trace` names the right cause: simulated captures of flows whose cause is known, made for it.

    python bench/verdicts.py [--quick] [--details]

Each cause with several controls and round trips, beside a little other traffic, captured at the sender, at the receiver and in
between. Prints the confusion matrix, and by point and control how many are right.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import longfat
import longfat.trace
from longfat.capture import write_capture
from longfat.sweep import default_jobs

RATE = 30
POINTS = {"left1": "sender", "bottleneck": "between", "right1": "receiver"}
CONTROLS = ("reno", "cubic", "htcp", "bbr")
RTTS = (20, 100)

Cause = dict[str, str]
CAUSES: dict[str, Cause] = {
    "receive window": {"flow": 'receive_buffer = "{third} bytes"'},
    "send buffer": {"flow": 'send_buffer = "{third} bytes"'},
    "application": {"traffic": '{{ kind = "telnet", interval = "{interval} ms", size = "20 kB" }}'},
    "congestion, by loss": {"queue": '{{ kind = "droptail", limit = "1 bdp" }}'},
    "congestion, by ECN": {"queue": '{{ kind = "red", limit = "2 bdp", ecn = true }}', "flow": 'ecn = "classic"'},
    "bursts over a small buffer": {"queue": '{{ kind = "droptail", limit = "0.1 bdp" }}'},
    "random loss": {"loss": '{{ kind = "bernoulli", probability = 0.0008 }}'},
    "receiver's host": {"host": "true"},
}
EXPERIMENT = """\
title = "{name}"
repeats = {seeds}

[path]
preset = "dumbbell"
pairs = 2
rtt = "{rtt} ms"
bottleneck = {{ rate = "{rate} Mbit/s", queue = {queue}, loss = {loss} }}
edge = {{ rate = "1 Gbit/s" }}

[[flow]]
name = "main"
from = "left1"
to = "right1"
stack = "linux"
slow_start = "standard"
congestion_control = "{control}"
traffic = {traffic}
{flow}

[[flow]]
name = "noise"
from = "left2"
to = "right2"
traffic = {{ kind = "on_off", rate = "{noise} kbit/s", on = "200 ms", off = "300 ms" }}
{host}
[measure]
duration = "{seconds} s"
packets = "main"
"""
# It takes 60 % of the rate, and what finds its ring full is lost.
HOST = """
[[host]]
name = "right1"
cpu = "{mhz} MHz"
receive_packet = "1000 cycles"
rx_ring = "64 packets"
rx_usecs = "1 ms"
rx_frames = "64 packets"
"""


def text(name: str, cause: Cause, control: str, rtt: int, seeds: int) -> str:
    """The experiment in which `name` limits a flow."""
    bdp = RATE * 1e6 / 8 * rtt / 1e3
    values: dict[str, Any] = {"third": int(bdp / 3), "interval": round(20e3 * 8 / (RATE * 1e6 / 10) * 1e3)}
    queue = cause.get("queue", '{{ kind = "droptail", limit = "2 bdp" }}').format(**values)
    # A packet takes 1000 cycles; 0.6 of the packets of the bottleneck's rate can be received.
    host = HOST.format(mhz=max(1, round(0.6 * RATE * 1e6 / 12_000 * 1000 / 1e6))) if "host" in cause else ""
    return EXPERIMENT.format(
        name=name,
        rtt=rtt,
        rate=RATE,
        queue=queue,
        loss=cause.get("loss", '{{ kind = "none" }}').format(**values),
        control=control,
        traffic=cause.get("traffic", '"bulk"').format(**values),
        flow=cause.get("flow", "").format(**values),
        noise=RATE * 1000 // 20,
        host=host,
        seconds=30,
        seeds=seeds,
    )


def verdicts(folder: Path, name: str, cause: Cause, control: str, rtt: int, seeds: int) -> list[tuple[str, dict[str, Any]]]:
    """The point of each capture, and the connection that was found in it."""
    file = folder / "one.toml"
    file.write_text(text(name, cause, control, rtt, seeds), encoding="utf-8")
    results = folder / f"{name}-{control}-{rtt}".replace(" ", "-")
    made = longfat.load(str(file)).sweep(results, jobs=default_jobs())
    found = []
    for run in made.runs["run"]:
        for at, point in POINTS.items():
            capture = folder / "one.pcapng"
            write_capture(results, at, capture, run=run)
            [connection] = longfat.trace.read(capture)["connections"]
            found.append((point, connection))
    return found


def main() -> None:
    """Runs all, prints the matrix."""
    quick, details = "--quick" in sys.argv, "--details" in sys.argv
    controls, rtts, seeds = (CONTROLS[:2], RTTS[:1], 1) if quick else (CONTROLS, RTTS, 1)
    matrix: dict[str, Counter[str]] = defaultdict(Counter)
    right: dict[str, list[bool]] = defaultdict(list)
    sure: dict[bool, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for name, cause in CAUSES.items():
            for control in controls:
                for rtt in rtts:
                    for point, connection in verdicts(Path(folder), name, cause, control, rtt, seeds):
                        verdict = connection["verdict"]
                        is_right = verdict["cause"] == name
                        matrix[name][verdict["cause"]] += 1
                        sure[is_right].append(verdict["confidence"])
                        for group in (
                            "all",
                            f"at {point}",
                            f"with {control}",
                            f"rtt {rtt} ms",
                            f"point found: {connection['capture_point'] == point}",
                        ):
                            right[group].append(is_right)
                        if details and not is_right:
                            print(name, control, rtt, point, "->", verdict["cause"], f"{verdict['confidence']:.2f}", verdict["why"])
    for name, found in matrix.items():
        total = sum(found.values())
        rest = ", ".join(f"{other} {n}" for other, n in found.most_common() if other != name)
        print(f"{name:28} {found[name]:4} of {total:4} {rest}")
    for group, is_right in right.items():
        print(f"{group:28} {sum(is_right):4} of {len(is_right):4}")
    for is_right, confidences in sure.items():
        print(f"mean confidence where {'right' if is_right else 'wrong'}: {sum(confidences) / len(confidences):.2f}")


main()
