"""History of `make bench`, release by release.

    python bench/history.py record bench.json    appends one line to bench/history.jsonl
    python bench/history.py plot                 draws bench/*.svg and bench/*.png from it

A line is JSON: `version`, `commit` (with `-dirty` where the tree had changes), `date` (UTC), `cpu` (the processor's model),
`rustc`, and `rows` as `bench.json` has them. CPU times of two processors do not compare, so the plots show the lines that have the
processor of the last one with CPU times, and lines that have instructions alone.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from longfat.plot import Axis, Plot, Series, save

FOLDER = Path(__file__).parent
HISTORY = FOLDER / "history.jsonl"
Entry = dict[str, Any]


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True).stdout.strip()


def _cpu() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "unknown"


def record(bench: Path, history: Path = HISTORY) -> Entry:
    """Appends what `bench` holds to `history`, and returns the new line."""
    cargo = (FOLDER.parent / "Cargo.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.*)"$', cargo, re.MULTILINE)
    entry: Entry = {
        "version": version[1] if version else "unknown",
        "commit": _output("git", "describe", "--always", "--dirty", "--exclude=*"),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cpu": _cpu(),
        "rustc": _output("rustc", "--version"),
        "rows": json.loads(bench.read_text(encoding="utf-8")),
    }
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    return entry


def load(history: Path = HISTORY) -> list[Entry]:
    """The lines that have the processor of the last one with CPU times, and those with instructions alone, oldest first."""
    entries = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    counted = [all("instructions_of" in row for row in entry["rows"]) for entry in entries]
    last = next((entry for entry, alone in zip(reversed(entries), reversed(counted), strict=True) if not alone), entries[-1])
    return [entry for entry, alone in zip(entries, counted, strict=True) if alone or entry["cpu"] == last["cpu"]]


def _name(entry: Entry) -> str:
    return f"{entry['version']}\n{entry['commit']}\n{entry['date']}"


def _kind(entries: list[Entry], key: str) -> dict[str, list[dict[str, Any]]]:
    """Rows that have `key`, by its value there: one per entry, or an empty one."""
    names = dict.fromkeys(str(row[key]) for entry in entries for row in entry["rows"] if key in row)
    return {name: [next((row for row in entry["rows"] if str(row.get(key)) == name), {}) for entry in entries] for name in names}


def _lines(entries: list[Entry], key: str, value: Callable[[dict[str, Any]], float]) -> list[Series]:
    """A line for each row that has `key`."""
    return [Series(name, range(len(rows)), [value(row) if row else math.nan for row in rows]) for name, rows in _kind(entries, key).items()]


def plots(entries: list[Entry]) -> list[Plot]:
    """One plot for each table of the bench."""
    when = Axis("", names=[_name(entry) for entry in entries], start=-0.5, end=len(entries) - 0.5)
    controls = _kind(entries, "control")
    latest = [(i, entry) for i, entry in enumerate(entries) if any("control" in row for row in entry["rows"])][-4:]
    over_reno = [
        Series(
            _name(entry).replace("\n", " "),
            [rows[i].get("over_reno", math.nan) for rows in controls.values()],
            range(len(controls)),
            line=False,
        )
        for i, entry in latest
    ]
    return [
        Plot(
            "cases",
            "What a data packet costs",
            when,
            Axis("CPU time of a data packet (ns)", start=0),
            _lines(entries, "case", lambda row: 1e9 / row["data_packets_per_cpu_second"]),
        ),
        Plot(
            "controls",
            "Congestion controls",
            Axis("CPU time of a data packet, over Reno's"),
            Axis("", names=list(controls), start=-0.5, end=len(controls) - 0.5),
            over_reno,
        ),
        Plot(
            "connections",
            "Many connections",
            when,
            Axis("CPU time of a data packet, over that of 100", start=0.9),
            _lines(entries, "connections", lambda row: row["over_100"]),
        ),
        Plot(
            "cells",
            "Cell switches",
            when,
            Axis("CPU time of a cell (ns)", start=0),
            _lines(entries, "cells", lambda row: row["cpu_ns_per_cell"]),
        ),
        Plot(
            "instructions",
            "Instructions",
            when,
            Axis("Instructions of a data packet or cell", start=0),
            _lines(entries, "instructions_of", lambda row: row["instructions_per_packet"]),
        ),
    ]


def draw(history: Path = HISTORY, folder: Path = FOLDER) -> Iterable[Path]:
    """Draws the plots of `history` into `folder`."""
    return [path for plot in plots(load(history)) if plot.series for path in save(plot, folder)]


def main(arguments: list[str]) -> int:
    """The command line; the exit code."""
    match arguments:
        case ["record", bench]:
            entry = record(Path(bench))
            print(f"{entry['commit']}, {len(entry['rows'])} rows: {HISTORY}")
        case ["plot"]:
            for path in draw():
                print(path)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
