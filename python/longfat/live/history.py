"""History of a path: measurements in a file, one line each, and a page of all of them."""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longfat.errors import LongfatError
from longfat.plot import Axis, Plot, Series
from longfat.report.page import render, shown_plots
from longfat.results import Result
from longfat.text import count

SUFFIX = ".jsonl"
MOST_ROWS = 500
"""Measurements that the page lists, the last ones."""
DAYS = 3
"""Length of a history, in days, from which its page counts in days."""

Record = dict[str, Any]
"""One measurement: `time` (UTC, ISO 8601), `host`, `seconds`, `path`, and `up`, `down` and `both` as `longfat measure --json` has them,
each where it is known. `error` has the reason why one is missing."""
WAYS = {"up": ("up",), "down": ("down",), "up, both at once": ("both", "up"), "down, both at once": ("both", "down")}
"""Flows of a measurement, and where they stand in it."""


def check(file: Path) -> None:
    """LongfatError where no history can be kept in `file`."""
    if file.suffix != SUFFIX or not file.absolute().parent.is_dir():
        raise LongfatError(f"--history {file}: expected a name that ends in {SUFFIX}, in a folder that is there")


def page_of(file: Path) -> Path:
    """The page beside a history."""
    return file.with_suffix(".html")


def name_of(host: str) -> Path:
    """File of the history of a host, in this folder, unless another is named."""
    plain = "".join(one if one.isalnum() or one in ".-" else "_" for one in host).strip("._") or "host"
    return Path(f"{plain}{SUFFIX}")


def path_of(result: Result) -> Record:
    """The path before a run: its routers, MTU and round trip; None for what is not known."""
    real = result.real_time
    before = result.hops[(result.hops["when"] == "before") & result.hops["flow"].isna()].sort_values("ttl")
    return {
        "routers": [str(address) for address in before["address"]],
        **{
            name: real[key] or None
            for name, key in (
                ("links_up", "links_up_before"),
                ("links_down", "links_down_before"),
                ("mtu_up_bytes", "mtu_up_before_bytes"),
                ("mtu_down_bytes", "mtu_down_before_bytes"),
                ("base_rtt_s", "base_rtt_before_s"),
            )
        },
    }


def append(file: Path, record: Record) -> None:
    """Adds a measurement: it is on the disk before this returns. LongfatError where the file cannot be written."""
    line = json.dumps(record, allow_nan=False)
    try:
        with file.open("a+b") as out:
            # A line that a power cut broke off is not continued.
            if out.tell():
                out.seek(-1, os.SEEK_END)
                line = line if out.read(1) == b"\n" else f"\n{line}"
            out.write(f"{line}\n".encode())
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise LongfatError(f"{file} cannot be written: {error.strerror}") from error


def read(file: Path) -> list[Record]:
    """The measurements, in order; none without a file. Lines that are no measurement are left out."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LongfatError(f"{file} cannot be read: {error.strerror}") from error
    found: list[Record] = []
    for line in lines:
        try:
            record = json.loads(line)
            datetime.datetime.fromisoformat(record["time"]).timestamp()
        except (ValueError, KeyError, TypeError):
            continue
        found.append(record)
    return found


def write_page(file: Path, host: str) -> Path:
    """Makes the page of a history anew, whole or not at all. LongfatError where it cannot be written."""
    page = page_of(file)
    half = page.with_name(f".{page.name}.{os.getpid()}")
    try:
        half.write_text(html(read(file), host, file.name), encoding="utf-8")
        half.replace(page)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise LongfatError(f"{page} cannot be written: {error.strerror}") from error
    return page


def html(records: Sequence[Record], host: str, file: str) -> str:
    """The page of the measurements in `file`."""
    tables = {"Measurements": _table(COLUMNS, [_row(record) for record in reversed(records)], file)}
    changes = _changes(records)
    if changes:
        tables = {"Changes of the path": _table(["time (UTC)", "change"], list(reversed(changes)), file)} | tables
    return render(title=f"Path to {host}", description=_summary(records), plots=shown_plots(_plots(records)), outcome=tables, alone=True)


def line(record: Record) -> str:
    """One measurement in a line."""
    rates = {way: _value(record, way, "goodput_bps", 1e6) for way in WAYS}
    said = [f"{way} {rate:,.1f} Mbit/s" for way, rate in rates.items() if not math.isnan(rate)]
    idle = next((_part(record, way)["rtt_idle_s"] for way in WAYS if _part(record, way)), None)
    said += [f"RTT {1e3 * idle:.1f} ms idle"] if idle else []
    said += [record["error"]] if "error" in record else []
    return f"{_when(record)}: {'; '.join(said)}"


def _when(record: Record) -> str:
    return f"{datetime.datetime.fromisoformat(record['time']).astimezone(datetime.UTC):%Y-%m-%d %H:%M}"


def _part(record: Record, name: str) -> Record:
    """The flow or the part of this name; empty where it was not measured."""
    found: Record = record
    for key in WAYS.get(name, (name,)):
        found = found.get(key) or {}
    return found


def _value(record: Record, part: str, name: str, size: float = 1.0) -> float:
    value = _part(record, part).get(name)
    return math.nan if value is None else float(value) / size


def _summary(records: Sequence[Record]) -> str:
    if not records:
        return "No measurement yet."
    failed = sum("error" in record for record in records)
    said = f"{count(len(records), 'measurement')} from {_when(records[0])} to {_when(records[-1])} UTC"
    parts = [said + (f", of which {failed} failed" if failed else "")]
    for way in WAYS:
        rates = sorted(rate for record in records if not math.isnan(rate := _value(record, way, "goodput_bps", 1e6)))
        if rates:
            parts.append(f"{way}: median {rates[len(rates) // 2]:,.1f} Mbit/s, from {rates[0]:,.1f} to {rates[-1]:,.1f}")
    return ". ".join(parts) + "."


def _plots(records: Sequence[Record]) -> list[Plot]:
    if not records:
        return []
    times = [datetime.datetime.fromisoformat(record["time"]).timestamp() for record in records]
    is_long = times[-1] - times[0] > DAYS * 86400
    at = [(time - times[0]) / (86400 if is_long else 3600) for time in times]
    axis = Axis(f"time since {_when(records[0])} UTC ({'days' if is_long else 'h'})")

    def plot(id: str, title: str, of: str, lines: Sequence[tuple[str, str, str, float]]) -> Plot:
        series = [Series(name, at, [_value(record, way, key, size) for record in records]) for name, way, key, size in lines]
        return Plot(id, title, axis, Axis(of, start=0.0), [one for one in series if not all(map(math.isnan, one.y))])

    made = [
        plot("goodput", "Goodput", "goodput (Mbit/s, payload)", [(way, way, "goodput_bps", 1e6) for way in WAYS]),
        plot(
            "rtt",
            "Round trips",
            "round trip (ms)",
            [
                ("idle", "path", "base_rtt_s", 1e-3),
                ("while up is loaded", "up", "rtt_loaded_s", 1e-3),
                ("while down is loaded", "down", "rtt_loaded_s", 1e-3),
                ("while both are loaded", "up, both at once", "rtt_loaded_s", 1e-3),
            ],
        ),
        plot(
            "queue",
            "Queueing delay under load, 95 of 100 probes",
            "wait (ms)",
            [(way, way, f"queue_delay_{WAYS[way][-1]}_p95_s", 1e-3) for way in WAYS],
        ),
        plot(
            "retransmitted",
            "Retransmissions",
            "share of the payload (%)",
            [(way, way, "retransmission_rate", 1e-2) for way in WAYS],
        ),
    ]
    return [one for one in made if one.series]


COLUMNS = [
    "time (UTC)",
    "up (Mbit/s)",
    "down (Mbit/s)",
    "both, up (Mbit/s)",
    "both, down (Mbit/s)",
    "RTT idle (ms)",
    "up loaded (ms)",
    "down loaded (ms)",
    "limit up",
    "limit down",
    "verdict",
]


WORDS = ("time (UTC)", "limit up", "limit down", "verdict", "change")
"""Columns of words, which begin at the left."""


def _row(record: Record) -> list[str]:
    def said(way: str, name: str, size: float) -> str:
        value = _value(record, way, name, size)
        return "–" if math.isnan(value) else f"{value:,.1f}"

    ways = [_part(record, way) for way in WAYS if _part(record, way)]
    verdicts = {str(way["verdict"]) for way in ways}
    idle = min((way["rtt_idle_s"] for way in ways if way["rtt_idle_s"]), default=None)
    worst = next((one for one in ("invalid", "suspect") if one in verdicts), "valid" if verdicts else "")
    return [
        _when(record),
        *(said(way, "goodput_bps", 1e6) for way in WAYS),
        "–" if idle is None else f"{1e3 * idle:.1f}",
        said("up", "rtt_loaded_s", 1e-3),
        said("down", "rtt_loaded_s", 1e-3),
        *(str(record.get(way, {}).get("limited_by", "–")).removeprefix("the ") for way in ("up", "down")),
        "; ".join(filter(None, (worst, record.get("error", "")))),
    ]


def _table(columns: list[str], rows: list[list[str]], file: str) -> dict[str, Any]:
    left_out = max(0, len(rows) - MOST_ROWS)
    return {"columns": columns, "rows": rows[:MOST_ROWS], "left_out": left_out, "long": False, "file": file, "words": WORDS}


def _changes(records: Sequence[Record]) -> list[list[str]]:
    """Differences of the path from one measurement to the next that knows it."""
    found: list[list[str]] = []
    last: Record = {}
    for record in records:
        path: Record = record.get("path") or {}
        for name, words in (
            ("mtu_up_bytes", "MTU up"),
            ("mtu_down_bytes", "MTU down"),
            ("links_up", "links up"),
            ("links_down", "links down"),
        ):
            if path.get(name) and last.get(name) and path[name] != last[name]:
                found.append([_when(record), f"{words}: {last[name]:.0f}, now {path[name]:.0f}"])
        for place, (was, now) in enumerate(zip(last.get("routers", []), path.get("routers", []), strict=False), 1):
            if was and now and was != now:
                found.append([_when(record), f"router {place}: {was}, now {now}"])
        last = last | {name: value for name, value in path.items() if value}
    return found
