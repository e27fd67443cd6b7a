"""For which RED of 1994 the paper's sentences about RED come out.

    longfat run papers/ansnet/red-controls-short papers/ansnet/red-controls-long papers/ansnet/sensitivity
    python papers/ansnet/red.py

A line for each setting of `sensitivity/red-search-*`, a column for each sentence; then how many settings each sentence holds for. One seed.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pandas as pd
from longfat import load_results

MBIT = 2.0**20
CEILING = 41.56
"""Payload of a full DS3 in the paper's unit (`units.py`)."""
PARAMETERS = ["min_threshold", "max_p", "wq"]

Cell = Callable[..., float]

SENTENCES: dict[str, tuple[str, Callable[[Cell, Cell], bool]]] = {
    "flat": (
        "5.1, 5.4: one flow of r200 does not collapse on 20 ms, at 512 KiB and at 1 MiB",
        lambda red, _: min(red("short", 200, 1, "no-b", w) for w in (512, 1024)) > 0.9 * CEILING,
    ),
    "flat, rev": (
        "5.3: nor with a reverse flow",
        lambda red, _: min(red("short", 200, 1, "revb", w) for w in (512, 1024)) > 0.85 * CEILING,
    ),
    "r60 falls": ("5.4: one flow of r60 collapses on 20 ms at 512 KiB", lambda red, _: red("short", 60, 1, "no-b", 512) < 0.6 * CEILING),
    "r60 long": ("5.1: it does not on 68 ms", lambda red, _: red("long", 60, 1, "no-b", 512) > 0.9 * CEILING),
    "long same": (
        "5.4: one flow on 68 ms is as good as with 224",
        lambda red, known: red("long", 200, 1, "no-b", 512) > 0.95 * known("long", "224", 1, "no-b", 512),
    ),
    "4f short": (
        "5.2: four flows on 20 ms stay above 224, with and without a reverse flow",
        lambda red, known: all(red("short", 200, 4, g, 512) > known("short", "224", 4, g, 512) for g in ("no-b", "revb")),
    ),
    "4f long": (
        "5.2: four flows on 68 ms with a reverse flow stay above 224",
        lambda red, known: red("long", 200, 4, "revb", 256) > known("long", "224", 4, "revb", 256),
    ),
    "8f long": (
        "5.2: so do eight, with and without a reverse flow",
        lambda red, known: all(red("long", 200, 8, g, 256) > known("long", "224", 8, g, 256) for g in ("no-b", "revb")),
    ),
    "r60 > 60": (
        "5.2: four flows of r60 are better than those of 60 buffers without RED, on both paths",
        lambda red, known: all(
            red(p, 60, 4, g, 256) > known(p, "60 without RED", 4, g, 256) for p in ("short", "long") for g in ("no-b", "revb")
        ),
    ),
    "r60 < r200": (
        "5.2: and worse than those of r200",
        lambda red, _: all(red(p, 60, 4, g, 256) < red(p, 200, 4, g, 256) for p in ("short", "long") for g in ("no-b", "revb")),
    ),
}


def throughputs(results: Path, name: str) -> pd.DataFrame:
    """Runs of an experiment, throughput in the paper's unit."""
    runs = load_results(results / name).runs.copy()
    runs["mbit"] = runs["ttcp_utilization_bps"].fillna(runs["goodput_total_bps"]) / MBIT
    runs["kib"] = (runs["window_bytes"] / 1024).astype(int)
    runs["flows"] = runs["flows"].astype(int)
    for name in ("build", "background"):
        runs[name] = runs[name].astype(str)
    return runs


def main(results: Path) -> None:
    """Prints the table."""
    keys = ["path", "build", "flows", "background", "kib"]
    searched, known = [], []
    for path in ("short", "long"):
        searched.append(throughputs(results, f"sensitivity/red-search-{path}").assign(path=path))
        known.append(throughputs(results, f"red-controls-{path}").assign(path=path))
    red = pd.concat(searched)
    red["build"] = red["build"].str.split().str[0].astype(int)
    for name in PARAMETERS:
        red[name] = red[name].astype(float)
    table = red.groupby([*PARAMETERS, *keys])["mbit"].median()
    controls = pd.concat(known).groupby(keys)["mbit"].median()
    held = dict.fromkeys(SENTENCES, 0)
    print("min_threshold max_p wq     " + "  ".join(SENTENCES))
    settings = list(product(*(sorted(red[name].unique()) for name in PARAMETERS)))
    for setting in settings:
        answers = {
            name: holds(lambda *cell, at=setting: float(table[(*at, *cell)]), lambda *cell: float(controls[cell]))
            for name, (_, holds) in SENTENCES.items()
        }
        for name, answer in answers.items():
            held[name] += answer
        print(
            f"{setting[0]:<13g} {setting[1]:<5g} {setting[2]:<6g} "
            + "  ".join(f"{'yes' if a else '-':{len(n)}}" for n, a in answers.items()),
            sum(answers.values()),
        )
    for name, (says, _) in SENTENCES.items():
        print(f"{held[name]:3d} of {len(settings)}  {name}: {says}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/ansnet"))
