"""Accuracy of `longfat measure --out`, on paths that are known.

    python bench/live_paths.py --out RESULTS.json [--split dev|held] [--seconds N] [--paths N] [--judge]

Each path has two network namespaces with longfat's emulator between them, and `longfat serve` in one. The other measures it
with CUBIC and writes it by `--out`; then it measures it with Reno and BBR. The written path is simulated with all three. Needs
root, /dev/net/tun and iproute2. Paths that RESULTS.json has are not measured again, and a run waits while another testbed runs.
Prints a line per path, and the shares within the goals: base RTT 1 %, rate 1 %, buffer 15 %, the kind of queue, and goodput
within 10 %. `--judge` only prints them.

Rules may be chosen with `dev`; `held` has 40 other paths, and is there to be judged by.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import longfat
from longfat import _longfat
from longfat.live.seen import ends

COUNTS = {"dev": 14, "held": 40}
KINDS = (
    "droptail",
    "asymmetric",
    "red",
    "droptail",
    "jitter",
    "policer",
    "codel",
    "loss",
    "droptail",
    "asymmetric",
    "fq_codel",
    "droptail",
    "loss",
    "pie",
)
"""Kinds of paths, one after the other."""
MEASURED, OTHERS = "cubic", ("reno", "bbr")
WAYS = ("up", "down")
PATH = """
backend = "testbed"
seed = {seed}
[path]
preset = "dumbbell"
rtt = "{rtt} ms"
[path.bottleneck]
rate = "{up} kbit/s"
reverse.rate = "{down} kbit/s"
queue = {queue_up}
reverse.queue = {queue_down}
loss = {loss}
{jitter}
[path.edge]
rate = "1 Gbit/s"
[[flow]]
stack = "linux"
[measure]
duration = "1 s"
"""
INSIDE = """
import json, subprocess, sys
from longfat.live.serving import serving_at
seconds, controls = sys.argv[1], sys.argv[2:]
with serving_at("right1", "--key", "bench") as server:
    made = {}
    for control in controls:
        out = ["--out", "seen.toml"] if control == controls[0] else []
        words = ["measure", server.at, "--key", "bench", "--seconds", seconds, "--control", control, "--json", *out]
        words += ["--direction", "up", "--direction", "down"]
        done = subprocess.run([sys.executable, "-m", "longfat", *words], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        made[control] = json.loads(done.stdout)
    with open("made.json", "w") as file:
        json.dump(made, file)
"""


def drawn(split: str, number: int) -> dict[str, Any]:
    """The path of this number: its text, and the truth about it."""
    kind = KINDS[number % len(KINDS)]
    rng = random.Random(f"live path {split} {number}")
    rtt = round(math.exp(rng.uniform(math.log(8), math.log(120))), 1)
    rates = [round(1000 * math.exp(rng.uniform(math.log(4), math.log(50))))] * 2
    if kind == "asymmetric":
        rates[1] = round(rates[0] * rng.uniform(1.5, 6))
        rng.shuffle(rates)
    queues, buffers = [], []
    loss, jitter = 0.0, 0.0
    for rate in rates:
        bdp = rate * rtt / 8
        share, target, max_p = rng.uniform(0.4, 2.5), rng.uniform(4, 25), rng.uniform(0.03, 0.2)
        limit = max(15_000, round(share * bdp))
        deep = round(max(4 * bdp, 150_000))
        if kind == "policer":
            rates[len(queues)] = policed = round(rate * rng.uniform(0.3, 0.7))
            tokens = max(15_000, round(share * bdp))
            text = f'{{ kind = "policer", rate = "{policed} kbit/s", burst = "{tokens} bytes", limit = "{deep} bytes" }}'
        elif kind == "red":
            text = f'{{ kind = "red", limit = "{deep} bytes", target_delay = "{target:.1f} ms", max_p = {max_p:.3f}, wq = 0.002 }}'
        elif kind in ("codel", "pie"):
            text = f'{{ kind = "{kind}", target = "{target:.1f} ms" }}'
        elif kind == "fq_codel":
            text = '{ kind = "fq_codel", ecn = false }'
        else:
            text = f'{{ kind = "droptail", limit = "{limit} bytes" }}'
        queues.append(text)
        buffers.append(limit if 'kind = "droptail"' in text else None)
        if kind == "loss":
            # From a tenth of the window that fills the path to twice it: p of the square root law.
            loss = float(f"{min(0.02, (1.22 / (rng.uniform(0.4, 2) * bdp / 1500)) ** 2):.2g}")
    if kind == "jitter":
        jitter = round(rng.uniform(0.5, 4), 1)
    lines = {
        "seed": rng.randrange(1, 1 << 20),
        "rtt": rtt,
        # A policer is beside a link of its rate or faster.
        "up": rates[0] if kind != "policer" else 3 * rates[0],
        "down": rates[1] if kind != "policer" else 3 * rates[1],
        "queue_up": queues[0],
        "queue_down": queues[1],
        "loss": f'{{ kind = "bernoulli", probability = {loss} }}' if loss else '{ kind = "none" }',
        "jitter": f'jitter = {{ most = "{jitter} ms" }}' if jitter else "",
    }
    queue = {"asymmetric": "droptail", "loss": "droptail", "jitter": "droptail"}.get(kind, kind)
    truth = {"kind": kind, "queue": queue, "rtt_ms": rtt, "rates_kbps": rates, "buffers": buffers, "loss": loss, "jitter_ms": jitter}
    return {"text": PATH.format(**lines), "truth": truth}


def measured(text: str, seconds: int) -> dict[str, Any]:
    """What `measure` said of a path: the file, and what each control got."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path.cwd()
        os.chdir(folder)
        os.environ["XDG_CONFIG_HOME"] = folder
        try:
            subprocess.run([sys.executable, "-m", "longfat", "key", "new", "bench"], check=True, capture_output=True)
            command = [sys.executable, "-c", INSIDE, str(seconds), MEASURED, *OTHERS]
            code, trace = _shell(text, command)
            if code:
                raise SystemExit(f"the command ended with {code}")
            made = json.loads(Path("made.json").read_text(encoding="utf-8"))
            emulator = str(trace.tables()["verdict"])
            return {"made": made, "seen": Path("seen.toml").read_text(encoding="utf-8"), "emulator": emulator}
        finally:
            os.chdir(home)


def _shell(text: str, command: list[str]) -> tuple[int, Any]:
    """Runs the command on the path, as soon as no other testbed runs."""
    run = longfat.Experiment(text).resolve(0)
    while True:
        try:
            # It waits for half a second itself.
            return _longfat.testbed_shell(run, None, command)
        except longfat.ExperimentError as error:
            if "another testbed is running" not in str(error):
                raise
            time.sleep(0.3)


def predicted(seen: str) -> dict[str, dict[str, list[float]]]:
    """Goodput of each control and direction, simulated over the written path: at both ends of what is unknown."""
    made: dict[str, dict[str, list[float]]] = {}
    for text in ends(seen):
        for control in (MEASURED, *OTHERS):
            experiment = longfat.Experiment(text)
            experiment["flow[0].congestion_control"] = control
            for run in experiment.sweep():
                made.setdefault(control, {}).setdefault(run.labels["direction"], []).append(float(run.flows.iloc[0]["goodput_bps"]))
    return made


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """Errors of one path: shares of the truth, None where the file says `unknown`."""
    truth, path = row["truth"], tomllib.loads(row["seen"])["path"]
    trip = _number(path["rtt"]) / 1e3
    errors: dict[str, Any] = {"rtt": trip / truth["rtt_ms"] - 1}
    for way, link, rate, buffer in zip(
        WAYS, (path["bottleneck"], path["bottleneck"]["reverse"]), truth["rates_kbps"], truth["buffers"], strict=True
    ):
        queue = link["queue"]
        found = queue["rate"] if queue["kind"] == "policer" else link["rate"]
        errors[f"rate {way}"] = None if isinstance(found, dict) else _number(found) / rate - 1
        errors[f"kind {way}"] = _kind(queue, truth["queue"])
        if buffer is not None:
            limit = queue.get("limit")
            errors[f"buffer {way}"] = None if not isinstance(limit, str) else _number(limit) / buffer - 1
        for control, made in row["made"].items():
            # The worse of both ends of what is unknown.
            each = [one / made[way]["goodput_bps"] - 1 for one in row["predicted"][control][way]]
            errors[f"{control} {way}"] = max(each, key=abs)
    return errors


AQM = {"red", "codel", "pie", "fq_codel"}


def _kind(queue: Any, truth: str) -> bool:
    """True if the kind of queue is the true one; of queue management that no flow shows apart, each stands for all."""
    kind = queue["kind"]
    return kind == truth or {kind, truth} <= AQM


def _number(text: str) -> float:
    return float(text.split()[0])


def judge(rows: list[dict[str, Any]]) -> None:
    """Prints the shares within the goals."""
    errors = [judged(row) for row in rows]
    for row, one in zip(rows, errors, strict=True):
        said = ", ".join(f"{name} {_said(error)}" for name, error in one.items())
        print(f"{row['id']:9} {row['truth']['kind']:10} {said}; {_suspect(row)}")
    everything = {name: error for one in errors for name, error in one.items()}
    for name, goal in (("rtt", 0.01), ("rate", 0.01), ("buffer", 0.15)):
        of = [error for one in errors for key, error in one.items() if key.startswith(name)]
        known = [abs(error) for error in of if error is not None]
        right = sum(error <= goal for error in known)
        print(f"{name:8} within {goal:.0%}: {right} of {len(known)} decided, {len(of) - len(known)} unknown; median error {_median(known)}")
    beyond = sorted(_number(tomllib.loads(row["seen"])["path"]["rtt"]) / 1e3 - row["truth"]["rtt_ms"] for row in rows)
    print(f"base RTT beyond that of the emulated path: {beyond[0]:.2f} to {beyond[-1]:.2f} ms" if beyond else "no path")
    kinds = [error for one in errors for key, error in one.items() if key.startswith("kind")]
    print(f"kind of queue: {sum(kinds)} of {len(kinds)} right")
    for text, controls in (("measured", (MEASURED,)), ("others", OTHERS), ("all", (MEASURED, *OTHERS))):
        names = [f"{control} {way}" for control in controls for way in WAYS if f"{control} {way}" in everything]
        whole = sum(all(one[name] is not None and abs(one[name]) <= 0.1 for name in names) for one in errors)
        each = [one[name] for one in errors for name in names]
        right = sum(error is not None and abs(error) <= 0.1 for error in each)
        print(f"goodput of {text:8} within 10 %: {whole} of {len(errors)} paths, {right} of {len(each)} flows")
    print(f"suspect or invalid runs: {sum(map(_bad, rows))} of {6 * len(rows)}; load of the machine now {os.getloadavg()[0]:.1f}")


def _said(error: float | bool | None) -> str:
    return "unknown" if error is None else ("right" if error else "wrong") if isinstance(error, bool) else f"{100 * error:+.1f} %"


def _median(values: list[float]) -> str:
    return f"{100 * sorted(values)[len(values) // 2]:.1f} %" if values else "-"


def _bad(row: dict[str, Any]) -> int:
    return sum(made[way]["verdict"] != "valid" for made in row["made"].values() for way in WAYS)


def _suspect(row: dict[str, Any]) -> str:
    return f"{_bad(row)} of 6 runs suspect or invalid, emulator {row['emulator']}, load {row['load']:.1f}"


def main() -> None:
    """Command line; the module's docstring describes it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", choices=tuple(COUNTS), default="dev")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--paths", type=int)
    parser.add_argument("--judge", action="store_true")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else []
    known = {row["id"] for row in rows}
    for number in range(0 if asked.judge else asked.paths or COUNTS[asked.split]):
        one = f"{asked.split} {number}"
        if one in known:
            continue
        path = drawn(asked.split, number)
        row = {"id": one, "truth": path["truth"], **measured(path["text"], asked.seconds), "load": os.getloadavg()[0]}
        row["predicted"] = predicted(row["seen"])
        rows.append(row)
        asked.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
        print(f"{one}: {path['truth']['kind']}, {', '.join(f'{name} {_said(error)}' for name, error in judged(row).items())}", flush=True)
        # Others who wait for the testbed get a turn.
        time.sleep(3)
    judge(rows)


main()
