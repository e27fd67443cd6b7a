"""Recovery: paths whose parameters are known are measured as a person would, and fitted back.

    python bench/fit/recovery.py --paths 200 --out recovery.jsonl      # goes on where it was stopped
    python bench/fit/recovery.py --out bench/fit/recovery.jsonl --table    # the table of notebook/fit-recovery.md

Each path is drawn from the ranges of `recovery.toml`, and its kind of limit from the choices there. Six runs of it, with a seed that no fit
uses, are measured with noise of 3 % on goodput and round trips, and of 20 % and a count's root on retransmissions.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path

import longfat
import numpy as np
from longfat.fit.data import Measurement, is_share
from longfat.fit.runs import Runs, column
from longfat.fit.unknowns import Model, models
from longfat.results.repeats import share_interval

FILE = Path(__file__).with_suffix(".toml")
SETTINGS = (
    ("cubic", 1, "4 MiB"),
    ("reno", 1, "4 MiB"),
    ("bbr", 1, "4 MiB"),
    ("cubic", 4, "4 MiB"),
    ("cubic", 1, "32 KiB"),
    ("cubic", 1, "128 KiB"),
)
"""Control, streams and window of each run: what one can set with iperf3."""
OBSERVABLES = ("measured.goodput_bps", "measured.rtt_min_s", "measured.rtt_mean_s", "measured.retransmit_share")
NOISE, NOISE_OF_SHARES = 0.03, 0.2
SEED = 1994


def drawn(number: int) -> tuple[Model, list[float], np.random.Generator]:
    """Kind and point of path `number`, and the generator of its noise."""
    rng = np.random.default_rng([SEED, number])
    every = models(FILE.read_text(encoding="utf-8"), str(FILE))
    model = every[rng.integers(len(every))]
    return model, rng.random(len(model.unknowns)).tolist(), rng


def truth_of(model: Model, place: list[float]) -> dict[str, object]:
    """Kind and values of a path."""
    return {"kind": model.name} | {one.name: one.value(at) for one, at in zip(model.unknowns, place, strict=True)}


def measure(number: int, file: Path) -> dict[str, object]:
    """Draws path `number`, measures it and writes the table of its numbers; the truth."""
    model, place, rng = drawn(number)
    runs = Runs(model, None, str(FILE), jobs=1)
    # The seed of a run is the number of its point: the last of many points has one that no fit uses.
    settings = [
        Measurement({"flow.congestion_control": json.dumps(control), "flow.streams": str(streams), "flow.window": json.dumps(window)}, {})
        for control, streams, window in SETTINGS
    ]
    experiment = runs.experiment([place], settings)
    experiment.set("seed", str(100_000 + number))
    results = experiment.sweep(jobs=1)
    segments = [max(1.0, value) for value in column(results, "measured.segments_sent")]
    names = ",".join(f"{name},{name}_sd" for name in OBSERVABLES)
    lines = [f"flow.congestion_control,flow.streams,flow.window,{names}"]
    values = {name: column(results, name) for name in OBSERVABLES}
    for row, setting in enumerate(SETTINGS):
        cells = [*map(str, setting)]
        for name in OBSERVABLES:
            true = values[name][row]
            deviation = (
                math.hypot(NOISE_OF_SHARES * true, math.sqrt(true * segments[row] + 1) / segments[row]) if is_share(name) else NOISE * true
            )
            shown = min(1.0, max(0.0, true + deviation * rng.normal()))
            cells += [f"{shown if is_share(name) else true * math.exp(NOISE * rng.normal()):.9g}", f"{deviation:.9g}"]
        lines.append(",".join(cells))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return truth_of(model, place)


def recover(number: int) -> dict[str, object]:
    """Path `number`, fitted back."""
    with tempfile.TemporaryDirectory() as home:
        table = Path(home) / "numbers.csv"
        truth = measure(number, table)
        began, cpu = time.monotonic(), time.process_time()
        fit = longfat.fit_path(FILE, table, folder=Path(home) / "results", jobs=1)
        right = next(one for one in fit.models if one.name == truth["kind"])
        return {
            "path": number,
            "truth": truth,
            "kind": fit.best.name,
            "decided": fit.decided,
            "explains": right.explains,
            "wall_s": time.monotonic() - began,
            "cpu_s": time.process_time() - cpu,
            "points": sum(len(one.searched.runs.places) for one in fit.models),
            "intervals": {one.unknown.name: [one.low, one.middle, one.high, one.verdict] for one in right.intervals},
            "held_out": [fit.errors["fit"], fit.errors["mean"], fit.errors["window"]],
        }


def table(rows: list[dict[str, object]]) -> str:
    """The table of notebook/fit-recovery.md: per unknown, error of the median, and how often the interval contains the truth."""
    count = len(rows)
    lines = ["| unknown | paths | decided | median error, where decided | 95 % intervals that contain the truth |", "|---|---|---|---|---|"]
    names = list(dict.fromkeys(name for row in rows for name in row["intervals"]))  # type: ignore[attr-defined]
    for name in names:
        some = [(row["intervals"][name], row["truth"][name]) for row in rows if name in row["intervals"]]  # type: ignore[index, operator]
        decided = [(interval, true) for interval, true in some if interval[3] == "decided"]
        errors = [max(interval[1] / true, true / interval[1]) - 1 for interval, true in decided]
        inside = sum(interval[0] <= true <= interval[2] for interval, true in some)
        low, high = share_interval(inside, len(some))
        error = f"{100 * float(np.median(errors)):.1f} %" if errors else "-"
        lines.append(f"| {name} | {len(some)} | {len(decided)} | {error} | {inside} ({100 * low:.0f} to {100 * high:.0f} %) |")
    every = [(row["intervals"][name], row["truth"][name]) for row in rows for name in row["intervals"]]  # type: ignore[index, attr-defined]
    inside = sum(interval[0] <= true <= interval[2] for interval, true in every)
    low, high = share_interval(inside, len(every))
    lines += ["", f"All intervals: {inside} of {len(every)} contain the truth ({100 * low:.0f} to {100 * high:.0f} %)."]
    right = sum(row["kind"] == row["truth"]["kind"] for row in rows)  # type: ignore[index]
    low, high = share_interval(right, count)
    lines += ["", f"Kind of limit right: {right} of {count} ({100 * low:.0f} to {100 * high:.0f} %)."]
    sure = [row for row in rows if row["decided"]]
    lines += [f"Kind stated as decided: {len(sure)} of {count}, right in {sum(row['kind'] == row['truth']['kind'] for row in sure)}."]  # type: ignore[index]
    # 100 of the kept rows have neither verdict, held-out errors nor cost of their own: those are of the rows that do.
    rows = [row for row in rows if "held_out" in row]
    lines += [f"True kind not refused: {sum(bool(row['explains']) for row in rows)} of {len(rows)}."]
    errors = np.array([row["held_out"] for row in rows], float)
    medians = np.nanmedian(errors, axis=0)
    lines += [f"Held-out goodput, median error: {100 * medians[0]:.1f} %; mean {100 * medians[1]:.0f} %; window {100 * medians[2]:.0f} %."]
    lines += [f"CPU per fit, median: {np.median([float(str(row['cpu_s'])) for row in rows]):.0f} s."]
    return "\n".join(lines)


def main() -> None:
    """Fits the paths that are not in the file yet, then prints the table."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("--first", type=int, default=0, help="number of the first path")
    asked.add_argument("--paths", type=int, default=200)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--table", action="store_true", help="print the table of what is there, and fit nothing")
    given = asked.parse_args()
    rows = [json.loads(line) for line in given.out.read_text(encoding="utf-8").splitlines()] if given.out.exists() else []
    done = {row["path"] for row in rows}
    for number in [] if given.table else [number for number in range(given.first, given.first + given.paths) if number not in done]:
        rows.append(recover(number))
        with given.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1]) + "\n")
        print(f"path {number}: {rows[-1]['kind']}, {rows[-1]['cpu_s']:.0f} s", flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
