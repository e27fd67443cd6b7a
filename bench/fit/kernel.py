"""Fits of paths of the real kernel, judged by a congestion control that they have not seen.

    python bench/fit/kernel.py --data RESULTS.json --out ROWS.jsonl      # RESULTS.json is of bench/live_paths.py
    python bench/fit/kernel.py --out ROWS.jsonl --table

Each direction of each path of `bench/live_paths.py` was measured with CUBIC, Reno and BBR of Linux over longfat's emulator, and is
unknown to the fit. Two of the controls are fitted, and the third is predicted: goodput, and mean round trip. The controls take turns.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import longfat
import numpy as np

CONTROLS = ("cubic", "reno", "bbr")
FILE = """
[path]
preset = "dumbbell"
rtt = {{ unknown = ["{rtt_low} us", "{rtt_high} us"] }}
edge = {{ rate = "1 Gbit/s", delay = "1 us" }}
bottleneck = {{ name = "limit", unknown = [
    {{ label = "droptail", rate = {rate}, queue = {{ kind = "droptail", limit = {buffer} }}, {rest} }},
    {{ label = "aqm", rate = {rate}, queue = {{ kind = "pie", target = {target} }}, {rest} }},
    {{ label = "policer", rate = "1 Gbit/s", queue = {{ kind = "policer", rate = {rate}, burst = {buffer}, limit = "10 MB" }}, {rest} }},
] }}

[[flow]]
name = "measured"
stack = "linux"

[measure]
duration = "{seconds} s"
warmup = "{warmup} ms"
"""
RATE = '{{ name = "rate", unknown = ["{low} bit/s", "{high} bit/s"] }}'
BUFFER = '{ name = "buffer", unknown = ["3 kB", "4 MB"] }'
TARGET = '{ name = "target", unknown = ["1 ms", "60 ms"] }'
REST = (
    'loss = { kind = "bernoulli", probability = { name = "loss", unknown = [1e-6, 0.02] } }, '
    'reverse = { queue = { kind = "droptail", limit = "1 GiB" }, loss = "none" }'
)
OBSERVABLES = ("measured.goodput_bps", "measured.rtt_mean_s")
HEADER = ",".join(["flow.congestion_control", *(f"{name},{name}_sd" for name in OBSERVABLES)])


def numbers(way: dict[str, Any]) -> dict[str, float]:
    """Goodput after the warmup, mean round trip, and the round trip of handshakes."""
    # Retransmissions are not fitted: `measure` counts those of slow start, and `flows` of a simulation begin after the warmup.
    # `loaded_rtt_per_minute` is 60 s over the mean of the flow's smoothed round trips.
    return {"goodput_bps": way["goodput_bps"], "rtt_mean_s": 60 / way["loaded_rtt_per_minute"], "rtt_idle_s": way["rtt_idle_s"]}


def line(control: str, seen: dict[str, float]) -> str:
    """A row of the table that is fitted, with 3 % of each number."""
    return ",".join([control, *(f"{x:.9g}" for name in ("goodput_bps", "rtt_mean_s") for x in (seen[name], 0.03 * seen[name]))])


def judge(row: dict[str, Any], direction: str, held: str) -> dict[str, Any]:
    """One direction of one path, fitted without `held`."""
    seconds = row["made"]["cubic"]["seconds"]
    seen = {control: numbers(row["made"][control][direction]) for control in CONTROLS}
    known = [control for control in CONTROLS if control != held]
    # Handshakes have small packets: they wait for nothing, and take little time on the wire.
    least = min(seen[control]["rtt_idle_s"] for control in known)
    fastest = max(seen[control]["goodput_bps"] for control in known)
    text = FILE.format(
        seconds=seconds,
        warmup=200 * seconds,
        rtt_low=round(0.95e6 * least),
        rtt_high=round(1.02e6 * least),
        rate=RATE.format(low=round(0.97 * fastest), high=round(2 * fastest)),
        buffer=BUFFER,
        target=TARGET,
        rest=REST,
    )
    with tempfile.TemporaryDirectory() as home:
        file, table = Path(home) / "path.toml", Path(home) / "numbers.csv"
        file.write_text(text, encoding="utf-8")
        table.write_text("\n".join([HEADER, *(line(control, seen[control]) for control in known)]) + "\n", encoding="utf-8")
        cpu = time.process_time()
        fit = longfat.fit_path(file, table, folder=Path(home) / "results", jobs=1)
        experiment = fit.experiment
        experiment.set("flow.congestion_control", json.dumps(held))
        experiment.set("repeats", "3")
        results = experiment.sweep(jobs=1)
        flows = [result.flows.iloc[0] for result in results]
        return {
            "id": f"{row['id']} {direction}",
            "truth": row["truth"],
            "held": held,
            "kind": fit.best.name,
            "explains": fit.explains,
            "intervals": {name: [one.low, one.middle, one.high, one.verdict] for name, one in fit.intervals.items()},
            "measured": {name: seen[held][name] for name in ("goodput_bps", "rtt_mean_s")},
            "predicted": {name: float(np.mean([flow[name] for flow in flows])) for name in ("goodput_bps", "rtt_mean_s")},
            "null": {name: float(np.mean([seen[control][name] for control in known])) for name in ("goodput_bps", "rtt_mean_s")},
            "verdicts": [row["made"][control][direction]["verdict"] for control in CONTROLS],
            "cpu_s": time.process_time() - cpu,
        }


def table(rows: list[dict[str, Any]]) -> None:
    """Prints errors of what was predicted, beside those of the mean of the controls that were fitted."""
    columns = [f"{what}, {of}" for what in ("goodput", "round trip") for of in ("median error", "within 10 %", "mean of the others")]
    print(f"| control held out | directions | {' | '.join(columns)} |")
    print("|---|---|---|---|---|---|---|---|")
    for held in (*CONTROLS, "all"):
        some = [row for row in rows if held in (row["held"], "all")]
        cells: list[str] = []
        for name in ("goodput_bps", "rtt_mean_s"):
            fit, null = (np.array([abs(row[what][name] / row["measured"][name] - 1) for row in some]) for what in ("predicted", "null"))
            cells += [f"{100 * np.median(fit):.1f} %", f"{int((fit <= 0.1).sum())}", f"{100 * np.median(null):.1f} %"]
        print(f"| {held} | {len(some)} | {' | '.join(cells)} |")
    print(f"No path of these kinds explains: {sum(not row['explains'] for row in rows)} of {len(rows)}.")
    print(f"CPU per fit, median: {np.median([row['cpu_s'] for row in rows]):.0f} s.")


def main() -> None:
    """Fits what ROWS.jsonl lacks, then prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", action="store_true", help="print the table of what is there, and fit nothing")
    parser.add_argument("--part", default="0/1", help="of several processes: 1/2 is the second of two")
    parser.add_argument("--half", action="store_true", help="one direction of each path: up and down in turns")
    asked = parser.parse_args()
    rows = [json.loads(line) for line in asked.out.read_text(encoding="utf-8").splitlines()] if asked.out.exists() else []
    done = {row["id"] for row in rows}
    paths: list[dict[str, Any]] = [] if asked.table else json.loads(asked.data.read_text(encoding="utf-8"))
    part, parts = map(int, asked.part.split("/"))
    # One direction of each path, and then the other.
    for turn, (number, row) in ((turn, one) for turn in range(1 if asked.half else 2) for one in enumerate(paths)):
        direction = ("up", "down")[(number + turn) % 2]
        held = CONTROLS[(number + turn) % len(CONTROLS)]
        is_whole = all(direction in row["made"].get(control, {}) for control in CONTROLS)
        if f"{row['id']} {direction}" in done or not is_whole or number % parts != part:
            continue
        rows.append(judge(row, direction, held))
        with asked.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1]) + "\n")
        print(f"{rows[-1]['id']} {held}: {rows[-1]['kind']}, {rows[-1]['cpu_s']:.0f} s", flush=True)
    table(rows)


if __name__ == "__main__":
    main()
