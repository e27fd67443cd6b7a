"""Accuracy of `limited_by` of runs between two hosts, on paths whose limit is known.

    python bench/live_verdicts.py --out RESULTS.json [--split dev|held] [--seconds N] [--causes "A;B"]

Each run has two network namespaces with longfat's emulator between them, `longfat serve` in one, and one flow with
`run --backend live` from the other. It needs root, /dev/net/tun and iproute2. Runs that RESULTS.json has are not made again.
Prints the confusion matrix, the share that is right, and the share of verdicts with a confidence over 0.9 that is right.
Thresholds may be chosen with `dev`; `held` has other rates, round trips and values, and is there to be judged by.

Not made: drops in a receiver's ring, since no device here has one, reordering, and a path that changes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import longfat
from longfat import _longfat

RTTS = {"dev": (20, 60), "held": (12, 35, 90), "long": (100,)}
RATES = {"dev": (10, 30), "held": (7, 18, 45), "long": (30,)}
LEAST_BDP = 300_000
"""Bytes that a path with a small send buffer holds at least."""
AQM = "active queue management"
CAUSES: dict[str, dict[str, str]] = {
    "receive window": {"sysctl": "net.ipv4.tcp_rmem=4096 {memory} {memory}"},
    # A buffer that grows with the transfer would hold more than is sent in a run, and the path would limit it.
    "closing window": {"flow": 'read_rate = "{slow} kbit/s"', "sysctl": "net.ipv4.tcp_rmem=4096 {reading} {reading}"},
    "application": {"flow": 'traffic = {{ kind = "writes", rate = "{slow} kbit/s", size = "20 kB" }}'},
    "send buffer": {"sysctl": "net.ipv4.tcp_wmem=4096 {memory} {memory}"},
    "congestion, by loss": {"queue": '{{ kind = "droptail", limit = "1 bdp" }}'},
    "congestion, by ECN": {"queue": '{{ kind = "red", limit = "2 bdp", ecn = true }}', "sysctl": "net.ipv4.tcp_ecn=1"},
    "RED": {"is": AQM, "queue": '{{ kind = "red", limit = "4 bdp", target_delay = "{early} ms", max_p = {max_p}, wq = 0.002 }}'},
    "CoDel": {"is": AQM, "queue": '{{ kind = "codel", target = "{target} ms" }}'},
    "PIE": {"is": AQM, "queue": '{{ kind = "pie", target = "{early} ms" }}'},
    "fq_codel": {"is": AQM, "queue": '{{ kind = "fq_codel", ecn = false }}'},
    "bursts over a small buffer": {"queue": '{{ kind = "droptail", limit = "{small} packets" }}'},
    "random loss": {"loss": '{{ kind = "bernoulli", probability = {loss} }}', "queue": '{{ kind = "droptail", limit = "4 bdp" }}'},
    "policer": {"queue": '{{ kind = "policer", rate = "{policed} kbit/s", burst = "{tokens} bytes", limit = "4 bdp" }}'},
    "a full path": {"queue": '{{ kind = "droptail", limit = "{deep} bytes" }}', "flow": 'window = "{full} bytes"'},
}
"""Causes of `bench/verdicts.py` that a live run can have, with the same values of queues and losses."""

PATH = """
backend = "testbed"
seed = {seed}
[path]
preset = "dumbbell"
rtt = "{rtt} ms"
bottleneck = {{ rate = "{rate} Mbit/s", queue = {queue}, loss = {loss} }}
edge = {{ rate = "1 Gbit/s" }}
[[flow]]
stack = "linux"
[measure]
duration = "1 s"
"""
LIVE = """
backend = "live"
[live]
[[live.host]]
name = "here"
at = "local"
[[live.host]]
name = "there"
at = "ADDRESS"
key = "bench"
[[flow]]
name = "main"
stack = "linux"
congestion_control = "{control}"
{flow}
[measure]
duration = "{seconds} s"
interval = "100 ms"
"""
INSIDE = """
import json, os, subprocess, sys
import longfat
from longfat.live.serving import serving_at
far, sysctl = f"--net={os.environ['LONGFAT_NETNS_right1']}", sys.argv[1]
for setting in filter(None, [sysctl]):
    for before in ([], ["nsenter", far]):
        name, value = setting.split("=", 1)
        subprocess.run([*before, "sh", "-c", f"echo '{value}' > /proc/sys/{name.replace('.', '/')}"], check=True)
with serving_at("right1", "--key", "bench") as server:
    text = open("live.toml").read().replace("ADDRESS", server.at)
    result = longfat.Experiment(text).run()
    flow = result.flows.iloc[0]
    made = {name: flow[name] for name in ("limited_by", "limited_by_confidence", "goodput_bps")}
    made |= {"verdict": result.verdict, "why": [warning.text for warning in result.warnings if warning.name in ("suspect", "invalid")]}
    open("made.json", "w").write(json.dumps(made, default=float))
"""


def values(name: str, rtt: int, rate: int) -> dict[str, Any]:
    """Numbers of a case, drawn by its name."""
    rng = random.Random(f"live {name} {rtt} {rate}")
    bdp = max(rate * 1e6 / 8 * rtt / 1e3, LEAST_BDP if name == "send buffer" else 0)
    packets = bdp / 1500
    return {
        # Memory of a socket holds headers beside the payload.
        "memory": int(max(bdp * rng.uniform(0.2, 0.5), 10_000)),
        "reading": int(max(4 * bdp, 100_000)),
        "small": max(4, round(packets * rng.uniform(0.04, 0.1))),
        "loss": f"{min(0.02, (1.22 / (rng.uniform(0.3, 0.5) * packets)) ** 2):.2g}",
        "policed": int(rate * 1000 * rng.uniform(0.3, 0.7)),
        "slow": int(rate * 1000 * random.Random(f"slow {rtt} {rate}").uniform(0.3, 0.6)),
        "tokens": int(max(15_000, bdp * rng.uniform(0.3, 1.5))),
        "deep": int(6 * bdp + 400_000),
        "full": int(2 * bdp + 60_000),
        "early": f"{rng.uniform(5, 30):.1f}",
        "target": f"{rng.uniform(2.5, 10):.1f}",
        "max_p": f"{rng.uniform(0.02, 0.2):.3f}",
        "seed": rng.randrange(1, 1 << 20),
    }


def run(name: str, control: str, rtt: int, rate: int, seconds: int) -> dict[str, Any]:
    """One run, and its verdict."""
    cause, known = CAUSES[name], values(name, rtt, rate)
    # A send buffer of Linux holds a segment of 64 KB, however small it is: it limits only where the path holds more.
    rtt = max(rtt, round(LEAST_BDP * 8e3 / (1e6 * rate))) if name == "send buffer" else rtt
    filled = {key: cause.get(key, default).format(**known) for key, default in (("flow", ""), ("sysctl", ""))}
    queue = cause.get("queue", '{{ kind = "droptail", limit = "4 bdp" }}').format(**known)
    loss = cause.get("loss", '{{ kind = "none" }}').format(**known)
    path = PATH.format(seed=known["seed"], rtt=rtt, rate=rate, queue=queue, loss=loss)
    with tempfile.TemporaryDirectory() as folder:
        home = Path.cwd()
        os.chdir(folder)
        os.environ["XDG_CONFIG_HOME"] = folder
        try:
            subprocess.run([sys.executable, "-m", "longfat", "key", "new", "bench"], check=True, capture_output=True)
            Path("live.toml").write_text(LIVE.format(control=control, flow=filled["flow"], seconds=seconds), encoding="utf-8")
            command = [sys.executable, "-c", INSIDE, filled["sysctl"]]
            code = shell(path, command)
            if code:
                raise SystemExit(f"{name}, {control}, {rtt} ms, {rate} Mbit/s: the command ended with {code}")
            return json.loads(Path("made.json").read_text(encoding="utf-8"))
        finally:
            os.chdir(home)


def shell(path: str, command: list[str]) -> int:
    """Exit code of `command` within a testbed over `path`. A machine has one testbed at a time: waits until it is free."""
    experiment = longfat.Experiment(path).resolve(0)
    while True:
        try:
            return _longfat.testbed_shell(experiment, None, command)[0]
        except longfat.ExperimentError as error:
            if "another testbed is running" not in str(error):
                raise
            time.sleep(0.02)


def judge(rows: list[dict[str, Any]]) -> None:
    """Prints what was right."""
    matrix: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        matrix[row["name"]][row["limited_by"]] += 1
    for name, found in matrix.items():
        print(f"{name:28} {', '.join(f'{other} {n}' for other, n in found.most_common())}")
    named: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        named[row["limited_by"]].append(row["limited_by"] == row["cause"])
    for cause, right in sorted(named.items()):
        print(f"named {cause:28} right {sum(right)} of {len(right)}")
    for text, of in (("all", rows), ("over 0.9 sure", [row for row in rows if row["limited_by_confidence"] > 0.9])):
        right = sum(row["limited_by"] == row["cause"] for row in of)
        print(f"{text}: {right} of {len(of)} right{f', {100 * right / len(of):.0f} %' if of else ''}")
    print(f"suspect or invalid: {sum(row['verdict'] != 'valid' for row in rows)}; load of the machine now {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Command line; the module's docstring describes it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", choices=tuple(RTTS), default="dev")
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--causes", default="", help="only these, with semicolons between them")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else []
    known = {row["id"] for row in rows}
    for rtt, rate in zip(RTTS[asked.split], RATES[asked.split], strict=True):
        for control in ("reno", "cubic"):
            for name, cause in CAUSES.items():
                one = f"{asked.split} {name} {control} {rtt} {rate}"
                if one in known or (asked.causes and name not in asked.causes.split(";")):
                    continue
                made = run(name, control, rtt, rate, asked.seconds)
                rows.append({"id": one, "name": name, "cause": cause.get("is", name), "control": control, **made})
                asked.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
                print(f"{one}: {made['limited_by']} {made['limited_by_confidence']:.2f}", flush=True)
    judge(rows)


main()
