"""Loss in six runs: how many random losses a measurement holds, and what it tells of their rate to somebody who knows all else.

    python bench/fit/loss.py --paths 200 --out bench/fit/loss.jsonl      # goes on where it was stopped
    python bench/fit/loss.py --out bench/fit/loss.jsonl --table          # the tables of notebook/fit-recovery.md

Paths and numbers are those of `recovery.py`. For each, the true kind, rate, base RTT and buffer are given, and only the loss varies:
`VALUES` of it with `SEEDS` runs each. The likelihood of a run's numbers is the mean over seeds of the density of their errors, so no
surrogate is in it. No method that sees the same numbers and knows less can expect to do better.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import tempfile
from pathlib import Path

import numpy as np
from longfat.fit.data import gathered
from longfat.fit.readers import read
from longfat.fit.readers.names import Names
from longfat.fit.runs import Runs
from longfat.results.repeats import share_interval
from recovery import FILE, drawn, measure, truth_of

VALUES, SEEDS = 16, 24
BANDWIDTH = 0.5
"""Kernel of the density over seeds, in standard deviations of the seeds."""
BOUND = 1.3
"""Within 30 %: factor between an answer and the truth."""
EXPECTED_S = 27.5
"""Seconds of the six runs of 5 s in which the link is about full: packets of 1500 bytes that are to be expected."""
CLASSES = (0, 1, 10, 40, 100, math.inf)
"""Ends of classes of losses seen."""


def told(number: int) -> dict[str, object]:
    """Path `number`: its truth, losses in its six runs, and quantiles of the loss of who knows all else."""
    with tempfile.TemporaryDirectory() as home:
        table = Path(home) / "numbers.csv"
        truth = measure(number, table)
        data = gathered(read([table], Names({}, {}, {})))
    model, true, _ = drawn(number)
    at = next(index for index, one in enumerate(model.unknowns) if one.name == "loss")
    grid = (np.arange(VALUES) + 0.5) / VALUES
    places = np.repeat(np.array([true]), VALUES * SEEDS, axis=0)
    places[:, at] = np.repeat(grid, SEEDS)
    runs = Runs(model, None, str(FILE), jobs=1)
    outputs = runs.add(places.tolist(), data).reshape(VALUES, SEEDS, -1)
    logs = np.zeros(VALUES)
    for setting in range(len(data.measurements)):
        columns = [index for index, one in enumerate(data.observed) if one.setting == setting]
        density = np.zeros((VALUES, SEEDS))
        for column in columns:
            one, some = data.observed[column], outputs[:, :, column]
            wide = np.sqrt(one.sigma**2 + (BANDWIDTH * some.std(axis=1, keepdims=True)) ** 2)
            density -= 0.5 * ((some - one.log) / wide) ** 2 + np.log(wide)
        logs += np.logaddexp.reduce(density, axis=1)
    weights = np.exp(logs - logs.max())
    total = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    ends = np.linspace(0.0, 1.0, VALUES + 1)
    low, middle, high = (model.unknowns[at].value(float(np.interp(share, total, ends))) for share in (0.025, 0.5, 0.975))
    # The same runs as were measured, for what the link lost.
    experiment = runs.experiment([true], data.measurements)
    experiment.set("seed", str(100_000 + number))
    results = experiment.sweep(jobs=1)
    flows, links = results.flows, results.links
    return {
        "path": number,
        "kind": truth["kind"],
        "loss": truth["loss"],
        "segments": int(flows["segments_sent"].sum()),
        "retransmitted": int(flows["segments_retransmitted"].sum()),
        "random": int(links["drops_loss"].sum()),
        "interval": [low, middle, high],
    }


def order(paths: int) -> list[int]:
    """Numbers of paths, so that each class of losses that are to be expected has its turn."""
    classes: dict[int, list[int]] = {}
    for number in range(paths):
        model, place, _ = drawn(number)
        truth = truth_of(model, place)
        expected = float(str(truth["loss"])) * float(str(truth["rate"])) * EXPECTED_S / 12_000
        classes.setdefault(sum(expected >= end for end in CLASSES), []).append(number)
    turns = [(turn, number) for some in classes.values() for turn, number in enumerate(some)]
    return [number for _, number in sorted(turns)]


def near(answer: float, true: float) -> bool:
    """True within 30 %."""
    return max(answer / true, true / answer) <= BOUND


def chance(expected: float) -> float:
    """Probability that a Poisson count is within 30 % of its mean: what an exact count of random losses alone would give."""
    counts = range(math.ceil(expected / BOUND), math.floor(expected * BOUND) + 1)
    return sum(math.exp(count * math.log(expected) - expected - math.lgamma(count + 1)) for count in counts)


def table(rows: list[dict[str, object]], fits: dict[int, dict[str, object]]) -> str:
    """One row per class of losses seen."""

    def line(name: str, some: list[dict[str, object]]) -> str:
        count = len(some)
        if not count:
            return f"| {name} | 0 | | | | | |"
        kept = [(fits[row["path"]]["intervals"]["loss"], float(str(row["loss"]))) for row in some if row["path"] in fits]  # type: ignore[index]
        counted = sum(chance(float(str(row["loss"])) * int(str(row["segments"]))) for row in some)
        oracle = sum(near(row["interval"][1], float(str(row["loss"]))) for row in some)  # type: ignore[index]
        inside = sum(row["interval"][0] <= row["loss"] <= row["interval"][2] for row in some)  # type: ignore[index, operator]
        fit = sum(near(interval[1], true) for interval, true in kept)
        covers = sum(interval[0] <= true <= interval[2] for interval, true in kept)
        low, high = share_interval(oracle, count)
        share = f"{100 * low:.0f} to {100 * high:.0f} %"
        return f"| {name} | {count} | {counted:.0f} | {oracle} ({share}) | {inside} | {fit} of {len(kept)} | {covers} of {len(kept)} |"

    lines = [
        "| random losses in the six runs | paths | counted exactly | all else known | its intervals cover | fit | its intervals cover |",
        "|---|---|---|---|---|---|---|",
    ]
    for low, high in itertools.pairwise(CLASSES):
        name = "none" if high == 1 else f"{low} or more" if high == math.inf else f"{low} to {high - 1}"
        lines.append(line(name, [row for row in rows if low <= int(str(row["random"])) < high]))
    return "\n".join(lines)


def main() -> None:
    """Runs the paths that are not in the file yet, then prints the table."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("--paths", type=int, default=200)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--fits", type=Path, default=Path(__file__).with_name("recovery.jsonl"), help="what `recovery.py` wrote")
    asked.add_argument("--table", action="store_true", help="print the table of what is there, and run nothing")
    given = asked.parse_args()
    rows = [json.loads(line) for line in given.out.read_text(encoding="utf-8").splitlines()] if given.out.exists() else []
    done = {row["path"] for row in rows}
    for number in [] if given.table else [number for number in order(given.paths) if number not in done]:
        rows.append(told(number))
        with given.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1]) + "\n")
    fits = {row["path"]: row for row in map(json.loads, given.fits.read_text(encoding="utf-8").splitlines())}
    print(table(rows, fits))


if __name__ == "__main__":
    main()
