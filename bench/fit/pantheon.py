"""Pantheon's five emulators, fitted back from their own results: the table of docs/pantheon.md.

    python bench/fit/pantheon.py --out pantheon.jsonl      # goes on where it was stopped

Goodput and p95 round trip of `KNOWN` controls are fitted with the ranges of `pantheon.toml`, which hold all five. The other controls of
`experiments/pantheon.toml` judge: each is run at the fitted point. Runs of the emulators have a seed that no fit uses.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import longfat
import numpy as np
import pandas as pd

HERE = Path(__file__).parent
FILE = HERE / "pantheon.toml"
KNOWN = ("reno", "cubic", "vegas", "bbr", "hybla", "westwood")
TRUTH = {
    "6.25 Mbit/s": {"rate": 6.25e6, "base RTT": 0.304, "queue": 362, "loss": 0.0025},
    "97.11 Mbit/s": {"rate": 97.11e6, "base RTT": 0.002, "queue": 366, "loss": 0.0},
    "5.65 Mbit/s": {"rate": 5.65e6, "base RTT": 0.176, "queue": 3665, "loss": 0.0026},
    "117.65 Mbit/s": {"rate": 117.65e6, "base RTT": 0.026, "queue": 144, "loss": 0.0},
    "13.38 Mbit/s": {"rate": 13.38e6, "base RTT": 0.064, "queue": 37, "loss": 0.003},
}
"""The five of `experiments/pantheon.toml`."""
METRICS = ("goodput_total_bps", "flow_rtt_p95_s")
SEED = 2018


def recover(emulator: str, runs: pd.DataFrame) -> dict[str, object]:
    """An emulator, fitted back from its runs (by control); errors of the controls that the fit did not know."""
    with tempfile.TemporaryDirectory() as home:
        table = Path(home) / "numbers.csv"
        lines = [",".join(("flow.congestion_control", *METRICS))]
        lines += [",".join((control, *(f"{runs.loc[control, name]:.9g}" for name in METRICS))) for control in KNOWN]
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        began = time.process_time()
        fit = longfat.fit_path(FILE, table, folder=Path(home) / "results", jobs=1)
        cpu = time.process_time() - began
    others = [control for control in runs.index if control not in KNOWN]
    there = fit.experiment
    there.set("flow[0].congestion_control", f'{{ name = "control", sweep = {json.dumps(others)} }}')
    predicted = there.sweep(jobs=1).runs.set_index("control")
    errors = {name: [float(predicted.loc[one, name] / runs.loc[one, name]) for one in others] for name in METRICS}
    return {
        "emulator": emulator,
        "intervals": {name: [one.low, one.middle, one.high, one.verdict] for name, one in fit.intervals.items()},
        "explains": fit.explains,
        "points": len(fit.best.searched.runs.places),
        "cpu_s": cpu,
        "others": others,
        "ratios": errors,
    }


def table(rows: list[dict[str, object]]) -> str:
    """Intervals beside the truth, and the median error of the other controls."""
    lines = ["| emulator | rate, Mbit/s | base RTT, ms | queue, packets | loss, % | other controls: goodput | p95 round trip |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for row in rows:
        emulator, intervals, ratios = str(row["emulator"]), row["intervals"], row["ratios"]
        cells: list[str] = []
        for name, unit in (("rate", 1e-6), ("base RTT", 1e3), ("queue", 1.0), ("loss", 100.0)):
            low, middle, high, verdict = intervals[name]  # type: ignore[index]
            true = TRUTH[emulator][name]
            sure = f" ({low * unit:.3g} to {high * unit:.3g})"
            cells.append(
                f"{true * unit:.4g}: " + (f"{middle * unit:.3g}{sure}" if verdict in ("decided", "roughly") else f"{verdict}{sure}")
            )
        for name in METRICS:
            off = np.abs(np.array(ratios[name]) - 1)  # type: ignore[index]
            cells.append(f"{100 * np.nanmedian(off):.1f} % (worst {100 * np.nanmax(off):.0f} %)")
        lines.append(f"| {emulator} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Fits the emulators that are not in the file yet, then prints the table."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("--out", type=Path, required=True)
    given = asked.parse_args()
    rows = [json.loads(line) for line in given.out.read_text(encoding="utf-8").splitlines()] if given.out.exists() else []
    done = {row["emulator"] for row in rows}
    if missing := [emulator for emulator in TRUTH if emulator not in done]:
        asked_for = longfat.load(HERE.parent.parent / "experiments" / "pantheon.toml")
        asked_for.set("seed", str(SEED))
        every = asked_for.sweep(jobs=1).runs
        for emulator in missing:
            rows.append(recover(emulator, every[every["emulator"] == emulator].set_index("control")))
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
