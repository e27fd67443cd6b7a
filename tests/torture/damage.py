"""Damage to any file of a results folder: tables are right, or there is one message; and running again mends it."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import longfat
import pandas as pd
from longfat import LongfatError
from longfat.cli import prune
from longfat.results.result import SERIES
from longfat.store import Store

SMALL = """\
title = "Two windows"

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s", loss = { kind = "bernoulli", probability = 0.01 } }
edge = { rate = "100 Mbit/s" }

[[host]]
name = "left"
memory = "256 KiB"

[[flow]]
name = "forward"
count = 2
window = { sweep = ["8 KiB", "64 KiB"] }
traffic = { kind = "ttcp", volume = "50 kB" }

[measure]
duration = "2 s"
interval = "50 ms"
events = true
"""
TABLES = ("runs", "flows", "links", "hosts", *SERIES)


@functools.cache
def original() -> tuple[Path, dict[str, Any]]:
    """A folder of results, and all that is in it."""
    folder = Path(tempfile.mkdtemp(prefix="longfat-torture-")) / "small"
    longfat.Experiment(SMALL, name="small").sweep(folder, jobs=1)
    return folder, contents(folder)


def contents(folder: Path) -> dict[str, Any]:
    """All that can be asked of a folder of results; or of what part, why not."""
    found: dict[str, Any] = {}

    def ask(what: str, answer: Any) -> None:
        try:
            found[what] = answer()
        except LongfatError as error:
            found[what] = error

    ask("text", lambda: Store(folder).text())
    ask("kept", lambda: sorted((one.run, one.kind) for one in prune.kept(folder)))
    ask("results", lambda: longfat.load_results(folder))
    results = found.pop("results")
    if isinstance(results, LongfatError):
        return found | {"results": results}
    found |= {"title": results.title, "axes": results.axes}
    for table in TABLES[:4]:
        found[table] = getattr(results, table)
    for table in SERIES:
        ask(table, functools.partial(results.table, table))
    for run in results.runs["run"]:
        ask(f"{run} itself", functools.partial(_plain, results, run))
    return found


def _plain(results: longfat.Results, run: str) -> tuple[Any, ...]:
    result = results.open(run)
    return result.labels, result.seed, result.resolved, result.warnings, result.end_s, result.provenance["longfat"]


def is_same(one: Any, other: Any) -> bool:
    """Returns true if two answers are the same."""
    if isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame):
        return one.equals(other) and list(one.columns) == list(other.columns)
    return type(one) is type(other) and bool(one == other)


def spoil(random: Random, folder: Path) -> str:
    """Damages one file; says what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    file = random.choice(files)
    data = bytearray(file.read_bytes())
    how = random.choice(("bit", "bit", "bit", "byte", "bytes", "cut", "empty", "zeroes", "more", "gone", "other"))
    match how:
        case "bit":
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        case "byte":
            place = random.randrange(len(data))
            data[place] = (data[place] + random.randrange(1, 256)) % 256
        case "bytes":
            for _ in range(random.randrange(1, 50)):
                data[random.randrange(len(data))] ^= random.randrange(1, 256)
        case "cut":
            del data[random.randrange(len(data)) :]
        case "empty":
            data.clear()
        case "zeroes":
            start = random.randrange(len(data))
            data[start : start + 512] = bytes(len(data[start : start + 512]))
        case "more":
            data += random.randbytes(random.randrange(1, 100))
        case "gone":
            file.unlink()
        case "other":
            data[:] = random.choice([other for other in files if other != file]).read_bytes()
    if how != "gone":
        file.write_bytes(data)
    return f"{how}: {file.relative_to(folder)}"


def attack(random: Random, folder: Path) -> None:
    """One file is damaged: nothing that is told is wrong, and running again makes all of it right."""
    source, right = original()
    place = folder / "small"
    shutil.copytree(source, place)
    done = spoil(random, place)
    for what, answer in contents(place).items():
        if isinstance(answer, LongfatError):
            assert str(place) in str(answer), f"{done}: the error about {what} does not say where: {answer}"
            assert len(str(answer)) < 2000, f"{done}: the error about {what} is long"
            continue
        if what == "kept":
            continue
        assert is_same(answer, right[what]), f"{done}: {what} is wrong, and nothing says so"
    longfat.Experiment(SMALL, name="small").sweep(place, jobs=1)
    mended = contents(place)
    for what, answer in right.items():
        if what != "kept" and not what.endswith("itself"):  # a run that was made again was made later
            assert is_same(mended[what], answer), f"{done}: {what} is wrong after running again: {mended[what]}"
